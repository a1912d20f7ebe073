"""Faults of agents, tools and factories, through the whole pipeline: each trial ends typed, once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from drill_lab import OK, a_case, command, evaluator, only, play, rows, write_suite

from nightgate import gate
from nightgate.errors import InputError
from nightgate.testing import InMemoryStore
from shell import nightgate

LOOKED_UP = [{"call": {"lookup": {"topic": "x"}}}, *OK]
PONDERED = [{"call": {"ponder": {"topic": "x"}}}, *OK]
LATE = [{**OK[0], "delay_s": 1.2, "usage": {"input": 7, "output": 3}}]

ENDINGS = {
    "no fault": ("completed", "pass", None),
    "factory raises": ("agent_error", "fail", "RuntimeError: no database here"),
    "factory exits": ("agent_error", "fail", "SystemExit"),
    "slow factory": ("agent_timeout", "fail", "no answer within 0.6 s"),
    "hook raises": ("agent_error", "fail", "ZeroDivisionError: no such hook"),
    "deaf": ("agent_error", "fail", "without one call of the model"),
    "swallows": ("infra_error", "error", "auth"),
    "tool raises": ("completed", "pass", None),
    "tool exits": ("completed", "pass", None),
    "tool stops": ("completed", "pass", None),
    "tool cancels": ("completed", "pass", None),
    "odd tool": ("completed", "pass", None),
    "slow tool": ("agent_timeout", "fail", "no answer within 0.6 s"),
    "slow async tool": ("agent_timeout", "fail", "no answer within 0.6 s"),
    "slow answer": ("agent_timeout", "fail", "no answer within 0.6 s"),
    "slow answer, broken state": ("agent_timeout", "fail", "no answer within 0.6 s"),
    "state raises": ("agent_error", "fail", "state() raised KeyError: 'case_id'"),
    "state is a list": ("agent_error", "fail", "return a JSON mapping"),
    "state is no JSON": ("agent_error", "fail", "not JSON serializable"),
    "state is NaN": ("completed", "pass", None),
    "close raises": ("completed", "pass", None),
    "overflow": ("agent_error", "fail", "ContextWindowOverflowException"),
    "out of steps": ("infra_error", "error", "ran out"),
    "truncated": ("agent_truncated", "fail", "max_tokens"),
    "blocked": ("agent_blocked", "fail", "guardrail_intervened"),
}
"""Fault -> (ending, status of its cell, what the trial's error says)."""
REPLIES: dict[str, Any] = {
    "*": LOOKED_UP,
    "tool cancels": PONDERED,
    "slow async tool": PONDERED,
    "swallows": [{"raise": "auth"}],
    "slow answer": LATE,
    "slow answer, broken state": LATE,
    "overflow": [{"raise": "context_overflow"}],
    "out of steps": LOOKED_UP[:1],
    "truncated": [{**OK[0], "stop": "max_tokens"}],
    "blocked": [{**OK[0], "stop": "guardrail_intervened"}],
}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], InMemoryStore]:
    """One run with every fault, one a case."""
    cases = [
        a_case(fault, context={"fault": "state raises" if fault.endswith("broken state") else fault})
        for fault in ENDINGS
    ]
    folder = tmp_path_factory.mktemp("faulty") / "s"
    suite = write_suite(folder, cases, replies=REPLIES, agent="fault_agents:build", timeout_s=0.6)
    store = InMemoryStore()
    return play(suite, store, concurrency=4), store


@pytest.mark.parametrize("fault", ENDINGS)
def test_every_fault_ends_its_trial_in_one_typed_way(faulty: Any, fault: str) -> None:
    """The agent's own fault fails it; the infrastructure's does not."""
    _, store = faulty
    ending, status, error = ENDINGS[fault]

    trial = only([row for row in rows(store, "trials") if row["case_id"] == fault])
    score = only([row for row in rows(store, "scores") if row["case_id"] == fault])
    assert (trial["ending"], score["status"]) == (ending, status)
    assert score["blame"] == {"pass": None, "fail": "agent", "error": "infra"}[status]
    assert (error or "") in (trial["error"] or "")
    assert (trial["error"] is None) == (ending == "completed")


def test_cells_and_trials_add_up(faulty: Any) -> None:
    """Every planned one has exactly one status."""
    summary, _ = faulty

    for counts in (dict(summary["cells"]), dict(summary["trials"])):
        assert counts.pop("planned") == sum(counts.values()) == len(ENDINGS)


