"""Reruns: of a night's suspects until each is decided, and of failed cells by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from nightgate.adapters.store import open_store
from nightgate.requests import RunRequest
from nightgate.wiring import reruns, run_request
from nightgate.wiring.reruns import find_flaky
from shell import nightgate

SUITE = """\
suite: nights
agent: drill_agent:build
model: scripted:good
trials: 3
"""
YES = "{say: 'yes'}"
CASES = "\n".join(
    ["cases:", *(f"  - {{id: {c}, input: {c}, expect: {{answer: {{contains: ['yes']}}}}}}" for c in "abc")]
)
PRICE = "price: {input: 1000000, output: 1000000}\n"
GOOD = f"replies: {{'*': [{YES}]}}\n{PRICE}"
NO = "[{say: 'no', usage: {input: 1, output: 0}}]"


class Clock:
    """The evening of a night."""

    def __init__(self, night: int) -> None:
        self.night = night

    def now(self) -> datetime:
        """Its scheduled start."""
        return datetime(2026, 11, 1, 22, 30, tzinfo=UTC) + timedelta(days=self.night)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Three cases; ``good`` passes all of them."""
    folder = tmp_path / "suite"
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.yaml").write_text(CASES)
    (folder / "scripts" / "good.yaml").write_text(GOOD)
    return folder


def script(suite: Path, name: str, case_a: str) -> str:
    """A model under which case ``a`` plays these trials and all else passes."""
    text = f"replies:\n  '*': [{YES}]\n  a: {case_a}\n{PRICE}"
    (suite / "scripts" / f"{name}.yaml").write_text(text)
    return f"scripted:{name}"


async def night(suite: Path, number: int, model: str = "scripted:good", **more: Any) -> dict[str, Any]:
    """A night with its reruns."""
    store = suite.parent / "store"
    values = {"store": str(store), "model": model, "run_id": f"n{number}", **more}
    request = RunRequest.make(suite, values)
    await run_request(request, clock=Clock(number))
    return await find_flaky(request, f"n{number}", clock=Clock(number))


async def past(suite: Path, nights: int = 4) -> None:
    """Nights in which all passed."""
    for number in range(nights):
        await night(suite, number)


