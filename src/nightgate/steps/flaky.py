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

from nightgate.errors import ConflictError, DamagedError, MissingError, StoreError
from nightgate.flakiness import Again, Book, Findings, Night, Pair, Tonight, close_night, open_night
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.jsondocs import NewerDocumentError
from nightgate.rows.keys import RunAddress
from nightgate.rows.manifests import Manifest
from nightgate.steps import nightdocs, nights
from nightgate.steps.flakybook import SCHEMA, books_json, books_of, findings_json
from nightgate.steps.flakyplan import explained, quarantined, rerun_id
from nightgate.steps.histories import compact_months
from nightgate.steps.readers import side_by_side
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.rerunrows import costs_of, played_by_case

_UNSETTLED_NIGHTS = 30
_UNSETTLED_RUNS = 100
"""Committed runs of any kind that are looked at for them."""
BUDGET = "budget"
"""Why reruns were stopped; stopped by hand they are open, and no night is decided with them."""
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
    unpaid: frozenset[Pair]
    """Those of which the budget stopped reruns before they were played."""
    rerun: Manifest | None


def open_tonight(store: Store, run_id: str) -> Opened | None:
    """What reruns a run asks for; None where it is no night or was told already.

    Raises:
        MissingError: If there is no such run.
        NewerDocumentError: If a newer nightgate wrote the suite's book.
        DamagedError: If the night was told and the document of it is none.
    """
    manifest = _night(store, run_id)
    if manifest is None or told(store, run_id) is not None:
        return None
    series = nights.series_of(manifest.facts.get("model"))
    book = _usable(store, manifest.suite)[0].get(series, Book())
    missing = _missing(store, manifest, book, series)
    if missing is None:
        book, missing = Book(), _missing(store, manifest, Book(), series) or []
    listed = nights.addresses(store, manifest.suite)
    for earlier in missing[:-1]:
        book = _fold(store, earlier, book, listed).after
    return Opened(book=book, tonight=open_night(book, nights.night_of(store, manifest)), series=series)


