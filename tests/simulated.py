"""A simulated suite whose nights go through the product: stored summaries in, states out.

Every case is a coin of a known side. Reruns are played in the product's order and stored as runs of their
own. Nothing of the detector's arithmetic is repeated here.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.flakiness import MOST_RERUNS, Reruns
from nightgate.steps import flaky
from nightgate.steps.flakyplan import rerun_id
from nightgate.testing import InMemoryStore
from storednights import Outcome, put_night

EVALUATOR = "E"
MIXED: Mapping[str, float] = {
    **{f"steady-{n:02d}": 0.99 for n in range(80)},
    **{f"good-{n:02d}": 0.95 for n in range(12)},
    **{f"fair-{n:02d}": 0.80 for n in range(6)},
    **{f"coin-{n:02d}": 0.50 for n in range(2)},
}
"""The mixed suite: 80 steady cases, 12 at .95, 6 at .80, 2 at .50."""


@dataclass(slots=True)
class Simulation:
    """A suite over nights.

    Args:
        rates: Pass rate of each case.
        seed: Of its coins.
        trials: Of each case a night.
        reruns: Whether suspects are rerun in the same night.
    """

    rates: dict[str, float]
    seed: int
    trials: int = 3
    reruns: bool = True
    store: InMemoryStore = field(default_factory=InMemoryStore)
    nights: int = 0
    extra: int = 0
    """Rerun trials so far."""
    documents: list[dict[str, Any]] = field(default_factory=list)
    coin: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.coin = random.Random(self.seed)

    def night(self, *, errors: float = 0.0) -> dict[str, Any]:
        """Play a night, rerun its suspects, settle it; returns what it came to.

        Args:
            errors: Share of trials that end by the infrastructure's fault.
        """
        found = {(case, EVALUATOR): self._counts(case, errors) for case in self.rates}
        run_id = put_night(self.store, self.nights, found)
        if self.reruns:
            self._rerun(run_id, errors)
        self.nights += 1
        self.documents.append(flaky.settle(self.store, run_id))
        return self.documents[-1]

    def branch(self, seed: int) -> Simulation:
        """Another future of the same past."""
        twin = Simulation(dict(self.rates), seed, self.trials, self.reruns, nights=self.nights)
        twin.store._objects = dict(self.store._objects)
        return twin

    def broke(self) -> list[tuple[int, str]]:
        """All messages of a break, as (how many nights in, case)."""
        return [
            (night, entry["case"])
            for night, document in enumerate(self.documents)
            for entry in document["newly_broken"]
        ]

    def _counts(self, case: str, errors: float) -> Outcome:
        found = [self._passes(case, errors) for _ in range(self.trials)]
        return Outcome(found.count(True), found.count(False), self.trials)

    def _passes(self, case: str, errors: float) -> bool | None:
        lost = self.coin.random() < errors
        passed = self.coin.random() < self.rates[case]
        return None if lost else passed

    def _rerun(self, run_id: str, errors: float) -> None:
        opened = flaky.open_tonight(self.store, run_id)
        assert opened is not None
        reruns = Reruns(opened.tonight)
        found: dict[str, list[bool | None]] = {}
        while cases := reruns.next_cases():
            for case in cases:
                passed = self._passes(case, errors)
                reruns.add(case, {EVALUATOR: passed})
                found.setdefault(case, []).append(passed)
        self.extra += sum(map(len, found.values()))
        if found:
            counts = {
                (case, EVALUATOR): Outcome(
                    seen.count(True), seen.count(False), MOST_RERUNS, MOST_RERUNS - len(seen)
                )
                for case, seen in found.items()
            }
            put_night(self.store, self.nights, counts, run_id=rerun_id(run_id), kind="rerun", parent=run_id)
