"""A run beside its base, as lines for people: at a run's end, and from ``compare``.

Owns how many of a kind are named. Reads the documents; what they say was decided before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.text import plain

MOST = 8
"""Cases or reasons named on a terminal; the document has them all."""


def beside(summary: Mapping[str, Any]) -> Iterator[str]:
    """What a run's end says of its baseline as a whole; nothing where it has none."""
    found = summary.get("comparison")
    if found is not None:
        yield f"baseline: {plain(found['text'], 400)}"
        yield from _factors(found["factors"])


def changed(summary: Mapping[str, Any]) -> dict[str, list[str]]:
    """What became of single cases since the baseline, by what it is called in the plural."""
    found = summary.get("comparison")
    if found is None:
        return {}
    return _changed(summary["changes"], evaluators=found["verdict"] != "not comparable")


def render(document: Mapping[str, Any]) -> str:
    """All lines of ``compare``.

    Args:
        document: As ``steps.comparing.document`` makes it.
    """
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    runs = document["runs"]
    for number, run in enumerate(runs):
        found = run["comparison"]
        if number:
            yield ""
        shared = f"over {found['cases']} shared cases"
        yield f"{run['run_id']} against {found['base']}: {found['verdict']}, {shared}"
        for entry in found["evaluators"]:
            yield f"  {plain(entry['text'], 400)}"
        yield from _changes(run["changes"])
        yield from _factors(found["factors"])
    if len(runs) > 1:
        questions = runs[0]["comparison"]["questions"]
        yield ""
        yield f"corrected for {questions} questions: {len(runs)} runs x their evaluators at the gate"
    yield f"may I say it improved? {document['answer']}"


def _changed(changes: Mapping[str, Any], *, evaluators: bool) -> dict[str, list[str]]:
    """Cases that changed sides, and what could not be compared."""
    lost = [entry for entry in changes["not_comparable"] if evaluators or "case" in entry]
    groups: dict[str, list[str]] = {}
    for entry in lost:
        groups.setdefault(entry["reason"], []).append(str(entry.get("case") or entry.get("evaluator")))
    return {
        "newly broken": [_flip("newly broken", flip) for flip in changes["newly_broken"]],
        "newly fixed": [_flip("newly fixed", flip) for flip in changes["newly_fixed"]],
        "reasons why something cannot be compared": [
            f"not comparable: {_named(names)}: {plain(reason, 240)}" for reason, names in groups.items()
        ],
    }


def _changes(changes: Mapping[str, Any]) -> Iterator[str]:
    for noun, lines in _changed(changes, evaluators=False).items():
        yield from lines[:MOST]
        if len(lines) > MOST:
            yield f"and {len(lines) - MOST} more {noun}"


def _flip(word: str, flip: Mapping[str, Any]) -> str:
    before, now = ("/".join(map(str, flip[name])) for name in ("before", "now"))
    return f"{word}: {plain(flip['case'], 60)} ({plain(flip['evaluator'], 40)}) {before} -> {now}"


def _factors(factors: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if factors:
        yield f"changed since: {_named([factor['text'] for factor in factors], '; ', 160)}"


def _named(names: Sequence[str], between: str = ", ", longest: int = 60) -> str:
    more = f"{between}and {len(names) - MOST} more" if len(names) > MOST else ""
    return between.join(plain(name, longest) for name in names[:MOST]) + more
