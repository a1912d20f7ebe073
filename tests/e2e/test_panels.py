"""Panels of judges in whole runs and sweeps: every member's rows, one verdict, one bill."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from batch_standin import openai_batches
from nightgate import gate, open_store, run_suite
from nightgate.errors import InputError
from nightgate.reports import junit, markdown, terminal
from nightgate.requests import RunRequest
from nightgate.runner import _ShardRun
from nightgate.scores import Status
from nightgate.steps.collecting import collect
from nightgate.wiring.forecasts import forecast
from shell import Ran, nightgate

PANEL = "{panel: [scripted:a, scripted:b, scripted:c], rule: majority}"
MEMBERS = tuple(f"Criterion:x @ scripted:{name}" for name in "abc")
CASES, TRIALS = 4, 2
COST_USD = 0.01
"""Of one judgement by a script."""


def judgements(no: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """A judge that fails these cases and passes the others, for a cent each."""
    used = {"usage": {"input": 1000}}
    said = {case: {"fields": {"verdict": "no", "reason": "too long"}, **used} for case in no}
    said["*"] = {"fields": {"verdict": "yes", "reason": "fine"}, **used}
    return {"price": {"input": 10}, "judgements": {"Criterion:x": said | more}}


def write_suite(folder: Path, *, judge: str = PANEL, threshold: str = "0.85", **judges: Any) -> Path:
    """Four cases, two trials each, with one criterion; judge c fails c0 unless told otherwise."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "suite: paneled\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:m\n"
        f"judge: {judge}\ntrials: {TRIALS}\nevaluators: {{'Criterion:x': {{threshold: {threshold}}}}}\n"
    )
    asked = {"answer": {"contains": ["yes"]}, "judge": [{"id": "x", "criterion": "Is it short?"}]}
    listed = [
        {"id": f"c{n}", "input": "q", "context": {"customer_id": "C-17"}, "expect": asked}
        for n in range(CASES)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    scripts = {"a": judgements(), "b": judgements(), "c": judgements(("c0",)), **judges}
    scripts["m"] = {"replies": {"*": [{"say": "yes"}]}}
    for name, script in scripts.items():
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps(script))
    return folder


