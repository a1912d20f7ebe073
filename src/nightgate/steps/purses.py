"""The cap of a run that several workers share: they lease from it, and give back what they did not spend.

Owns ``runs/<run_id>/budget.json``, which is swapped, so that of two who lease at once each sees the other. A
lease counts as spent until its worker says what it spent, or until somebody who took over its work reads
that in the ledger: the cap holds whoever dies. Knows no call and no model.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nightgate.errors import ConflictError, MissingError
from nightgate.ports import Store
from nightgate.rows.jsondocs import COUNT, TEXT, DocumentKind, Each, OrNull
from nightgate.rows.keys import purse_key

SCHEMA = 1
_SHARES = 10
"""Leases a worker that the cap is cut into: small ones cost requests, large ones lie idle at the end."""
_TRIES = 100
"""Of a swap; each failure means that somebody else went on."""


_KIND = DocumentKind(
    name="shared budget",
    schema=SCHEMA,
    shape={
        "cap": COUNT,
        "before": COUNT,
        "leases": Each({"granted": COUNT, "calls": TEXT, "spent": OrNull(COUNT)}),
    },
    way_out="remove it and start the run again with its run id",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What one worker holds of the cap, in nano-dollars."""

    granted: int
    calls: str
    """What the ids of its calls start with: by them the ledger tells what it spent."""
    spent: int | None = None
    """None while it may spend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """The stored document, in nano-dollars."""

    cap: int
    before: int
    """Spent before any of the leases."""
    leases: dict[str, Lease] = field(default_factory=dict)

    @property
    def free(self) -> int:
        """What can still be lent."""
        held = sum(lease.granted if lease.spent is None else lease.spent for lease in self.leases.values())
        return max(0, self.cap - self.before - held)

    def to_json(self) -> bytes:
        """The stored form."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, data: bytes, key: str) -> Purse:
        """The purse behind an object.

        Raises:
            DamagedError: If it is none, or a newer nightgate wrote it.
        """
        found = _KIND.read(data, key)
        leases = {owner: Lease(**lease) for owner, lease in found["leases"].items()}
        return cls(cap=found["cap"], before=found["before"], leases=leases)


def open_purse(store: Store, run_id: str, cap: int, spent: int, *, anew: bool) -> None:
    """Make the purse of a run, or set its cap.

    Args:
        store: Where the run lies.
        run_id: The run.
        cap: As it is now: a resume may raise it.
        spent: What the ledger says was spent so far.
        anew: Whether nobody holds a lease any more, so that the ledger alone tells what is left.
    """

    def opened(known: Purse | None) -> Purse:
        if known is None or anew:
            return Purse(cap=cap, before=spent)
        return replace(known, cap=cap)

    _change(store, run_id, opened)


def lease(store: Store, run_id: str, owner: str, calls: str, missing: int, workers: int) -> int:
    """Lend a worker what it misses, and some more while there is plenty.

    Args:
        store: Where the run lies.
        run_id: The run.
        owner: The worker.
        calls: What the ids of its calls start with.
        missing: The least that is of use to it.
        workers: How many share the cap.

    Returns:
        What was lent; 0: there is not so much left.

    Raises:
        StoreError: If the store is away.
        MissingError: If the run has no purse.
    """
    lent = 0

    def granted(known: Purse | None) -> Purse | None:
        nonlocal lent
        lent = 0
        if known is None:
            msg = f"run {run_id} has no shared budget: it was planned without one"
            raise MissingError(msg)
        if missing > known.free:
            return None
        share = known.cap // (_SHARES * max(1, workers))
        lent = min(known.free, max(missing, share))
        before = known.leases.get(owner)
        held = before.granted if before is not None else 0
        return replace(
            known, leases=known.leases | {owner: Lease(granted=held + lent, calls=calls, spent=None)}
        )

    _change(store, run_id, granted)
    return lent


def settle(store: Store, run_id: str, owner: str, spent: Callable[[str], int]) -> None:
    """Say what a worker spent: by itself at its end, or by whoever took over its work.

    Args:
        store: Where the run lies.
        run_id: The run.
        owner: The worker.
        spent: Given what the ids of its calls start with, what they cost.
    """

    def settled(known: Purse | None) -> Purse | None:
        held = known.leases.get(owner) if known is not None else None
        if known is None or held is None:
            return None
        # Whoever was taken for dead and lives knows of more than the ledger did then.
        booked = max(held.spent or 0, spent(held.calls))
        return replace(known, leases=known.leases | {owner: replace(held, spent=booked)})

    _change(store, run_id, settled)


def _change(store: Store, run_id: str, step: Callable[[Purse | None], Purse | None]) -> None:
    """Read, change and swap until nobody came in between; a step that returns None leaves it."""
    key = purse_key(run_id)
    for _ in range(_TRIES):
        data, known = _read(store, key)
        after = step(known)
        if after is None or after == known:
            return
        try:
            store.swap(key, after.to_json(), data)
        except ConflictError:
            continue
        return
    msg = f"{key}: others kept coming in between, {_TRIES} times"
    raise ConflictError(msg)


def _read(store: Store, key: str) -> tuple[bytes | None, Any]:
    try:
        data = store.read(key)
    except MissingError:
        return None, None
    return data, Purse.from_json(data, key)
