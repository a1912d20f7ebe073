"""What a run may cost, guessed from the length of texts before anything was ever run.

Owns the assumptions, which are printed with the figure. A guess is never a cap: the budget reserves
from real requests. Knows no history.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from nightgate.cases import Case, Persona, Suite, known_evaluator
from nightgate.plans import EvaluatorFacts, PlannedCase, PlannedEvaluator
from nightgate.prices import FREE, NANO, PriceTable, list_and_batch_nanousd
from nightgate.trials import Usage

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


def guess_facts(suite: Suite, name: str) -> EvaluatorFacts:
    """What can be said of an evaluator without importing it; ``check`` plans with this."""
    config = suite.evaluators.get(name)
    known = None if config is not None and config.use is not None else known_evaluator(name)
    return EvaluatorFacts(version=0, kind=known.kind if known is not None else "code")


def guess_cost(
    suite: Suite,
    cases: Collection[PlannedCase],
    evaluators: Collection[PlannedEvaluator],
    prices: PriceTable,
) -> dict[str, Any]:
    """US dollars by role at list price, and in the providers' batch queues; None where a price is unknown.

    Args:
        suite: With the models that would run.
        cases: As planned.
        evaluators: As planned.
        prices: The table. Scripts count as free: their own prices are for drills.

    Returns:
        ``agent``, ``judge``, ``user`` and ``total`` at list price, ``at_least`` of what is known of it, and
        ``batch`` with the same four, null where a model has no queue.
    """
    by_id: Mapping[str, Case] = {case.id: case for case in suite.cases}
    agent, user = _Bill(suite.model, prices), _Bill(suite.user, prices)
    bills = {e.judge_model: _Bill(e.judge_model, prices) for e in evaluators if e.asks}
    judges = {e.name: bills[e.judge_model] for e in evaluators if e.asks}
    for planned in cases:
        case = by_id[planned.case_id]
        agent.add(agent_calls(case), planned.trials)
        user.add(user_calls(case), planned.trials)
        for name in planned.evaluators:
            if name in judges:
                judges[name].add((judge_call(case),), planned.trials)
    roles = {"agent": (agent,), "judge": tuple(bills.values()), "user": (user,)}
    listed = {role: _added(bill.usd for bill in found) for role, found in roles.items()}
    queued = {role: _added(bill.batch for bill in found) if found else None for role, found in roles.items()}
    return {
        **listed,
        "total": _added(listed.values()),
        "at_least": sum(bill.at_least for found in roles.values() for bill in found),
        "batch": _by_batch(listed, queued),
        "guess": True,
        "assumed": ASSUMED,
    }


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
    judges = {e.name for e in evaluators if e.asks}
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
        self._listed = self._queued = self._unpriced = 0

    def add(self, calls: Collection[Usage], times: int) -> None:
        """Count the calls of a task that is done so many times."""
        for listed, queued in (list_and_batch_nanousd(usage, self._price) for usage in calls):
            self._unpriced += times * (listed is None)
            self._listed += times * (listed or 0)
            self._queued += times * (queued or 0)

    @property
    def at_least(self) -> float:
        """Of the calls that have a price, at list price."""
        return self._listed / NANO

    @property
    def usd(self) -> float | None:
        """None when there are calls and nobody knows their price."""
        return None if self._unpriced else self._listed / NANO

    @property
    def batch(self) -> float | None:
        """Through the provider's batch queue; None also when it has none."""
        queue = self._price is not None and self._price.batch is not None
        return self._queued / NANO if queue and not self._unpriced else None


def _added(amounts: Iterable[float | None]) -> float | None:
    """Unknown with anything stays unknown."""
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None


def _by_batch(listed: Mapping[str, float | None], queued: Mapping[str, float | None]) -> dict[str, Any]:
    """Batch price by role, and in total: roles without a queue count at list price there."""
    has_queue = any(amount is not None for amount in queued.values())
    mixed = [listed[role] if amount is None else amount for role, amount in queued.items()]
    return {**queued, "total": _added(mixed) if has_queue else None}
