"""The arithmetic of the detector, against the rule as it is written down."""

from __future__ import annotations

from math import inf, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from nightgate.flakiness import (
    FLAKY,
    STABLE_FAIL,
    STABLE_PASS,
    TOO_FEW,
    SequentialTest,
    allowance,
    label,
    rates_of,
    side_by_side,
    suite_event,
)
from nightgate.flakiness.rules import suspicious


@pytest.mark.parametrize(
    ("hits", "judged", "base", "changed"),
    [
        (0, 0, 0.04, 0.35),
        (0, 63, 0.02, 0.35),
        (3, 63, 3.5 / 75.5, 0.35),
        (12, 63, 12.5 / 75.5, 12.5 / 75.5 + 0.30),
        (63, 63, 0.60, 0.90),
    ],
)
def test_the_base_rate_is_drawn_in_and_clipped(hits: int, judged: int, base: float, changed: float) -> None:
    """q0 = (0.5 + F)/(12.5 + N) in [.02, .60]; q1 = max(.35, q0 + .30), at most .95."""
    rates = rates_of(hits, judged)

    assert rates.base == pytest.approx(base)
    assert rates.changed == pytest.approx(changed)


@given(st.integers(0, 63), st.integers(0, 63), st.integers(0, 20), st.integers(0, 20))
def test_evidence_is_the_log_likelihood_ratio(a: int, b: int, hits: int, misses: int) -> None:
    """Of independent trials with either rate."""
    rates = rates_of(min(a, b), max(a, b))
    ratio = hits * log(rates.changed / rates.base) + misses * log((1 - rates.changed) / (1 - rates.base))

    assert rates.evidence(hits, hits + misses) == pytest.approx(ratio)


def test_a_failure_of_three_in_a_steady_case_is_suspicious() -> None:
    """The dearest break is one that a single failure announces."""
    rates = rates_of(0, 63)

    assert suspicious(rates, rates.evidence(1, 3), 1)


def test_a_night_without_a_failure_is_never_suspicious() -> None:
    """Evidence of earlier nights alone asks for nothing."""
    assert not suspicious(rates_of(0, 63), 5.0, 0)


def test_a_coin_is_not_rerun_because_ten_failures_could_not_tell() -> None:
    """The reruns would be paid for nothing, every night."""
    rates = rates_of(31, 63)

    assert rates.evidence(2, 3) > 0.6 * rates.hit
    assert not suspicious(rates, rates.evidence(2, 3), 2)


def test_a_rerun_without_a_finding_is_no_evidence_and_is_played() -> None:
    """A provider that is down must neither clear nor break a case, and must end."""
    test = SequentialTest(rates_of(0, 63), score=2.0)

    for _ in range(10):
        test.add(hit=None)

    assert (test.score, test.played, test.verdict, test.open) == (2.0, 10, None, False)


def test_one_trial_in_a_thousand_is_where_a_break_is_called() -> None:
    """S >= ln 1000."""
    rates = rates_of(0, 63)

    assert SequentialTest(rates, log(1000)).verdict == "changed"
    assert SequentialTest(rates, log(999)).verdict is None
    assert SequentialTest(rates, 0.0).verdict == "cleared"


@given(st.lists(st.booleans(), min_size=1, max_size=10))
def test_the_verdict_depends_on_counts_and_not_on_their_order(outcomes: list[bool]) -> None:
    """The summaries table keeps counts: a decision from it must be that of the night."""
    forward, backward = (SequentialTest(rates_of(1, 40), score=1.5) for _ in range(2))
    for hit in outcomes:
        forward.add(hit=hit)
    for hit in reversed(outcomes):
        backward.add(hit=hit)

    assert forward.score == pytest.approx(backward.score)


@pytest.mark.parametrize(("planned", "extra"), [(21, 10), (50, 10), (300, 60), (0, 10)])
def test_a_night_may_play_a_fifth_more_and_ten_always(planned: int, extra: int) -> None:
    """max(10, 20%)."""
    assert allowance(planned) == extra


@pytest.mark.parametrize(
    ("suspects", "cases", "event"),
    [(15, 100, False), (16, 100, True), (4, 5, False), (5, 20, True), (5, 34, False), (5, 33, True)],
)
def test_an_event_is_more_than_15_percent_and_at_least_five(suspects: int, cases: int, event: bool) -> None:
    """Both bars, exactly."""
    assert suite_event(suspects, cases) is event


@given(st.integers(0, 100), st.integers(0, 100))
def test_labels_follow_jeffreys_quantiles(a: int, b: int) -> None:
    """Against scipy: 5% quantile at .90, 95% quantile at .10, nothing stable under 21 trials."""
    passed, judged = min(a, b), max(a, b)
    low = beta.ppf(0.05, passed + 0.5, judged - passed + 0.5) if judged >= 21 else -inf
    high = beta.ppf(0.95, passed + 0.5, judged - passed + 0.5) if judged >= 21 else inf

    expected = FLAKY if 0 < passed < judged else TOO_FEW
    expected = STABLE_PASS if low >= 0.9 else STABLE_FAIL if high <= 0.1 else expected

    assert label(passed, judged) == expected


def test_a_short_allowance_goes_to_the_strongest_suspicion() -> None:
    """Twelve trials over six suspects would decide none of them."""
    rates = rates_of(0, 63)
    tests = [(name, SequentialTest(rates, score)) for name, score in (("weak", 1.8), ("strong", 5.3))]

    assert side_by_side(tests, 12) == ["strong"]
    assert side_by_side(tests, 60) == ["strong", "weak"]
    assert side_by_side(tests, 0) == []
