"""Many objects of a store, read side by side.

Owns how many at a time. Knows nothing of what is in them; standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

READERS = 16
"""Objects read at a time: a store on a network answers many at once."""

T = TypeVar("T")
R = TypeVar("R")


def side_by_side(read: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """What ``read`` makes of each item, in their order; many at a time."""
    with ThreadPoolExecutor(READERS, thread_name_prefix="nightgate-read") as threads:
        return list(threads.map(read, items))
