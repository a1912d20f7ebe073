"""Calibration against scikit-learn and statsmodels, and whether its corrected rates cover the truth."""

from __future__ import annotations

import math
import random
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score, recall_score
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

from nightgate.calibration import Evidence, Judgement, Label, Labels, Pinned, calibrated
from nightgate.stats import (
    Confusion,
    Figure,
    agreement_of,
    clopper_pearson,
    jeffreys,
    krippendorff_alpha,
    wilson,
)

confidences = st.sampled_from([0.8, 0.9, 0.95, 0.99])
labelled = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=150)
"""What people said and what the judge said, a pair a label."""
rated = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from("abc"), min_size=raters, max_size=raters), min_size=2, max_size=15
    )
)
"""What each rater said of each thing; nobody is silent."""
gappy = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4), max_size=12)


def sides(pairs: list[tuple[bool, bool]]) -> tuple[list[bool], list[bool]]:
    """People's words, and the judge's."""
    return [truth for truth, _ in pairs], [said for _, said in pairs]


# --- figures of a judge


@given(labelled)
def test_kappa_is_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    """From the labels themselves; where a side is constant nothing is known, whatever a library says."""
    truth, said = sides(pairs)

    found = agreement_of(Confusion.of(pairs)).kappa.value

    if len(set(truth)) == 1 or len(set(said)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(cohen_kappa_score(truth, said), abs=1e-9)


@given(labelled)
def test_agreement_and_both_rates_are_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    """Sensitivity is the recall of passes, specificity that of fails."""
    truth, said = sides(pairs)

    found = agreement_of(Confusion.of(pairs))

    assert found.agreement.value == pytest.approx(accuracy_score(truth, said))
    for figure, positive in ((found.sensitivity, True), (found.specificity, False)):
        if positive in truth:
            expected = recall_score(truth, said, pos_label=positive, zero_division=0)
            assert figure.value == pytest.approx(expected)
        else:
            assert figure.value is None


@given(labelled, confidences)
def test_their_intervals_are_statsmodels(pairs: list[tuple[bool, bool]], conf: float) -> None:
    """Wilson's, each on its own number of labels."""
    table = Confusion.of(pairs)
    found = agreement_of(table, conf)

    shares = (
        (found.agreement, table.tp + table.tn, table.n),
        (found.sensitivity, table.tp, table.passes),
        (found.specificity, table.tn, table.fails),
    )
    for figure, part, whole in shares:
        if whole:
            expected = proportion_confint(part, whole, alpha=1 - conf, method="wilson")
            assert (figure.low, figure.high) == pytest.approx(expected, abs=1e-9)


@given(labelled)
def test_kappas_interval_is_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    """On the large-sample error; where all agree that error is 0 and proves nothing."""
    table = Confusion.of(pairs)
    found = agreement_of(table).kappa
    if found.value is None or not (table.fn or table.fp):
        return

    oracle = cohens_kappa([[table.tp, table.fn], [table.fp, table.tn]])

    assert found.value == pytest.approx(oracle.kappa, abs=1e-9)
    low, high = max(-1.0, oracle.kappa_low), min(1.0, oracle.kappa_upp)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), confidences)
def test_binomial_intervals_are_statsmodels(rows: tuple[int, int], conf: float) -> None:
    """All three, in every corner."""
    passed, judged = rows
    for ours, name in ((wilson, "wilson"), (clopper_pearson, "beta"), (jeffreys, "jeffreys")):
        expected = proportion_confint(passed, judged, alpha=1 - conf, method=name)
        if name == "jeffreys" and passed in (0, judged):
            # Ours is never snapped to 0 or 1: compared at the end that is not at the border.
            inner = 1 if passed == 0 else 0
            assert ours(passed, judged, conf)[inner] == pytest.approx(expected[inner], abs=1e-9)
        else:
            assert ours(passed, judged, conf) == pytest.approx(expected, abs=1e-9)


# --- among judges


@given(rated)
def test_alpha_follows_from_statsmodels_fleiss_kappa(units: list[list[str]]) -> None:
    """With nobody silent they differ by the factor (n - 1) / n of the disagreement."""
    table = np.array([[unit.count(name) for name in "abc"] for unit in units])
    n = table.sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one name only: it divides 0 by 0
        kappa = float(fleiss_kappa(table))

    alpha = krippendorff_alpha(units)

    if len({name for unit in units for name in unit}) == 1:
        assert alpha is None
    else:
        assert alpha == pytest.approx(1 - (1 - kappa) * (n - 1) / n, abs=1e-9)


