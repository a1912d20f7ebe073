"""What of two runs may be held against each other: the same cases, judged in the same way, by enough cells.

Owns which cases are shared, added, removed or changed, why an evaluator is not comparable, and what counts
as newly broken. Tests nothing. Reads sides; knows no store.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from nightgate.comparisons.sides import Counts, Side
from nightgate.plans import PlannedEvaluator

LEAST_COVERAGE = Fraction(95, 100)
LEAST_COMMON = Fraction(90, 100)
AGAIN = "run `nightgate sweep baseline`"


@dataclass(frozen=True, slots=True)
class Flip:
    """A case that changed sides under an evaluator."""

    case: str
    evaluator: str
    before: Counts
    now: Counts

    def as_dict(self) -> dict[str, Any]:
        """Its entry in the documents."""
        return {
            "case": self.case,
            "evaluator": self.evaluator,
            "before": self.before.pair(),
            "now": self.now.pair(),
        }


@dataclass(frozen=True, slots=True)
class Paired:
    """One evaluator of the gate over the cases that both runs have."""

    name: str
    reason: str | None
    """Why it is not comparable; None where it is."""
    cases: tuple[str, ...] = ()
    before: tuple[tuple[int, int], ...] = ()
    """``(passed, decided)`` of each case."""
    now: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Two runs, case by case."""

    shared: tuple[str, ...]
    """Cases with the same hash in both, in the order of the later run."""
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    """Edited since, under the same id."""
    evaluators: tuple[Paired, ...]
    """Those of the gate, of either run."""
    newly_broken: tuple[Flip, ...] = field(default=())
    newly_fixed: tuple[Flip, ...] = field(default=())

    def not_comparable(self, base: str) -> list[dict[str, str]]:
        """Evaluators and cases that cannot be compared, each with the reason."""
        why = {
            **dict.fromkeys(self.changed, f"edited since {base}"),
            **dict.fromkeys(self.added, f"added since {base}"),
            **dict.fromkeys(self.removed, f"removed since {base}"),
        }
        return [
            *({"evaluator": e.name, "reason": e.reason} for e in self.evaluators if e.reason is not None),
            *({"case": case_id, "reason": reason} for case_id, reason in why.items()),
        ]


def pair(base: Side, now: Side) -> Pairing:
    """Find what two runs have in common.

    A run of a part of its suite is compared on that part: cases that it was not asked for are neither added
    nor removed.
    """
    both = [case_id for case_id in now.cases if case_id in base.cases]
    shared = tuple(i for i in both if now.cases[i].case_hash == base.cases[i].case_hash)
    added = () if base.filtered else tuple(i for i in now.cases if i not in base.cases)
    removed = () if now.filtered else tuple(i for i in base.cases if i not in now.cases)
    changed = tuple(i for i in both if now.cases[i].case_hash != base.cases[i].case_hash)
    relevant = frozenset((*shared, *added, *removed, *changed))
    names = dict.fromkeys((*now.gate_evaluators(), *base.gate_evaluators()))
    found = (_paired(base, now, name, shared, relevant) for name in names)
    flips = list(_flips(base, now, shared))
    return Pairing(
        shared=shared,
        added=added,
        removed=removed,
        changed=changed,
        evaluators=tuple(paired for paired in found if paired is not None),
        newly_broken=tuple(flip for flip in flips if flip.before.mostly_passes),
        newly_fixed=tuple(flip for flip in flips if not flip.before.mostly_passes),
    )


def judged_differently(before: PlannedEvaluator, now: PlannedEvaluator) -> str | None:
    """Why findings of an evaluator do not cross from one run to the other; None where they do."""
    if before.version != now.version:
        return f"evaluator version {before.version} -> {now.version}; {AGAIN}"
    if before.judge_fingerprint == now.judge_fingerprint:
        # Runs from before it was kept do not say.
        known = None not in (before.config, now.config)
        return f"its params were edited; {AGAIN}" if known and before.config != now.config else None
    models = (before.judge_model, now.judge_model)
    what = f"{models[0]} -> {models[1]}" if models[0] != models[1] else "its prompt, params or script"
    return f"judge changed ({what}); {AGAIN}"


def _paired(
    base: Side, now: Side, name: str, shared: tuple[str, ...], relevant: frozenset[str]
) -> Paired | None:
    """An evaluator over the shared cases; None where neither run plans it for what is compared."""
    before, after = (
        {i: found for i, found in side.of_evaluator(name).items() if i in relevant and _gates(i, base, now)}
        for side in (base, now)
    )
    if not before and not after:
        return None
    if not before or name not in base.evaluators:
        return Paired(name, f"{base.run_id} did not plan it")
    if not after or name not in now.evaluators:
        return Paired(name, f"{now.run_id} does not plan it")
    why = judged_differently(base.evaluators[name], now.evaluators[name])
    if why is None:
        why = _covered(base.run_id, before) or _covered(now.run_id, after)
    cases = tuple(i for i in shared if i in before and i in after and before[i].decided and after[i].decided)
    why = why or _common(before, after, cases)
    return Paired(
        name,
        why,
        cases,
        tuple((before[i].passed, before[i].decided) for i in cases),
        tuple((after[i].passed, after[i].decided) for i in cases),
    )


def _gates(case_id: str, base: Side, now: Side) -> bool:
    """Whether a case counts at the gate, as it is now; a removed one as it was."""
    case = now.cases.get(case_id) or base.cases.get(case_id)
    return case is not None and case.gates


def _covered(run_id: str, counts: dict[str, Counts]) -> str | None:
    planned = sum(found.planned for found in counts.values())
    covered = sum(found.covered for found in counts.values())
    if covered >= LEAST_COVERAGE * planned:
        return None
    return f"{run_id} covered {covered} of {planned} cells, want {float(LEAST_COVERAGE):.0%}"


def _common(before: dict[str, Counts], after: dict[str, Counts], cases: tuple[str, ...]) -> str | None:
    """Whether the cases judged in both are enough of those that either planned."""
    either = dict.fromkeys((*after, *before))
    # Where both say that there was nothing to judge there is nothing to have in common either.
    idle = [
        i
        for i in either
        if all(i in side and side[i].covered and not side[i].decided for side in (before, after))
    ]
    wanted = len(either) - len(idle)
    if cases and len(cases) >= LEAST_COMMON * wanted:
        return None
    return f"{len(cases)} of {wanted} cases in common, want {float(LEAST_COMMON):.0%}"


def _flips(base: Side, now: Side, shared: tuple[str, ...]) -> Iterator[Flip]:
    """Cases that passed for the most part before and do not now, and the other way round."""
    same = [
        name
        for name, planned in now.evaluators.items()
        if name in base.evaluators and judged_differently(base.evaluators[name], planned) is None
    ]
    for case_id in shared:
        for name in same:
            before, after = base.counts.get((case_id, name)), now.counts.get((case_id, name))
            if before is None or after is None or not (before.decided and after.decided):
                continue
            if before.mostly_passes is not after.mostly_passes:
                yield Flip(case_id, name, before, after)
