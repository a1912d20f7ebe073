"""Reference values: every topic of the vectors that this package computes, each to its own tolerance."""

import json
from collections.abc import Iterable
from fractions import Fraction
from math import comb
from pathlib import Path

import pytest

from nightgate import stats

VECTORS = json.loads((Path(__file__).parents[2] / "data" / "stats_vectors.json").read_text())["vectors"]

# 50 airline tasks x 4 trials with gpt-4o. The published row .420 / .273 / .220 / .200 for k = 1..4
# leaves exactly this histogram: 10 tasks passed 4 times, 4 three times, 10 twice, 12 once, 14 never.
TAU_AIRLINE = [(4, 4)] * 10 + [(3, 4)] * 4 + [(2, 4)] * 10 + [(1, 4)] * 12 + [(0, 4)] * 14

ELSEWHERE = {
    "gate_oc": "how often a gate goes green: planning of thresholds, no product function",
    "retry_bias": "why a retry never counts as a pass: a warning, no function",
    "judge_calibration": "agreement of judges with labels",
    "judge_correction": "pass rates corrected for the judge",
    "judge_drift": "frozen transcripts judged again",
    "import": "rows read from other tools",
}


def vectors(topic: str, *wanted: str) -> Iterable[object]:
    """Return the vectors of a topic that state every key in ``wanted``."""
    found = [
        pytest.param(v, id=v["id"])
        for v in VECTORS
        if v["topic"] == topic and all(key in v["inputs"] or key in v["expected"] for key in wanted)
    ]
    assert found
    return found


def close(vector: dict, key: str) -> object:
    return pytest.approx(vector["expected"][key], abs=vector["tol"], rel=0)


def test_every_topic_is_either_checked_here_or_named_as_belonging_elsewhere() -> None:
    """A new topic in the file must not pass by without anyone looking."""
    here = {
        "binomial_interval",
        "gate_rule",
        "gate_zone",
        "gate_bounds",
        "clustered_se",
        "pass_hat_k",
        "paired",
        "multiplicity",
        "power",
        "flakiness",
        "two_sample",
    }
    assert {v["topic"] for v in VECTORS} == here | ELSEWHERE.keys()


@pytest.mark.parametrize("vector", vectors("binomial_interval"))
@pytest.mark.parametrize("method", ["wilson", "clopper_pearson", "jeffreys"])
def test_binomial_interval_matches(vector: dict, method: str) -> None:
    k, n, conf = (vector["inputs"][key] for key in ("k", "n", "conf"))
    assert getattr(stats, method)(k, n, conf) == close(vector, method)


@pytest.mark.parametrize("vector", vectors("gate_rule", "gate", "passes"))
def test_gate_matches_when_all_is_judged(vector: dict) -> None:
    given = vector["inputs"]
    failed = given["judged"] - given["passes"]
    verdict = stats.bounds_verdict(given["passes"], failed, 0, given["threshold"])
    assert verdict == {"pass": "pass", "block": "fail"}[vector["expected"]["gate"]]


@pytest.mark.parametrize("vector", vectors("gate_rule", "min_passes"))
def test_fewest_passes_match(vector: dict) -> None:
    judged = vector["inputs"]["judged"]
    needed = stats.passes_needed(judged, vector["inputs"]["threshold"])
    assert needed == vector["expected"]["min_passes"]
    assert judged - needed == vector["expected"]["max_failures_allowed"]


@pytest.mark.parametrize("vector", vectors("gate_rule", "thresholds"))
def test_allowed_failures_of_a_suite_match(vector: dict) -> None:
    planned = vector["inputs"]["cases"] * vector["inputs"]["trials"]
    for kind, threshold in vector["inputs"]["thresholds"].items():
        allowed = planned - stats.passes_needed(planned, threshold)
        assert allowed == vector["expected"][f"{kind}_max_failures"]


