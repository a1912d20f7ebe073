"""What a run would do and cost, told before it is started, and held against the run that follows."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate import run_suite
from nightgate.errors import ExitCode, InputError
from nightgate.requests import RunRequest
from nightgate.wiring.forecasts import forecast
from shell import DRILLS, nightgate

SCRIPT = """\
price: {input: 3, output: 15, cache_read: 0.3, cache_write: 3.75}
replies:
  "*":
    - call: {lookup: {topic: it}}
      usage: {input: 900, output: 40, cache_read: 0, cache_write: 300}
    - say: Gladly. Here it is. [KB-1]
      usage: {input: 400, output: 90, cache_read: 900, cache_write: 0}
  three:
    trials:
      - - {call: {lookup: {topic: it}}, usage: {input: 3000, output: 40}}
        - {say: "Gladly. [KB-1]", usage: {input: 3300, output: 260}}
      - - {call: {lookup: {topic: it}}, usage: {input: 2400, output: 40}}
        - {say: "Gladly. [KB-1]", usage: {input: 2700, output: 200}}
"""
JUDGE = """\
price: {input: 10, output: 30}
judgements:
  "Criterion:tone":
    "*": {fields: {verdict: "yes", reason: friendly}, usage: {input: 700, output: 60}}
    four: {fields: {verdict: "yes", reason: friendly}, usage: {input: 2600, output: 20}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Five cases that cost unlike each other, without delays, to be changed."""
    folder = Path(shutil.copytree(DRILLS / "slow", tmp_path / "slow"))
    (folder / "scripts" / "agent.yaml").write_text(SCRIPT)
    (folder / "scripts" / "judge.yaml").write_text(JUDGE)
    shutil.copy(DRILLS / "drill_agent.py", folder / "own_agent.py")
    edit(folder / "suite.yaml", "drill_agent:build", "own_agent:build")
    (folder / "index.json").write_text("{}")
    with (folder / "suite.yaml").open("a") as settings:
        settings.write("fingerprint: [index.json]\nlimits: {turns: 9}\n")
    return folder


@pytest.fixture(autouse=True)
def _fresh_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test's own agent is imported anew."""
    monkeypatch.delitem(sys.modules, "own_agent", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder that is not there yet."""
    return tmp_path / "store"


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text that is there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


async def planned(suite: Path, store: Path, against: str | None = None, **flags: Any) -> dict[str, Any]:
    """The document of ``nightgate plan``."""
    request = RunRequest.make(suite, {"store": str(store), **flags})
    return (await forecast(request, against)).as_dict()


async def ran(suite: Path, store: Path, **options: Any) -> dict[str, Any]:
    """The summary of a run."""
    return (await run_suite(suite, store=str(store), **options)).as_dict()


def rows(store: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """The rows of a run."""
    return [
        row
        for part in (store / table).rglob(f"{run_id}/*.parquet")
        for row in pq.read_table(part).to_pylist()
    ]


def files(store: Path) -> dict[Path, bytes]:
    """All that lies in a store."""
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


def reasons(document: dict[str, Any], of: str = "trials") -> dict[str, tuple[int, list[str]]]:
    """Kind -> count and cases."""
    return {r["kind"]: (r["count"], r["cases"]) for r in document["reasons"] if r["of"] == of}


async def test_with_nothing_stored_everything_runs_and_the_cost_is_a_guess(suite: Path, store: Path) -> None:
    """A first run has no history; nothing may come into being by asking."""
    document = await planned(suite, store)

    assert document["against"] is None
    assert document["trials"] == {"planned": 20, "reused": 0, "run": 20}
    assert document["cells"] == {"planned": 60, "reused": 0, "rejudged": 0, "judged": 60}
    assert [line["guessed"] for line in document["assumptions"]] == [20, 20]
    assert document["cost_usd"]["total"]["list"] > 0
    assert files(store) == {}


async def test_planning_after_a_run_writes_nothing_and_would_reuse_all(suite: Path, store: Path) -> None:
    """The same question again costs nothing."""
    await ran(suite, store, run_id="a")
    before = files(store)

    document = await planned(suite, store)

    assert document["against"] == "a"
    assert document["trials"] == {"planned": 20, "reused": 20, "run": 0}
    assert document["cells"] == {"planned": 60, "reused": 60, "rejudged": 0, "judged": 0}
    assert document["cost_usd"]["total"] == {"calls": 0.0, "list": 0.0, "at_least": 0.0, "batch": None}
    assert files(store) == before


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "count"),
    [
        ("cases.yaml", "What about returns?", "And what about returns?", "case_edited", 4),
        ("cases.yaml", "id: two", "id: another", "case_new", 4),
        ("own_agent.py", "cite it.", "always cite it.", "prompt_changed", 20),
        ("own_agent.py", "What to look up.", "The topic to look up.", "tools_changed", 20),
        ("suite.yaml", "turns: 9", "turns: 8", "limits_changed", 20),
        ("index.json", "{}", "[]", "source_changed", 20),
        ("scripts/agent.yaml", "Gladly. Here", "Sure. Here", "model_changed", 20),
        ("suite.yaml", "trials: 4", "trials: 6", "more_trials", 10),
    ],
)
async def test_the_reason_is_named_and_the_run_does_as_planned(
    suite: Path,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    old: str,
    new: str,
    kind: str,
    count: int,
) -> None:
    """One change, one reason; what follows takes over exactly what was said."""
    await ran(suite, store, run_id="a")
    edit(suite / file, old, new)
    monkeypatch.delitem(sys.modules, "own_agent")

    document = await planned(suite, store)
    await ran(suite, store, reuse="latest", run_id="b")

    assert {k: n for k, (n, _) in reasons(document).items()} == {kind: count}
    trials = rows(store, "trials", "b")
    assert document["trials"]["reused"] == sum(row["reused_from"] is not None for row in trials)
    assert document["trials"]["planned"] == len(trials)
    assert document["trials"]["run"] == count


async def test_a_changed_judge_judges_again_and_plays_nothing(suite: Path, store: Path) -> None:
    """Only judge calls are priced."""
    await ran(suite, store, run_id="a")
    edit(suite / "scripts" / "judge.yaml", "reason: friendly", "reason: very friendly")

    document = await planned(suite, store)

    assert document["trials"]["run"] == 0
    assert document["cells"] == {"planned": 60, "reused": 40, "rejudged": 20, "judged": 0}
    assert reasons(document, "cells") == {"judge_changed": (20, ["one", "two", "three", "four", "five"])}
    assert document["cost_usd"]["agent"]["calls"] == 0
    assert document["cost_usd"]["judge"]["calls"] == 20


async def test_a_new_evaluator_is_told(suite: Path, store: Path) -> None:
    """The trials are there, its findings are not."""
    await ran(suite, store, run_id="a")
    edit(suite / "suite.yaml", "evaluators:\n", "evaluators:\n  HelpfulnessEvaluator: {threshold: 0.5}\n")

    document = await planned(suite, store)

    assert reasons(document, "cells") == {"evaluator_new": (20, ["one", "two", "three", "four", "five"])}
    assert document["assumptions"][0]["guessed"] == 20


async def test_trials_that_the_infrastructure_ended_run_again(suite: Path, store: Path) -> None:
    """They say nothing of the agent."""
    edit(
        suite / "scripts" / "agent.yaml",
        "  three:\n    trials:\n",
        "  two: [{raise: error}]\n  three:\n    trials:\n",
    )
    await ran(suite, store, run_id="a")

    document = await planned(suite, store)

    assert reasons(document) == {"infrastructure": (4, ["two"])}
    assert document["trials"] == {"planned": 20, "reused": 16, "run": 4}


async def test_two_changes_are_both_named(suite: Path, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes back one of them has to know of the other."""
    await ran(suite, store, run_id="a")
    edit(suite / "cases.yaml", "What about returns?", "And what about returns?")
    edit(suite / "own_agent.py", "cite it.", "always cite it.")
    monkeypatch.delitem(sys.modules, "own_agent")

    document = await planned(suite, store)

    assert reasons(document)["case_edited"] == (4, ["two"])
    assert reasons(document)["prompt_changed"][0] == 20


async def test_the_estimate_from_history_is_within_a_tenth_of_the_bill(
    suite: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over a changed prompt, more trials, fewer cases, a new one, and one that costs thrice as much."""
    await ran(suite, store, run_id="a", trials=4)
    with (suite / "cases.yaml").open("a") as cases:
        cases.write("  - {id: six, input: What about it?, expect: *expect}\n")
    edit(suite / "own_agent.py", "cite it.", "always cite it.")
    monkeypatch.delitem(sys.modules, "own_agent")
    flags: dict[str, Any] = {"trials": 6, "case": ("two", "three", "four", "five", "six")}

    document = await planned(suite, store, **flags)
    bill = (await ran(suite, store, reuse="latest", run_id="b", **flags))["cost_usd"]

    for role in ("agent", "judge"):
        assert document["cost_usd"][role]["list"] == pytest.approx(bill[role], rel=0.1)
    assert document["cost_usd"]["total"]["list"] == pytest.approx(bill["total"], rel=0.1)
    assert [line["runs"][0]["run_id"] for line in document["assumptions"]] == ["a", "a"]


async def test_history_is_found_behind_a_run_that_took_everything_over(suite: Path, store: Path) -> None:
    """A run that made no calls knows nothing of what they cost."""
    first = await ran(suite, store, run_id="a")
    await ran(suite, store, run_id="b", reuse="a")
    edit(suite / "index.json", "{}", "[]")

    document = await planned(suite, store)

    assert document["against"] == "b"
    assert document["cost_usd"]["total"]["list"] == pytest.approx(first["cost_usd"]["total"])
    assert document["assumptions"][0]["runs"] == [{"run_id": "a", "model": "scripted:agent"}]


async def test_a_conversations_user_is_priced_and_told(store: Path, tmp_path: Path) -> None:
    """It is a model as well, and part of what defines the trial."""
    folder = Path(shutil.copytree(DRILLS / "talks", tmp_path / "talks"))
    script = folder / "scripts" / "user.yaml"
    edit(script, "- say: It is bk 2041.", "- {say: It is bk 2041., usage: {input: 80, output: 8}}")
    script.write_text(f"price: {{input: 5, output: 5}}\n{script.read_text()}")
    first = await ran(folder, store, run_id="a")
    edit(script, "Good, thanks.", "Fine, thanks.")

    document = await planned(folder, store)

    assert reasons(document) == {"user_changed": (3, ["moves", "leaves", "takes-its-word"])}
    assert first["cost_usd"]["user"] > 0
    assert document["cost_usd"]["user"]["list"] == pytest.approx(first["cost_usd"]["user"], rel=0.1)


async def test_an_unknown_price_stays_unknown_with_a_lower_bound(suite: Path, store: Path) -> None:
    """Null is not 0; and the run's refusal is foretold, not repeated."""
    with (suite / "suite.yaml").open("a") as settings:
        settings.write("budget_usd: 1\n")

    document = await planned(suite, store, model="openai:nobody-knows")

    cost = document["cost_usd"]
    assert (cost["agent"]["list"], cost["agent"]["batch"], cost["total"]["list"]) == (None, None, None)
    assert cost["total"]["at_least"] == cost["judge"]["list"] > 0
    assert any("would refuse the agent model" in warning for warning in document["warnings"])


async def test_real_models_have_a_batch_price_beside_the_list_price(suite: Path, store: Path) -> None:
    """Half of it, where the provider has a queue; a script has none."""
    cost = (await planned(suite, store, judge="openai:gpt-6.1-terra"))["cost_usd"]

    assert cost["judge"]["batch"] == pytest.approx(cost["judge"]["list"] / 2)
    assert cost["agent"]["batch"] is None
    assert cost["total"]["batch"] == pytest.approx(cost["agent"]["list"] + cost["judge"]["batch"])


async def test_a_scripts_tokens_say_nothing_of_a_real_model(suite: Path, store: Path) -> None:
    """They are made up for drills: the length of texts is the better guess."""
    await ran(suite, store, run_id="a")

    document = await planned(suite, store, model="openai:gpt-6-luna")

    agent, judge = document["assumptions"]
    assert (agent["guessed"], agent["runs"]) == (20, [])
    assert judge["guessed"] == 0


async def test_runs_that_cannot_be_taken_from_are_refused(suite: Path, store: Path) -> None:
    """As ``--reuse`` would refuse them."""
    with pytest.raises(InputError, match="no run 'never'"):
        await planned(suite, store, "never")
    await ran(suite, store, run_id="a", budget_usd=0)
    with pytest.raises(InputError, match="--against a: it is open"):
        await planned(suite, store)


def test_the_command_prints_counts_reasons_and_dollars(suite: Path, store: Path) -> None:
    """And answers 0 whatever there is to do."""
    assert nightgate("run", suite, "--trials", "2", "--store", store).code == ExitCode.OK

    told = nightgate("plan", suite, "--trials", "3", "--store", store)
    data = nightgate("plan", suite, "--trials", "3", "--store", store, "--json", "-")

    assert told.code == data.code == ExitCode.OK
    assert "trials  10 reused, 5 to run" in told.out
    assert "5  more trials asked for: one, two, three, four, five" in told.out
    assert data.json["schema"] == 1
    assert data.json["trials"] == {"planned": 15, "reused": 10, "run": 5}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--case", "six"], "six"),
        (["--model", "nothing:x"], "nothing"),
        (["--against", "baseline"], "baseline"),
    ],
)
def test_wrong_input_is_2(suite: Path, store: Path, flags: list[str], says: str) -> None:
    """Before anything is asked of anybody."""
    done = nightgate("plan", suite, "--store", store, *flags)

    assert done.code == ExitCode.INPUT
    assert says in done.err
