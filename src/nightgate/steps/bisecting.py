"""A one-factor search between two stored runs: what is played, under which ids, and what was found.

Owns the probes. Each is a run of its own: kind ``rerun`` with the bad run as parent, or a sweep of stored
trials for the judge; its id follows from the two runs and from what is asked, so that the same search again
finds what was paid for. The two runs' rows never change. What a count means is ``comparisons``'. Knows no
adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nightgate.cases import Limits, Suite
from nightgate.comparisons.bisecting import (
    CONTROL,
    JUDGE_AGAIN,
    LEAST_TRIALS,
    Asked,
    Search,
    Shares,
)
from nightgate.comparisons.pairing import Flip
from nightgate.comparisons.sides import Side
from nightgate.comparisons.swaps import (
    JUDGE,
    LIMITS,
    MODEL,
    TIMEOUT,
    USER,
    Fixed,
    bench,
    fallen,
    fixed,
    swaps,
)
from nightgate.errors import InputError, MissingError
from nightgate.plans import Plan, digest
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.steps.bases import Base
from nightgate.steps.bisectrows import swept_counts
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.steps.rerunning import Chosen

BISECT = "bisect"
"""The trigger of all probes."""
_ID = 64


@dataclass(slots=True, kw_only=True)
class Bisection:
    """A search between two runs over a suite."""

    good: Side
    bad: Side
    suite: Suite
    """As its files have it today."""
    broken: tuple[Flip, ...]
    trials: Mapping[str, int]
    """By broken case."""
    search: Search
    refused: tuple[Fixed, ...] = ()
    """Settings that cannot be had any more."""
    known: dict[str, Probe] = field(default_factory=dict)
    """Probes that are committed, by name."""

    @property
    def fixed(self) -> tuple[Fixed, ...]:
        """What differs and is not swapped."""
        gone = {found.part for found in self.refused}
        told = fixed(self.good, self.bad, self.search.swaps)
        return (*(found for found in told if found.part not in gone), *self.refused)

    def refuse(self, factor: str, why: str) -> None:
        """Leave a setting out that cannot be had any more."""
        swap = next(swap for swap in self.search.swaps if swap.factor == factor)
        self.search.swaps = tuple(other for other in self.search.swaps if other is not swap)
        advice = f"cannot be swapped here: {why}"
        told = [found for found in self.refused if found.part != factor]
        self.refused = (*told, Fixed(part=factor, text=swap.text, advice=advice))

    def probes(self) -> Iterator[Probe]:
        """All that may still be played, at the most: nothing that is not known yet moves anything."""
        search = Search(pairs=self.search.pairs, swaps=self.search.swaps, found=dict(self.search.found))
        while (asked := search.next()) is not None:
            yield self.probe(asked)
            search.found[asked.name] = dict.fromkeys(asked.pairs, (0, 1))

    def learn(self, probe: Probe, found: Shares) -> None:
        """Take note of what a probe found."""
        self.search.found[probe.asked.name] = found
        self.known[probe.asked.name] = probe

    def probe(self, asked: Asked) -> Probe:
        """A question as a run."""
        return Probe(bisection=self, asked=asked)

    @property
    def source(self) -> str:
        """The run whose trials a judge sees: the bad one, or the control where that has too few."""
        plan = self.bad.plan
        judged = next((swap.pairs for swap in self.search.swaps if swap.factor == JUDGE), ())
        if all(self.bad.counts[pair].decided >= LEAST_TRIALS for pair in judged):
            return plan.run_id
        return self.probe(Asked(name=CONTROL, factors=(), pairs=self.search.pairs)).run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question of a search as a run: the bad run's configuration but for some of the good one's."""

    bisection: Bisection
    asked: Asked

    @property
    def sweeps(self) -> bool:
        """Whether it judges stored trials and plays none."""
        return self.asked.name in (JUDGE, JUDGE_AGAIN)

    def trials_of(self, case_id: str) -> int:
        """Trials of a case that are played or judged."""
        whole = self.bisection
        stored = self.sweeps and whole.source == whole.bad.run_id
        return whole.bad.cases[case_id].trials if stored else whole.trials[case_id]

    @property
    def run_id(self) -> str:
        """Follows from what is asked: the same question is the same run."""
        whole, asked = self.bisection, self.asked
        cases = {case_id for case_id, _ in asked.pairs}
        what = {
            "good": whole.good.run_id,
            "bad": whole.bad.run_id,
            "name": asked.name,
            "factors": asked.factors,
            "pairs": asked.pairs,
            "trials": {case_id: n for case_id, n in whole.trials.items() if case_id in cases},
            "source": whole.source if self.sweeps else None,
        }
        end = f"-{BISECT}-{digest(what)[:10]}-{asked.name}"
        return f"{whole.suite.suite[: _ID - len(end)].rstrip('-')}{end}"

    @property
    def parent(self) -> Plan:
        """The bad run's plan with the swapped settings in place."""
        good, bad = self.bisection.good.plan, self.bisection.bad.plan
        # The search has one cap of its own.
        taken: dict[str, Any] = {"budget_nanousd": None}
        for factor in self.asked.factors:
            names = {MODEL: ("model",), USER: ("user",), JUDGE: ("judge", "panel"), LIMITS: ("limits",),
                     TIMEOUT: ("timeout_s",)}[factor]  # fmt: skip
            taken |= {name: getattr(good, name) for name in names}
        return replace(bad, **taken)

    @property
    def suite(self) -> Suite:
        """The suite of today under the limits and the deadline of this probe."""
        plan, whole = self.parent, self.bisection.suite
        changes: dict[str, Any] = {
            "limits": Limits.model_validate(dict(plan.limits)), "timeout_s": plan.timeout_s
        }  # fmt: skip
        if self.sweeps:
            wanted = {case_id for case_id, _ in self.asked.pairs}
            changes["cases"] = tuple(case for case in whole.cases if case.id in wanted)
        return whole.model_copy(update=changes)

    @property
    def chosen(self) -> Chosen | None:
        """What is played again; None for a sweep."""
        if self.sweeps:
            return None
        names: dict[str, set[str]] = {}
        for case_id, evaluator in self.asked.pairs:
            names.setdefault(case_id, set()).add(evaluator)
        return Chosen(
            parent=self.parent,
            trials={case_id: tuple(range(self.bisection.trials[case_id])) for case_id in names},
            evaluators={case_id: frozenset(found) for case_id, found in names.items()},
        )

    def request(self, given: RunRequest) -> RunRequest:
        """The request of this probe.

        Args:
            given: Suite, store, cap, prices and concurrency are taken from it.
        """
        bare = replace(
            given, live=False, model=None, judge=None, user=None, trials=None, case=(), tag=(), layer=(),
            stage=(), resume=None, reuse=None, rerun=None, only=None, baseline=None, curtail=False,
            alerts=False, night=False, trigger=BISECT, run_id=self.run_id,
        )  # fmt: skip
        if not self.sweeps:
            return bare
        rule, judges = bench(self.parent)
        return replace(
            bare,
            sweep=self.bisection.source,
            judges=judges,
            panel=rule,
            evaluators=tuple(dict.fromkeys(name for _, name in self.asked.pairs)),
            # The first look is the stored one, and is taken over: only the second is asked for and paid.
            repeat=2 if self.asked.name == JUDGE_AGAIN else 1,
        )

    def stored(self, store: Store) -> Plan | None:
        """Its plan where it was begun before."""
        try:
            return load_plan(store, self.run_id)
        except MissingError:
            return None

    def found(self, store: Store) -> Shares | None:
        """What it found, by pair; None while it is open.

        Raises:
            DamagedError: If its rows are not those that were committed.
        """
        plan = self.stored(store)
        if plan is None or manifest_of(store, plan) is None:
            return None
        if self.sweeps:
            return swept_counts(store, plan, self.asked.pairs, repeat=int(self.asked.name == JUDGE_AGAIN))
        counts = Base.load(store, plan.run_id).own.counts
        pairs = {pair: counts.get(pair) for pair in self.asked.pairs}
        return {pair: (c.passed, c.decided) for pair, c in pairs.items() if c is not None}

    def notes(self, plan: Plan) -> Iterator[str]:
        """What is not as it was in the good run although its setting is."""
        good = self.bisection.good
        a, b = good.plan.parts, plan.parts
        if MODEL in self.asked.factors and a and b and a["model"] != b["model"]:
            yield f"the script behind {plan.model} is not the one that {good.run_id} had"
        if JUDGE in self.asked.factors:
            for planned in plan.evaluators:
                was = good.evaluators.get(planned.evaluator)
                if (
                    was is not None
                    and planned.panel is None
                    and was.judge_fingerprint != planned.judge_fingerprint
                ):
                    yield (
                        f"{planned.evaluator}: the prompt, params or script of the judge "
                        f"are not those that {good.run_id} had"
                    )


