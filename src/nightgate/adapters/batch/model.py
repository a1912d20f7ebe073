"""A judge's model whose calls wait for a batch, and go live where the queue does not take them.

Owns the choice between queue and live call for each request, and the cap on a judgement's calls. To an
evaluator it is a Strands model like any other: it streams the answer when it is there. Waiting counts
as waiting, so no deadline of a judgement ends it. Knows no provider.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator
from typing import Any

from strands.models.model import Model

from nightgate.adapters.batch.engine import Engine
from nightgate.adapters.batch.live import LivePlaces
from nightgate.adapters.batch.records import Events, Record, record_id
from nightgate.adapters.batch.service import BatchService
from nightgate.adapters.meter import Meter, request_tokens
from nightgate.adapters.metering import MeteredModel, Wire, waiting
from nightgate.adapters.typed import as_asked, refuse_more
from nightgate.calls import Outcome, Role, Scope, current_scope
from nightgate.errors import ModelCallError


class BatchModel(Model):
    """A metered model with a batch queue in front of it.

    Args:
        live: The same model, called at once.
        service: The provider's queue.
        engine: What gathers for it.
        meter: The run's.
        places: For judgements whose calls go live.
    """

    # Always by a tool: the queue's answer is turned back into a call of that tool.
    _supports_structured_output = False

    def __init__(
        self, live: MeteredModel, service: BatchService, engine: Engine, meter: Meter, places: LivePlaces
    ) -> None:
        self.live = live
        self._places = places
        self._service, self._engine, self._meter = service, engine, meter
        self._asked: Counter[str] = Counter()

    @property
    def wire(self) -> Wire:
        """Of the live model."""
        return self.live.wire

    @property
    def config(self) -> Any:
        """As the live model's."""
        return self.live.config

    @property
    def stateful(self) -> bool:
        """As the live model says."""
        return self.live.stateful

    @property
    def context_window_limit(self) -> int | None:
        """As the live model says."""
        return self.live.context_window_limit

    def get_config(self) -> Any:
        """The live model's configuration."""
        return self.live.get_config()

    def update_config(self, **model_config: Any) -> None:
        """Change the live model's configuration."""
        self.live.update_config(**model_config)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """As the live model counts."""
        return await self.live.count_tokens(*args, **kwargs)

    async def structured_output(
        self, output_model: Any, prompt: Any, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The SDK's older path to typed answers: live, no evaluator takes it any more."""
        async for event in self.live.structured_output(output_model, prompt, system_prompt, **kwargs):
            yield event

    async def stream(
        self, messages: Any, tool_specs: Any = None, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """One answer, from the queue or live.

        Raises:
            ModelCallError: If the queue lost it and the settings do not send it live, or live after all
                retries.
            BudgetError: Before a record or a call that could pass the cap.
        """
        scope = current_scope()
        events: Events | None = None
        if scope is not None and scope.role is Role.JUDGE:
            refuse_more(scope, messages, tool_specs)

            async def at_home() -> Events | None:
                found = await self._queued(scope, messages, tool_specs, system_prompt, kwargs)
                if found is None:
                    await self._places.enter(scope)
                return found

            events = await self._meter.crossing.run(at_home, _not_queued)
        if events is None:
            async for event in self.live.stream(messages, tool_specs, system_prompt, **kwargs):
                yield event
        else:
            for event in as_asked(events, tool_specs, messages):
                yield event

    async def _queued(
        self, scope: Scope, messages: Any, tool_specs: Any, system_prompt: str | None, extra: dict[str, Any]
    ) -> Events | None:
        """The queue's answer; None where it does not take the request, or lost it."""
        self._check_cap(scope)
        rendered = self._service.render(messages, tool_specs, system_prompt, extra)
        if rendered is None or self.wire.problem:
            return None
        first = record_id(scope, self.wire.spec, rendered.body, 0)
        nth = self._asked[first]
        self._asked[first] += 1
        record = Record(
            id=record_id(scope, self.wire.spec, rendered.body, nth) if nth else first,
            body=rendered.body,
            scope=scope,
            input_tokens=request_tokens(messages, tool_specs, system_prompt),
            asked=rendered.asked,
            answered=asyncio.get_running_loop().create_future(),
            since=time.monotonic(),
        )
        with waiting(scope):
            return await self._engine.ask(record)

    def _check_cap(self, scope: Scope) -> None:
        """End a judge that never gives a usable answer, as for live calls."""
        cap = self._meter.call_caps.get(Role.JUDGE)
        answered = sum(1 for call in scope.calls if call.outcome is Outcome.OK)
        if cap is None or answered < cap + int(scope.limits.get("more_calls", 0)):
            return
        scope.fatal = ModelCallError(
            "call_cap", f"judge made {answered} calls for one judgement; the cap is {cap}"
        )
        raise scope.fatal


async def _not_queued() -> Events | None:
    """Sync code holds the home loop: nothing can wait there."""
    return None
