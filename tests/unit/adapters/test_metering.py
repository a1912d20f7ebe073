"""The meter around every model: retries, ledger, budget, limits, loops."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from strands import Agent
from strands.agent.conversation_manager import (
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.types.exceptions import ContextWindowOverflowException, ModelThrottledException

import nightgate.playing
from makers import (
    AT_ONCE,
    Journal,
    TinyModel,
    a_case,
    a_clock,
    a_limiter,
    a_meter,
    a_plan,
    a_planned_case,
    a_price,
    a_scope,
    called,
    in_turn,
    metered,
    said,
    user,
)
from nightgate import deadlines
from nightgate.adapters import metering
from nightgate.adapters.agents import StrandsFactory
from nightgate.adapters.failures import ScriptedFailure
from nightgate.adapters.metering import MeteredModel, RetryPolicy
from nightgate.adapters.scripted import ScriptedModel
from nightgate.calls import Call, CallStart, Outcome, Role, Scope, scoped
from nightgate.cases.scripts import load_script
from nightgate.errors import BudgetError, ModelCallError
from nightgate.playing import play
from nightgate.prices import FREE, Budget
from nightgate.trials import Ending, Trial, Usage
from virtual import in_virtual_time

PRICE = a_price(input="1", output="1")
ASK = [user("hi")]


def ledger(model: MeteredModel) -> Journal:
    journal: Any = model._meter.journal
    return journal


async def ask(model: MeteredModel, scope: Scope | None = None) -> str:
    with scoped(scope or a_scope()):
        events = [event async for event in model.stream(ASK)]
    return "".join(
        e["contentBlockDelta"]["delta"].get("text", "") for e in events if "contentBlockDelta" in e
    )


def fails(kind: str) -> TinyModel:
    def reply(*_: Any) -> Any:
        raise ScriptedFailure(kind)

    return TinyModel(reply)


class Gate:
    """A model that answers when it is told to, and says when it was asked."""

    def __init__(self, *events: Any) -> None:
        self.open, self.asked = asyncio.Event(), asyncio.Event()
        self.events = events or said("answer")
        self.model = TinyModel(self._reply)

    async def _reply(self, *_: Any) -> list[Any]:
        self.asked.set()
        await self.open.wait()
        return list(self.events)


# --- retries ---


@pytest.mark.parametrize("kind", ["throttled", "server_error", "timeout", "disconnect"])
async def test_what_may_pass_is_tried_again(kind: str) -> None:
    """Until it answers; each try is a row of the ledger."""
    model = metered(in_turn(ScriptedFailure(kind), ScriptedFailure(kind), said("fine")))
    assert await ask(model) == "fine"
    assert ledger(model).outcomes == [kind, kind, "ok"]
    assert [call.attempt for call in ledger(model).ends] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["auth", "error", "exhausted"])
async def test_what_stays_wrong_is_tried_once(kind: str) -> None:
    """A retry of a wrong key, or of a mistake of ours, costs money and mends nothing."""
    model, scope = metered(fails(kind)), a_scope()
    with pytest.raises(ModelCallError) as caught:
        await ask(model, scope)
    assert (caught.value.kind, caught.value.attempts, model.inner.calls) == (kind, 1, 1)
    assert scope.fatal is caught.value


async def test_tries_are_bounded_and_the_last_failure_says_so() -> None:
    """Throttled to the end is the infrastructure's fault, with the count in the reason."""
    model = metered(fails("throttled"), policy=RetryPolicy(attempts=3, base_s=0))
    with pytest.raises(ModelCallError, match="tiny:model: throttled after 3 tries: scripted throttled"):
        await ask(model)
    assert model.inner.calls == 3


async def test_a_success_clears_the_failure_before_it() -> None:
    """An agent that asked another way after a failure has answered all the same."""
    model, scope = metered(in_turn(ScriptedFailure("auth"), said())), a_scope()
    with pytest.raises(ModelCallError):
        await ask(model, scope)
    await ask(model, scope)
    assert scope.fatal is None


async def test_retries_of_a_whole_run_are_bounded() -> None:
    """When everything is down, a thousand trials do not make six thousand calls."""
    meter = a_meter(retries=7)
    model = metered(fails("server_error"), meter)
    await asyncio.gather(*(ask(model) for _ in range(10)), return_exceptions=True)
    assert model.inner.calls == 10 + 7


@given(st.integers(1, 30), st.floats(0, 10), st.floats(0, 60))
def test_the_wait_is_full_jitter_under_a_cap(failed: int, base_s: float, cap_s: float) -> None:
    """Anything from nothing to the doubled base: parallel retries must not march in step."""
    wait = RetryPolicy(base_s=base_s, cap_s=cap_s).delay_s(failed, None)
    assert 0 <= wait <= min(cap_s, base_s * 2 ** (failed - 1))


