"""A page set in a folder of this machine.

Owns the writing alone: names come from the pages and are ours, never from a case.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nightgate.errors import InputError


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    index: Path
    files: int
    bytes: int


def write_pages(files: Iterable[tuple[str, bytes]], folder: str | Path) -> Written:
    """Write the files of a page set; those of the same names are replaced, others left alone.

    Args:
        files: Name and bytes, ``index.html`` among them.
        folder: Made if it is not there.

    Raises:
        InputError: If it cannot be written.
    """
    root, count, size = Path(folder), 0, 0
    try:
        root.mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (root / name).write_bytes(data)
            count, size = count + 1, size + len(data)
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror or error}"
        raise InputError(msg) from error
    return Written(root / "index.html", count, size)
