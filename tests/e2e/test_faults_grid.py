"""The promise behind all others, by property: whatever breaks, every planned cell ends in one status."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from drill_lab import a_case, evaluator, play, rows, write_suite
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgate import gate
from nightgate.adapters.metering import RetryPolicy
from nightgate.scores import Blame, Status
from nightgate.testing import InMemoryStore

TONE = {"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Is the tone friendly?"}]}
CALL = {"call": {"lookup": {"topic": "x"}}}
CITED, UNCITED = {"say": "Gladly. [KB-1]"}, {"say": "Gladly."}
CENT = {"usage": {"output": 10_000}}

TRIALS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "cited": ([CITED], "completed"),
    "uncited": ([UNCITED], "completed"),
    "looked up": ([CALL, CITED], "completed"),
    "empty": ([{"say": ""}], "completed"),
    "no tool of that name": ([{"call": {"nothing": {}}}, CITED], "completed"),
    "arguments that are no JSON": ([{"call": {"lookup": "{no json"}}, CITED], "completed"),
    "throttled twice": ([{**CITED, "raise": "throttled", "times": 2}], "completed"),
    "cut once": ([{"cut": True, "times": 1}, CITED], "completed"),
    "throttled": ([CALL, {"raise": "throttled"}], "infra_error"),
    "server error": ([{"raise": "server_error"}], "infra_error"),
    "timeout": ([{"raise": "timeout"}], "infra_error"),
    "auth": ([CALL, {"raise": "auth"}], "infra_error"),
    "error": ([{"raise": "error"}], "infra_error"),
    "cut": ([{"cut": True}], "infra_error"),
    "out of steps": ([CALL], "infra_error"),
    "overflow": ([{"raise": "context_overflow"}], "agent_error"),
    "max tokens": ([{**CITED, "stop": "max_tokens"}], "agent_truncated"),
    "guardrail": ([CALL, {**CITED, "stop": "guardrail_intervened"}], "agent_blocked"),
    "content filter": ([{**CITED, "stop": "content_filtered"}], "agent_blocked"),
}
"""Steps of a trial, and how it has to end."""
JUDGEMENTS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "yes": ({"fields": "best"}, "pass", None),
    "no": ({"fields": "worst"}, "fail", None),
    "cannot tell": ({"fields": {"verdict": "cannot_tell"}}, "not_applicable", None),
    "prose": ({"raw": "Well."}, "error", "judge"),
    "silence": ({"raw": ""}, "error", "judge"),
    "away": ({"raise": "auth"}, "error", "infra"),
    "overloaded": ({"raise": "server_error"}, "error", "infra"),
}
"""A judge's reply, and (status, blame) of the cell where the trial has completed."""

Grid = list[list[tuple[str, str]]]
"""Cases of trials of (what the agent does, what the judge does)."""
GRIDS = st.integers(1, 2).flatmap(
    lambda trials: st.lists(
        st.lists(
            st.tuples(st.sampled_from(list(TRIALS)), st.sampled_from(list(JUDGEMENTS))),
            min_size=trials,
            max_size=trials,
        ),
        min_size=1,
        max_size=3,
    )
)


@pytest.fixture(scope="module", autouse=True)
def at_once() -> Iterator[None]:
    """Retries without a wait: it is their number that counts here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nightgate.adapters.hub._LOCAL_POLICY", RetryPolicy(base_s=0.0))
        yield


def a_suite(folder: Path, grid: Grid) -> Path:
    """The suite of a grid; every answered call costs a cent, judges' too."""

    def paid(step: dict[str, Any]) -> dict[str, Any]:
        return {**step, **CENT}

    names = [f"c{i}" for i in range(len(grid))]
    replies = {
        name: {"trials": [[paid(step) for step in TRIALS[agent][0]] for agent, _ in trials]}
        for name, trials in zip(names, grid, strict=True)
    }
    judged = {
        name: {"trials": [paid(JUDGEMENTS[judge][0]) for _, judge in trials]}
        for name, trials in zip(names, grid, strict=True)
    }
    return write_suite(
        folder / "s",
        [a_case(name, expect=TONE, trials=len(grid[0])) for name in names],
        replies=replies,
        judgements={"Criterion:tone": judged},
        price={"output": 1},
    )