def test_waits_differ() -> None:
    """Otherwise it is no jitter."""
    assert len({RetryPolicy().delay_s(3, None) for _ in range(20)}) > 10


@pytest.mark.parametrize("policy", [AT_ONCE, RetryPolicy(), RetryPolicy(base_s=0.02, cap_s=0.5)])
def test_what_the_provider_asked_for_is_waited(policy: RetryPolicy) -> None:
    """Retry-After is honoured also where our own waits are short, but not for an hour."""
    assert policy.delay_s(1, 7.0) >= 7.0
    assert policy.delay_s(1, 3600.0) <= 120.0


async def test_retry_after_pauses_the_model_for_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was told waits, and so do those that would be told next."""
    pauses: list[float] = []

    class ToldError(Exception):
        status_code = 429
        headers = {"Retry-After": "3"}  # noqa: RUF012 - as clients have it

    limiter = a_limiter()
    monkeypatch.setattr(limiter, "throttled", lambda _, pause_s: pauses.append(pause_s))
    model = metered(in_turn(ToldError(), said()), limiter=limiter)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    await ask(model)
    assert pauses == slept == [3.0]


def test_a_throttling_storm_costs_no_verdict() -> None:
    """20 trials at once; the model throttles the first 30 calls and takes 4 at a time."""
    in_virtual_time(_storm())


async def _storm() -> None:
    calls = in_flight = 0

    async def reply(*_: Any) -> Any:
        nonlocal calls, in_flight
        calls += 1
        if calls <= 30 or in_flight >= 4:
            raise ModelThrottledException("slow down")
        in_flight += 1
        await asyncio.sleep(0.001)
        in_flight -= 1
        return said("fine")

    limiter = a_limiter(20, now=asyncio.get_running_loop().time)
    model = metered(TinyModel(reply), limiter=limiter, policy=RetryPolicy(base_s=0.001, cap_s=0.02))
    scopes = [a_scope(trial=trial) for trial in range(20)]
    answers = await asyncio.gather(*(ask(model, scope) for scope in scopes))
    assert answers == ["fine"] * 20
    assert calls <= 20 * 6
    assert limiter.peak <= 20
    assert sum(call.outcome is Outcome.THROTTLED for call in ledger(model).ends) == calls - 20
    assert all(scope.waited_s > 0 for scope in scopes)


# --- streams ---


async def test_a_cut_stream_is_tried_again_and_never_handed_out_in_halves() -> None:
    """The agent would take half an answer for the whole one."""
    half = said("half of it")[:3]
    model = metered(in_turn(half, said("all of it")))
    assert await ask(model) == "all of it"
    assert ledger(model).outcomes == ["cut", "ok"]


async def test_a_stream_that_breaks_half_way_is_not_handed_out_either() -> None:
    """The error comes after some events."""
    model = metered(in_turn([*said("half")[:3], ScriptedFailure("server_error")], said("whole")))
    assert await ask(model) == "whole"


async def test_a_stream_without_a_stop_ends_as_cut() -> None:
    """With the retries used up."""
    with pytest.raises(ModelCallError) as caught:
        await ask(metered(TinyModel(lambda *_: said("x")[:2])))
    assert caught.value.kind == "cut"


async def test_a_provider_that_is_silent_for_too_long_is_a_timeout() -> None:
    """What it was doing meanwhile, nobody knows: tokens and cost are unknown, not zero."""
    gate = Gate()
    model = metered(gate.model, policy=RetryPolicy(attempts=1), price=PRICE, timeout_s=0.01)
    with pytest.raises(ModelCallError):
        await ask(model)
    (call,) = ledger(model).ends
    assert (call.outcome, call.usage, call.cost_nanousd) == (Outcome.TIMEOUT, None, None)


async def test_a_client_that_cancels_its_own_request_is_a_disconnect() -> None:
    """Some HTTP clients do. It is no stop of the run."""
    model = metered(in_turn(asyncio.CancelledError(), said("fine")))
    assert await ask(model) == "fine"
    assert ledger(model).outcomes == ["disconnect", "ok"]


@pytest.mark.parametrize(
    ("sent", "kept"), [('{"a": 1}', {}), ("{}", {}), ('{"a": ', {"t1": '{"a": '}), ("[1]", {"t1": "[1]"})]
)
async def test_arguments_that_the_sdk_drops_are_kept(sent: str, kept: dict[str, str]) -> None:
    """It puts an empty object for what is no JSON; a check must see what the model wrote."""
    scope = a_scope()
    await ask(metered(in_turn(called("f", sent))), scope)
    assert scope.raw_arguments == kept


# --- the ledger ---


async def test_a_call_is_journalled_when_it_is_sent_and_when_it_ended() -> None:
    """A start without an end is what a kill leaves behind."""
    gate = Gate()
    model = metered(gate.model)
    asking = asyncio.create_task(ask(model))
    await gate.asked.wait()
    (start,) = ledger(model)
    assert isinstance(start, CallStart)
    gate.open.set()
    await asking
    start, end = ledger(model)
    assert isinstance(end, Call)
    assert (end.call_id, end.started_at) == (start.call_id, start.started_at)


async def test_a_row_says_who_what_and_how_much() -> None:
    """Everything by which money is told apart."""
    usage = {"cacheReadInputTokens": 3, "cacheWriteInputTokens": 4}
    model = metered(in_turn(said("x", usage=usage)), role=Role.JUDGE, price=a_price(input="1", output="2"))
    await ask(model, a_scope(Role.JUDGE, evaluator="E", case_id="c", trial=5, play=2))
    (call,) = ledger(model).ends
    assert (call.role, call.evaluator, call.case_id, call.trial, call.play) == (Role.JUDGE, "E", "c", 5, 2)
    assert call.usage == Usage(input=10, output=5, cache_read=3, cache_write=4)
    assert call.cost_nanousd == 20_000
    assert (call.stop_reason, call.model, call.late) == ("end_turn", "tiny:model", False)
    assert call.first_token_ms is not None


async def test_call_ids_are_unique_over_meters() -> None:
    """Two workers of one run write one ledger."""
    ids = {meter.next_id() for meter in (a_meter(), a_meter()) for _ in range(100)}
    assert len(ids) == 200


@pytest.mark.parametrize(
    ("inner", "price", "cost"),
    [
        (fails("auth"), PRICE, 0),
        (fails("auth"), None, 0),
        (in_turn(said()), None, None),
        (in_turn(said()), PRICE, 15_000),
        (in_turn(said()[:-1]), PRICE, None),
        (in_turn([*said()[:3], ScriptedFailure("auth")]), PRICE, None),
    ],
)
async def test_the_cost_of_an_attempt(inner: TinyModel, price: Any, cost: int | None) -> None:
    """Refused before a token flowed is nothing; broken in mid-stream, or unpriced, is unknown and not 0."""
    model = metered(inner, price=price)
    with contextlib.suppress(ModelCallError):
        await ask(model)
    assert ledger(model).ends[0].cost_nanousd == cost


def telling(**usage: Any) -> list[Any]:
    """An answer whose metadata tells these tokens."""
    return [event for event in said() if "metadata" not in event] + [{"metadata": {"usage": usage}}]


@pytest.mark.parametrize(
    "usage",
    [
        {"inputTokens": None, "outputTokens": None, "totalTokens": None},
        {"inputTokens": "10", "outputTokens": "5", "totalTokens": "15"},
    ],
    ids=["null", "text"],
)
async def test_an_answer_with_unreadable_tokens_has_no_known_cost(usage: dict[str, Any]) -> None:
    """It was billed: as 0 dollars, known, a budget would never bind. The cap books what was held for it."""
    budget = Budget(10**9)
    model = metered(in_turn(telling(**usage)), a_meter(budget=budget), price=PRICE)

    assert await ask(model) == "ok"

    (call,) = ledger(model).ends
    assert (call.outcome, call.usage, call.cost_nanousd) == (Outcome.OK, None, None)
    assert budget.spent_nanousd > 0


async def test_unreadable_tokens_do_not_break_the_agent_that_has_its_answer() -> None:
    """The SDK adds up what it is given, and null plus a number raises there: blamed on the agent."""
    reply = telling(inputTokens=None, outputTokens="5", totalTokens=None, cacheReadInputTokens=None)

    trial = await played(metered(in_turn(reply), price=PRICE))

    assert (trial.ending, trial.error, trial.cost_nanousd) == (Ending.COMPLETED, None, None)


async def test_missing_credentials_end_each_call_without_one_being_sent() -> None:
    """The provider's client would ask somewhere else, or raise something of its own."""
    model = metered(in_turn(), problem="set OPENAI_API_KEY")
    with pytest.raises(ModelCallError, match="auth: set OPENAI_API_KEY"):
        await ask(model)
    assert model.inner.calls == 0
    assert ledger(model).outcomes == ["auth"]


