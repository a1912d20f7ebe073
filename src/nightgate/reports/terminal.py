"""The end of a run as a person reads it: verdict, causes, flaky cases, money, what to do next.

Owns the order and the wording; fits in 40 lines for a suite of 50 cases. Renders a summary
document to plain lines, so that the same text serves a terminal, a log and a test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports import comparison
from nightgate.reports.figures import (
    STOPPED,
    conversations,
    coverage,
    curtailed,
    in_quarantine,
    money,
    next_command,
    percent,
    skill_outcomes,
    split_families,
)
from nightgate.reports.flaky import quarantined
from nightgate.reports.panels import panels
from nightgate.reports.text import plain

_MOST_REASONS = 12
_MOST_WARNINGS = 5
_MOST_FOOTNOTES = 10
_MOST_FLAKY = 6
_MOST_FAMILIES = 8


def render(summary: Mapping[str, Any], *, suite: str = "SUITE", store: str | None = None) -> str:
    """All lines of a run's end.

    Args:
        summary: The summary document.
        suite: The suite's path, for the command to go on with.
        store: The store, where it is not the default one.
    """
    return "\n".join(_lines(summary, suite, store))


def _lines(summary: Mapping[str, Any], suite: str, store: str | None) -> Iterator[str]:
    yield from _head(summary)
    yield from _table(summary["evaluators"])
    yield from _footnotes(
        summary["evaluators"], "capability, quarantine" if in_quarantine(summary) else "capability"
    )
    yield ""
    yield f"{summary['verdict'].upper()}  {summary['suite']}  {_how_much(summary)}"
    yield from _findings(summary["findings"], summary["evaluators"])
    yield from _reasons(summary.get("failures", ()))
    yield from comparison.brief(summary)
    yield from _flaky(summary["flaky"])
    yield from quarantined(summary)
    yield from _families(summary["family_details"])
    yield from _skills(summary["skills"])
    yield from conversations(summary)
    yield from panels(summary)
    yield from (f"warning: {plain(warning)}" for warning in summary["warnings"][:_MOST_WARNINGS])
    yield from curtailed(summary)
    yield f"cost: {money(summary)}"
    yield f"next: {next_command(summary, suite=suite, store=store)}"


def _head(summary: Mapping[str, Any]) -> Iterator[str]:
    trials, cells = summary["trials"], summary["cells"]
    took = f" in {summary['wall_s']:.1f} s" if summary["wall_s"] is not None else ""
    yield f"run {summary['run_id']}: {trials['completed']} of {trials['planned']} trials completed{took}"
    if summary.get("reason"):
        yield f"  started because {plain(str(summary['reason']))}"
    holes = [
        f"{count} {name.replace('_', ' ')}"
        for name, count in trials.items()
        if count and name not in ("planned", "completed")
    ]
    if holes:
        yield f"  trials: {', '.join(holes)}"
    # A pass, a finding that did not apply and a finding that nobody has are three things.
    missing = [f"{cells[name]} {name}" for name in ("error", "skipped") if cells[name]]
    parts = [f"{cells['pass'] + cells['fail']} judged"]
    parts += [f"{cells['measured']} measured"] if cells["measured"] else []
    parts += [f"{cells['not_applicable']} not applicable"] if cells["not_applicable"] else []
    parts += [f"{cells['error'] + cells['skipped']} missing ({', '.join(missing)})"] if missing else []
    if missing or cells["not_applicable"]:
        yield f"  cells: {cells['planned']} planned, {', '.join(parts)}"


def _table(evaluators: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not evaluators:
        return
    rows: list[tuple[str, ...]] = [
        ("evaluator", "rate", "95% interval", "passed", "judged", "wanted", "pass^k")
    ]
    rows += [_row(evaluator) for evaluator in evaluators]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(evaluator: Mapping[str, Any]) -> tuple[str, ...]:
    rate, interval = evaluator["pass_rate"], evaluator["interval"]
    largest = max(evaluator["pass_k"], key=int, default="1")
    reliable = evaluator["pass_k"].get(largest)
    mean = evaluator["mean_score"]
    shown = percent(rate) if rate is not None else "not measured" if mean is None else f"mean {mean:.3g}"
    return (
        plain(str(evaluator["name"]), 40),
        shown,
        f"[{interval[0]:.0%}, {interval[1]:.0%}]" if interval is not None else "-",
        f"{evaluator['passed']} of {evaluator['planned']}" if evaluator["threshold"] is not None else "-",
        f"{evaluator['judged'] + evaluator['measured']} of {evaluator['planned']}",
        str(evaluator["threshold"]) if evaluator["threshold"] is not None else "-",
        f"{reliable:.2f} (k={largest})" if reliable is not None and int(largest) > 1 else "-",
    )


def _how_much(summary: Mapping[str, Any]) -> str:
    if not summary["complete"]:
        why = STOPPED.get(summary["stopped"] or "", "open")
        return f"({why}: the run is incomplete)"
    judged = any(evaluator["kind"] == "judge" for evaluator in summary["evaluators"])
    return f"({summary['model']}" + (f", judge {summary['judge']})" if judged else ")")


def _footnotes(evaluators: Sequence[Mapping[str, Any]], why: str) -> Iterator[str]:
    """What a reader of the table would otherwise have to reckon out: what was not judged, and why."""
    open_ones = [e for e in evaluators if e["not_applicable"] or e["error"] or e["skipped"]]
    for evaluator in open_ones[:_MOST_FOOTNOTES]:
        yield f"  {plain(str(evaluator['name']), 40)}: {coverage(evaluator, longest=60)}"
    for evaluator in evaluators:
        name = plain(str(evaluator["name"]), 40)
        other = evaluator["capability"]
        if other is not None:
            counts = f"{other['passed']} of {other['planned']}"
            yield f"  {name}: {counts} cells passed that do not gate ({why})"


def _findings(
    findings: Sequence[Mapping[str, Any]], evaluators: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """The causes; where nothing at all was measured, one line instead of one an evaluator."""
    nothing = evaluators and not any(e["judged"] or e["measured"] for e in evaluators)
    whole = [finding for finding in findings if finding["evaluator"] is None]
    for finding in whole if nothing and whole else findings:
        yield plain(finding["text"])


def _reasons(failures: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why, one line a reason: what an outage did to many cells is said once."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    # What did not apply stands beside its evaluator; here is what went wrong.
    for failure in [failure for failure in failures if failure["status"] != "not_applicable"]:
        blame = f" ({failure['blame']})" if failure["status"] == "error" and failure["blame"] else ""
        # A failure names its case and evaluator; an error is about what broke, not where.
        own = f"{failure['case']} {failure['evaluator']}: " if failure["status"] == "fail" else ""
        key = (f"{failure['status']}{blame}", f"{plain(own)} {plain(failure['reason'], 240)}".strip())
        groups.setdefault(key, []).append(failure)
    # What failed comes first: holes must not push it off the screen.
    ordered = sorted(groups.items(), key=lambda group: _RANK[group[1][0]["status"]])
    lines = [_reason(head, text, found) for (head, text), found in ordered]
    yield from lines[:_MOST_REASONS]
    if len(lines) > _MOST_REASONS:
        yield f"  and {len(lines) - _MOST_REASONS} more reasons in the rows"


_RANK = {"fail": 0, "error": 1, "skipped": 2}


def _reason(head: str, text: str, found: Sequence[Mapping[str, Any]]) -> str:
    cells = sum(failure["count"] for failure in found)
    times = f" x{cells}" if cells > 1 else ""
    if head == "fail":
        gates = " (capability, does not gate)" if found[0]["stage"] == "capability" else ""
        return f"  fail{times} {text}{gates}"
    where = dict.fromkeys(plain(f"{f['case']} {f['evaluator']}", 60) for f in found)
    named = ", ".join(list(where)[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")  # noqa: PLR2004
    return f"  {head}{times} {named}: {text}"


def _flaky(flaky: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for case in flaky[:_MOST_FLAKY]:
        yield f"FLAKY {case['passed']}/{case['judged']} {plain(case['case'], 60)} ({case['evaluator']})"
    if len(flaky) > _MOST_FLAKY:
        yield f"and {len(flaky) - _MOST_FLAKY} more flaky"


def _families(families: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    split = split_families(families)
    spoken = {name: rows for name, rows in families.items() if len(rows) > 1}
    if spoken:
        passed = sum(all(row["outcome"] == "pass" for row in rows.values()) for rows in spoken.values())
        yield f"families: {passed} of {len(spoken)} pass in every language"
    for name, rows in list(split.items())[:_MOST_FAMILIES]:
        yield f"family {plain(name, 60)}: " + ", ".join(f"{code} {text}" for code, text in rows.items())
    if len(split) > _MOST_FAMILIES:
        yield f"and {len(split) - _MOST_FAMILIES} more families that differ by language"


def _skills(skills: Mapping[str, Any] | None) -> Iterator[str]:
    """What the skills' pass rates rest on: loads that were wanted and seen, invocations with evidence."""
    if skills is None:
        return
    loads, invoked = skills["expected_loads"], skills["invocations"]
    yield (
        f"skills: {loads['observed']} of {loads['planned']} expected loads observed, "
        f"{invoked['judgeable']} of {invoked['seen']} invocations with evidence to judge"
        f"{skill_outcomes(invoked)}"
    )
