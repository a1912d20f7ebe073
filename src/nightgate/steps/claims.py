"""Who works on which shard of a run: claims in the store, one object a shard.

Owns how a shard is taken, kept, let go and taken over. A holder renews its claim by changing it; one that
has not changed for the patience, by the clock of whoever looks, is taken over. No two machines' clocks are
ever compared: the hour in a claim is for people. Decides nothing about trials: that two workers once play
the same shard costs calls, never a verdict, because of several records of a trial one is accepted.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from nightgate.errors import ConflictError, MissingError, StoreError
from nightgate.ports import Store
from nightgate.rows.jsondocs import COUNT, FLAG, TEXT, DocumentKind, OrMissing, OrNull, one_of
from nightgate.rows.keys import claim_key, claim_prefix

PATIENCE_S = 45.0
"""A claim that did not change for so long is taken over."""
RENEWALS = 4
"""How often a holder changes its claim within the patience."""
SCHEMA = 1


class Stage(StrEnum):
    """Where a shard stands."""

    HELD = "held"
    FREE = "free"
    """Let go before it was through: whoever comes may take it."""
    DONE = "done"
    """All its records are in the store."""


_KIND = DocumentKind(
    name="claim",
    schema=SCHEMA,
    shape={
        "shard": COUNT,
        "owner": TEXT,
        "stage": one_of(Stage),
        "beat": COUNT,
        "takeovers": COUNT,
        "until": TEXT,
        "why": OrNull(TEXT),
        "journal": OrMissing(OrNull(TEXT)),
        "gone": OrMissing(FLAG),
    },
    way_out="remove it, and its shard is free again",
)
_FIELDS = frozenset(_KIND.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What stands in the store about one shard."""

    shard: int
    owner: str
    stage: Stage
    beat: int = 0
    """Counts the renewals: what does not change is not alive."""
    takeovers: int = 0
    """How many holders before this one fell silent."""
    until: str = ""
    """For people: when it would be taken over, by the clock of its holder."""
    why: str | None = None
    """Of a shard that was let go: budget or cancelled, where that was the reason."""
    journal: str | None = None
    """Name of its holder's journal: once somebody has brought that up, the holder is dead."""
    gone: bool = False
    """Of a free shard: its holder did not let it go, but died with it, as far as anybody can tell."""

    def to_json(self) -> bytes:
        """The stored form."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, sort_keys=True).encode()

    @classmethod
    def from_json(cls, data: bytes, key: str) -> Claim:
        """The claim behind an object.

        Raises:
            DamagedError: If it is none, or a newer nightgate wrote it.
        """
        found = _KIND.read(data, key)
        del found["schema"]
        return cls(
            **{name: found[name] for name in found.keys() & _FIELDS} | {"stage": Stage(found["stage"])}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A shard that is this worker's from here on."""

    shard: int
    before: str | None
    """Who had it before: what was staged since then has to be read again. None: nobody."""
    silent: bool = False
    """Whether that one died with it, as far as anybody can tell."""