def check_counts(summary: dict[str, Any], grid: Grid) -> None:
    """Cells and trials add up to what was planned, also evaluator by evaluator."""
    trials = sum(map(len, grid))
    for counts, planned in ((summary["cells"], 2 * trials), (summary["trials"], trials)):
        assert counts["planned"] == planned == sum(counts.values()) - counts["planned"]
        assert min(counts.values()) >= 0
    for found in summary["evaluators"]:
        judged = found["passed"] + found["failed"]
        assert found["pass_rate"] == (found["passed"] / judged if judged else None)
        assert found["coverage"] == judged / trials


def check_rows(found: Sequence[dict[str, Any]], grid: Grid) -> None:
    """Each planned cell has one row, with the status that its trial and its judge lead to."""
    by_cell = {(row["case_id"], row["trial"], row["evaluator"]): row for row in found}
    assert len(by_cell) == len(found) == 2 * sum(map(len, grid))
    for (case_id, trial, name), row in by_cell.items():
        agent, judge = grid[int(case_id[1:])][trial]
        assert (row["status"], row["blame"]) == expected(name, agent, judge), (agent, judge, name)
        assert (row["passed"] is not None) == (row["status"] in ("pass", "fail"))
        assert row["passed"] is not None or row["score"] is None
        assert row["reason"].strip()


def expected(name: str, agent: str, judge: str) -> tuple[str, str | None]:
    """Status and blame of a cell."""
    ending = TRIALS[agent][1]
    if ending == "infra_error":
        return Status.ERROR, Blame.INFRA
    if ending != "completed":
        return Status.FAIL, Blame.AGENT
    if name == "CitesSource":
        return (Status.FAIL if agent in ("uncited", "empty") else Status.PASS), None
    return JUDGEMENTS[judge][1:]


@settings(max_examples=25)
@given(grid=GRIDS)
def test_every_planned_cell_ends_in_exactly_one_status(grid: Grid) -> None:
    """And in the right one; the summary counts the rows, the gate reads the same, green means all passed."""
    store = InMemoryStore()
    with tempfile.TemporaryDirectory() as folder:
        summary = play(a_suite(Path(folder), grid), store)

    check_counts(summary, grid)
    check_rows(rows(store, "scores"), grid)
    endings = Counter(row["ending"] for row in rows(store, "trials"))
    assert endings == Counter(TRIALS[agent][1] for trials in grid for agent, _ in trials)
    decision = gate(store, summary["run_id"])
    assert (decision.verdict, decision.exit_code) == (summary["verdict"], summary["exit_code"])
    assert (summary["exit_code"] == 0) == (summary["cells"]["pass"] == summary["cells"]["planned"])
    ledger = rows(store, "calls")
    assert len({row["call_id"] for row in ledger}) == len(ledger) == summary["calls"]["total"]


@settings(max_examples=20)
@given(grid=GRIDS, cents=st.integers(0, 12), concurrency=st.integers(1, 3))
def test_a_cap_anywhere_and_a_resume_lead_to_the_same_cells(grid: Grid, cents: int, concurrency: int) -> None:
    """Stopped after any call, of any role: the open run adds up, the resumed one is as if never stopped."""
    store, unharmed = InMemoryStore(), InMemoryStore()
    options: dict[str, Any] = {"concurrency": concurrency, "judge_concurrency": 1}
    with tempfile.TemporaryDirectory() as folder:
        suite = a_suite(Path(folder), grid)
        first = play(suite, store, budget_usd=f"0.{cents:02}5", run_id="capped", **options)
        if first["exit_code"] == 4:
            check_counts(first, grid)
            assert not first["complete"]
            last = play(suite, store, budget_usd="100", resume="capped", **options)
        else:
            last = first
        whole = play(suite, unharmed, **options)

    check_rows(rows(store, "scores"), grid)
    for name in ("cells", "trials", "verdict", "exit_code"):
        assert last[name] == whole[name]
    assert last["cost_usd"]["at_least"]["total"] >= whole["cost_usd"]["at_least"]["total"] - 1e-9
    for name in ("CitesSource", "Criterion:tone"):
        assert evaluator(last, name)["pass_k"] == evaluator(whole, name)["pass_k"]
