"""Flaky or broken, over stored nights: summaries in, states out.

Owns which nights are folded into a suite's book, in which order, and that a night is told once: a second
call for the same run answers with what the first one wrote. Reads committed runs only; plays nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from nightgate.errors import ConflictError, MissingError, StoreError
from nightgate.flakiness import Again, Book, Findings, Night, Pair, Tonight, close_night, open_night
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.keys import RunAddress
from nightgate.rows.manifests import Manifest
from nightgate.steps import nights
from nightgate.steps.flakybook import SCHEMA, book_json, book_of, findings_json
from nightgate.steps.flakyplan import explained, quarantined, rerun_id
from nightgate.steps.histories import compact_months
from nightgate.steps.reading import load_plan, manifest_of, rows_of

_UNSETTLED_NIGHTS = 30
_UNSETTLED_RUNS = 100
"""Committed runs of any kind that are looked at for them."""
_SWAPS = 5
"""Tries of writing a suite's book beside others who do the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A night that may still be rerun, and the book it is held against."""

    book: Book
    tonight: Tonight
    series: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closed:
    night: Night
    before: Book
    after: Book
    findings: Findings
    again: Mapping[Pair, Again]
    rerun: Manifest | None


def open_tonight(store: Store, run_id: str) -> Opened | None:
    """What reruns a run asks for; None where it is no night or was told already.

    Raises:
        MissingError: If there is no such run.
    """
    manifest = _night(store, run_id)
    if manifest is None or told(store, run_id) is not None:
        return None
    series = nights.series_of(manifest.facts.get("model"))
    book = _book(_stored(store, manifest.suite)[0], series)
    missing = _missing(store, manifest, book, series)
    if missing is None:
        book, missing = Book(), _missing(store, manifest, Book(), series) or []
    listed = nights.addresses(store, manifest.suite)
    for earlier in missing[:-1]:
        book = _fold(store, earlier, book, listed).after
    return Opened(book=book, tonight=open_night(book, nights.night_of(store, manifest)), series=series)


def settle(store: Store, run_id: str) -> dict[str, Any]:
    """Decide a night with the reruns that are stored, write its states and tell what changed.

    Nights that were never settled are folded in first, in the order of their scheduled starts.

    Returns:
        The document ``runs/<run_id>/flakiness.json``; one with ``night: false`` and why, which is not
        stored, where the run is none.

    Raises:
        MissingError: If there is no such run.
        StoreError: If the store refused; the same call goes on later.
    """
    known = told(store, run_id)
    if known is not None:
        return known
    manifest = _night(store, run_id)
    if manifest is None:
        return _no_night(store, run_id)
    for last in (*[False] * (_SWAPS - 1), True):
        try:
            return _settled(store, manifest)
        except ConflictError:
            if last:
                raise
    raise AssertionError  # the loop returns or raises


def told(store: Store, run_id: str) -> dict[str, Any] | None:
    """What a run came to, if it was settled."""
    try:
        document: dict[str, Any] = json.loads(store.read(keys.flakiness_report_key(run_id)))
    except MissingError:
        return None
    return document


def books(store: Store, suite: str) -> dict[str, Any] | None:
    """The stored document ``flakiness/<suite>.json``; None where no night was settled."""
    return _stored(store, suite)[0] or None


def fresh_book(store: Store, suite: str) -> tuple[str, Book] | None:
    """The newest series of a suite and its book, later nights folded in; nothing is written.

    Where no night was ever settled the newest 30 are folded: labels need no more, and a state that is older
    is dated from the first of them.

    None where the suite has no night.
    """
    stored = _stored(store, suite)[0]
    known = {name: _book(stored, name) for name in stored.get("series", {})}
    first = min((book.through_at[:10] for book in known.values()), default="")
    listed = nights.addresses(store, suite)
    wanted = [each for each in listed if each.date.isoformat() >= first]
    if not known:
        wanted = wanted[-_UNSETTLED_RUNS:]
    whole = [found for found in nights.manifests(store, wanted) if nights.is_night(found)]
    if not whole:
        return None
    series = nights.series_of(whole[-1].facts.get("model"))
    book = known.get(series, Book())
    missing = (_missing(store, whole[-1], book, series, known=whole) or [])[-_UNSETTLED_NIGHTS:]
    for manifest, night in zip(
        missing, nights.side_by_side(lambda each: nights.night_of(store, each), missing), strict=True
    ):
        book = _fold(store, manifest, book, listed, night).after
    return series, book