def open_bisection(
    store: Store, good: str, bad: str, suite: Suite, *, trials: int | None = None
) -> Bisection:
    """Find what broke between two runs, and what may be swapped.

    Args:
        store: Where they lie.
        good: The run in which the cases passed.
        bad: The run in which they do not.
        suite: Theirs, whole.
        trials: Of each case in each probe; None: as many as the bad run had, and at least 3.

    Raises:
        MissingError: If a run is not there.
        InputError: If one is open or of another suite, both are the same, or the trials are too few.
        DamagedError: If rows are not those that were committed.
    """
    if good == bad:
        msg = f"bisect {good} {bad}: name two runs, nothing broke between a run and itself"
        raise InputError(msg)
    if trials is not None and trials < LEAST_TRIALS:
        msg = f"--trials {trials}: at least {LEAST_TRIALS}, fewer cannot tell a factor from a flicker"
        raise InputError(msg)
    before, now = Base.load(store, good).own, Base.load(store, bad).own
    for side in (before, now):
        if side.plan.suite != suite.suite:
            msg = f"run {side.run_id} is of suite {side.plan.suite!r}, and {suite.file} is {suite.suite!r}"
            raise InputError(msg)
    broken = fallen(before, now)
    talking = {case.id for case in suite.cases if case.persona is not None}
    return Bisection(
        good=before,
        bad=now,
        suite=suite,
        broken=broken,
        trials={
            flip.case: trials or max(LEAST_TRIALS, now.cases[flip.case].trials) for flip in broken
        },
        search=Search(
            pairs=tuple((flip.case, flip.evaluator) for flip in broken),
            swaps=swaps(before, now, broken, talking),
        ),
    )  # fmt: skip


