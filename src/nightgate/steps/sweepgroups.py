"""A sweep over several runs as one document: what its judges said of all of them together.

Owns the document's shape and how the sweeps of the single runs add up: counts by suite and column,
the interval over cases (a case of many nights is one case), agreement, money. Knows no store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate import stats
from nightgate.errors import STOPPED_EXIT, ExitCode
from nightgate.gates import Decision
from nightgate.steps.selections import Selection
from nightgate.summaries import SUMMARY_SCHEMA, Summary, Tallies, Tally, cost_per, merged, mixed

_MOST_FAILURES = 200
_MOST_HOLES = 20
_COST = ("agent", "judge", "judge_list", "judge_batch", "user", "total", "unpriced_calls", "at_least")


@dataclass(slots=True)
class _Column:
    """One planned column over the runs of one suite."""

    told: Mapping[str, Any]
    """Its entry in the first part's document."""
    tally: Tally = field(default_factory=Tally)
    by_case: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Case id -> passed, and passed or counted as failed."""
    holes: dict[tuple[str, str | None, str], dict[str, Any]] = field(default_factory=dict)


class Combined:
    """Running sums over the parts of a sweep; add each part once, in any order.

    Holds counts of cases, never of trials: memory does not grow with the runs' sizes.
    """

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column] = {}
        self._agreement: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._sums: dict[str, Any] = {}
        self._left_out: dict[str, int] = {}
        self._failures: list[dict[str, Any]] = []
        self._parts: dict[str, dict[str, Any]] = {}
        self._order: dict[str, list[tuple[str, str]]] = {}
        """Suite and column of each part, as its document has them: parts end in any order."""
        self._cases: dict[str, set[tuple[str, str]]] = {name: set() for name in _JUDGED}
        """Suite and case of what was judged, and of what was judged anew."""
        self._stopped: str | None = None
        self._panels: list[dict[str, Any]] = []
        self._prints: dict[str, list[str]] = {}

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._parts

    def add(
        self,
        document: Mapping[str, Any],
        tallies: Tallies,
        decision: Decision,
        cases: Mapping[str, Collection[str]],
    ) -> None:
        """Add one part.

        Args:
            document: Its summary.
            tallies: Its counts.
            decision: For which of them are shown.
            cases: Ids of the cases behind ``judged`` and ``judged_anew``.
        """
        suite, run_id = document["suite"], document["run_id"]
        self._order[run_id] = [(suite, told["name"]) for told in document["evaluators"]]
        for name, ids in cases.items():
            self._cases[name].update((suite, case_id) for case_id in ids)
        gated = {decided.name for decided in decision.evaluators if decided.verdict is not None}
        for told in document["evaluators"]:
            column = self._columns.setdefault((suite, told["name"]), _Column(told))
            for case, found in tallies.by_case(told["name"], gating=True if told["name"] in gated else None):
                column.tally += found
                passed, judged = column.by_case.get(case.case_id, (0, 0))
                more = found.passed + found.counted_failed
                column.by_case[case.case_id] = (passed + found.passed, judged + more)
            _add_holes(column.holes, told["holes"])
        for pair in document["agreement"]:
            key = (suite, pair["evaluator"], *pair["between"])
            known = self._agreement.setdefault(key, {**pair, "suite": suite, "both": 0, "same": 0})
            known["both"] += pair["both"]
            known["same"] += pair["same"]
        self._panels = merged([self._panels, [_of_run(panel, document) for panel in document["panels"]]])
        for spec, values in document["judge_system_fingerprints"].items():
            self._prints[spec] = sorted({*self._prints.get(spec, ()), *values})
        sums = {name: document[name] for name in (*_SUMS, *_JUDGED)}
        sums["cost_usd"] = _paid(document)
        self._sums = _added(self._sums, sums)
        for reason, count in document["left_out"].items():
            self._left_out[reason] = self._left_out.get(reason, 0) + count
        room = _MOST_FAILURES - len(self._failures)
        self._failures += [{**failure, "run": document["source"]} for failure in document["failures"][:room]]
        self._stopped = document["stopped"] or self._stopped
        self._parts[run_id] = {
            "run_id": run_id,
            "source": document["source"],
            "suite": suite,
            "complete": document["complete"],
            "trials": document["trials"],
            "cells": document["cells"],
            "total_usd": document["cost_usd"]["total"],
        }

    def document(self, selection: Selection, *, stopped: str | None, wall_s: float | None) -> Summary:
        """The document of the whole sweep.

        Args:
            selection: As it was begun.
            stopped: budget or cancelled, where it stopped early.
            wall_s: Seconds, where known.
        """
        complete = all(
            part.run_id in self._parts and self._parts[part.run_id]["complete"] for part in selection.parts
        )
        stopped = None if complete else stopped or self._stopped
        ordered = self._ordered(selection)
        evaluators = [_evaluator(key[0], self._columns[key]) for key in ordered]
        judged = any(column.tally.covered for column in self._columns.values())
        done = ExitCode.OK if complete and judged else ExitCode.INCONCLUSIVE
        asked = selection.asked
        sources = [part.source for part in selection.parts]
        body: dict[str, Any] = {
            "schema": SUMMARY_SCHEMA,
            "run_id": selection.sweep_id,
            "suite": ", ".join(dict.fromkeys(part.suite for part in selection.parts)),
            "source": None,
            "complete": complete,
            "verdict": None,
            "exit_code": int(STOPPED_EXIT.get(stopped or "", done)),
            "stopped": stopped,
            "started_at": selection.started_at,
            "wall_s": round(wall_s, 3) if wall_s is not None else None,
            "trigger": selection.trigger,
            "model": None,
            "judges": list(asked.get("judges", ())),
            "repeat": asked.get("repeat", 1),
            "selection": {
                "runs": list(selection.words),
                "since": selection.since,
                "until": selection.until,
                **{name: asked.get(name, []) for name in _FILTERS},
            },
            "parts": self._told(selection),
            "runs_left_out": [dict(one) for one in selection.left_out],
            "left_out": self._left_out,
            "evaluators": evaluators,
            "agreement": [
                {**pair, "share": pair["same"] / pair["both"] if pair["both"] else None}
                for pair in sorted(self._agreement.values(), key=lambda pair: _places(pair, ordered))
            ],
            "panels": sorted(
                self._panels, key=lambda panel: ordered.index((panel["suite"], panel["evaluator"]))
            ),
            "judge_system_fingerprints": self._prints,
            "warnings": list(mixed(self._prints)),
            **self._money(),
            "budget_usd": float(selection.budget_usd) if selection.budget_usd is not None else None,
            "failures": sorted(self._failures, key=lambda failure: sources.index(failure["run"])),
            "findings": [],
        }
        return Summary(body)

    def _told(self, selection: Selection) -> list[dict[str, Any]]:
        """Each part that there is so far."""
        return [
            {**self._parts[part.run_id], "suite_path": part.suite_path}
            for part in selection.parts
            if part.run_id in self._parts
        ]

    def _ordered(self, selection: Selection) -> list[tuple[str, str]]:
        """Suites and columns in the order of the selection, whichever part ended first."""
        keys = (key for part in selection.parts for key in self._order.get(part.run_id, ()))
        return list(dict.fromkeys(keys))

    def _money(self) -> dict[str, Any]:
        """The sums, with what a case, a trial and a verdict came to; a case of many nights is one case."""
        if not self._sums:
            return {}
        judged = {name: {**self._sums[name], "cases": len(self._cases[name])} for name in _JUDGED}
        cost = {"judge_batch": None, **self._sums["cost_usd"]}
        cost["at_least"] = {"judge_batch": None, **cost["at_least"]}
        return {
            **self._sums,
            **judged,
            "cost_usd": cost,
            "cost_per": cost_per(cost["total"], judged["judged_anew"]),
        }


_SUMS = ("trials", "cells", "known", "tokens", "calls")
_JUDGED = ("judged", "judged_anew")
_FILTERS = ("status", "of", "case", "tag", "layer", "stage")


def _paid(document: Mapping[str, Any]) -> dict[str, Any]:
    """A part's money; one that called nobody has no word on what the batch queue would have asked."""
    cost = {name: document["cost_usd"][name] for name in _COST}
    if document["calls"]["total"]:
        return cost
    at_least = {name: usd for name, usd in cost["at_least"].items() if name != "judge_batch"}
    return {name: usd for name, usd in cost.items() if name != "judge_batch"} | {"at_least": at_least}


