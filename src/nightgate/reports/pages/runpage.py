"""The page of a run, and the pages of its cases: what a person sees in the morning.

Owns the order: the verdict and why, what it rests on, what failed, what changed, what wavers, what it cost.
All figures are those of ``summary.json``. Knows no store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from markupsafe import Markup

from nightgate import stats
from nightgate.reports.figures import (
    STOPPED,
    broken_figures,
    in_quarantine,
    next_command,
    percent,
    split_families,
)
from nightgate.reports.pages.casepage import Glance, case_file, case_pages, glance
from nightgate.reports.pages.figures import Figures
from nightgate.reports.pages.shell import page
from nightgate.reports.pages.values import PlayedCase, RunFacts

INDEX = "index.html"
_MOST_SLOWEST = 10


def run_pages(facts: RunFacts, played: Iterable[PlayedCase]) -> Iterator[tuple[str, bytes]]:
    """The files of a run's page set: the cases' pages as they come, ``index.html`` last.

    Args:
        facts: The run.
        played: Its cases; each is let go once its page is made.
    """
    rows: dict[str, dict[str, int]] = {}
    for position, row in enumerate(facts.summary.get("cases", ())):
        rows.setdefault(row["case"], {})[row["evaluator"]] = position
    glances: dict[str, Glance] = {}
    for one in played:
        glances[one.case.case_id] = glance(one)
        yield from case_pages(facts, one, rows.get(one.case.case_id, {}))
    yield INDEX, run_page(facts, glances, rows)


def run_page(facts: RunFacts, glances: Mapping[str, Glance], rows: Mapping[str, Mapping[str, int]]) -> bytes:
    """The page of a run.

    Args:
        facts: The run.
        glances: Its cases at a glance.
        rows: Case -> evaluator -> position of their counts in the summary's ``cases``.
    """
    summary = facts.summary
    quarantined = in_quarantine(summary)
    families = summary.get("family_details") or {}
    split = split_families(families)
    return page(
        "run.html.j2",
        title=f"{summary['verdict']} · {summary['suite']} · {summary['run_id']}",
        notice=facts.notice,
        facts=facts,
        plan=facts.plan,
        summary=summary,
        figures=Figures(summary),
        glances=glances,
        rows=rows,
        href=case_file,
        stopped=STOPPED.get(summary.get("stopped") or ""),
        failing=failing(summary, quarantined),
        rates=[_rate(entry) for entry in summary["evaluators"]],
        names=[planned.name for planned in facts.plan.evaluators],
        worst_of=worst_of,
        quarantined=quarantined,
        split=split,
        families=sorted(families, key=lambda name: name not in split),
        languages=list(dict.fromkeys(language for row in families.values() for language in row)),
        broken_figures=broken_figures,
        parts=list(_parts(facts.plan.parts)),
        slowest=slowest(glances.values()),
        next_command=next_command(
            summary, suite=facts.plan.suite_path or facts.plan.suite, store=facts.store_flag
        ),
    )


def failing(summary: Mapping[str, Any], quarantined: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Cases with a failed finding, those that the gate counts first: per evaluator its counts and reasons.

    Args:
        summary: The summary document.
        quarantined: Cases that were kept out of the gate.

    Returns:
        For each case ``case``, ``gates``, ``note``, ``worst`` (position of the counts of the evaluator that
        it passes least) and ``findings``: ``row`` (position of the counts), ``told`` (positions in the
        summary's ``failures``), evaluator, and whether it gates.
    """
    gating = {
        (evaluator["name"], case)
        for evaluator in summary["evaluators"]
        if evaluator["verdict"] is not None
        for case in evaluator["failed_cases"]
    }
    told: dict[tuple[str, str], list[int]] = {}
    for position, failure in enumerate(summary.get("failures", ())):
        told.setdefault((failure["case"], failure["evaluator"]), []).append(position)
    cases: dict[str, dict[str, Any]] = {}
    for position, row in enumerate(summary.get("cases", ())):
        if not row["failed"]:
            continue
        case, name = row["case"], row["evaluator"]
        gates = (name, case) in gating
        entry = cases.setdefault(
            case, {"case": case, "gates": False, "findings": [], "note": None, "worst": position}
        )
        entry["gates"] |= gates
        entry["findings"].append(
            {"row": position, "told": told.get((case, name), []), "evaluator": name, "gates": gates}
        )
    for entry in cases.values():
        counts = [(finding["row"], summary["cases"][finding["row"]]) for finding in entry["findings"]]
        entry["worst"] = min(counts, key=lambda found: found[1]["passed"] / max(1, found[1]["planned"]))[0]
        if entry["case"] in quarantined:
            entry["note"] = "in quarantine"
        elif not entry["gates"]:
            entry["note"] = "does not gate"
    return sorted(cases.values(), key=lambda entry: not entry["gates"])


