"""The run that a suite is compared with: who made it so, and what it was judged by.

Owns the document ``baselines/<suite>.json``. A baseline is named by a person, never by a run. Reads plans;
knows no store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from nightgate.errors import DamagedError
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.rows.jsondocs import (
    ANYTHING,
    FLAG,
    ID,
    INTEGER,
    TEXT,
    DocumentKind,
    Each,
    OrMissing,
    OrNull,
    Shape,
)
from nightgate.rows.keys import baseline_key

BASELINE_SCHEMA = 1
_JUDGED_BY: dict[str, Shape] = {"name": TEXT, "version": INTEGER, "judge_fingerprint": OrNull(TEXT)}
_KIND = DocumentKind(
    name="baseline document",
    schema=BASELINE_SCHEMA,
    shape={
        "suite": ID,
        "run_id": ID,
        "promoted_at": TEXT,
        "forced": FLAG,
        "why": OrNull(TEXT),
        "verdict": TEXT,
        "case_hashes": Each(TEXT),
        "evaluators": [{**_JUDGED_BY, "judge_model": OrNull(TEXT)}],
        "agent": {"model": TEXT, "fingerprint": TEXT, "parts": Each(ANYTHING)},
        "rejudged": OrMissing([{"sweep": ID, "evaluators": [_JUDGED_BY], "at": TEXT}]),
        "earlier": OrMissing(
            [{"run_id": ID, "promoted_at": TEXT, "replaced_at": TEXT, "forced": FLAG, "why": OrNull(TEXT)}]
        ),
    },
    way_out=(
        "`nightgate promote RUN --force --why TEXT` makes it again; what was the baseline before, and why, "
        "is lost with it"
    ),
)


class StrayBaselineError(DamagedError):
    """A whole document that is no baseline of its suite: another suite's, or of a run that is not there."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}; `nightgate promote RUN` makes it again")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudged:
    """A sweep that judged the baseline's trials again."""

    sweep: str
    evaluators: tuple[Mapping[str, Any], ...]
    """``name``, ``version``, ``judge_fingerprint`` of each."""
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A suite's baseline."""

    suite: str
    run_id: str
    promoted_at: str
    """UTC, ISO 8601 with Z."""
    forced: bool
    why: str | None
    """The reason that was given; never None where it was forced."""
    verdict: str
    case_hashes: Mapping[str, str]
    evaluators: tuple[Mapping[str, Any], ...]
    """``name``, ``version``, ``judge_model``, ``judge_fingerprint`` of each."""
    agent: Mapping[str, Any]
    """``model``, ``fingerprint``, ``parts``."""
    rejudged: tuple[Rejudged, ...] = ()
    """Oldest first; of two for one evaluator the later one counts."""
    earlier: tuple[Mapping[str, Any], ...] = ()
    """What was the baseline before, oldest first: run_id, promoted_at, replaced_at, forced, why."""

    @property
    def sweeps(self) -> tuple[str, ...]:
        """Ids of the sweeps that judged it again, oldest first."""
        return tuple(again.sweep for again in self.rejudged)

    def to_json(self) -> bytes:
        """The document's bytes."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["rejudged"] = [asdict(again) for again in self.rejudged]
        document = {"schema": BASELINE_SCHEMA, **body}
        return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"

    @classmethod
    def from_json(cls, data: bytes, key: str) -> Baseline:
        """The baseline behind a document's bytes.

        Args:
            data: The document.
            key: Where it lies, for the message.

        Raises:
            NewerDocumentError: If a newer nightgate wrote it.
            StrayBaselineError: If it is another suite's.
            DamagedError: If it is none.
        """
        found = _KIND.read(data, key)
        if baseline_key(found["suite"]) != key:
            raise StrayBaselineError(key, f"it is the baseline of suite {found['suite']}")
        values = {f.name: found[f.name] for f in fields(cls) if f.name in found}
        values["rejudged"] = tuple(
            Rejudged(sweep=again["sweep"], evaluators=tuple(again["evaluators"]), at=again["at"])
            for again in found.get("rejudged", ())
        )
        for name in ("evaluators", "earlier"):
            values[name] = tuple(values.get(name, ()))
        return cls(**values)


def promoted(
    plan: Plan, verdict: str, *, at: str, forced: bool, why: str | None, before: Baseline | None
) -> Baseline:
    """The baseline that a run becomes.

    Args:
        plan: Of the run.
        verdict: Its gate's.
        at: Now.
        forced: Whether it would have been refused without a reason.
        why: The reason, where one was given.
        before: What it replaces.
    """
    earlier: tuple[Mapping[str, Any], ...] = ()
    if before is not None:
        left = {
            "run_id": before.run_id,
            "promoted_at": before.promoted_at,
            "replaced_at": at,
            "forced": before.forced,
            "why": before.why,
        }
        earlier = (*before.earlier, left)
    return Baseline(
        suite=plan.suite,
        run_id=plan.run_id,
        promoted_at=at,
        forced=forced,
        why=why,
        verdict=verdict,
        case_hashes={case.case_id: case.case_hash for case in plan.cases},
        evaluators=tuple(
            {**_identity(planned), "judge_model": planned.judge_model}
            for planned in plan.evaluators
            if planned.name not in plan.panel_members
        ),
        agent={"model": plan.model, "fingerprint": plan.fingerprint, "parts": dict(plan.parts)},
        earlier=earlier,
    )


def rejudged(baseline: Baseline, sweep: str, evaluators: Iterable[PlannedEvaluator], *, at: str) -> Baseline:
    """The same baseline with a sweep noted that judged it again."""
    note = Rejudged(sweep=sweep, evaluators=tuple(_identity(planned) for planned in evaluators), at=at)
    return replace(baseline, rejudged=(*baseline.rejudged, note))


def _identity(planned: PlannedEvaluator) -> dict[str, Any]:
    return {
        "name": planned.evaluator,
        "version": planned.version,
        "judge_fingerprint": planned.judge_fingerprint,
    }
