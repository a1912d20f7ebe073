"""What a run may cost, guessed from the length of texts before anything was ever run.

Owns the assumptions, which are printed with the figure. A guess is never a cap: the budget reserves
from real requests. Knows no history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from nightgate.cases import Case, Suite
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
}
"""Per call; an agent with tools is taken to make two calls a trial."""


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
    agent, judge = Usage(), Usage()
    for planned in cases:
        case = by_id[planned.case_id]
        agent = agent + _times(_agent(case), planned.trials)
        cells = planned.trials * sum(name in judges for name in planned.evaluators)
        judge = judge + _times(_judge(case), cells)
    dollars = {
        "agent": _usd(agent, suite.model, prices),
        "judge": _usd(judge, suite.judge, prices) if judge.total else 0.0,
    }
    known = [amount for amount in dollars.values() if amount is not None]
    total = sum(known) if len(known) == len(dollars) else None
    return {**dollars, "total": total, "guess": True, "assumed": ASSUMED}


def _agent(case: Case) -> Usage:
    asked = len(case.input or "") // ASSUMED["characters_per_token"]
    first = ASSUMED["instructions_tokens"] + asked
    if not (case.expect.tools.asks or case.expect.arguments):
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