async def test_without_a_scope_a_call_is_on_the_ledger_all_the_same() -> None:
    """Somebody called a model by hand: paid is paid."""
    model = metered(in_turn(said()))
    async for _ in model.stream(ASK):
        pass
    assert ledger(model).outcomes == ["ok"]


# --- after the end of a trial ---


async def test_a_late_answer_is_dropped_and_its_tokens_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """agent_timeout, one row; what came afterwards was spent."""
    gate, meter, clock = Gate(), a_meter(), a_clock(monkeypatch, deadlines)
    model = metered(gate.model, meter, price=PRICE)
    playing = asyncio.create_task(played(model, timeout_s=0.05))
    await gate.asked.wait()
    clock.now += 1.0
    trial = await playing
    assert (trial.ending, trial.output) == (Ending.AGENT_TIMEOUT, "")
    gate.open.set()
    await meter.settle()
    (call,) = ledger(model).ends
    assert (call.late, call.outcome, call.cost_nanousd) == (True, Outcome.OK, 15_000)


async def test_a_call_whose_trial_ended_while_it_waited_is_not_sent() -> None:
    """Nobody would read the answer, and somebody would pay for it."""
    limiter, gate, inner = a_limiter(1), Gate(), in_turn(said())
    meter = a_meter()
    holding = asyncio.create_task(ask(metered(gate.model, meter, limiter=limiter)))
    await gate.asked.wait()
    scope = a_scope(trial=1)
    waiting = asyncio.create_task(ask(metered(inner, meter, limiter=limiter), scope))
    await asyncio.sleep(0)
    scope.closed = True
    gate.open.set()
    await holding
    with pytest.raises(ModelCallError, match="its trial is over"):
        await waiting
    assert inner.calls == 0
    assert ledger(metered(inner, meter)).outcomes == ["ok"]


