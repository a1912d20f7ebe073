"""Drafts on the disk: both files or none."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from nightgate.errors import InputError
from nightgate.importers.saving import DraftExistsError, save


def two(folder: Path) -> dict[Path, str]:
    return {folder / "a.yaml": "case\n", folder / "a.script.yaml": "réplies\n"}


def held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


BOTH = {"a.yaml": b"case\n", "a.script.yaml": "réplies\n".encode()}


def test_both_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    """No temporary file stays behind."""
    save(two(tmp_path / "drafts"))

    assert held(tmp_path / "drafts") == BOTH


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    """The command may be repeated."""
    save(two(tmp_path))
    before = (tmp_path / "a.yaml").stat()
    save(two(tmp_path))

    assert (tmp_path / "a.yaml").stat().st_ino == before.st_ino


@pytest.mark.parametrize("name", ["a.yaml", "a.script.yaml"])
@pytest.mark.parametrize("data", [b"mine\n", b"\xff\xfe", b" "])
def test_what_somebody_wrote_stays_and_the_other_file_is_not_written(
    tmp_path: Path, name: str, data: bytes
) -> None:
    """Half a draft would be as wrong as a lost one."""
    (tmp_path / name).write_bytes(data)

    with pytest.raises(DraftExistsError, match=f"{name}: another draft has this name"):
        save(two(tmp_path))

    assert held(tmp_path) == {name: data}


@pytest.mark.parametrize("name", ["a.yaml", "a.script.yaml"])
def test_an_empty_leftover_does_not_block(tmp_path: Path, name: str) -> None:
    """A full disk left it, nobody wrote it."""
    (tmp_path / name).touch()
    save(two(tmp_path))

    assert held(tmp_path) == BOTH


def test_a_folder_of_the_name_is_told_like_another_draft(tmp_path: Path) -> None:
    """Not as a traceback."""
    (tmp_path / "a.yaml").mkdir()

    with pytest.raises(DraftExistsError):
        save(two(tmp_path))


def test_a_link_of_the_name_is_not_followed(tmp_path: Path) -> None:
    """It may lead anywhere."""
    (tmp_path / "a.yaml").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(DraftExistsError):
        save(two(tmp_path))

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_full_disk_leaves_nothing_and_the_next_try_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """Whichever file it hits."""
    calls = []

    def full(_: Any) -> None:
        calls.append(1)
        if len(calls) == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            save(two(tmp_path / "drafts"))

    assert not (tmp_path / "drafts").exists()
    save(two(tmp_path / "drafts"))
    assert held(tmp_path / "drafts") == BOTH


def test_a_name_taken_in_between_is_not_replaced_and_the_first_file_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people at once: the second gets the refusal, not half of each."""
    link = os.link

    def late(source: Any, target: Path) -> None:
        if target.name == "a.script.yaml":
            target.write_text("theirs")
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(DraftExistsError):
        save(two(tmp_path))

    assert held(tmp_path) == {"a.script.yaml": b"theirs"}


def test_without_hard_links_it_works_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some network and memory-card file systems have none."""

    def none(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    save(two(tmp_path))

    assert held(tmp_path) == BOTH
