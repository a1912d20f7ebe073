"""``bisect``: which setting of the good run moves the broken cases back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate.cli import main
from shell import DRILLS, SUPPORT, Ran, nightgate

YES = "[{say: 'yes'}]"
NO = "[{say: 'no'}]"
LOOKS = "[{call: {lookup: {topic: x}}}, {say: 'yes'}]"
PAID = "price: {input: 1000000, output: 1000000}\n"
ONE_DOLLAR = "[{say: 'no', usage: {input: 1, output: 0}}]"
ANSWER = "answer: {contains: ['yes']}"
ASKED = "judge: [{id: polite, criterion: Is it polite?}]"


class Bench:
    """A suite and a store; runs by id."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], *, expect: str = ANSWER) -> None:
        self.capsys = capsys
        self.folder, self.store = folder / "suite", str(folder / "store")
        (self.folder / "scripts").mkdir(parents=True)
        cases = (f"  - {{id: {case}, input: {case}, expect: {{{expect}}}}}" for case in "abc")
        (self.folder / "cases.yaml").write_text("\n".join(["cases:", *cases]))
        self.settings()
        self.model("good")
        self.judge("kind")

    def settings(self, *lines: str) -> None:
        """Write suite.yaml."""
        head = ("suite: demo", "agent: drill_agent:build", "model: scripted:good", "judge: scripted:kind")
        (self.folder / "suite.yaml").write_text("\n".join((*head, "trials: 3", *lines, "")))

    def model(self, name: str, *, paid: bool = False, **cases: str) -> str:
        """A script under which these cases say something else than yes."""
        told = "".join(f"  {case}: {steps}\n" for case, steps in cases.items())
        text = f"replies:\n  '*': {YES}\n{told}{PAID if paid else ''}"
        (self.folder / "scripts" / f"{name}.yaml").write_text(text)
        return f"scripted:{name}"

    def judge(self, name: str, **cases: str) -> str:
        """A script that answers yes to all but these cases; ``cases`` have their step as YAML."""
        told = "".join(f"    {case}: {step}\n" for case, step in cases.items())
        yes = "{fields: {verdict: 'yes', reason: fine}}"
        text = f"judgements:\n  Criterion:polite:\n    '*': {yes}\n{told}"
        (self.folder / "scripts" / f"{name}.yaml").write_text(text)
        return f"scripted:{name}"

    def run(self, run_id: str, *flags: str) -> None:
        """A run to its end, whatever its gate says."""
        done = self.here("run", str(self.folder), "--run-id", run_id, *flags)
        assert done.code in (0, 1), done.err

    def bisect(self, *flags: str, good: str = "a", bad: str = "b") -> Ran:
        """The search; its document on stdout."""
        return self.here("bisect", good, bad, "--json", "-", *flags)

    def here(self, *words: str) -> Ran:
        """One command in this process: a test needs many."""
        self.capsys.readouterr()
        code = main([*words, "--store", self.store])
        said = self.capsys.readouterr()
        return Ran(code, said.out, said.err)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, as any reader of Parquet sees them."""
        paths = sorted(Path(self.store).glob(f"{table}/**/*.parquet"))
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]

    def plans(self) -> dict[str, dict[str, Any]]:
        """Plans of all runs by id."""
        found = (json.loads(path.read_text()) for path in Path(self.store).glob("runs/*/plan.json"))
        return {plan["run_id"]: plan for plan in found}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of ours from outside; the drills' agents are importable."""
    for name in [name for name in os.environ if name.startswith("NIGHTGATE_")]:
        monkeypatch.delenv(name)
    monkeypatch.syspath_prepend(str(DRILLS))


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Cases judged by code."""
    return Bench(tmp_path, capsys)


@pytest.fixture
def judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Cases judged by a judge, and a stricter one that fails case a."""
    bench = Bench(tmp_path, capsys, expect=ASKED)
    bench.judge("strict", a="{fields: {verdict: 'no', reason: rude}}")
    return bench


def verdicts(document: Any) -> dict[str, str]:
    """By case."""
    return {entry["case"]: entry["verdict"] for entry in document["broken"]}