async def test_a_failure_after_the_end_is_not_tried_again() -> None:
    """The trial is over; its retries would be for nobody."""
    gate = Gate(ScriptedFailure("server_error"))
    model, scope = metered(gate.model), a_scope()
    asking = asyncio.create_task(ask(model, scope))
    await gate.asked.wait()
    scope.closed = True
    gate.open.set()
    with pytest.raises(ModelCallError):
        await asking
    assert ledger(model).outcomes == ["server_error"]


async def test_settling_waits_for_late_calls_and_leaves_running_trials_alone() -> None:
    """A shard that is done must not cancel another one's calls."""
    late, running, meter = Gate(), Gate(), a_meter()
    over, going_on = a_scope(trial=0), a_scope(trial=1)
    first = asyncio.create_task(ask(metered(late.model, meter), over))
    second = asyncio.create_task(ask(metered(running.model, meter), going_on))
    await late.asked.wait()
    await running.asked.wait()
    over.closed = True
    settling = asyncio.create_task(meter.settle())
    late.open.set()
    await settling
    assert first.done() or await first == "answer"
    assert not second.done()
    running.open.set()
    assert await second == "answer"


async def test_what_does_not_come_in_time_is_unknown() -> None:
    """Null tokens and cost on the ledger: it was sent, and perhaps paid."""
    gate, meter = Gate(), a_meter()
    model, scope = metered(gate.model, meter, price=PRICE), a_scope()
    asking = asyncio.create_task(ask(model, scope))
    await gate.asked.wait()
    scope.closed = True
    await meter.settle(timeout_s=0.0)
    with pytest.raises(asyncio.CancelledError):
        await asking
    (call,) = ledger(model).ends
    assert (call.outcome, call.usage, call.cost_nanousd) == (Outcome.UNKNOWN, None, None)


async def test_abandoning_cancels_all_that_is_in_flight() -> None:
    """The machine was told to stop."""
    gate, meter = Gate(), a_meter()
    model = metered(gate.model, meter)
    asking = asyncio.create_task(ask(model))
    await gate.asked.wait()
    await meter.abandon()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ledger(model).outcomes == ["unknown"]


async def test_cancelling_the_asker_lets_the_call_end() -> None:
    """What it cost must come to be known."""
    gate, meter = Gate(), a_meter()
    model = metered(gate.model, meter)
    asking = asyncio.create_task(ask(model, scope := a_scope()))
    await gate.asked.wait()
    asking.cancel()
    scope.closed = True
    gate.open.set()
    await meter.settle()
    assert [(call.outcome, call.late) for call in ledger(model).ends] == [(Outcome.OK, True)]


# --- money ---


