"""What all metered models of a run share: budget, journal, retries, calls in flight.

Owns the run's side of metering, and what is held of a cap for a call before it is made; one call and
its tries are ``metering``'s. Lives on the loop on which it was made, the home loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.adapters.crossing import Crossing
from nightgate.adapters.replies import text_length
from nightgate.calls import Call, CallStart, Outcome, Role, Scope, current_scope
from nightgate.prices import FREE, Budget, Price, cost_nanousd, estimate_call_nanousd
from nightgate.trials import Usage

_OUTPUT_TOKENS = 1024
"""Guess of an answer's length where no limit tells it, until a dearer call was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Full jitter between 0 and ``base_s * 2**n``, capped; a budget of retries for the run."""

    attempts: int = 6
    """Tries of one call at the most, the first included."""
    base_s: float = 0.5
    cap_s: float = 30.0
    patience_s: float = 120.0
    """Longest wait that a provider is granted."""

    def delay_s(self, failed: int, retry_after_s: float | None) -> float:
        """Seconds to wait after the ``failed``-th failure; not less than the provider asked for."""
        drawn = random.uniform(0, min(self.cap_s, self.base_s * 2 ** (failed - 1)))  # noqa: S311 - jitter
        return drawn if retry_after_s is None else max(drawn, min(retry_after_s, self.patience_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How one model is reached and charged."""

    spec: str
    price: Price | None
    normalise: Callable[[Mapping[str, Any]], Usage | None]
    """None where the token counts cannot be read: the call's cost is then unknown."""
    policy: RetryPolicy
    problem: str | None = None
    """Why no call can succeed (missing credentials): every call then ends as ``auth``."""
    timeout_s: float = 300.0
    """Of one attempt."""


class Gauge:
    """What calls of one model in one role have cost: the least that is held for its next one."""

    def __init__(self) -> None:
        self.dearest_nanousd = 0
        self.known = False
        """Whether a call of it was answered or cost something, here or before a resume."""
        self._first = asyncio.Lock()

    def learn(self, call: Call) -> None:
        """Take note of a call that ended."""
        self.dearest_nanousd = max(self.dearest_nanousd, call.cost_nanousd or 0)
        # An answer without tokens counts too: a provider that never tells them never will.
        self.known = self.known or bool(call.cost_nanousd) or call.outcome is Outcome.OK

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Be alone for the time of the block, as long as nobody knows what a call costs.

        Ten calls in flight that each cost ten times their estimate would pass a cap by ten calls; the
        first one tells the others. On the home loop only.
        """
        async with contextlib.AsyncExitStack() as alone:
            if not self.known:
                await alone.enter_async_context(self._first)
            if self.known:  # it waited for the one that found out
                await alone.aclose()
            yield


class Meter:
    """What all metered models of a run share.

    Args:
        budget: The run's cap.
        journal: Called with a ``CallStart`` when a call is sent and a ``Call`` when it ended, on
            the home loop.
        retries: How many retries the whole run may spend.
        call_caps: Answered calls that one scope may make, by role.
    """

    def __init__(
        self,
        *,
        budget: Budget,
        journal: Callable[[CallStart | Call], None],
        retries: int = 1000,
        call_caps: Mapping[Role, int] | None = None,
    ) -> None:
        self.budget = budget
        self.journal = journal
        self.retries_left = retries
        self.call_caps = dict(call_caps or {})
        self.crossing = Crossing()
        self.home = self.crossing.home
        self._gauges: dict[tuple[str, Role], Gauge] = {}
        self._open: dict[asyncio.Task[Any], Scope] = {}
        self._count = 0
        self._prefix = f"{random.getrandbits(48):012x}"

    @property
    def prefix(self) -> str:
        """What the ids of this meter's calls start with."""
        return self._prefix

    def next_id(self) -> str:
        """A call id that no other process of the run makes."""
        self._count += 1
        return f"{self._prefix}-{self._count:06d}"

    def gauge(self, spec: str, role: Role) -> Gauge:
        """What is known of the cost of a model's calls in a role."""
        return self._gauges.setdefault((spec, role), Gauge())

    def recall(self, calls: Iterable[Call]) -> None:
        """Count what the run spent before this process, once, before its first call here.

        A call of unknown cost (it was in flight when the process died, or its stream broke) is booked
        as the dearest known call of its model. Where no cost of that model is known it is booked as
        nothing: any figure would be made up.

        Args:
            calls: The run's ledger so far, one row an attempt.
        """
        ledger = list(calls)
        for call in ledger:
            self.gauge(call.model, call.role).learn(call)
        self.budget.add_spent(booked_nanousd(ledger, ledger))

    def keep(self, task: asyncio.Task[Any], scope: Scope) -> None:
        """Hold on to a call in flight, so that ``settle`` can wait for it."""
        self._open[task] = scope
        task.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._open.pop(task, None)
        if not task.cancelled():
            task.exception()  # an abandoned call's failure stands in the ledger, not in the log

    async def settle(self, timeout_s: float = 30.0) -> None:
        """Wait for calls whose trial is over: their answers are dropped, their cost is not.

        Calls of trials that still run, as those of another shard, are left alone.
        """
        over = [task for task, scope in self._open.items() if scope.closed]
        if over:
            _, late = await asyncio.wait(over, timeout=timeout_s)
            await _cancel(late)

    async def abandon(self, run_id: str | None = None) -> None:
        """Cancel what is in flight; the ledger then says ``unknown`` (the machine was told to stop).

        Args:
            run_id: Only calls of this run, where several share the meter.
        """
        await _cancel([task for task, scope in self._open.items() if run_id in (None, scope.run_id)])


def booked_nanousd(calls: Iterable[Call], ledger: Iterable[Call]) -> int:
    """What calls are booked with: their cost, or the dearest known one of their model where nobody knows.

    Args:
        calls: Those that are meant.
        ledger: All of the run, which tells what such calls cost.
    """
    dearest: dict[str, int] = {}
    for call in ledger:
        dearest[call.model] = max(dearest.get(call.model, 0), call.cost_nanousd or 0)
    costs = ((call.model, call.cost_nanousd) for call in calls)
    return sum(dearest.get(model, 0) if cost is None else cost for model, cost in costs)


class Foresight:
    """What can be known, before a call, of what it will cost.

    Args:
        meter: Of the run.
        wire: Of the model; without a price, or with ``FREE``, all of this is idle, as without a cap.
        inner: The provider's model; one with ``expected_usage(scope)``, as a script, knows its tokens.
        scope: On whose account the call goes.
        tokens: Guesses the request's tokens; only asked under a cap.
    """

    def __init__(self, meter: Meter, wire: Wire, inner: Any, scope: Scope, tokens: Callable[[], int]) -> None:
        self.gauge = meter.gauge(wire.spec, scope.role)
        self._meter, self._price, self._tokens = meter, wire.price, tokens
        self._foretell = getattr(inner, "expected_usage", None)
        # A budget of 0 refuses free calls too, whatever is held for them.
        self._idle = not meter.budget.cap_nanousd or wire.price is None or wire.price is FREE
        self._output = int(scope.limits.get("output_tokens", 0)) or _OUTPUT_TOKENS

    def turn(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Admission as far as the cap is concerned: alone, while nothing tells what the call costs.

        Off the home loop nobody waits: the home loop stands still then, and with it whoever is first.
        """
        away = asyncio.get_running_loop() is not self._meter.home
        if self._idle or away or self._usage() is not None:
            return contextlib.nullcontext()
        return self.gauge.turn()

    def nanousd(self) -> int:
        """What to hold for the next try: its exact cost, or the most that anything known speaks for."""
        if self._idle or self._price is None:
            return 0
        usage = self._usage()
        exact = None if usage is None else cost_nanousd(usage, self._price)
        if exact is not None:
            return exact
        guess = estimate_call_nanousd(self._price, self._tokens(), self._output)
        return max(guess, self.gauge.dearest_nanousd)

    def _usage(self) -> Usage | None:
        usage: Usage | None = None if self._foretell is None else self._foretell(current_scope())
        return usage


def request_tokens(messages: Any, tool_specs: Any = None, system_prompt: str | None = None) -> int:
    """A guess of a request's size, for the budget's reserve: a token for each four characters.

    Args:
        messages: As the SDK hands them over.
        tool_specs: Name, description and schema of each tool, or None.
        system_prompt: The instructions, or None.
    """
    tools = sum(len(json.dumps(spec, ensure_ascii=False, default=str)) for spec in tool_specs or ())
    return (text_length(messages) + tools + len(system_prompt or "")) // 4


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