@pytest.mark.parametrize("vector", vectors("gate_rule", "printed_percent"))
def test_printed_percent_matches(vector: dict) -> None:
    given = vector["inputs"]
    rate = Fraction(given["passes"], given["judged"])
    shown, _ = stats.percent_beside(rate, stats.parse_threshold(given["threshold"]))
    assert shown == f"{vector['expected']['printed_percent']}%"


@pytest.mark.parametrize("vector", vectors("gate_zone"))
def test_zone_in_which_wilson_cannot_decide_matches(vector: dict) -> None:
    given, n = vector["inputs"], vector["inputs"]["n"]
    bar = stats.parse_threshold(given["threshold"])
    intervals = [stats.wilson(k, n, given["conf"]) for k in range(n + 1)]
    above = [k for k, (low, _) in enumerate(intervals) if low >= bar]
    below = [k for k, (_, high) in enumerate(intervals) if high < bar]
    assert min(above, default=None) == vector["expected"]["sure_pass_from"]
    assert max(below, default=None) == vector["expected"]["sure_fail_upto"]


@pytest.mark.parametrize("vector", vectors("gate_bounds"))
def test_bounds_match(vector: dict) -> None:
    given = vector["inputs"]
    counts = given["passes"], given["fails"], given["unjudged"]
    verdict = stats.bounds_verdict(*counts, given["threshold"])
    bounds = stats.rate_bounds(*counts)
    # The contract has three verdicts: no data is one of the reasons to be inconclusive.
    assert verdict == vector["expected"]["verdict"].replace("no_data", "inconclusive")
    assert bounds is not None
    assert [float(end) for end in bounds] == [close(vector, "low"), close(vector, "high")]


@pytest.mark.parametrize("vector", vectors("clustered_se"))
def test_clustered_errors_match(vector: dict) -> None:
    counts = [(sum(trials), len(trials)) for trials in vector["inputs"]["outcomes_by_case"]]
    clustered, independent = stats.clustered_se(counts), stats.independent_se(counts)
    parts = stats.variance_parts(counts)
    assert clustered == close(vector, "se_clustered_G_over_G_1")
    assert independent == close(vector, "se_independent")
    assert stats.rerun_se(counts) == close(vector, "se_same_cases_rerun")
    assert clustered**2 / independent**2 == close(vector, "deff")
    assert parts is not None
    assert parts.between == close(vector, "var_between")
    assert parts.within == close(vector, "var_within")
    assert parts.icc == close(vector, "icc")


@pytest.mark.parametrize("vector", vectors("clustered_se", "ci_wilson_neff"))
def test_clustered_interval_matches(vector: dict) -> None:
    counts = [(sum(trials), len(trials)) for trials in vector["inputs"]["outcomes_by_case"]]
    assert stats.clustered_interval(counts) == close(vector, "ci_wilson_neff")


@pytest.mark.parametrize("vector", vectors("pass_hat_k", "n", "c", "k"))
def test_pass_k_of_one_case_matches(vector: dict) -> None:
    c, n, k = (vector["inputs"][key] for key in ("c", "n", "k"))
    assert stats.pass_hat_k([(c, n)], k) == close(vector, "pass_hat_k")
    assert stats.pass_at_k([(c, n)], k) == close(vector, "pass_at_k")


@pytest.mark.parametrize("vector", vectors("pass_hat_k", "right"))
def test_published_trials_give_the_right_figure_and_not_a_shortcut(vector: dict) -> None:
    """The two usual shortcuts are computed too: they are what the figure must not be."""
    plug_in = sum((c / n) ** 4 for c, n in TAU_AIRLINE) / len(TAU_AIRLINE)
    assert plug_in == close(vector, "wrong_plug_in")
    power_of_mean = 0.42**4
    assert power_of_mean == close(vector, "wrong_power_of_mean")
    assert stats.pass_hat_k(TAU_AIRLINE, 4) == close(vector, "right")