async def test_the_budget_refuses_before_the_call() -> None:
    """No row, no call; the run sees why."""
    meter, scope = a_meter(budget=Budget(1)), a_scope()
    model = metered(in_turn(), meter, price=PRICE)
    with pytest.raises(BudgetError):
        await ask(model, scope)
    assert (model.inner.calls, ledger(model)) == (0, [])
    assert isinstance(scope.fatal, BudgetError)


async def test_a_refusal_stands_though_a_smaller_call_passes() -> None:
    """The trial lacks an answer that the budget took from it: it is not whole."""
    meter, scope = a_meter(budget=Budget(1_100_000)), a_scope()
    model = metered(in_turn(said(), said()), meter, price=PRICE)
    with scoped(scope):
        with pytest.raises(BudgetError):
            async for _ in model.stream([user("x" * 4_000)]):
                pass
        async for _ in model.stream(ASK):
            pass
    assert isinstance(scope.fatal, BudgetError)


async def test_a_budget_of_nothing_stops_free_calls_too() -> None:
    """``--budget-usd 0``: no model call of any role, priced or not."""
    with pytest.raises(BudgetError):
        await ask(metered(in_turn(), a_meter(budget=Budget(0))))


async def test_money_held_for_a_call_is_given_back() -> None:
    """After success, after failure and after a cancellation."""
    budget, gate = Budget(10**9), Gate()
    meter = a_meter(budget=budget)
    await ask(metered(in_turn(said()), meter, price=PRICE))
    with contextlib.suppress(ModelCallError):
        await ask(metered(fails("auth"), meter, price=PRICE))
    asking = asyncio.create_task(ask(metered(gate.model, meter, price=PRICE)))
    await gate.asked.wait()
    assert budget.reserved_nanousd > 0
    await meter.abandon()
    await asyncio.gather(asking, return_exceptions=True)
    assert budget.reserved_nanousd == 0
    assert budget.unknown == 1


def costing(output: int) -> list[Any]:
    """An answer of so many tokens, of which a million cost a dollar."""
    return said("x", usage={"inputTokens": 0, "outputTokens": output})


class Crowd:
    """A model whose calls take a moment: how many were made, and how many at once."""

    def __init__(self, *, output: int | None, fail_first: str | None = None) -> None:
        self.made = self.now = self.most = 0
        self.output, self.fail_first = output, fail_first
        self.model = TinyModel(self._reply)

    async def _reply(self, *_: Any) -> list[Any]:
        self.made += 1
        self.now += 1
        self.most = max(self.most, self.now)
        first = self.made == 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.now -= 1
        if first and self.fail_first:
            raise ScriptedFailure(self.fail_first)
        return said("x")[:-1] if self.output is None else costing(self.output)


def spent(model: MeteredModel) -> int:
    """Whole dollars."""
    return model._meter.budget.spent_nanousd // 10**9


async def crowd(model: MeteredModel, calls: int = 10) -> None:
    await asyncio.gather(*(ask(model, a_scope(trial=i)) for i in range(calls)), return_exceptions=True)


async def test_a_cap_holds_against_calls_that_cost_more_than_their_guess() -> None:
    """Five dollars each, ten at once, a cap of twelve: the first one tells the others what is held."""
    crew = Crowd(output=5_000_000)
    model = metered(crew.model, a_meter(budget=Budget(12 * 10**9)), price=PRICE)
    await crowd(model)
    assert (spent(model), crew.made) == (10, 2)


async def test_the_first_call_under_a_cap_goes_alone_and_the_others_together() -> None:
    """One settled call is enough to go by; before it ten would have been in flight on a guess."""
    crew = Crowd(output=1)
    model = metered(crew.model, a_meter(budget=Budget(10**9)), price=PRICE)
    await crowd(model, 1)
    await crowd(model, 4)
    assert (crew.made, crew.most) == (5, 4)


async def test_waiting_for_the_first_call_is_waiting() -> None:
    """No deadline counts it, as little as waiting for a slot."""
    gate, other = Gate(), a_scope(trial=1)
    model = metered(gate.model, a_meter(budget=Budget(10**9)), price=PRICE)
    first = asyncio.create_task(ask(model))
    await gate.asked.wait()
    second = asyncio.create_task(ask(model, other))
    while not other.waiting:  # noqa: ASYNC110 - waiting has no event
        await asyncio.sleep(0)
    assert gate.model.calls == 1
    gate.open.set()
    await asyncio.gather(first, second)
    assert (other.waiting, gate.model.calls) == (0, 2)


async def test_a_first_call_that_failed_tells_nothing() -> None:
    """The next one goes alone as well; then it is known."""
    crew = Crowd(output=5_000_000, fail_first="auth")
    model = metered(crew.model, a_meter(budget=Budget(12 * 10**9)), price=PRICE)
    await crowd(model)
    assert (spent(model), crew.made) == (10, 3)


