"""A store in the memory of this process, for tests (``nightgate.testing``).

Owns nothing but a mapping. Keeps the promises of the others; standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from nightgate.adapters.store.checks import (
    checked_key,
    checked_prefix,
    cut_below,
    settle_conflict,
    swap_conflict,
)
from nightgate.errors import MissingError


class InMemoryStore:
    """Keys and bytes; safe for many threads.

    Args:
        name: Stands in messages.
    """

    def __init__(self, name: str = "test") -> None:
        self.uri = f"memory://{name}"
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"InMemoryStore({self.uri!r}, {len(self._objects)} objects)"

    def create(self, key: str, data: bytes) -> None:
        """Put once; the same content again is success.

        Raises:
            ConflictError: If the key holds other content.
        """
        with self._lock:
            found = self._objects.setdefault(checked_key(key), bytes(data))
        settle_conflict(self.uri, key, data, found)

    def replace(self, key: str, data: bytes) -> None:
        """Put, whatever was there."""
        with self._lock:
            self._objects[checked_key(key)] = bytes(data)

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        """Put if the key still holds ``before``; None: if there is none.

        Raises:
            ConflictError: If it holds something else.
        """
        with self._lock:
            if self._objects.get(checked_key(key)) not in (before, data):
                raise swap_conflict(self.uri, key)
            self._objects[key] = bytes(data)

    def read(self, key: str) -> bytes:
        """All bytes of a key.

        Raises:
            MissingError: If there is none.
        """
        with self._lock:
            found = self._objects.get(checked_key(key))
        if found is None:
            msg = f"{self.uri}: no {key}"
            raise MissingError(msg)
        return found

    def find(self, prefix: str) -> list[str]:
        """All keys that start with ``prefix``, sorted."""
        checked_prefix(prefix)
        with self._lock:
            return sorted(key for key in self._objects if key.startswith(prefix))

    def children(self, prefix: str) -> list[str]:
        """What starts with ``prefix``, cut after the first ``/`` behind it, each once and sorted."""
        found = self.find(prefix)
        return sorted({cut_below(key, prefix) for key in found})

    def delete(self, keys: Iterable[str]) -> None:
        """Remove keys; those that are gone already are no error."""
        with self._lock:
            for key in keys:
                self._objects.pop(checked_key(key), None)
