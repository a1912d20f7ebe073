"""Judge sweeps: no agent is called, nothing is paid twice, a run's own rows stay what they were."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from shell import nightgate, start

CASES = 6
JUDGED = ("Criterion:polite", "Criterion:short")


def write_suite(folder: Path, *, criterion: str = "Is it polite?", **judges: Mapping[str, Any]) -> Path:
    """A suite of six cases with two criteria; judges are scripts by name."""
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(
        "suite: sweepy\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:agent\n"
        "judge: scripted:first\n"
    )
    asked = [{"id": "polite", "criterion": criterion}, {"id": "short", "criterion": "Is it short?"}]
    listed = [
        {"id": f"c{n}", "input": f"q{n}", "context": {"customer_id": "C-17"}, "expect": {"judge": asked}}
        for n in range(CASES)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": {"*": [{"say": "Hello."}]}}))
    defaults: dict[str, Any] = {"first": {"fields": "best"}, "second": {"fields": "best"}}
    for name, verdict in (defaults | judges).items():
        script = {"judgements": {evaluator: {"*": verdict} for evaluator in JUDGED}}
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps(script))
    return folder


def played(tmp_path: Path, **judges: Any) -> tuple[Path, str]:
    """A run without a judge of its own kind: the suite, and the store."""
    suite, store = write_suite(tmp_path / "sweepy", **judges), str(tmp_path / "store")
    done = nightgate("run", str(suite), "--store", store, "--run-id", "base", "--judge", "scripted:first")
    assert done.code in (0, 1), done.err
    return suite, store


def sweep(suite: Path, store: str, *more: str, judges: Sequence[str] = ("scripted:second",)) -> Any:
    """A sweep of both criteria; its document."""
    flags = [flag for judge in judges for flag in ("--judge", judge)]
    flags += [flag for name in JUDGED for flag in ("--evaluator", name)]
    return nightgate("sweep", "base", "--store", store, "--suite", str(suite), *flags, "--json", "-", *more)


def rows(store: str, table: str) -> list[dict[str, Any]]:
    """All rows of a table, of all runs, as any reader of Parquet sees them."""
    paths = sorted(Path(store).glob(f"{table}/**/*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def calls(store: str, run: str) -> list[str]:
    """Roles of the ledger rows of a run."""
    return [call["role"] for call in rows(store, "calls") if call["run_id"] == run]


def test_a_sweep_calls_no_agent_and_each_judge_once_a_cell(tmp_path: Path) -> None:
    """Two judges and two evaluators over six trials, one of them known from the run itself."""
    suite, store = played(tmp_path)

    done = sweep(suite, store, "--run-id", "s1", judges=("scripted:first", "scripted:second"))

    assert done.code == 0
    assert calls(store, "s1") == ["judge"] * (CASES * 2)
    assert done.json["cells"]["pass"] == CASES * 4


def test_a_judge_that_is_named_twice_is_one(tmp_path: Path) -> None:
    """One column under its short name, as if it had been named once."""
    suite, store = played(tmp_path)

    done = sweep(suite, store, "--run-id", "s1", judges=("scripted:second", "scripted:second"))

    assert [column["name"] for column in done.json["evaluators"]] == list(JUDGED)
    assert done.json["judges"] == ["scripted:second"]


def test_a_second_sweep_pays_for_what_is_new_alone(tmp_path: Path) -> None:
    """The same again: nothing. One rubric edited: that evaluator."""
    suite, store = played(tmp_path)
    sweep(suite, store, "--run-id", "s1")
    sweep(suite, store, "--run-id", "s2")
    third = sweep(suite, store, "--run-id", "s3", "--repeat", "2")

    assert (len(calls(store, "s1")), len(calls(store, "s2"))) == (CASES * 2, 0)
    assert (len(calls(store, "s3")), third.json["repeat"]) == (CASES * 2, 2)


def test_what_was_taken_over_costs_nothing_again_and_is_marked(tmp_path: Path) -> None:
    """Rows of all runs add up to the ledger, and new money is not divided by old verdicts."""
    suite, store = played(tmp_path)
    dear_script(suite)
    dear = ["scripted:dear"]
    first = sweep(suite, store, "--run-id", "s1", judges=dear)
    second = sweep(suite, store, "--run-id", "s2", judges=dear)
    third = sweep(suite, store, "--run-id", "s3", judges=[*dear, "scripted:second"])

    found = rows(store, "scores")
    ledger = sum(call["cost_nanousd"] for call in rows(store, "calls"))
    assert sum(row["cost_nanousd"] for row in found) == ledger == CASES * 2 * 10**9
    assert sum(row["tokens_in"] for row in found) == sum(call["tokens_in"] for call in rows(store, "calls"))
    origins = {(row["run_id"], row["judge_model"]): row["reused_from"] for row in found}
    assert origins["s1", "scripted:dear"] is None
    assert origins["s2", "scripted:dear"] == origins["s3", "scripted:dear"] == "s1"
    assert origins["s3", "scripted:second"] is None

    assert [done.json["known"] for done in (first, second, third)] == [0, CASES * 2, CASES * 2]
    assert "12 of them known already" in second.err
    assert [done.json["cost_per"]["verdict"] for done in (first, second, third)] == [1.0, None, 0.0]
    assert third.json["judged_anew"]["verdicts"] == CASES * 2 < third.json["judged"]["verdicts"]


def test_a_runs_own_rows_stay_what_they_were(tmp_path: Path) -> None:
    """A sweep's rows stand beside them, with its id and the run that it judged."""
    suite, store = played(tmp_path)
    before = [row for row in rows(store, "scores") if row["run_id"] == "base"]
    sweep(suite, store, "--run-id", "s1")

    found = rows(store, "scores")
    assert [row for row in found if row["run_id"] == "base"] == before
    swept = [row for row in found if row["sweep_id"] == "s1"]
    assert {(row["run_id"], row["source_run"], row["run_kind"], row["repeat"]) for row in swept} == {
        ("s1", "base", "sweep", 0)
    }
    assert {row["evaluator"] for row in swept} == set(JUDGED)
    assert not [row for row in rows(store, "trials") if row["run_id"] == "s1"]