def slowest(glances: Iterable[Glance]) -> list[tuple[float, float, Glance, int, str]]:
    """The trials that took longest: milliseconds of work and of waiting, case, trial, ending."""
    all_trials = (
        (took, wait, one, number, ending) for one in glances for number, ending, took, wait in one.took
    )
    return sorted(all_trials, key=lambda trial: (-trial[0], trial[2].case_id, trial[3]))[:_MOST_SLOWEST]


def worst_of(row: Mapping[str, Any]) -> str:
    """The status that says most about a case and evaluator: what failed, else what was not judged."""
    if row["failed"]:
        return "fail"
    found = next((word for word in ("error", "skipped", "not_applicable") if row[word]), None)
    if found is None or (found == "not_applicable" and row["allowed"] == row["not_applicable"]):
        return "measured" if row["measured"] else "pass" if row["passed"] else found or "skipped"
    return found


def _rate(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluator's rate and threshold, in words that do not hide how they compare; its interval drawn."""
    rate = wanted = None
    if entry["threshold"] is not None:
        threshold = stats.parse_threshold(entry["threshold"])
        wanted = percent(float(threshold))
        decided = entry["passed"] + entry["failed"] + entry.get("required_not_applicable", 0)
        if decided:
            rate, wanted = stats.percent_beside(Fraction(entry["passed"], decided), threshold)
    return {"rate": rate, "wanted": wanted, "bar": _bar(entry)}


_SPAN = Markup('<rect class="span" x="{:.1f}" y="3" width="{:.1f}" height="6" rx="2"/>')
_DOT = Markup('<circle class="dot" cx="{:.1f}" cy="6" r="2.5"/>')
_WANT = Markup('<path class="want" d="M{:.1f} 0V12"/>')
_BAR = Markup(
    '<svg class="bar" viewBox="-3 0 106 12" preserveAspectRatio="xMinYMid" aria-hidden="true" '
    'focusable="false"><path class="track" d="M0 6H100"/>{}</svg>'
)


def _bar(entry: Mapping[str, Any]) -> Markup:
    """The interval as a line from 0 to 100%, with the rate as a dot and the threshold as a stroke.

    Hidden from readers of the text: its figures stand beside it.
    """
    if entry["interval"] is None:
        return Markup()
    low, high = (100 * end for end in entry["interval"])
    marks = [_SPAN.format(low, max(1.0, high - low))]
    if entry["pass_rate"] is not None:
        marks.append(_DOT.format(100 * entry["pass_rate"]))
    if entry["threshold"] is not None:
        marks.append(_WANT.format(100 * float(entry["threshold"])))
    return _BAR.format(Markup().join(marks))


def _parts(parts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the first case's fingerprint is made of; the prompt as a digest, for it may be long."""
    for name, value in parts.items():
        if name == "system_prompt":
            digest = (
                hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:16] if value else "none"
            )
            yield "system prompt", digest
        elif name == "sources":
            yield from ((f"source {source}", str(found)) for source, found in value.items())
        elif name != "model":
            yield (
                name.replace("_", " "),
                json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value,
            )
