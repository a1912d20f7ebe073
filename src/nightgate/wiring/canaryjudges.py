"""The judges of a canary run: those of the night, built anew and each for itself.

Owns which of them are shown planted attacks. Knows no plan's document and no store's content.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightgate.calls import Role
from nightgate.canaries import FIRST_PLANTED
from nightgate.cases import Case, Suite
from nightgate.errors import UnpricedError
from nightgate.evaluators import registry
from nightgate.evaluators.conversation_judges import Contradictions
from nightgate.evaluators.registry import Registered
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.prices import Budget, PriceTable
from nightgate.requests import RunRequest
from nightgate.runner import size_executor
from nightgate.scores import Score, Status
from nightgate.steps.canaryplans import Tonight
from nightgate.trials import Trial
from nightgate.wiring.furnishing import Furniture, Relay, models_of


def furnish_canaries(
    request: RunRequest, suite: Suite, store: Store, night: Plan, judged: Tonight
) -> Furniture:
    """Build the night's judges anew.

    Raises:
        InputError: If one cannot be built or priced under the cap.
    """
    prices = PriceTable.load(Path(request.prices) if request.prices else None)
    budget, relay = Budget(request.budget_nanousd(None)), Relay()
    size_executor(2 * (request.concurrency + request.judge_concurrency) + 8)
    meter, hub = models_of(request, suite, budget, prices, relay)
    names = {name for _, planned, _ in judged.cases for name in planned.evaluators}
    asking = [planned for planned in night.evaluators if planned.name in names]
    capped = budget.cap_nanousd is not None and not (request.allow_unpriced or night.allow_unpriced)
    evaluators = {planned.name: _built(suite, planned, hub, capped=capped) for planned in asking}
    furniture = Furniture(
        request=request,
        suite=suite,
        store=store,
        live=night.live,
        prices=prices,
        budget=budget,
        relay=relay,
        meter=meter,
        hub=hub,
        evaluators=evaluators,
        factory=None,
    )
    furniture.stack.push_async_callback(hub.close)
    return furniture


def _built(suite: Suite, planned: PlannedEvaluator, hub: Any, *, capped: bool) -> Registered:
    spec = planned.judge_model or ""
    if capped and not hub.priced(spec, Role.JUDGE):
        msg = (
            f"the price of judge {spec!r} is unknown, no budget can hold: add it with --prices FILE, "
            "drop the budget, or pass --allow-unpriced"
        )
        raise UnpricedError(msg)
    folders = (suite.path, Path.cwd())
    built = registry.build(suite, (planned.evaluator,), hub.judge(spec), folders)[planned.evaluator]
    return replace(built, evaluator=_Blind(built.evaluator)) if is_blind(built) else built


def is_blind(registered: Registered) -> bool:
    """Whether a judge looks at something else than the final answer: an attack there says nothing of it."""
    evaluator = registered.evaluator
    return isinstance(evaluator, Contradictions | _Blind) or bool(
        getattr(evaluator, "needs_trajectory", False)
    )


class _Blind:
    """A judge that is not asked about planted attacks."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.name, self.version = inner.name, inner.version

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def evaluate(self, trial: Trial, case: Case) -> Any:
        """As the judge, but for planted attacks."""
        if trial.key.trial >= FIRST_PLANTED:
            return Score(
                evaluator=self.name,
                version=self.version,
                status=Status.NOT_APPLICABLE,
                reason="a planted attack, and this judge does not read the final answer",
            )
        evaluate = self._inner.evaluate
        if inspect.iscoroutinefunction(evaluate):
            return await evaluate(trial, case)
        found = await asyncio.to_thread(evaluate, trial, case)  # it may block
        return await found if inspect.isawaitable(found) else found