def rows(store: Path, table: str, run_id: str = "r") -> list[dict[str, Any]]:
    """Stored rows of a run."""
    parts = sorted((store / table).rglob(f"{run_id}/*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


def judged(store: Path, run_id: str = "r") -> list[dict[str, Any]]:
    """The scores of judges, without what differs between two runs."""
    aside = {"run_id", "scored_at", "latency_ms", "attempt", "cost_nanousd", "started_at"}
    return [
        {name: value for name, value in row.items() if name not in aside}
        for row in rows(store, "scores", run_id)
        if row["judge_fingerprint"] is not None
    ]


async def run(suite: Path, tmp_path: Path, **options: Any) -> dict[str, Any]:
    """A run in this process."""
    values = {"run_id": "r"} | options
    return (await run_suite(suite, store=tmp_path / "store", **values)).as_dict()


# --- a run


async def test_every_member_has_its_row_and_its_bill_and_the_panel_costs_nothing(tmp_path: Path) -> None:
    """Three judges are three bills; their one verdict is free."""
    summary = await run(write_suite(tmp_path / "s"), tmp_path)

    found = judged(tmp_path / "store")
    by_column = {
        name: [row for row in found if row["evaluator"] == name] for name in (*MEMBERS, "Criterion:x")
    }
    assert {name: len(column) for name, column in by_column.items()} == dict.fromkeys(
        by_column, CASES * TRIALS
    )
    assert {row["panel"] for name in MEMBERS for row in by_column[name]} == {"Criterion:x"}
    assert {row["panel"] for row in by_column["Criterion:x"]} == {None}
    assert {row["status"] for row in by_column["Criterion:x"]} == {"pass"}
    assert sum(row["status"] == "fail" for row in by_column[MEMBERS[2]]) == TRIALS
    assert len({row["judge_fingerprint"] for row in found}) == 4
    costs = {r["evaluator"]: r["cost_nanousd"] for r in rows(tmp_path / "store", "scores")}
    assert (costs["Criterion:x"], costs[MEMBERS[0]]) == (0, int(COST_USD * 1e9))
    calls = [row for row in rows(tmp_path / "store", "calls") if row["role"] == "judge"]
    assert len(calls) == 3 * CASES * TRIALS
    assert {row["evaluator"] for row in calls} == {"Criterion:x"}
    assert summary["cost_usd"]["judge"] == pytest.approx(len(calls) * COST_USD)


async def test_the_gate_sees_the_panel_and_never_its_members(tmp_path: Path) -> None:
    """A member's fail is no fail of the run, neither tonight nor when it is decided again from rows."""
    summary = await run(write_suite(tmp_path / "s", threshold="1.0"), tmp_path)

    again = gate(tmp_path / "store", "r")
    assert (summary["verdict"], summary["exit_code"], again.verdict.value) == ("pass", 0, "pass")
    assert [entry["name"] for entry in summary["evaluators"]] == ["Criterion:x", "AnswerPolicy"]
    assert [entry.as_dict() for entry in again.evaluators] == [
        {name: value for name, value in entry.items() if name != "holes"} for entry in summary["evaluators"]
    ]
    assert {row["evaluator"] for row in summary["cases"]} == {"AnswerPolicy", "Criterion:x"}
    assert (summary["failures"], summary["flaky"]) == ([], [])
    assert summary["layers"] == {"behavior": {"passed": 16, "failed": 0}}


async def test_the_summary_says_how_far_the_members_agree(tmp_path: Path) -> None:
    """What a verdict rests on: the same figure from three that agree and two against one is not the same."""
    summary = await run(write_suite(tmp_path / "s"), tmp_path)

    (panel,) = summary["panels"]
    assert (panel["evaluator"], panel["rule"]) == ("Criterion:x", "majority")
    assert [(m["judge"], m["passed"], m["failed"]) for m in panel["members"]] == [
        ("scripted:a", 8, 0),
        ("scripted:b", 8, 0),
        ("scripted:c", 6, 2),
    ]
    assert (panel["judged"], panel["unanimous"], panel["agreement"]) == (8, 6, 0.75)
    assert panel["votes"] == {"2/3": 2, "3/3": 6}
    verdicts = {"scripted:a": "pass", "scripted:b": "pass", "scripted:c": "fail"}
    assert panel["split"] == [{"case": "c0", "trial": n, "verdicts": verdicts} for n in range(TRIALS)]
    assert "agreed on 6 of 8" in terminal.render(summary)
    assert "split on c0 trial 0, c0 trial 1" in markdown.markdown([summary], suites=["s"])


async def test_members_are_no_tests_of_their_own_in_ci(tmp_path: Path) -> None:
    """A red test for an overruled judge would turn a passing gate red."""
    summary = await run(write_suite(tmp_path / "s"), tmp_path)

    text = junit.junit([summary])
    assert "Criterion:x" in text
    assert "scripted:c" not in text.replace("majority of scripted:a, scripted:b, scripted:c", "")
    assert 'failures="0"' in text


async def test_a_panel_of_which_all_must_pass_fails_with_one(tmp_path: Path) -> None:
    """The same judgements under the other rule."""
    suite = write_suite(tmp_path / "s", judge=PANEL.replace("majority", "all"))

    summary = await run(suite, tmp_path)

    entry = summary["evaluators"][0]
    assert (entry["passed"], entry["failed"], entry["failed_cases"]) == (6, 2, ["c0"])
    assert "scripted:c: fail (too long)" in summary["failures"][0]["reason"]


async def test_a_broken_member_leaves_undecided_only_what_hangs_on_it(tmp_path: Path) -> None:
    """Two that agree decide without it; where they differ the cell is an error, and the gate says so."""
    broken = judgements(raw={"raw": "x"})
    broken["judgements"]["Criterion:x"] = {"*": {"raw": "not json"}}
    suite = write_suite(tmp_path / "s", a=broken)

    summary = await run(suite, tmp_path)

    entry = summary["evaluators"][0]
    assert (entry["passed"], entry["failed"], entry["error"]) == (6, 0, 2)
    assert entry["open_cases"] == ["c0"]
    assert summary["verdict"] == "inconclusive"
    (failure,) = [one for one in summary["failures"] if one["evaluator"] == "Criterion:x"]
    assert (failure["status"], failure["blame"]) == ("error", "judge")
    assert failure["reason"].startswith("undecided by majority of 3 judges: 1 error, 1 pass, 1 fail.")
    assert summary["panels"][0]["undecided"] == 2


async def test_one_judge_named_by_hand_stands_for_the_panel(tmp_path: Path) -> None:
    """``--judge`` overrides it."""
    summary = await run(write_suite(tmp_path / "s"), tmp_path, judge="scripted:c")

    assert (summary["judge"], summary["panels"]) == ("scripted:c", [])
    assert summary["cells"]["planned"] == 2 * CASES * TRIALS
    assert summary["evaluators"][0]["failed_cases"] == ["c0"]


async def test_a_live_panel_takes_the_place_of_the_suites_judge(tmp_path: Path) -> None:
    """As any other part of ``live:``."""
    suite = write_suite(tmp_path / "s", judge="scripted:c")
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text() + f"live: {{model: scripted:m, judge: {PANEL}}}\n")

    summary = await run(suite, tmp_path, live=True)

    assert summary["judge"] == "majority of scripted:a, scripted:b, scripted:c"
    assert summary["verdict"] == "pass"


# --- what must survive


async def test_a_run_that_died_before_its_panels_verdict_asks_nobody_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The members' findings are durable before they are counted; the verdict is made of them on resume."""
    suite = write_suite(tmp_path / "s")
    await run(suite, tmp_path, run_id="whole")
    with monkeypatch.context() as dying:

        def die(*_: Any) -> Any:
            raise OSError("as if the process died here")

        dying.setattr("nightgate.runner.derived", die)
        with pytest.raises(OSError, match="died here"):
            await run(suite, tmp_path)
    there = set(collect(open_store(str(tmp_path / "store")), "r").cells)
    again = await run(suite, tmp_path, run_id=None, resume="r")

    assert there
    assert "Criterion:x" not in {name for _, _, name in there}
    assert (again["run_id"], again["complete"], again["verdict"]) == ("r", True, "pass")
    assert judged(tmp_path / "store") == judged(tmp_path / "store", "whole")
    asked = Counter(
        (row["case_id"], row["trial"], f"Criterion:x @ {row['model']}")
        for row in rows(tmp_path / "store", "calls")
        if row["role"] == "judge"
    )
    assert {asked[key] for key in there if key[2] in MEMBERS} == {1}


async def test_a_budget_leaves_panels_open_until_all_members_have_been_asked(tmp_path: Path) -> None:
    """A verdict of two judges would be another panel's."""
    suite = write_suite(tmp_path / "s")
    stopped = await run(suite, tmp_path, budget_usd="0.1", judge_concurrency=1)
    again = await run(suite, tmp_path, run_id=None, resume="r", budget_usd="5")

    assert (stopped["exit_code"], stopped["complete"]) == (4, False)
    assert stopped["evaluators"][0]["judged"] < CASES * TRIALS
    assert (again["complete"], again["verdict"]) == (True, "pass")
    assert len([row for row in rows(tmp_path / "store", "calls") if row["role"] == "judge"]) == 24


async def test_a_resumed_run_keeps_its_panel_whatever_the_suite_says_now(tmp_path: Path) -> None:
    """As it keeps its model and its filters."""
    suite = write_suite(tmp_path / "s")
    await run(suite, tmp_path, budget_usd="0.1", judge_concurrency=1)
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text().replace(PANEL, "scripted:c"))

    again = await run(suite, tmp_path, run_id=None, resume="r", budget_usd="5")

    assert again["judge"] == "majority of scripted:a, scripted:b, scripted:c"
    assert (again["complete"], again["verdict"]) == (True, "pass")


