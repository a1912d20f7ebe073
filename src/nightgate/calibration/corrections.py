"""Pass rates of a run without its judge's mistakes.

Owns which cells and labels each correction may use, and when neither may be made. The formulas are
``stats``'. Knows no files, no rows and no store.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from nightgate import stats
from nightgate.calibration.bar import figure_dict
from nightgate.calibration.evidence import Evidence, Label, Pair, Sample
from nightgate.stats import Agreement, Confusion, Figure

LEAST_YOUDEN = 0.2
"""Lower end of Se + Sp - 1 under which a judge says too little to correct by it."""
LEAST_SAMPLE = 30
"""Labels under which the normal interval of a prediction-powered mean promises too much."""


def corrected(evidence: Evidence, evaluator: str, pairs: Sequence[Pair], found: Agreement) -> dict[str, Any]:
    """The judge's pass rate of the run and what it is corrected to.

    Cells that failed by the agent's own fault were never judged: they are fails for sure, and what is
    corrected is the rest.

    Args:
        evidence: With the run.
        evaluator: The judge's evaluator.
        pairs: All judgements of this judge.
        found: Its figures.

    Returns:
        ``rate`` of the judge; ``rogan_gladen`` and ``prediction_powered`` with value and interval, null
        where there is none; ``why`` for each that is null.
    """
    of_run = [p for p in pairs if p.judgement.run_id == evidence.run_id and p.judgement.verdict is not None]
    faults = evidence.faults.get(evaluator, 0)
    informative = stats.youden(found)
    rate = Fraction(sum(p.judgement.verdict is True for p in of_run), len(of_run)) if of_run else None
    share = len(of_run) / (len(of_run) + faults) if of_run else 0.0
    why = None
    if not of_run:
        why = "this judge judged nothing in the run"
    elif informative.low is None:
        why = "sensitivity or specificity is unknown: passes and fails have to be labelled"
    elif informative.low < LEAST_YOUDEN:
        why = f"the judge says too little: Se + Sp - 1 may be {informative.low:.2f}, under {LEAST_YOUDEN}"
    by_rates = Figure() if why else _rogan_gladen(of_run, found)
    by_sample, sample_why = (Figure(), why) if why else _prediction_powered(evidence, of_run)
    if not why and by_rates.value is None:
        why = "one case says nothing about others"
    return {
        "judged": len(of_run),
        "agent_faults": faults,
        "rate": float(rate) * share if rate is not None else None,
        "youden": figure_dict(informative),
        "rogan_gladen": _scaled(by_rates, share),
        "prediction_powered": _scaled(by_sample, share),
        "why": {"rogan_gladen": why, "prediction_powered": sample_why},
    }


def _rogan_gladen(of_run: Sequence[Pair], found: Agreement) -> Figure:
    """Rows of one case resemble each other: they count for the rows that they are worth."""
    per_case: dict[str, list[int]] = {}
    for pair in of_run:
        counts = per_case.setdefault(pair.judgement.case_id, [0, 0])
        counts[0] += pair.judgement.verdict is True
        counts[1] += 1
    cases = [(passed, judged) for passed, judged in per_case.values()]
    variance = stats.clustered_variance(cases)
    if variance is None:
        return Figure()
    passed, rows = sum(c for c, _ in cases), len(of_run)
    rate = Fraction(passed, rows)
    worth = min(Fraction(rows), rate * (1 - rate) / variance) if variance else Fraction(len(cases))
    return stats.lang_reiczigel(
        float(rate * worth), float(worth), sensitivity=found.sensitivity, specificity=found.specificity
    )


def _prediction_powered(evidence: Evidence, of_run: Sequence[Pair]) -> tuple[Figure, str | None]:
    drawn = [(p, p.label) for p in of_run if p.label is not None and _random(p.label, evidence.run_id)]
    if not drawn:
        return Figure(), "no labels are declared a random sample of this run"
    if any(label.file in evidence.labels.incomplete for _, label in drawn):
        return Figure(), "the random sample has rows without a label: what is left out is not random"
    if len(drawn) < LEAST_SAMPLE:
        return Figure(), f"{len(drawn)} labels of a random sample, at least {LEAST_SAMPLE} are needed"
    table = Confusion.of((label.passed, p.judgement.verdict is True) for p, label in drawn)
    sampled = {id(p) for p, _ in drawn}
    rest = [p for p in of_run if id(p) not in sampled]
    if not rest:
        return Figure(), "every judged cell is labelled: the labels' own rate needs no correction"
    return stats.prediction_powered(table, sum(p.judgement.verdict is True for p in rest), len(rest)), None


def _random(label: Label, run_id: str) -> bool:
    return label.sample is Sample.RANDOM and label.run_id == run_id


def _scaled(figure: Figure, share: float) -> dict[str, Any] | None:
    if figure.value is None or figure.low is None or figure.high is None:
        return None
    return figure_dict(Figure(figure.value * share, figure.low * share, figure.high * share))
