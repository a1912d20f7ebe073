"""Arrow's memory, kept flat.

Owns the choice of the allocator. Arrow's own (mimalloc) keeps a heap for each thread that ever
touched it: with a pool of threads a run of thousands of trials grew by tens of KiB a trial and never
gave them back. The system's allocator does not.
"""

from __future__ import annotations


def use_system_memory() -> None:
    """Make Arrow allocate from the system for the rest of this process."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
