"""The page of a suite's history: gathered from what is stored.

Owns which documents are read, which parts of an agent changed between two nights, and that what stands
beside the history (a night's summary, the flake board, a calibration) cannot keep it from being shown.
Knows no adapter, calls nothing and writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from nightgate.errors import MissingError, NightgateError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.reports.pages.suitepage import suite_page
from nightgate.reports.pages.suitevalues import Change, SuiteFacts
from nightgate.rows import keys
from nightgate.steps.calibrating import kept
from nightgate.steps.flakyboard import board
from nightgate.steps.histories import NIGHTS, history
from nightgate.steps.readers import side_by_side
from nightgate.steps.reading import load_plan
from nightgate.steps.simulated import notice_of

INDEX = "index.html"
_KEPT = ("verdict", "trials", "cost_usd", "endings", "conversations")
_OF_EVALUATOR = ("name", "planned", "judged", "coverage", "interval", "verdict")
_MOST_TROUBLES = 5

T = TypeVar("T")


def pages_of_suite(
    store: Store,
    suite: str,
    *,
    nights: int = NIGHTS,
    series: str | None = None,
    store_flag: str | None = None,
) -> Iterator[tuple[str, bytes]]:
    """The files of the page set of a suite's history.

    Args:
        store: Where its runs lie.
        suite: The suite's id.
        nights: How many of the newest, at most.
        series: ``scripted`` or ``live``; None takes that of the newest night.
        store_flag: The store as commands have to name it; None: they need not.

    Raises:
        MissingError: If the suite, or the series, has no complete night.
        DamagedError: If a run is not what was committed.
    """
    yield INDEX, suite_page(facts_of_suite(store, suite, nights=nights, series=series, store_flag=store_flag))


def facts_of_suite(
    store: Store,
    suite: str,
    *,
    nights: int = NIGHTS,
    series: str | None = None,
    store_flag: str | None = None,
) -> SuiteFacts:
    """A suite's history as stored. Arguments and errors as ``pages_of_suite``'s."""
    found = history(store, suite, nights=nights, series=series, keep=False)
    if not found["nights"]:
        of_series = f" with {series} models" if series else ""
        msg = f"no complete run of {suite}{of_series} in {store.uri}; `nightgate run` makes one"
        raise MissingError(msg)
    troubles: list[str] = []
    summaries = _summaries(store, [night["run_id"] for night in found["nights"]], troubles)
    document = {
        **found,
        "summaries": summaries,
        "flaky": _beside(lambda: board(store, suite, found["series"]), "flaky cases", troubles),
        "calibration": _beside(lambda: _calibration(store, suite), "the calibration", troubles),
    }
    changes = [*_of_nights(store, found["nights"], troubles), *_of_evaluators(found)]
    return SuiteFacts(
        document=document,
        changes=sorted(changes, key=lambda change: change.night),
        troubles=_told(troubles),
        store_flag=store_flag,
        notice=notice_of(store),
    )


def _told(troubles: Sequence[str]) -> tuple[str, ...]:
    more = len(troubles) - _MOST_TROUBLES
    return (*troubles[:_MOST_TROUBLES], *([f"and {more} more like these"] if more > 0 else []))


def _beside(read: Callable[[], T], what: str, troubles: list[str]) -> T | None:
    """What stands beside the history; what is wrong with it is told, and the rest is shown."""
    try:
        return read()
    except (NightgateError, ValueError) as error:
        troubles.append(f"{what} cannot be shown: {error}")
        return None


def _calibration(store: Store, suite: str) -> Mapping[str, Any] | None:
    found = kept(store, suite)
    if found is not None and not isinstance(found.get("judges"), list):
        msg = "calibrations/ holds no calibration of it; `nightgate calibrate SUITE` makes it again"
        raise ValueError(msg)
    return found


def _summaries(store: Store, run_ids: Sequence[str], troubles: list[str]) -> dict[str, dict[str, Any]]:
    """Of each night what the page shows of its summary."""

    def read(run_id: str) -> dict[str, Any] | str | None:
        key = keys.summary_key(run_id)
        try:
            return _trimmed(json.loads(store.read(key)))
        except MissingError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return f"{key} is no summary of a run ({error}): its night has no interval and no cost here"

    found = dict(zip(run_ids, side_by_side(read, run_ids), strict=True))
    troubles += [trouble for trouble in found.values() if isinstance(trouble, str)]
    return {run_id: summary for run_id, summary in found.items() if isinstance(summary, dict)}


def _trimmed(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary of hundreds of cases is a megabyte, and a year has many."""
    return {
        **{name: summary.get(name) for name in _KEPT},
        "evaluators": [{name: entry.get(name) for name in _OF_EVALUATOR} for entry in summary["evaluators"]],
    }


# -- what changed -----------------------------------------------------------------------------------


def _of_nights(store: Store, nights: Sequence[Mapping[str, Any]], troubles: list[str]) -> Iterator[Change]:
    """Changes of the agent and of the run's judge. Plans are read only where a fingerprint changed."""
    for night, (before, now) in enumerate(pairwise(nights), start=1):
        for name in ("model", "judge"):
            if name in now["changed"]:
                text = f"{name} {before[name] or 'none'} → {now[name] or 'none'}"
                yield Change(night=night, what=name, text=text)
        if "agent" in now["changed"] or "model" in now["changed"]:
            try:
                plans = load_plan(store, before["run_id"]), load_plan(store, now["run_id"])
            except NightgateError as error:
                troubles.append(f"what changed in {now['run_id']} cannot be told: {error}")
                continue
            parts = list(changed_parts(*plans))
            if not parts and "agent" in now["changed"]:
                parts = [("agent", "agent, in a part that the stored plan does not show")]
            yield from (Change(night=night, what=what, text=text) for what, text in parts)


def changed_parts(before: Plan, now: Plan) -> Iterator[tuple[str, str]]:
    """Parts of the agent that differ between two runs: a word, and the same in more words.

    A plan shows the parts of its first case. The model's name is left out: the history tells it.
    """
    old, new = before.parts, now.parts
    if not old or not new:
        return
    if old["model"] != new["model"] and before.model == now.model:
        yield "model", f"the script or the options of model {now.model}"
    if old["system_prompt"] != new["system_prompt"]:
        yield "prompt", "system prompt"
    if old["tools"] != new["tools"]:
        yield "tools", "tool or skill schemas"
    if old["limits"] != new["limits"]:
        yield "limits", "limits of a trial"
    for name in dict.fromkeys((*old["sources"], *new["sources"])):
        if old["sources"].get(name) != new["sources"].get(name):
            yield "source", f"source {name}"


def _of_evaluators(found: Mapping[str, Any]) -> Iterator[Change]:
    words = {
        "case": "text of {cases} case{s}",
        "evaluator": "version of {name}",
        "judge": "judge of {name}",
    }
    for entry in found["evaluators"]:
        for mark in entry["changes"]:
            text = words[mark["what"]].format(
                name=entry["evaluator"], cases=mark["cases"], s="" if mark["cases"] == 1 else "s"
            )
            yield Change(night=mark["night"], what=mark["what"], text=text, evaluator=entry["evaluator"])