def _settled(store: Store, manifest: Manifest) -> dict[str, Any]:
    suite, series = manifest.suite, nights.series_of(manifest.facts.get("model"))
    stored, raw = _stored(store, suite)
    book = _book(stored, series)
    missing = _missing(store, manifest, book, series)
    if missing is None or manifest.run_id in book.recent:
        # It started before nights that are in, or was in and is told nowhere: only from the start are all
        # nights in their order.
        book = Book()
        missing = _missing(store, None, book, series, suite=suite) or []
    closed: _Closed | None = None
    listed = nights.addresses(store, suite)
    for each in missing:
        step = _fold(store, each, book, listed)
        book = step.after
        closed = step if each.run_id == manifest.run_id else closed
    assert closed is not None
    document = _document(store, manifest, closed)
    text = {"schema": SCHEMA, "suite": suite, "series": {**stored.get("series", {}), series: book_json(book)}}
    # The night first: the next one catches up a book that lacks it; a night that is in is told by none.
    try:
        store.create(keys.flakiness_report_key(manifest.run_id), _bytes(document))
    except ConflictError:
        document = told(store, manifest.run_id) or document
    store.swap(keys.flakiness_key(suite), _bytes(text), raw)
    with contextlib.suppress(StoreError):  # derived: whoever reads next makes it again
        compact_months(store, suite, before=manifest.date)
    return document


def _document(store: Store, manifest: Manifest, closed: _Closed) -> dict[str, Any]:
    """The night's findings, with what its plan and its reruns add."""
    document = findings_json(closed.night, manifest.suite, closed.before, closed.after, closed.findings)
    known = {(case, evaluator) for case, evaluator in document.pop("known")}
    plan = load_plan(store, manifest.run_id)
    document["rerun_run"] = closed.rerun.run_id if closed.rerun is not None else None
    document["rerun_trials"] = _played(closed.again)
    document["quarantined"] = quarantined(plan)
    document["gate_explained"] = explained(store, plan, known)
    return document


def _played(again: Mapping[Pair, Again]) -> int:
    """Trials played: the suspect evaluators of a case judge the same ones."""
    cases: dict[str, int] = {}
    for (case, _), found in again.items():
        cases[case] = max(cases.get(case, 0), found.played)
    return sum(cases.values())


def _fold(
    store: Store, manifest: Manifest, book: Book, listed: Sequence[RunAddress], night: Night | None = None
) -> _Closed:
    """A night and its committed reruns, written into the book."""
    night = night if night is not None else nights.night_of(store, manifest)
    name = rerun_id(manifest.run_id)
    rerun = next((nights.manifest_at(store, each) for each in listed if each.run_id == name), None)
    again = {} if rerun is None else _again(store, rerun, night)
    after, findings = close_night(book, open_night(book, night), again)
    return _Closed(night=night, before=book, after=after, findings=findings, again=again, rerun=rerun)


_RERUN_COLUMNS = (
    "case_id", "case_hash", "evaluator", "evaluator_version", "judge_fingerprint", "planned", "curtailed",
    "passed", "failed", "not_applicable_required",
)  # fmt: skip