async def test_a_provider_that_never_tells_tokens_is_not_driven_one_by_one() -> None:
    """An answer without usage is all that will ever be known."""
    crew = Crowd(output=None)
    model = metered(crew.model, a_meter(budget=Budget(10**9)), price=PRICE)
    await crowd(model, 1)
    await crowd(model, 4)
    assert crew.most == 4


@pytest.mark.parametrize(
    ("cap", "price"), [(None, PRICE), (10**9, FREE), (10**9, None)], ids=["no cap", "free", "unpriced"]
)
async def test_where_nothing_can_bind_nobody_waits(cap: int | None, price: Any) -> None:
    """No cap, no price or a free model: all at once from the first call on."""
    crew = Crowd(output=1)
    await crowd(metered(crew.model, a_meter(budget=Budget(cap)), price=price), 6)
    assert crew.most == 6


async def test_instructions_and_tools_count_in_the_guess() -> None:
    """They are most of an agent's prompt."""
    tools = [{"name": "t", "description": "d" * 4_000_000, "inputSchema": {"json": {}}}]
    for more in ({"system_prompt": "s" * 4_000_000}, {"tool_specs": tools}):
        meter = a_meter(budget=Budget(900_000_000))
        model = metered(in_turn(said("x")), meter, price=PRICE)
        with scoped(a_scope()), pytest.raises(BudgetError):
            async for _ in model.stream(ASK, **more):
                pass
        assert await ask(model) == "x"


def a_script(tmp_path: Path, text: str, price: str = "{output: 1}") -> ScriptedModel:
    path = tmp_path / "demo.yaml"
    path.write_text(f"price: {price}\nreplies: {{'*': {text}}}\n", encoding="utf-8")
    return ScriptedModel(load_script(path), "demo")


@pytest.mark.parametrize(("cap", "each", "calls"), [(1.0, 500_000, 2), (0.35, 100_000, 3)])
async def test_a_scripts_cap_is_exact(tmp_path: Path, cap: float, each: int, calls: int) -> None:
    """Its next cost is written down: nobody goes alone, and not a cent is spent over the cap."""
    script = a_script(tmp_path, f"[{{say: x, delay_s: 0.01, usage: {{output: {each}}}}}]")
    meter = a_meter(budget=Budget(round(cap * 10**9)))
    model = metered(script, meter, price=PRICE)
    await crowd(model)
    assert meter.budget.spent_nanousd == calls * each * 1000
    assert len(ledger(model).ends) == calls


async def test_what_a_resumed_run_spent_counts_with_its_unknown_calls() -> None:
    """A call that was in flight at the kill is booked as the dearest of its model, not as nothing."""
    meter = a_meter(budget=Budget(12 * 10**9))
    model = metered(in_turn(costing(5_000_000)), meter, price=PRICE)
    await ask(model)
    known = ledger(model).ends[0]
    lost = replace(known, call_id="lost", outcome=Outcome.UNKNOWN, usage=None, cost_nanousd=None)
    alien = replace(lost, call_id="alien", model="other:model")

    resumed = a_meter(budget=Budget(12 * 10**9))
    resumed.recall([known, lost, alien])

    assert resumed.budget.spent_nanousd == 10 * 10**9
    with pytest.raises(BudgetError, match=r"the next call may cost 5\.00"):
        await ask(metered(in_turn(), resumed, price=PRICE))


async def test_calls_of_one_scope_are_capped() -> None:
    """An agent that loops ends; another scope has its own count."""
    meter = a_meter(call_caps={Role.AGENT: 3})
    model, scope = metered(TinyModel(lambda *_: said("x")), meter), a_scope()
    for _ in range(3):
        await ask(model, scope)
    with pytest.raises(ModelCallError, match="agent made 3 calls for one trial; the cap is 3") as caught:
        await ask(model, scope)
    assert caught.value.kind == "call_cap"
    assert await ask(model, a_scope(trial=1)) == "x"


# --- agents on a metered model ---


async def played(model: MeteredModel, *, timeout_s: float = 30.0, **agent: Any) -> Trial:
    factory = StrandsFactory(lambda given, _: Agent(model=given, callback_handler=None, **agent), "f")
    case = a_case()
    planned = a_planned_case(case)
    plan = a_plan(planned, timeout_s=timeout_s)
    return await play(plan, planned, case, 0, factory=factory, model=model, attempt=1)


