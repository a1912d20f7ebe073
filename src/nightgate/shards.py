"""How a run's trials are dealt over tasks and workers.

Owns the cut. Every planned trial is in exactly one shard.
"""

from __future__ import annotations

from dataclasses import dataclass

from nightgate.plans import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """A share of a run's trials: what one task plays."""

    run_id: str
    suite: str
    index: int
    trials: tuple[tuple[str, int], ...]
    """(case id, trial)."""


def cut(plan: Plan, shards: int) -> tuple[Shard, ...]:
    """Deal the trials over ``shards``; the trials of one case go to different ones.

    Every planned trial is in exactly one shard; no shard is empty.
    """
    order = sorted(((trial, case.case_id) for case, trial in plan.trials()), key=lambda pair: pair[0])
    count = max(1, min(shards, len(order)))
    return tuple(
        Shard(
            run_id=plan.run_id,
            suite=plan.suite,
            index=index,
            trials=tuple((case_id, trial) for trial, case_id in order[index::count]),
        )
        for index in range(count)
    )
