"""The plan of a night's canaries: which frozen trials its judges see again, and which attacks.

Owns the run id, what is left out and why, and how a planned number becomes the trial that a judge is
shown. A canary run is a run of kind ``canary``: planned, staged and committed like any other, after
the night that it belongs to. Knows no adapter and no verdict.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from nightgate.canaries import ATTACKS, FIRST_PLANTED, Frozen, Reference, attacked, planted
from nightgate.cases import Case, Suite, case_hash
from nightgate.cases.names import JUDGE_THRESHOLD
from nightgate.errors import MissingError
from nightgate.evaluators.registry import Registered
from nightgate.plans import CANARY, Plan, PlannedCase, PlannedEvaluator, utc_date
from nightgate.ports import Store
from nightgate.rows.keys import checked_id
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.steps.trials import StoredTrials
from nightgate.trials import Trial
from nightgate.version import VERSION

_SUFFIX = "-canary"
_LONGEST = 64


def canary_run_id(run_id: str) -> str:
    """The id of a run's canaries: always the same, so that they are judged once.

    >>> canary_run_id("support-20261129t223000-1a2b3c")
    'support-20261129t223000-1a2b3c-canary'
    """
    if len(run_id) + len(_SUFFIX) > _LONGEST:
        run_id = f"{run_id[:48]}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"
    return checked_id(f"{run_id}{_SUFFIX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tonight:
    """What is judged of a reference on a night."""

    cases: tuple[tuple[Case, PlannedCase, tuple[Frozen, ...]], ...]
    """In suite order, each with its frozen trials and the judges that look at it."""
    left_out: Mapping[str, int]
    """Why frozen trials are left out -> how many."""


def tonight(store: Store, suite: Suite, night: Plan, reference: Reference | None) -> Tonight:
    """The frozen trials that the night's judges see again.

    Args:
        store: Where the frozen trials lie.
        suite: With all its cases, as it is now.
        night: The plan of the night's run.
        reference: The one that holds; None: nothing is frozen.
    """
    left: dict[str, int] = defaultdict(int)
    cases = {case.id: case for case in suite.cases}
    asking = {planned.name for planned in night.evaluators if planned.asks}
    played = {case.case_id: case for case in night.cases}
    there: dict[str, bool] = {}
    chosen = []
    frozen = reference.trials if reference is not None else ()
    for case_id in dict.fromkeys(trial.case for trial in frozen):
        trials = [trial for trial in frozen if trial.case == case_id]
        case, planned = cases.get(case_id), played.get(case_id)
        judges = tuple(name for name in planned.evaluators if name in asking) if planned is not None else ()
        if case is None:
            left["the case is gone"] += len(trials)
        elif not case.canary:
            left["the case is no canary any more"] += len(trials)
        elif case_hash(case) != trials[0].case_hash:
            left["the case was edited"] += len(trials)
        elif planned is None:
            left["the night's filters leave the case out"] += len(trials)
        elif not judges:
            left["no judge looks at the case in this run"] += len(trials)
        elif not _there(store, trials[0].run_id, there):
            left[f"run {trials[0].run_id} is gone from the store"] += len(trials)
        else:
            chosen.append((case, replace(planned, evaluators=judges), tuple(trials)))
    return Tonight(cases=tuple(chosen), left_out=dict(left))


def _there(store: Store, run_id: str, known: dict[str, bool]) -> bool:
    if run_id not in known:
        try:
            known[run_id] = manifest_of(store, load_plan(store, run_id)) is not None
        except MissingError:
            known[run_id] = False
    return known[run_id]


def planned_evaluators(
    night: Plan, registered: Mapping[str, Registered], names: Collection[str]
) -> tuple[PlannedEvaluator, ...]:
    """The night's judges as a canary run plans them: each for itself, and with a verdict.

    Args:
        night: The night's plan.
        registered: The judges by planned name, as they are now.
        names: Those that look at a canary case.
    """
    return tuple(
        replace(
            planned,
            version=registered[planned.name].facts.version,
            judge_fingerprint=registered[planned.name].facts.fingerprint,
            # A figure without a threshold is no verdict; nothing gates here, so any threshold will do.
            threshold=planned.threshold or JUDGE_THRESHOLD,
            panel=None,
        )
        for planned in night.evaluators
        if planned.name in names
    )


def canary_plan(
    night: Plan,
    reference: Reference,
    judged: Tonight,
    evaluators: tuple[PlannedEvaluator, ...],
    *,
    blind: Collection[str],
    budget_nanousd: int | None,
    price_table: str,
    now: datetime,
) -> Plan:
    """The plan; nothing is stored yet.

    Args:
        night: The plan of the run that the canaries belong to.
        reference: What verdicts are held against.
        judged: The frozen trials.
        evaluators: As ``planned_evaluators`` gives them.
        blind: Judges that do not read the final answer: an attack there is shown to nobody.
        budget_nanousd: The cap that night and canaries share.
        price_table: Version of the price table.
        now: The canary run's start.
    """
    started = now.astimezone(UTC)
    targets = [case.id for case, planned, _ in judged.cases if set(planned.evaluators) - set(blind)]
    chosen = set(attacked(targets, date.fromisoformat(night.date).toordinal()))
    cases = []
    for case, planned, trials in judged.cases:
        numbers = tuple(trial.trial for trial in trials)
        if case.id in chosen:
            numbers += tuple(FIRST_PLANTED + place for place in range(len(ATTACKS)))
        cases.append(replace(planned, trials=len(numbers), numbers=numbers, expected_loads=()))
    return replace(
        night,
        run_id=canary_run_id(night.run_id),
        date=utc_date(started).isoformat(),
        started_at=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        run_kind=CANARY,
        evaluators=evaluators,
        cases=tuple(cases),
        budget_nanousd=budget_nanousd,
        parent=night.run_id,
        source=night.run_id,
        sweep=_asked(reference, judged, evaluators, blind),
        panel={},
        filters={},
        curtail=False,
        price_table=price_table,
        nightgate=VERSION,
        warnings=(),
        expected_calls={},
    )


def _asked(
    reference: Reference,
    judged: Tonight,
    evaluators: tuple[PlannedEvaluator, ...],
    blind: Collection[str],
) -> dict[str, Any]:
    """What the plan keeps of how it came about, as a sweep's does: plain JSON."""
    return {
        "judges": list(dict.fromkeys(e.judge_model for e in evaluators if e.judge_model)),
        "repeat": 1,
        "left_out": dict(judged.left_out),
        "reference": reference.number,
        "sources": {case.id: trials[0].run_id for case, _, trials in judged.cases},
        "attacks": {str(FIRST_PLANTED + place): attack.name for place, attack in enumerate(ATTACKS)},
        "blind": sorted(blind),
        # Two processes that plan in the same instant must not take each other's plan for their own.
        "claim": secrets.token_hex(8),
    }