def settle(store: Store, run_id: str, *, stopped: str | None = None) -> dict[str, Any]:
    """Decide a night with the reruns that are stored, write its states and tell what changed.

    Nights that were never settled are folded in first, in the order of their scheduled starts.

    Args:
        store: Where the night lies.
        run_id: The night.
        stopped: Why its suspects were not rerun, where no stored row says so.

    Returns:
        The document ``runs/<run_id>/flakiness.json``; one with ``night: false`` and why, which is not
        stored, where the run is none.

    Raises:
        MissingError: If there is no such run.
        NewerDocumentError: If a newer nightgate wrote the suite's book; nothing was written.
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
            return _settled(store, manifest, stopped)
        except ConflictError:
            if last:
                raise
    raise AssertionError  # the loop returns or raises


def told(store: Store, run_id: str) -> dict[str, Any] | None:
    """What a run came to, if it was settled.

    Raises:
        DamagedError: If its document is none.
    """
    return nightdocs.flakiness_of(store, run_id)


def fresh_book(store: Store, suite: str, asked: str | None = None) -> tuple[str, Book] | None:
    """A series of a suite (the newest, unless one is asked for) and its book, later nights folded in.

    Nothing is written. Where no night was ever settled the newest 30 are folded: labels need no more, and a
    state that is older is dated from the first of them.

    None where the suite, or the series, has no night.

    Raises:
        DamagedError: If the suite's book is none, or a newer nightgate's.
    """
    raw = _raw(store, suite)
    known = {} if raw is None else books_of(raw, suite)
    first = min((b.through_at[:10] for name, b in known.items() if asked in (None, name)), default="")
    listed = nights.addresses(store, suite)
    wanted = [each for each in listed if each.date.isoformat() >= first]
    if not first:
        wanted = wanted[-_UNSETTLED_RUNS:]
    whole = [found for found in nights.manifests(store, wanted) if nights.is_night(found)]
    whole = [found for found in whole if asked in (None, nights.series_of(found.facts.get("model")))]
    if not whole:
        return None
    series = nights.series_of(whole[-1].facts.get("model"))
    book = known.get(series, Book())
    missing = (_missing(store, whole[-1], book, series, known=whole) or [])[-_UNSETTLED_NIGHTS:]
    for manifest, night in zip(
        missing, side_by_side(lambda each: nights.night_of(store, each), missing), strict=True
    ):
        book = _fold(store, manifest, book, listed, night).after
    return series, book


def _settled(store: Store, manifest: Manifest, stopped: str | None) -> dict[str, Any]:
    suite, series = manifest.suite, nights.series_of(manifest.facts.get("model"))
    known, raw = _usable(store, suite)
    book = known.get(series, Book())
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
    document = _document(store, manifest, closed, stopped)
    text = books_json(suite, {**known, series: book})
    # The night first: the next one catches up a book that lacks it; a night that is in is told by none.
    try:
        store.create(keys.flakiness_report_key(manifest.run_id), _bytes(document))
    except ConflictError:
        document = told(store, manifest.run_id) or document
    store.swap(keys.flakiness_key(suite), _bytes(text), raw)
    with contextlib.suppress(StoreError):  # derived: whoever reads next makes it again
        compact_months(store, suite, before=manifest.date)
    return document


def _document(store: Store, manifest: Manifest, closed: _Closed, stopped: str | None) -> dict[str, Any]:
    """The night's findings, with what its plan and its reruns add.

    ``reruns_stopped`` says why not all reruns could be played (``budget``, or a text), of the night and of
    each suspect that is one still; null where they were, or where none would have told more.
    """
    document = findings_json(closed.night, manifest.suite, closed.before, closed.after, closed.findings)
    known = {(case, evaluator) for case, evaluator in document.pop("known")}
    plan = load_plan(store, manifest.run_id)
    document["suite_path"] = plan.suite_path
    document["rerun_run"] = closed.rerun.run_id if closed.rerun is not None else None
    document["rerun_trials"] = _played(closed.again)
    document["reruns_stopped"] = BUDGET if closed.unpaid else stopped
    for entry in document["suspects"]:
        unpaid = (entry["case"], entry["evaluator"]) in closed.unpaid
        entry["reruns_stopped"] = BUDGET if unpaid else stopped
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
    again, unpaid = ({}, frozenset()) if rerun is None else _again(store, rerun, night)
    after, findings = close_night(book, open_night(book, night), again)
    return _Closed(
        night=night, before=book, after=after, findings=findings, again=again, unpaid=unpaid, rerun=rerun
    )


_RERUN_COLUMNS = (
    "case_id", "case_hash", "evaluator", "evaluator_version", "judge_fingerprint", "skipped", "curtailed",
    "passed", "failed", "not_applicable_required",
)  # fmt: skip


def _again(store: Store, rerun: Manifest, night: Night) -> tuple[dict[Pair, Again], frozenset[Pair]]:
    """What the reruns found of pairs that were the same thing, and those that the budget stopped."""
    found: dict[Pair, Again] = {}
    unpaid: set[Pair] = set()
    costs, played = costs_of(store, rerun), played_by_case(store, rerun)
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
            if row["skipped"] > row["curtailed"]:
                unpaid.add(pair)
            shared = costs.pop((row["case_id"], None), 0)
            own = costs.pop(pair, 0)
            cost = None if shared is None or own is None else shared + own
            found[pair] = Again(row["passed"], failed, played[row["case_id"]], cost)
    return found, frozenset(unpaid)


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


def _raw(store: Store, suite: str) -> bytes | None:
    """The document of a suite's books; None where no night was settled."""
    try:
        return store.read(keys.flakiness_key(suite))
    except MissingError:
        return None


def _usable(store: Store, suite: str) -> tuple[dict[str, Book], bytes | None]:
    """A suite's books by series, and the bytes they were read from.

    A document that is none counts for no book: it is derived, so a night makes it again from the rows.
    """
    raw = _raw(store, suite)
    try:
        return {} if raw is None else books_of(raw, suite), raw
    except NewerDocumentError:
        raise
    except DamagedError:
        return {}, raw


def _bytes(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
