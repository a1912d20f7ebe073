"""When flips are drift, and in which direction."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nightgate.canaries.drift import (
    BASE_RATE,
    MEASURED_NIGHTS,
    Flips,
    base_rate,
    direction_of,
    is_alarm,
    p_value,
)


def flips(judged: int, to_pass: int = 0, to_fail: int = 0) -> Flips:
    """Short for the figures of a night."""
    return Flips(judged=judged, to_pass=to_pass, to_fail=to_fail)


nights = st.integers(0, 200).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n)).flatmap(
        lambda pair: st.builds(flips, st.just(pair[0]), st.just(pair[1]), st.integers(0, pair[0] - pair[1]))
    )
)
rates = st.floats(BASE_RATE, 0.9)


@given(st.integers(0, 500), rates)
def test_no_flip_is_never_an_alarm(judged: int, base: float) -> None:
    """Nothing changed, however much was looked at."""
    assert not is_alarm(p_value(flips(judged), base))


@given(nights, rates)
def test_one_more_flip_never_silences_an_alarm(night: Flips, base: float) -> None:
    """In either direction."""
    if night.flips == night.judged or not is_alarm(p_value(night, base)):
        return
    more = flips(night.judged, night.to_pass + 1, night.to_fail)
    assert is_alarm(p_value(more, base))


def test_of_a_hundred_verdicts_the_fifth_flip_is_the_alarm() -> None:
    """Against the base rate of 1%."""
    assert not is_alarm(p_value(flips(100, 4), BASE_RATE))
    assert is_alarm(p_value(flips(100, 5), BASE_RATE))


def test_without_a_verdict_there_is_no_figure() -> None:
    """Nothing measured is neither an alarm nor calm."""
    assert p_value(flips(0), BASE_RATE) is None


def test_only_verdicts_of_both_nights_are_compared() -> None:
    """What one side does not know is no flip."""
    before = {"a": True, "b": False, "c": True}

    found = Flips.of(before, {"a": False, "b": True, "d": True})

    assert (found.judged, found.to_pass, found.to_fail) == (2, 1, 1)


def test_the_direction_is_that_of_most_flips() -> None:
    """Five flips one way are an alarm already, and a sign test could not name them."""
    assert direction_of(flips(100, 5, 0)) == "more lenient"
    assert direction_of(flips(100, 0, 5)) == "stricter"
    assert direction_of(flips(100, 3, 1)) == "more lenient"
    assert direction_of(flips(100, 3, 2)) == "both"
    assert direction_of(flips(100)) is None


@given(st.lists(nights, max_size=40))
def test_the_base_rate_is_never_under_one_percent(earlier: list[Flips]) -> None:
    """And always a rate that can be tested against."""
    assert BASE_RATE <= base_rate(earlier) < 1


def test_the_base_rate_is_measured_once_enough_nights_are_there() -> None:
    """Five nights and 200 verdicts; fewer say too little."""
    assert base_rate([flips(100, 3)] * 4) == BASE_RATE
    assert base_rate([flips(20, 1)] * 5) == BASE_RATE
    assert base_rate([flips(100, 3)] * 5) == 0.03


def test_a_slow_drift_cannot_raise_its_own_bar() -> None:
    """Only a judge's first nights are counted, however many follow."""
    first = [flips(100, 2)] * MEASURED_NIGHTS

    assert base_rate([*first, *[flips(100, 30)] * 50]) == 0.02
