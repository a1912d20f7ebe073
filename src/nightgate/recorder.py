"""Finished work made durable at once: a local journal, and groups in the store each second.

Owns the order "written first, counted after". A killed process loses nothing that its journal
holds; a lost machine loses at most the second that was not staged yet. While the store is away the
groups wait here and the run goes on. Of what a record means it knows only which one is the end of a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nightgate import logs
from nightgate.calls import Call
from nightgate.errors import InputError, MissingError, StoreError
from nightgate.journals import PLAN, JournalError, is_held, journals_in, keep_beside, tidy, unwritten
from nightgate.ports import Store
from nightgate.rows.groups import decode_group, encode_group
from nightgate.rows.keys import plan_key, staging_key, staging_prefix
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
        plan: The run's plan as it is stored; kept beside the journal while that is there.
    """

    def __init__(
        self, store: Store, run_id: str, worker: str, epoch: int, spool: Path, *, plan: bytes | None = None
    ) -> None:
        self._store, self._run_id = store, run_id
        self._name = f"{epoch:06d}-{worker}"
        self._path = spool / run_id / f"{self._name}.jsonl"
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._group = 0
        self._sequence = 0
        self._literals = credentials()
        self._fd = -1
        self._plan = plan
        self._torn = False
        self._lost: JournalError | None = None
        self._wake = asyncio.Event()
        self._flusher: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()
        self.problem: str | None = None
        """Why the store is away, while it is."""

    def _away(self, why: str) -> None:
        if self.problem is None:
            logs.warn(
                "spool", f"{self._store.uri} is away, records wait in {self._path}: {why}", run=self._run_id
            )
        self.problem = why

    @property
    def journal(self) -> str:
        """Name of its journal, no other's within the run; ``ended_writers`` knows it."""
        return self._name

    async def __aenter__(self) -> Self:
        self._fd = _begin(self._path)
        if self._plan is not None:
            keep_beside(self._path, self._plan, self._store.uri)
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
            if self._plan is not None:
                await asyncio.to_thread(self._refuse_emptied)
        except StoreError as away:
            self._away(str(away))
        finally:
            os.close(self._fd)
            self._fd = -1  # the number may be another file's soon
        if self.problem is None:
            self._path.unlink(missing_ok=True)
            tidy(self._path.parent)

    def _refuse_emptied(self) -> None:
        """A store that was emptied, or removed and made again, has no group of before; the journal has."""
        if not self._store.find(plan_key(self._run_id)):
            msg = f"{self._store.uri}: it has lost run {self._run_id}, whose journal is kept: {self._path}"
            raise StoreError(msg)

    def write(self, *records: Any) -> None:
        """Make records durable; when this returns a kill of the process loses none of them.

        Raises:
            JournalError: If the journal cannot be written (disk full): the run must stop, not go on blind.
                From then on it takes ends of calls alone, which were paid for. A trial or a finding that
                failed because its call could not be written down would blame the agent or the judge.
        """
        if self._fd < 0:
            msg = f"the journal of run {self._run_id} is closed"
            raise JournalError(msg)
        if self._torn:
            msg = f"{self._path} ends in half a record: what came behind it could not be told apart"
            raise JournalError(errno.EIO, msg)
        if self._lost is not None and not all(isinstance(record, Call) for record in records):
            raise JournalError(self._lost.errno, self._lost.strerror)
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
            why = unwritten(error, self._path, self._run_id, len(data))
            self._lost = self._lost or JournalError(error.errno, why)
            raise JournalError(error.errno, why) from error

    async def flush(self) -> None:
        """Stage what is pending now: when this returns, other machines see it.

        Raises:
            StoreError: If the store is away.
        """
        await self._flush()

    async def _flush_regularly(self) -> None:
        while True:
            # Not ``wait_for``: it swallows a cancellation that comes in the same moment as the wake.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GROUP_AGE_S if self.problem is None else _RETRY_S):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self._flush()
            except StoreError as away:
                self._away(str(away))
            except Exception as broken:  # whatever it is, the next second tries again
                self._away(f"{type(broken).__name__}: {broken}")

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
            if self.problem is not None:
                logs.info("spool", f"{self._store.uri} is back", run=self._run_id)
            self.problem = None