def test_a_late_answer_is_dropped_and_its_tokens_are_spent(faulty: Any) -> None:
    """One row set, no second verdict; the ledger has what came after the deadline."""
    _, store = faulty

    trial = only([row for row in rows(store, "trials") if row["case_id"] == "slow answer"])
    call = only([row for row in rows(store, "calls") if row["case_id"] == "slow answer"])
    assert trial["output"] == ""
    assert (call["late"], call["outcome"], call["tokens_in"], call["tokens_out"]) == (True, "ok", 7, 3)


def test_late_tokens_are_in_the_totals(faulty: Any) -> None:
    """Two late answers of seven and three tokens; nothing else claims any."""
    summary, _ = faulty

    assert summary["tokens"]["agent"] == {"input": 14, "output": 6, "cache_read": 0, "cache_write": 0}
    assert summary["calls"]["late"] == 2


def test_a_tool_that_breaks_tells_the_model(faulty: Any) -> None:
    """The trial goes on; what the tool said stands in the row."""
    _, store = faulty

    trial = only([row for row in rows(store, "trials") if row["case_id"] == "tool raises"])
    assert '"status":"error"' in trial["tool_calls"]
    assert "the knowledge base is away" in trial["tool_calls"]


@pytest.mark.parametrize(
    ("agent", "cases", "says"),
    [
        ("shared", 2, "returned the same agent object again (case 'c1')"),
        ("another_model", 1, "built an agent around ScriptedModel instead of the model it was given"),
        ("broken", 1, "failed to build for case 'c0': RuntimeError: no database here"),
        ("exits", 1, "failed to build for case 'c0': SystemExit: 0"),
        ("no_agent", 1, "returned str for case 'c0'"),
        ("missing", 1, "has no 'missing'"),
        ("cached_in_trials", 1, "returned the same agent object again"),
    ],
)
def test_a_factory_that_cannot_be_used_is_wrong_input(
    tmp_path: Path, agent: str, cases: int, says: str
) -> None:
    """Exit 2 with the reason; what planning can see stops the run before a plan is stored."""
    suite = write_suite(
        tmp_path / "s", [a_case(f"c{i}", trials=2) for i in range(cases)], agent=f"fault_agents:{agent}"
    )

    with pytest.raises(InputError) as refused:
        play(suite, str(tmp_path / "store"))

    assert refused.value.exit_code == 2
    assert says in str(refused.value)
    assert agent == "cached_in_trials" or not (tmp_path / "store").exists()


def test_a_factory_that_ends_the_process_ends_it_with_2(tmp_path: Path) -> None:
    """Its own ``sys.exit(0)`` would have told the shell that the gate passed."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="fault_agents:exits")

    ran = nightgate("run", suite, "--store", tmp_path / "store")

    assert (ran.code, ran.out) == (2, "")
    assert "failed to build for case 'one': SystemExit: 0" in ran.err


def test_an_exit_inside_of_the_sdk_is_no_green_end(tmp_path: Path) -> None:
    """An async tool runs in a task of the SDK's, where nobody can hold it; 0 would say that all is well."""
    suite = write_suite(
        tmp_path / "s",
        [a_case("one", context={"fault": "async tool exits"})],
        replies={"*": PONDERED},
        agent="fault_agents:build",
    )

    ran = nightgate("run", suite, "--store", tmp_path / "store", "--run-id", "left")

    assert (ran.code, ran.out) == (3, "")
    assert "stopped by SystemExit: nothing is decided" in ran.err
    assert gate(str(tmp_path / "store"), "left").exit_code == 3


def test_a_module_that_exits_is_wrong_input(tmp_path: Path) -> None:
    """``sys.exit(0)`` at import, as scripts without a main guard do, must not read as a passed gate."""
    suite = write_suite(tmp_path / "s", [a_case("one")], agent="exiting:build")
    (suite / "exiting.py").write_text("import sys\nsys.exit(0)\n")

    ran = nightgate("run", suite, "--store", tmp_path / "store")

    assert (ran.code, ran.out) == (2, "")
    assert "cannot be imported: SystemExit: 0" in ran.err


HANGING = '''
"""A tool that never comes back."""
import threading

from strands import Agent, tool


def build(model, case):
    @tool
    def lookup(topic: str) -> str:
        """Look up a topic.

        Args:
            topic: What to look up.
        """
        threading.Event().wait()
        return topic

    return Agent(model=model, tools=[lookup], callback_handler=None)
'''


