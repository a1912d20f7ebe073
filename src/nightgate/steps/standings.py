"""How far a shared run is, and who is at work on it, as its claims say.

Owns the view of whoever does not play: done, held, silent. Takes no claim; frees those of the dead, so that
workers need not wait until each of them has seen the silence for itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from nightgate.errors import MissingError, StoreError
from nightgate.ports import Store
from nightgate.rows.keys import claim_prefix
from nightgate.steps.claims import PATIENCE_S, Claim, Stage, release


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a run is, as its claims say."""

    done: int
    held: Mapping[str, int]
    """Shards in work by owner, those of silent owners left out."""
    silent: frozenset[str]
    """Owners that are dead: their claims have not changed for the patience, or their journals tell."""
    stopped: str | None
    """Why shards were let go: cancelled or budget; None: nobody stopped."""


class Watch:
    """Looks at the claims of a run without taking any. Blocking; for one thread at a time.

    Args:
        store: Where the run lies.
        run_id: The run.
        patience_s: As the workers'.
        ended: Of journals of workers, those of which it is certain that nobody writes them any more.
        monotonic: Seconds of this machine.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        *,
        patience_s: float = PATIENCE_S,
        ended: Callable[[Collection[str]], Collection[str]] = lambda _: (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._run_id = store, run_id
        self._patience_s, self._monotonic, self._ended = patience_s, monotonic, ended
        self._done: set[str] = set()
        self._seen: dict[int, tuple[bytes, float]] = {}
        self._left: list[tuple[Claim, bytes]] = []

    def look(self) -> Standing:
        """The claims as they are now.

        Raises:
            StoreError: If the store is away.
            DamagedError: If a claim is none.
        """
        try:
            return self._look()
        except StoreError:
            self._seen.clear()  # who cannot write to the store is not silent
            raise

    def release(self) -> None:
        """Free what the dead held when ``look`` saw them; one who lives after all keeps it.

        Raises:
            StoreError: If the store is away.
        """
        while self._left:
            release(self._store, self._run_id, *self._left[-1])
            self._left.pop()

    def _look(self) -> Standing:
        held: Counter[str] = Counter()
        silent, why = set(), set()
        claims = self._open()
        writing = {claim.journal for claim, _ in claims if claim.stage is Stage.HELD}
        ended = self._ended({journal for journal in writing if journal is not None})
        self._left = []
        for claim, data in claims:
            if claim.stage is Stage.HELD:
                if claim.journal in ended or self._silent(claim.shard, data):
                    silent.add(claim.owner)
                    self._left.append((claim, data))
                else:
                    held[claim.owner] += 1
            elif claim.why is not None:
                why.add(claim.why)
        return Standing(
            done=len(self._done),
            held=dict(held),
            silent=frozenset(silent - set(held)),
            stopped=max(why, default=None),  # what a person stopped outranks what the budget did
        )

    def _open(self) -> list[tuple[Claim, bytes]]:
        """Claims of shards that are not done; those that are count from now on."""
        found = []
        for key in self._store.find(claim_prefix(self._run_id)):
            if key in self._done:
                continue
            try:
                data = self._store.read(key)
            except MissingError:
                continue
            claim = Claim.from_json(data, key)
            if claim.stage is Stage.DONE:
                self._done.add(key)
            else:
                found.append((claim, data))
        return found

    def _silent(self, shard: int, data: bytes) -> bool:
        """Whether a claim has not changed for the patience, since this watch saw it first."""
        seen, since = self._seen.get(shard, (b"", 0.0))
        if seen != data:
            self._seen[shard] = data, self._monotonic()
            return False
        return self._monotonic() - since >= self._patience_s
