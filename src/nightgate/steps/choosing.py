"""Which stored trials a judge sweep is about: those of a run that the suite of today can judge.

Owns the filter by what was found before (``--status`` of an evaluator), and why trials are left out.
Knows no adapter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nightgate.cases import Case, Suite, asked_hash, case_hash
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest
from nightgate.steps.reading import rows_of
from nightgate.steps.trials import StoredTrials
from nightgate.trials import Ending

_JUDGEABLE = frozenset({Ending.COMPLETED, Ending.AGENT_BLOCKED})
"""Other endings decide a cell by themselves: there is nothing for a judge to see."""


class NothingToJudgeError(InputError):
    """A run has no trial that is meant and can be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A committed run whose trials are judged."""

    plan: Plan
    manifest: Manifest
    trials: StoredTrials
    sweeps: Sequence[Manifest] | None = None
    """Its committed sweeps, oldest first; None: not looked up yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The stored trials that a sweep judges, and those that it cannot."""

    cases: tuple[tuple[Case, tuple[int, ...]], ...]
    """In suite order, with trial numbers."""
    left_out: Mapping[str, int]
    """Why trials are left out -> how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A filter by the stored findings of a run."""

    statuses: tuple[str, ...]
    """Any of them."""
    evaluators: tuple[str, ...]
    """Of any of them."""
    trials: frozenset[tuple[str, int]]
    """(case id, number) of the trials that it takes."""
    stored: Mapping[str, Mapping[str, int]]
    """All that is stored: evaluator -> status -> cells."""

    @property
    def text(self) -> str:
        """In words, to stand behind a count of trials."""
        return f"without a stored {' or '.join(self.statuses)} of {' or '.join(self.evaluators)}"

    def hint(self) -> str:
        """What there is instead, for a message."""
        known = self.stored
        named = [name for name in self.evaluators if name in known] or sorted(known)
        if not named:
            return "; the run has no findings"
        told = "; ".join(
            f"{name}: {', '.join(f'{count} {status}' for status, count in known[name].items())}"
            for name in named
        )
        missing = [name for name in self.evaluators if name not in known]
        near = did_you_mean(missing[0], known) if missing else ""
        return f"; stored are {told}{near}"


def found_before(
    store: Store, source: Source, statuses: Collection[str], evaluators: Iterable[str]
) -> Found | None:
    """The trials of a run by what evaluators found in them; None where nobody asks for that.

    The run's own findings count, not those of its sweeps.

    Args:
        store: Where it lies.
        source: The run.
        statuses: Any of them; empty: no filter.
        evaluators: Own names; any of them.

    Raises:
        DamagedError: If what was committed is gone or is not what was committed.
    """
    if not statuses:
        return None
    names, trials = tuple(evaluators), set()
    stored: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows_of(store, source.manifest, keys.SCORES, ("case_id", "trial", "evaluator", "status")):
        stored[row["evaluator"]][row["status"]] += 1
        if row["evaluator"] in names and row["status"] in statuses:
            trials.add((row["case_id"], row["trial"]))
    return Found(statuses=tuple(statuses), evaluators=names, trials=frozenset(trials), stored=stored)


def choose(suite: Suite, source: Source, found: Found | None = None) -> Chosen:
    """The trials of a run that can be judged by the suite as it is today.

    Args:
        suite: Filtered: only its cases are meant.
        source: The run.
        found: Only trials that it takes.

    Raises:
        NothingToJudgeError: If none is left, with what there is.
    """
    left: dict[str, int] = defaultdict(int)
    numbers: dict[str, list[int]] = defaultdict(list)
    hashes = {case.id: case_hash(case) for case in suite.cases}
    # Where only what is expected was edited, the answer still is one to the question of today.
    asked = {case.case_id: case.asked for case in source.plan.cases}
    same = {case.id for case in suite.cases if asked.get(case.id) == asked_hash(case)}
    for (case_id, number), row in source.trials.index.items():
        if case_id not in hashes:
            left["not chosen, or no longer in the suite"] += 1
        elif row["case_hash"] != hashes[case_id] and case_id not in same:
            left["the case was edited since"] += 1
        elif Ending(row["ending"]) not in _JUDGEABLE:
            left[f"ended as {row['ending']}"] += 1
        elif found is not None and (case_id, number) not in found.trials:
            left[found.text] += 1
        else:
            numbers[case_id].append(number)
    cases = tuple((case, tuple(sorted(numbers[case.id]))) for case in suite.cases if numbers[case.id])
    if not cases:
        why = ", ".join(f"{count} {reason}" for reason, count in left.items()) or "it has no trials"
        hint = found.hint() if found is not None else ""
        msg = f"run {source.plan.run_id}: no trial to judge ({why}){hint}"
        raise NothingToJudgeError(msg)
    return Chosen(cases=cases, left_out=dict(left))