async def test_a_run_of_one_judge_keeps_it_though_the_suite_has_a_panel_now(tmp_path: Path) -> None:
    """Its cells are others, and a plan is frozen."""
    suite = write_suite(tmp_path / "s", judge="scripted:c")
    await run(suite, tmp_path, budget_usd="0.05", judge_concurrency=1)
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text().replace("judge: scripted:c", f"judge: {PANEL}"))

    again = await run(suite, tmp_path, run_id=None, resume="r", budget_usd="5")

    assert (again["judge"], again["panels"]) == ("scripted:c", [])
    assert again["evaluators"][0]["failed_cases"] == ["c0"]


async def test_trials_taken_over_are_judged_again_only_by_the_member_that_changed(tmp_path: Path) -> None:
    """The panel is another one then, and its verdict is made anew of old and new findings."""
    suite = write_suite(tmp_path / "s")
    await run(suite, tmp_path)
    (suite / "scripts" / "b.yaml").write_text(json.dumps(judgements(("c0",))))

    summary = await run(suite, tmp_path, run_id="second", reuse="r")

    calls = rows(tmp_path / "store", "calls", "second")
    assert {row["model"] for row in calls} == {"scripted:b"}
    assert len(calls) == CASES * TRIALS
    assert summary["evaluators"][0]["failed_cases"] == ["c0"]
    assert summary["complete"]


