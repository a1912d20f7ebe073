"""The detector's documents: ``flakiness/<suite>.json``, and a night's ``runs/<run_id>/flakiness.json``.

Owns what is written into both, and the reading of the first (of the second: ``nightdocs``). The first is what
the next night starts from and can be made again from stored rows; the second is written once and told to
people.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from typing import Any

from nightgate.flakiness import (
    FLAKY,
    STABLE_PASS,
    Book,
    Change,
    Counts,
    Event,
    Findings,
    Identity,
    Night,
    Pair,
    State,
    Watched,
    baseline,
    label,
    label_of,
    trend,
)
from nightgate.rows.jsondocs import (
    COUNT,
    DAY,
    INTEGER,
    NUMBER,
    TEXT,
    DocumentKind,
    Each,
    Fits,
    OrNull,
    Shape,
    is_count,
    one_of,
)
from nightgate.rows.keys import flakiness_key

SCHEMA = 1


def _is_night(value: Any) -> bool:
    """Checked as one value: a book holds a hundred thousand."""
    if not isinstance(value, list) or len(value) != _NIGHT_PARTS:
        return False
    return all(isinstance(part, str) for part in value[:2]) and all(map(is_count, value[2:]))


_NIGHT_PARTS = 6
_NIGHT = Fits("[run, day, passed, failed, passed again, failed again]", _is_night)
_PAIR: dict[str, Shape] = {
    "case": TEXT,
    "evaluator": TEXT,
    "case_hash": TEXT,
    "evaluator_version": INTEGER,
    "judge_fingerprint": OrNull(TEXT),
    "stage": TEXT,
    "state": one_of(State),
    "since_run": TEXT,
    "since_date": TEXT,
    "carried": NUMBER,
    "flips": COUNT,
    "reruns": COUNT,
    "rerun_nanousd": OrNull(COUNT),
    "nights": [_NIGHT],
    "before": [_NIGHT],
}
_EVENT: dict[str, Shape] = {
    "since_run": TEXT,
    "since_date": TEXT,
    "suspects": COUNT,
    "cases": COUNT,
    "named": [TEXT],
}
_BOOK: dict[str, Shape] = {
    "through": OrNull({"run_id": TEXT, "at": DAY}),
    "recent": [TEXT],
    "event": OrNull(_EVENT),
    "pairs": [_PAIR],
}
_BOOKS = DocumentKind(
    name="book of flaky cases",
    schema=SCHEMA,
    shape={"suite": TEXT, "series": Each(_BOOK)},
    way_out=(
        "the suite's next complete run makes it again from stored rows; until then, remove it and the newest "
        "30 nights are shown"
    ),
)


def books_of(data: bytes, suite: str) -> dict[str, Book]:
    """The books of a suite by series.

    Args:
        data: The document ``flakiness/<suite>.json``.
        suite: Whose.

    Raises:
        NewerDocumentError: If a newer nightgate wrote it.
        DamagedError: If it is none, or another suite's.
    """
    key = flakiness_key(suite)
    found = _BOOKS.read(data, key)
    if found["suite"] != suite:
        raise _BOOKS.damaged(key, f"it is of suite {found['suite']!r}")
    for name, book in found["series"].items():
        # A book whose nights are not told apart from new ones would count them twice.
        if book["pairs"] and not (book["through"] and book["recent"]):
            raise _BOOKS.damaged(key, f"series {name!r} has pairs and does not say through which night")
    return {name: _book_of(book) for name, book in found["series"].items()}


def books_json(suite: str, books: Mapping[str, Book]) -> dict[str, Any]:
    """The document ``flakiness/<suite>.json``."""
    return {
        "schema": SCHEMA,
        "suite": suite,
        "series": {name: book_json(book) for name, book in books.items()},
    }


def book_json(book: Book) -> dict[str, Any]:
    """A book as JSON; ``through`` is the newest night in it."""
    return {
        "through": None if book.through_run is None else {"run_id": book.through_run, "at": book.through_at},
        "recent": book.recent,
        "event": None if book.event is None else asdict(book.event),
        "pairs": [_pair_json(pair, watched) for pair, watched in sorted(book.pairs.items())],
    }


def _pair_json(pair: Pair, watched: Watched) -> dict[str, Any]:
    passed, judged = trend(watched)
    failed, base = baseline(watched)
    return {
        "case": pair[0],
        "evaluator": pair[1],
        "case_hash": watched.identity.case_hash,
        "evaluator_version": watched.identity.evaluator_version,
        "judge_fingerprint": watched.identity.judge_fingerprint,
        "stage": watched.stage,
        "state": watched.state.value,
        "label": label_of(watched),
        "since_run": watched.since_run,
        "since_date": watched.since_date,
        "passed": passed,
        "judged": judged,
        "baseline": {"failed": failed, "judged": base},
        "carried": watched.carried,
        "flips": watched.flips,
        "reruns": watched.reruns,
        "rerun_nanousd": watched.rerun_nanousd,
        "nights": [_counts_json(night) for night in watched.nights],
        "before": [_counts_json(night) for night in watched.before],
    }


def _counts_json(night: Counts) -> list[Any]:
    """One night as [run, day, passed, failed, passed again, failed again]."""
    return [
        night.run_id, night.date, night.passed, night.failed, night.again_passed, night.again_failed,
    ]  # fmt: skip


def _book_of(data: Mapping[str, Any]) -> Book:
    through = data["through"] or {"run_id": None, "at": ""}
    event = data["event"]
    return Book(
        through_run=through["run_id"],
        through_at=through["at"],
        recent=list(data["recent"]),
        pairs={(row["case"], row["evaluator"]): _watched(row) for row in data["pairs"]},
        event=None if event is None else _event(event),
    )


def _event(data: Mapping[str, Any]) -> Event:
    known = {f.name: data[f.name] for f in fields(Event)}
    return Event(**{**known, "named": tuple(known["named"])})


def _watched(row: Mapping[str, Any]) -> Watched:
    return Watched(
        identity=Identity(row["case_hash"], row["evaluator_version"], row["judge_fingerprint"]),
        state=State(row["state"]),
        since_run=row["since_run"],
        since_date=row["since_date"],
        carried=row["carried"],
        flips=row["flips"],
        reruns=row["reruns"],
        rerun_nanousd=row["rerun_nanousd"],
        stage=row["stage"],
        nights=[Counts(*night) for night in row["nights"]],
        before=[Counts(*night) for night in row["before"]],
    )


def findings_json(night: Night, suite: str, before: Book, after: Book, findings: Findings) -> dict[str, Any]:
    """What a night came to, without what only its plan and its reruns can tell.

    ``failed`` and ``judged`` are of the night itself, reruns stand apart. ``base_rate`` is the share of
    failures before; null where there was nothing to measure it by.
    """
    event = findings.event
    return {
        "schema": SCHEMA,
        "run_id": night.run_id,
        "suite": suite,
        "date": night.date,
        "event": None if event is None else _event_json(event),
        "newly_broken": [_change_json(c, now=night) for c in findings.newly_broken],
        "newly_fixed": [_change_json(c, now=None) for c in findings.newly_fixed],
        "still_broken": [_change_json(c, now=None) for c in findings.still_broken],
        "suspects": [_change_json(c, now=None) for c in findings.suspects],
        "cleared": [_change_json(c, now=None) for c in findings.cleared],
        "reset": [_reset_json(pair, watched, after) for pair, watched in findings.reset],
        "flaky": [
            _flaky_json(pair, watched)
            for pair, watched in sorted(after.pairs.items())
            if pair in night.found and label_of(watched) == FLAKY and watched.state is not State.BROKEN
        ],
        "promotable": promotable(after, night.found),
        "known": sorted(
            [case, evaluator]
            for (case, evaluator), watched in before.pairs.items()
            if _known(watched, after.pairs.get((case, evaluator)))
        ),
    }


def promotable(book: Book, present: Collection[Pair]) -> list[str]:
    """Capability cases that passed steadily under every evaluator: they could gate.

    Args:
        book: After a night.
        present: Pairs of that night.
    """
    labels: dict[str, list[bool]] = {}
    for pair in present:
        watched = book.pairs[pair]
        if watched.stage == "capability":
            steady = watched.state is State.SOUND and label_of(watched) == STABLE_PASS
            labels.setdefault(pair[0], []).append(steady)
    return sorted(case for case, steady in labels.items() if all(steady))


def _known(before: Watched, after: Watched | None) -> bool:
    """Whether a failure tonight was to be expected: broken already, or never steady."""
    if after is None or after.identity != before.identity:
        return False
    if before.state is State.BROKEN:
        return True
    if after.state is State.SUSPECT:
        # The newest nights may be the break itself, so they do not make it a case that was flaky before.
        failed, judged = baseline(before)
        return label(judged - failed, judged) == FLAKY
    return after.state is not State.BROKEN and label_of(before) == FLAKY


def _change_json(change: Change, *, now: Night | None) -> dict[str, Any]:
    """An entry; ``now`` is the night of a break, which is when it is since."""
    watched = change.watched
    failed, judged = baseline(watched)
    return {
        "case": change.pair[0],
        "evaluator": change.pair[1],
        "stage": change.found.stage,
        "passed": change.found.passed,
        "failed": change.found.failed,
        "judged": change.found.judged,
        "base_rate": failed / judged if judged else None,
        "since_run": now.run_id if now is not None else watched.since_run,
        "since_date": now.date if now is not None else watched.since_date,
        "reruns": {
            "passed": change.again.passed,
            "judged": change.again.passed + change.again.failed,
            "played": change.again.played,
        },
    }


def _flaky_json(pair: Pair, watched: Watched) -> dict[str, Any]:
    passed, judged = trend(watched)
    return {
        "case": pair[0],
        "evaluator": pair[1],
        "passed": passed,
        "judged": judged,
        "since_date": watched.since_date,
    }


def _reset_json(pair: Pair, watched: Watched, after: Book) -> dict[str, Any]:
    now = after.pairs[pair].identity
    edited = now.case_hash != watched.identity.case_hash
    return {
        "case": pair[0],
        "evaluator": pair[1],
        "state": watched.state.value,
        "since_date": watched.since_date,
        "reason": "the case was edited" if edited else "the evaluator or its judge changed",
    }


def _event_json(event: Event) -> dict[str, Any]:
    return {
        "suspects": event.suspects,
        "cases": event.cases,
        "since_run": event.since_run,
        "since_date": event.since_date,
        "named": list(event.named),
        "text": (
            f"{event.suspects} of {event.cases} cases changed at once: one cause befell the suite "
            f"(since {event.since_date}); single cases are not told apart"
        ),
    }