def test_tools_that_hang_for_ever_hang_no_run(tmp_path: Path) -> None:
    """More of them than threads were meant for: all time out, the rest is played, the process ends."""
    cases = [a_case(f"c{i}") for i in range(40)] + [a_case("good")]
    suite = write_suite(
        tmp_path / "s", cases, replies={"*": LOOKED_UP, "good": OK}, agent="hanging:build", timeout_s=0.3
    )
    (suite / "hanging.py").write_text(HANGING)

    ran = nightgate("run", suite, "--store", tmp_path / "store", "--concurrency", "5", "--json", "-")

    assert ran.code == 1, ran.err
    assert (ran.json["trials"]["agent_timeout"], ran.json["trials"]["completed"]) == (40, 1)


def test_each_verdict_is_about_its_own_trial(tmp_path: Path) -> None:
    """Eight at once, fifty times: with a shared exporter 296 of 300 sessions were somebody else's."""
    words = [f"word-{i}-{'abcdefgh'[i] * 5}" for i in range(8)]
    replies = {word: [{"call": {"lookup": {"topic": word}}}, {"say": f"{word}. [KB-1]"}] for word in words}
    cases = [
        a_case(word, input=f"Look up {word}", context={"words": words}, expect={}, trials=50)
        for word in words
    ]
    evaluators = {
        name: {"use": f"fault_evaluators:{name}", "threshold": 1.0} for name in ("OwnWord", "OwnSpans")
    }
    suite = write_suite(tmp_path / "s", cases, replies=replies, evaluators=evaluators)

    summary = play(suite, concurrency=8)

    assert summary["failures"] == []
    assert {name: evaluator(summary, name)["passed"] for name in evaluators} == dict.fromkeys(evaluators, 400)


SIX = ["a/b", "../esc", "con:1", "x" * 300, "réfund 🧾", "مرحبا שלום", "%2F"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder store with a run of the ids that are no file names."""
    folder = tmp_path_factory.mktemp("named")
    suite = write_suite(folder / "s", [a_case(case_id) for case_id in SIX])
    return folder, play(suite, str(folder / "store"), run_id="named")


def test_ids_that_are_no_file_names_run_and_stand_verbatim_in_the_rows(named: Any) -> None:
    """The case's name is the people's; keys are ours."""
    from nightgate import open_store

    folder, summary = named

    assert (summary["exit_code"], summary["trials"]["completed"]) == (0, len(SIX))
    for table in ("scores", "trials", "calls", "summaries"):
        found = rows(open_store(str(folder / "store")), table)
        assert sorted(row["case_id"] for row in found) == sorted(SIX)


def test_ids_never_reach_a_path(named: Any) -> None:
    """Nothing outside of the store, and no key that a file system or S3 could read in another way."""
    folder, _ = named

    assert sorted(path.name for path in folder.iterdir()) == ["s", "store"]
    for path in (folder / "store").rglob("*"):
        key = path.relative_to(folder / "store").as_posix()
        assert not set(key) - set("abcdefghijklmnopqrstuvwxyz0123456789-_./")
        assert len(os.fsencode(path.name)) < 100


@pytest.mark.parametrize("case_id", SIX)
def test_each_id_can_be_named_on_the_command_line(named: Any, tmp_path: Path, case_id: str) -> None:
    """A filter takes the id itself, whatever a glob would make of it."""
    folder, _ = named

    summary = play(folder / "s", str(tmp_path), case=[case_id])

    assert [row["case"] for row in summary["cases"]] == [case_id]


@pytest.mark.parametrize(("first", "second"), [("refund", "refund"), ("réfund", "re\u0301fund")])
def test_two_cases_of_one_id_stop_the_run_before_any_call(tmp_path: Path, first: str, second: str) -> None:
    """Exit 2 naming the id and both places; also where only Unicode tells the two apart."""
    suite = write_suite(tmp_path / "s", [a_case("other")])
    for name, case_id in (("a", first), ("b", second)):
        (suite / f"{name}.yaml").write_text(
            f"cases:\n  - id: {case_id}\n    input: Hi\n    expect: {{cites: []}}\n"
        )

    ran = command("run", suite, "--store", tmp_path / "store")

    assert ran.code == 2
    assert second in ran.err
    assert f"{suite}/b.yaml:2" in ran.err
    assert f"{suite}/a.yaml:2" in ran.err
    assert not (tmp_path / "store").exists()
