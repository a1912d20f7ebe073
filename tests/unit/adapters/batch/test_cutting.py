"""Jobs of sizes that the provider takes and that are worth their wait."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from batch_double import a_record
from nightgate.adapters.batch.cutting import cut, limits_of
from nightgate.adapters.batch.records import Record
from nightgate.adapters.batch.service import Limits
from nightgate.adapters.batch.settings import BatchSettings


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(1, 40), st.integers(0, 60), st.integers(1, 40))
def test_no_job_is_too_small_or_too_large(count: int, minimum: int, more: int, size: int) -> None:
    """And no record is in two jobs, or in none."""
    limits = Limits(minimum=minimum, maximum=minimum + more, most_bytes=200)

    async def play() -> tuple[list[Record], list[list[Record]], list[Record]]:
        records = [a_record(n) for n in range(count)]
        return records, *cut(records, limits, lambda _: size)

    records, jobs, few = asyncio.run(play())
    assert sorted(r.id for job in [*jobs, few] for r in job) == sorted(r.id for r in records)
    for job in jobs:
        assert minimum <= len(job) <= limits.maximum
        assert len(job) * size <= limits.most_bytes or len(job) == 1


def test_the_tighter_of_both_limits_holds() -> None:
    """Ours and the provider's."""
    theirs = Limits(minimum=100, maximum=500, most_bytes=9)

    assert limits_of(theirs, BatchSettings(minimum=20, maximum=600)) == theirs
    assert limits_of(theirs, BatchSettings(minimum=200, maximum=300)) == Limits(
        minimum=200, maximum=300, most_bytes=9
    )
