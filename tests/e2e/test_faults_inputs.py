"""Faults of input, output and secrets, from the shell: clear refusals, clean JSON, no key anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from drill_lab import a_case, command, play, stored, write_suite

from nightgate import gate, open_store
from nightgate.errors import InputError
from nightgate.testing import FixedClock, InMemoryStore
from shell import SUPPORT, nightgate


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A suite, and a store with its complete run ``first``."""
    folder = tmp_path_factory.mktemp("committed")
    suite = write_suite(folder / "s", [a_case("refund-out-of-window"), a_case("other", tags=["slow"])])
    play(suite, str(folder / "store"), run_id="first")
    return suite, folder / "store"


def test_a_run_id_is_used_once(committed: Any) -> None:
    """A committed run never changes."""
    suite, store = committed
    before = stored(store)

    ran = command("run", suite, "--store", store, "--run-id", "first")

    assert ran.code == 2
    assert "run id 'first' is taken" in ran.err
    assert stored(store) == before


def test_a_run_id_is_used_once_also_at_the_same_instant(tmp_path: Path) -> None:
    """The same plan made twice is still two runs; the second would pay for the first again."""
    from datetime import UTC, datetime

    suite, store = write_suite(tmp_path / "s", [a_case("one")]), InMemoryStore()
    clock = FixedClock(datetime(2026, 11, 29, tzinfo=UTC))
    play(suite, store, run_id="same", clock=clock)

    with pytest.raises(InputError, match="is taken"):
        play(suite, store, run_id="same", clock=clock)


BAD_FLAGS = [
    ["--run-id", "Not An Id"],
    ["--run-id", "x" * 65],
    ["--trials", "0"],
    ["--trials", "many"],
    ["--concurrency", "0"],
    ["--judge-concurrency", "-1"],
    ["--budget-usd", "-1"],
    ["--budget-usd", "two"],
    ["--model", "gpt-5"],
    ["--model", "scripted:agnet"],
    ["--model", "import:no.such:thing"],
    ["--model", "openai:gpt-5?api_key=sk-1234567890abcdef"],
    ["--judge", "nobody:x"],
    ["--layer", "behaviour"],
    ["--stage", "nightly"],
    ["--prices", "/no/such/file.yaml"],
    ["--resume", "no-such-run"],
    ["--resume", "../first"],
    ["--store", "ftp://somewhere"],
    ["--no-such-flag"],
    ["--tria", "3"],
]


@pytest.mark.parametrize("flags", BAD_FLAGS, ids=" ".join)
def test_a_bad_flag_is_exit_2_and_starts_nothing(committed: Any, flags: list[str]) -> None:
    """One line on stderr that says what is wrong; the store is as it was."""
    suite, store = committed
    before = stored(store)

    ran = command("run", suite, "--store", store, *flags)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip()
    assert "Traceback" not in ran.err
    assert "sk-1234567890abcdef" not in ran.err
    assert stored(store) == before


def test_a_filter_that_matches_nothing_names_the_nearest_id(committed: Any) -> None:
    """An empty selection would have passed as nothing failed."""
    suite, store = committed

    ran = command("run", suite, "--store", store, "--case", "refund-out-of-windw")

    assert ran.code == 2
    assert "refund-out-of-window" in ran.err


def test_an_unknown_run_is_wrong_input(committed: Any) -> None:
    """Not inconclusive: there is nothing that could be measured."""
    _, store = committed

    assert command("gate", "no-such-run", "--store", store).code == 2
    assert command("gate", "../first", "--store", store).code == 2


def test_the_gate_on_an_open_run_is_inconclusive(tmp_path: Path) -> None:
    """``latest`` takes open runs into account: the newest one is what was asked for."""
    suite = write_suite(tmp_path / "s", [a_case("one")])
    store = str(tmp_path / "store")
    play(suite, store, run_id="whole")
    play(suite, store, run_id="open", budget_usd="0")

    ran = command("gate", "latest", "--store", store)

    assert ran.code == 3
    assert "run open is open" in ran.out
    assert gate(open_store(store), "whole").exit_code == 0


def test_one_invalid_suite_of_several_starts_none(tmp_path: Path) -> None:
    """The valid one stands first on the command line, and is not run."""
    good = write_suite(tmp_path / "good", [a_case("one")])
    bad = write_suite(tmp_path / "bad", [a_case("one"), a_case("one")])

    ran = command("run", good, bad, "--store", tmp_path / "store", "--json", "-")

    assert (ran.code, ran.out) == (2, "")
    assert "'one' is there twice" in ran.err
    assert not (tmp_path / "store").exists()


