"""The interpreter's memory during a run.

Owns what a run wants otherwise of the garbage collector and of the allocators. Knows nothing of runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

_THRESHOLD = (5_000, 10, 10)
_EVERY = 1_000
_HELD: list[None] = []


@contextlib.contextmanager
def settled_heap(*, hold: bool = False) -> Iterator[None]:
    """Take what is there now out of the collector's rounds until the block is left.

    Plan, suite and modules outlive the run; walking them again and again was a millisecond a trial.

    Args:
        hold: Blocks inside this one do nothing: where many small runs follow each other, settling anew for
            each is a fifth of their time.
    """
    if _HELD:
        yield
        return
    before = gc.get_threshold()
    if hold:
        _HELD.append(None)
    gc.set_threshold(*_THRESHOLD)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        if hold:
            _HELD.pop()
        gc.unfreeze()
        gc.set_threshold(*before)


class Tidy:
    """Gives back what is free, each time that so many trials went through.

    Args:
        every: How many.
    """

    def __init__(self, every: int = _EVERY) -> None:
        self._every, self._count = every, 0

    def __call__(self) -> None:
        """Take note of a trial."""
        self._count += 1
        if self._count % self._every == 0:
            give_back()


def give_back() -> None:
    """Return free memory to the system: both allocators keep what many small things took together.

    Over thousands of trials that is more than all that lives. Where the C library has no such call it is
    left as it is.
    """
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