def _places(pair: Mapping[str, Any], ordered: Sequence[tuple[str, str]]) -> list[int]:
    """Where two columns that are compared stand."""
    return [ordered.index((pair["suite"], name)) for name in pair["between"]]


def _of_run(panel: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """A panel of one part: evaluators of two suites may share a name, and two runs a trial."""
    split = [{"run": document["source"], **one} for one in panel["split"]]
    return {"suite": document["suite"], **panel, "split": split}


def _evaluator(suite: str, column: _Column) -> dict[str, Any]:
    told, tally = column.told, column.tally
    decided = tally.passed + tally.counted_failed
    considered = tally.planned - tally.curtailed
    interval = stats.clustered_interval(list(column.by_case.values())) if tally.judged else None
    holes = sorted(column.holes.values(), key=lambda hole: -hole["count"])
    return {
        "suite": suite,
        **{name: told[name] for name in ("name", "evaluator", "judge", "judge_fingerprint", "repeat")},
        **tally.counts(),
        "judged": tally.judged,
        "coverage": tally.covered / considered if considered else None,
        "pass_rate": tally.passed / decided if decided else None,
        "interval": list(interval) if interval is not None else None,
        "mean_score": tally.mean_score,
        "holes": holes[:_MOST_HOLES],
    }


def _add_holes(known: dict[tuple[str, str | None, str], dict[str, Any]], holes: Sequence[Any]) -> None:
    for hole in holes:
        key = (hole["status"], hole["blame"], hole["reason"])
        if key in known:
            known[key]["count"] += hole["count"]
        else:
            known[key] = dict(hole)


def _added(one: Any, other: Any) -> Any:
    """Figures added up, mapping by mapping; unknown with anything stays unknown.

    >>> _added({"a": 1, "b": 2}, {"a": 3, "b": None})
    {'a': 4, 'b': None}
    """
    if isinstance(other, Mapping):
        before = one or {}
        return {
            name: _added(before[name], value) if name in before else value for name, value in other.items()
        } | {name: value for name, value in before.items() if name not in other}
    if one is None or other is None:
        return None
    return one + other


def combined_forecast(forecasts: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """What a sweep over several runs would judge and cost.

    Args:
        forecasts: Suite, and ``sweepcosts.forecast`` of a run, for each run.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    left_out: dict[str, int] = {}
    for suite, told in forecasts:
        for row in told["evaluators"]:
            figures = {name: value for name, value in row.items() if name != "name"}
            known = rows.get((suite, row["name"]))
            rows[suite, row["name"]] = figures if known is None else _added(known, figures)
        for reason, count in told["left_out"].items():
            left_out[reason] = left_out.get(reason, 0) + count
    total: dict[str, Any] = {}
    for _, told in forecasts:
        total = _added(total, {name: told[name] for name in _FORECAST})
    return {
        "schema": 1,
        "source": None,
        **total,
        "evaluators": [{"suite": suite, "name": name, **row} for (suite, name), row in rows.items()],
        "left_out": left_out,
        "assumption": "; ".join(dict.fromkeys(told["assumption"] for _, told in forecasts)),
        "sources": [
            {"run_id": told["source"], "suite": suite, **{name: told[name] for name in _FORECAST}}
            for suite, told in forecasts
        ],
    }


_FORECAST = ("trials", "cells", "known", "to_judge", "usd", "usd_batch", "usd_at_least")
