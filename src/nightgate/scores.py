"""What was found: statuses, blames, and the scores that carry them.

Owns the meaning of a status. Knows no evaluator, no model, no file format: ``rows`` stores a
score, ``gates`` counts it. Imports the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, cast

from nightgate.trials import Usage


class Status(StrEnum):
    """Outcome of one planned cell. Only PASS and FAIL enter a pass rate."""

    PASS = "pass"  # noqa: S105 - a status, not a password
    FAIL = "fail"
    MEASURED = "measured"
    """A figure without a threshold: covered, never counted in a pass rate."""
    NOT_APPLICABLE = "not_applicable"
    """The case asked for it, the trial left nothing to judge: a hole in coverage, not a pass."""
    ERROR = "error"
    """Evaluator, judge, simulator or infrastructure broke; says nothing about the agent."""
    SKIPPED = "skipped"
    """Never run: budget, cancelled, curtailed."""

    @property
    def judged(self) -> bool:
        """Whether it counts in a pass rate."""
        return self in (Status.PASS, Status.FAIL)


class Blame(StrEnum):
    """Who is behind a hole or an agent's own fault."""

    AGENT = "agent"
    JUDGE = "judge"
    EVALUATOR = "evaluator"
    SIMULATOR = "simulator"
    INFRA = "infra"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    CURTAILED = "curtailed"


_STATUSES = frozenset(status.value for status in Status)


class BadScoreError(ValueError):
    """A figure that no judge may give: NaN, infinite, outside [0, 1]."""


@dataclass(frozen=True, slots=True)
class Score:
    """One evaluator's finding on one trial; becomes one report row.

    Raises:
        BadScoreError: If a figure is NaN, infinite, or outside [0, 1] where it is judged.
        ValueError: If a figure stands beside a status that has none, or the status is unknown.
        TypeError: If a field holds another kind of value: rows could not be written.
    """

    evaluator: str
    version: int
    """Raised whenever the same trial could get another status; baselines never cross it."""
    status: Status
    reason: str
    """One line a reviewer can act on. Never empty, also on PASS."""
    score: float | None = None
    """Graded score in [0, 1]; any finite figure when MEASURED. None for "unknown": never 0, never NaN."""
    label: str | None = None
    _: KW_ONLY
    blame: Blame | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """Parts of a folded finding, a judge's raw reply, figures beside the verdict; JSON values."""

    def __post_init__(self) -> None:
        if self.status in _STATUSES:
            object.__setattr__(self, "status", Status(self.status))  # "pass" is as good as Status.PASS
        status, reason = cast("Any", self.status), cast("Any", self.reason)  # the user's evaluators fill it
        if not isinstance(status, Status) or not isinstance(reason, str):
            msg = f"{self.evaluator}: status {status!r} must be a Status, reason {reason!r} text"
            raise TypeError(msg)
        label, blame, details = cast("Any", self.label), cast("Any", self.blame), cast("Any", self.details)
        if not isinstance(label, str | None) or not isinstance(blame, Blame | None):
            msg = f"{self.evaluator}: label {label!r} must be text, blame {blame!r} a Blame, or None"
            raise TypeError(msg)
        if not isinstance(details, Mapping) or isinstance(self.score, bool):
            msg = f"{self.evaluator}: details {details!r} must be a mapping, score {self.score!r} a number"
            raise TypeError(msg)
        if self.score is None:
            return
        if not math.isfinite(self.score):
            msg = f"{self.evaluator}: score {self.score} is no finite number"
            raise BadScoreError(msg)
        if self.status is Status.MEASURED:
            return
        if not self.status.judged:
            msg = f"{self.evaluator}: a {self.status} score carries no figure, got {self.score}"
            raise ValueError(msg)
        if not 0.0 <= self.score <= 1.0:
            msg = f"{self.evaluator}: score {self.score} lies outside [0, 1]"
            raise BadScoreError(msg)

    @property
    def passed(self) -> bool | None:
        """True or False when judged, else None."""
        return self.status is Status.PASS if self.status.judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A planned (case, trial, evaluator) with its one finding and what finding it took."""

    case_id: str
    trial: int
    score: Score
    judge_model: str | None = None
    judge_fingerprint: str | None = None
    usage: Usage = field(default_factory=Usage)
    """Tokens of the judge's calls."""
    cost_nanousd: int | None = 0
    latency_ms: float | None = None
    attempt: int = 1
    scored_at: datetime | None = None
    reused_from: str | None = None
    """The run or sweep whose finding was taken over: what it cost stands there, and is 0 here."""


def fold(evaluator: str, version: int, findings: Sequence[Score], *, trajectory: bool = True) -> Score:
    """Fold several findings of one evaluator into the cell's one (contract, section 8).

    Any error is error; else any fail is fail; else any pass is pass, with the mean of the judged
    scores; else any measured is measured; all not applicable is not_applicable.

    Args:
        evaluator: The cell's evaluator.
        version: Its version.
        findings: In the evaluator's own order; may be empty.
        trajectory: Whether the trial left anything to look at. Decides what an empty list means.
    """
    if len(findings) == 1:
        return findings[0]
    if not findings:
        if trajectory:
            return Score(
                evaluator=evaluator,
                version=version,
                status=Status.NOT_APPLICABLE,
                reason="the evaluator found nothing to judge in this trial",
            )
        return Score(
            evaluator=evaluator,
            version=version,
            status=Status.ERROR,
            blame=Blame.EVALUATOR,
            reason="no findings came back, and the trial's trajectory was missing",
        )
    for status in (
        Status.ERROR,
        Status.FAIL,
        Status.PASS,
        Status.MEASURED,
        Status.NOT_APPLICABLE,
        Status.SKIPPED,
    ):
        deciding = [finding for finding in findings if finding.status is status]
        if deciding:
            break
    pool = [
        f.score for f in findings if f.score is not None and (f.status.judged or status is Status.MEASURED)
    ]
    graded = status.judged or status is Status.MEASURED
    return Score(
        evaluator=evaluator,
        version=version,
        status=status,
        reason=" | ".join(f.reason for f in deciding),
        score=math.fsum(pool) / len(pool) if graded and pool else None,
        label=deciding[0].label,
        blame=deciding[0].blame,
        details={
            "parts": [
                {"status": f.status.value, "score": f.score, "label": f.label, "reason": f.reason}
                | ({"details": dict(f.details)} if f.details else {})
                for f in findings
            ]
        },
    )
