"""The end of a run as a person reads it: verdict, causes, flaky cases, money, what to do next.

Owns the order and the wording, and that it fits in 40 lines, whatever the run came to. Renders a summary
document to plain lines, so that the same text serves a terminal, a log and a test.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nightgate.plaintext import harmless
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
from nightgate.reports.folding import Section, folded, is_cut
from nightgate.reports.panels import panels
from nightgate.reports.text import plain

MOST_LINES = 40
"""Of a run's end: what a terminal shows at once."""
_MOST_REASONS = 12
_MOST_WARNINGS = 5
_MOST_FLAKY = 6
_MOST_FAMILIES = 8
_MOST_FINDING = 400


def render(
    summary: Mapping[str, Any], *, suite: str = "SUITE", store: str | None = None, after: Sequence[str] = ()
) -> str:
    """All lines of a run's end; the last one is the command to go on with.

    Args:
        summary: The summary document.
        suite: The suite's path, for the command to go on with.
        store: The store, where it is not the default one.
        after: What followed the run's gate.
    """
    sections = [section for section in _sections(summary, after) if section.lines]
    where = f" --store {shlex.quote(store)}" if store else ""
    end = [f"cost: {money(summary)}", f"next: {next_command(summary, suite=suite, store=store)}"]
    if is_cut(sections, MOST_LINES - len(end)):
        end.insert(0, f"all of it: nightgate report {summary['run_id']} --out DIR{where}")
    end = [" ".join(harmless(line).splitlines()) for line in end]  # paths and ids in them are somebody's text
    return "\n".join([*folded(sections, MOST_LINES - len(end)), *end])


def _sections(summary: Mapping[str, Any], after: Sequence[str]) -> Iterator[Section]:
    """In the order of reading. What decides gets more of the screen than what stands beside it."""
    evaluators = summary["evaluators"]
    kept_out = "capability, quarantine" if in_quarantine(summary) else "capability"
    yield _whole(_head(summary))
    ranks = (-1, *(_VERDICTS.get(evaluator["verdict"], len(_VERDICTS)) for evaluator in evaluators))
    yield _many(_table(evaluators), "evaluators", share=4, ranks=ranks, indent="  ")
    yield _many(_footnotes(evaluators, kept_out), "lines on what was not judged", indent="  ")
    yield _whole(("", f"{summary['verdict'].upper()}  {summary['suite']}  {_how_much(summary)}"))
    yield _many(_findings(summary["findings"], evaluators), "causes", share=2)
    yield _many(_reasons(summary.get("failures", ())), "reasons", most=_MOST_REASONS, share=3, indent="  ")
    yield _whole(comparison.beside(summary))
    for noun, lines in comparison.changed(summary).items():
        yield _many(lines, noun, most=comparison.MOST)
    yield _many(_flaky(summary["flaky"]), "flaky", most=_MOST_FLAKY)
    yield _many(quarantined(summary), "in quarantine")
    yield _whole(_families_that_pass(summary["family_details"]))
    split = "families that differ by language"
    yield _many(_families(summary["family_details"]), split, most=_MOST_FAMILIES)
    yield _whole(_skills(summary["skills"]))
    yield _whole(conversations(summary))
    yield _many(panels(summary), "panels")
    warnings = (f"warning: {plain(warning, _MOST_FINDING)}" for warning in summary["warnings"])
    yield _many(warnings, "warnings", most=_MOST_WARNINGS)
    yield _whole(curtailed(summary))
    # Some of them are indented.
    told = (line[: len(line) - len(line.lstrip(" "))] + plain(line) for line in after)
    yield _many(told, "lines of what followed the gate", share=2)


_VERDICTS = {"fail": 0, "inconclusive": 1, "pass": 2}


def _whole(lines: Iterable[str]) -> Section:
    return Section(lines=tuple(lines))


def _many(lines: Iterable[str], noun: str, **how: Any) -> Section:
    return Section(lines=tuple(lines), noun=noun, **how)


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
    judge = f", judge {plain(str(summary['judge']), 200)}" if judged else ""
    return f"({plain(str(summary['model']), 200)}{judge})"


def _footnotes(evaluators: Sequence[Mapping[str, Any]], why: str) -> Iterator[str]:
    """What a reader of the table would otherwise have to reckon out: what was not judged, and why."""
    for evaluator in [e for e in evaluators if e["not_applicable"] or e["error"] or e["skipped"]]:
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
        yield plain(finding["text"], _MOST_FINDING)


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
    yield from (_reason(head, text, found) for (head, text), found in ordered)


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
    for case in flaky:
        name = plain(case["evaluator"], 40)
        yield f"FLAKY {case['passed']}/{case['judged']} {plain(case['case'], 60)} ({name})"


def _families_that_pass(families: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    spoken = {name: rows for name, rows in families.items() if len(rows) > 1}
    if spoken:
        passed = sum(all(row["outcome"] == "pass" for row in rows.values()) for rows in spoken.values())
        yield f"families: {passed} of {len(spoken)} pass in every language"


def _families(families: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    for name, rows in split_families(families).items():
        told = ", ".join(f"{plain(code, 20)} {text}" for code, text in rows.items())
        yield f"family {plain(name, 60)}: {told}"


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
