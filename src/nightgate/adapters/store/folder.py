"""A store in a folder of this machine (or of a shared file system).

Owns atomic, create-only files: content is written under a temporary name and becomes visible with
one link or rename, whole or not at all. Standard library only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Iterable, Iterator
from io import BufferedWriter
from pathlib import Path

from nightgate.adapters.store.checks import checked_key, checked_prefix, settle_conflict, swap_conflict
from nightgate.errors import MissingError, StoreError

_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
_TEMPORARY = "."
"""Temporary names start with a dot: neither ``find`` nor any Parquet reader looks at those."""
_TRIES = 100
"""Of making a folder that others remove as soon as it is empty; each takes microseconds."""


class FolderStore:
    """Keys are paths below a folder. Safe for many threads and processes; can be pickled.

    Args:
        root: Created with the first object.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()
        self.uri = str(self.root)

    def __repr__(self) -> str:
        return f"FolderStore({self.uri!r})"

    def create(self, key: str, data: bytes) -> None:
        """Put once; the same content again is success.

        Raises:
            ConflictError: If the key holds other content.
            StoreError: If the file system refuses.
        """
        path = self._path(key)
        with self._said(key), self._temporary(path, data, durable=_durable(key)) as temporary:
            if not self._publish(temporary, path):
                settle_conflict(self.uri, key, data, path.read_bytes())

    def replace(self, key: str, data: bytes) -> None:
        """Put, whatever was there; readers see the old bytes or the new ones.

        Raises:
            StoreError: If the file system refuses.
        """
        path = self._path(key)
        with self._said(key), self._temporary(path, data, durable=_durable(key)) as temporary:
            temporary.replace(path)

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        """Put if the key still holds ``before``; None: if there is none.

        Raises:
            ConflictError: If it holds something else.
            StoreError: If the file system refuses.
        """
        path = self._path(key)
        with self._said(key), self._temporary(path, data, durable=True) as temporary, self._locked():
            found = path.read_bytes() if path.exists() else None
            if found not in (before, data):
                raise swap_conflict(self.uri, key)
            temporary.replace(path)

    def read(self, key: str) -> bytes:
        """All bytes of a key.

        Raises:
            MissingError: If there is none.
            StoreError: If the file system refuses.
        """
        with self._said(key):
            try:
                return self._path(key).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                msg = f"{self.uri}: no {key}"
                raise MissingError(msg) from None

    def find(self, prefix: str) -> list[str]:
        """All keys that start with ``prefix``, sorted.

        Raises:
            StoreError: If the file system refuses.
        """
        folder = checked_prefix(prefix).rpartition("/")[0]
        with self._said(prefix):
            found = [
                [key] if not entry.is_dir() else list(_walk(Path(entry.path), key))
                for key, entry in _entries(self.root / folder, folder)
                if key.startswith(prefix)  # what lies beside it is not even looked at
            ]
            return sorted(key for keys in found for key in keys)

    def children(self, prefix: str) -> list[str]:
        """What starts with ``prefix``, cut after the first ``/`` behind it, each once and sorted.

        Raises:
            StoreError: If the file system refuses.
        """
        folder = checked_prefix(prefix).rpartition("/")[0]
        with self._said(prefix):
            return sorted(
                f"{key}/" if entry.is_dir() else key
                for key, entry in _entries(self.root / folder, folder)
                if key.startswith(prefix) and (not entry.is_dir() or _holds_any(Path(entry.path)))
            )

    def delete(self, keys: Iterable[str]) -> None:
        """Remove keys, and folders that this leaves empty.

        Raises:
            StoreError: If the file system refuses.
        """
        for key in keys:
            path = self._path(key)
            with self._said(key):
                path.unlink(missing_ok=True)
                for folder in path.parents:
                    if folder == self.root or not _remove_empty(folder):
                        break

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)

    @contextlib.contextmanager
    def _said(self, key: str) -> Iterator[None]:
        """Turn what the file system says into an error that says what to do."""
        try:
            yield
        except OSError as error:
            msg = f"{self.uri}: {key}: {error.strerror or error}; check the folder's rights and free space"
            raise StoreError(msg) from error

    @contextlib.contextmanager
    def _temporary(self, path: Path, data: bytes, *, durable: bool) -> Iterator[Path]:
        temporary = path.with_name(f"{_TEMPORARY}{path.name}.{secrets.token_hex(6)}")
        try:
            with _opened(temporary) as file:
                file.write(data)
                file.flush()
                if durable:
                    os.fsync(file.fileno())
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)

    def _publish(self, temporary: Path, path: Path) -> bool:
        """Give the content its name; False if the name is taken."""
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return self._publish_locked(temporary, path)
        return True

    def _publish_locked(self, temporary: Path, path: Path) -> bool:
        """The same where the file system has no hard links."""
        with self._locked():
            if path.exists():
                return False
            temporary.rename(path)
        return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One process looks and renames at a time.

        The lock belongs to the open file, so a killed process leaves none behind.
        """
        import fcntl

        with (self.root / f"{_TEMPORARY}lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _durable(key: str) -> bool:
    """Staged groups are many and repeatable, pages can be made again; all else waits for the disk."""
    return not key.startswith("staging/") and "/report/" not in key


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedWriter]:
    """Open for writing; ``delete`` of a neighbour may take the folder away in between."""
    for last in (*[False] * (_TRIES - 1), True):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("xb")
        except (FileNotFoundError, FileExistsError):
            if last:
                raise
            continue
        with file:
            yield file
        return


def _entries(top: Path, base: str) -> list[tuple[str, os.DirEntry[str]]]:
    """What lies in a folder, with its key; temporary files left out. A folder that vanishes is empty."""
    try:
        with os.scandir(top) as entries:
            return [
                (f"{base}/{entry.name}" if base else entry.name, entry)
                for entry in entries
                if not entry.name.startswith(_TEMPORARY)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []


def _walk(top: Path, base: str) -> Iterator[str]:
    """Keys of all files below ``top``."""
    for key, entry in _entries(top, base):
        if entry.is_dir():
            yield from _walk(Path(entry.path), key)
        else:
            yield key


def _holds_any(top: Path) -> bool:
    """Whether there is a file below a folder; it stops at the first, because there may be thousands."""
    try:
        with os.scandir(top) as entries:
            return any(
                not entry.name.startswith(_TEMPORARY) and (not entry.is_dir() or _holds_any(Path(entry.path)))
                for entry in entries
            )
    except (FileNotFoundError, NotADirectoryError):
        return False


def _remove_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True
