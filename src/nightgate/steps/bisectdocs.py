"""The documents of a one-factor search: what it would play, and what it found.

Owns their shape and the exit code. What counts as moved is ``comparisons``'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nightgate.comparisons.bisecting import Outcome, Verdict, Word, answer
from nightgate.comparisons.pairing import Flip, judged_differently
from nightgate.comparisons.swaps import Swap
from nightgate.errors import STOPPED_EXIT, ExitCode
from nightgate.ports import Store
from nightgate.prices import NANO
from nightgate.steps.bisecting import Bisection, Probe
from nightgate.steps.bisectrows import cost_of
from nightgate.steps.reading import load_plan

_SCHEMA = 1
_EXPLAINED = frozenset({Verdict.EXPLAINED, Verdict.TOGETHER})
_UNKNOWN = frozenset({Verdict.UNTOLD, Verdict.OPEN})


def forecast(
    bisection: Bisection, costs: Mapping[str, float | None], budget_nanousd: int | None
) -> dict[str, Any]:
    """What a search would play.

    Args:
        bisection: As far as it is known.
        costs: A guess in US dollars by name of a probe that is still to be played; None: a price is unknown.
        budget_nanousd: The cap over all of them; None: none.

    Returns:
        ``broken``, ``swaps``, ``fixed``, ``probes`` (``stored`` ones cost nothing), ``cost_usd`` at most (a
        guess; null with an unknown price) and ``budget_usd``.
    """
    left = [_probe(probe, stored=False, cost=costs.get(probe.asked.name)) for probe in bisection.probes()]
    known = [_probe(probe, stored=True, cost=0.0) for probe in bisection.known.values()]
    amounts = [probe["cost_usd"] for probe in left]
    return {
        **_head(bisection),
        "broken": [_broken(bisection, flip) for flip in bisection.broken],
        "swaps": [_swap(swap) for swap in bisection.search.swaps],
        "fixed": [found.as_dict() for found in bisection.fixed],
        "probes": [*known, *left],
        "cost_usd": None if None in amounts else sum(amounts),
        "guess": True,
        "budget_usd": None if budget_nanousd is None else budget_nanousd / NANO,
    }


def document(store: Store, bisection: Bisection, stopped: str | None) -> dict[str, Any]:
    """What a search found.

    Args:
        store: Where its probes lie.
        bisection: As far as it got.
        stopped: Why it got no further: budget, cancelled or open; None: nothing is left to ask.

    Returns:
        ``broken`` (an entry a case and evaluator: ``verdict``, ``by``, ``control`` and ``probes`` with
        ``[passed, judged]``), ``swaps`` (``moved`` of ``of``, and the shares over their cases), ``fixed``,
        ``probes``, ``notes``, the ``answer`` in words, ``cost_usd`` of all probes and the ``exit_code``: 4
        stopped by the budget, 130 interrupted, else 0 where a swap moved something, else 3 where something
        cannot be told, else 1.
    """
    outcomes = {outcome.pair: outcome for outcome in bisection.search.outcomes()}
    plans = {name: load_plan(store, probe.run_id) for name, probe in bisection.known.items()}
    costs = {name: cost_of(store, probe.run_id) for name, probe in bisection.known.items()}
    # A probe that was stopped is open, and what it has cost is spent.
    begun = bisection.search.next()
    unfinished = [bisection.probe(begun)] if begun is not None else []
    unfinished = [probe for probe in unfinished if probe.stored(store) is not None]
    opened = [_probe(probe, stored=False, cost=cost_of(store, probe.run_id)) for probe in unfinished]
    probes = [_probe(probe, stored=True, cost=costs[name]) for name, probe in bisection.known.items()]
    return {
        **_head(bisection),
        "broken": [
            {**_broken(bisection, flip), **_found(bisection, outcomes[flip.case, flip.evaluator])}
            for flip in bisection.broken
        ],
        "swaps": [
            {**_swap(swap), **_moved(bisection, swap, outcomes.values())} for swap in bisection.search.swaps
        ],
        "fixed": [found.as_dict() for found in bisection.fixed],
        "probes": [*probes, *opened],
        "notes": list(
            dict.fromkeys(
                note for name, probe in bisection.known.items() for note in probe.notes(plans[name])
            )
        ),
        "stopped": stopped,
        "answer": answer(bisection.search),
        "cost_usd": _added(probe["cost_usd"] for probe in (*probes, *opened)),
        "exit_code": int(_exit_code(stopped, {outcome.verdict for outcome in outcomes.values()})),
    }


def _exit_code(stopped: str | None, verdicts: set[Verdict]) -> ExitCode:
    if stopped in STOPPED_EXIT:
        return STOPPED_EXIT[stopped]
    if verdicts & _EXPLAINED:
        return ExitCode.OK
    return ExitCode.INCONCLUSIVE if verdicts & _UNKNOWN else ExitCode.FAILED


def _head(bisection: Bisection) -> dict[str, Any]:
    return {
        "schema": _SCHEMA,
        "suite": bisection.suite.suite,
        "good": bisection.good.run_id,
        "bad": bisection.bad.run_id,
    }


def _broken(bisection: Bisection, flip: Flip) -> dict[str, Any]:
    before, now = (side.evaluators[flip.evaluator] for side in (bisection.good, bisection.bad))
    reason = judged_differently(before, now)
    return {**flip.as_dict(), "judged_differently": None if reason is None else reason.partition(";")[0]}


def _found(bisection: Bisection, outcome: Outcome) -> dict[str, Any]:
    search = bisection.search
    control = search.share("control", outcome.pair)
    return {
        "verdict": outcome.verdict.value,
        "by": list(outcome.by),
        "reason": outcome.reason,
        "control": None if control is None else list(control),
        "probes": [
            {
                "factor": name,
                "word": word.value,
                "control": _listed(search.control_of(name, outcome.pair)),
                "probe": _listed(search.share(name, outcome.pair)),
            }
            for name, word in outcome.words.items()
        ],
    }


def _listed(share: tuple[int, int] | None) -> list[int] | None:
    return None if share is None else list(share)


def _swap(swap: Swap) -> dict[str, Any]:
    return {"factor": swap.factor, "before": swap.before, "now": swap.now, "text": swap.text}


def _moved(bisection: Bisection, swap: Swap, outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Over the cases that a swap was tried on: how many it moved, and how many passed before and after."""
    tried = [
        outcome.pair for outcome in outcomes if outcome.words.get(swap.factor, Word.OPEN) is not Word.OPEN
    ]
    moved = sum(bisection.search.word(swap.factor, pair) is Word.MOVED for pair in tried)
    before = [bisection.search.control_of(swap.factor, pair) or (0, 0) for pair in tried]
    now = [bisection.search.share(swap.factor, pair) or (0, 0) for pair in tried]
    return {
        "moved": moved,
        "of": len(tried),
        "control": [sum(share[0] for share in before), sum(share[1] for share in before)],
        "probe": [sum(share[0] for share in now), sum(share[1] for share in now)],
    }


def _probe(probe: Probe, *, stored: bool, cost: float | None) -> dict[str, Any]:
    cases = tuple(dict.fromkeys(case_id for case_id, _ in probe.asked.pairs))
    return {
        "name": probe.asked.name,
        "factors": list(probe.asked.factors),
        "run_id": probe.run_id,
        "kind": "sweep" if probe.sweeps else "rerun",
        "cases": list(cases),
        "trials": sum(probe.trials_of(case_id) for case_id in cases),
        "stored": stored,
        "cost_usd": cost,
    }


def _added(amounts: Iterable[float | None]) -> float | None:
    found = list(amounts)
    known = [amount for amount in found if amount is not None]
    return sum(known) if len(known) == len(found) else None