async def test_curtailed_panels_leave_out_all_of_their_members(tmp_path: Path) -> None:
    """The verdict hangs on the panel alone: members neither settle it nor are they asked once it is."""
    no = judgements(tuple(f"c{n}" for n in range(CASES)))
    suite = write_suite(tmp_path / "s", b=no, c=no)
    flags = {"curtail": True, "concurrency": 1, "judge_concurrency": 1}

    summary = await run(suite, tmp_path, **flags)

    entry = summary["evaluators"][0]
    assert (summary["verdict"], entry["verdict"], summary["complete"]) == ("fail", "fail", True)
    assert entry["skipped"] > 0
    asked = [row for row in rows(tmp_path / "store", "calls") if row["role"] == "judge"]
    # The next trial's first judge may have been asked while the verdict was being made.
    assert 3 * entry["judged"] <= len(asked) <= 3 * entry["judged"] + 1
    left = [row for row in judged(tmp_path / "store") if row["status"] == "skipped"]
    assert {row["blame"] for row in left} == {"curtailed"}
    assert sum(row["evaluator"] == "Criterion:x" for row in left) == entry["skipped"]


def test_check_counts_the_members_cells_and_calls(tmp_path: Path) -> None:
    """Four columns for a criterion, three of which ask."""
    found = nightgate("check", write_suite(tmp_path / "s"), "--json", "-").json

    assert found["cells"] == CASES * TRIALS * 5
    assert found["calls"]["judge"] == CASES * TRIALS * 3
    assert found["judge"] == "majority of scripted:a, scripted:b, scripted:c"


async def test_plan_prices_each_member_from_its_own_history(tmp_path: Path) -> None:
    """The ledger knows members by model; a dearer one must not be averaged away."""
    dear = judgements(("c0",))
    dear["price"] = {"input": 30}
    suite = write_suite(tmp_path / "s", c=dear)
    await run(suite, tmp_path)
    request = RunRequest.make(suite, {"store": str(tmp_path / "store"), "trials": 2 * TRIALS})

    document = (await forecast(request)).as_dict()

    assert document["cells"]["planned"] == 2 * CASES * TRIALS * 5
    judge = document["cost_usd"]["judge"]
    assert judge["calls"] == CASES * TRIALS * 3
    assert judge["list"] == pytest.approx(CASES * TRIALS * (COST_USD + COST_USD + 3 * COST_USD))
    assert {line["evaluator"] for line in document["assumptions"] if line["role"] == "judge"} == set(MEMBERS)


