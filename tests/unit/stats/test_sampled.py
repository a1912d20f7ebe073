import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import Confusion, Stratum, agreement_of, post_stratified

counts = st.integers(0, 40)
tables = st.builds(Confusion, tp=counts, fn=counts, fp=counts, tn=counts)
FIGURES = ("agreement", "kappa", "sensitivity", "specificity")


def half_of_each(rng: random.Random, each: int) -> list[Stratum]:
    """3,000 trials of which 85% are passes, judged with .9 and .8; so many labels of either verdict."""
    trials = [(truth := rng.random() < 0.85, rng.random() < (0.9 if truth else 0.2)) for _ in range(3000)]
    strata = []
    for verdict in (True, False):
        judged = [trial for trial in trials if trial[1] is verdict]
        strata.append(
            Stratum(size=len(judged), table=Confusion.of(rng.sample(judged, each)), verdict=verdict)
        )
    return strata


def pooled(strata: list[Stratum]) -> Confusion:
    cells = zip(*(one.table.cells for one in strata), strict=True)
    return Confusion(**dict(zip(("tp", "fn", "fp", "tn"), map(sum, cells), strict=True)))


def test_labels_drawn_by_the_verdict_are_weighted_back() -> None:
    """By the counts alone this judge has a sensitivity of .70 and would never meet a bar of .8."""
    rng = random.Random(1)
    found = [(half_of_each(rng, 50)) for _ in range(100)]

    naive = [agreement_of(pooled(strata)) for strata in found]
    fair = [post_stratified(strata) for strata in found]

    assert sum(one.sensitivity.value for one in naive) / 100 < 0.75
    assert sum(one.specificity.value for one in naive) / 100 > 0.9
    assert sum(one.sensitivity.value for one in fair) / 100 == pytest.approx(0.9, abs=0.01)
    assert sum(one.specificity.value for one in fair) / 100 == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("name", "truth"), [("sensitivity", 0.9), ("specificity", 0.8), ("kappa", 0.6197)])
def test_intervals_of_weighted_figures_cover(name: str, truth: float) -> None:
    """At 50 labels of either verdict; kappa is of the whole, so of the run's own mix."""
    rng = random.Random(2)
    covered = 0
    for _ in range(1000):
        figure = getattr(post_stratified(half_of_each(rng, 50)), name)
        covered += figure.low <= truth <= figure.high
    assert 920 <= covered <= 990


@given(tables, st.integers(0, 500))
def test_one_stratum_has_the_figures_of_its_labels(table: Confusion, more: int) -> None:
    """Weights that are all alike change nothing."""
    plain, weighted = agreement_of(table), post_stratified([Stratum(size=table.n + more, table=table)])
    for name in FIGURES:
        expected, found = getattr(plain, name).value, getattr(weighted, name).value
        assert found == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.tuples(tables, st.integers(0, 200), st.sampled_from([None])), max_size=5))
def test_figures_lie_in_their_intervals(strata: list[tuple[Confusion, int, None]]) -> None:
    found = post_stratified([Stratum(size=table.n + more, table=table) for table, more, _ in strata])
    for name in FIGURES:
        figure = getattr(found, name)
        if figure.value is not None:
            assert -1 <= figure.low <= figure.value <= figure.high <= 1


def test_no_disagreement_among_few_labels_is_no_certainty() -> None:
    """Of 2,900 that the judge passed 20 were looked at: some of the others will be fails."""
    strata = [
        Stratum(size=2900, table=Confusion(tp=20), verdict=True),
        Stratum(size=100, table=Confusion(tn=20), verdict=False),
    ]

    found = post_stratified(strata)

    assert found.specificity.value == 1
    assert found.specificity.low < 0.7


def test_nothing_labelled_is_nothing_known() -> None:
    assert post_stratified([]).agreement.value is None
    assert post_stratified([Stratum(size=9, table=Confusion())]).sensitivity.value is None


def test_more_labels_than_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        post_stratified([Stratum(size=1, table=Confusion(tp=2))])
