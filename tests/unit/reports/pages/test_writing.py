"""A page set in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.errors import InputError
from nightgate.reports.pages.writing import write_pages


def test_files_are_written_and_counted(tmp_path: Path) -> None:
    """Old pages of the same names make way; what else lies there is not ours."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "index.html").write_text("old")

    written = write_pages([("case-1.html", b"12345"), ("index.html", b"new")], tmp_path)

    assert (written.index, written.files, written.bytes) == (tmp_path / "index.html", 2, 8)
    assert (tmp_path / "index.html").read_bytes() == b"new"
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file lies where the folder should be."""
    (tmp_path / "taken").write_text("")

    with pytest.raises(InputError, match="taken: cannot be written"):
        write_pages([("index.html", b"")], tmp_path / "taken")
