"""A page set in a folder."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile import CASES, put_hostile_run
from nightgate.errors import InputError
from nightgate.reports.pages.shell import page
from nightgate.reports.pages.writing import check_target, write_pages
from nightgate.steps.runpages import pages_of_run
from nightgate.testing import InMemoryStore

OURS = b'<!doctype html><head><meta name="generator" content="nightgate 0.1"></head>old'


def tree(root: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_files_are_written_and_counted(tmp_path: Path) -> None:
    """Old pages of the same names make way; what else lies there is not ours."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "index.html").write_bytes(OURS)

    written = write_pages([("case-1.html", b"12345"), ("index.html", b"new")], tmp_path)

    assert (written.index, written.files, written.bytes) == (tmp_path / "index.html", 2, 8)
    assert tree(tmp_path) == {"case-1.html": b"12345", "index.html": b"new", "notes.txt": b"mine"}


def test_what_was_written_is_known_as_ours_the_next_time(tmp_path: Path) -> None:
    """Pages and long texts of a real run; the nightly job writes into the same folder every morning."""
    store = InMemoryStore()
    run_id = put_hostile_run(store)
    write_pages(pages_of_run(store, run_id), tmp_path)
    before = tree(tmp_path)
    assert any(name.endswith(".txt") for name in before)

    check_target(tmp_path)
    write_pages(pages_of_run(store, run_id), tmp_path)

    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["index.html", "case-1.html", "case-1-1.txt"])
@pytest.mark.parametrize("content", [b"", b"<!doctype html><title>Our shop</title>"])
def test_a_file_of_somebody_else_is_never_replaced(tmp_path: Path, name: str, content: bytes) -> None:
    """The folder may be a web site, and its first page has our page's name."""
    (tmp_path / name).write_bytes(content)

    with pytest.raises(InputError, match=rf"{name} is there and is no page of nightgate's.*another folder"):
        write_pages([(name, b"x")], tmp_path)

    assert tree(tmp_path) == {name: content}


def test_a_link_is_not_followed_out_of_the_folder(tmp_path: Path) -> None:
    """In a folder that others write to, a page's name may lead to any file of the user's."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").symlink_to(tmp_path / "precious")

    for write in (
        lambda: write_pages([("index.html", b"x")], tmp_path / "out"),
        lambda: check_target(tmp_path / "out"),
    ):
        with pytest.raises(InputError, match="is there and is no page"):
            write()

    assert tree(tmp_path) == {}


def test_a_foreign_first_page_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    """Afterwards it could only be a warning. Nothing is left behind by the try."""
    (tmp_path / "index.html").write_text("mine")

    with pytest.raises(InputError, match="choose another folder"):
        check_target(tmp_path)

    assert tree(tmp_path) == {"index.html": b"mine"}


@pytest.mark.parametrize(
    "name", ["../x.html", "/etc/x", "a/b.html", "..", ".hidden", "a\0b", "x" * 300, "", "a\nb"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """Names are ours; should one ever not be, nothing is written."""
    with pytest.raises(ValueError, match="no name of a page"):
        write_pages([(name, b"x")], tmp_path / "out")

    assert tree(tmp_path) == {}


def test_hostile_ids_stay_in_the_folder_and_apart(tmp_path: Path) -> None:
    """``..``, reserved names, 400 characters, ids that differ by case alone: a file each on every system."""
    store = InMemoryStore()

    write_pages(pages_of_run(store, put_hostile_run(store)), tmp_path / "a" / "out")

    names = list(tree(tmp_path))
    pages = [name for name in names if name.endswith(".html")]
    assert all(Path(name).parent == Path("a/out") for name in names)
    assert len({name.casefold() for name in pages}) == len(CASES) + 1


def test_a_set_that_breaks_off_leaves_whole_pages_and_nothing_half(tmp_path: Path) -> None:
    """The first page comes last: nobody is led to what is not there."""
    (tmp_path / "case-2.html").write_bytes(OURS)

    def files() -> Iterator[tuple[str, bytes]]:
        yield "case-1.html", b"whole"
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        write_pages(files(), tmp_path)

    assert tree(tmp_path) == {"case-1.html": b"whole", "case-2.html": OURS}


def test_a_full_disk_is_told_and_leaves_no_half_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line: where, what, what next; the older page is still whole."""
    (tmp_path / "index.html").write_bytes(OURS)

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)

    with pytest.raises(InputError, match=r"cannot be written: No space left on device; make room .*another"):
        write_pages([("index.html", b"new")], tmp_path)

    assert tree(tmp_path) == {"index.html": OURS}


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file lies where the folder should be, or no file system has such a name."""
    (tmp_path / "taken").write_text("")

    with pytest.raises(InputError, match="taken: cannot be written"):
        write_pages([("index.html", b"")], tmp_path / "taken")
    for folder in (tmp_path / "taken", tmp_path / ("x" * 300), "a\0b"):
        with pytest.raises(InputError, match="choose another"):
            check_target(folder)


def test_every_page_says_near_its_beginning_whose_it_is() -> None:
    """That is how an older page is told from a file of somebody else."""
    made = page("base.html.j2", title="x" * 2_000)

    assert b'<meta name="generator" content="nightgate ' in made[:1_024]