def test_published_row_of_tau_bench_airline_is_reproduced() -> None:
    row = stats.pass_hat_ks(TAU_AIRLINE, 4)
    assert {k: round(value, 3) for k, value in row.items()} == {"1": 0.42, "2": 0.273, "3": 0.22, "4": 0.2}


def test_three_errors_of_tau_bench_airline_are_told_apart() -> None:
    """Rows taken as independent understate the error for new cases and overstate it for a rerun."""
    assert round(stats.clustered_se(TAU_AIRLINE), 4) == 0.0522
    assert round(stats.independent_se(TAU_AIRLINE), 4) == 0.0350
    assert round(stats.rerun_se(TAU_AIRLINE), 4) == 0.0271


@pytest.mark.parametrize("vector", vectors("paired", "a_only"))
def test_mcnemar_matches(vector: dict) -> None:
    p = stats.mcnemar_p(vector["inputs"]["a_only"], vector["inputs"]["b_only"])
    assert p == close(vector, "p" if "p" in vector["expected"] else "p_exact")


@pytest.mark.parametrize("vector", vectors("paired", "newly_broken"))
def test_mcnemar_of_a_published_pair_matches(vector: dict) -> None:
    broken, fixed = vector["inputs"]["newly_broken"], vector["inputs"]["newly_fixed"]
    before = [(1, 1)] * broken + [(0, 1)] * fixed
    after = [(0, 1)] * broken + [(1, 1)] * fixed
    assert stats.mcnemar_p(broken, fixed) == close(vector, "p_exact")
    assert stats.sign_flip_p(stats.case_differences(before, after)) == close(vector, "p_exact")


@pytest.mark.parametrize("vector", vectors("multiplicity"))
def test_holm_matches(vector: dict) -> None:
    assert stats.holm(vector["inputs"]["p"]) == close(vector, "holm")


@pytest.mark.parametrize("vector", vectors("power", "mde_paired_r1"))
@pytest.mark.parametrize(
    ("key", "stability"),
    [("mde_paired_r1", 1), ("mde_paired_r09", 0.9), ("mde_paired_r05", 0.5), ("mde_unpaired", 0)],
)
def test_visible_change_matches(vector: dict, key: str, stability: float) -> None:
    given = vector["inputs"]
    change = stats.visible_change(
        given["mu"],
        given["icc"],
        given["cases"],
        given["trials"],
        stability=stability,
        alpha=given["alpha"],
        power=given["power"],
    )
    assert change == close(vector, key)


@pytest.mark.parametrize("vector", vectors("flakiness", "q05"))
def test_quantiles_behind_the_stability_labels_match(vector: dict) -> None:
    quantiles = stats.jeffreys(vector["inputs"]["passes"], vector["inputs"]["trials"], conf=0.9)
    assert list(quantiles) == [close(vector, "q05"), close(vector, "q95")]


def test_counts_behind_the_published_row_are_the_only_ones() -> None:
    """The histogram stands in for the raw trials, so the published figures must pin it down."""
    sums = [round(share * 50 * comb(4, k)) for k, share in enumerate((0.42, 0.2733, 0.22, 0.2), start=1)]
    fours = sums[3]
    threes = sums[2] - 4 * fours
    twos = sums[1] - 6 * fours - 3 * threes
    ones = sums[0] - 4 * fours - 3 * threes - 2 * twos
    assert [TAU_AIRLINE.count((c, 4)) for c in (4, 3, 2, 1)] == [fours, threes, twos, ones]


@pytest.mark.parametrize("vector", vectors("two_sample", "table", "cramers_v"))
def test_association_of_end_reasons_matches(vector: dict) -> None:
    found = stats.association(*vector["inputs"]["table"])
    assert found is not None
    assert found.chi2 == close(vector, "chi2")
    assert found.dof == vector["expected"]["dof"]
    assert found.p_value == close(vector, "p")
    assert found.cramers_v == close(vector, "cramers_v")
