"""Every model of a run behind one meter: ledger, retries, budget, limits, deadlines.

Owns the only retry policy of the program (the SDKs' own are off) and the ledger's rows. An attempt
is buffered until its stop reason is there, so that a stream that breaks half way is tried again
instead of being handed to the agent in halves. Calls run on the loop on which the meter was made
(the home loop): a sync judge that opens a loop of its own for each call would kill async clients.
Knows nothing of cases and evaluators but the ``Scope`` that a call is charged to.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from strands.models.model import Model

from nightgate import logs
from nightgate.adapters.failures import Failure, classify
from nightgate.adapters.limiter import Limiter, Slot
from nightgate.adapters.meter import Foresight, Meter, RetryPolicy, Wire, request_tokens
from nightgate.adapters.replies import Reply
from nightgate.adapters.typed import as_asked, refuse_more
from nightgate.calls import Call, CallStart, Outcome, Role, Scope, current_scope
from nightgate.errors import BudgetError, ModelCallError
from nightgate.prices import FREE, cost_nanousd, list_and_batch_nanousd
from nightgate.trials import Usage

__all__ = ["Meter", "MeteredModel", "RetryPolicy", "Wire"]

_BILLED = frozenset({Outcome.OK, Outcome.UNKNOWN, Outcome.CUT, Outcome.TIMEOUT})
"""Endings that cost something whether or not an event came: the provider may have worked for them."""


@contextmanager
def waiting(scope: Scope) -> Iterator[None]:
    """Count the time inside as waiting, which no deadline counts."""
    if scope.waiting == 0:
        scope.waiting_since = time.monotonic()
    scope.waiting += 1
    try:
        yield
    finally:
        scope.waiting -= 1
        if scope.waiting == 0:
            scope.waited_s += time.monotonic() - scope.waiting_since


class MeteredModel(Model):
    """A Strands model with everything between it and its provider counted."""

    def __init__(self, inner: Any, wire: Wire, meter: Meter, limiter: Limiter, role: Role) -> None:
        self.inner, self.wire, self.role = inner, wire, role
        self._meter, self._limiter = meter, limiter
        # Provider-side structured output changes what the SDK sends: it must see the real answer.
        self._supports_structured_output = bool(getattr(inner, "_supports_structured_output", False))

    @property
    def config(self) -> Any:
        """The provider's configuration object, as the SDK reads it for names and telemetry."""
        return getattr(self.inner, "config", {})

    @property
    def stateful(self) -> bool:
        """As the provider says."""
        return bool(self.inner.stateful)

    @property
    def context_window_limit(self) -> int | None:
        """As the provider says."""
        limit: int | None = self.inner.context_window_limit
        return limit

    def get_config(self) -> Any:
        """The provider's configuration."""
        return self.inner.get_config()

    def update_config(self, **model_config: Any) -> None:
        """Change the provider's configuration."""
        self.inner.update_config(**model_config)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """As the provider counts."""
        count: int = await self.inner.count_tokens(*args, **kwargs)
        return count

    async def structured_output(
        self, output_model: Any, prompt: Any, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The SDK's older path to typed answers, metered as one call."""

        def events() -> AsyncIterator[Any]:
            stream: AsyncIterator[Any] = self.inner.structured_output(
                output_model, prompt, system_prompt, **kwargs
            )
            return stream

        def tokens() -> int:
            return request_tokens(prompt, [output_model.model_json_schema()], system_prompt)

        for event in await self._run(events, tokens, needs_stop=False):
            yield event

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """One call of the agent loop, with all its tries.

        Raises:
            ModelCallError: After all retries.
            BudgetError: Before a call that could pass the cap.
            ContextWindowOverflowException: As the SDK wants it, so that an agent may shorten its window.
        """

        def events() -> AsyncIterator[Any]:
            stream: AsyncIterator[Any] = self.inner.stream(messages, tool_specs, system_prompt, **kwargs)
            return stream

        def tokens() -> int:
            return request_tokens(messages, tool_specs, system_prompt)

        if self.role is Role.JUDGE:
            refuse_more(current_scope(), messages, tool_specs)
        found = await self._run(events, tokens, needs_stop=True)
        for event in as_asked(found, tool_specs, messages) if self.role is Role.JUDGE else found:
            yield event

    async def _run(
        self, events: Callable[[], AsyncIterator[Any]], tokens: Callable[[], int], *, needs_stop: bool
    ) -> list[Any]:
        """Make the call on the home loop, in a task of its own that outlives a cancelled trial."""
        scope = current_scope() or Scope(role=self.role, run_id="", suite="", case_id="", trial=-1)

        def call(limiter: Limiter) -> Coroutine[Any, Any, list[Any]]:
            made = _MeteredCall(self, self._meter, limiter, scope, tokens, needs_stop=needs_stop)
            return made.run(events)

        async def at_home() -> list[Any]:
            task = self._meter.home.create_task(call(self._limiter))
            self._meter.keep(task, scope)
            return await asyncio.shield(task)

        async def here() -> list[Any]:
            return await call(Limiter(1, None, time.monotonic))  # the model's own lives at home

        return await self._meter.crossing.run(at_home, here)


class _MeteredCall:
    """One call and its tries."""

    def __init__(
        self,
        model: MeteredModel,
        meter: Meter,
        limiter: Limiter,
        scope: Scope,
        tokens: Callable[[], int],
        *,
        needs_stop: bool,
    ) -> None:
        self.wire, self.meter, self.limiter, self.scope = model.wire, meter, limiter, scope
        self.foresight = Foresight(meter, model.wire, model.inner, scope, tokens)
        self.needs_stop = needs_stop
        self.wait_s = 0.0
        self.slot = Slot(0.0)

    async def run(self, events: Callable[[], AsyncIterator[Any]]) -> list[Any]:
        """Try until it answers, or until nothing may be tried any more."""
        scope, policy = self.scope, self.wire.policy
        self._check_cap()
        attempt = 0
        while True:
            attempt += 1
            try:
                call, reply, error, pause = await self._attempt(events, attempt)
            except BudgetError as over:
                scope.fatal = over
                raise
            if reply is not None:
                scope.fatal = scope.fatal if _stands(scope.fatal) else None
                self.limiter.succeeded()
                if scope.role is Role.JUDGE:
                    scope.last_reply = reply.text
                return reply.events
            assert error is not None
            if call.outcome is Outcome.THROTTLED:
                self.limiter.throttled(self.slot, None if pause is None else min(pause, policy.patience_s))
            may_retry = call.outcome.transient and attempt < policy.attempts and not scope.closed
            if may_retry and self.meter.retries_left > 0:
                self.meter.retries_left -= 1
                delay_s = policy.delay_s(attempt, pause)
                logs.retried(call, delay_s)
                await self._wait(delay_s)
                continue
            logs.gave_up(call)
            raise self._final(call, error, attempt)

    def _check_cap(self) -> None:
        cap = self.meter.call_caps.get(self.scope.role)
        if cap is not None:
            cap += int(self.scope.limits.get("more_calls", 0))
        answered = sum(1 for call in self.scope.calls if call.outcome is Outcome.OK)
        if cap is not None and answered >= cap:
            one = "judgement" if self.scope.role is Role.JUDGE else "trial"
            why = f"{self.scope.role} made {answered} calls for one {one}; the cap is {cap}"
        elif reached := self.scope.limit_reached():
            why = f"stopped by {reached}"
        else:
            return
        self.scope.fatal = ModelCallError("call_cap", why)
        raise self.scope.fatal

    async def _wait(self, delay_s: float) -> None:
        with waiting(self.scope):
            began = time.monotonic()
            await asyncio.sleep(delay_s)
            self.wait_s += time.monotonic() - began

    async def _attempt(
        self, events: Callable[[], AsyncIterator[Any]], attempt: int
    ) -> tuple[Call, Reply | None, BaseException | None, float | None]:
        """One try, from admission to its ledger row."""
        began_wait = time.monotonic()
        async with contextlib.AsyncExitStack() as stack:
            with waiting(self.scope):
                await stack.enter_async_context(self.foresight.turn())
                self.slot = await stack.enter_async_context(self.limiter.slot())
                estimate = self.foresight.nanousd()
                await self.meter.budget.admit(estimate)
            self.wait_s += time.monotonic() - began_wait
            if self.scope.closed:  # it ended while this call waited: nobody would read the answer
                self.meter.budget.withdraw(estimate)
                raise ModelCallError("cancelled", f"{self.wire.spec}: not sent, its trial is over")
            reservation = self.meter.budget.reserve(estimate)
            start = self._start(attempt)
            self.meter.journal(start)
            reply, began = Reply(self.wire.normalise), time.monotonic()
            error: BaseException | None = None
            failure: Failure | None = None
            try:
                async with asyncio.timeout(self.wire.timeout_s):
                    await self._consume(events, reply, began)
            except asyncio.CancelledError as raised:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    call = self._end(start, reply, Outcome.UNKNOWN, "cancelled while in flight", began)
                    self._settle(call, reservation)
                    raise
                error = ConnectionError("the provider's client cancelled its own request")
                error.__cause__, failure = raised, classify(error)
            except Exception as raised:  # the provider's border: whatever it raises is typed here
                error, failure = raised, classify(raised)
            outcome = failure.outcome if failure else Outcome.OK
            call = self._end(start, reply, outcome, failure.message if failure else None, began)
            self._settle(call, reservation)
        return call, (None if failure else reply), error, failure.retry_after_s if failure else None

    async def _consume(self, events: Callable[[], AsyncIterator[Any]], reply: Reply, began: float) -> None:
        if self.wire.problem:
            raise ModelCallError("auth", self.wire.problem)
        async for event in events():
            reply.take(event, (time.monotonic() - began) * 1000)
        if self.needs_stop and reply.stop_reason is None:
            raise ModelCallError("cut", "the stream ended without a stop reason")
        self.scope.raw_arguments.update(reply.odd_arguments)

    def _start(self, attempt: int) -> CallStart:
        return self.scope.start(self.meter.next_id(), self.wire.spec, attempt=attempt, at=datetime.now(UTC))

    def _end(self, start: CallStart, reply: Reply, outcome: Outcome, error: str | None, began: float) -> Call:
        usage = reply.usage
        # An attempt that was refused before a token flowed cost nothing; one that broke in mid-stream
        # or was cut off by us cost something that nobody told us.
        refused = usage is None and outcome not in _BILLED and not reply.events
        usage = Usage() if refused else usage
        cost = 0 if refused else self._cost(usage)
        judged = start.role is Role.JUDGE
        listed, queued = list_and_batch_nanousd(usage, self.wire.price) if judged else (None, None)
        return start.ended(
            outcome,
            error=error,
            stop_reason=reply.stop_reason,
            system_fingerprint=reply.system_fingerprint,
            usage=usage,
            cost_nanousd=cost,
            list_nanousd=listed,
            batch_nanousd=queued,
            latency_ms=round((time.monotonic() - began) * 1000, 3),
            first_token_ms=None if reply.first_token_ms is None else round(reply.first_token_ms, 3),
            wait_ms=round(self.wait_s * 1000, 3),
            late=self.scope.closed,
            ended_at=datetime.now(UTC),
        )

    def _cost(self, usage: Usage | None) -> int | None:
        """Of one attempt; a free model costs nothing however many tokens it took."""
        price = self.wire.price
        if price is FREE:
            return 0
        return None if usage is None or price is None else cost_nanousd(usage, price)

    def _settle(self, call: Call, reservation: Any) -> None:
        self.meter.budget.settle(reservation, call.cost_nanousd)
        self.foresight.gauge.learn(call)
        if call.usage is not None:
            self.limiter.used(self.slot, call.usage.input + call.usage.output + call.usage.cache_write)
        self.scope.calls.append(call)
        self.wait_s = 0.0
        self.meter.journal(call)

    def _final(self, call: Call, error: BaseException, attempts: int) -> BaseException:
        """The error that the agent's loop sees: never one that the SDK would retry by itself."""
        if call.outcome is Outcome.CONTEXT_OVERFLOW:
            judge = self.scope.role is Role.JUDGE  # of an agent it is the agent's own fault
            self.scope.fatal = ModelCallError(call.outcome.value, str(call.error)) if judge else error
            return error
        kind = error.kind if isinstance(error, ModelCallError) else call.outcome.value
        tries = f" after {attempts} tries" if attempts > 1 else ""
        failure = ModelCallError(kind, f"{self.wire.spec}: {kind}{tries}: {call.error}", attempts=attempts)
        failure.__cause__ = error
        self.scope.fatal = failure
        return failure


def _stands(fatal: BaseException | None) -> bool:
    """Whether a refusal outlives a success: the trial lacks an answer that was taken from it.

    After the budget's a smaller call may still pass; after a limit's one that was in flight beside it.
    """
    return isinstance(fatal, BudgetError) or (isinstance(fatal, ModelCallError) and fatal.kind == "call_cap")
