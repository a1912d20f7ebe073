"""Which run a run is compared with, and its counts.

Owns the reading of a suite's baseline, the choice that a plan freezes before the first call, and the base's
side of a comparison: from the summaries table, or from a sweep that judged it again. Knows no adapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from nightgate.baselines import Baseline, StrayBaselineError
from nightgate.comparisons import Counts, Side, judged_differently
from nightgate.errors import DamagedError, InputError, MissingError
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.keys import baseline_key, parse_manifest_key, plan_key
from nightgate.rows.manifests import Manifest
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.summaries import tally
from nightgate.trials import Ending

_SUMMARY_COLUMNS = (
    "case_id", "evaluator", "planned", "passed", "failed", "measured", "not_applicable_allowed",
    "not_applicable_required",
)  # fmt: skip
_SCORE_COLUMNS = (
    "case_id", "trial", "evaluator", "evaluator_version", "judge_fingerprint", "repeat", "status", "blame",
    "score",
)  # fmt: skip
_SEEN_BY_JUDGES = frozenset({Ending.COMPLETED, Ending.AGENT_BLOCKED})
"""Other endings decide a cell by themselves, whoever the judge is."""

Cell = tuple[str, str, str, str | None, float | None]


def stored_baseline(store: Store, suite: str) -> bytes | None:
    """The bytes of a suite's baseline document; None where nobody promoted a run."""
    try:
        return store.read(baseline_key(suite))
    except MissingError:
        return None


def load_baseline(store: Store, suite: str) -> Baseline | None:
    """A suite's baseline; None where nobody promoted a run.

    Raises:
        DamagedError: If the document cannot be read, is another suite's, or names a run that is not there.
    """
    data, key = stored_baseline(store, suite), baseline_key(suite)
    if data is None:
        return None
    found = Baseline.from_json(data, key)
    plan = plan_key(found.run_id)
    if plan not in store.find(plan):
        raise StrayBaselineError(key, f"it names run {found.run_id}, which is not in {store.uri}")
    if manifest_of(store, load_plan(store, found.run_id)) is None:
        what = f"it names run {found.run_id}, whose manifest is gone from {store.uri}"
        raise StrayBaselineError(key, what)
    return found


class OpenRunError(InputError):
    """A run without a manifest: there is nothing to compare with."""


def baseline_run(store: Store, suite: str | None) -> str:
    """The run that a suite's baseline is.

    Args:
        store: Where it lies.
        suite: Whose; None means the store's only suite.

    Raises:
        InputError: If there is none, or several suites are meant.
        DamagedError: If the document cannot be read.
    """
    if suite is None:
        suite = _only_suite(store)
    found = load_baseline(store, suite)
    if found is None:
        msg = f"suite {suite!r} has no baseline in {store.uri}: `nightgate promote RUN` makes a run one"
        raise InputError(msg)
    return found.run_id


