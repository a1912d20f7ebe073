"""The spool: the folder of this machine where journals lie until the store has them.

Owns what can be told of it before a run depends on it: whether it takes what will be written, how much room
is left, and what older runs left in it. Knows the store's folder only as a folder like another.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nightgate.errors import StoreError
from nightgate.journals import is_held, journals_in, store_of

NEEDED_BYTES = 4 * 1024 * 1024
"""Less room than this is a full disk: a single long trial takes up to that."""
AMPLE_BYTES = 512 * 1024 * 1024
"""Below it a warning: about 5,000 trials of 100 kB, with the store away all the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A run whose journals were not brought up yet."""

    run_id: str
    journals: int
    size: int
    """Bytes of them."""
    living: bool
    """Whether a process of this machine still writes one."""
    store: str | None
    """Address of the run's store; None where nobody wrote it down."""


def refuse_unwritable(folder: Path, flag: str) -> None:
    """Write as much as a run needs at least, and remove it, with folders that were not there before.

    Args:
        folder: The spool, or the folder of a store.
        flag: How a person names another one.

    Raises:
        StoreError: If it cannot be written, with what to do.
    """
    made = _missing(folder)
    probe = folder / f".probe-{secrets.token_hex(6)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with probe.open("xb", buffering=0) as file:
                _take_room(file.fileno())
                file.write(b"\0")
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(_unwritable(folder, flag, error)) from error
    finally:
        for one in made:
            with contextlib.suppress(OSError):  # somebody else has put something into it meanwhile
                one.rmdir()


def free_bytes(folder: Path) -> int | None:
    """Room on the disk of a folder that may not be there yet; None where it cannot be told."""
    there = next((one for one in (folder, *folder.absolute().parents) if one.is_dir()), None)
    try:
        return None if there is None else shutil.disk_usage(there).free
    except OSError:
        return None


def short_of_room(folder: Path) -> str | None:
    """A warning where room gets short."""
    free = free_bytes(folder)
    if free is None or free >= AMPLE_BYTES:
        return None
    return (
        f"{folder}: {free / 1e6:,.0f} MB free, less than {AMPLE_BYTES / 1e6:,.0f} MB: a long run may fill "
        "the disk while the store is away; free some space or name another folder (--spool, NIGHTGATE_SPOOL)"
    )


def leftovers(spool: Path) -> list[Leftover]:
    """Runs whose journals lie in a spool, in the order of their ids."""
    return list(_leftovers(spool))


def _leftovers(spool: Path) -> Iterator[Leftover]:
    for folder in sorted(spool.iterdir()) if spool.is_dir() else ():
        journals = journals_in(folder)
        if not journals:
            continue
        sizes = []
        for journal in journals:
            with contextlib.suppress(FileNotFoundError):  # brought up this moment
                sizes.append(journal.stat().st_size)
        living = any(is_held(journal) for journal in journals)
        yield Leftover(
            run_id=folder.name,
            journals=len(sizes),
            size=sum(sizes),
            living=living,
            store=store_of(folder),
        )


def _take_room(fd: int) -> None:
    """Have the file system set the bytes aside: it says no where a quota or a disk ends."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, NEEDED_BYTES)
        return
    left = NEEDED_BYTES
    while left:
        left -= os.write(fd, b"\0" * left)


def _missing(folder: Path) -> list[Path]:
    """The folder and those above it that are not there, innermost first."""
    path = folder.absolute()
    return [one for one in (path, *path.parents) if not os.path.lexists(one)]


def _unwritable(folder: Path, flag: str, error: OSError) -> str:
    said = f"{folder}: {error.strerror or type(error).__name__}"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT):
        return f"{said}: a run could write nothing there; mend the folder, or name another with {flag}"
    return (
        f"{said}: {(free_bytes(folder) or 0) / 1e6:,.1f} MB free, and a run needs "
        f"{NEEDED_BYTES / 1e6:.0f} MB at least; free some space, or name a folder on another disk with {flag}"
    )
