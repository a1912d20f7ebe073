"""What is counted of a run on the way from records or rows to its summary.

Owns the running counts, so that a run that is being committed and one that is read again later come
to the same summary. Knows no store.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from nightgate.calls import Call
from nightgate.plans import Plan
from nightgate.rows.redaction import redact_texts
from nightgate.scores import Status
from nightgate.summaries import Conversations, Heard, Holes, Ledger, SkillEvidence, cost_per, skills
from nightgate.summaries.conversations import QUALITY
from nightgate.talks import Talk
from nightgate.trials import Ending

_MOST_FAILURES = 200
_MOST_REASON = 500
_TOLD = frozenset({Status.FAIL, Status.ERROR, Status.NOT_APPLICABLE, Status.SKIPPED})
_TEXTS = ("reason", "expected", "observed")


@dataclass(slots=True)
class Account:
    """Counts of cells, trials and calls."""

    cells: list[tuple[str, str, str, str | None, float | None]] = field(default_factory=list)
    """(case id, evaluator, status, blame, score), what ``summaries.tally`` reads."""
    sweep: bool = False
    """Whether verdicts are kept, so that judges can be compared."""
    members: frozenset[str] = frozenset()
    """Columns of panel members: their verdicts are kept, and their failures are their panel's to tell."""
    verdicts: dict[tuple[str, int], dict[str, bool]] = field(default_factory=dict)
    """(case id, trial) -> planned evaluator -> passed."""
    endings: dict[Ending, int] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    heard: Heard = field(default_factory=Heard)
    """What judges' providers said that they answered with."""
    holes: Holes = field(default_factory=Holes)
    skills: SkillEvidence = field(default_factory=SkillEvidence)
    conversations: Conversations = field(default_factory=Conversations)
    known: int = 0
    """Cells that were taken over from earlier runs and sweeps."""
    _judged: set[tuple[str, int]] = field(default_factory=set)
    _judged_anew: set[tuple[str, int]] = field(default_factory=set)
    _verdicts: int = 0
    _verdicts_anew: int = 0
    _failures: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """An empty account of a run."""
        return cls(sweep=plan.is_sweep, members=plan.panel_members)

    def add_trial(self, case_id: str, ending: Ending, talk: Talk | None) -> None:
        """Count a trial."""
        self.conversations.add(case_id, ending, talk)
        self.endings[ending] = self.endings.get(ending, 0) + 1

    def add_call(self, call: Call) -> None:
        """Count an attempt at a model call."""
        self.ledger.add(call)
        self.heard.hear(call)

    def add_cell(
        self,
        case_id: str,
        evaluator: str,
        status: Status,
        *,
        blame: str | None,
        score: float | None,
        trial: int,
        reason: str,
        details: Mapping[str, Any],
        known: bool = False,
    ) -> None:
        """Count a cell, and keep the first reason of each case, evaluator and status.

        Args:
            case_id: Its case.
            evaluator: Its column.
            status: What it came to.
            blame: Whose fault it is.
            score: The figure, where there is one.
            trial: The trial's number.
            reason: In one line.
            details: Beside it.
            known: Whether it was taken over, and cost nothing here.
        """
        self.known += known
        self.cells.append((case_id, evaluator, status.value, blame, score))
        if self.sweep and status.judged:
            self.verdicts.setdefault((case_id, trial), {})[evaluator] = status is Status.PASS
        if evaluator in self.members:
            # What the agent's own fault decided was put to no judge: nobody agreed or differed on it.
            if status.judged and blame is None:
                self.verdicts.setdefault((case_id, trial), {})[evaluator] = status is Status.PASS
            return
        if status.judged or status is Status.MEASURED:
            self._add_verdict((case_id, trial), known=known)
        if evaluator == skills.EVALUATOR and "skills" in details:
            self.skills.add(details["skills"])
        if evaluator == QUALITY and "turns" in details:
            self.conversations.add_quality(details["turns"])
        self.holes.add(case_id, evaluator, status, blame, reason)
        if status not in _TOLD:
            return
        key = (case_id, evaluator, status.value)
        told = self._failures.get(key)
        if told is not None:
            told["count"] += 1
        elif len(self._failures) < _MOST_FAILURES:
            self._failures[key] = {
                "case": case_id,
                "evaluator": evaluator,
                "status": status.value,
                "blame": blame,
                "trial": trial,
                "count": 1,
                "reason": reason[:_MOST_REASON],
                "expected": _text(details.get("expected")),
                "observed": _text(details.get("observed")),
            }

    def _add_verdict(self, trial: tuple[str, int], *, known: bool) -> None:
        self._judged.add(trial)
        self._verdicts += 1
        if not known:
            self._judged_anew.add(trial)
            self._verdicts_anew += 1

    def judged(self) -> dict[str, int]:
        """Cases and trials with a verdict or a figure, and how many of those there are; a panel's is one."""
        return _sizes(self._judged, self._verdicts)

    def judged_anew(self) -> dict[str, int]:
        """The same without what was taken over: what this run's own money paid for."""
        return _sizes(self._judged_anew, self._verdicts_anew)

    def cases_judged(self) -> dict[str, frozenset[str]]:
        """Ids of the cases that both of them count, by the summary's key."""
        both = {"judged": self._judged, "judged_anew": self._judged_anew}
        return {name: frozenset(case_id for case_id, _ in trials) for name, trials in both.items()}

    def money(self) -> dict[str, Any]:
        """The summary's keys on money; what was taken over was paid for elsewhere."""
        cost, anew = self.ledger.cost_usd(), self.judged_anew()
        return {
            "cost_usd": cost,
            "judged": self.judged(),
            "judged_anew": anew,
            "cost_per": cost_per(cost["total"], anew),
        }

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Reasons by case, evaluator and status, in the order in which they were met."""
        told = [dict(failure) for failure in self._failures.values()]
        for name in _TEXTS:
            shown = [failure for failure in told if failure[name]]
            texts = redact_texts([failure[name] for failure in shown])
            for failure, text in zip(shown, texts, strict=True):
                failure[name] = text
        return told

    def holes_of(self, evaluator: str, cases: Container[str] | None) -> list[dict[str, Any]]:
        """Why cells of an evaluator were not judged, biggest first."""
        found = [hole.as_dict() for hole in self.holes.of(evaluator, cases)]
        for hole, text in zip(found, redact_texts([hole["reason"] for hole in found]), strict=True):
            hole["reason"] = text
        return found


def _sizes(trials: set[tuple[str, int]], verdicts: int) -> dict[str, int]:
    cases = {case_id for case_id, _ in trials}
    return {"cases": len(cases), "trials": len(trials), "verdicts": verdicts}


def _text(value: Any) -> str | None:
    return value[:_MOST_REASON] if isinstance(value, str) else None
