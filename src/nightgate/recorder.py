"""Finished work made durable at once: a local journal, and groups in the store each second.

Owns the order "written first, counted after". A killed process loses nothing that its journal
holds; a lost machine loses at most the second that was not staged yet. While the store is away the
groups wait here and the run goes on. Knows nothing of what a record means.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nightgate.errors import InputError, MissingError, StoreError
from nightgate.ports import Store
from nightgate.rows.groups import decode_group, encode_group
from nightgate.rows.keys import staging_key, staging_prefix
from nightgate.rows.records import encode_record
from nightgate.rows.redaction import credentials, may_hold_secret, redact_lines

GROUP_AGE_S = 1.0
"""No finished trial waits longer for the store, unless the store is away."""
_RETRY_S = 5.0
_MAX_GROUP_BYTES = 8 * 1024 * 1024


class Recorder:
    """Appends records to the journal of one worker and stages them in groups.

    Args:
        store: Where groups go.
        run_id: The run.
        worker: Name of this writer within the run, ``[0-9a-z-]``.
        epoch: Claim epoch: of several records of one trial the lowest epoch wins.
        spool: Folder of the journals on this machine.
    """

    def __init__(self, store: Store, run_id: str, worker: str, epoch: int, spool: Path) -> None:
        self._store, self._run_id = store, run_id
        self._name = f"{epoch:06d}-{worker}"
        self._path = spool / run_id / f"{self._name}.jsonl"
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._group = 0
        self._sequence = 0
        self._literals = credentials()
        self._fd = -1
        self._torn = False
        self._wake = asyncio.Event()
        self._flusher: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self.problem: str | None = None
        """Why the store is away, while it is."""

    async def __aenter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        # Held until the process ends: whoever brings journals up can tell a dead writer from a live one.
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        self._flusher = asyncio.create_task(self._flush_regularly())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._flusher is not None
        self._flusher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._flusher
        try:
            await self._flush(attempts=3)
        except StoreError as away:
            self.problem = str(away)
        finally:
            os.close(self._fd)
            self._fd = -1  # the number may be another file's soon
        if not self._pending:
            self._path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._path.parent.rmdir()

    def write(self, *records: Any) -> None:
        """Make records durable; when this returns a kill of the process loses none of them.

        Raises:
            OSError: If the journal cannot be written (disk full): the run must stop, not go on blind.
        """
        if self._fd < 0:
            msg = f"the journal of run {self._run_id} is closed"
            raise OSError(msg)
        if self._torn:
            msg = f"{self._path} ends in half a record: what came behind it could not be told apart"
            raise OSError(errno.EIO, msg)
        lines = [encode_record(record) for record in records]
        if any(may_hold_secret(line, self._literals) for line in lines):
            lines = redact_lines(lines, literals=self._literals)
        data = b"".join(line + b"\n" for line in lines)
        self._append(data)
        self._pending += lines
        self._pending_bytes += len(data)
        if self._pending_bytes >= _MAX_GROUP_BYTES:
            self._wake.set()

    def _append(self, data: bytes) -> None:
        """All of it or nothing: behind half a line the next record would be lost as well."""
        end = os.fstat(self._fd).st_size
        try:
            written = os.write(self._fd, data)
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError as error:
            try:
                os.ftruncate(self._fd, end)
            except OSError:
                self._torn = True
            raise OSError(error.errno, _unwritten(error, self._path, self._run_id, len(data))) from error

    async def flush(self) -> None:
        """Stage what is pending now: when this returns, other machines see it.

        Raises:
            StoreError: If the store is away.
        """
        await self._flush()

    async def _flush_regularly(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), GROUP_AGE_S if self.problem is None else _RETRY_S)
            self._wake.clear()
            try:
                await self._flush()
            except StoreError as away:
                self.problem = str(away)
            except Exception as broken:  # whatever it is, the next second tries again
                self.problem = f"{type(broken).__name__}: {broken}"

    async def _flush(self, attempts: int = 1) -> None:
        async with self._flushing:
            await self._flush_pending(attempts)

    async def _flush_pending(self, attempts: int) -> None:
        while self._pending:
            # A put that was cut off may have arrived all the same: what goes under a name is fixed.
            self._group = self._group or len(self._pending)
            lines = self._pending[: self._group]
            key = staging_key(self._run_id, f"{self._name}-{self._sequence:06d}.jsonl.zst")
            for attempt in range(1, attempts + 1):
                try:
                    await asyncio.to_thread(_stage, self._store, key, lines)
                    break
                except StoreError:
                    if attempt == attempts:
                        raise
                    await asyncio.sleep(0.2 * attempt)
            self._sequence, self._group = self._sequence + 1, 0
            del self._pending[: len(lines)]
            self._pending_bytes = sum(map(len, self._pending))
            self.problem = None


def _unwritten(error: OSError, journal: Path, run_id: str, size: int) -> str:
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


def _stage(store: Store, key: str, lines: list[bytes]) -> None:
    store.create(key, encode_group(lines))


def next_epoch(store: Store, run_id: str) -> int:
    """One more than the highest claim epoch that has staged anything."""
    names = [key.rsplit("/", 1)[-1] for key in store.find(staging_prefix(run_id))]
    return 1 + max((int(name.split("-", 1)[0]) for name in names if name[:6].isdigit()), default=0)


def bring_up(store: Store, run_id: str, spool: Path) -> int:
    """Stage what killed or cut-off processes of this machine left in their journals.

    Journals of processes that still live are left to them.

    Returns:
        How many journals were brought up. Running it twice stages the same objects.
    """
    folder = spool / run_id
    journals = [path for path in _journals(folder) if not _held(path)]
    for journal in journals:
        try:
            text = journal.read_bytes()
        except FileNotFoundError:
            continue  # another process of this machine brought it up meanwhile
        # The last line of a killed writer may be torn; all others end with a line feed.
        lines = text.split(b"\n")[:-1]
        if lines:
            key = staging_key(run_id, f"{journal.stem}-journal.jsonl.zst")
            data = encode_group(lines)
            if _differs(store, key, lines):
                store.create(key, data)
        journal.unlink(missing_ok=True)
    if journals:
        with contextlib.suppress(OSError):
            folder.rmdir()
    return len(journals)


def refuse_living(run_id: str, spool: Path) -> None:
    """Refuse to resume what another process of this machine still works on.

    Raises:
        InputError: Naming the journal that it holds.
    """
    for journal in _journals(spool / run_id):
        if _held(journal):
            msg = f"run {run_id} is still being worked on by another process here: it holds {journal}"
            raise InputError(msg)


def _journals(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jsonl")) if folder.is_dir() else []


def _held(journal: Path) -> bool:
    """Whether a living process writes this journal."""
    try:
        with journal.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _differs(store: Store, key: str, lines: list[bytes]) -> bool:
    try:
        return decode_group(store.read(key)) != lines
    except MissingError:
        return True


def staged(store: Store, run_id: str) -> list[tuple[str, bytes]]:
    """All staged groups of a run as (key, encoded bytes), by (claim epoch, object name)."""
    return [(key, store.read(key)) for key in store.find(staging_prefix(run_id))]
