"""May it ship? From counts to a verdict, exactly, for each evaluator and for the run.

Owns the rules of contract, section 6. Counts are integers, thresholds are read as decimal text:
no float is ever compared. Reads a plan and its tallies and nothing else, so the same stored rows
give the same answer on any day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any

from nightgate import stats
from nightgate.comparisons import NO_BASE, Outcome, held
from nightgate.errors import ExitCode
from nightgate.plans import PlannedCase, PlannedEvaluator
from nightgate.summaries import Tallies, Tally

_NAMED = 10
"""Open cases named in a line; the document has them all."""


class Verdict(StrEnum):
    """The gate's three answers."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    """Too little was measured to tell: never a pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorDecision:
    """One evaluator at the gate."""

    name: str
    kind: str
    threshold: str | None
    verdict: Verdict | None
    """None for evaluators that do not gate."""
    tally: Tally
    """Over the cells that gate, or over all when it does not gate."""
    pass_rate: float | None
    interval: tuple[float, float] | None
    """Population of cases: "how good", not "did tonight change"."""
    pass_k: Mapping[str, float | None]
    coverage: float | None
    failed_cases: tuple[str, ...]
    open_cases: tuple[str, ...]
    text: str | None = None
    """Why it does not pass, in a line; None when it passes or does not gate."""
    capability: Tally | None = None
    """Counts of its capability cases, which are reported and do not gate."""

    def as_dict(self) -> dict[str, Any]:
        """The evaluator's entry in the JSON summary."""
        counts = self.tally.counts()
        return {
            "name": self.name,
            "kind": self.kind,
            "threshold": self.threshold,
            **counts,
            "judged": self.tally.judged,
            "required_not_applicable": self.tally.required,
            "coverage": self.coverage,
            "pass_rate": self.pass_rate,
            "interval": list(self.interval) if self.interval is not None else None,
            "pass_k": dict(self.pass_k),
            "mean_score": self.tally.mean_score,
            "verdict": self.verdict.value if self.verdict is not None else None,
            "failed_cases": list(self.failed_cases),
            "open_cases": list(self.open_cases),
            "capability": self.capability.counts() if self.capability is not None else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The run's verdict with all of its reasons."""

    run_id: str
    verdict: Verdict
    exit_code: int
    evaluators: tuple[EvaluatorDecision, ...]
    reasons: tuple[str, ...] = field(default=())
    """Lines beside the evaluators' own: nothing gated, an open run."""

    def findings(self) -> list[dict[str, str | None]]:
        """One entry a failing or inconclusive evaluator, as in the JSON summary."""
        own: list[tuple[str | None, str]] = [(e.name, e.text) for e in self.evaluators if e.text is not None]
        return [
            {"evaluator": name, "text": text}
            for name, text in (*own, *((None, reason) for reason in self.reasons))
        ]

    def as_dict(self) -> dict[str, Any]:
        """The decision as JSON."""
        return {
            "schema": 1,
            "run_id": self.run_id,
            "verdict": self.verdict.value,
            "exit_code": self.exit_code,
            "evaluators": [e.as_dict() for e in self.evaluators],
            "findings": self.findings(),
        }


def decide(tallies: Tallies, *, complete: bool = True, outcome: Outcome = NO_BASE) -> Decision:
    """Decide on a run.

    Args:
        tallies: Counts of its stored rows.
        complete: Whether the run is committed; an open run is inconclusive whatever it holds.
        outcome: The run beside its baseline, for ``gate.regression``.
    """
    plan = tallies.plan
    rules = plan.gate
    # A panel gates as one: what its members said is told beside it.
    behind = plan.panel_members
    alone = (_evaluator(tallies, e, rules) for e in plan.evaluators if e.name not in behind)
    decided = tuple(_beside_base(evaluator, rules, outcome) for evaluator in alone)
    verdicts = [e.verdict for e in decided if e.verdict is not None]
    reasons: list[str] = []
    total = tallies.total()
    if not verdicts:
        reasons.append(_nothing_gates(tallies))
    elif not total.covered:
        reasons.append(f"nothing measured: none of {total.planned} planned cells was judged")
    reasons += [
        f"{name} does not gate: its judge is not calibrated for this suite; `nightgate calibrate` says what "
        "is missing"
        for name in plan.advisory
    ]
    if not complete:
        reasons.append(
            f"run {plan.run_id} is open: resume it with `nightgate run --resume {plan.run_id} SUITE`"
        )
    if not complete or not verdicts:
        verdict = Verdict.INCONCLUSIVE
    else:
        verdict = next(v for v in (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS) if v in verdicts)
    return Decision(
        run_id=plan.run_id,
        verdict=verdict,
        # An open run was not measured to its end: no rule of the suite lets it through.
        exit_code=exit_code(verdict, rules if complete else {}),
        evaluators=decided,
        reasons=tuple(reasons),
    )


def exit_code(verdict: Verdict, rules: Mapping[str, Any]) -> int:
    """The shell's answer to a verdict; ``on_inconclusive: allow`` lets an inconclusive run through."""
    if verdict is Verdict.PASS:
        return ExitCode.OK
    if verdict is Verdict.FAIL:
        return ExitCode.FAILED
    return ExitCode.OK if rules.get("on_inconclusive") == "allow" else ExitCode.INCONCLUSIVE


def _nothing_gates(tallies: Tallies) -> str:
    if not tallies.plan.cases:
        return "nothing measured: the suite has no cases"
    if all(not case.gates for case in tallies.plan.cases):
        return (
            "nothing gates: every case here is `stage: capability`, reported and not gated; drop that line "
            "from a case once it should gate"
        )
    return "nothing gates: no regression case plans an evaluator with a threshold"


def _evaluator(tallies: Tallies, planned: PlannedEvaluator, rules: Mapping[str, Any]) -> EvaluatorDecision:
    gating = list(tallies.by_case(planned.name, gating=True))
    advisory = planned.name in tallies.plan.advisory
    gated = planned.threshold is not None and bool(gating) and not advisory
    rows = gating if gated else list(tallies.by_case(planned.name))
    counts = Tally()
    for _, found in rows:
        counts += found
    per_case = [(found.passed, found.judged) for _, found in rows]
    # Of the same cells as the rate beside it: a required finding that did not apply is a failure in both.
    of_rate = [(found.passed, found.passed + found.counted_failed) for _, found in rows]
    interval = stats.clustered_interval(of_rate) if counts.judged else None
    ks = stats.pass_hat_ks(per_case, max(case.trials for case, _ in rows)) if rows else {}
    verdict, text = _verdict(planned, rows, counts, interval, rules) if gated else (None, None)
    considered = counts.planned - counts.curtailed
    decided = counts.passed + counts.counted_failed
    capability = tallies.of(planned.name, gating=False) if gated else None
    return EvaluatorDecision(
        name=planned.name,
        kind=planned.kind,
        threshold=planned.threshold,
        verdict=verdict,
        tally=counts,
        pass_rate=counts.passed / decided if decided else None,
        interval=interval,
        pass_k=ks,
        coverage=counts.covered / considered if considered else None,
        failed_cases=tuple(case.case_id for case, found in rows if found.counted_failed),
        open_cases=tuple(case.case_id for case, found in rows if found.open),
        text=text,
        capability=capability if capability is not None and capability.planned else None,
    )


def _beside_base(
    evaluator: EvaluatorDecision, rules: Mapping[str, Any], outcome: Outcome
) -> EvaluatorDecision:
    """The same with ``gate.regression``: a fall fails it, and what cannot be compared is no pass."""
    if evaluator.verdict is None or evaluator.verdict is Verdict.FAIL:
        return evaluator
    found = held(rules.get("regression"), outcome, evaluator.name)
    if found.passed or (found.passed is None and evaluator.verdict is Verdict.INCONCLUSIVE):
        return evaluator
    verdict = Verdict.INCONCLUSIVE if found.passed is None else Verdict.FAIL
    return replace(evaluator, verdict=verdict, text=found.text)


def _verdict(
    planned: PlannedEvaluator,
    rows: Sequence[tuple[PlannedCase, Tally]],
    counts: Tally,
    interval: tuple[float, float] | None,
    rules: Mapping[str, Any],
) -> tuple[Verdict, str | None]:
    """The rules in their order: bounds and blocking cases first, then what holes forbid."""
    assert planned.threshold is not None
    threshold = stats.parse_threshold(planned.threshold)
    verdict = _by_policy(counts, threshold, interval, rules)
    failed = [case.case_id for case, found in rows if found.counted_failed]
    blocked = [case.case_id for case, found in rows if case.blocking and found.counted_failed]
    if verdict is Verdict.FAIL:
        return verdict, _failed_text(planned.name, counts, threshold, failed, interval, rules)
    if blocked:
        return Verdict.FAIL, f"{planned.name}: blocking case failed [{', '.join(blocked)}]"
    holes = _holes(planned, rows, counts, rules)
    if holes or verdict is Verdict.INCONCLUSIVE:
        return Verdict.INCONCLUSIVE, _inconclusive_text(planned.name, counts, threshold, rows, holes)
    return Verdict.PASS, None


def _by_policy(
    counts: Tally, threshold: Fraction, interval: tuple[float, float] | None, rules: Mapping[str, Any]
) -> Verdict:
    point = Verdict(stats.bounds_verdict(counts.passed, counts.counted_failed, counts.open, threshold))
    if rules.get("policy") != "confident" or threshold == 1 or interval is None:
        return point
    low, high = interval
    if Fraction(low) >= threshold:
        return Verdict.PASS
    return Verdict.FAIL if Fraction(high) < threshold else Verdict.INCONCLUSIVE


def _holes(
    planned: PlannedEvaluator,
    rows: Sequence[tuple[PlannedCase, Tally]],
    counts: Tally,
    rules: Mapping[str, Any],
) -> list[str]:
    """What was not measured and forbids a pass; cells curtailed are left out of both shares."""
    considered = counts.planned - counts.curtailed
    holes: list[str] = []
    if considered:
        least = stats.parse_threshold(planned.min_coverage)
        if Fraction(counts.covered, considered) < least:
            holes.append(f"covered {counts.covered} of {considered}, want {float(least):.0%}")
        most = stats.parse_threshold(str(rules.get("max_error_share", "0.0")))
        if Fraction(counts.error, considered) > most:
            holes.append(f"{counts.error} of {considered} ended in errors, at most {float(most):.0%} may")
    unjudged = [case.case_id for case, found in rows if case.blocking and found.open]
    if unjudged:
        holes.append(f"blocking case not judged [{', '.join(unjudged)}]")
    return holes


def _failed_text(
    name: str,
    counts: Tally,
    threshold: Fraction,
    failed: Sequence[str],
    interval: tuple[float, float] | None,
    rules: Mapping[str, Any],
) -> str:
    rate, wanted = stats.percent_beside(
        Fraction(counts.passed, counts.passed + counts.counted_failed), threshold
    )
    if rules.get("policy") == "confident" and threshold != 1 and interval is not None:
        return (
            f"{name}: {rate}, at most {interval[1]:.1%} with 95% confidence, wanted {wanted}, "
            f"failed [{', '.join(failed)}]"
        )
    return f"{name}: {rate} < {wanted}, failed [{', '.join(failed)}]"


def _inconclusive_text(
    name: str,
    counts: Tally,
    threshold: Fraction,
    rows: Sequence[tuple[PlannedCase, Tally]],
    holes: Sequence[str],
) -> str:
    decided = counts.passed + counts.counted_failed
    if decided:
        rate, wanted = stats.percent_beside(Fraction(counts.passed, decided), threshold)
        what = "judged or required" if counts.required else "judged"
        figure = f"{rate} of {decided} {what} (wanted {wanted})"
    else:
        figure = f"not measured, 0 of {counts.planned} judged"
    unjudged = [case.case_id for case, found in rows if found.open]
    more = f" and {len(unjudged) - _NAMED} more" if len(unjudged) > _NAMED else ""
    rerun = f", rerun [{', '.join(unjudged[:_NAMED])}{more}]" if unjudged else ""
    if holes:
        why = "; ".join(holes)
    elif unjudged:
        why = "too little judged"
    else:
        why = "the interval spans the threshold" if decided else "every cell was allowed not to apply"
    return f"{name}: inconclusive, {figure}: {why}{rerun}"
