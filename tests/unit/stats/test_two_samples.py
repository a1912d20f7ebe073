"""Two samples: the tests hold with ties and sparse counts, the intervals with few conversations."""

from collections.abc import Iterable
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import cramervonmises_2samp
from scipy.stats import levene as scipys_levene

from nightgate.stats import (
    association,
    cramer_von_mises,
    levene,
    ratio_interval,
    two_samples,
    visible_association,
)

whole = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=3), min_size=2, max_size=15)
distinct = st.lists(st.floats(0, 1000), min_size=4, max_size=24, unique=True)
counts = st.lists(st.integers(0, 30), min_size=5, max_size=5).filter(any)


def ones(values: Iterable[float]) -> list[list[float]]:
    """Conversations with one value each."""
    return [[float(value)] for value in values]


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims here need no fourth digit of a p-value."""
    monkeypatch.setattr(two_samples, "DRAWS", 999)
    monkeypatch.setattr(two_samples, "RESAMPLES", 500)


# --- shape ---


@settings(max_examples=30, deadline=None)
@given(distinct)
def test_cramer_von_mises_is_scipys_where_no_value_is_there_twice(values: list[float]) -> None:
    """Without ties scipy is right, and exact for so few."""
    real, simulated = values[: len(values) // 2], values[len(values) // 2 :]
    scipys = cramervonmises_2samp(real, simulated, method="exact")

    ours = cramer_von_mises(ones(real), ones(simulated))

    assert ours is not None
    assert ours.statistic == pytest.approx(scipys.statistic, abs=1e-9)
    assert ours.p_value == pytest.approx(scipys.pvalue, abs=0.06)


@settings(max_examples=30, deadline=None)
@given(whole, whole)
def test_which_side_is_called_real_does_not_change_the_statistic(
    a: list[list[int]], b: list[list[int]]
) -> None:
    one, other = cramer_von_mises(a, b), cramer_von_mises(b, a)
    assert one is not None
    assert other is not None
    assert one.statistic == pytest.approx(other.statistic, abs=1e-12)


def test_whole_numbers_of_one_distribution_are_told_apart_no_more_often_than_promised() -> None:
    """Turns are whole numbers: scipy's function finds a difference here in three samples of four."""
    rng = np.random.default_rng(1)
    found = [cramer_von_mises(*(ones(1 + rng.poisson(4, size)) for size in (20, 100))) for _ in range(200)]
    assert sum(test is not None and test.p_value <= 0.05 for test in found) <= 17  # 99th percentile of 5%


def test_equal_values_everywhere_are_no_difference() -> None:
    assert cramer_von_mises(ones([3] * 5), ones([3] * 9)) == (0.0, 1.0)


def test_one_conversation_has_no_distribution() -> None:
    assert cramer_von_mises([[3.0, 4.0]], ones([3, 4])) is None


@pytest.mark.parametrize("talk", [[1.0, inf], []])
def test_a_conversation_without_finite_values_is_refused(talk: list[float]) -> None:
    with pytest.raises(ValueError, match="all of them finite"):
        cramer_von_mises([talk, [1.0]], ones([1, 2]))


def test_the_same_numbers_get_the_same_answer() -> None:
    """A comparison that changes from call to call is no evidence."""
    one, other = (cramer_von_mises(ones([1, 2, 2]), ones([2, 3])) for _ in range(2))
    assert one == other


def test_a_p_value_is_never_zero() -> None:
    """So many relabellings cannot show more than 1 in so many."""
    far = cramer_von_mises(ones(range(40)), ones(range(1000, 1040)))
    assert far is not None
    assert far.p_value == 1 / 1000


def messages(rng: np.random.Generator, size: int, mean: float) -> list[list[float]]:
    """Words of messages: conversations of ``mean`` messages; each user has a length of their own."""
    lengths = 1 + rng.poisson(mean, size)
    habits = 9 * rng.lognormal(0, 0.4, size)
    return [list(rng.poisson(habit, n) + 1.0) for habit, n in zip(habits, lengths, strict=True)]


def test_messages_of_one_conversation_are_no_sample_of_their_own() -> None:
    """Forty messages of two talkative users are two users: tests over messages would find anything."""
    rng = np.random.default_rng(7)
    tests = [
        test
        for _ in range(100)
        for sides in [(messages(rng, 12, 8), messages(rng, 12, 8))]
        for test in (cramer_von_mises(*sides), levene(*sides))
    ]
    assert sum(test is not None and test.p_value <= 0.05 for test in tests) <= 18


def test_longer_conversations_alone_are_no_other_messages() -> None:
    """Means over more messages spread less; compared by message, only the turns differ."""
    rng = np.random.default_rng(8)
    tests = [
        test
        for _ in range(100)
        for sides in [(messages(rng, 40, 9), messages(rng, 40, 2))]
        for test in (cramer_von_mises(*sides), levene(*sides))
    ]
    assert sum(test is not None and test.p_value <= 0.05 for test in tests) <= 18


