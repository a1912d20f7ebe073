"""The page set of a run: gathered from what is stored, rendered file by file, and put where it is asked for.

Owns which documents are read, that what stands beside a run (its history, its night) cannot keep it from
being shown, and that a run never fails for its pages' sake. Knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from nightgate.errors import DamagedError, InputError, MissingError, NightgateError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.reports.pages.runpage import run_pages
from nightgate.reports.pages.values import RunFacts
from nightgate.rows import keys
from nightgate.steps import nightdocs
from nightgate.steps.nights import series_of
from nightgate.steps.played import played_cases
from nightgate.steps.reading import load_plan, manifest_of, rows_of
from nightgate.steps.simulated import notice_of

INDEX = "index.html"
WRITERS = 16
"""Pages put at a time: a store on a network takes many at once."""
_NIGHTS = 30
_CALL_COLUMNS = (
    "role", "model", "outcome", "attempt", "tokens_in", "tokens_out", "tokens_cache_read",
    "tokens_cache_write", "cost_nanousd", "latency_ms",
)  # fmt: skip
_TOKENS = ("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write")


def pages_of_run(
    store: Store, run_id: str, *, store_flag: str | None = None, notice: str | None = None
) -> Iterator[tuple[str, bytes]]:
    """The files of a run's pages, ``index.html`` last; one case is in memory at a time.

    Args:
        store: Where the run lies.
        run_id: The run, complete or not.
        store_flag: The store as commands have to name it; None: they need not.
        notice: Said at the top of every page; None: what the store itself says, such as that it is simulated.

    Raises:
        MissingError: If there is no such run, or it has no summary yet.
        InputError: If it is a judge sweep, which has no trials of its own.
        DamagedError: If what is stored is not what was committed.
    """
    facts = facts_of_run(store, run_id, store_flag=store_flag, notice=notice)
    yield from run_pages(facts, played_cases(store, facts.plan))


def facts_of_run(
    store: Store, run_id: str, *, store_flag: str | None = None, notice: str | None = None
) -> RunFacts:
    """A run as its documents tell it. Arguments and errors as for ``pages_of_run``."""
    plan = load_plan(store, run_id)
    if plan.is_sweep:
        msg = f"run {run_id} is a judge sweep: its trials are on the pages of {plan.source}"
        raise InputError(msg)
    troubles: list[str] = []
    nights, history = _history(store, plan, troubles)
    return RunFacts(
        plan=plan,
        summary=_summary(store, run_id),
        flakiness=_beside(nightdocs.flakiness_of, store, run_id, troubles),
        canary=_beside(nightdocs.canary_of, store, run_id, troubles),
        models=_models(store, plan),
        nights=nights,
        history=history,
        troubles=tuple(troubles),
        store_flag=store_flag,
        notice=notice if notice is not None else notice_of(store),
    )


def keep_pages(store: Store, run_id: str, *, store_flag: str | None = None) -> None:
    """Write the page set to the store, under ``runs/<run_id>/report/``; what was there is replaced.

    ``index.html`` comes last, so a page that it links to is there. Arguments and errors as for
    ``pages_of_run``.

    Raises:
        StoreError: If the store refused.
    """
    with ThreadPoolExecutor(WRITERS, thread_name_prefix="nightgate-pages") as writers:
        waiting: list[Future[None]] = []
        for name, data in pages_of_run(store, run_id, store_flag=store_flag):
            if name == INDEX or len(waiting) >= WRITERS:
                # Rendered no faster than the store takes them: memory holds so many pages at most.
                for done in waiting:
                    done.result()
                waiting.clear()
            waiting.append(writers.submit(store.replace, keys.report_key(run_id, name), data))
        for done in waiting:
            done.result()


def has_pages(store: Store, run_id: str) -> bool:
    """Whether the page set of a run is there, whole."""
    return bool(store.find(keys.report_index_key(run_id)))


def _summary(store: Store, run_id: str) -> Mapping[str, Any]:
    key = keys.summary_key(run_id)
    try:
        document = json.loads(store.read(key))
    except MissingError as error:
        msg = f"run {run_id} has no summary yet: `nightgate run SUITE --resume {run_id}` finishes it"
        raise MissingError(msg) from error
    except ValueError as error:
        msg = f"{key} is no JSON document ({error}); `nightgate gate {run_id}` decides from the rows"
        raise DamagedError(msg) from error
    if not isinstance(document, dict) or not isinstance(document.get("evaluators"), list):
        msg = f"{key} is no summary of a run; `nightgate gate {run_id}` decides from the rows"
        raise DamagedError(msg)
    return document


def _beside(read: Any, store: Store, run_id: str, troubles: list[str]) -> Mapping[str, Any] | None:
    """A document of what followed the gate; what is wrong with it is told, and the rest is shown."""
    try:
        found: Mapping[str, Any] | None = read(store, run_id)
    except DamagedError as error:
        troubles.append(str(error))
        return None
    return found


def _history(
    store: Store, plan: Plan, troubles: list[str]
) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Sequence[Mapping[str, Any]]]]:
    from nightgate.steps.histories import history

    try:
        found = history(store, plan.suite, nights=_NIGHTS, series=series_of(plan.model), keep=False)
    except NightgateError as error:  # of another run: this one is whole
        troubles.append(f"the nights before cannot be read: {error}")
        return (), {}
    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for entry in found["cases"]:
        by_case.setdefault(entry["case"], []).append(entry)
    return found["nights"], by_case


def _models(store: Store, plan: Plan) -> list[dict[str, Any]]:
    """The ledger of a committed run by role and model: calls, tokens, money, how long a call took."""
    manifest = manifest_of(store, plan)
    if manifest is None:
        return []
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows_of(store, manifest, keys.CALLS, _CALL_COLUMNS):
        groups.setdefault((row["role"], row["model"] or ""), []).append(row)
    return [_model(role, model, rows) for (role, model), rows in sorted(groups.items())]


def _model(role: str, model: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    costs = [row["cost_nanousd"] for row in rows]
    took = sorted(
        row["latency_ms"] for row in rows if row["outcome"] == "ok" and row["latency_ms"] is not None
    )
    return {
        "role": role,
        "model": model,
        "calls": len(rows),
        "retries": sum((row["attempt"] or 1) > 1 for row in rows),
        "failed": sum(row["outcome"] != "ok" for row in rows),
        **{name: sum(row[name] or 0 for row in rows) for name in _TOKENS},
        "nanousd": None if None in costs else sum(costs),
        "median_ms": took[len(took) // 2] if took else None,
        "p95_ms": took[min(len(took) - 1, len(took) * 95 // 100)] if took else None,
    }
