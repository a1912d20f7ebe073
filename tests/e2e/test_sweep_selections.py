"""Sweeps over several runs: one id, one cap, one answer; killed anywhere and taken up as one."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shell import Ran, nightgate, start

RUNS = ("night-1", "night-2", "night-3")
POLITE, SHORT = "Criterion:polite", "Criterion:short"
CASES = 4


def write_suite(folder: Path, suite: str = "sweepy", **judges: Mapping[str, Any]) -> Path:
    """Four cases with two criteria; judges are scripts by name."""
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(
        f"suite: {suite}\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        "judge: scripted:own\n"
    )
    asked = [{"id": "polite", "criterion": "Is it polite?"}, {"id": "short", "criterion": "Is it short?"}]
    listed = [
        {"id": f"c{n}", "input": f"q{n}", "context": {"customer_id": "C-17"}, "expect": {"judge": asked}}
        for n in range(CASES)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    own = {"c0": {"fields": "worst"}, "*": {"fields": "best"}}
    scripts: dict[str, Any] = {
        "own": {"judgements": {POLITE: own, SHORT: {"*": {"fields": "best"}}}},
        "other": {"judgements": {name: {"*": {"fields": "best"}} for name in (POLITE, SHORT)}},
    }
    for name, script in {**scripts, **judges}.items():
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps(script))
    return folder


def play(suite: Path, store: Path, *runs: str, trials: int = 1) -> None:
    """Committed runs of a suite."""
    for run in runs:
        done = nightgate(
            "run",
            suite,
            "--store",
            store,
            "--run-id",
            run,
            "--judge",
            "scripted:own",
            "--trials",
            str(trials),
        )
        assert done.code in (0, 1), done.err


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three nights of one suite."""
    where = tmp_path / "store"
    play(write_suite(tmp_path / "sweepy"), where, *RUNS)
    return where


def sweep(store: Path, *words: str, judge: str = "scripted:other", names: tuple[str, ...] = (POLITE,)) -> Ran:
    """A sweep with one judge."""
    flags = [flag for name in names for flag in ("--evaluator", name)]
    return nightgate("sweep", *words, "--store", store, "--judge", judge, *flags, "--json", "-")


def rows(store: Path, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """Rows of a table with these values, as any reader of Parquet sees them."""
    found = [
        row
        for path in sorted(store.glob(f"{table}/**/*.parquet"))
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def test_all_runs_of_a_suite_are_swept_under_one_id(store: Path) -> None:
    """Each has a sweep of its own, and every row says to which whole it belongs."""
    done = sweep(store, "suite:sweepy", "--run-id", "all")

    assert (done.code, done.json["complete"], done.json["trials"]) == (0, True, 3 * CASES)
    assert [part["source"] for part in done.json["parts"]] == list(RUNS)
    swept = rows(store, "scores", sweep_id="all")
    assert Counter(row["source_run"] for row in swept) == dict.fromkeys(RUNS, CASES)
    assert {row["run_id"] for row in swept} == {"all-1", "all-2", "all-3"}


def test_a_case_of_many_nights_is_one_case_in_money_too(tmp_path: Path, store: Path) -> None:
    """Its share of the bill was divided by the number of nights."""
    write_suite(tmp_path / "sweepy", dear=priced(1))

    done = sweep(store, "suite:sweepy", "--run-id", "all", judge="scripted:dear")
    again = sweep(store, "suite:sweepy", "--run-id", "more", judge="scripted:dear")

    assert done.json["judged"] == {"cases": CASES, "trials": 3 * CASES, "verdicts": 3 * CASES}
    assert done.json["cost_per"] == {"case": 3.0, "trial": 1.0, "verdict": 1.0}
    assert f"{CASES} cases, {3 * CASES} trials" in done.err
    assert (again.json["known"], again.json["cost_per"]["case"]) == (3 * CASES, None)


def test_the_end_of_a_selection_names_commands_that_work(tmp_path: Path, store: Path) -> None:
    """``calibrate`` wants the suite's folder and the store, ``runs`` says which sweeps are one."""
    done = sweep(store, "suite:sweepy", "--run-id", "all")
    listed = nightgate("runs", "sweepy", "--store", store)

    assert f"next: nightgate calibrate {tmp_path / 'sweepy'} --store {store}" in done.err
    assert listed.out.count("(part of sweep all)") == 3


def test_figures_of_a_selection_are_those_of_its_parts(store: Path) -> None:
    """Counts add up; the interval is over cases, which are the same on every night."""
    whole = sweep(store, "suite:sweepy", "--run-id", "all", judge="scripted:own").json["evaluators"]
    one = sweep(store, "night-1", judge="scripted:own").json["evaluators"]

    assert (whole[0]["passed"], whole[0]["planned"]) == (3 * one[0]["passed"], 3 * one[0]["planned"])
    assert whole[0]["pass_rate"] == one[0]["pass_rate"]
    assert whole[0]["interval"] == pytest.approx(one[0]["interval"], abs=0.02)


def test_a_second_sweep_of_a_selection_pays_for_new_runs_alone(tmp_path: Path, store: Path) -> None:
    """The judges' cache is each run's own, whatever the sweep was called."""
    sweep(store, "night-1", "night-2", "--run-id", "two")
    done = sweep(store, "suite:sweepy", "--run-id", "three")

    assert done.json["calls"]["total"] == CASES
    assert {call["run_id"] for call in rows(store, "calls", role="judge", run_id="three-3")} == {"three-3"}


def test_only_trials_with_a_stored_failure_are_judged_again(store: Path) -> None:
    """``--status`` is about the swept evaluator, unless ``--of`` names another."""
    failed = sweep(store, "suite:sweepy", "--status", "fail", "--run-id", "failed")
    other = sweep(store, "suite:sweepy", "--status", "pass", "--of", SHORT, "--run-id", "passed")

    assert failed.json["trials"] == 3
    assert {row["case_id"] for row in rows(store, "scores", sweep_id="failed")} == {"c0"}
    assert other.json["trials"] == 3 * CASES
    assert failed.json["left_out"] == {f"without a stored fail of {POLITE}": 9}


def test_a_sweep_of_one_run_takes_the_filter_too(store: Path) -> None:
    """And stays a sweep like any other: its id is its run's."""
    done = sweep(store, "night-1", "--status", "fail", "--run-id", "one")

    assert (done.json["trials"], done.json["source"]) == (1, "night-1")
    assert {row["run_id"] for row in rows(store, "scores", sweep_id="one")} == {"one"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("suite:sweepy", "--status", "error"), "stored are Criterion:polite: 1 fail, 3 pass"),
        (("suite:sweepy", "--since", "2031-01-01"), "no committed run with trials in these days"),
        (("suite:sweep",), "did you mean 'sweepy'?"),
        (("night-1", "night-9"), "no run 'night-9'"),
        (("night-1", "--since", "2026-01-01"), "choose among the runs of suite:SUITE"),
        (("suite:sweepy", "--since", "yesterday"), "write a day as"),
        (("suite:sweepy", "--since", "2026-02-01", "--until", "2026-01-01"), "is after --until"),
        (("night-1", "night-2", "--case", "c9"), "the nearest is"),
        (("suite:sweepy", "--run-id", "night-1"), "is taken"),
        ((), "name the runs to sweep"),
    ],
)
def test_what_chooses_nothing_is_refused_with_what_there_is(
    store: Path, words: tuple[str, ...], message: str
) -> None:
    """Exit 2 before a call is made, and nothing is stored."""
    before = sorted(store.rglob("*"))

    done = sweep(store, *words)

    assert done.code == 2
    assert message in done.err
    assert sorted(store.rglob("*")) == before


