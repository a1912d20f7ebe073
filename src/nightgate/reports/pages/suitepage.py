"""The page of a suite's history: how its evaluators, its cases and its cost went, night by night.

Owns the order: where it stands, what changed, trends, the flake board, money, conversations, judges, nights.
All figures are those of ``history --json`` and of stored documents. Knows no store.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.pages import flakegrid
from nightgate.reports.pages.axis import Axis
from nightgate.reports.pages.figures import Figures
from nightgate.reports.pages.nightcharts import conversation_chart, cost_chart, decay_chart
from nightgate.reports.pages.shell import page
from nightgate.reports.pages.suitevalues import Change, SuiteFacts, slots
from nightgate.reports.pages.trends import trends


def suite_page(facts: SuiteFacts) -> bytes:
    """The page."""
    found, nights = facts.document, facts.nights
    axis = Axis(facts, slots([night["date"] for night in nights]), facts.changes)
    shown = axis.slots[: -flakegrid.MOST_SLOTS - 1 : -1]
    rows = flakegrid.rows_in_trouble(facts, shown)
    drawn = trends(axis)
    cost, roles = cost_chart(axis)
    talked = [i for i in range(len(nights)) if facts.summary(i).get("conversations")]
    judged_turns = [i for i in talked if facts.summary(i)["conversations"].get("quality_by_turn")]
    return page(
        "suite.html.j2",
        title=f"{found['suite']} · {len(nights)} nights",
        notice=facts.notice,
        facts=facts,
        found=found,
        nights=nights,
        figures=Figures(found),
        slots=axis.slots,
        missing=[slot for slot in axis.slots if slot.night is None],
        verdicts=_counts(nights),
        by_night=_by_night(facts.changes),
        gating=[one for one in drawn if one.measure == "pass_rate" and one.chart],
        measured=[one for one in drawn if one.measure != "pass_rate" and one.chart],
        undrawn=[one.name for one in drawn if not one.chart],
        shown=shown,
        rows=rows[: flakegrid.MOST_ROWS],
        more_rows=max(0, len(rows) - flakegrid.MOST_ROWS),
        all_cases=flakegrid.all_cases(facts, shown),
        cost=cost,
        roles=roles,
        talked=talked,
        endings=_endings(facts, talked),
        talks=conversation_chart(axis),
        decay=decay_chart(axis, judged_turns),
        judged_turns=judged_turns,
        turns=_turns(facts, judged_turns),
        commands=list(_commands(facts)),
    )


def _counts(nights: Any) -> list[tuple[str, int]]:
    words = [night["verdict"] for night in nights]
    return [(word, words.count(word)) for word in ("pass", "fail", "inconclusive") if word in words]


def _by_night(changes: Any) -> list[tuple[int, list[str]]]:
    """Each night with changes, the newest first; those of several evaluators in one line."""
    grouped: dict[int, dict[str, list[Change]]] = {}
    for change in changes:
        grouped.setdefault(change.night, {}).setdefault(change.what, []).append(change)
    return [(night, list(_lines(whats))) for night, whats in sorted(grouped.items(), reverse=True)]


def _lines(whats: Mapping[str, list[Change]]) -> Iterator[str]:
    for what, changes in whats.items():
        yield from (change.text for change in changes if change.evaluator is None)
        names = [change.evaluator for change in changes if change.evaluator is not None]
        if not names:
            continue
        told = {"case": "text of cases of", "evaluator": "version of", "judge": "judge of"}.get(what, what)
        yield f"{told} {', '.join(names)}"


def _endings(facts: SuiteFacts, talked: list[int]) -> list[str]:
    """Endings that ever happened."""
    names = dict.fromkeys(name for i in talked for name in facts.summary(i).get("endings") or {})
    return [name for name in names if any((facts.summary(i).get("endings") or {}).get(name) for i in talked)]


def _turns(facts: SuiteFacts, nights: list[int]) -> list[str]:
    found = {turn for i in nights for turn in facts.summary(i)["conversations"]["quality_by_turn"]}
    return sorted(found, key=int)


def _commands(facts: SuiteFacts) -> Iterator[str]:
    """What to look at next: the newest night, and where the newest change is told case by case."""
    store = f" --store {shlex.quote(facts.store_flag)}" if facts.store_flag is not None else ""
    newest = facts.nights[-1]["run_id"]
    yield f"nightgate report {newest} --out pages/{newest}{store}"
    changed = [change.night for change in facts.changes if change.evaluator is None]
    if changed:
        before, after = (facts.nights[night]["run_id"] for night in (changed[-1] - 1, changed[-1]))
        yield f"nightgate compare {before} {after}{store}"
