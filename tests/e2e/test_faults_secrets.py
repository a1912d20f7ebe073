"""Secrets in every place that a run records: found nowhere, in no byte that is stored or printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from drill_lab import OK, a_case, play, stored, write_suite

from shell import Ran, nightgate

KEY, BEARER, PASSWORD = (
    "sk-proj-" + "a1b2c3d4e5f6g7h8i9j0",
    "Bearer abcd1234efgh5678ijkl",
    "correct-horse-staple",
)
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
    assert {name.split("/")[0] for name in files} >= {
        "scores",
        "trials",
        "calls",
        "transcripts",
        "runs",
        "manifests",
    }
    for name, data in files.items():
        unpacked = (
            str(pq.read_table(folder / "store" / name).to_pylist()) if name.endswith(".parquet") else ""
        )
        assert not leaks(data.decode("latin-1") + unpacked), name
    masked = [name for name, data in files.items() if b"[redacted]" in data]
    assert any(name.endswith("plan.json") for name in masked)


def test_a_rotated_key_is_no_other_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fingerprint is computed without secrets, or every rotation would end resumes and reuse."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="rotating:build")
    (suite / "rotating.py").write_text(
        "import os\nfrom strands import Agent\n\n\ndef build(model, case):\n"
        "    prompt = 'Use ' + os.environ['SHOP_API_KEY']\n"
        "    return Agent(model=model, system_prompt=prompt, callback_handler=None)\n"
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
