"""Trials taken over from a committed run: paid once, judged again only where the judge changed.

Owns what "the same" means (contract, section 7): case hash, trial number and agent fingerprint for
a trial; for a finding besides evaluator version and judge fingerprint, the evaluator's configuration and
what it is asked of the case. What ended by the infrastructure's fault is never taken over. Knows no
adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightgate.errors import InputError
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import cell_from_row, trial_from_row
from nightgate.rows.manifests import Manifest
from nightgate.scores import Cell, Status
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.trials import Ending, Trial

_AGAIN = frozenset({Ending.INFRA_ERROR, Ending.SIMULATOR_ERROR, Ending.CANCELLED, Ending.NOT_RUN})
_FOUND = frozenset({Status.PASS, Status.FAIL, Status.MEASURED, Status.NOT_APPLICABLE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A trial of another run, as a record of this one, with the findings that still hold."""

    trial: Trial
    cells: tuple[Cell, ...]


def take(store: Store, source: str, plan: Plan) -> Iterator[Taken]:
    """What a new run need not play again.

    Args:
        store: Where both runs lie.
        source: The run to take from.
        plan: The new run.

    Raises:
        InputError: If the source is of another suite or still open.
        DamagedError: If its rows are not those that were committed.
    """
    old, manifest = committed(store, source, plan.suite, asked="--reuse")
    found = _cells(store, manifest, old, plan)
    wanted = {case.case_id: case for case in plan.cases}
    spoken = _transcripts(store, manifest)
    for row in rows_of(store, manifest, keys.TRIALS):
        case = wanted.get(row["case_id"])
        if case is None or row["trial"] >= case.trials or not same_trial(row, case) or not measured(row):
            continue
        trial = trial_from_row(row, spoken.get(row["transcript"] or ""))
        yield Taken(
            trial=replace(
                trial,
                key=replace(trial.key, run_id=plan.run_id),
                attempt=1,
                reused_from=trial.reused_from or source,
            ),
            cells=tuple(found.get((row["case_id"], row["trial"]), ())),
        )


def committed(store: Store, source: str, suite: str, *, asked: str) -> tuple[Plan, Manifest]:
    """A run that can be taken over.

    Args:
        store: Where it lies.
        source: Its id.
        suite: The suite that asks.
        asked: The flag that named it, for the message.

    Raises:
        MissingError: If there is no such run.
        InputError: If it is of another suite or still open.
    """
    old = load_plan(store, source)
    manifest = manifest_of(store, old)
    if old.suite != suite or manifest is None:
        why = f"is a run of suite {old.suite!r}" if old.suite != suite else "is open: resume it first"
        msg = f"{asked} {source}: it {why}; only committed runs of suite {suite!r} can be taken over"
        raise InputError(msg)
    return old, manifest


def same_trial(row: Mapping[str, Any], case: PlannedCase) -> bool:
    """Whether a row of the trials table is a play of this case, as it is now, by this agent."""
    return bool((row["case_hash"], row["agent_fingerprint"]) == (case.case_hash, case.agent_fingerprint))


def measured(row: Mapping[str, Any]) -> bool:
    """Whether a row of the trials table says something of the agent, and not of the infrastructure."""
    return Ending(row["ending"]) not in _AGAIN


def same_finding(row: Mapping[str, Any], evaluator: PlannedEvaluator) -> bool:
    """Whether a row of the scores table is what this evaluator, by this judge, would look for again."""
    identity = (row["evaluator_version"], row["judge_fingerprint"])
    return bool(identity == (evaluator.version, evaluator.judge_fingerprint))


def same_config(now: PlannedEvaluator, then: PlannedEvaluator) -> bool:
    """Whether an evaluator was set up as it is now: by class, parameters, and having a threshold or none.

    Plans of earlier versions do not show class and parameters. Code is asked again then, which costs
    nothing; of a judge the fingerprint holds the parameters.
    """
    if (now.threshold is None) != (then.threshold is None):
        return False  # without one a finding is a figure, with one a verdict
    if then.config is None and now.kind == "judge":
        return True
    return then.config is not None and then.config == now.config


def same_question(now: PlannedCase, then: PlannedCase, evaluator: str) -> bool:
    """Whether an evaluator was asked what it is asked now, though the case may have been edited elsewhere.

    The case hash alone does not tell: it has the criteria of all judges, and no expected output. It
    decides for plans of earlier versions, which have nothing else.

    Args:
        now: The case as planned now.
        then: The same case as the stored run planned it.
        evaluator: Its own name, also of a panel's member.
    """
    asked, before = now.questions.get(evaluator), then.questions.get(evaluator)
    if asked is None or before is None:
        return now.case_hash == then.case_hash
    return asked == before


def has_verdict(row: Mapping[str, Any]) -> bool:
    """Whether a row of the scores table is a finding, and not an error or a gap."""
    return Status(row["status"]) in _FOUND


def _cells(store: Store, manifest: Manifest, old: Plan, plan: Plan) -> dict[tuple[str, int], list[Cell]]:
    """Findings that still hold, by trial."""
    before = {e.name: e for e in old.evaluators}
    planned = {e.name: e for e in plan.evaluators if e.name in before and same_config(e, before[e.name])}
    asked = {case.case_id: case for case in plan.cases}
    told = {case.case_id: case for case in old.cases}
    found: dict[tuple[str, int], list[Cell]] = {}
    for row in rows_of(store, manifest, keys.SCORES):
        evaluator, case = planned.get(row["evaluator"]), asked.get(row["case_id"])
        if evaluator is None or case is None or not has_verdict(row) or not same_finding(row, evaluator):
            continue
        if same_question(case, told[case.case_id], evaluator.evaluator):
            cell = replace(cell_from_row(row), attempt=1)
            found.setdefault((row["case_id"], row["trial"]), []).append(cell)
    return found


def _transcripts(store: Store, manifest: Manifest) -> Mapping[str, dict[str, Any]]:
    """Transcript rows by reference."""
    found: dict[str, dict[str, Any]] = {}
    for part in manifest.of(keys.TRANSCRIPTS):
        name = part.key.rsplit("/", 1)[-1]
        only = replace(manifest, parts=(part,))
        for number, row in enumerate(rows_of(store, only, keys.TRANSCRIPTS)):
            found[f"{name}#{number}"] = row
    return found