def probes(document: Any) -> dict[str, dict[str, Any]]:
    """By name."""
    return {probe["name"]: probe for probe in document["probes"]}


# --- what moved it ---


def test_the_upgraded_model_of_the_support_suite_is_found_by_its_broken_cases_alone(tmp_path: Path) -> None:
    """Two cases, two probes of six trials; the other five cases are not played."""
    store = str(tmp_path)
    for run_id, model in (("a", "baseline"), ("b", "upgraded")):
        nightgate(
            "run",
            SUPPORT,
            "--store",
            store,
            "--run-id",
            run_id,
            "--no-alerts",
            "--model",
            f"scripted:{model}",
        )

    done = nightgate("bisect", "a", "b", "--store", store, "--json", "-")

    assert done.code == 0, done.err
    assert done.json["answer"] == "model moved 3 of 3"
    assert {probe["trials"] for probe in done.json["probes"]} == {6}
    assert set(verdicts(done.json)) == {"refund-out-of-window", "no-resolve-unconfirmed"}
    assert "which swap moved it? model moved 3 of 3" in done.err


def test_probes_are_reruns_of_the_bad_run_and_change_no_row_of_it(bench: Bench) -> None:
    """Kind, parent and trigger say what they are; figures of nights leave them out by that."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))
    before = [row for row in bench.rows("scores") if row["run_id"] in "ab"]

    done = bench.bisect()

    plans = [bench.plans()[probe["run_id"]] for probe in done.json["probes"]]
    assert {(plan["run_kind"], plan["parent"], plan["trigger"]) for plan in plans} == {
        ("rerun", "b", "bisect")
    }
    assert [[case["case_id"] for case in plan["cases"]] for plan in plans] == [["a"], ["a"]]
    assert [row for row in bench.rows("scores") if row["run_id"] in "ab"] == before


def test_a_case_that_passes_again_in_the_control_is_flaky_and_no_factors_fault(bench: Bench) -> None:
    """Its first three trials fail, four of the next four pass; the model differs and is not blamed."""
    flaky = f"{{trials: [{NO}, {NO}, {NO}, {YES}, {YES}, {YES}, {YES}]}}"
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=flaky, b=NO))

    done = bench.bisect("--trials", "7")

    assert done.code == 0, done.err
    assert verdicts(done.json) == {"a": "flaky", "b": "explained"}
    assert probes(done.json)["model"]["cases"] == ["b"]
    assert done.json["answer"] == "model moved 1 of 2; 1 is not explained (flaky: control passed)"


def test_a_flaky_case_alone_is_answered_no(bench: Bench) -> None:
    """Nothing that was swapped moved it: nothing was swapped."""
    flaky = f"{{trials: [{NO}, {NO}, {NO}, {YES}, {YES}, {YES}, {YES}]}}"
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=flaky))

    done = bench.bisect("--trials", "7")

    assert done.code == 1
    assert list(probes(done.json)) == ["control"]


def test_a_limit_is_swapped_as_the_good_run_had_it(bench: Bench) -> None:
    """The suite's folder has the bad run's."""
    model = ("--model", bench.model("looks", a=LOOKS))
    bench.run("a", *model)
    bench.settings("limits: {turns: 1}")
    bench.run("b", *model)

    done = bench.bisect()

    assert done.code == 0, done.err
    assert [(swap["text"], swap["moved"]) for swap in done.json["swaps"]] == [("limits: none -> turns 1", 1)]


def test_two_changes_that_each_break_a_case_are_found_together(bench: Bench) -> None:
    """No single swap helps; both do."""
    good = bench.model("looks", a=LOOKS)
    bad = bench.model("bad", a="[{call: {lookup: {topic: x}}}, {say: 'no'}]")
    bench.run("a", "--model", good)
    bench.settings("limits: {turns: 1}")
    bench.run("b", "--model", bad)

    done = bench.bisect()

    assert done.code == 0, done.err
    assert verdicts(done.json) == {"a": "explained by all swaps together"}
    assert list(probes(done.json)) == ["control", "model", "limits", "all"]


# --- judges ---


def test_a_judge_that_got_stricter_is_found_over_the_bad_runs_stored_trials(judged: Bench) -> None:
    """The judge's probes call no agent, and first ask the strict judge about the same trials again."""
    judged.run("a", "--judge", "scripted:kind")
    judged.run("b", "--judge", "scripted:strict")

    done = judged.bisect()

    assert done.code == 0, done.err
    assert done.json["answer"] == "judge moved 1 of 1"
    assert "judge changed" in done.json["broken"][0]["judged_differently"]
    found = probes(done.json)
    assert list(found) == ["control", "judge-again", "judge"]
    swept = {found[name]["run_id"]: found[name]["kind"] for name in ("judge-again", "judge")}
    calls = [call for call in judged.rows("calls") if call["run_id"] in swept]
    assert set(swept.values()) == {"sweep"}
    assert [call["role"] for call in calls] == ["judge"] * 6
    assert {judged.plans()[run]["source"] for run in swept} == {"b"}


