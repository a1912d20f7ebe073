"""How records are cut into jobs.

Owns the sizes: no job is smaller than is worth it, or larger than the provider takes. Knows no provider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nightgate.adapters.batch.records import Record
from nightgate.adapters.batch.service import Limits
from nightgate.adapters.batch.settings import BatchSettings


def cut(
    records: Sequence[Record], limits: Limits, size: Callable[[Record], int]
) -> tuple[list[list[Record]], list[Record]]:
    """Cut records into jobs of about the same size.

    Args:
        records: In any order, which is kept.
        limits: Sizes of a job.
        size: Bytes of a record in the job's file.

    Returns:
        The jobs, and the records that are too few for one.
    """
    count = -(-len(records) // limits.maximum) or 1
    even = -(-len(records) // count)
    target = even if even >= limits.minimum else limits.maximum
    jobs: list[list[Record]] = []
    room = 0
    for record in records:
        needs = size(record)
        if not jobs or len(jobs[-1]) >= target or needs > room:
            jobs.append([])
            room = limits.most_bytes
        jobs[-1].append(record)
        room -= needs
    few = [record for job in jobs if len(job) < limits.minimum for record in job]
    return [job for job in jobs if len(job) >= limits.minimum], few


def spared(fit: int, rest: int, minimum: int) -> int:
    """How many of the records that fit a cap go now, so that those that do not are a job of their own later.

    Args:
        fit: Records that there is money for.
        rest: Those that wait for what is in flight; at least one.
        minimum: Records of the smallest job.

    >>> spared(120, 80, 100), spared(120, 30, 100), spared(300, 200, 100)
    (100, 120, 300)
    """
    now = fit - max(0, minimum - rest)
    return now if now >= minimum else fit


def limits_of(theirs: Limits, settings: BatchSettings) -> Limits:
    """Sizes that suit the provider and us."""
    most = theirs.maximum if settings.maximum is None else min(theirs.maximum, settings.maximum)
    return Limits(minimum=max(theirs.minimum, settings.minimum), maximum=most, most_bytes=theirs.most_bytes)
