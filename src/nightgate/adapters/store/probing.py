"""Whether a store keeps its promises, asked of the store itself before anything depends on them.

Owns the few requests of such a look. It changes nothing but the one key that it is given. A store that
answers "done" to a put whose condition does not hold would let two writers own one shard, or let the
second of two commits take the first one's place.
"""

from __future__ import annotations

import contextlib

from nightgate.adapters.store.s3 import S3Store
from nightgate.errors import ConflictError, StoreError
from nightgate.ports import Store


class UnsafeStoreError(StoreError):
    """The server takes puts whose condition does not hold."""


def probe(store: Store, key: str, *, data: bytes, other: bytes) -> None:
    """Put, put again against its condition, and read back.

    Args:
        store: Any.
        key: Nobody else's; it holds ``data`` afterwards. Removing it is the caller's matter.
        data: What to put.
        other: Anything else.

    Raises:
        UnsafeStoreError: If the server ignores conditions.
        StoreError: If it cannot be written or read.
    """
    store.create(key, data)
    try:
        store.create(key, other)
    except ConflictError:
        pass
    else:
        with contextlib.suppress(StoreError):  # as good as it gets
            store.replace(key, data)
        raise _unsafe(store, "If-None-Match: *")
    if store.read(key) != data:
        msg = f"{store.uri}: {key} reads back as something else than was written; use another store"
        raise StoreError(msg)
    if isinstance(store, S3Store) and store.swaps_blindly(key, data):
        raise _unsafe(store, "If-Match")


def _unsafe(store: Store, header: str) -> UnsafeStoreError:
    msg = (
        f"{store.uri}: the server ignores {header}: a put that it has to refuse was done. Two writers would "
        "overwrite each other without a word; use a server with conditional puts (AWS S3 and SeaweedFS "
        "have them), a newer version of this one, or a folder"
    )
    return UnsafeStoreError(msg)
