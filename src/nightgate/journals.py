"""The files of the spool: a folder a run, in it a journal a writer, the plan and the store's address.

Owns their names, how a living writer is told from a dead one, and what is said when one cannot be written.
Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from pathlib import Path

PLAN = "plan.json"
"""Beside the journals: a store that lost the run gets its plan back with them."""
_STORE = "store.txt"
"""Which store the run is of: many may share a spool."""


class JournalError(OSError):
    """The journal cannot be written: the run stops, what is in it stays."""


def keep_beside(journal: Path, plan: bytes, store: str) -> None:
    """Keep what it takes to bring a journal up when nothing else of its run is left.

    Whole or not at all, and without a word on a full disk: the journal itself says it with its next record.
    """
    for name, data in ((PLAN, plan), (_STORE, store.encode())):
        part = journal.with_name(f".{journal.stem}-{name}")
        with contextlib.suppress(OSError):
            try:
                part.write_bytes(data)
                part.replace(journal.with_name(name))
            finally:
                part.unlink(missing_ok=True)


def store_of(folder: Path) -> str | None:
    """The address of the store that a run's journals are for; None where nobody wrote it down."""
    try:
        return (folder / _STORE).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def journals_in(folder: Path) -> list[Path]:
    """Journals in the folder of a run."""
    return sorted(folder.glob("*.jsonl")) if folder.is_dir() else []


def is_held(journal: Path) -> bool:
    """Whether a living process writes this journal."""
    try:
        with journal.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def tidy(folder: Path) -> None:
    """Remove a run's folder with its last journal."""
    with contextlib.suppress(OSError):
        if not journals_in(folder):
            for name in (PLAN, _STORE):
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()


def unwritten(error: OSError, journal: Path, run_id: str, size: int) -> str:
    """What a person needs who has to make room."""
    try:
        free = f"{shutil.disk_usage(journal.parent).free:,}"
    except OSError:
        free = "unknown how many"
    return (
        f"{error.strerror or type(error).__name__}: {journal} cannot take {size:,} bytes more ({free} bytes "
        "free there). All that was paid for before is safe, in that file or in the store; only what was in "
        "flight will be played again. Free some space, or name a folder on another disk with --spool or "
        f"NIGHTGATE_SPOOL and move {journal.parent} into it if it is still there; then go on with --resume "
        f"{run_id}"
    )