def test_judges_that_differ_are_told_apart(tmp_path: Path) -> None:
    """On how many outputs both gave a verdict, and the same."""
    suite, store = played(tmp_path, second={"fields": "worst"})

    done = sweep(suite, store, judges=("scripted:first", "scripted:second"))

    pair = done.json["agreement"][0]
    assert (pair["kind"], pair["both"], pair["same"]) == ("judge", CASES, 0)
    rates = {e["judge"]: e["pass_rate"] for e in done.json["evaluators"]}
    assert rates == {"scripted:first": 1.0, "scripted:second": 0.0}


def test_a_judges_own_flicker_is_seen_by_repeats(tmp_path: Path) -> None:
    """Told apart from the agent's: the outputs are the same."""
    flicker = {"trials": [{"fields": "best"}, {"fields": "worst"}]}
    suite, store = played(tmp_path, second=flicker)

    done = sweep(suite, store, "--repeat", "2")

    pair = done.json["agreement"][0]
    assert (pair["kind"], pair["both"], pair["same"]) == ("repeat", CASES, 0)


def test_a_dry_run_calls_and_stores_nothing(tmp_path: Path) -> None:
    """It says what is known and what would be judged."""
    suite, store = played(tmp_path)
    before = sorted(path for path in Path(store).rglob("*") if path.is_file())

    done = sweep(suite, store, "--dry-run", judges=("scripted:first", "scripted:second"))

    assert (done.json["known"], done.json["to_judge"]) == (CASES * 2, CASES * 2)
    assert sorted(path for path in Path(store).rglob("*") if path.is_file()) == before


def test_an_edited_case_is_left_out_and_said(tmp_path: Path) -> None:
    """Its stored answer was to another question."""
    suite, store = played(tmp_path)
    text = (suite / "cases.yaml").read_text().replace('"q0"', '"another question"')
    (suite / "cases.yaml").write_text(text)

    done = sweep(suite, store)

    assert done.json["left_out"] == {"the case was edited since": 1}
    assert done.json["trials"] == CASES - 1


def dear_script(suite: Path) -> None:
    """A judge of one dollar a call."""
    dear: dict[str, Any] = {"price": {"input": 1000, "output": 0}, "judgements": {}}
    for name in JUDGED:
        dear["judgements"][name] = {"*": {"fields": "best", "usage": {"input": 1000}}}
    (suite / "scripts" / "dear.yaml").write_text(json.dumps(dear))


