"""How far a shared run is, and who is at work on it, as its claims say.

Owns the view of whoever only looks: done, held, silent. Takes no claim and changes none.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nightgate.errors import MissingError
from nightgate.ports import Store
from nightgate.rows.keys import claim_prefix
from nightgate.steps.claims import PATIENCE_S, Claim, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a run is, as its claims say."""

    done: int
    held: Mapping[str, int]
    """Shards in work by owner, those of silent owners left out."""
    silent: frozenset[str]
    """Owners whose claims have not changed for the patience."""
    stopped: str | None
    """Why shards were let go: cancelled or budget; None: nobody stopped."""


class Watch:
    """Looks at the claims of a run without taking any. Blocking; for one thread at a time.

    Args:
        store: Where the run lies.
        run_id: The run.
        patience_s: As the workers'.
        monotonic: Seconds of this machine.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        *,
        patience_s: float = PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store, self._run_id = store, run_id
        self._patience_s, self._monotonic = patience_s, monotonic
        self._done: set[str] = set()
        self._seen: dict[str, tuple[bytes, float]] = {}

    def look(self) -> Standing:
        """The claims as they are now.

        Raises:
            StoreError: If the store is away.
            DamagedError: If a claim is none.
        """
        held: Counter[str] = Counter()
        silent, why = set(), set()
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
            elif claim.stage is Stage.HELD:
                seen, since = self._seen.get(key, (b"", 0.0))
                if seen != data:
                    self._seen[key] = data, self._monotonic()
                elif self._monotonic() - since >= self._patience_s:
                    silent.add(claim.owner)
                    continue
                held[claim.owner] += 1
            elif claim.why is not None:
                why.add(claim.why)
        return Standing(
            done=len(self._done),
            held=dict(held),
            silent=frozenset(silent - set(held)),
            stopped=max(why, default=None),  # what a person stopped outranks what the budget did
        )