async def test_the_finisher_makes_panels_agree_with_the_rows_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that lost may have made a panel of findings that were not accepted."""
    real = _ShardRun._write

    def spoiled(self: Any, trial: Any, cells: list[Any]) -> None:
        wrong = [
            replace(cell, score=replace(cell.score, status=Status.FAIL, score=0.0))
            if cell.score.evaluator == "Criterion:x"
            else cell
            for cell in cells
        ]
        real(self, trial, wrong)

    monkeypatch.setattr(_ShardRun, "_write", spoiled)

    summary = await run(write_suite(tmp_path / "s"), tmp_path)

    assert summary["verdict"] == "pass"
    assert {r["status"] for r in judged(tmp_path / "store") if r["evaluator"] == "Criterion:x"} == {"pass"}


# --- sweeps


def sweep(tmp_path: Path, *flags: str, env: dict[str, str] | None = None) -> Ran:
    """A sweep of run r."""
    store = ("--store", tmp_path / "store", "--suite", tmp_path / "s")
    return nightgate("sweep", "r", *store, "--evaluator", "Criterion:x", "--json", "-", *flags, env=env)


async def test_a_sweeps_judges_are_one_panel_when_asked(tmp_path: Path) -> None:
    """Each judge keeps its column, and the panel has one more; nothing that is known is paid again."""
    await run(write_suite(tmp_path / "s", judge="scripted:a"), tmp_path)
    flags = ("--judge", "scripted:a", "--judge", "scripted:b", "--judge", "scripted:c")

    first = sweep(tmp_path, *flags, "--panel", "majority").json
    second = sweep(tmp_path, *flags, "--panel", "all").json

    names = [entry["name"] for entry in first["evaluators"]]
    assert names == [*MEMBERS, "Criterion:x"]
    assert (first["evaluators"][3]["passed"], second["evaluators"][3]["failed"]) == (8, 2)
    assert (first["calls"]["total"], second["calls"]["total"]) == (16, 0)
    assert first["panels"][0]["votes"] == {"2/3": 2, "3/3": 6}
    assert len(first["agreement"]) == 3
    found = rows(tmp_path / "store", "scores", first["run_id"])
    assert {row["evaluator"] for row in found} == {"Criterion:x"}
    assert sum(row["panel"] is None for row in found) == CASES * TRIALS


async def test_a_suites_panel_judges_a_sweep_that_names_no_judge(tmp_path: Path) -> None:
    """And what its members said in the run itself holds."""
    await run(write_suite(tmp_path / "s"), tmp_path)

    found = sweep(tmp_path).json

    assert (found["calls"]["total"], found["cells"]["planned"]) == (0, 4 * CASES * TRIALS)
    assert found["panels"][0]["unanimous"] == 6


async def test_a_panel_of_one_is_refused(tmp_path: Path) -> None:
    """Nothing is spent on a panel that is none."""
    await run(write_suite(tmp_path / "s", judge="scripted:a"), tmp_path)

    done = sweep(tmp_path, "--panel", "all")

    assert done.code == 2
    assert "--panel all: a panel has at least 2 different judges, not scripted:a" in done.err


async def test_a_forecast_asks_nobody_for_the_panels_own_verdict(tmp_path: Path) -> None:
    """Three judges, one of them known: two calls an output."""
    await run(write_suite(tmp_path / "s", judge="scripted:a"), tmp_path)
    flags = ("--judge", "scripted:a", "--judge", "scripted:b", "--judge", "scripted:c", "--panel", "all")

    found = sweep(tmp_path, *flags, "--dry-run").json

    assert [(row["name"], row["to_judge"]) for row in found["evaluators"]] == [
        (MEMBERS[0], 0),
        (MEMBERS[1], 8),
        (MEMBERS[2], 8),
        ("Criterion:x", 0),
    ]
    assert found["to_judge"] == 16


@pytest.mark.server
async def test_panels_come_through_the_batch_queue(tmp_path: Path) -> None:
    """The members' answers come hours apart; the verdict waits for the last."""
    await run(write_suite(tmp_path / "s", judge="scripted:a"), tmp_path)
    quick = {
        "NIGHTGATE_BATCH_POLL_S": "0.05",
        "NIGHTGATE_BATCH_QUIET_S": "0.3",
        "NIGHTGATE_BATCH_MIN": "8",
    }

    with openai_batches() as provider:
        judges = [provider.spec(f"gpt-judge-{name}") for name in "xyz"]
        flags = [flag for judge in judges for flag in ("--judge", judge)]
        done = sweep(tmp_path, *flags, "--panel", "majority", "--batch", env=quick)
        live = provider.live

    assert (done.code, live) == (0, 0), done.err
    assert done.json["evaluators"][3]["judged"] == CASES * TRIALS
    assert done.json["panels"][0]["judged"] == CASES * TRIALS
    assert set(provider.records.values()) == {1}
    assert len(provider.records) == 3 * CASES * TRIALS


