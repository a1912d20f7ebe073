"""Which earlier causes a run shows to be over.

Owns what is proof of an end, kind by kind. What a run did not look at is not over.
"""

from __future__ import annotations

from collections.abc import Sequence

from nightgate.messages import End, Kind
from nightgate.steps.causes import GATE, OPEN, Night, Pair, changes, evaluators_of, pairs


def over(night: Night, kind: Kind, subject: Sequence[str]) -> End | None:
    """How an earlier cause has ended, as a run shows it; None where it goes on, or the run does not tell."""
    if any(cause.kind is kind and cause.subject == tuple(subject) for cause in night.causes):
        return None
    if kind is Kind.NEWLY_BROKEN:
        return _broken_over(night, tuple(subject))
    if kind is Kind.GATE_FAILED:
        return _gate_over(night, tuple(subject))
    return End.MENDED if _OVER[kind](night, tuple(subject)) else None


def fixed(night: Night) -> set[Pair]:
    """Case and evaluator of what is newly fixed, by the history where it was looked at."""
    if night.flakiness is not None:
        return pairs(night.flakiness.get("newly_fixed", ()))
    return pairs(changes(night.summary, "newly_fixed")) if night.complete else set()


def _explained(night: Night, evaluator: str) -> bool:
    """Whether the gate fails by what is known alone, and this evaluator by nothing that is broken."""
    told = night.flakiness
    if told is None or not told.get("gate_explained"):
        return False
    rows = pairs([*told["still_broken"], *told["newly_broken"]])
    failed = evaluators_of(night.summary).get(evaluator, {}).get("failed_cases", ())
    return not {case for case, name in rows if name == evaluator} & set(failed)


def _broken_over(night: Night, subject: tuple[str, ...]) -> End | None:
    pair = (subject[0], subject[1])
    if pair in fixed(night):
        return End.MENDED
    if not night.complete or night.plan.is_sweep:
        return None
    row = next((r for r in (night.summary or {})["cases"] if (r["case"], r["evaluator"]) == pair), None)
    if row is None:
        return None if night.plan.filters else End.GONE
    known = night.flakiness
    rows = [*known["still_broken"], *known["suspects"]] if known is not None else ()
    judged = row["passed"] + row["failed"]
    # Where the history knows nothing of it any more (the case was edited), the majority of tonight speaks.
    passes = pair not in pairs(rows) and judged > 0 and 2 * row["passed"] > judged
    return End.MENDED if passes else None


def _gate_over(night: Night, subject: tuple[str, ...]) -> End | None:
    if not night.complete:
        return None
    entry = evaluators_of(night.summary).get(subject[0])
    fails = (entry or night.summary or {})["verdict"] == "fail"
    if fails and _explained(night, subject[0]):
        return End.KNOWN
    if subject == (GATE,):
        return End.MENDED if (night.summary or {})["verdict"] != "inconclusive" else None
    if entry is None or entry["verdict"] is None:  # no case plans it any more, or none that gates
        return None if night.plan.filters else End.GONE
    return End.MENDED if entry["verdict"] == "pass" else None


def _hole_over(night: Night, subject: tuple[str, ...]) -> bool:
    if not night.complete:
        return False
    if subject in ((OPEN,), (GATE,)):
        return subject == (OPEN,) or bool((night.summary or {})["verdict"] != "inconclusive")
    return evaluators_of(night.summary).get(subject[0], {}).get("verdict") != "inconclusive"


def _measured(night: Night, _: tuple[str, ...]) -> bool:
    cells = (night.summary or {}).get("cells")
    return bool(cells and cells["pass"] + cells["fail"] + cells["measured"])


def _judge_over(night: Night, _: tuple[str, ...]) -> bool:
    canary = night.canary
    return canary is not None and bool(canary.get("complete", True)) and canary["judged"] > 0


def _attack_over(night: Night, _: tuple[str, ...]) -> bool:
    return night.canary is not None and night.canary["attacks"]["judged"] > 0


def _looked_at(night: Night, _: tuple[str, ...]) -> bool:
    return night.flakiness is not None


def _ended_run(night: Night, _: tuple[str, ...]) -> bool:
    return night.complete


def _whole_run(night: Night, _: tuple[str, ...]) -> bool:
    return night.complete and not night.plan.is_sweep and not night.plan.filters


_OVER = {
    Kind.SUITE_EVENT: _looked_at,
    Kind.BUDGET_STOP: _ended_run,
    Kind.EMPTY_RUN: _measured,
    Kind.NO_COMPLETE_RUN: _whole_run,
    Kind.INCONCLUSIVE: _hole_over,
    Kind.COVERAGE_HOLE: _hole_over,
    Kind.ATTACK_PASSED: _attack_over,
    Kind.JUDGE_DRIFT: _judge_over,
    Kind.QUARANTINE_EXPIRING: _looked_at,
    Kind.NEWLY_FIXED: _ended_run,
}