async def test_waiting_for_the_model_is_no_slowness_of_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits in line for far longer than its deadline, and completes."""
    clock = a_clock(monkeypatch, deadlines, metering, nightgate.playing)
    limiter, gate, meter = a_limiter(1), Gate(), a_meter()
    other = asyncio.create_task(ask(metered(gate.model, meter, limiter=limiter), a_scope(trial=9)))
    await gate.asked.wait()
    model = metered(in_turn(said("done")), meter, limiter=limiter)
    waiting = asyncio.create_task(played(model, timeout_s=0.05))
    while not limiter._queue:  # noqa: ASYNC110 - the queue has no event
        await asyncio.sleep(0)
    clock.now += 1000.0
    await asyncio.sleep(0.2)  # the deadline is looked at meanwhile
    gate.open.set()
    trial = await waiting
    await other
    assert (trial.ending, trial.output) == (Ending.COMPLETED, "done")
    assert (trial.wait_ms, trial.latency_ms) == (1_000_000.0, 0.0)


async def test_the_sdk_does_not_retry_what_we_gave_up() -> None:
    """Its retry strategy would multiply ours: one throttled call became 36."""
    inner = TinyModel(lambda *_: [ModelThrottledException("slow down")])
    trial = await played(metered(inner))
    assert (trial.ending, inner.calls) == (Ending.INFRA_ERROR, AT_ONCE.attempts)


async def test_an_overflow_reaches_the_agents_conversation_manager() -> None:
    """It shortens its window and asks again; the trial completes."""
    overflow = ContextWindowOverflowException("too long")
    history = [user("a"), {"role": "assistant", "content": [{"text": "b"}]}] * 4
    model = metered(in_turn([overflow], said("short")))
    trial = await played(model, messages=history, conversation_manager=SlidingWindowConversationManager())
    assert (trial.ending, trial.output) == (Ending.COMPLETED, "short")
    assert ledger(model).outcomes == ["context_overflow", "ok"]


async def test_an_overflow_that_stays_is_the_agents_error() -> None:
    """It asked for more than its model can take."""
    trial = await played(metered(TinyModel(lambda *_: [ContextWindowOverflowException("too long")])))
    assert trial.ending is Ending.AGENT_ERROR


async def test_a_swallowed_failure_is_still_the_infrastructures() -> None:
    """The agent's code caught it and answered something."""

    class Stubborn:
        def __init__(self, model: Any) -> None:
            self.model = model

        async def invoke_async(self, text: str) -> str:
            with contextlib.suppress(ModelCallError):
                async for _ in self.model.stream([user(text)]):
                    pass
            return "all is well"

    factory = StrandsFactory(lambda given, _: Stubborn(given), "f")
    case = a_case()
    planned = a_planned_case(case)
    model = metered(fails("server_error"))
    trial = await play(a_plan(planned), planned, case, 0, factory=factory, model=model, attempt=1)
    assert trial.ending is Ending.INFRA_ERROR


# --- loops ---


class LoopBound(TinyModel):
    """A model with an async client: it works only on the loop on which it was used first."""

    def __init__(self, reply: Any) -> None:
        super().__init__(reply)
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        async for event in super().stream(*args, **kwargs):
            yield event


async def test_a_sync_agent_with_its_own_loop_is_served_on_the_home_loop() -> None:
    """A sync judge opens a loop for each call; an async client would die with the first one."""
    inner = LoopBound(lambda *_: said("fine"))
    model = metered(inner)

    def sync_judge() -> list[str]:
        return [str(Agent(model=model, callback_handler=None)("?")).strip() for _ in range(3)]

    with scoped(a_scope(Role.JUDGE, evaluator="E")):
        assert await asyncio.to_thread(sync_judge) == ["fine"] * 3
    assert set(inner.loops) == {asyncio.get_running_loop()}
    assert {call.evaluator for call in ledger(model).ends} == {"E"}


async def test_failures_cross_loops_as_they_are() -> None:
    """The sync judge sees what an async one would see."""
    model = metered(fails("auth"))
    scope = a_scope(Role.JUDGE)

    def sync_judge() -> None:
        Agent(model=model, callback_handler=None)("?")

    with scoped(scope), pytest.raises(Exception, match="auth"):
        await asyncio.to_thread(sync_judge)
    assert isinstance(scope.fatal, ModelCallError)


async def test_a_foreign_asker_that_goes_away_leaves_the_call_to_end() -> None:
    """Its loop is gone; the ledger must not be left without the end."""
    asked, go_on = threading.Event(), asyncio.Event()

    async def reply(*_: Any) -> Any:
        asked.set()
        await go_on.wait()
        return said()

    model, scope = metered(TinyModel(reply)), a_scope()

    async def impatient() -> None:
        asking = asyncio.create_task(ask(model, scope))
        await asyncio.to_thread(asked.wait)
        asking.cancel()
        await asyncio.wait({asking})

    await asyncio.to_thread(lambda: asyncio.run(impatient()))
    scope.closed = True
    go_on.set()
    await model._meter.settle()
    assert ledger(model).outcomes == ["ok"]


