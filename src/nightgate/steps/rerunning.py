"""Reruns: what of a run is played again, as a run of its own.

Owns the choice (failed and errored cells of a committed run, or the suspects of a night) and the grid that
follows from it. The parent's rows and figures never change. Knows no adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nightgate.cases import Suite
from nightgate.errors import InputError
from nightgate.flakiness import MOST_RERUNS, Reruns
from nightgate.plans import Plan, PlannedCase
from nightgate.ports import Store
from nightgate.requests import SUSPECTS, RunRequest
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest
from nightgate.scores import Blame, Status
from nightgate.steps.flaky import open_tonight
from nightgate.steps.listing import resolve
from nightgate.steps.planning import kept_cap
from nightgate.steps.reading import load_plan, manifest_of, rows_of

RERUN = "rerun"
_WANTED = {
    None: frozenset({Status.FAIL, Status.ERROR}),
    "failed": frozenset({Status.FAIL}),
    "errors": frozenset({Status.ERROR}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """What is played again."""

    parent: Plan
    trials: Mapping[str, tuple[int, ...]]
    """By case, in suite order of the parent."""
    evaluators: Mapping[str, frozenset[str]]
    """By case: what those trials are judged by."""

    def suite(self, loaded: Suite) -> Suite:
        """The suite with the chosen cases only.

        Raises:
            InputError: If a chosen case is not in the suite any more.
        """
        gone = sorted(set(self.trials) - {case.id for case in loaded.cases})
        if gone:
            msg = f"--rerun {self.parent.run_id}: case {gone[0]!r} is not in {loaded.file} any more"
            raise InputError(msg)
        return loaded.model_copy(
            update={"cases": tuple(case for case in loaded.cases if case.id in self.trials)}
        )

    def request(self, request: RunRequest) -> RunRequest:
        """The request with the parent's models, unless others were named."""
        stored = self.parent
        return replace(
            request,
            model=request.model or stored.model,
            judge=request.judge or (None if stored.panel else stored.judge),
            judges=request.judges or tuple(stored.panel.get("judges", ())),
            panel=request.panel or stored.panel.get("rule"),
            user=request.user or stored.user,
            budget_usd=kept_cap(stored, request),
            allow_unpriced=request.allow_unpriced or stored.allow_unpriced,
            live=False,
            curtail=False,
        )

    def shaped(self, fresh: Plan) -> Plan:
        """The plan of the same cases today, cut to what is played again."""
        cases = tuple(self._case(fresh, case) for case in fresh.cases)
        used = {name for case in cases for name in case.evaluators}
        return replace(
            fresh,
            run_kind=RERUN,
            parent=self.parent.run_id,
            cases=cases,
            evaluators=tuple(e for e in fresh.evaluators if e.name in used),
            advisory=tuple(name for name in fresh.advisory if name in used),
            # A part of a suite says nothing of how far the whole fell.
            gate={rule: value for rule, value in fresh.gate.items() if rule != "regression"},
        )

    def _case(self, fresh: Plan, case: PlannedCase) -> PlannedCase:
        numbers, wanted = self.trials[case.case_id], self.evaluators[case.case_id]
        members = {name for e in fresh.evaluators if e.name in wanted for name in e.members}
        names = tuple(name for name in case.evaluators if name in wanted or name in members)
        if not names:
            msg = (
                f"--rerun {self.parent.run_id}: case {case.case_id!r} is not judged by "
                f"{', '.join(sorted(wanted))} any more"
            )
            raise InputError(msg)
        plain = numbers == tuple(range(len(numbers)))
        return replace(
            case,
            trials=len(numbers),
            numbers=() if plain else numbers,
            evaluators=names,
            require=tuple(name for name in case.require if name in names),
        )


def chosen(store: Store, request: RunRequest, suite: str, stored: Plan | None) -> Chosen | None:
    """What a rerun plays; None where none was asked for.

    Args:
        store: Where runs lie.
        request: What was asked for.
        suite: The suite's id.
        stored: The plan that is gone on with, if any.

    Raises:
        InputError: If the run is open, of another suite, or has nothing to play again.
        MissingError: If there is no such run.
    """
    if stored is not None:
        return _again(store, stored) if stored.run_kind == RERUN else None
    if request.rerun is None:
        return None
    parent = load_plan(store, resolve(store, request.rerun, suite))
    manifest = manifest_of(store, parent)
    if parent.suite != suite or parent.is_sweep or manifest is None:
        why = "is open: resume it first" if parent.suite == suite and not parent.is_sweep else (
            f"is a {parent.run_kind} of suite {parent.suite!r}"
        )  # fmt: skip
        msg = f"--rerun {parent.run_id}: it {why}; only committed runs of suite {suite!r} can be rerun"
        raise InputError(msg)
    if request.only == SUSPECTS:
        return _suspects(store, parent)
    return _cells(store, parent, manifest, request.only)


def _cells(store: Store, parent: Plan, manifest: Manifest, only: str | None) -> Chosen:
    """The trials and evaluators behind cells that failed or ended in errors."""
    trials: dict[str, set[int]] = {}
    names: dict[str, set[str]] = {}
    behind = parent.panel_members
    for row in rows_of(store, manifest, keys.SCORES, ("case_id", "trial", "evaluator", "status")):
        if Status(row["status"]) in _WANTED[only] and row["evaluator"] not in behind:
            trials.setdefault(row["case_id"], set()).add(row["trial"])
            names.setdefault(row["case_id"], set()).add(row["evaluator"])
    if not trials:
        what = {"failed": "failed cell", "errors": "errored cell"}.get(only or "", "failed or errored cell")
        msg = f"--rerun {parent.run_id}: it has no {what}, there is nothing to play again"
        raise InputError(msg)
    return Chosen(
        parent=parent,
        trials={case: tuple(sorted(numbers)) for case, numbers in trials.items()},
        evaluators={case: frozenset(found) for case, found in names.items()},
    )


def _suspects(store: Store, parent: Plan) -> Chosen:
    opened = open_tonight(store, parent.run_id)
    asked = {} if opened is None else Reruns(opened.tonight).asked
    if not asked:
        msg = f"run {parent.run_id} has no suspects to rerun"
        raise InputError(msg)
    return Chosen(
        parent=parent,
        trials={case: tuple(range(MOST_RERUNS)) for case in asked},
        evaluators={case: frozenset(names) for case, names in asked.items()},
    )


def _again(store: Store, stored: Plan) -> Chosen:
    """The choice behind a rerun that is taken up."""
    assert stored.parent is not None
    return Chosen(
        parent=load_plan(store, stored.parent),
        trials={case.case_id: case.numbers or tuple(range(case.trials)) for case in stored.cases},
        evaluators={case.case_id: frozenset(case.evaluators) for case in stored.cases},
    )


def left_out(plan: Plan, *, stopped: str | None) -> Mapping[str, Any]:
    """Why a rerun was not played: as fields of a score."""
    if stopped == "budget":
        return {"status": Status.SKIPPED, "blame": Blame.BUDGET, "reason": "the run's budget is used up"}
    reason = f"left out: the suspects of {plan.parent} are decided, or the night's share is used up"
    return {"status": Status.SKIPPED, "blame": Blame.CURTAILED, "reason": reason}


def left_out_as(plan: Plan, reason: str) -> Mapping[str, Any]:
    """``left_out`` again, from the reason that a trial was left out with."""
    by_budget, by_rule = left_out(plan, stopped="budget"), left_out(plan, stopped=None)
    return by_budget if reason == by_budget["reason"] else by_rule