def _again(store: Store, rerun: Manifest, night: Night) -> dict[Pair, Again]:
    """What the reruns found of pairs that were the same thing."""
    found: dict[Pair, Again] = {}
    costs = _costs(store, rerun)
    for row in rows_of(store, rerun, keys.SUMMARIES, _RERUN_COLUMNS):
        pair = (row["case_id"], row["evaluator"])
        asked = night.found.get(pair)
        identity = (row["case_hash"], row["evaluator_version"], row["judge_fingerprint"])
        if asked is not None and identity == (
            asked.identity.case_hash,
            asked.identity.evaluator_version,
            asked.identity.judge_fingerprint,
        ):
            failed = row["failed"] + (row["not_applicable_required"] or 0)
            played = row["planned"] - row["curtailed"]
            shared = costs.pop((row["case_id"], None), 0)
            own = costs.pop(pair, 0)
            cost = None if shared is None or own is None else shared + own
            found[pair] = Again(row["passed"], failed, played, cost)
    return found


def _costs(store: Store, rerun: Manifest) -> dict[tuple[str, str | None], int | None]:
    """Nano-dollars of the reruns by case and, of judges' calls, evaluator; None where a part is unknown."""
    costs: dict[tuple[str, str | None], int | None] = {}
    for row in rows_of(store, rerun, keys.CALLS, ("case_id", "evaluator", "cost_nanousd")):
        key = (row["case_id"], row["evaluator"])
        before, cost = costs.get(key, 0), row["cost_nanousd"]
        costs[key] = None if before is None or cost is None else before + cost
    return costs


def _missing(
    store: Store,
    until: Manifest | None,
    book: Book,
    series: str,
    *,
    suite: str | None = None,
    known: Sequence[Manifest] | None = None,
) -> list[Manifest] | None:
    """Nights of a series that the book lacks, up to ``until``; None where it is older than the book."""
    if known is None:
        assert until is not None or suite is not None
        wanted = nights.addresses(store, until.suite if until is not None else suite or "")
        first = date.fromisoformat(book.through_at[:10]) if book.through_at else date.min
        last = until.date if until is not None else date.max
        wanted = [each for each in wanted if first <= each.date <= last and each.run_id not in book.recent]
        known = nights.manifests(store, wanted)
    through = (book.through_at, book.through_run or "")
    found = [
        each
        for each in known
        if nights.is_night(each)
        and nights.series_of(each.facts.get("model")) == series
        and each.run_id not in book.recent
        and (until is None or nights.when(each) <= nights.when(until))
        and nights.when(each) > through
    ]
    if until is not None and until.run_id not in {each.run_id for each in found} | set(book.recent):
        return None
    return found


def _night(store: Store, run_id: str) -> Manifest | None:
    manifest = manifest_of(store, load_plan(store, run_id))
    return manifest if manifest is not None and nights.is_night(manifest) else None


def _no_night(store: Store, run_id: str) -> dict[str, Any]:
    plan = load_plan(store, run_id)
    if plan.run_kind != "run":
        why = f"a run of kind {plan.run_kind} is no night"
    elif plan.filters:
        why = "a filtered run is no night"
    elif plan.parent is not None:
        why = f"a run that took trials over from {plan.parent} is no night"
    else:
        why = "the run is open"
    return {"schema": SCHEMA, "run_id": run_id, "suite": plan.suite, "night": False, "reason": why}


def _stored(store: Store, suite: str) -> tuple[dict[str, Any], bytes | None]:
    """The suite's document and its bytes; empty where there is none, or none that can be used."""
    try:
        raw = store.read(keys.flakiness_key(suite))
    except MissingError:
        return {}, None
    try:
        data = json.loads(raw)
        usable = isinstance(data, dict) and data.get("schema") == SCHEMA
    except ValueError:
        usable = False
    return (data if usable else {}), raw


def _book(document: Mapping[str, Any], series: str) -> Book:
    """The book of a series. One that cannot be read is made again from the rows: it is derived."""
    try:
        return book_of(document["series"][series])
    except (KeyError, TypeError, ValueError, IndexError):
        return Book()


def _bytes(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
