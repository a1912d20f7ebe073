"""A one-factor search as lines for people: what it would play, and what it found.

Owns how many of a thing are named. Reads the documents; what they say was decided before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.text import plain

_MOST = 12
"""Cases named on a terminal; the document has them all."""


def forecast(found: Mapping[str, Any]) -> str:
    """All lines of a search that is still to be carried out.

    Args:
        found: As ``steps.bisectdocs.forecast`` makes it.
    """
    return "\n".join(_ahead(found))


def render(found: Mapping[str, Any]) -> str:
    """All lines of what a search found.

    Args:
        found: As ``steps.bisectdocs.document`` makes it.
    """
    return "\n".join(_answered(found))


def _ahead(found: Mapping[str, Any]) -> Iterator[str]:
    cases = len({entry["case"] for entry in found["broken"]})
    broken = f"{_count(len(found['broken']), 'finding')} of {_count(cases, 'case')} fell"
    yield f"bisect {found['good']} -> {found['bad']}: {broken}"
    yield from _most([_broken(entry) for entry in found["broken"]])
    for swap in found["swaps"]:
        yield f"swapped: {plain(swap['text'], 200)}"
    yield from _fixed(found["fixed"])
    if not found["swaps"]:
        yield "nothing that differs is a setting: only the control is played, which tells flaky from broken"
    for probe in found["probes"]:
        yield f"  {_probe(probe)}"
    if any(not probe["stored"] for probe in found["probes"]):
        cap = "" if found["budget_usd"] is None else f", cap ${found['budget_usd']:.2f}"
        yield f"at most, a guess: {_usd(found['cost_usd'])}{cap}"
    elif found["probes"]:
        yield "all of it was played before"


def _probe(probe: Mapping[str, Any]) -> str:
    what = "judged again" if probe["kind"] == "sweep" else "played"
    told = (
        f"{probe['name']}: {_count(probe['trials'], 'trial')} of {_count(len(probe['cases']), 'case')} {what}"
    )
    return f"{told}, {'stored' if probe['stored'] else _usd(probe['cost_usd'])} ({probe['run_id']})"


def _answered(found: Mapping[str, Any]) -> Iterator[str]:
    lines = []
    for entry in found["broken"]:
        by = f" by {' and '.join(entry['by'])}" if entry["by"] else ""
        lines.append(f"{_broken(entry)}: {entry['verdict']}{by} ({plain(entry['reason'], 200)})")
    yield from _most(lines)
    for swap in found["swaps"]:
        if swap["of"]:
            before, now = ("/".join(map(str, swap[name])) for name in ("control", "probe"))
            yield f"{swap['factor']}: moved {swap['moved']} of {swap['of']}, passed {before} -> {now}"
    for note in found["notes"]:
        yield f"note: {plain(note, 240)}"
    if any(entry["verdict"] == "cannot be told" for entry in found["broken"]):
        yield "control and probe overlap: more trials (--trials N) tell more"
    if any(entry["verdict"] == "not explained" for entry in found["broken"]):
        yield from _fixed(found["fixed"])
    if found["stopped"] is not None:
        yield f"stopped ({found['stopped']}): the same command goes on, with what is known"
    yield f"cost: {_usd(found['cost_usd'])}"
    yield f"which swap moved it? {found['answer']}"


def _broken(entry: Mapping[str, Any]) -> str:
    before, now = ("/".join(map(str, entry[name])) for name in ("before", "now"))
    return f"{plain(entry['case'], 60)} ({plain(entry['evaluator'], 40)}) {before} -> {now}"


def _fixed(fixed: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for part in fixed:
        yield f"not swapped: {plain(part['text'], 160)}: {plain(part['advice'], 300)}"


def _most(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_MOST]
    if len(lines) > _MOST:
        yield f"and {len(lines) - _MOST} more"


def _count(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _usd(amount: float | None) -> str:
    return "unknown: a model has no price" if amount is None else f"${amount:.4f}"