def test_suites_with_modules_of_the_same_name_run_their_own(tmp_path: Path) -> None:
    """``agent.py`` is what everybody calls it; the module cache must not hand one suite's to the other."""
    for name in ("kb-1", "kb-2"):
        suite = write_suite(
            tmp_path / name,
            [a_case("one", expect={"answer": {"contains": [name]}})],
            suite=name,
            agent="agent:build",
            replies={"*": [{"call": {"whoami": {}}}, {"say": name}]},
            evaluators={"Own": {"use": "checks:Own", "threshold": 1.0}},
        )
        (suite / "names.py").write_text(f"NAME = {name!r}\n")
        (suite / "agent.py").write_text(OWN_AGENT)
        (suite / "checks.py").write_text(OWN_CHECK)

    ran = nightgate("run", tmp_path / "kb-1", tmp_path / "kb-2", "--store", tmp_path / "store", "--json", "-")

    assert ran.code == 0, ran.err + ran.out
    assert [run["cells"]["pass"] for run in ran.json["runs"]] == [2, 2]


OWN_AGENT = '''
"""An agent whose tool says which suite it is of."""
from names import NAME
from strands import Agent, tool


def build(model, case):
    @tool
    def whoami() -> str:
        """Who am I?"""
        return NAME

    return Agent(model=model, tools=[whoami], callback_handler=None)
'''
OWN_CHECK = '''
"""A check that knows which suite it is of."""
from names import NAME
from nightgate import Score, Status


class Own:
    name, version = "Own", 1

    def evaluate(self, trial, case):
        right = trial.tool_calls[0].result == NAME == trial.key.suite
        return Score(evaluator="Own", version=1, status=Status.PASS if right else Status.FAIL, reason=NAME)
'''


def test_only_json_stands_on_stdout_whatever_users_code_prints(tmp_path: Path) -> None:
    """Every Strands agent prints its answers unless it is told not to."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one"), a_case("two")],
        agent="fault_agents:loud",
        evaluators={"Loud": {"use": "fault_evaluators:Loud", "threshold": 1.0}},
    )

    ran = nightgate("run", suite, "--store", tmp_path / "store", "--json", "-")

    assert (ran.code, ran.json["complete"]) == (0, True)
    assert "a print in a factory" in ran.err
    assert "Gladly." in ran.err


def test_prints_stay_out_of_the_report_too(tmp_path: Path) -> None:
    """Without ``--json -`` stdout is the report, for people and for grep."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="fault_agents:loud")

    ran = nightgate("run", suite, "--store", tmp_path / "store")

    assert ran.code == 0
    assert ran.out.startswith("run drill-")
    assert "a print in a factory" not in ran.out
    assert "Gladly" not in ran.out


@pytest.mark.parametrize("flag", ["--json", "--junit"])
def test_an_output_file_that_cannot_be_written_is_said_before_anything_is_spent(
    committed: Any, tmp_path: Path, flag: str
) -> None:
    """Afterwards exit 2 would hide a verdict that was paid for."""
    suite, _ = committed
    (tmp_path / "file").write_text("in the way")

    ran = command("run", suite, "--store", tmp_path / "store", flag, tmp_path / "file" / "out")

    assert (ran.code, ran.out) == (2, "")
    assert "cannot be written" in ran.err
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("what", ["a file", "under a file"])
def test_a_store_that_is_no_folder_is_said_before_anything_is_spent(tmp_path: Path, what: str) -> None:
    """One line, no traceback."""
    (tmp_path / "file").write_text("not a folder")
    store = tmp_path / "file" if what == "a file" else tmp_path / "file" / "store"

    ran = nightgate("run", write_suite(tmp_path / "s", [a_case("one")]), "--store", store)

    assert ran.code in (2, 3)
    assert "Traceback" not in ran.err
    assert str(store) in ran.err
    assert (tmp_path / "file").read_text() == "not a folder"


def test_two_suites_of_one_name_are_refused_together(tmp_path: Path) -> None:
    """Their rows, their latest run and their baseline would be one."""
    for folder in ("a", "b"):
        shutil.copytree(SUPPORT, tmp_path / folder)

    ran = nightgate("run", tmp_path / "a", tmp_path / "b", "--store", tmp_path / "s")

    assert ran.code == 2
    assert str(tmp_path / "a") in ran.err
    assert str(tmp_path / "b") in ran.err
    assert not (tmp_path / "s").exists()