def test_a_dry_run_adds_up_all_runs_and_stores_nothing(store: Path) -> None:
    """What is known, what would be judged, run by run."""
    sweep(store, "night-1", "--run-id", "one")
    before = sorted(store.rglob("*"))

    done = sweep(store, "suite:sweepy", "--dry-run")

    assert (done.json["cells"], done.json["known"], done.json["to_judge"]) == (3 * CASES, CASES, 2 * CASES)
    assert [run["to_judge"] for run in done.json["sources"]] == [0, CASES, CASES]
    assert sorted(store.rglob("*")) == before


def test_runs_of_several_suites_are_judged_by_their_own(tmp_path: Path, store: Path) -> None:
    """Each suite's folder, rubrics and scripts; their figures are kept apart."""
    strict = {"judgements": {name: {"*": {"fields": "worst"}} for name in (POLITE, SHORT)}}
    play(write_suite(tmp_path / "second", "second", other=strict), store, "elsewhere")

    done = sweep(store, "suite:sweepy", "suite:second")

    rates = {row["suite"]: row["pass_rate"] for row in done.json["evaluators"]}
    assert rates == {"sweepy": 1.0, "second": 0.0}


def test_a_suite_without_the_evaluator_is_left_out_and_said(tmp_path: Path, store: Path) -> None:
    """The others are swept all the same."""
    folder = write_suite(tmp_path / "second", "second")
    text = (folder / "cases.yaml").read_text().replace('"polite"', '"kind"')
    (folder / "cases.yaml").write_text(text)
    (folder / "scripts" / "own.yaml").write_text(
        json.dumps(
            {"judgements": {"Criterion:kind": {"*": {"fields": "best"}}, SHORT: {"*": {"fields": "best"}}}}
        )
    )
    play(folder, store, "elsewhere")

    done = sweep(store, "suite:sweepy", "elsewhere")

    assert done.code == 0
    assert [run["run_id"] for run in done.json["runs_left_out"]] == ["elsewhere"]
    assert len(done.json["parts"]) == 3


def priced(usd_a_call: int) -> dict[str, Any]:
    """A judge whose every call costs so much."""
    verdict = {"fields": "best", "usage": {"input": 1000}}
    return {
        "price": {"input": usd_a_call * 1000, "output": 0},
        "judgements": {name: {"*": verdict} for name in (POLITE, SHORT)},
    }


