"""The grid: planned once, every cell in it exactly once, in every shard exactly once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned_case, a_suite
from nightgate.cases import EvaluatorConfig, threshold_of
from nightgate.estimates import guess_facts
from nightgate.grids import evaluator_order, plan_cases, plan_evaluators
from nightgate.plans import (
    Fingerprint,
    Plan,
    new_run_id,
    utc_date,
)

plans = st.lists(st.integers(1, 5), max_size=8).map(
    lambda counts: a_plan(*(a_planned_case(a_case(f"c{i}"), trials=n) for i, n in enumerate(counts)))
)


@given(plan=plans)
def test_a_plan_reads_back_as_it_was_written(plan: Plan) -> None:
    """The gate decides with the stored plan."""
    assert Plan.from_json(json.loads(plan.to_json())) == plan


@given(plan=plans)
def test_cell_count_is_the_number_of_cells(plan: Plan) -> None:
    """Denominators come from here."""
    assert plan.cell_count == len(list(plan.cells()))
    assert plan.trial_count == len(list(plan.trials()))


def test_what_a_case_does_not_ask_for_is_not_planned() -> None:
    """It leaves no row and no hole."""
    suite = a_suite(a_case("a", expect={"cites": []}), a_case("b", expect={"tools": {"must_call": ["x"]}}))

    planned = plan_cases(suite, live=False, trials=None, fingerprints={})

    assert [case.evaluators for case in planned] == [("CitesSource",), ("ToolPolicy",)]


def test_live_evaluators_are_left_out_of_scripted_runs() -> None:
    """Judges cost money; deterministic runs go on every commit."""
    suite = a_suite(
        a_case("a", expect={"cites": []}),
        evaluators={"HelpfulnessEvaluator": EvaluatorConfig(when="live")},
        judge="scripted:judge",
    )

    offline = plan_cases(suite, live=False, trials=None, fingerprints={})
    live = plan_cases(suite, live=True, trials=None, fingerprints={})

    assert offline[0].evaluators == ("CitesSource",)
    assert set(live[0].evaluators) == {"CitesSource", "HelpfulnessEvaluator"}


def test_trials_come_from_the_request_then_the_case_then_the_suite() -> None:
    """The nearer word wins."""
    suite = a_suite(a_case("a", expect={"cites": []}, trials=5), a_case("b", expect={"cites": []}), trials=2)

    by_suite = [case.trials for case in plan_cases(suite, live=False, trials=None, fingerprints={})]
    by_request = [case.trials for case in plan_cases(suite, live=False, trials=7, fingerprints={})]

    assert (by_suite, by_request) == ([5, 2], [7, 7])


def test_evaluators_are_reported_in_the_order_of_the_suite() -> None:
    """People look for them where they wrote them."""
    suite = a_suite(
        a_case("a", expect={"cites": [], "tools": {"must_call": ["x"]}, "state": {"x": 1}}),
        evaluators={"CitesSource": EvaluatorConfig(), "ToolPolicy": EvaluatorConfig()},
    )
    cases = plan_cases(suite, live=False, trials=None, fingerprints={})

    assert tuple(evaluator_order(suite, cases)) == ("CitesSource", "ToolPolicy", "StateReached")


def test_thresholds_default_by_kind() -> None:
    """1.0 for code, 0.85 for judges, none for metrics."""
    suite = a_suite()

    found = {name: threshold_of(suite, name, "code") for name in ("ToolPolicy", "Criterion:tone", "ReAsks")}

    assert found == {"ToolPolicy": "1.0", "Criterion:tone": "0.85", "ReAsks": None}


def test_a_threshold_keeps_its_text() -> None:
    """0.85 as a float is not 0.85."""
    suite = a_suite(
        a_case("a", expect={"cites": []}), evaluators={"CitesSource": EvaluatorConfig(threshold="0.850")}
    )
    cases = plan_cases(suite, live=False, trials=None, fingerprints={})

    planned = plan_evaluators(
        suite, cases, judge=None, facts={"CitesSource": guess_facts(suite, "CitesSource")}
    )

    assert planned[0].threshold == "0.850"


def test_fingerprint_changes_with_each_of_its_parts() -> None:
    """What defines the thing under test decides what may be compared."""
    base = Fingerprint(model="m", system_prompt="p", tools="t", limits={"turns": 3}, sources={"kb": "1"})
    others = [
        Fingerprint(model="n", system_prompt="p", tools="t", limits={"turns": 3}, sources={"kb": "1"}),
        Fingerprint(model="m", system_prompt="q", tools="t", limits={"turns": 3}, sources={"kb": "1"}),
        Fingerprint(model="m", system_prompt="p", tools="u", limits={"turns": 3}, sources={"kb": "1"}),
        Fingerprint(model="m", system_prompt="p", tools="t", limits={"turns": 4}, sources={"kb": "1"}),
        Fingerprint(model="m", system_prompt="p", tools="t", limits={"turns": 3}, sources={"kb": "2"}),
    ]

    assert len({base.digest, *(other.digest for other in others)}) == 6


@given(suite=st.from_regex(r"[a-z][a-z0-9-]{0,63}", fullmatch=True))
def test_run_ids_are_valid_for_any_suite(suite: str) -> None:
    """Long suite names are cut, not refused at night."""
    from nightgate.rows.keys import checked_id

    assert checked_id(new_run_id(suite, datetime(2026, 11, 29, 22, 30, tzinfo=UTC), "a1b2c3"))


def test_the_date_is_the_utc_day() -> None:
    """A night in another zone is filed under one day everywhere."""
    from datetime import timedelta, timezone

    late = datetime(2026, 11, 29, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    assert utc_date(late).isoformat() == "2026-11-30"
