"""Runs against a base: each run against the one that its plan froze, and any runs that a person names.

Owns what becomes of a base that is gone or damaged: it is said, and never taken for "nothing changed". Reads
summaries rows and plans; what may be said is ``comparisons``'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightgate.comparisons import NO_BASE, Comparison, Outcome, Side, Word, compare, factors
from nightgate.errors import DamagedError, ExitCode, InputError, MissingError
from nightgate.ports import Store
from nightgate.steps.bases import Base, OpenRunError, load_baseline
from nightgate.summaries import Tallies


def outcome_of(store: Store, tallies: Tallies) -> Outcome:
    """A complete run beside the base that its plan froze.

    A base that is gone, open or damaged leaves an outcome that says so; a store that is out of reach raises,
    because later the answer may be another.

    Raises:
        StoreError: If the store is out of reach.
    """
    plan = tallies.plan
    if plan.baseline is None:
        return NO_BASE if plan.baseline_trouble is None else Outcome(base=None, trouble=plan.baseline_trouble)
    now = Side.of_tallies(tallies)
    try:
        base = Base.load(store, plan.baseline, plan.rejudged).judged_as(now)
    except OpenRunError:
        # It was committed when it was chosen.
        lost = (
            f"baseline {plan.baseline} is lost, its manifest is gone: restore it, or `nightgate promote RUN`"
        )
        return Outcome(base=plan.baseline, trouble=f"{lost} of a run that passes makes a new one")
    except (MissingError, DamagedError, InputError) as error:
        return Outcome(base=plan.baseline, trouble=f"baseline {plan.baseline} cannot be read: {error}")
    (found,) = compare([(base, now)])
    return Outcome(base=plan.baseline, comparison=found, factors=factors(base, now))


def compare_runs(store: Store, base_id: str, run_ids: Sequence[str]) -> tuple[Outcome, ...]:
    """Hold stored runs against one base, corrected for their number.

    Args:
        store: Where they lie.
        base_id: The base.
        run_ids: The others, each once.

    Raises:
        MissingError: If a run is not there.
        InputError: If one is open or of another suite, or named twice.
        DamagedError: If rows are not those that were committed.
    """
    if len({base_id, *run_ids}) <= len(run_ids):
        msg = f"compare {base_id} {' '.join(run_ids)}: name each run once, a run is no news beside itself"
        raise InputError(msg)
    base = Base.load(store, base_id)
    suite = base.own.plan.suite
    promoted = load_baseline(store, suite)
    if promoted is not None and promoted.run_id == base_id:
        base.sweeps = promoted.sweeps
    sides = [Base.load(store, run_id).own for run_id in run_ids]
    for side in sides:
        if side.plan.suite != suite:
            msg = f"run {side.run_id} is of suite {side.plan.suite!r}, and {base_id} of {suite!r}"
            raise InputError(msg)
    pairs = [(base.judged_as(side), side) for side in sides]
    return tuple(
        Outcome(base=base_id, comparison=found, factors=factors(before, now))
        for found, (before, now) in zip(compare(pairs), pairs, strict=True)
    )


def document(suite: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What ``compare`` says, as JSON.

    Args:
        suite: Whose runs they are.
        outcomes: From ``compare_runs``, at least one.

    Returns:
        ``base``, ``runs`` with the ``comparison`` and ``changes`` of each, the ``answer`` in words and the
        ``exit_code``: 1 where a run regressed, else 3 where it cannot be told of one, else 0.
    """
    found = [outcome.comparison for outcome in outcomes if outcome.comparison is not None]
    words = [comparison.word for comparison in found]
    return {
        "schema": 1,
        "suite": suite,
        "base": outcomes[0].base,
        "runs": [
            {"run_id": comparison.run_id, "comparison": outcome.as_dict(), "changes": outcome.changes()}
            for outcome, comparison in zip(outcomes, found, strict=True)
        ],
        "answer": _answer(found),
        "exit_code": int(_exit_code(words)),
    }


def _exit_code(words: Sequence[Word]) -> ExitCode:
    if Word.REGRESSED in words:
        return ExitCode.FAILED
    told = {Word.IMPROVED, Word.NO_RELEVANT_CHANGE}
    return ExitCode.OK if told.issuperset(words) else ExitCode.INCONCLUSIVE


def _answer(found: Sequence[Comparison]) -> str:
    better = [comparison.run_id for comparison in found if comparison.word is Word.IMPROVED]
    if len(found) > 1:
        return f"yes, of {', '.join(better)}" if better else "of none of them"
    return _ANSWERS[found[0].word]


_ANSWERS = {
    Word.IMPROVED: "yes",
    Word.REGRESSED: "no, it got worse",
    Word.NO_RELEVANT_CHANGE: "no, and it did not get worse: what changed is inside the margin",
    Word.CANDIDATE: "not yet: too few cases for a claim, rerun both with more trials",
    Word.INCONCLUSIVE: "it cannot be told from these runs",
    Word.NOT_COMPARABLE: "it cannot be told: the runs are not comparable",
}