def test_one_cap_holds_over_all_runs_and_a_resume_counts_what_was_spent(tmp_path: Path, store: Path) -> None:
    """Exit 4 within the cap; the same cap again buys nothing, a higher one ends it."""
    write_suite(tmp_path / "sweepy", dear=priced(1))
    resume = ("sweep", "--resume", "capped", "--store", store, "--json", "-")

    stopped = sweep(store, "suite:sweepy", "--run-id", "capped", "--budget-usd", "7", judge="scripted:dear")
    again = nightgate(*resume)
    ended = nightgate(*resume, "--budget-usd", "100")
    assert f"next: nightgate sweep --resume capped --budget-usd 14 --store {store}" in stopped.err

    assert (stopped.code, stopped.json["complete"], stopped.json["cost_usd"]["judge"]) == (4, False, 7.0)
    assert (again.code, again.json["cost_usd"]["judge"]) == (4, 7.0)
    assert (ended.code, ended.json["complete"], ended.json["cost_usd"]["judge"]) == (0, True, 12.0)
    ledger = [
        call for run in ("capped-1", "capped-2", "capped-3") for call in rows(store, "calls", run_id=run)
    ]
    assert len(ledger) == 3 * CASES


def test_a_part_is_not_taken_up_alone(tmp_path: Path, store: Path) -> None:
    """It shares a cap with the others."""
    write_suite(tmp_path / "sweepy", dear=priced(1))
    sweep(store, "suite:sweepy", "--run-id", "capped", "--budget-usd", "2", judge="scripted:dear")

    done = nightgate("sweep", "--resume", "capped-3", "--store", store)

    assert done.code == 2
    assert "nightgate sweep --resume capped" in done.err


def test_the_whole_has_no_plan_of_its_own_and_says_so(store: Path) -> None:
    """Commands that want one run are told to name a part."""
    sweep(store, "suite:sweepy", "--run-id", "all")

    assert "is a sweep over several runs" in nightgate("sweep", "all", "--store", store).err
    taken = nightgate(
        "run", store.parent / "sweepy", "--store", store, "--run-id", "all", "--judge", "scripted:own"
    )
    assert (taken.code, "is taken" in taken.err) == (2, True)


@pytest.mark.parametrize("calls", [0, 1, 5, 11])
def test_a_selection_killed_anywhere_goes_on_where_it_was(tmp_path: Path, store: Path, calls: int) -> None:
    """Kill -9: after the resume each cell is there once, and each call once but one in flight."""
    verdict = {"fields": "best", "delay_s": 0.1}
    slow = {"judgements": {name: {"*": verdict} for name in (POLITE, SHORT)}}
    write_suite(tmp_path / "sweepy", slow=slow)
    process = start(
        "sweep", "suite:sweepy", "--store", store, "--evaluator", POLITE, "--judge", "scripted:slow",
        "--run-id", "all", "--judge-concurrency", "1",
    )  # fmt: skip
    try:
        _await(lambda: (store / "runs" / "all" / "selection.json").is_file() and _judged(store) >= calls)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()

    resumed = nightgate("sweep", "--resume", "all", "--store", store, "--json", "-")

    assert (resumed.code, resumed.json["cells"]["pass"]) == (0, 3 * CASES)
    cells = Counter((row["source_run"], row["case_id"]) for row in rows(store, "scores", sweep_id="all"))
    assert cells == {(run, f"c{n}"): 1 for run in RUNS for n in range(CASES)}
    ledger = [call for n in (1, 2, 3) for call in rows(store, "calls", run_id=f"all-{n}")]
    assert 3 * CASES <= len(ledger) <= 3 * CASES + 1


def _judged(store: Path) -> int:
    """Findings so far: in journals, or committed."""
    lines = sum(
        path.read_bytes().count(b'"kind":"cell"') for path in (store / "spool").rglob("all-*/*.jsonl")
    )
    return lines + len(rows(store, "scores", sweep_id="all"))


def _await(happened: Any) -> None:
    ended = time.monotonic() + 60
    while time.monotonic() < ended:
        try:
            if happened():
                return
        except OSError:  # a journal that has just been put away
            continue
        os.sched_yield()
    raise AssertionError("it never happened")


def test_findings_known_before_are_not_paid_for_after_a_kill(tmp_path: Path, store: Path) -> None:
    """Whoever planned the parts may have died before what was known was taken over."""
    sweep(store, "night-1", "--run-id", "one")
    sweep(store, "suite:sweepy", "--run-id", "zero", "--budget-usd", "0")

    done = nightgate("sweep", "--resume", "zero", "--store", store, "--budget-usd", "1", "--json", "-")

    assert (done.code, done.json["calls"]["total"]) == (0, 2 * CASES)


def test_the_flow_sweeps_a_selection_as_the_command_does(store: Path) -> None:
    """The same document and rows."""
    done = sweep(store, "suite:sweepy", "--run-id", "flow", "--prefect")
    here = sweep(store, "suite:sweepy", "--run-id", "here")

    assert done.code == 0, done.err
    assert done.json["evaluators"] == here.json["evaluators"]
    assert len(rows(store, "scores", sweep_id="flow")) == 3 * CASES
