"""Faults of input, output and secrets, from the shell: clear refusals, clean JSON, no key anywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from drill_lab import OK, a_case, command, play, write_suite
from shell import Ran, nightgate

from nightgate import gate, open_store
from nightgate.errors import InputError
from nightgate.testing import FixedClock, InMemoryStore


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A suite, and a store with its complete run ``first``."""
    folder = tmp_path_factory.mktemp("committed")
    suite = write_suite(folder / "s", [a_case("refund-out-of-window"), a_case("other", tags=["slow"])])
    play(suite, str(folder / "store"), run_id="first")
    return suite, folder / "store"


def stored(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


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
    ["--resume", "first"],
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


KEY, BEARER, PASSWORD = "sk-proj-" + "a1b2c3d4e5f6g7h8i9j0", "Bearer abcd1234efgh5678ijkl", "correct-horse-staple"
NEEDLES = ("a1b2c3d4e5f6", "abcd1234efgh", "correct-horse")
"""What must be found nowhere: a key, a header's token, the value of a credential variable."""
LEAKY = f'''
"""An agent that holds secrets in every place that a run records."""
import os

from strands import Agent, tool

PASSWORD = os.environ["SHOP_DB_PASSWORD"]


def build(model, case):
    if case.id == "factory" and type(model).__name__ != "RefusingModel":
        raise RuntimeError("401 Unauthorized for key {KEY}")

    @tool
    def lookup(topic: str) -> str:
        """Look up a topic. Sends Authorization: {BEARER}

        Args:
            topic: What to look up.
        """
        if topic == "fail":
            raise RuntimeError("cannot log in as shop with " + PASSWORD)
        return "headers: {{'Authorization': '{BEARER}'}} body: " + PASSWORD

    prompt = "Use {KEY} and " + PASSWORD
    return Agent(model=model, tools=[lookup], system_prompt=prompt, callback_handler=None)


def refuse(model, case):
    raise RuntimeError("cannot log in with {KEY} and " + PASSWORD)
'''


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ran]:
    """One run in which secrets stand in prompt, tool schema, arguments, results, exceptions, answers."""
    folder = tmp_path_factory.mktemp("leaky")
    suite = write_suite(
        folder / "s",
        [a_case(case_id) for case_id in ("tool", "fail", "factory", "answer", "evaluator")],
        agent="leaky:build",
        replies={
            "*": [{"call": {"lookup": {"topic": f"{BEARER}"}}}, *OK],
            "fail": [{"call": {"lookup": {"topic": "fail"}}}, *OK],
            "answer": [{"say": f"The key is {KEY}, the password {PASSWORD}. [KB-1]"}],
        },
        evaluators={"Ours": {"use": "leaky_check:Raises", "threshold": 1.0, "cases": ["evaluator"]}},
    )
    (suite / "leaky.py").write_text(LEAKY)
    (suite / "leaky_check.py").write_text(
        "class Raises:\n    name, version = 'Raises', 1\n"
        f"    def evaluate(self, trial, case):\n        raise RuntimeError('token={KEY}')\n"
    )
    flags = ("--json", folder / "out.json", "--junit", folder / "out.xml")
    env = {"SHOP_DB_PASSWORD": PASSWORD}
    return folder, nightgate("run", suite, "--store", folder / "store", *flags, env=env)


def leaks(text: str) -> list[str]:
    """The secrets that stand in a text."""
    return [needle for needle in NEEDLES if needle in text]


def test_no_secret_is_printed_or_exported(leaky: Any) -> None:
    """Nor in the documents that CI keeps; what surrounds it stays readable."""
    folder, ran = leaky

    assert ran.code == 1, ran.err
    for text in (ran.out, ran.err, (folder / "out.json").read_text(), (folder / "out.xml").read_text()):
        assert not leaks(text)
    assert "401 Unauthorized for key [redacted]" in ran.out


def test_no_secret_is_stored(leaky: Any) -> None:
    """Every byte of the store, Parquet unpacked; the plan with the agent's prompt included."""
    folder, _ = leaky

    files = stored(folder / "store")
    assert {name.split("/")[0] for name in files} >= {"scores", "trials", "calls", "transcripts", "runs", "manifests"}
    for name, data in files.items():
        unpacked = str(pq.read_table(folder / "store" / name).to_pylist()) if name.endswith(".parquet") else ""
        assert not leaks(data.decode("latin-1") + unpacked), name
    masked = [name for name, data in files.items() if b"[redacted]" in data]
    assert any(name.endswith("plan.json") for name in masked)


def test_a_rotated_key_is_no_other_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fingerprint is computed without secrets, or every rotation would end resumes and reuse."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="rotating:build")
    (suite / "rotating.py").write_text(
        "import os\nfrom strands import Agent\n\n\ndef build(model, case):\n"
        "    return Agent(model=model, system_prompt='Use ' + os.environ['SHOP_API_KEY'], callback_handler=None)\n"
    )
    found = set()
    for key in ("first-key-0123456789", "other-key-9876543210"):
        monkeypatch.setenv("SHOP_API_KEY", key)
        found.add(play(suite)["fingerprint"])

    assert len(found) == 1


def test_no_secret_in_a_refusal(tmp_path: Path) -> None:
    """What a factory raises at planning goes straight to the terminal and to CI's log."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="leaky:refuse")
    (suite / "leaky.py").write_text(LEAKY)

    ran = nightgate("run", suite, "--store", tmp_path / "store", env={"SHOP_DB_PASSWORD": PASSWORD})

    assert ran.code == 2
    assert "cannot log in with [redacted]" in ran.err
    assert not leaks(ran.err + ran.out)


def test_json_files_are_strict_json(leaky: Any) -> None:
    """Unknown is null."""
    folder, _ = leaky

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    json.loads((folder / "out.json").read_text(), parse_constant=refuse)