def test_a_cap_stops_a_sweep_and_a_resume_with_more_ends_it(tmp_path: Path) -> None:
    """Exit 4, the rest open; spending adds up."""
    suite, store = played(tmp_path)
    dear_script(suite)

    stopped = sweep(
        suite,
        store,
        "--run-id",
        "s1",
        "--budget-usd",
        "4",
        "--judge-concurrency",
        "1",
        judges=["scripted:dear"],
    )
    resumed = nightgate(
        "sweep",
        "--resume",
        "s1",
        "--store",
        store,
        "--suite",
        str(suite),
        "--budget-usd",
        "100",
        "--json",
        "-",
    )

    assert (stopped.code, stopped.json["complete"]) == (4, False)
    hint = f"next: nightgate sweep --resume s1 --suite {suite} --budget-usd 8 --store {store}"
    assert hint in stopped.err
    assert (resumed.code, resumed.json["cells"]["pass"]) == (0, CASES * 2)
    assert resumed.json["cost_usd"]["judge"] == pytest.approx(12.0)
    assert len(calls(store, "s1")) == CASES * 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("sweep", "base", "--evaluator", "Criterion:polit"), "did you mean 'Criterion:polite'"),
        (("sweep", "base"), "a sweep needs --evaluator"),
        (("sweep", "nobody", "--evaluator", "Criterion:polite"), "no run 'nobody'"),
        (("gate", "s1"), "is a judge sweep of base"),
        (
            ("sweep", "--resume", "s1", "--judge", "scripted:first", "--evaluator", "Criterion:polite"),
            "--judge, --evaluator would change that",
        ),
        (("sweep", "--resume", "s1", "--repeat", "2", "--batch"), "--repeat, --batch would change that"),
    ],
)
def test_what_cannot_be_swept_is_said_before_anything_is_spent(
    tmp_path: Path, arguments: tuple[str, ...], word: str
) -> None:
    """Exit 2 with what to do."""
    suite, store = played(tmp_path)
    sweep(suite, store, "--run-id", "s1")
    more = ("--suite", str(suite)) if arguments[0] == "sweep" else ()

    done = nightgate(*arguments, "--store", store, *more)

    assert done.code == 2
    assert word in done.err


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    """Kill -9 between judgements: after the resume each cell is there once, and at most one call more."""
    slow = {"fields": "best", "delay_s": 0.15}
    suite, store = played(tmp_path, second=slow)
    flags = [flag for name in JUDGED for flag in ("--evaluator", name)]
    process = start(
        "sweep", "base", "--store", store, "--suite", suite, *flags, "--judge", "scripted:second",
        "--run-id", "s1", "--judge-concurrency", "1",
    )  # fmt: skip
    journal = Path(store) / "spool"
    ended = time.monotonic() + 60
    while time.monotonic() < ended and not _ended_calls(journal):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()

    resumed = nightgate("sweep", "--resume", "s1", "--store", store, "--suite", str(suite), "--json", "-")

    assert (resumed.code, resumed.json["cells"]["pass"]) == (0, CASES * 2)
    ledger = [call for call in rows(store, "calls") if call["run_id"] == "s1"]
    assert CASES * 2 <= len(ledger) <= CASES * 2 + 1
    assert sum(call["outcome"] == "ok" for call in ledger) <= CASES * 2 + 1


def _ended_calls(journal: Path) -> int:
    """Findings in the journals of this machine so far."""
    return sum(
        path.read_bytes().count(b'"kind":"cell"') for path in journal.rglob("*.jsonl*") if path.is_file()
    )


def test_a_dry_run_knows_the_price_of_a_script(tmp_path: Path) -> None:
    """It said 0 dollars of a sweep that then cost 12."""
    suite, store = played(tmp_path)
    dear_script(suite)

    told = sweep(suite, store, "--dry-run", judges=["scripted:dear"]).json
    paid = sweep(suite, store, judges=["scripted:dear"]).json

    assert told["usd"] == told["usd_at_least"] == pytest.approx(12.0) == paid["cost_usd"]["judge"]
    assert (told["usd_batch"], told["assumption"]) == (None, "tokens as the scripts have them")


def test_a_dry_run_guesses_from_texts_where_the_runs_own_judge_was_a_script(tmp_path: Path) -> None:
    """A script's tokens are made up: a real judge would not be free for them."""
    suite, store = played(tmp_path)

    done = sweep(suite, store, "--dry-run", judges=("openai:gpt-4o",))

    assert done.json["usd"] > 0
    assert done.json["assumption"] == "a guess from text length"
