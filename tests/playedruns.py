"""Whole runs in a store without playing any: staged as a run stages them, committed by the finisher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from makers import a_call, a_planned, a_score, a_trial, assistant, results, user
from nightgate.calls import Call, Outcome, Role
from nightgate.plans import Plan, PlannedCase
from nightgate.ports import Store
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import staging_key
from nightgate.rows.records import encode_record
from nightgate.scores import Cell, Score, Status
from nightgate.steps.finishing import finish_run
from nightgate.steps.planning import store_plan
from nightgate.trials import Trial, TrialKey, Usage

BEGAN = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)


def a_run_plan(
    cases: Sequence[str], evaluators: Sequence[str] = ("ToolPolicy",), *, trials: int = 1, **more: Any
) -> Plan:
    """The plan of a run of suite ``demo``; names that end in Judge are a judge's."""
    kinds = {name: "judge" if name.endswith("Judge") else "code" for name in evaluators}
    values: dict[str, Any] = {
        "run_id": "demo-1",
        "suite": "demo",
        "owner": "demo-team",
        "date": f"{BEGAN:%Y-%m-%d}",
        "started_at": "2026-11-29T22:30:00.000Z",
        "run_kind": "run",
        "trigger": "manual",
        "model": "scripted:agent",
        "judge": "scripted:judge" if "judge" in kinds.values() else None,
        "user": None,
        "fingerprint": "f" * 16,
        "evaluators": tuple(
            a_planned(name, kind=kind, threshold="0.85" if kind == "judge" else "1.0")
            for name, kind in kinds.items()
        ),
        "cases": tuple(
            PlannedCase(
                case_id=case,
                case_hash="c" * 16,
                agent_fingerprint="g" * 16,
                layer="behavior",
                stage="regression",
                trials=trials,
                evaluators=tuple(evaluators),
                language="en",
            )
            for case in cases
        ),
        "gate": {"policy": "point", "max_error_share": "0.0"},
        "timeout_s": 30.0,
        "limits": {},
        "suite_path": "cases/demo",
    }
    return Plan(**values | more)


def a_played(key: TrialKey) -> Trial:
    """A question, a look-up, an answer."""
    call = a_call("search", {"query": "late"}, result="found KB-101", call_id="t1")
    return a_trial(
        "Yes. [KB-101]",
        call,
        key=key,
        case_hash="c" * 16,
        agent_fingerprint="g" * 16,
        input="Is it late?",
        messages=(
            user("Is it late?"),
            assistant(("t1", "search", {"query": "late"})),
            results(("t1", "found KB-101")),
            assistant("Yes. [KB-101]"),
        ),
        tools_offered=({"name": "search", "description": "Looks in the handbook."},),
        system_prompt="You are the desk of a shop.",
        usage=Usage(input=900, output=40),
        cost_nanousd=1_500_000,
        calls=2,
        turns=1,
        latency_ms=812.5,
        wait_ms=3.0,
    )


def put_run(
    store: Store,
    plan: Plan,
    *,
    trial: Callable[[TrialKey], Trial] = a_played,
    score: Callable[[str, int, str], Score] | None = None,
    left_out: int = 0,
) -> dict[str, Any]:
    """Put a run; returns its summary document.

    Args:
        store: Where.
        plan: What was planned.
        trial: Makes the play of a trial.
        score: Case, trial, evaluator -> finding; all pass unless given.
        left_out: So many of the last trials are not there: the run stays open.
    """
    store_plan(store, plan)
    found = score or (lambda *_: a_score())
    played = list(plan.trials())
    for number, batch in enumerate(_batches(played[: len(played) - left_out], 100)):
        lines = [line for case, trials in batch for line in _records(plan, case, trials, trial, found)]
        store.create(
            staging_key(plan.run_id, f"000000-test-{number:06d}.jsonl.zst"), encode_group(lines, literals=())
        )
    return finish_run(store, plan.run_id, wall_s=12.5).summary.as_dict()


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _records(
    plan: Plan,
    case: PlannedCase,
    number: int,
    trial: Callable[[TrialKey], Trial],
    score: Callable[[str, int, str], Score],
) -> Iterator[bytes]:
    key = TrialKey(run_id=plan.run_id, suite=plan.suite, case_id=case.case_id, trial=number)
    played = trial(key)
    yield encode_record(played)
    for name in case.evaluators:
        judge = plan.evaluator(name)
        cell = Cell(
            case_id=case.case_id,
            trial=number,
            score=replace(score(case.case_id, number, name), evaluator=name),
            judge_model=judge.judge_model,
            judge_fingerprint=judge.judge_fingerprint,
            cost_nanousd=250_000 if judge.asks else 0,
            latency_ms=1.0,
        )
        yield encode_record(cell)
        if judge.asks and cell.score.status is not Status.SKIPPED:
            yield encode_record(_ledger(plan, case, number, Role.JUDGE, name, 250_000))
    yield encode_record(_ledger(plan, case, number, Role.AGENT, None, played.cost_nanousd))


def _ledger(
    plan: Plan, case: PlannedCase, number: int, role: Role, evaluator: str | None, nanousd: int | None
) -> Call:
    return Call(
        call_id=f"{case.case_id}-{number}-{role.value}-{evaluator}",
        run_id=plan.run_id,
        suite=plan.suite,
        role=role,
        case_id=case.case_id,
        trial=number,
        evaluator=evaluator,
        model=plan.model if role is Role.AGENT else plan.judge or "",
        attempt=1,
        play=1,
        outcome=Outcome.OK,
        usage=Usage(input=900, output=40),
        cost_nanousd=nanousd,
        list_nanousd=nanousd if role is Role.JUDGE else None,
        latency_ms=400.0,
        started_at=BEGAN,
        ended_at=BEGAN + timedelta(seconds=1),
    )
