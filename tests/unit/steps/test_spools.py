"""What the spool says before a run depends on it."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from disks import Disk, disk
from nightgate.errors import StoreError
from nightgate.steps import spools
from nightgate.steps.spools import leftovers, refuse_unwritable, short_of_room

FLAG = "--spool or NIGHTGATE_SPOOL"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 8 MB."""
    with disk(tmp_path / "disk") as mounted:
        yield mounted


def test_a_look_leaves_no_folder_behind(tmp_path: Path) -> None:
    """``doctor`` looks at places that nobody has used yet."""
    refuse_unwritable(tmp_path / "a" / "b", FLAG)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    """With what lies in it."""
    (tmp_path / "r").mkdir()

    refuse_unwritable(tmp_path, FLAG)

    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_path_below_a_file_is_refused_with_the_flag(tmp_path: Path) -> None:
    """A slip that no file mode shows."""
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=rf"file/s: Not a directory: .* name another with {FLAG}"):
        refuse_unwritable(tmp_path / "file" / "s", FLAG)


def test_a_full_disk_is_refused_with_what_is_free_and_needed(small: Disk) -> None:
    """One byte would still go on it, and the first trial would not."""
    small.fill(leave=1_000_000)

    with pytest.raises(StoreError, match=r"No space left on device: 1\.0 MB free, and a run needs 4 MB"):
        refuse_unwritable(small.path, FLAG)
    assert [path.name for path in small.path.iterdir()] == [small.filler.name]


def test_a_read_only_disk_is_refused(small: Disk) -> None:
    """Space is not the matter then."""
    small.protect()

    with pytest.raises(StoreError, match="Read-only file system: a run could write nothing there"):
        refuse_unwritable(small.path / "spool", FLAG)


def test_room_that_gets_short_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is stated, and the figure too."""
    monkeypatch.setattr(spools, "AMPLE_BYTES", 1 << 60)

    told = short_of_room(tmp_path / "not-there-yet")

    assert told is not None
    assert re.search(r"[\d,]+ MB free, less than 1,152,921,504,607 MB", told)


def test_ample_room_is_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads lines that come every night."""
    monkeypatch.setattr(spools, "AMPLE_BYTES", 1)

    assert short_of_room(tmp_path) is None


def test_leftovers_are_told_from_what_is_being_written(tmp_path: Path) -> None:
    """A run that is at work needs nobody's help."""
    for name in ("dead", "living"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "000001-w.jsonl").write_bytes(b"12345")
    (tmp_path / "dead" / "store.txt").write_text("s3://bucket/evals")
    (tmp_path / "empty").mkdir()

    with (tmp_path / "living" / "000001-w.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        dead, living = leftovers(tmp_path)

    assert (dead.run_id, dead.living, dead.journals, dead.size) == ("dead", False, 1, 5)
    assert (dead.store, living.store) == ("s3://bucket/evals", None)
    assert (living.run_id, living.living) == ("living", True)


def test_a_spool_that_is_not_there_has_no_leftovers(tmp_path: Path) -> None:
    """No run was ever started here."""
    assert leftovers(tmp_path / "none") == []