class Claims:
    """One worker's view of a run's claims. Blocking; for one thread at a time.

    Args:
        store: Where the run lies.
        run_id: The run.
        shards: How many it was cut into.
        owner: This worker's name, unique within the run.
        patience_s: Seconds after which a claim that does not change is taken over.
        journal: Name of this worker's journal.
        committed: Whether the run is, and its claims are gone with it; asked where a shard has none.
        monotonic: Seconds of this machine.
        now: The hour, for people.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        shards: int,
        owner: str,
        *,
        patience_s: float = PATIENCE_S,
        journal: str | None = None,
        committed: Callable[[], bool] = lambda: False,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store, self._run_id, self._shards, self._owner = store, run_id, shards, owner
        self._patience_s, self._monotonic, self._now = patience_s, monotonic, now
        self._journal, self._committed = journal, committed
        self._held: dict[int, tuple[Claim, bytes]] = {}
        self._done: set[int] = set()
        self._seen: dict[int, tuple[bytes, float]] = {}

    @property
    def renew_s(self) -> float:
        """Seconds between two renewals."""
        return self._patience_s / RENEWALS

    @property
    def held(self) -> Collection[int]:
        """Shards that are this worker's."""
        return tuple(self._held)

    def take(self) -> Taken | None:
        """A shard that nobody has, or whose holder fell silent; None: there is none at this moment.

        Raises:
            StoreError: If the store is away.
            DamagedError: If a claim is none.
        """
        with self._silence():
            return self._take()

    def _take(self) -> Taken | None:
        for shard, known, data in self._takeable():
            silent = known is not None and (known.stage is Stage.HELD or known.gone)
            takeovers = (known.takeovers if known is not None else 0) + silent
            if self._swap(self._claim(shard, beat=0, takeovers=takeovers), data):
                return Taken(shard=shard, before=known.owner if known else None, silent=silent)
        return None

    def renew(self) -> list[int]:
        """Say that this worker lives.

        Returns:
            Shards that are no longer its own: somebody took them over, and what is done there is theirs.

        Raises:
            StoreError: If the store is away; nobody can take over then either.
        """
        lost = []
        with self._silence():
            for shard, (claim, data) in list(self._held.items()):
                if not self._swap(self._claim(shard, beat=claim.beat + 1, takeovers=claim.takeovers), data):
                    lost.append(shard)
        return lost

    def end(self, shard: int, *, done: bool, why: str | None = None) -> bool:
        """Let a shard go; False where it was somebody else's by then.

        Args:
            shard: One that this worker took.
            done: Whether all its records are in the store. Else whoever comes may take it.
            why: What stopped it before, budget or cancelled.
        """
        if shard not in self._held:
            return False
        claim, data = self._held[shard]
        stage = Stage.DONE if done else Stage.FREE
        left = self._swap(replace(claim, stage=stage, beat=claim.beat + 1, until="", why=why), data)
        self._held.pop(shard, None)
        if left and done:
            self._done.add(shard)
        return left

    def all_done(self) -> bool:
        """Whether no shard is left, as far as this worker has seen: ``take`` looks."""
        return len(self._done) == self._shards

    def _open(self) -> Iterator[int]:
        """Shards that are neither done nor held here; each worker begins at another one."""
        start = sum(self._owner.encode()) * 7919 % max(1, self._shards)
        for step in range(self._shards):
            shard = (start + step) % self._shards
            if shard not in self._done and shard not in self._held:
                yield shard

    def _takeable(self) -> Iterator[tuple[int, Claim | None, bytes | None]]:
        """Shards that nobody has, or whose holder fell silent, with what stands in the store about them."""
        for shard in self._open():
            key = claim_key(self._run_id, shard)
            try:
                data: bytes | None = self._store.read(key)
            except MissingError:
                data = None
            known = None if data is None else Claim.from_json(data, key)
            if known is None and self._committed():
                # Swept up, not free: whoever took it now would play what is paid for and counted.
                self._done.update(range(self._shards))
                return
            if known is not None and known.stage is Stage.DONE:
                self._done.add(shard)
            elif known is None or known.stage is Stage.FREE or self._silent(shard, data):
                yield shard, known, data

    def _silent(self, shard: int, data: bytes | None) -> bool:
        """Whether a claim has not changed for the patience, since this worker saw it first."""
        assert data is not None
        seen, since = self._seen.get(shard, (b"", 0.0))
        if seen != data:
            self._seen[shard] = (data, self._monotonic())
            return False
        return self._monotonic() - since >= self._patience_s

    @contextlib.contextmanager
    def _silence(self) -> Iterator[None]:
        """Count silence only while the store answers: a holder that cannot write to it is not dead."""
        try:
            yield
        except StoreError:
            self._seen.clear()
            raise

    def _claim(self, shard: int, *, beat: int, takeovers: int) -> Claim:
        until = self._now() + timedelta(seconds=self._patience_s)
        return Claim(
            shard=shard,
            owner=self._owner,
            stage=Stage.HELD,
            beat=beat,
            takeovers=takeovers,
            until=until.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            journal=self._journal,
        )

    def _swap(self, claim: Claim, before: bytes | None) -> bool:
        """Put a claim where nobody came in between; False where somebody did, and it is lost."""
        data = claim.to_json()
        try:
            self._store.swap(claim_key(self._run_id, claim.shard), data, before)
        except ConflictError:
            self._held.pop(claim.shard, None)
            return False
        if claim.stage is Stage.HELD:
            self._held[claim.shard] = claim, data
        self._seen.pop(claim.shard, None)
        return True


def reopen(store: Store, run_id: str, shards: Collection[int]) -> None:
    """Let shards of which something is missing be played, whatever stands in the way of whoever goes on.

    One may be marked as done, and one that was let go tells why its run was stopped then.
    """
    for shard in shards:
        key = claim_key(run_id, shard)
        try:
            data = store.read(key)
        except MissingError:
            continue
        claim = Claim.from_json(data, key)
        if claim.stage is Stage.DONE or claim.why is not None:
            free = replace(claim, stage=Stage.FREE, beat=claim.beat + 1, why=None)
            with contextlib.suppress(ConflictError):  # another parent of the same run was faster
                store.swap(key, free.to_json(), data)


def release(store: Store, run_id: str, claim: Claim, data: bytes) -> bool:
    """Free a shard whose holder is dead, as far as anybody can tell; False where it lives after all.

    Args:
        store: Where the run lies.
        run_id: The run.
        claim: As it was seen.
        data: The same, as it is stored.
    """
    free = replace(claim, stage=Stage.FREE, beat=claim.beat + 1, until="", gone=True)
    try:
        store.swap(claim_key(run_id, claim.shard), free.to_json(), data)
    except ConflictError:
        return False
    return True


def sweep_up(store: Store, run_id: str) -> None:
    """Remove the claims of a run that is committed: nobody needs them any more."""
    store.delete(store.find(claim_prefix(run_id)))


def claims_of(store: Store, run_id: str) -> list[Claim]:
    """All claims of a run, for people."""
    found = []
    for key in store.find(claim_prefix(run_id)):
        try:
            found.append(Claim.from_json(store.read(key), key))
        except MissingError:
            continue
    return sorted(found, key=lambda claim: claim.shard)
