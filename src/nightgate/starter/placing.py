"""Files onto the disk: all of them or none, and never over something that is there.

Owns the order of the checks and the way back. Knows nothing of what the files say.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from nightgate.errors import InputError

_READ_AS_CASES = frozenset({".yaml", ".yml", ".jsonl"})


def place(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Write new files, with the folders above them.

    Args:
        folder: Where to; may exist.
        files: Text by path in the folder, written in this order.

    Returns:
        The files, in this order.

    Raises:
        InputError: If something is in the way or cannot be written; nothing is left behind then.
    """
    made: list[Path] = []
    try:
        _refuse(folder, files)
        for name, text in files.items():
            file = folder / name
            _make_folders(file.parent, made)
            with file.open("x", encoding="utf-8", newline="\n") as out:
                made.append(file)
                out.write(text)
    except BaseException as error:  # Ctrl-C as well: half a suite would be in the way of the next try
        _take_back(made)
        if not isinstance(error, OSError):
            raise
        where = error.filename or folder
        msg = f"{where}: cannot be written: {error.strerror or error}; nothing was written"
        raise InputError(msg) from error
    return [path for path in made if path.is_file()]


def _refuse(folder: Path, files: Iterable[str]) -> None:
    """Look for everything that is in the way, before the first file is written.

    Raises:
        InputError: Names all of it.
    """
    for part in (folder, *folder.parents):
        if os.path.lexists(part) and not part.is_dir():
            msg = f"{part}: is no folder; give a folder that is new or empty"
            raise InputError(msg)
    inside = sorted(path.parent.name for path in folder.glob("*/suite.yaml"))
    if inside:
        msg = (
            f"{folder}: holds suites ({', '.join(inside[:5])}); a suite is a folder of its own, "
            f"such as {folder / 'my-agent'}"
        )
        raise InputError(msg)
    names = set(files)
    taken = {name for name in names if os.path.lexists(folder / name)}
    taken |= {
        str(file.relative_to(folder))
        for place_of_data in (folder, folder / "scripts")
        if place_of_data.is_dir()
        for file in place_of_data.iterdir()
        if file.suffix.lower() in _READ_AS_CASES and not file.name.startswith(".")
    }
    taken |= (
        {"scripts"} if os.path.lexists(folder / "scripts") and not (folder / "scripts").is_dir() else set()
    )
    if taken:
        msg = (
            f"{folder}: has {', '.join(sorted(taken))}, which would be overwritten or read as part of the "
            "suite; nothing was written. Give a folder that is new or empty"
        )
        raise InputError(msg)


def _make_folders(folder: Path, made: list[Path]) -> None:
    missing = [part for part in (folder, *folder.parents) if not part.exists()]
    for part in reversed(missing):
        part.mkdir()
        made.append(part)


def _take_back(made: list[Path]) -> None:
    """Remove what was made, newest first; a folder into which somebody else wrote stays."""
    for path in reversed(made):
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()