def rows(suite: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """Rows of a run."""
    parts = sorted((suite.parent / "store" / table).rglob(f"{run_id}/*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


async def test_a_suspect_is_played_until_it_is_decided(suite: Path) -> None:
    """One failure of three, then two more: no third trial is paid for."""
    await past(suite)
    model = script(suite, "worse", f"{{trials: [[{YES}], {NO}, [{YES}], {NO}]}}")
    (suite / "scripts" / "worse.yaml").write_text(
        f"replies:\n  '*': [{YES}]\n  a: {{trials: [{NO}, {NO}, [{YES}], {NO}]}}\n{PRICE}"
    )

    document = await night(suite, 4, model)

    assert [entry["case"] for entry in document["newly_broken"]] == ["a"]
    assert document["rerun_run"] == "n4-rerun"
    played = [row["ending"] for row in rows(suite, "trials", "n4-rerun")]
    assert played.count("completed") == document["rerun_trials"] == 1
    assert played.count("not_run") == 9


async def test_reruns_are_of_suspects_alone_and_change_no_row_of_the_night(suite: Path) -> None:
    """A retry that passes must not turn a night green."""
    await past(suite)
    model = script(suite, "once", f"{{trials: [{NO}, [{YES}], [{YES}], [{YES}], [{YES}], [{YES}], [{YES}]]}}")

    document = await night(suite, 4, model)

    assert {row["case_id"] for row in rows(suite, "trials", "n4-rerun")} == {"a"}
    assert {row["run_kind"] for row in rows(suite, "scores", "n4-rerun")} == {"rerun"}
    assert document["newly_broken"] == []
    summary = json.loads((suite.parent / "store" / "runs" / "n4" / "summary.json").read_text())
    assert (summary["verdict"], summary["evaluators"][0]["passed"]) == ("fail", 8)


async def test_the_same_night_again_plays_nothing(suite: Path) -> None:
    """A flow that is repeated finds what was found."""
    await past(suite)
    model = script(suite, "once", f"{{trials: [{NO}, [{YES}], [{YES}]]}}")
    first = await night(suite, 4, model)
    request = RunRequest.make(suite, {"store": str(suite.parent / "store"), "model": model, "run_id": "n4"})

    again = await find_flaky(request, "n4", clock=Clock(4))

    assert again == first
    assert len(rows(suite, "trials", "n4-rerun")) == 10


async def test_reruns_stop_at_what_is_left_of_the_run_s_budget(suite: Path) -> None:
    """The cap is the night's, reruns included; the suspect stays one."""
    await past(suite)
    model = script(suite, "dear", f"{{trials: [{NO}, [{YES}], [{YES}]]}}")

    document = await night(suite, 4, model, budget_usd="1.5")

    assert document["reruns_stopped"] == "budget"
    assert [entry["case"] for entry in document["suspects"]] == ["a"]
    spent = sum(row["cost_nanousd"] or 0 for run in ("n4", "n4-rerun") for row in rows(suite, "calls", run))
    assert spent <= 1_500_000_000
    blames = {row["blame"] for row in rows(suite, "scores", "n4-rerun")} - {None}
    assert "budget" in blames


async def test_what_the_budget_stopped_was_not_played(suite: Path) -> None:
    """It is no evidence and no extra trial; the suspect says why it is one still, whoever asks."""
    await past(suite)
    model = script(suite, "dear", f"{{trials: [{NO}, [{YES}], [{YES}]]}}")

    document = await night(suite, 4, model, budget_usd="1.5")

    endings = [row["ending"] for row in rows(suite, "trials", "n4-rerun")]
    assert document["rerun_trials"] == endings.count("completed") < len(endings) == 10
    (suspect,) = document["suspects"]
    assert suspect["reruns_stopped"] == document["reruns_stopped"] == "budget"
    assert suspect["reruns"]["played"] == document["rerun_trials"]
    request = RunRequest.make(suite, {"store": str(suite.parent / "store"), "model": model, "run_id": "n4"})
    assert await find_flaky(request, "n4", clock=Clock(4)) == document


async def test_reruns_that_were_killed_while_they_were_left_out_stay_left_out(
    suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of an earlier process stand: they are neither played nor counted as played."""
    await past(suite)
    model = script(suite, "dear", f"{{trials: [{NO}, [{YES}], [{YES}]]}}")
    values = {"store": str(suite.parent / "store"), "model": model, "run_id": "n4", "budget_usd": "1.5"}
    request = RunRequest.make(suite, values)
    await run_request(request, clock=Clock(4))
    with monkeypatch.context() as patched:
        before, left = reruns.not_run, [1, 2, 3]

        def not_run(*told: Any) -> Any:
            left.pop()  # the fourth time it raises, in the middle of the left out
            return before(*told)

        patched.setattr(reruns, "not_run", not_run)
        with pytest.raises(IndexError):
            await find_flaky(request, "n4", clock=Clock(4))

    document = await find_flaky(request, "n4", clock=Clock(4))

    endings = [row["ending"] for row in rows(suite, "trials", "n4-rerun")]
    assert endings.count("not_run") > 3
    assert document["rerun_trials"] == endings.count("completed")
    assert [entry["reruns_stopped"] for entry in document["suspects"]] == ["budget"]
    skipped = [row for row in rows(suite, "scores", "n4-rerun") if row["status"] == "skipped"]
    assert {row["blame"] for row in skipped} == {"budget"}


async def test_reruns_that_were_cut_off_go_on(suite: Path) -> None:
    """What was played before is evidence; only the rest is played."""
    await past(suite)
    model = script(suite, "once", f"{{trials: [{NO}, [{YES}], [{YES}]]}}")
    store = suite.parent / "store"
    request = RunRequest.make(suite, {"store": str(store), "model": model, "run_id": "n4"})
    await run_request(request, clock=Clock(4))

    class CutError(Exception):
        """The process dies."""

    original = reruns._leave_out

    def die(*_: Any) -> None:
        raise CutError

    reruns._leave_out = die
    try:
        with pytest.raises(CutError):
            await find_flaky(request, "n4", clock=Clock(4))
    finally:
        reruns._leave_out = original

    document = await find_flaky(request, "n4", clock=Clock(4))

    played = [row for row in rows(suite, "trials", "n4-rerun") if row["ending"] == "completed"]
    assert {row["attempt"] for row in played} == {1}
    assert document["rerun_trials"] == len(played) > 0


async def test_no_call_is_made_under_a_budget_of_nothing(suite: Path) -> None:
    """0 means nothing, for reruns too."""
    await past(suite)
    store = open_store(suite.parent / "store")

    document = await night(suite, 4, script(suite, "free", NO), budget_usd="0")

    assert document["night"] is False
    assert not store.find("runs/n4-rerun")


def test_failed_cells_are_played_again_as_a_run_of_their_own(suite: Path) -> None:
    """The parent is named, and only what failed is played."""
    script(suite, "half", f"{{trials: [{NO}, [{YES}], {NO}]}}")
    store = ("--store", suite.parent / "store")
    nightgate("run", suite, *store, "--model", "scripted:half", "--run-id", "first")

    ran = nightgate("run", suite, *store, "--rerun", "first", "--run-id", "second", "--json", "-")

    assert ran.code == 1, ran.err
    assert (ran.json["trials"]["planned"], ran.json["cells"]["planned"]) == (2, 2)
    assert {(row["case_id"], row["trial"]) for row in rows(suite, "trials", "second")} == {("a", 0), ("a", 2)}
    plan = json.loads((suite.parent / "store" / "runs" / "second" / "plan.json").read_text())
    assert (plan["run_kind"], plan["parent"], plan["model"]) == ("rerun", "first", "scripted:half")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--rerun", "first", "--only", "errors"), "it has no errored cell"),
        (("--rerun", "nowhere"), "no run 'nowhere'"),
        (("--only", "failed"), "goes with --rerun"),
        (("--rerun", "first", "--reuse", "first"), "drop --reuse"),
    ],
)
def test_what_cannot_be_rerun_is_refused(suite: Path, flags: tuple[str, ...], says: str) -> None:
    """Exit 2, and nothing is spent."""
    script(suite, "half", NO)
    store = ("--store", suite.parent / "store")
    nightgate("run", suite, *store, "--model", "scripted:half", "--run-id", "first")

    ran = nightgate("run", suite, *store, *flags)

    assert ran.code == 2
    assert says in ran.err


def cut(path: Path) -> None:
    """A stored object that lost its end."""
    path.write_bytes(path.read_bytes()[:-40])


@pytest.mark.parametrize(
    ("damage", "flag"),
    [("scores", "--rerun"), ("scores", "--reuse"), ("manifest", "--rerun"), ("plan", "--resume")],
)
def test_over_damaged_rows_a_run_cannot_tell_like_any_other_command(
    suite: Path, damage: str, flag: str
) -> None:
    """Exit 3, not 2: the input was right, and what lies in the store is not what was committed."""
    script(suite, "half", f"{{trials: [{NO}, [{YES}], {NO}]}}")
    store = suite.parent / "store"
    nightgate("run", suite, "--store", store, "--model", "scripted:half", "--run-id", "first")
    globs = {"scores": "scores/**/*.parquet", "manifest": "manifests/**/first.json"}
    for path in store.glob(globs.get(damage, "runs/first/plan.json")):
        cut(path)

    ran = nightgate("run", suite, "--store", store, "--model", "scripted:half", flag, "first")

    assert nightgate("gate", "first", "--store", store).code == ran.code == 3, ran.err
    assert "Nothing was spent." in ran.err
    assert len(list(store.glob("runs/*"))) == 1


def test_a_quarantined_case_runs_and_does_not_gate(suite: Path) -> None:
    """It is shown, and its failure is not the suite's."""
    until = (datetime.now(UTC) + timedelta(days=7)).date().isoformat()
    kept = f"quarantine: {{owner: ana, reason: race, until: {until}}}"
    (suite / "cases.yaml").write_text(CASES.replace("{id: a,", f"{{id: a, {kept},"))
    script(suite, "bad", NO)
    store = ("--store", suite.parent / "store")

    ran = nightgate("run", suite, *store, "--model", "scripted:bad", "--run-id", "q", "--json", "-")

    assert ran.code == 0, ran.err
    assert {row["case_id"] for row in rows(suite, "trials", "q")} == {"a", "b", "c"}
    plan = json.loads((suite.parent / "store" / "runs" / "q" / "plan.json").read_text())
    assert plan["cases"][0]["quarantine"] == {
        "owner": "ana", "reason": "race", "until": until, "holds": True,
    }  # fmt: skip


def test_the_board_and_the_history_of_runs_by_hand(suite: Path) -> None:
    """Runs of the command line alone can be looked at; an unknown suite answers 3."""
    store = ("--store", suite.parent / "store")
    nightgate("run", suite, *store)

    history = nightgate("history", suite, *store, "--json", "-")
    board = nightgate("flaky", "nights", *store, "--json", "-")

    assert (history.code, len(history.json["nights"])) == (0, 1)
    assert (board.code, board.json["counts"]["too few"]) == (0, 3)
    assert nightgate("history", "other", *store).code == 3
    assert nightgate("flaky", "other", *store).code == 3
    assert nightgate("history", "nights", *store, "--case", "zzz").code == 2
