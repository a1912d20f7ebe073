"""What lies in the spool beside a journal, and when it goes."""

from __future__ import annotations

import resource
from pathlib import Path

from nightgate.journals import PLAN, keep_beside, store_of, tidy


def a_journal(folder: Path) -> Path:
    """An empty journal of run ``r``."""
    journal = folder / "r" / "000001-w.jsonl"
    journal.parent.mkdir()
    journal.touch()
    return journal


def test_the_plan_and_the_stores_address_lie_beside_a_journal(tmp_path: Path) -> None:
    """Many stores may share a spool, and a person has to name one."""
    journal = a_journal(tmp_path)

    keep_beside(journal, b"the plan", "s3://bucket/evals")

    assert journal.with_name(PLAN).read_bytes() == b"the plan"
    assert store_of(journal.parent) == "s3://bucket/evals"


def test_no_half_a_plan_is_kept_on_a_full_disk(tmp_path: Path) -> None:
    """It would be given back to a store as if it were whole."""
    journal = a_journal(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        keep_beside(journal, b"x" * 4000, "s3://bucket/evals")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert sorted(path.name for path in journal.parent.iterdir()) == [journal.name, "store.txt"]


def test_a_folder_with_a_journal_stays(tmp_path: Path) -> None:
    """Another process of this machine may still be at work on the run."""
    journal = a_journal(tmp_path)
    keep_beside(journal, b"the plan", "s3://bucket/evals")

    tidy(journal.parent)
    assert journal.with_name(PLAN).exists()

    journal.unlink()
    tidy(journal.parent)
    assert not journal.parent.exists()


def test_a_spool_of_an_older_version_names_no_store(tmp_path: Path) -> None:
    """The command then names the store that was asked about."""
    assert store_of(a_journal(tmp_path).parent) is None