def readers(store: Store, suite: Suite, plan: Plan) -> dict[tuple[str, int], Callable[[], Trial]]:
    """How to read each trial of a canary run: a frozen one as it was, or with an attack as its answer."""
    sources: dict[str, StoredTrials] = {}
    for run_id in dict.fromkeys(plan.sweep["sources"].values()):
        manifest = manifest_of(store, load_plan(store, run_id))
        assert manifest is not None, f"{run_id} was committed when it was planned"
        sources[run_id] = StoredTrials(store, manifest)
    languages = {case.id: case.language for case in suite.cases}
    return {
        (case, number): _reader(
            plan.run_id, sources[plan.sweep["sources"][case]], case, number, base, languages[case]
        )
        for case, number, base in _shown(plan)
    }


def _shown(plan: Plan) -> Iterator[tuple[str, int, int]]:
    """(case, planned number, number of the frozen trial behind it)."""
    for case in plan.cases:
        for number in case.numbers:
            yield case.case_id, number, number if number < FIRST_PLANTED else case.numbers[0]


def _reader(
    run_id: str, trials: StoredTrials, case: str, number: int, base: int, language: str | None
) -> Callable[[], Trial]:
    def read() -> Trial:
        trial = trials.read(case, base)
        # As a record of the canary run: its scopes and ledger rows carry that run's id.
        trial = replace(trial, key=replace(trial.key, run_id=run_id))
        return trial if number < FIRST_PLANTED else planted(trial, number, language)

    return read
