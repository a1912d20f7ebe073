"""The planned grid: which cells a run owes an answer for, frozen before the first call.

Owns the plan and its document; ``grids`` fills it from a suite. Knows no model, no agent and no store:
fingerprints come in as text, the plan goes out as JSON. Everything that the gate needs later stands in
the plan, so that a run can be decided again without its suite.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime
from typing import Any

from nightgate.cases import (
    canonical_json,
)
from nightgate.errors import InputError

PLAN_SCHEMA = 1
SWEEP = "sweep"
"""The run kind of a judge sweep."""
CANARY = "canary"
"""The run kind of a night's canaries: frozen trials and planted attacks, judged anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What defines the thing under test, part by part, so that a difference can be named."""

    model: str
    system_prompt: str | None
    tools: str
    """Digest of the tool schemas."""
    limits: Mapping[str, int]
    sources: Mapping[str, str] = field(default_factory=dict)
    """Digests of what the suite's ``fingerprint:`` names."""

    @property
    def digest(self) -> str:
        """Sixteen hex digits over all parts."""
        return digest(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorFacts:
    """What planning has to know of an evaluator, found by the registry or guessed from its name."""

    version: int
    kind: str
    """code, judge or metric."""
    fingerprint: str | None = None
    """Of the judge, for judges."""
    config: str | None = None
    """Digest of its class and parameters; None: nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEvaluator:
    """An evaluator of the run."""

    name: str
    version: int
    kind: str
    threshold: str | None
    """Decimal text; None reports figures only."""
    min_coverage: str
    judge_model: str | None = None
    judge_fingerprint: str | None = None
    config: str | None = None
    """Digest of its class and parameters in suite.yaml; None in plans of earlier versions."""
    base: str | None = None
    """In a sweep: the evaluator's own name, where ``name`` also tells judge and repeat; else None."""
    repeat: int = 0
    """In a sweep: which time this judge looks at the same output, from 0."""
    panel: str | None = None
    """Of a panel's member: the column that it votes in."""
    rule: str | None = None
    """Of a panel's own column: majority or all."""
    members: tuple[str, ...] = ()
    """Of a panel's own column: those that it is made of. It asks nobody itself."""

    @property
    def evaluator(self) -> str:
        """The evaluator's own name: what scripts, ledgers and rows know it by."""
        return self.base or self.name

    @property
    def asks(self) -> bool:
        """Whether its cells are found by calling a judge."""
        return self.kind == "judge" and not self.members


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case of the run with the evaluators that apply to it."""

    case_id: str
    case_hash: str
    agent_fingerprint: str
    layer: str
    stage: str
    trials: int
    evaluators: tuple[str, ...]
    family: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()
    blocking: bool = False
    require: tuple[str, ...] = ()
    may_skip: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    """In a sweep: the stored trials that are judged; empty: 0 to ``trials``."""
    expected_loads: tuple[str, ...] = ()
    """Skills that each trial has to load: what the coverage of loads is counted against."""
    asked: str = ""
    """Hash of what the agent is given; empty in plans of earlier versions."""
    questions: Mapping[str, str] = field(default_factory=dict)
    """Evaluator -> hash of what its finding depends on in the case."""
    criteria: Mapping[str, str] = field(default_factory=dict)
    """Evaluator -> hash of its criterion's text alone: what a judge is calibrated for."""
    quarantine: Mapping[str, Any] | None = None
    """``owner``, ``reason``, ``until`` (YYYY-MM-DD), and whether it ``holds`` on the day of the run."""

    @property
    def quarantined(self) -> bool:
        """Whether it is kept out of the gate for now."""
        return self.quarantine is not None and bool(self.quarantine["holds"])

    @property
    def gates(self) -> bool:
        """Whether its cells count at the gate."""
        return self.stage == "regression" and not self.quarantined


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run before it ran."""

    run_id: str
    suite: str
    owner: str | None
    date: str
    """UTC day of the scheduled start, YYYY-MM-DD."""
    started_at: str
    """UTC, ISO 8601 with Z."""
    run_kind: str
    trigger: str
    model: str
    judge: str | None
    user: str | None
    fingerprint: str
    """Over the agent fingerprints of all cases."""
    evaluators: tuple[PlannedEvaluator, ...]
    cases: tuple[PlannedCase, ...]
    gate: Mapping[str, Any]
    timeout_s: float
    limits: Mapping[str, int]
    budget_nanousd: int | None = None
    allow_unpriced: bool = False
    parent: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    """The first case's ``Fingerprint``, part by part."""
    price_table: str = ""
    git_sha: str | None = None
    nightgate: str = ""
    seed: int = 0
    expected_calls: Mapping[str, int] = field(default_factory=dict)
    """A guess by role, with ``total``; for people, before the first call."""
    source: str | None = None
    """In a sweep: the run whose trials are judged."""
    sweep: Mapping[str, Any] = field(default_factory=dict)
    """In a sweep: what was asked for (judges, evaluators, repeat, filters), so that it can be taken up."""
    advisory: tuple[str, ...] = ()
    """Judge evaluators that are reported and do not gate: ``gate.judges: calibrated``, and theirs was not
    when the run was planned. Frozen here, so that the same rows are decided the same way later."""
    curtail: bool = False
    """Whether cells are left out once they cannot change the gate's verdict."""
    suite_path: str | None = None
    """The suite's folder as it was named; a sweep looks there for the cases."""
    as_live: bool = False
    """Whether ``--live`` asked for it: the suite's live models and trials."""
    warnings: tuple[str, ...] = ()
    """What probably was not meant, seen before the first call."""
    live: bool = False
    """Whether ``when: live`` evaluators take part."""
    alerts: tuple[str, ...] = ()
    """Channels that are told of changes, by name."""
    reason: str | None = None
    """What had changed, where a change started the run."""
    night: bool = False
    """Whether its suspects are rerun and its canaries judged once the gate has decided."""
    panel: Mapping[str, Any] = field(default_factory=dict)
    """``rule`` and ``judges`` where a panel judges: ``judge`` is its name for people then."""
    baseline: str | None = None
    """The run that this one is compared with; None: none. Frozen here, so that the same rows are decided the
    same way when another run has become the baseline."""
    rejudged: tuple[str, ...] = ()
    """Sweeps whose findings stand for the baseline's own where the judge is theirs, oldest first."""
    baseline_trouble: str | None = None
    """Why there is no baseline although the suite has one: its document could not be read."""
    usual_model: str | None = None
    """The suite's own model, where another one was asked for; None where this run has it."""
    frozen_at: str | None = None
    """UTC, ISO 8601 with Z: when the grid was frozen; a late night has an earlier ``started_at``. None in
    plans of earlier versions and in sweeps, which start when they are planned."""
    schema: int = PLAN_SCHEMA

    def trials(self) -> Iterator[tuple[PlannedCase, int]]:
        """All planned trials, in suite order."""
        for case in self.cases:
            for trial in case.numbers or range(case.trials):
                yield case, trial

    def cells(self) -> Iterator[tuple[PlannedCase, int, str]]:
        """All planned cells, in suite order."""
        for case, trial in self.trials():
            for evaluator in case.evaluators:
                yield case, trial, evaluator

    @property
    def panel_members(self) -> frozenset[str]:
        """Columns behind a panel's, stored but neither gated nor told as failed; a sweep tells them all."""
        return frozenset(() if self.is_sweep else (e.name for e in self.evaluators if e.panel is not None))

    @property
    def is_sweep(self) -> bool:
        """Whether it judges stored trials and plays none."""
        return self.run_kind in (SWEEP, CANARY)

    @property
    def trial_count(self) -> int:
        """How many trials are planned."""
        return sum(case.trials for case in self.cases)

    @property
    def cell_count(self) -> int:
        """How many cells are planned."""
        return sum(case.trials * len(case.evaluators) for case in self.cases)

    def evaluator(self, name: str) -> PlannedEvaluator:
        """The planned evaluator of that name."""
        return next(planned for planned in self.evaluators if planned.name == name)

    def to_json(self) -> bytes:
        """The document ``runs/<run_id>/plan.json``."""
        # asdict copies every value deeply; the plan is plain already.
        document = {f.name: getattr(self, f.name) for f in fields(self)}
        document["evaluators"] = [asdict(evaluator) for evaluator in self.evaluators]
        names = tuple(f.name for f in fields(PlannedCase))
        document["cases"] = [{name: getattr(case, name) for name in names} for case in self.cases]
        return canonical_json(document)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """Read the document again.

        Raises:
            InputError: If a newer nightgate wrote it.
        """
        if data.get("schema", 0) > PLAN_SCHEMA:
            msg = f"plan schema {data['schema']} is newer than {PLAN_SCHEMA}, all this version knows: upgrade"
            raise InputError(msg)
        known = {f.name for f in fields(cls)}
        values: dict[str, Any] = {key: value for key, value in data.items() if key in known}
        values["evaluators"] = tuple(_planned_evaluator(each) for each in data["evaluators"])
        for name in ("warnings", "advisory", "alerts", "rejudged"):
            values[name] = tuple(values.get(name, ()))
        values["cases"] = tuple(_planned_case(case) for case in data["cases"])
        return cls(**values)


def _planned_case(data: Mapping[str, Any]) -> PlannedCase:
    return PlannedCase(**_with_tuples(data))


def _planned_evaluator(data: Mapping[str, Any]) -> PlannedEvaluator:
    return PlannedEvaluator(**_with_tuples(data))


def _with_tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}


def digest(value: Any) -> str:
    """Sixteen hex digits of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value)).hexdigest()[:16]


def new_run_id(suite: str, started_at: datetime, salt: str) -> str:
    """A run id that sorts by time: ``support-20261129t223000-1a2b3c``.

    Args:
        suite: Suite id; long ones are cut so that the id keeps to 64 characters.
        started_at: In any zone.
        salt: Six characters or so of ``[0-9a-z]``, from the caller's randomness.
    """
    stamp = started_at.astimezone(UTC).strftime("%Y%m%dt%H%M%S")
    return f"{suite[: 64 - len(stamp) - len(salt) - 2].rstrip('-')}-{stamp}-{salt}"


def utc_date(started_at: datetime) -> date:
    """The UTC day under which a run's rows are filed."""
    return started_at.astimezone(UTC).date()
