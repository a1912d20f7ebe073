"""The last paid step: from staged records to committed rows.

Owns the commit: parts first, the manifest last and once. Two finishers of one run write the same
objects, because parts are sorted and hold nothing that a finisher invents. An unfinished run gets
no manifest; its summary says what is missing. Knows no adapter.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from nightgate import logs
from nightgate.comparisons import NO_BASE, Outcome
from nightgate.errors import ConflictError, MissingError
from nightgate.gates import Decision, decide
from nightgate.heap import give_back
from nightgate.panels import recounted
from nightgate.plans import Plan, PlannedCase
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import call_from_row, call_row, talk_of, trial_row
from nightgate.rows.jsontext import json_value
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.rows.parts import Part, encode_part, encode_parts
from nightgate.rows.schemas import CALLS, SCORES, SUMMARIES, TABLES, TRIALS
from nightgate.rows.tables import calls_table, scores_table, summaries_table, trials_table
from nightgate.rows.transcripts import encode_transcripts
from nightgate.scores import Cell, Status
from nightgate.steps.accounts import Account
from nightgate.steps.collecting import Collected, collect
from nightgate.steps.comparing import outcome_of
from nightgate.steps.documents import document
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.rowing import case_facts, cell_row, facts_of, labels_of
from nightgate.steps.summarizing import summary_rows
from nightgate.steps.sweepdocs import sweep_document
from nightgate.summaries import Ledger, Summary, Tallies, tally
from nightgate.trials import Ending, Trial

_BATCH_TRIALS = 2000
"""Trials that are unpacked at a time: the finisher's memory does not grow with the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a run came to."""

    summary: Summary
    decision: Decision
    tallies: Tallies
    cases: Mapping[str, frozenset[str]]
    """Ids of the cases behind the summary's ``judged`` and ``judged_anew``."""
    ledger: Ledger
    """Its calls, by role and model."""


def finish_run(
    store: Store, run_id: str, *, stopped: str | None = None, wall_s: float | None = None
) -> Finished:
    """Commit a run if all of it is there, and write its summary either way.

    Args:
        store: Where the run lies.
        run_id: The run.
        stopped: Why it stopped early: budget or cancelled.
        wall_s: Seconds from start to now, where the caller knows them.

    Raises:
        StoreError: If the store refused; nothing is lost, the same call finishes the run later.
    """
    plan = load_plan(store, run_id)
    manifest = manifest_of(store, plan)
    if manifest is None:
        try:
            return _finish_open(store, plan, stopped, wall_s)
        except (ConflictError, MissingError):
            # Another worker of this run may have been first: what it committed is the run.
            manifest = manifest_of(store, plan)
            if manifest is None:
                raise
    # Committed already: a finisher died between the manifest and the summary, or was late.
    return _stated(store, plan, _account(store, plan, manifest), complete=True, stopped=None, wall_s=wall_s)


def _finish_open(store: Store, plan: Plan, stopped: str | None, wall_s: float | None) -> Finished:
    found = collect(store, plan.run_id, sweep=plan.is_sweep)
    played = plan.is_sweep or all((case.case_id, n) in found.trials for case, n in plan.trials())
    complete = played and all((case.case_id, n, name) in found.cells for case, n, name in plan.cells())
    writer = _Writer(store, plan, found, commit=complete)
    writer.write()
    if stopped == "cancelled":
        # Begun and stopped by hand: neither played nor never tried.
        begun = sum(key not in found.trials for key in found.plays)
        writer.account.endings[Ending.CANCELLED] = begun
    if complete:
        tallies = tally(plan, writer.account.cells)
        writer.commit(tallies, NO_BASE if plan.is_sweep else outcome_of(store, tallies))
    else:
        why = f": {stopped}" if stopped else ""
        logs.info("store", f"run {plan.run_id} left open{why}", run=plan.run_id, suite=plan.suite)
    return _stated(store, plan, writer.account, complete=complete, stopped=stopped, wall_s=wall_s)