@given(gappy)
def test_alpha_is_that_of_the_coincidence_matrix(units: list[list[str | None]]) -> None:
    """As the book computes it by hand: pairs within a thing, each worth 1 / (raters - 1)."""
    names = ["a", "b", "c"]
    matrix = np.zeros((3, 3))
    for unit in units:
        said = [names.index(name) for name in unit if name is not None]
        for one, other in combinations(range(len(said)), 2):
            matrix[said[one], said[other]] += 1 / (len(said) - 1)
            matrix[said[other], said[one]] += 1 / (len(said) - 1)
    marginal, n = matrix.sum(axis=0), matrix.sum()
    expected = np.outer(marginal, marginal) - np.diag(marginal)

    alpha = krippendorff_alpha(units)

    if n == 0 or math.isclose(off := expected.sum() - np.trace(expected), 0, abs_tol=1e-9):
        assert alpha is None
    else:
        seen = n - np.trace(matrix)
        assert alpha == pytest.approx(1 - (n - 1) * seen / off, abs=1e-9)


def test_alpha_of_a_table_worked_out_by_hand() -> None:
    """Two judges, four outputs, one disagreement.

    Values: p p, p p, f f, p f. Coincidences: pp 4, ff 2, pf 1, fp 1; n = 8, n_p = 5, n_f = 3.
    Observed 2 / 8; expected 2 x 5 x 3 / (8 x 7); alpha = 1 - (1/4) / (30/56) = 8/15.
    """
    assert krippendorff_alpha(["pp", "pp", "ff", "pf"]) == pytest.approx(8 / 15)


# --- corrected rates


SENSITIVITY, SPECIFICITY, TRUE_RATE, TRIALS = 0.9, 0.8, 0.85, 300
NAME, PRINT = "E", "f"


def simulated(rng: random.Random) -> Evidence:
    """Run ``night`` of 300 unlabelled trials, and an older one with 50 + 50 labels by the same judge."""

    def said(good: bool) -> bool:
        return rng.random() < (SENSITIVITY if good else 1 - SPECIFICITY)

    def judgement(run: str, number: int, good: bool) -> Judgement:
        return Judgement(
            run_id=run,
            case_id=f"{run}-{number}",
            trial=0,
            evaluator=NAME,
            fingerprint=PRINT,
            verdict=said(good),
        )

    truth = [number < 50 for number in range(100)]
    known = [judgement("known", number, good) for number, good in enumerate(truth)]
    night = [judgement("night", number, rng.random() < TRUE_RATE) for number in range(TRIALS)]
    labels = tuple(
        Label(run_id="known", case_id=f"known-{number}", trial=0, evaluator=NAME, passed=good)
        for number, good in enumerate(truth)
    )
    return Evidence(
        suite="demo",
        run_id="night",
        labels=Labels(labels=labels),
        judgements=[*known, *night],
        pinned={NAME: Pinned(threshold="0.85", fingerprint=PRINT)},
        own={("known", NAME): PRINT, ("night", NAME): PRINT},
    )


def test_the_corrected_rate_of_a_calibration_covers_the_truth() -> None:
    """Of the whole way from labels to document: 93-98% of 1,000 simulations, where the raw rate is off."""
    rng = random.Random(20261129)
    covered, raw, middle = 0, 0.0, 0.0
    for _ in range(1000):
        (judge,) = calibrated(simulated(rng)).document["judges"]
        found = judge["corrected"]
        low, high = found["rogan_gladen"]["interval"]
        covered += low <= TRUE_RATE <= high
        raw, middle = raw + found["rate"], middle + found["rogan_gladen"]["value"]

    assert 930 <= covered <= 980
    assert raw / 1000 == pytest.approx(
        TRUE_RATE * SENSITIVITY + (1 - TRUE_RATE) * (1 - SPECIFICITY), abs=0.01
    )
    assert middle / 1000 == pytest.approx(TRUE_RATE, abs=0.02)


def test_a_calibration_shows_scikit_learns_figures() -> None:
    """What stands in the document is what the labels say, not only what the formulas would."""
    evidence = simulated(random.Random(4))
    truth = [label.passed for label in evidence.labels.labels]
    said = [bool(one.verdict) for one in evidence.judgements if one.run_id == "known"]

    (judge,) = calibrated(evidence).document["judges"]

    assert judge["kappa"]["value"] == pytest.approx(cohen_kappa_score(truth, said))
    assert judge["sensitivity"]["value"] == pytest.approx(recall_score(truth, said))
    assert judge["specificity"]["value"] == pytest.approx(recall_score(truth, said, pos_label=False))
    right = sum(good and word for good, word in zip(truth, said, strict=True))
    assert judge["sensitivity"]["interval"] == pytest.approx(proportion_confint(right, 50, method="wilson"))


def test_a_constant_side_leaves_kappa_unknown_and_agreement_there() -> None:
    """scikit-learn answers 0 where only one side is constant: chance agreement, which nobody measured."""
    pairs = [(True, True)] * 8 + [(True, False)] * 2

    found = agreement_of(Confusion.of(pairs))

    assert cohen_kappa_score(*sides(pairs)) == 0.0
    assert found.kappa == Figure(n=10)
    assert found.agreement.value == pytest.approx(0.8)
