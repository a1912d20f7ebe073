"""Who works on a date's run: one process at a time, wherever it is.

Owns ``runs/<run_id>/night.json``, which the holder changes again and again: one that has not changed for
the patience, by the clock of whoever looks, is taken over. On the machine of the holder nobody has to wait
for that: a lock on a file in the spool tells a dead process from a living one at once. A holder that was
taken over while it slept may still play; of two records of a trial one is accepted, so that costs calls,
never a verdict.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nightgate.errors import ConflictError, MissingError
from nightgate.localdates import stamp
from nightgate.ports import Store
from nightgate.rows.jsondocs import COUNT, ID, TEXT, DocumentKind, OrNull
from nightgate.rows.keys import night_holder_key
from nightgate.steps.claims import PATIENCE_S, RENEWALS

_LOOKS = 8
"""How often somebody who waits looks within the patience."""
_KIND = DocumentKind(
    name="record of who works on a night",
    schema=1,
    shape={"run_id": ID, "holder": OrNull(ID), "where": TEXT, "since": TEXT, "beat": COUNT},
    way_out="remove it, once nobody works on that run any more",
)


class Hold:
    """One process' hold on a date's run. Blocking; ``renew`` may run in another thread than the rest.

    Args:
        store: Where the run lies.
        run_id: The run.
        spool: Folder on this machine, shared by its processes.
        patience_s: Seconds after which a holder that does not change is taken over; the same for all.
        monotonic: Seconds of this machine.
        now: The hour, for people.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        spool: Path,
        *,
        patience_s: float = PATIENCE_S,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store, self._run_id, self._folder = store, run_id, spool / "nights"
        self._patience_s, self._monotonic, self._now = patience_s, monotonic, now
        self._key = night_holder_key(run_id)
        self._token = secrets.token_hex(8)
        self._mine: tuple[dict[str, Any], bytes] | None = None
        self._seen: tuple[bytes, float] | None = None
        self._sign = -1
        self._turn = threading.Lock()
        self.other = ""
        """Who holds it instead, for people."""

    @property
    def renew_s(self) -> float:
        """Seconds between two renewals."""
        return self._patience_s / RENEWALS

    @property
    def look_s(self) -> float:
        """Seconds between two looks at a holder of whom it is not known whether it lives."""
        return self._patience_s / _LOOKS

    @property
    def held(self) -> bool:
        """Whether it is this process'."""
        return self._mine is not None

    def take(self) -> bool | None:
        """Take the run, unless somebody who lives has it.

        Returns:
            Whether it is this process' now; None: it cannot be told yet, look again in ``look_s``.

        Raises:
            StoreError: If the store is away.
            DamagedError: If what lies there is no such record.
            OSError: If the spool cannot be written.
        """
        try:
            data: bytes | None = self._store.read(self._key)
        except MissingError:
            data = None
        before = None
        if data is not None:
            found = _KIND.read(data, self._key)
            before = found["holder"]
            living = before is not None and self._living(before, data)
            if living is not False:
                self.other = f"{found['where']} since {found['since']}"
                return None if living is None else False
        self._put_sign()
        document = {
            "schema": 1,
            "run_id": self._run_id,
            "holder": self._token,
            "where": f"process {os.getpid()} on {socket.gethostname()}",
            "since": stamp(self._now()),
            "beat": 0,
        }
        if not self._swap(document, data):
            return None
        if before is not None:
            self._path(before).unlink(missing_ok=True)
        return True

    def renew(self) -> None:
        """Say that this process lives; nothing where it was taken over.

        Raises:
            StoreError: If the store is away; nobody can take over then either.
        """
        with self._turn:
            if self._mine is not None:
                document, data = self._mine
                self._swap(document | {"beat": document["beat"] + 1}, data)

    def let_go(self) -> None:
        """Leave it to whoever comes. Safe to call twice.

        Raises:
            StoreError: If the store is away: the others find this process gone.
        """
        with self._turn:
            try:
                if self._mine is not None:
                    document, data = self._mine
                    self._swap(document | {"holder": None}, data)
                self._path(self._token).unlink(missing_ok=True)
            finally:
                self._mine = None
                if self._sign >= 0:
                    # Without its lock the file says that this process is gone, if it could not say so itself.
                    os.close(self._sign)
                    self._sign = -1

    def _living(self, holder: str, data: bytes) -> bool | None:
        """Whether a holder lives; None: its silence is not long enough yet."""
        here = self._living_here(holder)
        if here is not None:
            return here
        if self._seen is None:
            self._seen = data, self._monotonic()
        seen, since = self._seen
        if seen != data:
            return True
        return False if self._monotonic() - since >= self._patience_s else None

    def _living_here(self, holder: str) -> bool | None:
        """The same by the holder's lock; None: it is no process of this machine."""
        try:
            with self._path(holder).open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return None
        except BlockingIOError:
            return True
        return False

    def _put_sign(self) -> None:
        if self._sign < 0:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._sign = os.open(self._path(self._token), os.O_WRONLY | os.O_CREAT, 0o600)
            # Held until the process ends, however it ends.
            fcntl.flock(self._sign, fcntl.LOCK_EX)

    def _path(self, holder: str) -> Path:
        return self._folder / f"{holder}.lock"

    def _swap(self, document: dict[str, Any], before: bytes | None) -> bool:
        """Put the record where nobody came in between; False where somebody did."""
        data = json.dumps(document, sort_keys=True).encode()
        try:
            self._store.swap(self._key, data, before)
        except ConflictError:
            self._mine, self._seen = None, None
            return False
        self._mine = document, data
        return True