def _stated(
    store: Store, plan: Plan, account: Account, *, complete: bool, stopped: str | None, wall_s: float | None
) -> Finished:
    """Decide, and write the summary."""
    tallies = tally(plan, account.cells)
    outcome = outcome_of(store, tallies) if complete and not plan.is_sweep else NO_BASE
    decision = decide(tallies, complete=complete, outcome=outcome)
    account.heard.before = _heard_in(store, plan.source if plan.is_sweep else outcome.base)
    write = sweep_document if plan.is_sweep else partial(document, outcome=outcome)
    summary = write(plan, tallies, decision, account, complete=complete, stopped=stopped, wall_s=wall_s)
    write_summary(store, plan.run_id, summary)
    return Finished(
        summary=summary,
        decision=decision,
        tallies=tallies,
        cases=account.cases_judged(),
        ledger=account.ledger,
    )


def write_summary(store: Store, run_id: str, summary: Summary) -> None:
    """Write a summary, unless that of the complete run is there already."""
    if not _stands(store, run_id):
        text = json.dumps(summary.as_dict(), ensure_ascii=False, indent=1, allow_nan=False)
        store.replace(keys.summary_key(run_id), text.encode())


def _heard_in(store: Store, run_id: str | None) -> dict[str, list[str]]:
    """What judges' providers answered with in the run that this one is held beside, as far as it tells."""
    if run_id is None:
        return {}
    try:
        told = json.loads(store.read(keys.summary_key(run_id))).get("judge_system_fingerprints")
        return dict(told or {})
    except (MissingError, ValueError, TypeError, AttributeError):
        return {}  # a damaged summary of another run tells nothing about this one


def _stands(store: Store, run_id: str) -> bool:
    """Whether the summary of the committed run is there; from then on it never changes."""
    try:
        return bool(json.loads(store.read(keys.summary_key(run_id))).get("complete"))
    except (MissingError, ValueError):
        return False


def _account(store: Store, plan: Plan, manifest: Manifest) -> Account:
    """The counts of a committed run, from its rows."""
    account = Account.of(plan)
    for row in rows_of(store, manifest, keys.TRIALS, ("case_id", "ending", "conversation")):
        account.add_trial(row["case_id"], Ending(row["ending"]), talk_of(row))
    # A run's evaluators go by their own names; a sweep has several judges for one of them.
    labels = labels_of(plan) if plan.is_sweep else {}
    for row in rows_of(store, manifest, keys.SCORES, _CELL_COLUMNS):
        account.add_cell(
            row["case_id"],
            labels.get((row["evaluator"], row["judge_fingerprint"], row["repeat"] or 0), row["evaluator"]),
            Status(row["status"]),
            blame=row["blame"],
            score=row["score"],
            trial=row["trial"],
            reason=row["reason"] or "",
            details=json_value(row["details"]) if row["details"] else {},
            known=row["reused_from"] is not None,
        )
    for row in rows_of(store, manifest, keys.CALLS):
        account.add_call(call_from_row(row))
    return account


_CELL_COLUMNS = (
    "case_id",
    "evaluator",
    "trial",
    "status",
    "blame",
    "score",
    "reason",
    "details",
    "judge_fingerprint",
    "repeat",
    "reused_from",
)


