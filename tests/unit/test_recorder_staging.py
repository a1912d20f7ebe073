"""Groups in flight when a run ends: what is staged under a name never changes."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from makers import a_trial
from nightgate import recorder
from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import StoreError
from nightgate.recorder import Recorder, staged
from nightgate.rows.groups import decode_group


class OvertakenStore(FolderStore):
    """A store whose first put is still on its way when the second one arrives."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.calls = 0
        self.first_began, self.second_came, self.first_done = (threading.Event() for _ in range(3))

    def create(self, key: str, data: bytes) -> None:
        self.calls += 1
        if self.calls == 1:
            self.first_began.set()
            self.second_came.wait(10)
            super().create(key, data)
            self.first_done.set()
            return
        self.second_came.set()
        self.first_done.wait(10)
        super().create(key, data)


class ForgetfulStore(FolderStore):
    """A store that takes the first put and loses the answer, as networks do."""

    lost = False

    def create(self, key: str, data: bytes) -> None:
        super().create(key, data)
        if not self.lost:
            self.lost = True
            msg = "timed out"
            raise StoreError(msg)


def lines(store: FolderStore) -> int:
    return sum(len(decode_group(data)) for _, data in staged(store, "r"))


async def test_records_written_while_a_group_is_on_its_way_do_not_strand_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ended within a slow flush once stayed open: two groups wanted one name."""
    monkeypatch.setattr(recorder, "GROUP_AGE_S", 0.01)
    store = OvertakenStore(tmp_path / "store")

    async with Recorder(store, "r", "w", 1, tmp_path / "spool") as journal:
        journal.write(a_trial("first"))
        while not store.first_began.is_set():
            await recorder.asyncio.sleep(0.001)
        journal.write(a_trial("second"))

    assert journal.problem is None
    assert lines(store) == 2
    assert not list((tmp_path / "spool").rglob("*.jsonl"))


async def test_a_put_whose_answer_was_lost_does_not_strand_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The group stands in the store; what came since is a group of its own."""
    monkeypatch.setattr(recorder, "GROUP_AGE_S", 0.01)
    store = ForgetfulStore(tmp_path / "store")

    async with Recorder(store, "r", "w", 1, tmp_path / "spool") as journal:
        journal.write(a_trial("first"))
        while not store.lost or journal.problem is None:
            await recorder.asyncio.sleep(0.001)
        journal.write(a_trial("second"))

    assert journal.problem is None
    assert lines(store) == 2
