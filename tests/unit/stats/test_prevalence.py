import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import (
    Confusion,
    Figure,
    agreement_of,
    lang_reiczigel,
    prediction_powered,
    rogan_gladen,
    youden,
)

VECTORS = {
    vector["id"]: vector
    for vector in json.loads((Path(__file__).parents[2] / "data" / "stats_vectors.json").read_text())[
        "vectors"
    ]
}
counts = st.integers(0, 80)
tables = st.builds(Confusion, tp=counts, fn=counts, fp=counts, tn=counts)
shares = st.floats(0, 1)


def a_judge(rng: random.Random, each: int = 50) -> Confusion:
    """So many labels of passes and of fails; sensitivity .9, specificity .8."""
    tp, tn = (sum(rng.random() < rate for _ in range(each)) for rate in (0.9, 0.8))
    return Confusion(tp=tp, fn=each - tp, tn=tn, fp=each - tn)


def test_the_corrected_interval_covers_the_true_rate() -> None:
    """Sensitivity .9 and specificity .8 known from 50 + 50 labels, 300 trials of which 85% are passes."""
    rng = random.Random(7)
    covered, off = 0, 0.0
    for _ in range(1000):
        found = agreement_of(a_judge(rng))
        passed = sum(rng.random() < (0.9 if rng.random() < 0.85 else 0.2) for _ in range(300))
        corrected = lang_reiczigel(passed, 300, sensitivity=found.sensitivity, specificity=found.specificity)
        covered += corrected.low <= 0.85 <= corrected.high
        off += corrected.value - 0.85
    assert 930 <= covered <= 980
    assert abs(off / 1000) < 0.02


def test_the_judges_own_rate_would_not_cover_it() -> None:
    """80% where 85% are passes: the error does not go away with more trials."""
    assert rogan_gladen(0.795, 0.9, 0.8) == pytest.approx(0.85)


@pytest.mark.parametrize(
    "given", [(2, 78, 50, 100, 199, 200), (27, 650, 50, 100, 199, 200), (130, 200, 90, 100, 95, 100)]
)
def test_the_interval_is_that_of_the_paper_written_out(given: tuple[int, ...]) -> None:
    """The formulas a second time, from the counts."""
    k, n, k_se, n_se, k_sp, n_sp = given

    found = lang_reiczigel(
        k, n, sensitivity=Figure(k_se / n_se, n=n_se), specificity=Figure(k_sp / n_sp, n=n_sp)
    )

    low, high = second_writing(*given)
    assert (found.low, found.high) == pytest.approx((min(low, found.value), max(high, found.value)))


def second_writing(k: int, n: int, k_se: int, n_se: int, k_sp: int, n_sp: int) -> tuple[float, float]:
    """Lang and Reiczigel (2014), section 2: counts first, then limits."""
    z = 1.959963984540054
    n, k = n + z * z, k + z * z / 2
    n_se, k_se, n_sp, k_sp = n_se + 2, k_se + 1, n_sp + 2, k_sp + 1
    p, se, sp = k / n, k_se / n_se, k_sp / n_sp
    pi = (p + sp - 1) / (se + sp - 1)
    variance = p * (1 - p) / n + pi**2 * se * (1 - se) / n_se + (1 - pi) ** 2 * sp * (1 - sp) / n_sp
    half = z * variance**0.5 / (se + sp - 1)
    shift = 2 * z * z * (pi * se * (1 - se) / n_se - (1 - pi) * sp * (1 - sp) / n_sp)
    return max(0.0, pi + shift - half), min(1.0, pi + shift + half)


@given(shares, shares, shares)
def test_the_correction_undoes_what_a_judge_does(rate: float, se: float, sp: float) -> None:
    if se + sp > 1.01:
        assert rogan_gladen(rate * se + (1 - rate) * (1 - sp), se, sp) == pytest.approx(rate, abs=1e-9)
    elif se + sp <= 1:
        assert rogan_gladen(rate, se, sp) is None


@given(tables, st.integers(0, 200), st.integers(0, 200))
def test_corrected_rates_lie_in_their_intervals(table: Confusion, passed: int, failed: int) -> None:
    figures = agreement_of(table)
    found = lang_reiczigel(
        passed, passed + failed, sensitivity=figures.sensitivity, specificity=figures.specificity
    )
    if found.value is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_perfect_judge_leaves_the_rate_as_it_is() -> None:
    sure = Figure(1.0, n=100_000)
    found = lang_reiczigel(240, 300, sensitivity=sure, specificity=sure)
    assert found.value == 0.8
    assert (found.low, found.high) == pytest.approx((0.751, 0.841), abs=0.002)


def test_an_uninformative_judge_is_told_by_its_youden_index() -> None:
    """It passes all but two of 114: nothing can be corrected by it."""
    given = VECTORS["rg-refuse"]["inputs"]
    table = Confusion(
        tp=given["tp"], fn=given["pos"] - given["tp"], tn=given["tn"], fp=given["neg"] - given["tn"]
    )

    found = youden(agreement_of(table))

    assert found.value == pytest.approx(VECTORS["rg-refuse"]["expected"]["youden"], abs=1e-9)
    assert found.low < 0.2


@given(tables)
def test_youdens_index_lies_in_its_interval(table: Confusion) -> None:
    found = youden(agreement_of(table))
    if table.passes and table.fails:
        assert -1 <= found.low <= found.value <= found.high <= 1
    else:
        assert found.value is None


def test_the_prediction_powered_mean_matches() -> None:
    """The published rows of the vector, as counts: 56 labels of 278 judged, and ppi-python's answer."""
    expected = VECTORS["ppi-lam1"]["expected"]
    labelled = Confusion(tp=26, fp=14, tn=16)
    assert (labelled.n, labelled.passes / labelled.n) == (
        expected["n_labelled"],
        pytest.approx(expected["labelled_only"]),
    )
    passed = round(expected["naive_judge_rate"] * expected["n_unlabelled"])

    found = prediction_powered(labelled, passed, expected["n_unlabelled"])

    assert found.value == pytest.approx(expected["estimate"], abs=1e-6)
    assert [found.low, found.high] == pytest.approx(expected["ci95"], abs=1e-6)


def test_the_prediction_powered_interval_covers_and_is_narrower() -> None:
    """100 random labels of 600 trials, a judge with .9 and .8."""
    rng = random.Random(3)
    covered, width, alone = 0, 0.0, 0.0
    for _ in range(1000):
        truth = [rng.random() < 0.6 for _ in range(600)]
        judged = [rng.random() < (0.9 if good else 0.2) for good in truth]
        labelled = Confusion.of(zip(truth[:100], judged[:100], strict=True))
        found = prediction_powered(labelled, sum(judged[100:]), 500)
        by_labels = prediction_powered(labelled, sum(judged[100:]), 500, trust=0)
        covered += found.low <= 0.6 <= found.high
        width, alone = width + found.high - found.low, alone + by_labels.high - by_labels.low
    assert 925 <= covered <= 975
    assert width < 0.9 * alone


@given(tables, st.integers(0, 200), st.integers(0, 200))
def test_without_trust_it_is_the_labels_own_rate(table: Confusion, passed: int, failed: int) -> None:
    found = prediction_powered(table, passed, passed + failed, trust=0)
    if table.n and passed + failed:
        assert found.value == pytest.approx(table.passes / table.n)
    else:
        assert found.value is None


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        lang_reiczigel(2, 1, sensitivity=Figure(1.0, n=1), specificity=Figure(1.0, n=1))
    with pytest.raises(ValueError, match="impossible"):
        prediction_powered(Confusion(tp=1), 2, 1)
