"""How far a run is that is played in this process, for whoever only looks on.

Owns the counts, from the same callbacks that a terminal's progress hangs on. They live as long as the run's
room.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from nightgate.plans import Plan
from nightgate.scores import Cell
from nightgate.wiring.rooms import Progress, Room


@dataclass(slots=True, weakref_slot=True, eq=False)
class Counts:
    """Cells of a run."""

    planned: int = 0
    done: int = 0

    def on_plan(self, plan: Plan) -> None:
        """The run has an id from here on."""
        self.planned = plan.cell_count
        _COUNTS[plan.run_id] = self

    def on_there(self, trials: int, cells: int) -> None:  # noqa: ARG002 - cells are counted
        """Of a run that is taken up."""
        self.done += cells

    def on_cell(self, cell: Cell) -> None:  # noqa: ARG002 - what it says does not matter here
        """One more."""
        self.done += 1


_COUNTS: WeakValueDictionary[str, Counts] = WeakValueDictionary()


def as_planned(room: Room) -> dict[str, Any]:
    """A planned run in plain JSON, for flows: its id, its suite, its shards with (trials, cases) of each."""
    sizes = [(len(shard.trials), len({case for case, _ in shard.trials})) for shard in room.shards]
    return {
        "run_id": room.plan.run_id,
        "suite": room.plan.suite,
        "shards": len(sizes),
        "sizes": sizes,
        "trials": room.plan.trial_count,
    }


def counting() -> Progress:
    """Callbacks for a room, so that ``cells_done`` knows of its run."""
    counts = Counts()
    return Progress(on_plan=counts.on_plan, on_there=counts.on_there, on_cell=counts.on_cell)


def cells_done(run_id: str) -> tuple[int, int]:
    """Cells that a run has, and how many it is to have; 0 of 0 where it is not played in this process."""
    counts = _COUNTS.get(run_id)
    return (0, 0) if counts is None else (min(counts.done, counts.planned), counts.planned)
