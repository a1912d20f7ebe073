"""Stores: a folder, an S3 prefix, or the memory of this process.

Owns what a store's address means. All three keep the same promises (``ports.Store``), held to them
by one contract test. Nothing heavy is imported before an S3 address asks for it.
"""

from __future__ import annotations

from pathlib import Path

from nightgate.errors import InputError
from nightgate.ports import Store

_S3 = "s3://"


def open_store(uri: str | Path) -> Store:
    """The store behind an address. Opening reaches for nothing yet.

    Args:
        uri: A folder (created with the first object), or ``s3://bucket/prefix``.

    Raises:
        InputError: If the address is neither.
    """
    uri = str(uri)
    if uri.startswith(_S3):
        from nightgate.adapters.store.s3 import S3Store

        return S3Store(uri)
    if not uri.strip() or "://" in uri or "\0" in uri:
        msg = f"store {uri!r}: use a folder or s3://bucket/prefix (--store or NIGHTGATE_STORE)"
        raise InputError(msg)
    from nightgate.adapters.store.folder import FolderStore

    return FolderStore(Path(uri).expanduser())
