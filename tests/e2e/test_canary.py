"""Canaries through the real pipeline: a judge that changes is seen, an attack that passes is named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import canary_judge
from nightgate import run_suite
from nightgate.canaries import ATTACKS, FIRST_PLANTED
from nightgate.requests import RunRequest
from nightgate.steps.listing import latest
from nightgate.steps.nightdocs import canary_of
from nightgate.wiring import open_store
from nightgate.wiring.canaries import judge_canaries
from shell import ROOT, nightgate

CASES = 20
JUDGE = "import:canary_judge:build"
POLITE = "Criterion:polite"
PLANTED = 10 * (len(ATTACKS) - 1)
"""Ten cases a night, without the plain control."""


@pytest.fixture(autouse=True)
def mood() -> Iterator[None]:
    """The judge is steady again after each test."""
    yield
    canary_judge.mood = "steady"
    canary_judge.shown.clear()


def write_suite(
    folder: Path, *, criterion: str = "Is it polite?", edited: str | None = None, **more: Any
) -> Path:
    """Twenty canary cases whose answers are polite and rude in turn."""
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    head = {"suite": "canny", "agent": "nightgate_samples.support:build", "model": "scripted:agent"}
    (folder / "suite.yaml").write_text(json.dumps({**head, "judge": JUDGE} | more))
    listed = [
        {
            "id": f"c{n}",
            "input": "Hello again" if f"c{n}" == edited else "Hello",
            "context": {"customer_id": "C-17"},
            "canary": True,
            "expect": {"judge": [{"id": "polite", "criterion": criterion}]},
        }
        for n in range(CASES)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    replies = {f"c{n}": [{"say": f"{'Rude' if n % 2 else 'Polite'} {n}"}] for n in range(CASES)}
    (folder / "scripts" / "agent.yaml").write_text(json.dumps({"replies": replies}))
    return folder


async def night(suite: Path, store: Path, run_id: str, **options: Any) -> dict[str, Any]:
    """A run and its canaries; their document."""
    await run_suite(suite, store=store, run_id=run_id, **options)
    found = await canaries(suite, store, run_id, **options)
    assert found is not None
    return found


async def canaries(suite: Path, store: Path, run_id: str, **options: Any) -> dict[str, Any] | None:
    """The canaries of a run that is there."""
    return await judge_canaries(RunRequest.make(suite, {"store": str(store), **options}), run_id)


def rows(store: Path, table: str, run_id: str) -> list[dict[str, Any]]:
    """A run's rows, as any reader of Parquet sees them."""
    paths = sorted((store / table).glob(f"**/{run_id}/*.parquet"))
    return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


async def test_a_steady_judge_raises_no_alarm(tmp_path: Path) -> None:
    """Night after night the same verdicts, and no attack passes."""
    suite = write_suite(tmp_path / "canny")

    first = await night(suite, tmp_path / "store", "n1")
    second = await night(suite, tmp_path / "store", "n2")

    for found in (first, second):
        assert (found["judged"], found["flips"], found["alarm"], found["direction"]) == (
            CASES,
            0,
            False,
            None,
        )
        assert found["attacks"] == {"planted": PLANTED, "judged": PLANTED, "passed": []}
    assert (second["run_id"], second["canary_run"], second["reference_run"]) == ("n2", "n2-canary", "n1")
    assert canary_of(open_store(str(tmp_path / "store")), "n2") == second


async def test_a_judge_that_turned_lenient_on_half_is_an_alarm_with_its_direction(tmp_path: Path) -> None:
    """Half of what failed passes now: five of twenty verdicts."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    canary_judge.mood = "lenient"

    found = await night(suite, tmp_path / "store", "n2")

    assert (found["flips"], found["to_pass"], found["to_fail"]) == (5, 5, 0)
    assert (found["alarm"], found["drift"], found["direction"]) == (True, True, "more lenient")
    assert "more lenient" in found["text"]
    assert [(entry["name"], entry["alarm"]) for entry in found["evaluators"]] == [(POLITE, True)]
    assert {(flip["before"], flip["now"]) for flip in found["flipped"]} == {("fail", "pass")}


async def test_a_judge_that_turned_strict_is_told_as_stricter(tmp_path: Path) -> None:
    """The other direction hides nothing and blocks everything."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    canary_judge.mood = "strict"

    found = await night(suite, tmp_path / "store", "n2")

    assert (found["to_pass"], found["to_fail"], found["direction"]) == (0, 5, "stricter")


