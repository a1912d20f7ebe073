"""The gate on stored rows: the same answer on any day, also with other thresholds.

Owns which stored objects a decision is made from: the plan, the manifest and the score parts that
it names, each checked against its digest and row count. Knows no adapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nightgate.cases import Suite, threshold_of
from nightgate.comparisons import NO_BASE
from nightgate.errors import DamagedError, InputError
from nightgate.gates import Decision, decide
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest
from nightgate.steps.collecting import collect
from nightgate.steps.comparing import outcome_of
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.summaries import Tallies, tally

_COLUMNS = ("case_id", "evaluator", "status", "blame", "score")

CountedRow = tuple[str, str, str, str | None, float | None]


def gate_run(store: Store, run_id: str, suite: Suite | None = None) -> Decision:
    """Decide on a run from its stored rows.

    Args:
        store: Where the run lies.
        run_id: The run.
        suite: Decide with this suite's thresholds and gate instead of the plan's.

    Raises:
        MissingError: If there is no such run.
        DamagedError: If its rows are not those that were committed.
    """
    tallies, complete = tallies_of(store, run_id, suite)
    outcome = outcome_of(store, tallies) if complete else NO_BASE
    return decide(tallies, complete=complete, outcome=outcome)


def tallies_of(store: Store, run_id: str, suite: Suite | None = None) -> tuple[Tallies, bool]:
    """A run's counts, and whether it is committed."""
    plan = load_plan(store, run_id)
    if plan.is_sweep:
        msg = f"run {run_id} is a judge sweep of {plan.source}: there is no gate on it; gate that run"
        raise InputError(msg)
    if suite is not None:
        if suite.suite != plan.suite:
            msg = f"run {run_id} is of suite {plan.suite!r}, not {suite.suite!r}: whose thresholds are others"
            raise InputError(msg)
        plan = with_rules_of(plan, suite)
    manifest = manifest_of(store, plan)
    if manifest is None:
        found = collect(store, run_id)
        cells = (found.cell(*key) for key in found.cells)
        rows = [
            (
                c.case_id,
                c.score.evaluator,
                c.score.status.value,
                c.score.blame and c.score.blame.value,
                c.score.score,
            )
            for c in cells
            if c is not None
        ]
        return tally(plan, rows), False
    if manifest.rows(keys.SCORES) != plan.cell_count:
        msg = (
            f"run {run_id}: the manifest counts {manifest.rows(keys.SCORES)} score rows, "
            f"the plan {plan.cell_count} cells"
        )
        raise DamagedError(msg)
    return tally(plan, _counted(store, manifest)), True


def _counted(store: Store, manifest: Manifest) -> Iterator[CountedRow]:
    for row in rows_of(store, manifest, keys.SCORES, _COLUMNS):
        yield row["case_id"], row["evaluator"], row["status"], row["blame"], row["score"]


def with_rules_of(plan: Plan, suite: Suite) -> Plan:
    """The plan with another suite's thresholds and gate: "what if"."""
    evaluators = tuple(
        replace(
            planned,
            threshold=threshold_of(suite, planned.evaluator, planned.kind),
            min_coverage=_coverage(suite, planned.evaluator),
        )
        for planned in plan.evaluators
    )
    return replace(plan, evaluators=evaluators, gate=suite.gate.model_dump(mode="json"))


def _coverage(suite: Suite, name: str) -> str:
    config = suite.evaluators.get(name)
    return (config.min_coverage if config is not None else None) or suite.gate.min_coverage
