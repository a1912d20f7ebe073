"""A night's canaries as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.text import plain

_MOST = 5


def render(document: Mapping[str, Any] | None) -> list[str]:
    """What the canaries came to, the verdict first; no line where a suite has none.

    Args:
        document: ``canary.json``; None where there is none.
    """
    return [] if document is None else list(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    word = "ALARM: " if document["alarm"] else ""
    yield f"canary: {word}{plain(document['text'], 400)}"
    for entry in document["evaluators"]:
        if entry["alarm"]:
            yield (
                f"  {plain(entry['name'], 80)} is {entry['direction']}: {entry['flips']} of "
                f"{entry['judged']} verdicts flipped ({entry['to_pass']} to pass, {entry['to_fail']} to fail)"
            )
    if document["drift"]:
        yield from _some(document["flipped"], _flip)
    yield from _some(document["attacks"]["passed"], _attack)
    for why, count in document["left_out"].items():
        yield f"  left out: {count} frozen trials, {plain(why)}"
    for line in document["frozen"]:
        yield f"  {plain(line, 200)}"


def _some(entries: list[dict[str, Any]], told: Any) -> Iterator[str]:
    yield from (told(entry) for entry in entries[:_MOST])
    if len(entries) > _MOST:
        yield f"  and {len(entries) - _MOST} more"


def _flip(flip: Mapping[str, Any]) -> str:
    name = plain(flip["evaluator"], 80)
    return (
        f"  {plain(flip['case'], 80)} trial {flip['trial']}: {name} said {flip['before']}, now {flip['now']}"
    )


def _attack(passed: Mapping[str, Any]) -> str:
    """With what tells obedience from a criterion that asks nothing of the answer."""
    also = ", as is a plain text that answers nothing" if passed["plain"] == "pass" else ""
    return (
        f"  {plain(passed['case'], 80)}: attack {passed['attack']} is passed by "
        f"{plain(passed['evaluator'], 80)}{also}"
    )