def _only_suite(store: Store) -> str:
    with_baseline = [key.removeprefix("baselines/").removesuffix(".json") for key in store.find("baselines/")]
    addresses = (parse_manifest_key(key) for key in store.find(keys.manifest_prefix()))
    suites = sorted({address.suite for address in addresses if address is not None} | set(with_baseline))
    if len(suites) == 1:
        return suites[0]
    named = ", ".join(f"baseline:{suite}" for suite in with_baseline) or "none has a baseline yet"
    msg = f"baseline: {store.uri} has {len(suites)} suites, say whose: {named}"
    raise InputError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The base of a run, as its plan freezes it."""

    run_id: str | None
    sweeps: tuple[str, ...] = ()
    """Sweeps over it whose findings stand for its own where the judge is theirs, oldest first."""
    trouble: str | None = None
    """Why there is none although there should be one."""
    warnings: tuple[str, ...] = ()
    whole: bool = False
    """Whether nothing may be left out: what the rest would have said counts in the comparison."""

    def freeze(self, plan: Plan) -> Plan:
        """The plan with its base."""
        return replace(
            plan,
            baseline=self.run_id,
            rejudged=self.sweeps,
            baseline_trouble=self.trouble,
            curtail=plan.curtail and not self.whole,
            warnings=(*plan.warnings, *self.warnings),
        )


def choose(store: Store, plan: Plan, asked: str | None) -> Chosen:
    """The base of a run that is about to start, and what follows from it for the run.

    Args:
        store: Where runs lie.
        plan: Of the run.
        asked: The id of the run that was named for it; None takes the suite's baseline.

    Raises:
        InputError: If the run that was named cannot be compared with.
        MissingError: If it is not there.
    """
    found = _base(store, plan, asked)
    if not (plan.curtail and plan.gate.get("regression") and (found.run_id or found.trouble)):
        return found
    # Cells that cannot change a threshold's answer still change how far the run fell.
    note = "nothing is curtailed: gate.regression holds all cells against the baseline"
    return replace(found, whole=True, warnings=(*found.warnings, note))


def _base(store: Store, plan: Plan, asked: str | None) -> Chosen:
    if asked is not None:
        _refuse_unfit(store, asked, plan.suite)
    elif plan.run_kind != "run":
        return Chosen(run_id=None)
    try:
        promoted = load_baseline(store, plan.suite)
    except DamagedError as error:
        if asked is not None:
            return Chosen(run_id=asked)
        return Chosen(run_id=None, trouble=str(error), warnings=(f"no comparison: {error}",))
    if asked is not None:
        again = promoted.sweeps if promoted is not None and promoted.run_id == asked else ()
        return Chosen(run_id=asked, sweeps=again)
    if promoted is not None:
        return Chosen(run_id=promoted.run_id, sweeps=promoted.sweeps)
    if not plan.gate.get("regression"):
        return Chosen(run_id=None)
    missing = (
        "gate.regression has nothing to hold this run against: the suite has no baseline yet, "
        "`nightgate promote RUN` makes a passing run one"
    )
    return Chosen(run_id=None, warnings=(missing,))


def _refuse_unfit(store: Store, run_id: str, suite: str) -> None:
    plan = load_plan(store, run_id)
    why = None
    if plan.suite != suite:
        why = f"is of suite {plan.suite!r}, not {suite!r}"
    elif plan.is_sweep:
        why = f"is a judge sweep of {plan.source}: name that run"
    elif manifest_of(store, plan) is None:
        why = "is open: resume it first"
    if why is not None:
        msg = f"--baseline {run_id}: it {why}"
        raise InputError(msg)


@dataclass(slots=True, kw_only=True)
class Base:
    """A committed run that others are compared with."""

    store: Store
    own: Side
    manifest: Manifest
    sweeps: tuple[str, ...] = ()
    _plans: dict[str, Plan] = field(default_factory=dict)

    @classmethod
    def load(cls, store: Store, run_id: str, sweeps: tuple[str, ...] = ()) -> Base:
        """Read a run's counts.

        Raises:
            MissingError: If there is no such run.
            InputError: If it is open, or no run that played its suite.
            DamagedError: If its rows are not those that were committed.
        """
        plan = load_plan(store, run_id)
        if plan.is_sweep:
            msg = f"run {run_id} is a judge sweep of {plan.source}: compare that run"
            raise InputError(msg)
        manifest = manifest_of(store, plan)
        if manifest is None:
            msg = f"run {run_id} is open: resume it first, then it can be compared"
            raise OpenRunError(msg)
        rows = rows_of(store, manifest, keys.SUMMARIES, _SUMMARY_COLUMNS)
        behind = plan.panel_members
        counts = {
            (row["case_id"], row["evaluator"]): Counts.of_row(row)
            for row in rows
            if row["evaluator"] not in behind
        }
        return cls(store=store, own=Side.of(plan, counts), manifest=manifest, sweeps=sweeps)

    def judged_as(self, now: Side) -> Side:
        """The base with the findings of the judges that a later run has, as far as a sweep has them.

        Raises:
            MissingError: If a sweep is gone.
            DamagedError: If rows are not those that were committed.
        """
        planned: dict[str, PlannedEvaluator] = {}
        counts: dict[tuple[str, str], Counts] = {}
        for name, wanted in now.evaluators.items():
            own = self.own.evaluators.get(name)
            if own is None or judged_differently(own, wanted) is None:
                continue
            found = self._swept(name, wanted)
            if found is None:
                continue
            sweep, again = found
            planned[name] = replace(own, version=again.version, judge_model=again.judge_model,
                                    judge_fingerprint=again.judge_fingerprint)  # fmt: skip
            counts |= self._counts(name, sweep, again)
        return self.own.judged_by(planned, counts) if planned else self.own

    def _swept(self, name: str, wanted: PlannedEvaluator) -> tuple[str, PlannedEvaluator] | None:
        """The latest sweep with an evaluator as a later run has it, and how the sweep planned it."""
        for sweep in reversed(self.sweeps):
            if sweep not in self._plans:
                self._plans[sweep] = load_plan(self.store, sweep)
            for again in self._plans[sweep].evaluators:
                if again.evaluator == name and not again.repeat and judged_differently(again, wanted) is None:
                    return sweep, again
        return None

    def _counts(self, name: str, sweep: str, again: PlannedEvaluator) -> dict[tuple[str, str], Counts]:
        """The counts of one evaluator by a sweep's judge; what no judge has to see stays as it was."""
        plan = self.own.plan
        cases = tuple(replace(case, evaluators=(name,)) for case in plan.cases if name in case.evaluators)
        column = replace(again, name=name, base=None, panel=None)
        narrow = replace(plan, cases=cases, evaluators=(column,))
        rows = [*self._by_sweep(name, sweep, again), *self._by_ending(name)]
        return {key: Counts.of(found) for key, found in tally(narrow, rows).cells.items()}

    def _by_sweep(self, name: str, sweep: str, again: PlannedEvaluator) -> Iterator[Cell]:
        manifest = manifest_of(self.store, self._plans[sweep])
        if manifest is None:
            msg = f"sweep {sweep} is open: finish it with `nightgate sweep --resume {sweep}`"
            raise InputError(msg)
        identity = (again.evaluator, again.version, again.judge_fingerprint)
        for row in rows_of(self.store, manifest, keys.SCORES, _SCORE_COLUMNS):
            if (row["evaluator"], row["evaluator_version"], row["judge_fingerprint"]) == identity and not row[
                "repeat"
            ]:
                yield row["case_id"], name, row["status"], row["blame"], row["score"]

    def _by_ending(self, name: str) -> Iterator[Cell]:
        endings = {
            (row["case_id"], row["trial"]): Ending(row["ending"])
            for row in rows_of(self.store, self.manifest, keys.TRIALS, ("case_id", "trial", "ending"))
        }
        for row in self._own_rows(name):
            if endings.get((row["case_id"], row["trial"])) not in _SEEN_BY_JUDGES:
                yield row["case_id"], name, row["status"], row["blame"], row["score"]

    def _own_rows(self, name: str) -> Iterator[dict[str, Any]]:
        for row in rows_of(self.store, self.manifest, keys.SCORES, _SCORE_COLUMNS):
            if row["evaluator"] == name:
                yield row