class _Writer:
    """One pass over the accepted records, in batches: rows out, counts kept."""

    def __init__(self, store: Store, plan: Plan, found: Collected, *, commit: bool) -> None:
        self.store, self.plan, self.found, self.committing = store, plan, found, commit
        self.facts = facts_of(plan)
        self.refs: list[PartRef] = []
        self.account = Account.of(plan)

    def write(self) -> None:
        """Put all parts; count everything on the way."""
        # By number first: that is the order in which trials were played, so a batch touches few groups.
        order = sorted(self.plan.trials(), key=lambda pair: pair[1])
        for batch in _batched(order, _BATCH_TRIALS):
            if not self.plan.is_sweep:
                self._write_trials(batch)
            self._write_scores(batch)
            give_back()
        self._write_calls()

    def _write_trials(self, batch: Sequence[tuple[PlannedCase, int]]) -> None:
        placed = [
            (case, place)
            for case, number in batch
            if (place := self.found.trials.get((case.case_id, number))) is not None
        ]
        played: list[tuple[Trial, PlannedCase]] = []
        trials = self.found.records([place for _, place in placed])
        for (case, _), trial in zip(placed, trials, strict=True):
            self.account.add_trial(trial.key.case_id, trial.ending, trial.conversation)
            if self.committing:
                played.append((trial, case))
        if not played:
            return
        transcripts = encode_transcripts((trial for trial, _ in played), self.facts)
        self._put(keys.TRANSCRIPTS, transcripts.parts)
        rows = (
            trial_row(
                trial,
                replace(self.facts, agent_fingerprint=case.agent_fingerprint),
                case_facts(case),
                transcript=transcripts.refs.get((case.case_id, trial.key.trial, trial.attempt)),
            )
            for trial, case in played
        )
        self._put(keys.TRIALS, encode_parts(trials_table(rows), TRIALS))

    def _write_scores(self, batch: Sequence[tuple[PlannedCase, int]]) -> None:
        rows: list[dict[str, Any]] = []
        planned = {e.name: e for e in self.plan.evaluators}
        for case, name, cell in recounted(self.plan, self._cells(batch)):
            score = cell.score
            self.account.add_cell(
                case.case_id,
                name,
                score.status,
                blame=score.blame.value if score.blame is not None else None,
                score=score.score,
                trial=cell.trial,
                reason=score.reason,
                details=score.details,
                known=cell.reused_from is not None,
            )
            if self.committing:
                facts = replace(self.facts, agent_fingerprint=case.agent_fingerprint)
                rows.append(cell_row(cell, facts, case, planned[name]))
        if rows:
            self._put(keys.SCORES, encode_parts(scores_table(rows), SCORES))

    def _cells(self, batch: Iterable[tuple[PlannedCase, int]]) -> Iterator[tuple[PlannedCase, str, Cell]]:
        placed = [
            (case, name, place)
            for case, number in batch
            for name in case.evaluators
            if (place := self.found.cells.get((case.case_id, number, name))) is not None
        ]
        cells = self.found.records([place for _, _, place in placed])
        for (case, name, _), cell in zip(placed, cells, strict=True):
            yield case, name, cell

    def _write_calls(self) -> None:
        calls = self.found.calls()
        for call in calls:
            self.account.add_call(call)
        if self.committing:
            for batch in _batched(calls, 4 * _BATCH_TRIALS):
                table = calls_table(call_row(call, self.facts) for call in batch)
                self._put(keys.CALLS, encode_parts(table, CALLS))

    def _put(self, table: str, parts: Iterable[Part]) -> None:
        for part in parts:
            key = keys.part_key(table, self.plan.suite, self.facts.date, self.plan.run_id, part.name)
            self._put_as(table, key, part)

    def _put_as(self, table: str, key: str, part: Part) -> None:
        self.store.create(key, part.data)
        self.refs.append(
            PartRef(table=table, key=key, rows=part.rows, bytes=len(part.data), sha256=part.sha256)
        )

    def commit(self, tallies: Tallies, outcome: Outcome) -> None:
        """Summaries, then the manifest; staging goes last, it is all in the parts."""
        if not self.plan.is_sweep:  # trends are of what agents did on a night, and a sweep is none
            table = summaries_table(summary_rows(tallies, self.account, self.facts))
            key = keys.summaries_key(self.plan.suite, self.facts.date, self.plan.run_id)
            self._put_as(keys.SUMMARIES, key, encode_part(table, SUMMARIES))
        started = datetime.fromisoformat(self.plan.started_at).astimezone(UTC)
        manifest = Manifest(
            run_id=self.plan.run_id,
            suite=self.plan.suite,
            date=self.facts.date,
            run_kind=self.plan.run_kind,
            started_at=started,
            schemas={name: schema.version for name, schema in TABLES.items()},
            parts=tuple(self.refs),
            facts={
                "trials": self.plan.trial_count,
                "cells": self.plan.cell_count,
                "verdict": None if self.plan.is_sweep else decide(tallies, outcome=outcome).verdict.value,
                "source": self.plan.source,
                "model": self.plan.model,
                "judge": self.plan.judge,
                "fingerprint": self.plan.fingerprint,
                "filters": dict(self.plan.filters),
                "parent": self.plan.parent,
            },
        )
        self.store.create(manifest.key, manifest.to_json())
        run_id, suite = self.plan.run_id, self.plan.suite
        self.store.delete(self.store.find(keys.staging_prefix(run_id)))
        logs.info("store", f"run {run_id} committed", run=run_id, suite=suite, parts=len(self.refs))


def _batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