# --- refusals


async def test_members_that_are_one_judge_under_two_drives_are_refused(tmp_path: Path) -> None:
    """How hard a model is driven does not make it another judge."""
    suite = write_suite(tmp_path / "s", judge='{panel: ["openai:j", "openai:j?rpm=60"], rule: all}')

    with pytest.raises(InputError, match="sits on the panel twice"):
        await run(suite, tmp_path)
    assert not open_store(str(tmp_path / "store")).find("runs/")


# --- people's labels


async def test_labels_are_asked_once_for_a_panel_and_held_against_each_of_its_judges(
    tmp_path: Path,
) -> None:
    """People say whether the answer was short, not whether judge b thought so."""
    suite = write_suite(tmp_path / "s")
    await run(suite, tmp_path)
    store = ("--store", tmp_path / "store")
    sheet = nightgate("label", "r", "--sample", "100", "--out", "-", *store)
    lines = [line for line in sheet.out.splitlines() if line.startswith("r,")]
    (suite / "labels").mkdir()
    (suite / "labels" / "people.csv").write_text(
        "run_id,case_id,trial,evaluator,label\n"
        + "".join(f"r,c{n},{t},Criterion:x,pass\n" for n in range(CASES) for t in range(TRIALS))
    )

    found = nightgate("calibrate", suite, "--run", "r", "--json", "-", *store).json

    assert len(lines) == CASES * TRIALS
    assert {line.split(",")[3] for line in lines} == {"Criterion:x"}
    judges = {judge["judge_model"]: judge for judge in found["judges"]}
    assert {judge["evaluator"] for judge in found["judges"]} == {"Criterion:x"}
    assert set(judges) == {
        "majority of scripted:a, scripted:b, scripted:c",
        "scripted:a",
        "scripted:b",
        "scripted:c",
    }
    assert [model for model, judge in judges.items() if judge["pinned"]] == [
        "majority of scripted:a, scripted:b, scripted:c"
    ]
    assert judges["scripted:c"]["agreement"]["value"] == 0.75
    (among,) = found["among_judges"]
    assert (among["cells"], among["apart"]) == (CASES * TRIALS, TRIALS)
    assert "majority" not in str(among["judges"])


async def test_a_panel_that_nobody_calibrated_does_not_gate_where_only_calibrated_judges_do(
    tmp_path: Path,
) -> None:
    """It is the panel's fingerprint that has to meet the bar; its members are not told of."""
    suite = write_suite(tmp_path / "s")
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text() + "gate: {judges: calibrated}\n")

    summary = await run(suite, tmp_path)

    told = [f["text"] for f in summary["findings"] if "not calibrated" in f["text"]]
    assert len(told) == 1
    assert told[0].startswith("Criterion:x does not gate")
