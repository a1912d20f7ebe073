"""The garbage collector during a run.

Owns one setting of the interpreter that a run wants otherwise. Knows nothing of runs.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

_THRESHOLD = (5_000, 10, 10)


@contextlib.contextmanager
def settled_heap() -> Iterator[None]:
    """Take what is there now out of the collector's rounds until the block is left.

    Plan, suite and modules outlive the run; walking them again and again was a millisecond a trial.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLD)
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
