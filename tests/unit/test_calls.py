"""Scopes: whose account a call goes on, also across tasks and threads."""

import asyncio
from typing import Any

from makers import a_scope
from nightgate.calls import Call, Outcome, Role, Scope, current_scope, scoped
from nightgate.trials import Usage


def a_ledger_row(**more: Any) -> Call:
    values: dict[str, Any] = {
        "call_id": "c",
        "run_id": "r",
        "suite": "demo",
        "role": Role.AGENT,
        "case_id": "a",
        "trial": 0,
        "evaluator": None,
        "model": "m",
        "attempt": 1,
        "outcome": Outcome.OK,
        "usage": Usage(input=1, output=2),
        "cost_nanousd": 5,
    }
    return Call(**values | more)


def test_only_failures_that_may_pass_are_tried_again() -> None:
    """A wrong key stays wrong, and an unknown error may be a mistake of ours."""
    assert {outcome.value for outcome in Outcome if outcome.transient} == {
        "throttled",
        "server_error",
        "timeout",
        "disconnect",
        "cut",
    }


def test_nobody_is_charged_outside_of_a_scope() -> None:
    """And after it the one before is back."""
    outer, inner = a_scope(), a_scope(Role.JUDGE)
    assert current_scope() is None
    with scoped(outer):
        with scoped(inner):
            assert current_scope() is inner
        assert current_scope() is outer
    assert current_scope() is None


async def test_child_tasks_and_threads_are_charged_to_the_same_scope() -> None:
    """Tools and sync judges run in threads."""

    async def child() -> Scope | None:
        return current_scope()

    with scoped(a_scope()) as scope:
        assert await asyncio.create_task(child()) is scope
        assert await asyncio.to_thread(current_scope) is scope


async def test_two_trials_at_once_have_a_scope_each() -> None:
    """Their calls never meet."""
    both = asyncio.Barrier(2)

    async def trial(number: int) -> int:
        with scoped(a_scope(trial=number)):
            await both.wait()
            found = current_scope()
            assert found is not None
            return found.trial

    assert await asyncio.gather(trial(0), trial(1)) == [0, 1]


def test_a_scope_adds_up_what_is_known() -> None:
    """Tokens of failed attempts were paid too."""
    scope = a_scope(calls=[a_ledger_row(), a_ledger_row(outcome=Outcome.SERVER_ERROR, attempt=2)])
    assert (scope.usage, scope.cost_nanousd) == (Usage(input=2, output=4), 10)


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    """Unknown is not free."""
    scope = a_scope(calls=[a_ledger_row(), a_ledger_row(usage=None, cost_nanousd=None)])
    assert scope.cost_nanousd is None
    assert scope.usage == Usage(input=1, output=2)


def test_no_calls_cost_nothing() -> None:
    """And that is known."""
    assert a_scope().cost_nanousd == 0
