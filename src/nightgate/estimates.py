"""What a run may cost, guessed from the length of texts before anything was ever run.

Owns the assumptions, which are printed with the figure. A guess is never a cap: the budget reserves
from real requests. Knows no history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from nightgate.cases import Case, Persona, Suite
from nightgate.plans import PlannedCase, PlannedEvaluator
from nightgate.prices import Price, PriceTable, cost_nanousd
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
    agent, judge, user = Usage(), Usage(), Usage()
    for planned in cases:
        case = by_id[planned.case_id]
        agent = agent + _times(_talking(case) if case.persona else _agent(case), planned.trials)
        user = user + _times(_user(case), planned.trials)
        cells = planned.trials * sum(name in judges for name in planned.evaluators)
        judge = judge + _times(_judge(case), cells)
    dollars = {
        "agent": _usd(agent, suite.model, prices),
        "judge": _usd(judge, suite.judge, prices) if judge.total else 0.0,
        "user": _usd(user, suite.user, prices) if user.total else 0.0,
    }
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
        if case.persona is not None:
            turns = expected_turns(case.persona)
            calls["agent"] += planned.trials * turns * ASSUMED["calls_an_agent_turn"]
            calls["user"] += planned.trials * (turns - (case.first_message is not None))
        else:
            calls["agent"] += planned.trials * (1 + _uses_tools(case))
    return {**calls, "total": sum(calls.values())}


def expected_turns(persona: Persona) -> int:
    """User turns that a conversation is taken to last."""
    most = min(persona.max_turns, persona.patience or persona.max_turns)
    return most if persona.limits_only else min(most, 2 + len(persona.withheld))


def _uses_tools(case: Case) -> bool:
    return case.expect.tools.asks or bool(case.expect.arguments)


def _talking(case: Case) -> Usage:
    """The agent's side of a conversation: each turn reads all that came before."""
    assert case.persona is not None
    turns = expected_turns(case.persona)
    a_turn = ASSUMED["user_message_tokens"] + ASSUMED["answer_tokens"] + ASSUMED["tool_result_tokens"]
    reads = sum(ASSUMED["instructions_tokens"] + turn * a_turn for turn in range(turns))
    calls = ASSUMED["calls_an_agent_turn"]
    return Usage(input=calls * reads, output=calls * turns * ASSUMED["answer_tokens"] * 2 // 3)


def _user(case: Case) -> Usage:
    if case.persona is None:
        return Usage()
    turns = expected_turns(case.persona)
    spoken = ASSUMED["user_message_tokens"] + ASSUMED["answer_tokens"]
    reads = sum(ASSUMED["instructions_tokens"] + turn * spoken for turn in range(turns))
    return Usage(input=reads, output=turns * ASSUMED["user_message_tokens"])


def _agent(case: Case) -> Usage:
    asked = len(case.input or "") // ASSUMED["characters_per_token"]
    first = ASSUMED["instructions_tokens"] + asked
    if not _uses_tools(case):
        return Usage(input=first, output=ASSUMED["answer_tokens"])
    second = first + ASSUMED["tool_result_tokens"] + ASSUMED["answer_tokens"] // 3
    return Usage(input=first + second, output=ASSUMED["answer_tokens"] * 4 // 3)


def _judge(case: Case) -> Usage:
    read = ASSUMED["judge_prompt_tokens"] + ASSUMED["tool_result_tokens"] + ASSUMED["answer_tokens"]
    asked = len(case.input or "") // ASSUMED["characters_per_token"]
    return Usage(input=read + asked, output=ASSUMED["judge_answer_tokens"])


def _times(usage: Usage, count: int) -> Usage:
    return Usage(input=usage.input * count, output=usage.output * count)


def _usd(usage: Usage, spec: str | None, prices: PriceTable) -> float | None:
    if spec is None or spec.startswith("scripted:"):
        return 0.0
    price: Price | None = prices.price(spec)
    return None if price is None else cost_nanousd(usage, price) / NANO