def same_suite(store: Store, good: str, bad: str) -> str:
    """The suite that both runs are of.

    Raises:
        MissingError: If a run is not there.
        InputError: If they are of different suites.
    """
    a, b = load_plan(store, good).suite, load_plan(store, bad).suite
    if a != b:
        msg = f"run {bad} is of suite {b!r}, and {good} of {a!r}: only runs of one suite can be bisected"
        raise InputError(msg)
    return a


def refuse_other_suite(bad: Side, control: Plan) -> None:
    """Refuse to search with a configuration that is not the bad run's.

    Args:
        bad: The bad run.
        control: The plan of its configuration as it is today.

    Raises:
        InputError: Naming what differs.
    """
    differs: list[str] = []
    for case in control.cases:
        was = bad.cases[case.case_id]
        if case.case_hash != was.case_hash:
            differs.append(f"case {case.case_id!r} was edited")
        elif case.agent_fingerprint != was.agent_fingerprint:
            names = [name for name in bad.plan.parts if bad.plan.parts[name] != control.parts.get(name)]
            differs.append(f"the agent changed ({', '.join(names) or 'fingerprint'})")
    for planned in control.evaluators:
        stood = bad.evaluators.get(planned.name)
        if stood is not None and (stood.version, stood.judge_fingerprint) != (
            planned.version,
            planned.judge_fingerprint,
        ):
            differs.append(f"evaluator {planned.name} changed")
    if differs:
        at = f" (commit {bad.plan.git_sha[:12]})" if bad.plan.git_sha else ""
        msg = (
            f"the suite is not as it was for {bad.run_id}: {'; '.join(dict.fromkeys(differs))}. "
            f"Check out its revision{at}, or name its folder with --suite PATH"
        )
        raise InputError(msg)