def _begin(path: Path) -> int:
    """Open a journal, and hold it until the process ends: so a dead writer can be told from a live one."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except FileNotFoundError:
            continue  # somebody who brought up the last journal of the folder removed it
        fcntl.flock(fd, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        os.close(fd)  # taken for a dead one's, and removed, before it was held


def _stage(store: Store, key: str, lines: list[bytes]) -> None:
    store.create(key, encode_group(lines))


def next_epoch(store: Store, run_id: str) -> int:
    """One more than the highest claim epoch that has staged anything."""
    names = [key.rsplit("/", 1)[-1] for key in store.find(staging_prefix(run_id))]
    return 1 + max((int(name.split("-", 1)[0]) for name in names if name[:6].isdigit()), default=0)


def bring_up(store: Store, run_id: str, spool: Path) -> int:
    """Stage what killed or cut-off processes of this machine left in their journals.

    Journals of processes that still live are left to them. A store without the run gets its plan first.

    Returns:
        How many journals were brought up. Running it twice stages the same objects.
    """
    folder = spool / run_id
    restore_plan(store, run_id, spool)
    brought = [path for path in journals_in(folder) if _bring(store, run_id, path)]
    if brought:
        logs.info("spool", f"brought up {len(brought)} journals of run {run_id}", run=run_id)
        tidy(folder)
    return len(brought)


def restore_plan(store: Store, run_id: str, spool: Path) -> None:
    """Give a store that lost a run its plan back, from beside the run's journals on this machine.

    Raises:
        StoreError: If the store is away.
    """
    try:
        plan = (spool / run_id / PLAN).read_bytes()
    except OSError:
        return  # not here, or nothing that could be read
    try:
        store.read(plan_key(run_id))
    except MissingError:
        store.create(plan_key(run_id), plan)


def _bring(store: Store, run_id: str, journal: Path) -> bool:
    """Stage a journal and remove it; False where its writer lives, or another one brought it up meanwhile."""
    with contextlib.suppress(FileNotFoundError, BlockingIOError), journal.open("rb") as file:
        # Shared: several processes may bring it up at once, each waits for nobody, and no writer begins.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        # The last line of a killed writer may be torn; all others end with a line feed.
        lines = file.read().split(b"\n")[:-1]
        key = _whole_key(run_id, journal.stem)
        if lines and _differs(store, key, lines):
            store.create(key, encode_group(lines))
        journal.unlink(missing_ok=True)
        return True
    return False


def _whole_key(run_id: str, journal: str) -> str:
    """Where all of a journal lies once it was brought up."""
    return staging_key(run_id, f"{journal}-journal.jsonl.zst")


def ended_writers(store: Store, run_id: str, journals: Iterable[str], spool: Path) -> set[str]:
    """Of some writers those that have certainly ended, on any machine: their journals were brought up.

    Brings up those of this machine first. Of one that ended on another machine, where nobody has brought
    its journal up since, nothing can be told.

    Args:
        store: Where the run lies.
        run_id: The run.
        journals: As ``Recorder.journal`` names them.
        spool: Folder of the journals on this machine.

    Raises:
        StoreError: If the store is away.
    """
    bring_up(store, run_id, spool)
    return {journal for journal in journals if _is_there(store, _whole_key(run_id, journal))}


def refuse_living(run_id: str, spool: Path) -> None:
    """Refuse to resume what another process of this machine still works on.

    Raises:
        InputError: Naming the journal that it holds.
    """
    for journal in journals_in(spool / run_id):
        if is_held(journal):
            msg = f"run {run_id} is still being worked on by another process here: it holds {journal}"
            raise InputError(msg)


def _differs(store: Store, key: str, lines: list[bytes]) -> bool:
    try:
        return decode_group(store.read(key)) != lines
    except MissingError:
        return True


def _is_there(store: Store, key: str) -> bool:
    try:
        store.read(key)
    except MissingError:
        return False
    return True


def staged(store: Store, run_id: str) -> list[tuple[str, bytes]]:
    """All staged groups of a run as (key, encoded bytes), by (claim epoch, object name)."""
    return [(key, store.read(key)) for key in store.find(staging_prefix(run_id))]
