"""Over the nights: trends of each evaluator and each case, with what changed on the way.

Owns how many nights are read, from where, and what a hole is. A month that is over is compacted into one
object, so that a year is twelve reads; which runs there are is told by the manifests alone. Reads the
summaries table and manifests, nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from nightgate.errors import DamagedError, MissingError, StoreError
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.keys import RunAddress
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.steps.nights import addresses, is_night, series_of, started
from nightgate.steps.readers import side_by_side

if TYPE_CHECKING:
    from nightgate.rows.histories import Grid

NIGHTS = 30
_FACTS = ("model", "judge", "fingerprint", "verdict")
_CHANGES = {
    "case_hash": "case",
    "evaluator_version": "evaluator",
    "judge_fingerprint": "judge",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Month:
    """The counts of some runs, with what their manifests say of them."""

    table: Any
    runs: list[dict[str, Any]]


def history(
    store: Store,
    suite: str,
    *,
    nights: int = NIGHTS,
    evaluator: str | None = None,
    case: str | None = None,
    series: str | None = None,
    keep: bool = True,
) -> dict[str, Any]:
    """Trends over the newest nights of a suite.

    Args:
        store: Where its runs lie.
        suite: The suite's id.
        nights: How many, at most.
        evaluator: Only this one.
        case: Only cases whose id matches this glob.
        series: ``scripted`` or ``live``; None takes that of the newest night.
        keep: Whether months that had to be compacted are kept for the next time.

    Returns:
        ``nights`` oldest first; ``evaluators`` and ``cases`` hold lists of one entry a night: null is a
        hole, where nothing was planned or, of a case, nothing was judged; it is never a zero.

    Raises:
        DamagedError: If a run is not what was committed.
    """
    runs, table = _counts(store, suite, nights, series, keep=keep)
    from nightgate.rows import histories

    found = histories.grid(table, [run["run_id"] for run in runs])
    wanted = [
        i
        for i, (name, by) in enumerate(found.pairs)
        if (evaluator is None or by == evaluator) and (case is None or fnmatchcase(name, case))
    ]
    return {
        "schema": 1,
        "suite": suite,
        "series": series_of(runs[-1]["model"]) if runs else series,
        "nights": [_night(run, before) for run, before in zip(runs, [None, *runs], strict=False)],
        "evaluators": _evaluators(found, wanted),
        "cases": _cases(found, wanted),
    }


def compact_months(store: Store, suite: str, *, before: date) -> int:
    """Compact the months that were over by a day and are not compacted yet; returns how many."""
    from nightgate.rows import histories

    written = 0
    there = set(store.find(keys.history_prefix(suite)))
    for month, runs in _by_month(addresses(store, suite)).items():
        if month >= f"{before:%Y-%m}" or keys.history_key(suite, month) in there:
            continue
        whole = _completed(store, None, runs)
        store.replace(keys.history_key(suite, month), histories.compact(whole.table, whole.runs))
        written += 1
    return written


def _counts(
    store: Store, suite: str, nights: int, asked: str | None, *, keep: bool
) -> tuple[list[dict[str, Any]], Any]:
    """The newest nights of a series, else of the newest one, oldest first, and their counts."""
    from nightgate.rows import histories

    months = _by_month(addresses(store, suite))
    there = set(store.find(keys.history_prefix(suite)))
    tables: list[Any] = []
    runs: list[dict[str, Any]] = []
    newest = list(reversed(months))
    with ThreadPoolExecutor(1, thread_name_prefix="nightgate-keep") as keeper:  # compacts beside the reading
        for start in range(0, len(newest), _MONTHS_AT_ONCE):
            batch = newest[start : start + _MONTHS_AT_ONCE]
            for month in _months(store, suite, batch, months, there, keeper if keep else None):
                tables.append(month.table)
                runs += [run for run in month.runs if run["night"]]
            runs.sort(key=lambda run: (run["started_at"], run["run_id"]), reverse=True)
            if runs:
                series = asked or series_of(runs[0]["model"])
                if sum(series_of(run["model"]) == series for run in runs) >= nights:
                    break
    series = asked or (series_of(runs[0]["model"]) if runs else "")
    chosen = [run for run in runs if series_of(run["model"]) == series][:nights]
    return chosen[::-1], histories.joined(tables)


_MONTHS_AT_ONCE = 3


def _months(
    store: Store,
    suite: str,
    wanted: Sequence[str],
    months: Mapping[str, Sequence[RunAddress]],
    there: set[str],
    keeper: Executor | None,
) -> list[_Month]:
    """Months as they are committed: what was compacted, completed and cut to what the manifests say."""

    def kept(month: str) -> _Month | None:
        return _kept(store, suite, month) if keys.history_key(suite, month) in there else None

    found = []
    for month, known in zip(wanted, side_by_side(kept, wanted), strict=True):
        whole = _completed(store, known, months[month])
        if keeper is not None and (known is None or len(whole.runs) > len(known.runs)):
            keeper.submit(_keep, store, keys.history_key(suite, month), whole)
        found.append(whole)
    return found


def _keep(store: Store, key: str, month: _Month) -> None:
    """Keep a compacted month, only to be quicker next time: a store that refuses it is no trouble."""
    from nightgate.rows import histories

    with contextlib.suppress(StoreError):
        store.replace(key, histories.compact(month.table, month.runs))


def _by_month(found: Sequence[RunAddress]) -> dict[str, list[RunAddress]]:
    """Addresses by YYYY-MM, oldest first."""
    months: dict[str, list[RunAddress]] = {}
    for address in found:
        months.setdefault(f"{address.date:%Y-%m}", []).append(address)
    return months


def _kept(store: Store, suite: str, month: str) -> _Month | None:
    from nightgate.rows import histories

    try:
        table, runs = histories.expand(store.read(keys.history_key(suite, month)))
    except (MissingError, DamagedError):
        return None
    return _Month(table=table, runs=runs)


def _completed(store: Store, kept: _Month | None, wanted: Sequence[RunAddress]) -> _Month:
    """A month with exactly the runs that have a manifest."""
    from nightgate.rows import histories

    known = {run["run_id"]: run for run in kept.runs} if kept is not None else {}
    missing = [address for address in wanted if address.run_id not in known]
    # Read by threads, decoded by this one: threads that decode wait for each other's turn.
    read = side_by_side(_reader(store), missing)
    runs = {**known, **{run["run_id"]: run for run, _ in read}}
    names = [address.run_id for address in wanted]
    tables = [histories.counts_of(*part) for _, part in read if part is not None]
    if kept is not None:
        whole = set(known) <= set(names)
        tables.insert(0, kept.table if whole else histories.of_runs(kept.table, names))
    return _Month(table=histories.joined(tables), runs=[runs[name] for name in names])


def _reader(store: Store) -> Callable[[RunAddress], tuple[dict[str, Any], tuple[bytes, PartRef] | None]]:
    def read(address: RunAddress) -> tuple[dict[str, Any], tuple[bytes, PartRef] | None]:
        manifest = Manifest.from_json(store.read(keys.manifest_key(*address)))
        facts = _run(manifest)
        parts = manifest.of(keys.SUMMARIES)
        if not facts["night"] or not parts:
            return facts, None
        try:
            return facts, (store.read(parts[0].key), parts[0])
        except MissingError as error:
            msg = f"run {manifest.run_id}: part {parts[0].key} is gone, the manifest names it"
            raise DamagedError(msg) from error

    return read


def _run(manifest: Manifest) -> dict[str, Any]:
    return {
        "run_id": manifest.run_id,
        "date": manifest.date.isoformat(),
        "started_at": started(manifest),
        "kind": manifest.run_kind,
        "night": is_night(manifest),
        **{name: manifest.facts.get(name) for name in _FACTS},
    }


def _night(run: Mapping[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    """A night, and what of the thing under test changed since the one before."""
    changed = []
    if before is not None:
        changed = [name for name in ("model", "judge") if run[name] != before[name]]
        if run["fingerprint"] != before["fingerprint"] and "model" not in changed:
            changed.append("agent")
    return {
        **{name: run[name] for name in ("run_id", "date", "started_at", "verdict", "model", "judge")},
        "changed": changed,
    }


def _evaluators(found: Grid, wanted: Sequence[int]) -> list[dict[str, Any]]:
    """One entry an evaluator, its cases added up; marks where what it judges, or how, was changed."""
    names = sorted({found.pairs[i][1] for i in wanted})
    by_name = {name: [i for i in wanted if found.pairs[i][1] == name] for name in names}
    return [_evaluator(found, name, rows) for name, rows in by_name.items()]


def _evaluator(found: Grid, name: str, rows: list[int]) -> dict[str, Any]:
    counts = {key: values[rows] for key, values in found.counts.items()}
    there = [planned >= 0 for planned in counts["planned"].max(axis=0).tolist()]
    sums = {key: values.clip(0).sum(axis=0).tolist() for key, values in counts.items()}
    figures, numbers = (values[rows].sum(axis=0).tolist() for values in found.scores)
    threshold = next((found.thresholds[i] for i in rows if found.thresholds[i] is not None), None)
    return {
        "evaluator": name,
        "threshold": threshold,
        "passed": _or_hole(sums["passed"], there),
        "judged": _or_hole(sums["judged"], there),
        "planned": _or_hole(sums["planned"], there),
        "pass_rate": [p / j if j else None for p, j in zip(sums["passed"], sums["judged"], strict=True)],
        "mean_score": [s / n if n else None for s, n in zip(figures, numbers, strict=True)],
        "changes": _merged(found, rows),
    }


def _or_hole(values: Sequence[int], there: Sequence[bool]) -> list[int | None]:
    return [value if known else None for value, known in zip(values, there, strict=True)]


def _cases(found: Grid, wanted: Sequence[int]) -> list[dict[str, Any]]:
    rows = list(wanted)
    counts = {name: found.counts[name][rows] for name in ("passed", "judged", "planned")}
    changes = _changes(found, rows)
    # Rows of holes and of cells that nobody judged: both are no figure.
    holes = counts["judged"] <= 0
    passed, judged = (_series(counts[name], holes) for name in ("passed", "judged"))
    totals = {name: values.clip(0).sum(axis=1).tolist() for name, values in counts.items()}
    return [
        {
            "case": found.pairs[i][0],
            "evaluator": found.pairs[i][1],
            "stage": found.stages[i],
            "passed": totals["passed"][row],
            "judged": totals["judged"][row],
            "planned": totals["planned"][row],
            "nights": {"passed": passed[row], "judged": judged[row]},
            "changes": changes.get(row, []),
        }
        for row, i in enumerate(rows)
    ]  # fmt: skip


def _series(values: Any, holes: Any) -> list[list[int | None]]:
    """Rows of counts with None for holes; most rows have none."""
    rows: list[list[int | None]] = values.tolist()
    for row in holes.any(axis=1).nonzero()[0].tolist():
        for night in holes[row].nonzero()[0].tolist():
            rows[row][night] = None
    return rows


def _changes(found: Grid, rows: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """Where a pair became another thing: row -> night and what was changed. Holes change nothing."""
    import numpy as np

    marks: dict[int, list[dict[str, Any]]] = {}
    for column, what in _CHANGES.items():
        codes = found.identities[column][list(rows)]
        at = np.where(codes >= 0, np.arange(codes.shape[1]), 0)
        last = np.take_along_axis(codes, np.maximum.accumulate(at, axis=1), axis=1)
        moved = (last[:, 1:] != last[:, :-1]) & (last[:, :-1] >= 0)
        for row, night in zip(*(axis.tolist() for axis in np.nonzero(moved)), strict=True):
            marks.setdefault(row, []).append({"night": night + 1, "what": what})
    return marks


def _merged(found: Grid, rows: Sequence[int]) -> list[dict[str, Any]]:
    """The same of an evaluator: each mark once, with how many cases it befell."""
    counted: dict[tuple[int, str], int] = {}
    for marks in _changes(found, rows).values():
        for mark in marks:
            key = (mark["night"], mark["what"])
            counted[key] = counted.get(key, 0) + 1
    return [{"night": night, "what": what, "cases": n} for (night, what), n in sorted(counted.items())]
