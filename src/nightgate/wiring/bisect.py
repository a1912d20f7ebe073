"""A one-factor search carried out: each probe in a room of its own, all under one cap.

Owns the order of it: what is stored already, what cannot be had any more, what it would cost, then probe by
probe until nothing is left to ask. Knows no command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from nightgate.cases import load_suite
from nightgate.comparisons.bisecting import ALL, CONTROL, JUDGE_AGAIN, Asked
from nightgate.comparisons.swaps import JUDGE, bench
from nightgate.errors import InputError, UnpricedError
from nightgate.estimates import guess_cost
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.prices import PriceTable
from nightgate.requests import RunRequest
from nightgate.steps.bisectdocs import document, forecast
from nightgate.steps.bisecting import Bisection, Probe, open_bisection, refuse_other_suite
from nightgate.steps.bisectrows import calls_of
from nightgate.steps.rerunning import Chosen
from nightgate.steps.selections import picked
from nightgate.steps.sweeping import source_of
from nightgate.wiring.furnishing import draw_up, furnish
from nightgate.wiring.rooms import Progress, open_room, stopping_on_signals, work
from nightgate.wiring.sweeps import draw_up_sweep, furnish_sweep, suite_folder


class Bisector:
    """A search over a store.

    Args:
        bisection: What broke, and what may be swapped.
        given: Suite, store, prices, concurrency and cap; what it says of cases and models is left aside.
        store: Where the runs lie.
    """

    def __init__(self, bisection: Bisection, given: RunRequest, store: Store) -> None:
        cap = given.budget_nanousd(bisection.suite.budget_usd)
        self.bisection, self._store, self._cap = bisection, store, cap
        text = None if cap is None else str(Decimal(cap) / 1_000_000_000)
        self._given = replace(given, budget_usd=text)

    async def plan(self) -> dict[str, Any]:
        """What is left to play, checked as far as it can be without a call (``bisectdocs.forecast``).

        Raises:
            InputError: If the bad run's configuration cannot be had any more, or a price is unknown under a
                cap; nothing is spent. A setting of the good run that cannot be had is left out, and said.
        """
        await self._known()
        costs = await self._costs() if self.bisection.search.next() is not None else {}
        return forecast(self.bisection, costs, self._cap)

    async def run(self, progress: Progress | None = None) -> dict[str, Any]:
        """Play what is left to ask; what was found before is not paid for again. ``plan`` comes first.

        Args:
            progress: Callbacks of each probe.

        Returns:
            The answer (``bisectdocs.document``).

        Raises:
            InputError: If a probe is at work elsewhere, or the suite was changed meanwhile.
            StoreError: If the store is away; the same search goes on later.
        """
        await self._known()
        stopped = None
        while stopped is None and (asked := self.bisection.search.next()) is not None:
            probe = self.bisection.probe(asked)
            stopped = await self._play(probe, progress or Progress())
            if stopped is None and not await self._learn(probe):
                stopped = "open"
        return await asyncio.to_thread(document, self._store, self.bisection, stopped)

    async def _known(self) -> None:
        """Take over what earlier searches of the same question left."""
        while (asked := self.bisection.search.next()) is not None:
            if not await self._learn(self.bisection.probe(asked)):
                return

    async def _learn(self, probe: Probe) -> bool:
        found = await asyncio.to_thread(probe.found, self._store)
        if found is None:
            return False
        self.bisection.learn(probe, found)
        return True

    async def _costs(self) -> dict[str, float | None]:
        """A guess for each probe that is left; settings that cannot be had are left out of the search."""
        asked = Asked(name=CONTROL, factors=(), pairs=self.bisection.search.pairs)
        control, _ = await self._drawn(self.bisection.probe(asked))
        refuse_other_suite(self.bisection.bad, control)
        costs: dict[str, float | None] = {}
        for probe in tuple(self.bisection.probes()):
            try:
                costs[probe.asked.name] = await self._cost(probe)
            except UnpricedError:
                raise
            except InputError as error:
                self._left_out(probe, str(error))
        return costs

    def _left_out(self, probe: Probe, why: str) -> None:
        name = JUDGE if probe.asked.name == JUDGE_AGAIN else probe.asked.name
        if name == ALL:
            self.bisection.search.found[ALL] = {}
        elif any(swap.factor == name for swap in self.bisection.search.swaps):
            self.bisection.refuse(name, why)

    async def _cost(self, probe: Probe) -> float | None:
        if probe.sweeps:
            return await self._cost_of_judging(probe)
        plan, prices = await self._drawn(probe)
        total: float | None = guess_cost(probe.suite, plan.cases, plan.evaluators, prices)["total"]
        return total

    async def _drawn(self, probe: Probe) -> tuple[Plan, PriceTable]:
        """The plan of a probe that plays, as it would be made today."""
        again = probe.chosen
        assert isinstance(again, Chosen)
        request = again.request(probe.request(self._given))
        furniture = furnish(request, again.suite(probe.suite), self._store, again.parent)
        async with furniture.stack:
            plan = again.shaped(await draw_up(furniture, datetime.now(UTC)))
        return replace(plan, model=furniture.suite.model), furniture.prices

    async def _cost_of_judging(self, probe: Probe) -> float | None:
        """The judges of a probe that sweeps, built and counted; the trials may not be played yet."""
        bad, request = self.bisection.bad, probe.request(self._given)
        source = await asyncio.to_thread(source_of, self._store, bad.run_id)
        furniture = furnish_sweep(replace(request, sweep=bad.run_id), probe.suite, self._store, source)
        async with furniture.stack:
            if request.sweep == bad.run_id:
                await asyncio.to_thread(draw_up_sweep, furniture, datetime.now(UTC))
        names = {name for _, name in probe.asked.pairs}
        cases = [
            replace(
                bad.cases[case.id],
                trials=probe.trials_of(case.id),
                evaluators=tuple(name for name in bad.cases[case.id].evaluators if name in names),
            )
            for case in probe.suite.cases
        ]
        planned = [bad.evaluators[name] for name in names]
        amounts = []
        for spec in bench(probe.parent)[1]:
            asking = [replace(e, judge_model=spec, members=(), panel=None) for e in planned]
            amounts.append(guess_cost(probe.suite, cases, asking, furniture.prices)["judge"])
        return _added(amounts)

    async def _play(self, probe: Probe, progress: Progress) -> str | None:
        """One probe to its end; why it was stopped, or None."""
        if self._cap == 0:
            return "budget"
        request = probe.request(self._given)
        if await asyncio.to_thread(probe.stored, self._store) is not None:
            request = replace(request, resume=probe.run_id, run_id=None)
        room = await open_room(request, progress, suite=probe.suite, store=self._store, again=probe.chosen)
        with stopping_on_signals(room.plan.run_id):
            try:
                before = [known.run_id for known in self.bisection.known.values()]
                room.furniture.meter.recall(await asyncio.to_thread(calls_of, self._store, before))
                await asyncio.gather(*(work(room, index) for index in range(len(room.shards))))
            except BaseException:
                await room.close()
                raise
            await room.finish()
        return room.stop.reason


def bisector(
    store: Store,
    good: str,
    bad: str,
    given: RunRequest,
    *,
    suite: str | None = None,
    trials: int | None = None,
) -> Bisector:
    """Look at two runs, and what broke between them; nothing is called.

    Args:
        store: Where they lie.
        good: Id of the run in which the cases passed.
        bad: Id of the run in which they do not.
        given: Prices, concurrency, spool and cap.
        suite: The suite's folder; None: where it was when the bad run was planned.
        trials: Of each case in each probe; None: as many as the bad run had, and at least 3.

    Raises:
        InputError: If the runs cannot be bisected, or the suite's folder is not there any more.
        MissingError: If a run is not there.
    """
    (run,) = picked(store, (bad,))
    folder = suite_folder(run, suite)
    found = open_bisection(store, good, bad, load_suite(folder), trials=trials)
    return Bisector(found, replace(given, suite=folder), store)


def _added(amounts: Iterable[float | None]) -> float | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None
