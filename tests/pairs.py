"""Two runs of a suite for tests of comparisons: sides in memory, and runs in a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from makers import a_plan, a_planned, a_score, a_trial
from nightgate.comparisons import Comparison, Counts, Side, compare
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator
from nightgate.ports import Store
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import plan_key, staging_key
from nightgate.rows.records import encode_record
from nightgate.scores import Blame, Cell, Status
from nightgate.steps.bases import choose
from nightgate.steps.finishing import Finished, finish_run
from nightgate.summaries import tally
from nightgate.trials import Ending, TrialKey

_STATUSES = {"P": Status.PASS, "F": Status.FAIL, "N": Status.NOT_APPLICABLE, "E": Status.ERROR}
Letters = Mapping[str, str]
"""Case id -> the outcomes of its trials, a letter each: passed, failed, not applicable, error."""


def some(passed: int, failed: int = 0, *, trials: int = 1) -> dict[str, str]:
    """So many cases that pass, and so many that fail, in all of their trials."""
    letters = ["P" * trials] * passed + ["F" * trials] * failed
    return {f"c{number}": outcome for number, outcome in enumerate(letters)}


def lenient(name: str = "E", **more: Any) -> PlannedEvaluator:
    """An evaluator whose threshold holds whatever happens: only what is compared decides."""
    return replace(a_planned(name, threshold="0"), min_coverage="0", **more)


def judge(fingerprint: str = "f" * 16, name: str = "E", **more: Any) -> PlannedEvaluator:
    """The same as a judge."""
    return lenient(name, kind="judge", judge_model="scripted:judge", judge_fingerprint=fingerprint, **more)


def a_run_plan(
    run_id: str,
    letters: Letters,
    *,
    evaluators: Sequence[PlannedEvaluator] = (),
    hashes: Mapping[str, str] | None = None,
    facts: Mapping[str, Mapping[str, Any]] | None = None,
    rule: Mapping[str, Any] | None = None,
    **more: Any,
) -> Plan:
    """A plan with these cases under every evaluator.

    Args:
        run_id: Its id.
        letters: Its cases with as many trials as letters.
        evaluators: ``E`` unless given.
        hashes: Of single cases, where they are not those of all other plans.
        facts: Changes of single cases.
        rule: ``gate.regression``.
        **more: Changes of the plan.
    """
    planned = tuple(evaluators) or (lenient(),)
    cases = tuple(
        replace(
            PlannedCase(
                case_id=case_id,
                case_hash=(hashes or {}).get(case_id, f"hash of {case_id}"),
                agent_fingerprint="g",
                layer="behavior",
                stage="regression",
                trials=len(outcomes),
                evaluators=tuple(evaluator.name for evaluator in planned),
            ),
            **(facts or {}).get(case_id, {}),
        )
        for case_id, outcomes in letters.items()
    )
    gate = {"max_error_share": "1.0", "regression": rule}
    return replace(a_plan(*cases), run_id=run_id, evaluators=planned, gate=gate, **more)


def a_side(run_id: str, letters: Letters, **more: Any) -> Side:
    """A run in memory, with the same outcomes under each of its evaluators; ``more`` as ``a_run_plan``."""
    plan = a_run_plan(run_id, letters, **more)
    rows = [
        (case.case_id, name, _STATUSES[letter].value, _blame(letter), None)
        for case in plan.cases
        for name in case.evaluators
        for letter in letters[case.case_id]
    ]
    return Side.of_tallies(tally(plan, rows))


def counted(run_id: str, pairs: Sequence[tuple[int, int]]) -> Side:
    """A run in memory from ``(passed, judged)`` of each case."""
    plan = a_run_plan(run_id, {f"c{i}": "P" * judged for i, (_, judged) in enumerate(pairs)})
    return Side.of(plan, {(f"c{i}", "E"): Counts(n, n, p, n) for i, (p, n) in enumerate(pairs)})


def beside(base: Side, now: Side) -> Comparison:
    """One run against its base."""
    (found,) = compare([(base, now)])
    return found


def put_run(
    store: Store, plan: Plan, letters: Letters, *, endings: Mapping[str, Ending] | None = None
) -> Finished:
    """Play a plan: stage these outcomes under each of its evaluators, and finish.

    Args:
        store: Where to.
        plan: With its base, if any.
        letters: By case; a case with fewer letters than trials leaves the run open.
        endings: Of the trials of single cases.
    """
    store.create(plan_key(plan.run_id), plan.to_json())
    records = list(_records(plan, letters, endings or {}))
    store.create(staging_key(plan.run_id, "000001-w-000000.jsonl.zst"), encode_group(records))
    return finish_run(store, plan.run_id)


def play(store: Store, run_id: str, letters: Letters, **more: Any) -> Finished:
    """A run of the suite with the baseline that it has now; ``more`` as ``a_run_plan``."""
    plan = a_run_plan(run_id, letters, **more)
    return put_run(store, choose(store, plan, None).freeze(plan), letters)


def _records(plan: Plan, letters: Letters, endings: Mapping[str, Ending]) -> Iterator[bytes]:
    for case, number in plan.trials():
        if number >= len(letters[case.case_id]):
            continue
        letter = letters[case.case_id][number]
        if not plan.is_sweep:
            key = TrialKey(run_id=plan.run_id, suite=plan.suite, case_id=case.case_id, trial=number)
            yield encode_record(a_trial("said", key=key, ending=endings.get(case.case_id, Ending.COMPLETED)))
        for name in case.evaluators:
            planned = plan.evaluator(name)
            blame = Blame.JUDGE if letter == "E" else None
            score = a_score(_STATUSES[letter], evaluator=name, version=planned.version, blame=blame)
            yield encode_record(
                Cell(
                    case_id=case.case_id,
                    trial=number,
                    score=score,
                    judge_model=planned.judge_model,
                    judge_fingerprint=planned.judge_fingerprint,
                )
            )


def _blame(letter: str) -> str | None:
    return Blame.JUDGE.value if letter == "E" else None
