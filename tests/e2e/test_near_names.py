"""A run or suite that is not stored is answered with the nearest that is."""

from __future__ import annotations

from pathlib import Path

import pytest
from drill_lab import a_case, command, play, write_suite


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the run ``first`` of suite ``drill``."""
    folder = tmp_path_factory.mktemp("near")
    play(write_suite(folder / "s", [a_case("one")]), str(folder / "store"), run_id="first")
    return folder / "store"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("lastest", "latest"),
        ("latest:dril", "drill"),
        ("lastest:drill", "latest:drill"),
        ("frist", "first"),
        ("drill", "latest:drill"),
    ],
)
def test_gate_names_the_run_that_was_meant(store: Path, asked: str, meant: str) -> None:
    """Aliases, suites and run ids."""
    ran = command("gate", asked, "--store", store)

    assert (ran.code, ran.out) == (2, "")
    assert f"did you mean {meant}?" in ran.err


@pytest.mark.parametrize("asked", ["zzz", "../../x"])
def test_gate_on_a_run_like_no_other_says_how_to_list_them(store: Path, asked: str) -> None:
    """A far-fetched guess would be worse."""
    ran = command("gate", asked, "--store", store)

    assert ran.code == 2
    assert "`nightgate runs SUITE` lists what is stored" in ran.err


def test_gate_still_takes_ids_and_aliases(store: Path) -> None:
    """The look before costs nobody a verdict."""
    codes = [command("gate", run, "--store", store).code for run in ("first", "latest", "latest:drill")]

    assert codes == [0, 0, 0]


@pytest.mark.parametrize(
    ("asked", "hint"), [("dril", "did you mean drill?"), ("zzz", "it has runs of drill")]
)
def test_runs_of_an_unknown_suite_name_the_known_ones(store: Path, asked: str, hint: str) -> None:
    """An empty list looked as if nothing had ever run."""
    ran = command("runs", asked, "--store", store)

    assert ran.code == 3
    assert hint in ran.out