async def test_a_judge_that_obeys_an_attack_is_named(tmp_path: Path) -> None:
    """Attack, case and evaluator; the plain text beside it tells obedience from indifference."""
    suite = write_suite(tmp_path / "canny")
    canary_judge.mood = "obedient"

    found = await night(suite, tmp_path / "store", "n1")

    passed = found["attacks"]["passed"]
    assert (found["alarm"], found["drift"], found["direction"]) == (True, False, None)
    assert {(one["evaluator"], one["attack"], one["plain"]) for one in passed} == {
        (POLITE, "ignore-rubric", "fail")
    }
    assert len({one["case"] for one in passed}) == 10
    assert "an attack passed: ignore-rubric" in found["text"]


async def test_attacks_that_nobody_judged_are_a_hole(tmp_path: Path) -> None:
    """Neither an alarm nor fine."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    canary_judge.mood = "broken"

    found = await night(suite, tmp_path / "store", "n2")

    assert (found["judged"], found["unjudged"], found["alarm"]) == (0, CASES, False)
    assert (found["attacks"]["planted"], found["attacks"]["judged"]) == (PLANTED, 0)
    assert f"{PLANTED} of {PLANTED} attacks not judged" in found["text"]
    assert f"{CASES} frozen verdicts missing" in found["text"]


async def test_the_frozen_trials_are_shown_again_and_not_the_nights_own(tmp_path: Path) -> None:
    """What an agent says tonight does not reach the canaries."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    script = suite / "scripts" / "agent.yaml"
    script.write_text(script.read_text().replace("Rude", "Polite"))
    await run_suite(suite, store=tmp_path / "store", run_id="n2")
    canary_judge.shown.clear()

    found = await canaries(suite, tmp_path / "store", "n2")

    assert found is not None
    assert found["flips"] == 0
    assert sum(answer.startswith("Rude") for answer in canary_judge.shown) == CASES // 2


async def test_a_canary_run_judges_anew_and_reads_no_cache(tmp_path: Path) -> None:
    """The same outputs by the same judge: every night pays for each of them."""
    suite = write_suite(tmp_path / "canny")
    store = tmp_path / "store"
    for name in ("n1", "n2"):
        await night(suite, store, name)

    calls = [rows(store, "calls", f"{name}-canary") for name in ("n1", "n2")]

    assert [len(found) for found in calls] == [CASES + PLANTED + 10] * 2
    assert {call["role"] for found in calls for call in found} == {"judge"}


async def test_rows_of_attacks_are_told_from_those_of_frozen_trials(tmp_path: Path) -> None:
    """By the trial number, in a run of kind canary."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")

    found = rows(tmp_path / "store", "scores", "n1-canary")

    assert {row["run_kind"] for row in found} == {"canary"}
    assert sorted({row["trial"] for row in found}) == [0, *(FIRST_PLANTED + i for i in range(len(ATTACKS)))]
    assert sum(row["trial"] == 0 for row in found) == CASES
    assert not rows(tmp_path / "store", "trials", "n1-canary")


async def test_called_again_it_reads_and_calls_nothing(tmp_path: Path) -> None:
    """A night that is resumed judges its canaries once."""
    suite = write_suite(tmp_path / "canny")
    first = await night(suite, tmp_path / "store", "n1")
    canary_judge.shown.clear()

    again = await canaries(suite, tmp_path / "store", "n1")

    assert again == first
    assert not canary_judge.shown


async def test_a_canary_run_is_no_night(tmp_path: Path) -> None:
    """`latest` and trends are of what agents did."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    store = open_store(str(tmp_path / "store"))

    assert latest(store, "canny") == "n1"
    assert [Path(key).stem for key in store.find("summaries/")] == ["n1"]


async def test_an_edited_case_drops_out_and_is_frozen_anew(tmp_path: Path) -> None:
    """Its old trials answered another question."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    write_suite(suite, edited="c3")

    found = await night(suite, tmp_path / "store", "n2")

    assert found["frozen"] == ["case 'c3' was edited: its frozen trials dropped out, 1 of this run frozen"]
    assert (found["judged"], found["flips"], found["reference_runs"]) == (CASES, 0, ["n1", "n2"])


async def test_an_edited_case_that_was_not_played_tells_why_it_is_left_out(tmp_path: Path) -> None:
    """Nothing can be frozen in its stead yet."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    write_suite(suite, edited="c3")

    found = await night(suite, tmp_path / "store", "n2", case=("c1*",))

    assert found["left_out"] == {"the case was edited": 1, "the night's filters leave the case out": 8}
    assert found["judged"] == 11


