"""Shards: every planned trial in exactly one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned_case
from nightgate.plans import Plan
from nightgate.shards import cut

plans = st.lists(st.integers(1, 5), max_size=8).map(
    lambda counts: a_plan(*(a_planned_case(a_case(f"c{i}"), trials=n) for i, n in enumerate(counts)))
)


@given(plan=plans, shards=st.integers(1, 12))
def test_every_planned_trial_is_in_exactly_one_shard(plan: Plan, shards: int) -> None:
    """Lost ones would be holes, doubled ones would be paid twice."""
    dealt = Counter(trial for shard in cut(plan, shards) for trial in shard.trials)

    assert dealt == Counter((case.case_id, n) for case, n in plan.trials())


@given(plan=plans, shards=st.integers(1, 12))
def test_shards_are_even(plan: Plan, shards: int) -> None:
    """The slowest shard ends the night."""
    sizes = [len(shard.trials) for shard in cut(plan, shards)]

    assert max(sizes) - min(sizes) <= 1


def test_trials_of_one_case_go_to_different_shards() -> None:
    """A worker that dies must not take a whole case with it."""
    plan = a_plan(*(a_planned_case(a_case(f"c{i}"), trials=3) for i in range(4)))

    for shard in cut(plan, 3):
        assert len({case_id for case_id, _ in shard.trials}) == len(shard.trials)
