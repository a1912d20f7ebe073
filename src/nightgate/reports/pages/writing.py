"""A page set in a folder of this machine.

Owns the writing alone: names come from the pages and are ours, never from a case. What somebody else put into
the folder is neither replaced nor removed, and a page is there whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from nightgate.errors import InputError

INDEX = "index.html"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_PAGE, _TEXT = b'<meta name="generator" content="nightgate ', "\ufeff".encode()
"""How a page of ours says so, near its beginning, and how a text beside it starts."""
_BEGINNING_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    index: Path
    files: int
    bytes: int


def write_pages(files: Iterable[tuple[str, bytes]], folder: str | Path) -> Written:
    """Write the files of a page set; older pages of the same names are replaced, other files left alone.

    Args:
        files: Name and bytes, ``index.html`` among them.
        folder: Made if it is not there.

    Raises:
        InputError: If it cannot be written, or a file of somebody else has a page's name.
    """
    root, count, size = Path(folder), 0, 0
    with _said(folder):
        root.mkdir(parents=True, exist_ok=True)
    for name, data in files:
        with _said(folder):
            _put(root, name, data)
        count, size = count + 1, size + len(data)
    return Written(root / INDEX, count, size)


def check_target(folder: str | Path) -> None:
    """Try a folder before what its pages show is paid for.

    Raises:
        InputError: As for ``write_pages``.
    """
    if "\0" in str(folder):
        msg = f"{str(folder)!r}: no folder has such a name; choose another one"
        raise InputError(msg)
    root = Path(folder)
    with _said(folder):
        root.mkdir(parents=True, exist_ok=True)
        probe = root / f".nightgate-probe.{secrets.token_hex(6)}"
        try:
            probe.write_bytes(b"x")
        finally:
            probe.unlink(missing_ok=True)
        _refuse_foreign(root / INDEX)


def _put(root: Path, name: str, data: bytes) -> None:
    if not _NAME.fullmatch(name):
        msg = f"{name[:100]!r} is no name of a page"
        raise ValueError(msg)
    path = root / name
    _refuse_foreign(path)
    temporary = root / f".{name}.{secrets.token_hex(6)}"
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_foreign(path: Path) -> None:
    """A folder may be somebody's web site, and its ``index.html`` the start of that."""
    try:
        regular = S_ISREG(os.lstat(path).st_mode)
    except FileNotFoundError:
        return
    if regular:
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING_BYTES)
        if _PAGE in beginning or (path.suffix == ".txt" and beginning.startswith(_TEXT)):
            return
    msg = f"{path} is there and is no page of nightgate's: it stays as it is; choose another folder"
    raise InputError(msg)


@contextlib.contextmanager
def _said(folder: str | Path) -> Iterator[None]:
    """Turn what the file system says into an error that says what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        msg = f"{folder}: cannot be written: {why}; make room or see to its rights, or choose another folder"
        raise InputError(msg) from error
