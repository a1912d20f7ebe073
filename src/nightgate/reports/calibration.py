"""Judges against people, as lines for people.

Owns the wording. Reads the document of ``calibration.Calibration``; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.figures import percent
from nightgate.reports.text import plain

_LONGEST = 200
_NAMED = 5
_SHARES = ("agreement", "sensitivity", "specificity")


def render(document: Mapping[str, Any]) -> str:
    """The word of each judge, its figures, its slices, and what the run's rate is corrected to."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    labels = document["labels"]
    open_rows = f", {labels['unfilled']} rows not filled in" if labels["unfilled"] else ""
    yield f"judges of {document['suite']}, run {document['run_id']}: {labels['count']} labels{open_rows}"
    if labels["absent_runs"]:
        names = ", ".join(labels["absent_runs"])
        yield f"labels of runs that the store does not have complete are left out: {names}"
    yield from _unused(labels)
    for judge in document["judges"]:
        yield from _judge(judge)
    for among in document["among_judges"]:
        name = plain(among["evaluator"], _LONGEST)
        yield (
            f"among {len(among['judges'])} judges of {name}: {_alpha(among['alpha'])}, "
            f"{among['apart']} of {among['cells']} cells judged differently"
        )


def _unused(labels: Mapping[str, Any]) -> Iterator[str]:
    """What lies in the folder of labels and is counted nowhere."""
    if labels["unread"]:
        names = ", ".join(plain(name, _LONGEST) for name in labels["unread"][:_NAMED])
        more = len(labels["unread"]) - _NAMED
        beside = f" and {more} more" if more > 0 else ""
        yield f"{len(labels['unread'])} files are not read (labels stand in .csv or .jsonl): {names}{beside}"
    unmet = labels["unmet"]
    if unmet:
        yield f"{len(unmet)} labels meet no judgement and are not counted:"
        for one in unmet[:_NAMED]:
            yield f"  {plain(one['file'], _LONGEST)}:{one['line']}: {plain(one['why'], _LONGEST)}"
        if len(unmet) > _NAMED:
            yield f"  and {len(unmet) - _NAMED} more"


def _judge(judge: Mapping[str, Any]) -> Iterator[str]:
    what = [] if judge["pinned"] else ["not the run's own"]
    if judge["threshold"] is None and judge["pinned"]:
        what.append("no threshold")
    beside = f" ({', '.join(what)})" if what else ""
    name, model = plain(judge["evaluator"], _LONGEST), plain(judge["judge_model"], _LONGEST) or "unknown"
    known = judge["judge_fingerprint"] or "no fingerprint"
    yield f"{judge['word'].upper()}  {name} by {model} [{known}]{beside}: {plain(judge['why'], _LONGEST)}"
    labels, counts = judge["labels"], judge["counts"]
    old = " (all older than this judge or its question, or undated)" if judge["of_old_labels"] else ""
    if sum(counts.values()):
        weighted = ", weighted to the run" if judge["weighted"] else ""
        yield (
            f"  passes: judged right {counts['tp']}, missed {counts['fn']}; "
            f"fails: judged right {counts['tn']}, missed {counts['fp']}{weighted}{old}"
        )
        yield f"  {_figures(judge)}"
    yield from _notes(labels)
    for part in judge["slices"]:
        value = plain(part["value"], 60)
        yield f"  {part['by']} {value}: {part['word']}, {_figures(part)}, n {sum(part['counts'].values())}"
    yield from _corrected(judge["corrected"])
    repeats = judge["repeats"]
    if repeats["cells"]:
        yield (
            f"  with itself: {_alpha(repeats['alpha'])}, "
            f"{repeats['flickering']} of {repeats['cells']} cells judged both ways"
        )


def _notes(labels: Mapping[str, Any]) -> Iterator[str]:
    missing = [
        f"{labels[f'missing_{side}']} {side}" for side in ("passes", "fails") if labels[f"missing_{side}"]
    ]
    if missing:
        yield f"  missing before it may block: labels of {' and '.join(missing)}"
    if labels["older"]:
        yield (
            f"  {labels['older']} labels are older than this judge or its question, or undated: "
            "not counted for the bar"
        )
    if labels["other_question"]:
        yield (
            f"  {labels['other_question']} labels are of another question than the run asks "
            "(its criterion was edited): in no figure"
        )
    if labels["not_judged"]:
        yield f"  {labels['not_judged']} labelled cells have no verdict of this judge"
    if labels["dated_by_file"]:
        yield f"  {labels['dated_by_file']} labels have no date but their file's: add labelled_at"


def _figures(found: Mapping[str, Any]) -> str:
    kappa = found["kappa"]
    shares = [f"{name} {_share(found[name])}" for name in _SHARES]
    if kappa["value"] is None:
        shares.insert(1, "kappa undefined (one side says one thing only)")
    else:
        low, high = kappa["interval"]
        shares.insert(1, f"kappa {kappa['value']:.2f} [{low:.2f}, {high:.2f}]")
    return ", ".join(shares)


def _share(figure: Mapping[str, Any]) -> str:
    if figure["value"] is None:
        return "unknown"
    low, high = figure["interval"]
    return f"{percent(figure['value'])} [{low:.2f}, {high:.2f}]"


def _corrected(found: Mapping[str, Any]) -> Iterator[str]:
    if found["rate"] is None:
        return
    yield f"  pass rate by this judge {percent(found['rate'])}, of {found['judged']} judged cells" + (
        f" and {found['agent_faults']} that failed by the agent's own fault" if found["agent_faults"] else ""
    )
    names = {"rogan_gladen": "by sensitivity and specificity", "prediction_powered": "by the random sample"}
    for name, words in names.items():
        if found[name] is not None:
            yield f"  corrected {words}: {_share(found[name])}"
        elif name == "rogan_gladen":
            yield f"  not corrected: {found['why'][name]}"


def _alpha(alpha: float | None) -> str:
    return "alpha undefined (one verdict only)" if alpha is None else f"alpha {alpha:.2f}"