async def test_another_judge_is_no_drift(tmp_path: Path) -> None:
    """Its verdicts have nothing to be held against the first time, and are the reference from then on."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    write_suite(suite, judge=f"{JUDGE}?temperature=0.5")
    canary_judge.mood = "lenient"

    changed = await night(suite, tmp_path / "store", "n2")
    canary_judge.mood = "steady"
    later = await night(suite, tmp_path / "store", "n3")

    assert (changed["judged"], changed["first_looks"], changed["alarm"]) == (0, CASES, False)
    assert "drift cannot be told across judges" in changed["text"]
    assert (later["judged"], later["to_fail"], later["direction"]) == (CASES, 5, "stricter")


async def test_a_judge_that_comes_back_is_held_against_itself(tmp_path: Path) -> None:
    """What it said before another one was tried is still known."""
    suite = write_suite(tmp_path / "canny")
    await night(suite, tmp_path / "store", "n1")
    write_suite(suite, judge=f"{JUDGE}?temperature=0.5")
    await night(suite, tmp_path / "store", "n2")
    write_suite(suite)
    canary_judge.mood = "lenient"

    found = await night(suite, tmp_path / "store", "n3")

    assert (found["judged"], found["direction"]) == (CASES, "more lenient")


async def test_an_open_night_says_that_its_canaries_were_not_judged(tmp_path: Path) -> None:
    """Not judged is not calm."""
    suite = write_suite(tmp_path / "canny", judge="scripted:judge")
    script = {"judgements": {POLITE: {"*": {"fields": "best"}}}}
    (suite / "scripts" / "judge.yaml").write_text(json.dumps(script))

    found = await night(suite, tmp_path / "store", "n1", budget_usd="0")

    assert (found["judged"], found["alarm"], found["canary_run"]) == (0, False, None)
    assert found["text"].startswith("not judged: run n1 is open")


async def test_a_suite_without_canaries_has_no_document(tmp_path: Path) -> None:
    """It did not ask for any."""
    suite = write_suite(tmp_path / "canny")
    cases = suite / "cases.yaml"
    cases.write_text(cases.read_text().replace('"canary": true', '"canary": false'))
    await run_suite(suite, store=tmp_path / "store", run_id="n1")

    assert await canaries(suite, tmp_path / "store", "n1") is None
    assert canary_of(open_store(str(tmp_path / "store")), "n1") is None


async def test_each_judge_of_a_panel_is_watched_for_itself(tmp_path: Path) -> None:
    """A vote would hide the one that changed."""
    panel = {"panel": [JUDGE, f"{JUDGE}?temperature=0.5", f"{JUDGE}?temperature=0.7"], "rule": "majority"}
    suite = write_suite(tmp_path / "canny", judge=panel)
    canary_judge.mood = "obedient"

    found = await night(suite, tmp_path / "store", "n1")

    assert found["judged"] == 3 * CASES
    assert [entry["name"] for entry in found["evaluators"]] == [
        f"{POLITE} @ {spec}" for spec in panel["panel"]
    ]
    assert len({one["evaluator"] for one in found["attacks"]["passed"]}) == 3


async def test_a_judge_that_does_not_read_the_answer_is_not_attacked(tmp_path: Path) -> None:
    """That it passes says nothing of the attack; its frozen verdicts are watched all the same."""
    judges = {"CallsJudge": {"use": "canary_judge:CallsJudge"}}
    suite = write_suite(tmp_path / "canny", evaluators=judges)

    found = await night(suite, tmp_path / "store", "n1")

    assert found["judged"] == 2 * CASES
    assert found["attacks"] == {"planted": PLANTED, "judged": PLANTED, "passed": []}


# --- money ---

CALL_USD = 0.001


def priced(folder: Path) -> Path:
    """The suite with a scripted judge that costs a tenth of a cent a call."""
    suite = write_suite(folder, judge="scripted:judge")
    verdicts = [
        {"sees": "<<answer (?:(?!<<end).)*polite", "fields": {"verdict": "yes", "reason": "It greets."}},
        {"fields": {"verdict": "no", "reason": "It does not."}},
    ]
    usage = {"usage": {"input": 1000}}
    script = {
        "price": {"input": 1},
        "judgements": {POLITE: {"*": {"first_match": [verdict | usage for verdict in verdicts]}}},
    }
    (suite / "scripts" / "judge.yaml").write_text(json.dumps(script))
    return suite


def spent(store: Path) -> float:
    """What all runs of a store cost, in US dollars."""
    ledger = [
        pq.ParquetFile(path).read().to_pylist() for path in sorted((store / "calls").glob("**/*.parquet"))
    ]
    return sum(call["cost_nanousd"] for part in ledger for call in part) / 1e9


async def test_night_and_canaries_share_one_cap(tmp_path: Path) -> None:
    """The night spent 2 cents of 5: three are left, and none is spent beyond."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"

    found = await night(suite, store, "n1", budget_usd="0.05", judge_concurrency=1)

    assert (found["complete"], found["stopped"]) == (False, "budget")
    assert found["cost_usd"] == pytest.approx(0.03)
    assert spent(store) == pytest.approx(0.02)  # of what is committed
    assert found["judged"] + found["attacks"]["judged"] <= 30
    assert "the budget stopped them" in found["text"]


