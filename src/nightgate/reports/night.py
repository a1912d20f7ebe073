"""What a night found beyond its gate, as lines for people: broken, mended, suspect, canaries.

Owns the words and how many cases are named. A night without news is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports import canary as canaries
from nightgate.reports.figures import broken_figures
from nightgate.reports.flaky import promote_case
from nightgate.reports.text import counted, plain

_MOST = 5


def night_lines(flakiness: Mapping[str, Any] | None, canary: Mapping[str, Any] | None) -> list[str]:
    """All lines.

    Args:
        flakiness: ``flakiness.json``, or one with ``night: false`` and perhaps an ``error``; or None.
        canary: ``canary.json``, one with ``error`` alone, or None.
    """
    return [*_flakiness(flakiness), *_canary(canary)]


def _flakiness(found: Mapping[str, Any] | None) -> Iterator[str]:
    if found is None or found.get("night") is False:
        if found is not None and "error" in found:
            yield f"flaky or broken: NOT told: {plain(found['error'], 200)}"
        return
    event = found["event"]
    if event is not None:
        yield f"the whole suite moved: {plain(event['text'], 200)}"
    yield from _some("newly broken", found["newly_broken"], broken_figures)
    yield from _some("newly fixed", found["newly_fixed"], _fixed)
    yield from _some("still broken", found["still_broken"], _still)
    yield from _some("suspect", found["suspects"], broken_figures)
    if found["rerun_trials"]:
        yield f"reruns: {counted(found['rerun_trials'], 'trial')} of suspects in {found['rerun_run']}"
    if found.get("reruns_stopped"):
        yield f"reruns: not all could be played: {plain(found['reruns_stopped'], 200)}"
    yield from _proposed(found)


def _proposed(found: Mapping[str, Any]) -> Iterator[str]:
    """Capability cases that pass night for night: whoever owns them may let them gate."""
    cases = found.get("promotable", ())
    if cases:
        named = ", ".join(plain(case, 60) for case in cases[:_MOST])
        rest = f" and {len(cases) - _MOST} more" if len(cases) > _MOST else ""
        yield f"could gate, steady by now: {named}{rest}; {promote_case(found, cases[0])}"


def _some(word: str, entries: Sequence[Mapping[str, Any]], told: Any) -> Iterator[str]:
    for entry in entries[:_MOST]:
        yield f"{word}: {plain(entry['case'], 60)} ({plain(entry['evaluator'], 60)}), {told(entry)}"
    if len(entries) > _MOST:
        yield f"{word}: and {len(entries) - _MOST} more"


def _fixed(entry: Mapping[str, Any]) -> str:
    return f"{entry['passed']} of {entry['judged']} passed"


def _still(entry: Mapping[str, Any]) -> str:
    return f"since {entry['since_date']}"


def _canary(document: Mapping[str, Any] | None) -> list[str]:
    if document is None:
        return []
    if "error" in document:
        return [f"canary: not judged: {plain(document['error'], 200)}"]
    return canaries.render(document)
