"""A run's end as GitHub-flavoured Markdown: what a step summary or a comment shows.

Owns the layout and the escaping. Every text that is not ours (ids, reasons, answers, model names)
stands in a code span, the one place where GitHub reads no markup, link, image, mention or HTML;
control characters and direction overrides are gone before that. The size is bounded: GitHub drops a
step's whole summary when it passes 1 MiB.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.figures import (
    STOPPED,
    conversations,
    coverage,
    in_quarantine,
    money,
    next_command,
    percent,
    skill_outcomes,
    split_families,
    unjudged,
)
from nightgate.reports.panels import panels
from nightgate.reports.text import plain

LIMIT_BYTES = 256 * 1024
"""Of one document, far below what GitHub takes, because a step may append several."""

_SIGNS = {"pass": "✅", "fail": "❌", "inconclusive": "⚠️"}
_CLOSING = 80
"""Bytes kept for the line that counts the runs which do not fit."""
_MOST_EVALUATORS = 60
_MOST_CASES = 20
_MOST_HOLES = 20
_MOST_FAMILIES = 20
_MOST_FLAKY = 10
_MOST_ID = 100
_MOST_TEXT = 300
_MOST_FINDING = 500
_SPARE = 8
"""Escape sequences and blanks may take so many times the room of what is left of a text."""


def markdown(
    summaries: Sequence[Mapping[str, Any]],
    *,
    suites: Sequence[str],
    store: str | None = None,
    limit: int = LIMIT_BYTES,
) -> str:
    """The document for one or several runs.

    Args:
        summaries: The summary documents.
        suites: The suites' paths in the same order, for the commands to go on with.
        store: The store, where it is not the default one.
        limit: Bytes (UTF-8) that the document may have. Runs that do not fit are cut to their
            verdict lines, and then counted; with hardly any room the document is empty.
    """
    parts: list[str] = []
    left = limit - _CLOSING
    if len(summaries) > 1:
        parts.append(_overview(summaries))
        left -= _size(parts[0])
    if left < 0:
        return ""
    for number, (summary, suite) in enumerate(zip(summaries, suites, strict=True)):
        candidates = ("\n".join(lines) + "\n" for lines in (_run(summary, suite, store), _verdict(summary)))
        part = next((part for part in candidates if _size(part) <= left), None)
        if part is None:
            rest = _many(len(summaries) - number, "run")
            parts.append(f"And {rest} more, for which there is no room here.\n")
            break
        parts.append(part)
        left -= _size(part)
    return "\n".join(parts)


def _size(text: str) -> int:
    """Bytes of a part, with the empty line before the next one."""
    return len(text.encode("utf-8", "replace")) + 1


def code(text: object, limit: int = _MOST_ID) -> str:
    r"""A text as a code span, in which nothing is markup.

    >>> code("**no** [link](x) @you")
    '`**no** [link](x) @you`'
    >>> code("a `tick`")
    '`` a `tick` ``'
    """
    some = str(text)[: limit * _SPARE]  # of a megabyte only the beginning is looked at
    line = plain(some, limit).encode("utf-8", "replace").decode()
    if not line:
        return "(empty)"
    # Closed only by a run of ticks as long as the one that opens it.
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    room = " " if "`" in line else ""
    return f"{ticks}{room}{line}{room}{ticks}"


def _cell(text: str) -> str:
    r"""A text in a table, where a bar ends a cell even in a code span.

    Backslashes before it go: ``\\\\|`` would be an escaped backslash and then the end of the cell.
    """
    return re.sub(r"\\*\|", r"\\|", text)


def _overview(summaries: Sequence[Mapping[str, Any]]) -> str:
    words = [summary["verdict"] for summary in summaries]
    worst = next(word for word in ("fail", "inconclusive", "pass") if word in words)
    counts = ", ".join(f"{words.count(word)} {word}" for word in _SIGNS if word in words)
    return f"# {_SIGNS[worst]} {worst.upper()}: {_many(len(words), 'suite')}, {counts}\n"


def _run(summary: Mapping[str, Any], suite: str, store: str | None) -> Iterator[str]:
    yield from _verdict(summary)
    if summary["cells"] is None:  # the run left no summary: there is nothing more to tell
        return
    yield from _head(summary)
    yield from _table(summary["evaluators"])
    yield from _section("Not judged", _holes(summary["evaluators"]), _MOST_HOLES)
    yield from _section("Failed", _failed(summary), _MOST_CASES)
    yield from _section(
        "Families that differ by language", _families(summary["family_details"]), _MOST_FAMILIES
    )
    yield from _section("Flaky", _flaky(summary["flaky"]), _MOST_FLAKY)
    yield from _section("In quarantine", _quarantined(summary), _MOST_CASES)
    yield from _skills(summary["skills"])
    yield from _conversations(summary)
    yield from _section("Panels", (f"- {line}" for line in panels(summary)), _MOST_CASES)
    yield ""
    yield f"Cost: {code(money(summary), 1000)}"
    yield ""
    yield f"Next: {code(next_command(summary, suite=suite, store=store), 1000)}"


def _verdict(summary: Mapping[str, Any]) -> Iterator[str]:
    verdict = summary["verdict"]
    stopped = f", {STOPPED[summary['stopped']]}" if summary["stopped"] else ""
    yield f"## {_SIGNS[verdict]} {verdict.upper()}: {code(summary['suite'])}{stopped}"
    if summary["findings"]:
        yield ""
    for finding in summary["findings"][:_MOST_EVALUATORS]:
        yield f"- {code(finding['text'], _MOST_FINDING)}"


def _head(summary: Mapping[str, Any]) -> Iterator[str]:
    trials = summary["trials"]
    others = [
        f", {unjudged(count, name)}"
        for name, count in trials.items()
        if count and name not in ("planned", "completed")
    ]
    took = f" in {summary['wall_s']:.1f} s" if summary["wall_s"] is not None else ""
    judged = any(evaluator["kind"] == "judge" for evaluator in summary["evaluators"])
    judge = f", judge {code(summary['judge'])}" if judged and summary["judge"] else ""
    yield ""
    yield (
        f"Run {code(summary['run_id'])} of {code(summary['model'])}{judge}: "
        f"{trials['completed']} of {_many(trials['planned'], 'trial')} completed{''.join(others)}{took}."
    )
    if summary.get("reason"):
        yield f"\nStarted because {code(summary['reason'], _MOST_TEXT)}."


def _table(evaluators: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not evaluators:
        return
    yield ""
    yield "| evaluator | rate | 95% interval | judged/planned | wanted | verdict |"
    yield "|---|---|---|---|---|---|"
    for evaluator in evaluators[:_MOST_EVALUATORS]:
        yield "| " + " | ".join(map(_cell, _row(evaluator))) + " |"
    if len(evaluators) > _MOST_EVALUATORS:
        yield ""
        yield f"And {_many(len(evaluators) - _MOST_EVALUATORS, 'evaluator')} more."


def _row(evaluator: Mapping[str, Any]) -> tuple[str, ...]:
    rate, interval, mean = evaluator["pass_rate"], evaluator["interval"], evaluator["mean_score"]
    shown = percent(rate) if rate is not None else "not measured" if mean is None else f"mean {mean:.3g}"
    verdict = evaluator["verdict"]
    return (
        code(evaluator["name"]),
        shown,
        f"{interval[0]:.0%} to {interval[1]:.0%}" if interval is not None else "–",
        f"{evaluator['judged'] + evaluator['measured']}/{evaluator['planned']}",
        code(evaluator["threshold"]) if evaluator["threshold"] is not None else "–",
        f"{_SIGNS[verdict]} {verdict}" if verdict is not None else "reported",
    )


def _section(title: str, items: Iterator[str], most: int) -> Iterator[str]:
    """A list under a heading, when there is something to list."""
    found = list(items)
    if not found:
        return
    yield ""
    yield f"### {title}"
    yield ""
    yield from found[:most]
    if len(found) > most:
        yield f"- and {len(found) - most} more"


def _holes(evaluators: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for evaluator in evaluators:
        if evaluator["judged"] + evaluator["measured"] < evaluator["planned"]:
            cases = list(dict.fromkeys(case for hole in evaluator["holes"] for case in hole["cases"]))
            where = ", ".join(code(case) for case in cases[:5])
            line = coverage(evaluator, lambda reason: code(reason, _MOST_TEXT))
            yield f"- {code(evaluator['name'])}: {line}" + (f"; among them {where}" if where else "")


def failed_rows(
    summary: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any] | None]]:
    """Cases with a failed trial, those that the gate counts first.

    Yields:
        Its counts under one evaluator, why the gate lets it through (empty: it does not), and what was found.
    """
    evaluators = {evaluator["name"]: evaluator for evaluator in summary["evaluators"]}
    told = {(f["case"], f["evaluator"], f["status"]): f for f in summary["failures"]}
    gating = {
        (evaluator["name"], case)
        for evaluator in summary["evaluators"]
        if evaluator["verdict"] is not None
        for case in evaluator["failed_cases"]
    }
    kept_out = in_quarantine(summary)
    rows = [
        (row, _let_through(row, evaluators[row["evaluator"]], gating, kept_out))
        for row in summary["cases"]
        if row["failed"]
    ]
    for row, note in sorted(rows, key=lambda pair: pair[1] != ""):
        key = row["case"], row["evaluator"]
        found = told.get((*key, "fail")) or (told.get((*key, "not_applicable")) if row["required"] else None)
        yield row, note, found


def _failed(summary: Mapping[str, Any]) -> Iterator[str]:
    """Cases with a failed trial, each with what was wanted and seen."""
    for row, note, found in failed_rows(summary):
        layer = f"{row['layer']}, {code(row['language'])}" if row["language"] else row["layer"]
        head = f"{code(row['case'])} ({layer}) {code(row['evaluator'])}"
        lines = [f"- {head}: {row['passed']} of {_many(row['planned'], 'trial')} passed{note}"]
        if found is not None:
            sides = [name for name in ("expected", "observed") if found[name] is not None]
            blame = f" ({found['blame']})" if found["blame"] else ""
            lines += [f"  - {name}{blame}: {code(found[name], _MOST_TEXT)}" for name in sides or ["reason"]]
        yield "\n".join(lines)


def _let_through(
    row: Mapping[str, Any],
    evaluator: Mapping[str, Any],
    gating: Container[tuple[str, str]],
    kept_out: Container[str],
) -> str:
    if row["case"] in kept_out:
        return " (in quarantine)"
    if (row["evaluator"], row["case"]) not in gating:
        return " (does not gate)"
    return " (the gate passes all the same)" if evaluator["verdict"] == "pass" else ""


def _families(families: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    for name, rows in split_families(families).items():
        told = ", ".join(f"{code(language)} {code(text, _MOST_TEXT)}" for language, text in rows.items())
        yield f"- {code(name)}: {told}"


def _flaky(flaky: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for case in flaky:
        yield f"- {code(case['case'])} {code(case['evaluator'])}: {case['passed']} of {case['judged']} passed"


def _quarantined(summary: Mapping[str, Any]) -> Iterator[str]:
    for case, row in in_quarantine(summary).items():
        days = _many(row["days_left"], "day")
        yield (
            f"- {code(case)}: does not gate until {row['until']} ({days} left), "
            f"{code(row['owner'])}: {code(row['reason'], _MOST_TEXT)}"
        )


def _conversations(summary: Mapping[str, Any]) -> Iterator[str]:
    lines = list(conversations(summary))
    if lines:
        yield from ("", "### Conversations", "")
        yield from (f"- {line}" for line in lines)


def _skills(skills: Mapping[str, Any] | None) -> Iterator[str]:
    if skills is None:
        return
    loads, invoked = skills["expected_loads"], skills["invocations"]
    yield ""
    yield "### Skills"
    yield ""
    yield f"- expected loads observed: {_share(loads['observed'], loads['planned'], loads['coverage'])}"
    yield (
        "- invocations with enough evidence to judge: "
        f"{_share(invoked['judgeable'], invoked['seen'], invoked['coverage'])}"
        f"{skill_outcomes(invoked)}"
    )


def _share(part: int, whole: int, share: float | None) -> str:
    return f"{part} of {whole}" + (f", {percent(share)}" if share is not None else "")


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
