"""Which run has a local date of a suite: one object a date, put once.

Owns the claim ``nights/<suite>/<YYYY-MM-DD>.json`` and the words about who has a date. The claim comes
before anything is planned and fixes the run's id, so whoever starts the same date later finds that run,
however far it came. Who works on it at the moment is ``nightholds``' business.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from datetime import date, datetime

from nightgate.errors import ConflictError
from nightgate.localdates import stamp, start_given
from nightgate.ports import Store
from nightgate.rows.jsondocs import DAY, ID, TEXT, DocumentKind, Fits
from nightgate.rows.keys import night_key

SCHEMA = 1


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


_MOMENT = Fits("a time with its offset", _is_moment)
_KIND = DocumentKind(
    name="claim of a date",
    schema=SCHEMA,
    shape={
        "suite": ID,
        "run_id": ID,
        "date": DAY,
        "zone": TEXT,
        "scheduled_at": _MOMENT,
        "claimed_at": _MOMENT,
    },
    way_out="remove it: the date is free again, and a run that has it is not known as that date's any more",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDate:
    """A local date of a suite, and the run that has it."""

    suite: str
    date: date
    """The day of ``zone`` on which the scheduled start falls."""
    zone: str
    run_id: str
    scheduled_at: datetime
    """Aware; of the start that claimed the date."""
    claimed_at: datetime

    def to_json(self) -> bytes:
        """The stored form."""
        document = {
            "schema": SCHEMA,
            "suite": self.suite,
            "date": self.date.isoformat(),
            "zone": self.zone,
            "run_id": self.run_id,
            "scheduled_at": stamp(self.scheduled_at),
            "claimed_at": stamp(self.claimed_at),
        }
        return json.dumps(document, sort_keys=True, indent=1).encode()


def claim(store: Store, wanted: NightDate) -> NightDate:
    """Take a date of a suite for a run, unless another run has it.

    Returns:
        The claim that holds: the wanted one, or that of whoever was first.

    Raises:
        NewerDocumentError: If a newer nightgate claimed it.
        DamagedError: If what lies there is no claim of that date.
        StoreError: If the store is away.
    """
    key = night_key(wanted.suite, wanted.date)
    try:
        store.create(key, wanted.to_json())
    except ConflictError:
        return _read(store.read(key), key, wanted)
    return wanted


def _read(data: bytes, key: str, wanted: NightDate) -> NightDate:
    found = _KIND.read(data, key)
    if (found["suite"], found["date"]) != (wanted.suite, wanted.date.isoformat()):
        raise _KIND.damaged(key, f"it is of {found['suite']!r} and {found['date']}")
    return NightDate(
        suite=found["suite"],
        date=wanted.date,
        zone=found["zone"],
        run_id=found["run_id"],
        scheduled_at=start_given(found["scheduled_at"]),
        claimed_at=start_given(found["claimed_at"]),
    )


def has(night: NightDate) -> str:
    """Which run has the date, and since when."""
    return (
        f"{night.suite}: run {night.run_id} has {night.date.isoformat()} ({night.zone}), "
        f"scheduled {stamp(night.scheduled_at)}, claimed {stamp(night.claimed_at)}"
    )


def done_line(night: NightDate, verdict: str) -> str:
    """Why a date that is done is not played once more."""
    return f"{has(night)}; it is complete, verdict {verdict}. Leave out --once to run the suite again today"


def busy_line(night: NightDate, where: str, path: str, store: str | None) -> str:
    """Why a date is left to whoever is at it.

    Args:
        night: The date.
        where: Who that is.
        path: The suite's folder.
        store: The store, where a command has to name it.
    """
    return (
        f"{has(night)}; it is not complete, still being worked on by {where}. Should that end before, the "
        f"same command goes on with it, and so does `{resume_command(night, path, store)}`"
    )


def stuck_line(night: NightDate, why: str) -> str:
    """Why a date whose run is open cannot be gone on with."""
    return f"{has(night)}; it is not complete. {why.rstrip('.')}. Without --once a new one is started"


def on_line(night: NightDate, *, planned: bool) -> str:
    """That a date which somebody began is gone on with."""
    how = "it is resumed" if planned else "nothing of it was planned, it starts now"
    return f"{has(night)}; it is not complete, and nobody works on it: {how}"


def resume_command(night: NightDate, path: str, store: str | None) -> str:
    """The command by which a person goes on with a date's run."""
    words = ["nightgate", "run", path, "--resume", night.run_id]
    return shlex.join([*words, "--store", store] if store is not None else words)
