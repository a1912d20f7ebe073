"""What followed a run's gate, read again: ``runs/<run_id>/flakiness.json`` and ``runs/<run_id>/canary.json``.

Owns what has to be in them before anybody believes them. Their words and figures are ``flakybook``'s and
``canarydocs``'.
"""

from __future__ import annotations

from typing import Any

from nightgate.errors import DamagedError, MissingError
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.jsondocs import (
    COUNT,
    FLAG,
    INTEGER,
    NUMBER,
    TEXT,
    DocumentKind,
    Each,
    NewerDocumentError,
    OrMissing,
    OrNull,
    Shape,
)

SCHEMA = 1
_CHANGE: dict[str, Shape] = {
    "case": TEXT,
    "evaluator": TEXT,
    "passed": COUNT,
    "failed": COUNT,
    "judged": COUNT,
    "base_rate": OrNull(NUMBER),
    "since_date": OrNull(TEXT),
    "reruns": {"passed": COUNT, "judged": COUNT, "played": COUNT},
    "reruns_stopped": OrMissing(OrNull(TEXT)),
}
_FLAKINESS = DocumentKind(
    name="document of a night",
    schema=SCHEMA,
    shape={
        "run_id": TEXT,
        "suite": TEXT,
        "date": TEXT,
        "event": OrNull({"text": TEXT}),
        "newly_broken": [_CHANGE],
        "newly_fixed": [_CHANGE],
        "still_broken": [_CHANGE],
        "suspects": [_CHANGE],
        "quarantined": [
            {"case": TEXT, "owner": TEXT, "until": TEXT, "days_left": INTEGER, "expired": FLAG},
        ],
        "gate_explained": FLAG,
        "rerun_run": OrNull(TEXT),
        "rerun_trials": COUNT,
        "reruns_stopped": OrMissing(OrNull(TEXT)),
    },
    way_out=(
        "remove it, and `nightgate run SUITE --resume RUN` makes it again from stored rows; nothing is lost"
    ),
)
_JUDGE: dict[str, Shape] = {
    "name": TEXT,
    "alarm": FLAG,
    "direction": OrNull(TEXT),
    "judged": COUNT,
    "flips": COUNT,
    "to_pass": COUNT,
    "to_fail": COUNT,
}
_CANARY = DocumentKind(
    name="document of a night's canaries",
    schema=SCHEMA,
    shape={
        "run_id": TEXT,
        "suite": TEXT,
        "complete": FLAG,
        "stopped": OrNull(TEXT),
        "judged": COUNT,
        "first_looks": COUNT,
        "alarm": FLAG,
        "drift": FLAG,
        "direction": OrNull(TEXT),
        "text": TEXT,
        "attacks": {
            "planted": COUNT,
            "judged": COUNT,
            "passed": [{"case": TEXT, "evaluator": TEXT, "attack": TEXT, "plain": OrNull(TEXT)}],
        },
        "evaluators": [_JUDGE],
        "flipped": [{"case": TEXT, "trial": COUNT, "evaluator": TEXT, "before": TEXT, "now": TEXT}],
        "left_out": Each(COUNT),
        "frozen": [TEXT],
        "cost_usd": OrNull(NUMBER),
    },
    way_out="`nightgate canary RUN` makes it again from stored verdicts",
)


def flakiness_of(store: Store, run_id: str) -> dict[str, Any] | None:
    """What a night came to; None where it was not settled.

    Raises:
        NewerDocumentError: If a newer nightgate wrote it.
        DamagedError: If it is none, or another run's.
    """
    return _read(store, keys.flakiness_report_key(run_id), run_id, _FLAKINESS)


def canary_of(store: Store, run_id: str) -> dict[str, Any] | None:
    """What a night's canaries came to; None where they were not asked for. Errors as ``flakiness_of``'s."""
    return _read(store, keys.canary_report_key(run_id), run_id, _CANARY)


def refuse_newer_canary(store: Store, run_id: str) -> None:
    """Make sure that what a night's canaries came to may be written here; best before they are paid for.

    Raises:
        NewerDocumentError: If a newer nightgate wrote it.
    """
    try:
        canary_of(store, run_id)
    except NewerDocumentError:
        raise
    except DamagedError:
        pass  # it is made again


def keep_canary(store: Store, run_id: str, data: bytes) -> None:
    """Put what a night's canaries came to, whatever lies there, unless a newer nightgate wrote it.

    Raises:
        NewerDocumentError: If it did; nothing was written.
    """
    refuse_newer_canary(store, run_id)
    store.replace(keys.canary_report_key(run_id), data)


def _read(store: Store, key: str, run_id: str, kind: DocumentKind) -> dict[str, Any] | None:
    try:
        data = store.read(key)
    except MissingError:
        return None
    found = kind.read(data, key)
    if found["run_id"] != run_id:
        raise kind.damaged(key, f"it is of run {found['run_id']!r}")
    return found