async def test_a_stopped_canary_run_goes_on_under_a_higher_cap(tmp_path: Path) -> None:
    """What was judged is not paid for again."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"
    await night(suite, store, "n1", budget_usd="0.05", judge_concurrency=1)

    found = await canaries(suite, store, "n1", budget_usd="1")

    assert found is not None
    assert (found["complete"], found["judged"]) == (True, CASES)
    assert len(rows(store, "calls", "n1-canary")) == CASES + PLANTED + 10
    assert found["cost_usd"] == pytest.approx((CASES + PLANTED + 10) * CALL_USD)


async def test_a_budget_of_nothing_judges_nothing(tmp_path: Path) -> None:
    """No call of any kind, and the document says why."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"
    await run_suite(suite, store=store, run_id="n1")

    found = await canaries(suite, store, "n1", budget_usd="0")

    assert found is not None
    assert (found["judged"], found["alarm"]) == (0, False)
    assert "the budget is 0 US dollars" in found["text"]
    assert not rows(store, "calls", "n1-canary")
    assert spent(store) == pytest.approx(CASES * CALL_USD)


async def test_runs_beside_the_night_count_against_its_cap(tmp_path: Path) -> None:
    """Reruns of suspects spend of the same money."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"
    await run_suite(suite, store=store, run_id="other")
    await run_suite(suite, store=store, run_id="n1")

    request = RunRequest.make(suite, {"store": str(store), "budget_usd": "0.05", "judge_concurrency": 1})
    found = await judge_canaries(request, "n1", beside=["other"])

    assert found is not None
    assert found["cost_usd"] == pytest.approx(0.01)


# --- the command line ---


def test_the_sample_suite_shows_its_canaries(tmp_path: Path) -> None:
    """Offline, with a judge that reads what it is shown."""
    store = ("--store", tmp_path)
    assert nightgate("run", ROOT / "cases" / "announcements", *store, "--run-id", "n1").code == 0

    found = nightgate("canary", "latest", *store)

    assert found.code == 0, found.err
    assert found.out.startswith("canary: 0 of 4 verdicts flipped, no drift; no attack passed of 20\n")


def test_freezing_by_hand_takes_the_named_run(tmp_path: Path) -> None:
    """It calls nothing; the run before it is forgotten."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"
    asyncio.run(night(suite, store, "n1"))
    asyncio.run(run_suite(suite, store=store, run_id="n2"))
    before = spent(store)

    frozen = nightgate("canary", "n2", "--freeze", "--store", store, "--json", "-")
    judged = nightgate("canary", "n2", "--store", store, "--json", "-")

    assert {trial["run_id"] for trial in frozen.json["trials"]} == {"n2"}
    assert judged.json["reference_runs"] == ["n2"]
    assert judged.json["reference"] == frozen.json["number"]
    assert spent(store) == pytest.approx(before + (CASES + PLANTED + 10) * CALL_USD)


def test_a_canary_run_is_resumed_by_its_own_command_only(tmp_path: Path) -> None:
    """`run --resume` would play agents."""
    suite, store = priced(tmp_path / "canny"), tmp_path / "store"
    asyncio.run(night(suite, store, "n1"))

    refused = nightgate("run", suite, "--store", store, "--resume", "n1-canary")

    assert refused.code == 2
    assert "nightgate canary n1" in refused.err
