"""A simulated user against real ones: stored conversations of a suite beside its transcripts.

Owns which run is looked at and how a transcript finds its case. What is compared is ``simulators``';
nothing is called and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nightgate.cases import Case, Suite
from nightgate.cases.problems import did_you_mean
from nightgate.errors import ExitCode, InputError, NightgateError
from nightgate.importers.conversations import read_transcripts
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.facts import trial_from_row
from nightgate.simulators import Conversation, Simulated, Validation, facts_of, simulated_of, validated
from nightgate.steps.listing import latest, resolve, runs_of
from nightgate.steps.reading import load_plan, manifest_of, rows_of

TRANSCRIPTS = "transcripts"
"""Folder of a suite with real conversations."""


class NothingSimulatedError(NightgateError):
    """No run has a conversation that could be compared: it cannot be told."""

    exit_code = ExitCode.INCONCLUSIVE


def validate(store: Store, suite: Suite, run: str | None = None) -> Validation:
    """Compare the simulated conversations of a stored run with a suite's transcripts.

    Args:
        store: Where the runs lie.
        suite: With transcripts in its folder.
        run: A run id or ``latest``; None takes the latest complete run that has conversations.

    Raises:
        InputError: If a transcript cannot be read or names a case that the suite lacks, or the run is
            another suite's.
        MissingError: If there is no such run.
        NothingSimulatedError: If there is no complete run with a conversation.
    """
    cases = {case.id: case for case in suite.cases}
    read = read_transcripts(suite.path / TRANSCRIPTS)
    real = _with_facts(read.conversations, cases)
    run_id, simulated = _simulated(store, suite, run, cases)
    return validated(suite.suite, run_id, real, simulated, real_left_out=read.left_out)


def _with_facts(
    conversations: tuple[Conversation, ...], cases: Mapping[str, Case]
) -> tuple[Conversation, ...]:
    """Transcripts with the facts of their case, where they name none themselves.

    What a transcript says of itself comes first: a real user's id number is not the persona's.
    """
    problems = [
        f"{talk.where}: case_id: unknown {talk.case_id!r}{did_you_mean(talk.case_id, cases)}"
        for talk in conversations
        if talk.case_id is not None and talk.case_id not in cases
    ]
    if problems:
        raise InputError("\n".join(problems))
    return tuple(
        talk if talk.facts is not None else replace(talk, facts=facts_of(cases.get(talk.case_id or "")))
        for talk in conversations
    )


def _simulated(
    store: Store, suite: Suite, run: str | None, cases: Mapping[str, Case]
) -> tuple[str, Simulated]:
    if run is None:
        return _latest(store, suite, cases)
    plan = load_plan(store, resolve(store, run, suite.suite))
    if plan.suite != suite.suite:
        raise InputError(f"run {plan.run_id} is of suite {plan.suite!r}, not {suite.suite!r}")
    found = _of_run(store, plan, cases)
    if found is None:
        raise NothingSimulatedError(
            f"run {plan.run_id} is open: its conversations are not all there; "
            f"go on with `nightgate run {suite.path} --resume {plan.run_id}`"
        )
    if not found.conversations:
        raise NothingSimulatedError(f"run {plan.run_id}: {_why_none(found)}")
    return plan.run_id, found


def _latest(store: Store, suite: Suite, cases: Mapping[str, Case]) -> tuple[str, Simulated]:
    latest(store, suite.suite)  # says so when there is none at all
    for entry in runs_of(store, suite.suite):
        if not entry["complete"] or entry["run_kind"] != "run":
            continue
        found = _of_run(store, load_plan(store, entry["run_id"]), cases)
        if found is not None and found.conversations:
            return str(entry["run_id"]), found
    raise NothingSimulatedError(
        f"no complete run of suite {suite.suite!r} in {store.uri} has a conversation that ended; "
        f"play some with `nightgate run {suite.path}`"
    )


def _why_none(found: Simulated) -> str:
    if not found.left_out:
        return "it has no conversations"
    endings = ", ".join(f"{count} {ending}" for ending, count in found.left_out.items())
    return f"none of its conversations came to an end: {endings}"


def _of_run(store: Store, plan: Plan, cases: Mapping[str, Case]) -> Simulated | None:
    """The conversations of a run; None while it is open."""
    manifest = manifest_of(store, plan)
    if manifest is None:
        return None
    return simulated_of((trial_from_row(row) for row in rows_of(store, manifest, keys.TRIALS)), cases)
