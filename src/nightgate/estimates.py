"""What a run may cost, guessed from the length of texts before anything was ever run.

Owns the assumptions, which are printed with the figure. A guess is never a cap: the budget reserves
from real requests. Knows no history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from nightgate.cases import Case, Persona, Suite
from nightgate.plans import PlannedCase, PlannedEvaluator
from nightgate.prices import FREE, PriceTable, cost_nanousd
from nightgate.trials import Usage

NANO = 1_000_000_000
ASSUMED = {
    "characters_per_token": 4,
    "instructions_tokens": 600,
    "tool_result_tokens": 400,
    "answer_tokens": 150,
    "judge_prompt_tokens": 900,
    "judge_answer_tokens": 150,
    "user_message_tokens": 30,
    "calls_an_agent_turn": 2,
}
"""Per call. An agent with tools is taken to make two calls a turn; a conversation to take one turn more
than its withheld facts need, or all of them where a limit has to be held."""


def guess_cost(
    suite: Suite,
    cases: Collection[PlannedCase],
    evaluators: Collection[PlannedEvaluator],
    prices: PriceTable,
) -> dict[str, Any]:
    """US dollars by role at list price; None where a price is unknown.

    Args:
        suite: With the models that would run.
        cases: As planned.
        evaluators: As planned.
        prices: The table. Scripts count as free: their own prices are for drills.
    """
    by_id: Mapping[str, Case] = {case.id: case for case in suite.cases}
    judges = {e.name for e in evaluators if e.kind == "judge"}
    agent, judge, user = _Bill(suite.model, prices), _Bill(suite.judge, prices), _Bill(suite.user, prices)
    for planned in cases:
        case = by_id[planned.case_id]
        agent.add(agent_calls(case), planned.trials)
        user.add(user_calls(case), planned.trials)
        judge.add((judge_call(case),), planned.trials * sum(name in judges for name in planned.evaluators))
    dollars = {"agent": agent.usd, "judge": judge.usd, "user": user.usd}
    known = [amount for amount in dollars.values() if amount is not None]
    total = sum(known) if len(known) == len(dollars) else None
    return {**dollars, "total": total, "guess": True, "assumed": ASSUMED}


def expected_calls(
    suite: Suite, cases: Collection[PlannedCase], evaluators: Collection[PlannedEvaluator]
) -> dict[str, int]:
    """Model calls by role that a run is expected to make, and ``total``.

    Args:
        suite: With its cases.
        cases: As planned.
        evaluators: As planned.
    """
    by_id: Mapping[str, Case] = {case.id: case for case in suite.cases}
    judges = {e.name for e in evaluators if e.kind == "judge"}
    calls = {"agent": 0, "user": 0, "judge": 0}
    for planned in cases:
        case = by_id[planned.case_id]
        calls["judge"] += planned.trials * sum(name in judges for name in planned.evaluators)
        calls["agent"] += planned.trials * len(agent_calls(case))
        calls["user"] += planned.trials * len(user_calls(case))
    return {**calls, "total": sum(calls.values())}


def expected_turns(persona: Persona) -> int:
    """User turns that a conversation is taken to last."""
    most = min(persona.max_turns, persona.patience or persona.max_turns)
    return most if persona.limits_only else min(most, 2 + len(persona.withheld))


def agent_calls(case: Case) -> tuple[Usage, ...]:
    """The agent's calls of one trial, call by call."""
    if case.persona is not None:
        return tuple(_talking(case.persona))
    asked = len(case.input or "") // ASSUMED["characters_per_token"]
    first = ASSUMED["instructions_tokens"] + asked
    last = ASSUMED["answer_tokens"]
    if not (case.expect.tools.asks or case.expect.arguments):
        return (Usage(input=first, output=last),)
    called = last // 3
    return (
        Usage(input=first, output=called),
        Usage(input=first + ASSUMED["tool_result_tokens"] + called, output=last),
    )


def user_calls(case: Case) -> tuple[Usage, ...]:
    """The simulated user's calls of one trial; none where there is no persona or its words are given."""
    if case.persona is None:
        return ()
    spoken = ASSUMED["user_message_tokens"] + ASSUMED["answer_tokens"]
    first = int(case.first_message is not None)
    return tuple(
        Usage(input=ASSUMED["instructions_tokens"] + turn * spoken, output=ASSUMED["user_message_tokens"])
        for turn in range(first, expected_turns(case.persona))
    )


def judge_call(case: Case) -> Usage:
    """One judgement of one trial."""
    read = ASSUMED["judge_prompt_tokens"] + ASSUMED["tool_result_tokens"] + ASSUMED["answer_tokens"]
    asked = len(case.input or "") // ASSUMED["characters_per_token"]
    return Usage(input=read + asked, output=ASSUMED["judge_answer_tokens"])


def _talking(persona: Persona) -> Iterator[Usage]:
    """The agent's side of a conversation: each turn reads all that came before."""
    a_turn = ASSUMED["user_message_tokens"] + ASSUMED["answer_tokens"] + ASSUMED["tool_result_tokens"]
    for turn in range(expected_turns(persona)):
        call = Usage(
            input=ASSUMED["instructions_tokens"] + turn * a_turn, output=ASSUMED["answer_tokens"] * 2 // 3
        )
        yield from (call,) * ASSUMED["calls_an_agent_turn"]


class _Bill:
    """Dollars of a role, call by call: a long prompt has other rates, many short ones have not."""

    def __init__(self, spec: str | None, prices: PriceTable) -> None:
        free = spec is None or spec.startswith("scripted:")
        self._price = FREE if spec is None or free else prices.price(spec)
        self._nanousd = 0
        self._calls = 0

    def add(self, calls: Collection[Usage], times: int) -> None:
        self._calls += times * len(calls)
        if self._price is not None:
            self._nanousd += times * sum(cost_nanousd(usage, self._price) for usage in calls)

    @property
    def usd(self) -> float | None:
        """None when there are calls and nobody knows their price."""
        return None if self._price is None and self._calls else self._nanousd / NANO
