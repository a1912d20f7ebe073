"""Which runs a judge sweep is about, and what a sweep over several of them keeps in the store.

Owns the words of a selection (``suite:SUITE``, dates), the document ``runs/<sweep_id>/selection.json``
and the ids of its parts. A sweep over several runs is one sweep a run, with one id and one cap over
all of them. Knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from typing import Any

from nightgate.cases.problems import did_you_mean
from nightgate.errors import ConflictError, InputError, MissingError
from nightgate.plans import new_run_id
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest
from nightgate.steps.listing import resolve
from nightgate.steps.reading import load_plan

SCHEMA = 1
_PLAYED = frozenset({"run", "rerun"})
"""Kinds of runs whose agents were played: what ``suite:SUITE`` means."""
_MOST_NAME = 28
_MOST_ID = 58
"""Characters of the id of a sweep over several runs: the parts' ids are longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """A run that is to be swept."""

    run_id: str
    suite: str
    suite_path: str | None
    """Where its suite lay when it was planned."""


def picked(
    store: Store, words: Sequence[str], *, since: str | None = None, until: str | None = None
) -> tuple[Picked, ...]:
    """The runs that somebody means, each once, in the order of the words; of a suite, oldest first.

    Args:
        store: Where they lie.
        words: Run ids, ``latest``, ``latest:SUITE`` and the like, ``suite:SUITE``.
        since: First UTC day of what ``suite:SUITE`` means, YYYY-MM-DD.
        until: Last one, included.

    Raises:
        InputError: If a word or a day cannot be read, or means nothing.
        MissingError: If there is no such run.
    """
    first, last = _day(since, "--since"), _day(until, "--until")
    if first is not None and last is not None and first > last:
        msg = f"--since {since} is after --until {until}"
        raise InputError(msg)
    if (first or last) and not any(word.startswith("suite:") for word in words):
        msg = "--since and --until choose among the runs of suite:SUITE: give that instead of a run id"
        raise InputError(msg)
    found: dict[str, Picked] = {}
    for word in words:
        kind, _, named = word.partition(":")
        ids = _of_suite(store, named, first, last) if kind == "suite" else [resolve(store, word)]
        for run_id in ids:
            if run_id not in found:
                plan = load_plan(store, run_id)
                found[run_id] = Picked(run_id=run_id, suite=plan.suite, suite_path=plan.suite_path)
    return tuple(found.values())


def _day(text: str | None, flag: str) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        msg = f"{flag} {text!r}: write a day as 2026-11-29"
        raise InputError(msg) from error


def _of_suite(store: Store, suite: str, first: date | None, last: date | None) -> list[str]:
    """Committed runs of a suite within some days, oldest first."""
    addresses = [found for key in store.find("manifests/") if (found := keys.parse_manifest_key(key))]
    days = sorted(address.date for address in addresses if address.suite == suite)
    chosen = [
        address
        for address in addresses
        if address.suite == suite
        and (first is None or address.date >= first)
        and (last is None or address.date <= last)
    ]
    played = []
    for address in chosen:
        manifest = Manifest.from_json(store.read(keys.manifest_key(*address)))
        if manifest.run_kind in _PLAYED:
            played.append((str(manifest.started_at), address.run_id))
    if played:
        return [run_id for _, run_id in sorted(played)]
    if not days:
        known = sorted({address.suite for address in addresses})
        there = f"; committed runs are there of {', '.join(known)}" if known else ""
        msg = f"suite:{suite}: no committed run in {store.uri}{there}{did_you_mean(suite, known)}"
    else:
        msg = (
            f"suite:{suite}: no committed run with trials in these days; there are runs from "
            f"{days[0]} to {days[-1]}"
        )
    raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The sweep of one of the runs."""

    run_id: str
    """The sweep's own."""
    source: str
    suite: str
    suite_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A sweep over several runs, as it was begun."""

    sweep_id: str
    started_at: str
    """UTC, ISO 8601 with Z."""
    trigger: str
    words: tuple[str, ...]
    since: str | None
    until: str | None
    asked: Mapping[str, Any]
    """Judges, evaluators, filters: as ``sweeping.what_is_asked`` gives it."""
    budget_usd: str | None
    allow_unpriced: bool
    parts: tuple[Part, ...]
    left_out: tuple[Mapping[str, str], ...] = field(default=())
    """Runs without a trial to judge: ``run_id`` and ``reason``."""

    def to_json(self) -> bytes:
        """The document ``runs/<sweep_id>/selection.json``."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, ensure_ascii=False, indent=1, allow_nan=False)
        return text.encode()


def new_id(runs: Sequence[Picked], now: datetime, salt: str) -> str:
    """An id for a sweep of these runs, with room for its parts' numbers."""
    suites = {run.suite for run in runs}
    name = f"{suites.pop()[:_MOST_NAME]}-sweep" if len(suites) == 1 else "sweep"
    return new_run_id(name, now, salt)


def numbered(sweep_id: str, sources: Sequence[tuple[Picked, str]]) -> tuple[Part, ...]:
    """The parts of a sweep.

    Args:
        sweep_id: The whole's.
        sources: Runs with their suites' folders.

    Raises:
        InputError: If the id leaves no room for the parts' numbers.
    """
    if len(keys.checked_id(sweep_id)) > _MOST_ID:
        msg = f"--run-id {sweep_id!r}: at most {_MOST_ID} characters for a sweep over several runs"
        raise InputError(msg)
    width = len(str(len(sources)))
    return tuple(
        Part(run_id=f"{sweep_id}-{n:0{width}d}", source=run.run_id, suite=run.suite, suite_path=path)
        for n, (run, path) in enumerate(sources, start=1)
    )


def store_selection(store: Store, selection: Selection) -> None:
    """Claim the id and keep what is meant.

    Raises:
        InputError: If the id is taken.
    """
    taken = InputError(
        f"run id {selection.sweep_id!r} is taken in {store.uri}: choose another --run-id, or go on with "
        f"that sweep by --resume {selection.sweep_id}"
    )
    if store.children(keys.run_prefix(selection.sweep_id)):
        raise taken
    try:
        store.create(keys.selection_key(selection.sweep_id), selection.to_json())
    except ConflictError as error:
        raise taken from error


def load_selection(store: Store, sweep_id: str) -> Selection | None:
    """A sweep over several runs; None if the id is of something else, or of nothing.

    Raises:
        InputError: If a newer nightgate wrote it.
    """
    try:
        data: dict[str, Any] = json.loads(store.read(keys.selection_key(sweep_id)))
    except MissingError:
        return None
    if data.pop("schema") > SCHEMA:
        msg = f"sweep {sweep_id} was written by a newer nightgate: upgrade"
        raise InputError(msg)
    parts = tuple(Part(**part) for part in data.pop("parts"))
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
    }
    return Selection(**values, parts=parts)