def test_a_bad_run_of_single_trials_has_the_controls_judged(judged: Bench) -> None:
    """One stored trial tells no factor from a flicker."""
    judged.run("a", "--judge", "scripted:kind", "--trials", "1")
    judged.run("b", "--judge", "scripted:strict", "--trials", "1")

    done = judged.bisect()

    assert done.code == 0, done.err
    found = probes(done.json)
    assert judged.plans()[found["judge"]["run_id"]]["source"] == found["control"]["run_id"]
    assert done.json["swaps"][0]["probe"] == [3, 3]


def test_a_panel_is_swapped_as_a_whole(judged: Bench) -> None:
    """Its members are no judges of their own here."""
    judged.judge("fine")
    panel = "{panel: [scripted:kind, scripted:fine, scripted:strict], rule: majority}"
    suite = judged.folder / "suite.yaml"
    single = suite.read_text()
    suite.write_text(single.replace("judge: scripted:kind", f"judge: {panel}"))
    judged.run("a")
    suite.write_text(single)
    judged.run("b", "--judge", "scripted:strict")

    done = judged.bisect()

    assert done.code == 0, done.err
    assert [(swap["before"], swap["probe"]) for swap in done.json["swaps"]] == [
        ("majority of scripted:kind, scripted:fine, scripted:strict", [3, 3])
    ]


def test_a_simulated_user_is_swapped_in_conversations(bench: Bench, tmp_path: Path) -> None:
    """One that leaves at once reaches no goal."""
    talks = tmp_path / "talks"
    shutil.copytree(DRILLS / "talks", talks)
    (talks / "scripts" / "rude.yaml").write_text("replies:\n  '*': [{say: '[LEAVE]'}]\n")
    for run_id, user in (("a", "user"), ("b", "rude")):
        bench.here("run", str(talks), "--run-id", run_id, "--user", f"scripted:{user}", "--case", "moves")

    done = bench.bisect()

    assert done.code == 0, done.err
    assert {swap["text"] for swap in done.json["swaps"]} == {"user: scripted:user -> scripted:rude"}
    assert "GoalCompletion" in {entry["evaluator"] for entry in done.json["broken"]}
    assert set(verdicts(done.json).values()) == {"explained"}


# --- money, and going on ---


def test_a_dry_run_says_what_it_would_play_and_plays_nothing(bench: Bench) -> None:
    """Plan and guess come first; here they are all."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))
    before = set(bench.plans())

    done = bench.bisect("--dry-run")

    assert done.code == 0, done.err
    assert [(probe["name"], probe["stored"]) for probe in done.json["probes"]] == [
        ("control", False), ("model", False)
    ]  # fmt: skip
    assert done.json["cost_usd"] == 0.0
    assert "at most, a guess: $0.0000" in done.err
    assert set(bench.plans()) == before


def test_a_budget_of_nothing_calls_nothing(bench: Bench) -> None:
    """Exit 4, and every case says that it was not played."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))
    before = set(bench.plans())

    done = bench.bisect("--budget-usd", "0")

    assert done.code == 4
    assert verdicts(done.json) == {"a": "not played"}
    assert set(bench.plans()) == before