def test_a_sync_call_on_the_home_loop_does_not_stop_the_run() -> None:
    """A summarizing conversation manager asks its model in the middle of the agent's turn, in sync.

    The home loop waits for an answer that only it could fetch: the night stood still, deadlines
    included. Run in a thread so that a relapse fails here instead of hanging.
    """
    found: list[Trial] = []

    def night() -> None:
        async def run() -> None:
            overflow = ContextWindowOverflowException("too long")
            replies = in_turn([overflow], said("summary"), said("after all"))
            history = [user("a"), {"role": "assistant", "content": [{"text": "b"}]}] * 10
            manager = SummarizingConversationManager(preserve_recent_messages=2)
            found.append(await played(metered(replies), messages=history, conversation_manager=manager))

        asyncio.run(run())

    thread = threading.Thread(target=night, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert (found[0].ending, found[0].output, found[0].calls) == (Ending.COMPLETED, "after all", 2)


async def test_a_busy_home_loop_is_not_taken_for_a_blocked_one() -> None:
    """A computation holds it for a while; the call waits and stays where its client lives."""
    inner = LoopBound(lambda *_: said("fine"))
    model = metered(inner)

    def sync_judge() -> str:
        return str(Agent(model=model, callback_handler=None)("?")).strip()

    asking = asyncio.create_task(asyncio.to_thread(sync_judge))
    for _ in range(3):
        await asyncio.sleep(0)
        end = asyncio.get_running_loop().time() + 0.3
        while asyncio.get_running_loop().time() < end:
            sum(range(1000))
    assert await asking == "fine"
    assert set(inner.loops) == {asyncio.get_running_loop()}


def test_two_runs_after_each_other_in_one_process() -> None:
    """Each on a loop of its own, each with its meter; nothing of the first is left in the second."""

    async def run() -> list[str]:
        model = metered(LoopBound(lambda *_: said("fine")))
        answers = [await ask(model)]
        answers.append(await asyncio.to_thread(lambda: asyncio.run(ask(model))))
        await model._meter.settle()
        return answers

    assert [asyncio.run(run()) for _ in range(2)] == [["fine", "fine"]] * 2


# --- the model seen by the SDK ---


async def test_what_the_sdk_reads_of_a_model_is_the_providers() -> None:
    """Names for telemetry, window and token counts for conversation managers, state on the server."""

    class Provider(TinyModel):
        stateful = True
        context_window_limit = 4711
        _supports_structured_output = True

        async def count_tokens(self, messages: Any, *_: Any, **__: Any) -> int:
            return len(messages)

    inner = Provider(lambda *_: said())
    model = metered(inner)
    assert (model.stateful, model.context_window_limit, model._supports_structured_output) == (
        True,
        4711,
        True,
    )
    assert await model.count_tokens([1, 2, 3]) == 3
    assert model.config == model.get_config() == {"model_id": "tiny"}
    model.update_config(temperature=0)
    assert inner.config["temperature"] == 0
    assert model.estimate_utilization(4711) == 1.0


async def test_all_that_the_sdk_hands_over_reaches_the_provider() -> None:
    """Tool choice, system content, what a later SDK may add."""
    seen: dict[str, Any] = {}

    class Provider(TinyModel):
        async def stream(
            self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **more: Any
        ) -> Any:
            seen.update(more, tools=tool_specs, system=system_prompt)
            for event in said():
                yield event

    model = metered(Provider(lambda *_: []))
    async for _ in model.stream(ASK, [{"name": "f"}], "Be kind.", tool_choice={"auto": {}}, later="x"):
        pass
    assert seen == {"tools": [{"name": "f"}], "system": "Be kind.", "tool_choice": {"auto": {}}, "later": "x"}


async def test_the_sdks_older_path_to_typed_answers_is_metered_too() -> None:
    """It bypasses ``stream``; its tokens are paid all the same."""

    class Form(BaseModel):
        word: str = "x"

    model = metered(in_turn(ScriptedFailure("throttled"), said()), price=PRICE)
    with scoped(a_scope()):
        events = [event async for event in model.structured_output(Form, ASK)]
    assert events[-1]["output"] == Form()
    assert ledger(model).outcomes == ["throttled", "ok"]
    assert ledger(model).ends[-1].cost_nanousd == 15_000