# --- spread ---


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 100), min_size=3, max_size=15), st.lists(st.floats(0, 100), min_size=3, max_size=15)
)
def test_the_statistic_of_levene_is_scipys(a: list[float], b: list[float]) -> None:
    """Where it answers; with one value a conversation both mean the same."""
    with np.errstate(all="ignore"):
        wanted = scipys_levene(a, b, center="median").statistic
    ours = levene(ones(a), ones(b))
    assert ours is not None
    if 1e-6 < wanted < 1e6:
        assert ours.statistic == pytest.approx(wanted, rel=1e-6)


def test_the_p_value_of_levene_is_near_the_f_distribution_where_that_holds() -> None:
    rng = np.random.default_rng(9)
    for _ in range(10):
        a, b = rng.normal(0, 1, 40), rng.normal(0, 1.2, 50)
        ours = levene(ones(a), ones(b))
        assert ours is not None
        assert ours.p_value == pytest.approx(scipys_levene(a, b, center="median").pvalue, abs=0.05)


def test_spread_without_noise_is_no_certainty() -> None:
    """From p = 0, as the F distribution answers here, certainty would come out of nothing."""
    found = levene(ones([2, 4]), ones([3, 3]))
    assert found is not None
    assert found.p_value > 0.2


def test_no_spread_on_either_side_is_no_difference() -> None:
    """Where the F distribution has no answer at all."""
    assert levene(ones([3] * 6), ones([5] * 4)) == (0.0, 1.0)


def test_a_user_who_is_too_uniform_is_found() -> None:
    found = levene(ones([1, 2, 3, 5, 8, 9, 13] * 5), ones([5, 6, 6, 6, 7] * 7))
    assert found is not None
    assert found.p_value == 1 / 1000


# --- categories ---


@settings(max_examples=30, deadline=None)
@given(counts, counts)
def test_cramers_v_is_a_share(a: list[int], b: list[int]) -> None:
    found = association(a, b)
    assert found is not None
    assert 0 <= found.cramers_v <= 1 + 1e-12
    assert 0 < found.p_value <= 1


def test_sparse_counts_get_their_p_value_from_relabelling() -> None:
    """Four conversations that all ended otherwise: 2 of the 6 relabellings are that far apart."""
    found = association([2, 0], [0, 2])
    assert found is not None
    assert found.p_value == pytest.approx(1 / 3, abs=0.05)


def test_one_way_to_end_is_no_difference() -> None:
    assert association([7, 0], [3, 0]) == (0.0, 0, 1.0, 0.0)


def test_a_side_without_any_count_is_not_compared() -> None:
    assert association([0, 0], [3, 1]) is None


@pytest.mark.parametrize(("real", "simulated"), [([1, -1], [1, 1]), ([1], [1, 1])])
def test_impossible_counts_are_refused(real: list[int], simulated: list[int]) -> None:
    with pytest.raises(ValueError, match=r"negative|zip"):
        association(real, simulated)


def test_more_conversations_show_smaller_associations() -> None:
    sizes = [visible_association(size, 3) for size in (40, 120, 400)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("arguments", [(0, 1), (10, 0)])
def test_nothing_is_visible_without_conversations(arguments: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        visible_association(*arguments)


# --- the ratio of means ---


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=2, max_size=12),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 6)), min_size=2, max_size=12),
)
def test_the_interval_has_its_ends_in_order(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    found = ratio_interval(a, b)
    assert (found is None) == (not any(amount for amount, _ in a))
    if found is not None:
        assert 0 <= found.low <= found.high


def test_a_mean_is_the_ratio_of_sums() -> None:
    """A conversation of one message must not weigh as much as one of nine."""
    found = ratio_interval([(1, 1), (0, 9)], [(2, 2), (0, 8)])
    assert found is not None
    assert found.ratio == pytest.approx((2 / 10) / (1 / 10))


def test_twenty_conversations_a_side_cover_the_true_ratio() -> None:
    """The plain percentile interval is too narrow for so few."""
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        real, simulated = ([(float(x), 1.0) for x in 1 + rng.poisson(4, 20)] for _ in range(2))
        found = ratio_interval(real, simulated)
        inside += found is not None and found.low <= 1 <= found.high
    assert inside >= 184  # 5th percentile of 95%


def test_a_real_mean_that_may_be_zero_leaves_the_ratio_unbounded() -> None:
    found = ratio_interval([(0, 1), (0, 1), (1, 1)], [(1, 1)] * 3)
    assert found is not None
    assert found.high == inf


@pytest.mark.parametrize("sample", [[(-1, 1), (1, 1)], [(1, 0), (1, 1)], [(1, inf), (1, 1)]])
def test_impossible_amounts_are_refused(sample: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="amounts"):
        ratio_interval(sample, [(1, 1), (1, 1)])


def test_a_confidence_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="no confidence"):
        ratio_interval([(1, 1)] * 2, [(1, 1)] * 2, conf=1.0)


def test_large_samples_are_drawn_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded, and the answer is one of as many draws."""
    monkeypatch.setattr(two_samples, "_AT_ONCE", 50)
    found = cramer_von_mises(ones([1, 2, 2, 3]), ones([2, 3, 3, 4]))
    assert found is not None
    assert (found.p_value * 1000) == pytest.approx(round(found.p_value * 1000))
