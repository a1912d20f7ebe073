"""The flake board: what each case and evaluator of a suite is taken for, and what finding out cost.

Owns the document behind ``nightgate flaky``. Reads the detector's book and later nights; writes nothing.
"""

from __future__ import annotations

from typing import Any

from nightgate import stats
from nightgate.flakiness import FLAKY, LABELS, Pair, State, Watched, baseline, label_of, trend
from nightgate.ports import Store
from nightgate.prices import NANO
from nightgate.steps.flaky import fresh_book
from nightgate.steps.flakybook import promotable
from nightgate.steps.reading import load_plan

_ORDER = {State.BROKEN: 0, State.SUSPECT: 1, State.SOUND: 2}


def board(store: Store, suite: str, series: str | None = None) -> dict[str, Any] | None:
    """All pairs of the newest night, the worst first; None where the suite, or the series, has no night.

    ``rate`` is the pass rate since the last change with its Jeffreys interval (95%), reruns left out; null
    where nothing was judged. ``reruns`` is what reruns of the pair have cost so far: trials and dollars.
    """
    found = fresh_book(store, suite, series)
    if found is None:
        return None
    series, book = found
    newest = book.recent[-1]
    rows = [
        _row(pair, watched)
        for pair, watched in sorted(book.pairs.items(), key=_worst)
        if watched.nights and watched.nights[-1].run_id == newest
    ]
    costs = [row["reruns"]["usd"] for row in rows]
    by_case: dict[str, int] = {}
    for row in rows:
        by_case[row["case"]] = max(by_case.get(row["case"], 0), row["reruns"]["trials"])
    known = [cost for cost in costs if cost is not None]
    return {
        "schema": 1,
        "suite": suite,
        "suite_path": load_plan(store, newest).suite_path,
        "series": series,
        "through": {"run_id": book.through_run, "at": book.through_at},
        "event": None if book.event is None else {"since_date": book.event.since_date},
        "counts": {
            **{state.value: sum(row["state"] == state for row in rows) for state in State},
            **{word: sum(row["label"] == word for row in rows) for word in LABELS},
        },
        "reruns": {
            "trials": sum(by_case.values()),
            "usd": sum(known) if len(known) == len(costs) else None,
        },
        "promotable": promotable(book, [(row["case"], row["evaluator"]) for row in rows]),
        "pairs": rows,
    }


def _worst(item: tuple[Pair, Watched]) -> tuple[Any, ...]:
    pair, watched = item
    passed, judged = trend(watched)
    rate = passed / judged if judged else 2.0
    return (_ORDER[watched.state], label_of(watched) != FLAKY, rate, pair)


def _row(pair: Pair, watched: Watched) -> dict[str, Any]:
    passed, judged = trend(watched)
    failed, base = baseline(watched)
    cost = watched.rerun_nanousd
    return {
        "case": pair[0],
        "evaluator": pair[1],
        "stage": watched.stage,
        "state": watched.state.value,
        "label": label_of(watched),
        "passed": passed,
        "judged": judged,
        "rate": passed / judged if judged else None,
        "interval": list(stats.jeffreys(passed, judged)) if judged else None,
        "base_rate": 1 - failed / base if base else None,
        "since_run": watched.since_run,
        "since_date": watched.since_date,
        "flips": watched.flips,
        "reruns": {"trials": watched.reruns, "usd": None if cost is None else cost / NANO},
    }