def test_one_cap_is_over_all_probes_and_the_same_command_goes_on_from_there(bench: Bench) -> None:
    """The control's three trials cost three dollars; the fourth is not there for the model's probe."""
    good, bad = bench.model("paid", paid=True, a=ONE_DOLLAR.replace("no", "yes")), bench.model(
        "bad", paid=True, a=ONE_DOLLAR
    )  # fmt: skip
    bench.run("a", "--model", good)
    bench.run("b", "--model", bad)

    stopped = bench.bisect("--budget-usd", "3", "--concurrency", "1")
    whole = bench.bisect("--budget-usd", "10", "--concurrency", "1")

    assert (stopped.code, whole.code) == (4, 0), whole.err
    assert stopped.json["broken"][0]["control"] == [0, 3]
    assert stopped.json["cost_usd"] == 3.0
    assert whole.json["cost_usd"] == 6.0
    probed = [call["run_id"] for call in bench.rows("calls") if call["run_id"] not in ("a", "b")]
    assert sorted(probed) == sorted(probe["run_id"] for probe in whole.json["probes"] for _ in range(3))


def test_the_same_command_again_plays_nothing_and_says_the_same(bench: Bench) -> None:
    """Ids follow from the question."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))
    first = bench.bisect()
    calls = len(bench.rows("calls"))

    again = bench.bisect("--budget-usd", "0")

    assert again.code == 0
    assert again.json == first.json
    assert len(bench.rows("calls")) == calls
    assert "all of it was played before" in again.err


# --- what is no question ---


def test_nothing_broken_is_answered_no(bench: Bench) -> None:
    """And nothing is played."""
    bench.run("a")
    bench.run("b")

    done = bench.bisect()

    assert (done.code, done.json["broken"], done.json["probes"]) == (1, [], [])
    assert "nothing broke from a to b" in done.err


def test_what_no_setting_explains_is_told_with_what_differs(bench: Bench) -> None:
    """The script behind the same name is another one: nothing to swap, and where to look."""
    bench.model("same")
    bench.run("a", "--model", "scripted:same")
    bench.model("same", a=NO)
    bench.run("b", "--model", "scripted:same")

    done = bench.bisect()

    assert done.code == 1, done.err
    assert verdicts(done.json) == {"a": "not explained"}
    assert [found["part"] for found in done.json["fixed"]] == ["model"]
    assert "put the script back" in done.err


def test_a_setting_that_is_gone_is_left_out_and_said(bench: Bench) -> None:
    """The good run's model has no script any more."""
    bench.run("a", "--model", bench.model("old"))
    bench.run("b", "--model", bench.model("bad", a=NO))
    (bench.folder / "scripts" / "old.yaml").unlink()

    done = bench.bisect()

    assert done.code == 1, done.err
    assert [found["part"] for found in done.json["fixed"]] == ["model"]
    assert "cannot be swapped here" in done.json["fixed"][0]["advice"]


def test_a_suite_that_is_not_the_bad_runs_any_more_is_refused(bench: Bench) -> None:
    """The control would be of another configuration."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))
    bench.model("bad", a=NO, b=NO)

    done = bench.bisect()

    assert done.code == 2
    assert "the suite is not as it was for b: the agent changed (model)" in done.err


def test_runs_of_different_suites_are_refused(bench: Bench) -> None:
    """They share no case."""
    bench.run("a")
    bench.here("run", str(SUPPORT), "--run-id", "other", "--no-alerts")

    done = bench.bisect(bad="other")

    assert done.code == 2
    assert "only runs of one suite can be bisected" in done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a", "nobody"), "no run 'nobody'"),
        (("a", "a"), "name two runs"),
        (("a", "b", "--trials", "2"), "at least 3"),
    ],
)
def test_what_cannot_be_asked_is_exit_2(bench: Bench, words: tuple[str, ...], said: str) -> None:
    """With the reason."""
    bench.run("a")
    bench.run("b", "--model", bench.model("bad", a=NO))

    done = bench.here("bisect", *words)

    assert done.code == 2
    assert said in done.err
