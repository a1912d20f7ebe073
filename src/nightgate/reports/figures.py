"""Figures of a summary in words that more than one report uses: coverage, money, what to run next.

Owns their wording. Reads parts of a summary document; knows neither terminal nor markup, so whoever
prints text from agents or case files says how it is quoted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.text import family_outcome, plain

STOPPED = {"budget": "stopped by the budget", "cancelled": "interrupted"}
"""Why a run ended early, by the summary's ``stopped``."""
_UNJUDGED = ("not_applicable", "error", "skipped")
_MOST_REASONS = 3
_MOST_REASON = 160


def percent(share: float) -> str:
    """Whole percents, but never 100% for less than all nor 0% for more than nothing."""
    whole = f"{share:.0%}"
    return f"{share:.2%}" if (whole == "100%" and share < 1) or (whole == "0%" and share > 0) else whole


def broken_figures(entry: Mapping[str, Any]) -> str:
    """How a pair of a night's ``flakiness.json`` did, before, and again in the night's reruns.

    >>> broken_figures({"judged": 3, "failed": 1, "base_rate": 0.0, "reruns": {"passed": 5, "judged": 8}})
    'passed 2 of 3, 100% before; 5 of 8 reruns passed'
    """
    base, again = entry.get("base_rate"), entry.get("reruns") or {"judged": 0}
    before = "" if base is None else f", {percent(1 - base)} before"
    reruns = f"; {again['passed']} of {again['judged']} reruns passed" if again["judged"] else ""
    return f"passed {entry['judged'] - entry['failed']} of {entry['judged']}{before}{reruns}"


def unjudged(count: int, name: str) -> str:
    """So many cells or trials of a status or an ending, in words.

    >>> unjudged(3, "not_applicable"), unjudged(2, "infra_error")
    ('3 not applicable', '2 infra errors')
    """
    words = name.replace("_", " ")
    return f"{count} {words}s" if count != 1 and words.endswith("error") else f"{count} {words}"


def coverage(
    evaluator: Mapping[str, Any], quote: Callable[[str], str] = plain, *, longest: int = _MOST_REASON
) -> str:
    """What of an evaluator's planned cells was judged, and why the rest was not.

    Args:
        evaluator: Its entry in the summary.
        quote: Makes a text from an agent, a judge or a case file safe where the line is going to stand.
        longest: Characters of one reason.

    >>> hole = {"status": "error", "blame": "judge", "count": 1, "reason": "no JSON", "cases": ["a"]}
    >>> counts = {"planned": 3, "judged": 2, "measured": 0, "not_applicable": 0, "error": 1, "skipped": 0}
    >>> coverage({**counts, "required_not_applicable": 0, "holes": [hole]})
    'judged 2 of 3: 1 error (judge: no JSON)'
    """
    measured = f", measured {evaluator['measured']}" if evaluator["measured"] else ""
    parts = []
    for status in _UNJUDGED:
        count = evaluator[status]
        if count:
            of_status = [h for h in evaluator["holes"] if h["status"] == status]
            why = list(_reasons(of_status, quote, longest))
            if status == "not_applicable" and (required := evaluator["required_not_applicable"]):
                why.append(f"{required} of them required, so counted as failed")
            parts.append(unjudged(count, status) + (f" ({'; '.join(why)})" if why else ""))
    return f"judged {evaluator['judged']} of {evaluator['planned']}{measured}" + (
        f": {', '.join(parts)}" if parts else ""
    )


def _reasons(holes: Sequence[Mapping[str, Any]], quote: Callable[[str], str], longest: int) -> Iterator[str]:
    for hole in holes[:_MOST_REASONS]:
        blame = f"{hole['blame']}: " if hole["blame"] else ""
        times = f" x{hole['count']}" if hole["count"] > 1 and len(holes) > 1 else ""
        yield f"{blame}{quote(plain(hole['reason'], longest))}{times}"
    if len(holes) > _MOST_REASONS:
        yield f"{len(holes) - _MOST_REASONS} more reasons"


def conversations(summary: Mapping[str, Any]) -> Iterator[str]:
    """How conversations ended, what success took, and how the simulated user behaved.

    Turns are averaged over successes, so the number of those comes first.
    """
    talks = summary["conversations"]
    if talks is None:
        return
    ended = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in summary["endings"].items() if count
    )
    mean = talks["mean_turns"]
    turns = f", {mean:.1f} user turns each" if mean is not None else ""
    met = f"{talks['goal_met']} of {talks['goal_planned']} met their goal{turns}"
    yield f"conversations: {met} ({ended or 'none ended'})"
    told = [
        f"{words} {talks[name]:.0%}"
        for name, words in _CONVERSATION_FIGURES.items()
        if talks[name] is not None
    ]
    if talks["re_asks"]:
        first = [f"{ask['fact']} in turn {ask['turn']} of {ask['case']}" for ask in talks["re_asked"]]
        more = ", ..." if talks["re_asks"] > _MOST_RE_ASKS else ""
        told.append(f"re-asks {talks['re_asks']} ({plain(', '.join(first[:_MOST_RE_ASKS]), 200)}{more})")
    if told:
        yield f"  {', '.join(told)}"
    quality = talks["quality_by_turn"]
    if quality:
        yield "quality by turn: " + ", ".join(f"{turn}: {mean:.2f}" for turn, mean in quality.items())
    simulator = talks["simulator"]
    broken = [f"{simulator[name]} {name}" for name in _RULES_BROKEN if simulator[name]]
    yield f"simulated user: {', '.join(broken) or 'kept its rules'}, {simulator['calls']} calls"


_MOST_RE_ASKS = 3
_CONVERSATION_FIGURES = {
    "mean_efficiency": "turn efficiency of successes",
    "elicitation": "withheld facts asked for",
    "perceived_only": "satisfied without the state",
}
_RULES_BROKEN = ("leaks", "repeats", "cuts", "faults", "regenerations")


def split_families(families: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, str]]:
    """Families that come out otherwise in one language than in another, or fail there for other reasons.

    Args:
        families: The summary's ``family_details``.

    Returns:
        Family -> language -> outcome in words.
    """
    told = {
        name: {language: family_outcome(row) for language, row in rows.items()}
        for name, rows in families.items()
    }
    return {name: rows for name, rows in told.items() if len(set(rows.values())) > 1}


def skill_outcomes(invocations: Mapping[str, Any]) -> str:
    """What became of a run's skill invocations, to stand behind their count; empty when there were none.

    >>> skill_outcomes({"outcomes": {"loaded": 6, "no_body": 2}})
    ' (6 loaded, 2 no body)'
    """
    told = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in invocations["outcomes"].items())
    return f" ({told})" if told else ""


def curtailed(summary: Mapping[str, Any]) -> Iterator[str]:
    """What ``--curtail`` left out, where it left anything out."""
    left = summary["curtailed"]
    if left and left["cells"]:
        saved = f", about ${left['saved_usd']:.4f} saved" if left["saved_usd"] is not None else ""
        yield f"curtailed: {left['trials']} trials and {left['cells']} cells could change no verdict{saved}"


def money(summary: Mapping[str, Any]) -> str:
    """What was spent, by role, and what a case and a verdict came to; what is unknown is said, and never 0.

    Beside the judges' money stands what the same calls cost the other way: at list price, or by batch.
    """
    cost, calls = summary["cost_usd"], summary["calls"]
    parts = [
        f"{role} {_usd(cost[role], cost['at_least'][role])}{_other_way(cost) if role == 'judge' else ''}"
        for role in ("agent", "judge", "user")
        if cost[role] is None or cost[role] or role != "user"
    ]
    retried = f", {calls['retries']} retried" if calls["retries"] else ""
    unpriced = f", {cost['unpriced_calls']} of unknown cost" if cost["unpriced_calls"] else ""
    total = _usd(cost["total"], cost["at_least"]["total"])
    counted = f"{', '.join(parts)}, total {total} ({calls['total']} calls{retried}{unpriced})"
    return counted + "".join(f"; {price}" for price in _each(summary.get("cost_per") or {}))


def _other_way(cost: Mapping[str, Any]) -> str:
    """The judges' calls at list price where they went by batch, and by batch where they were live."""
    told = []
    for name, words in (("judge_list", "list"), ("judge_batch", "by batch")):
        usd, at_least = cost.get(name), cost["at_least"].get(name)
        if at_least and (usd is None or usd != cost["judge"]):
            told.append(f"{words} {_usd(usd, at_least)}")
    if not told and cost["judge"] and cost.get("judge_list") and cost.get("judge_batch") is None:
        told.append("no batch price")
    return f" ({', '.join(told)})" if told else ""


def _each(cost_per: Mapping[str, float | None]) -> Iterator[str]:
    told = {one: cost_per.get(one) for one in ("case", "verdict")}
    shown = [f"${_digits(usd)} a {one}" for one, usd in told.items() if usd]
    if shown:
        yield ", ".join(shown)


def _digits(usd: float) -> str:
    """Four decimals, more where they would hide the amount.

    >>> _digits(1.5), _digits(0.0000312)
    ('1.5000', '0.000031')
    """
    places = next((places for places in range(4, 9) if round(usd, places) >= 10.0 ** (1 - places)), 9)
    return f"{usd:.{places}f}"


def _usd(amount: float | None, at_least: float) -> str:
    if amount is None:
        return f"unknown (at least ${at_least:.4f})"
    return f"${amount:.4f}"


def next_command(summary: Mapping[str, Any], *, suite: str = "SUITE", store: str | None = None) -> str:
    """The command to go on with, ready for a shell.

    Args:
        summary: The summary document.
        suite: The suite's path.
        store: The store, where it is not the default one.
    """
    where = f" --store {shlex.quote(store)}" if store else ""
    return _next(summary, shlex.quote(suite)) + where


def _next(summary: Mapping[str, Any], suite: str) -> str:
    model = f" --model {shlex.quote(str(summary['model']))}"
    if not summary["complete"]:
        return f"nightgate run {suite} --resume {summary['run_id']}{more_money(summary)}"
    if summary["exit_code"] == 0:
        return f"nightgate runs {summary['suite']}"
    again = f"{' --live' if summary['live'] else model}{_cap(summary)}"
    if summary["verdict"] == "inconclusive" and summary["cells"]["error"]:
        # With the run's own models and what is left of its cap.
        return f"nightgate run {suite} --rerun {summary['run_id']} --only errors"
    # A rule about the baseline fails by what broke since, whatever failed before.
    broken = [entry["case"] for entry in (summary.get("changes") or {}).get("newly_broken", ())]
    failed = [case for evaluator in summary["evaluators"] for case in evaluator["failed_cases"]]
    if failed := broken + failed:
        # A glob means its own text too, so that any id can be named here.
        return f"nightgate run {suite} --case {shlex.quote(plain(failed[0]))} --trials 3{again}"
    # Plays and judges again what broke, and keeps the rest.
    return f"nightgate run {suite} --reuse {summary['run_id']}{again}{_filters(summary)}"


def _cap(summary: Mapping[str, Any]) -> str:
    """The run's cap, where the next one spends money."""
    costs = summary["live"] or not str(summary["model"]).startswith("scripted:")
    cap = summary.get("budget_usd")
    return f" --budget-usd {_decimal(cap)}" if costs and cap is not None else ""


def more_money(summary: Mapping[str, Any]) -> str:
    """The flag without which a resume stops at once again: twice the cap; empty where no cap stopped it."""
    if summary["stopped"] != "budget":
        return ""
    return f" --budget-usd {_decimal(2 * (summary['budget_usd'] or 0.5))}"


def _filters(summary: Mapping[str, Any]) -> str:
    """The filters of the run as flags: without them another grid would be played."""
    return "".join(
        f" --{name} {shlex.quote(value)}" for name, values in summary["filters"].items() for value in values
    )


def _decimal(amount: float) -> str:
    """Dollars as people write them: no exponent, no needless zeros."""
    return f"{amount:.9f}".rstrip("0").rstrip(".")


def in_quarantine(summary: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Cases that a run kept out of its gate, with owner, reason and day; older summaries have none.

    One that is over, or does not hold, is told among the run's warnings: it gates.
    """
    return {row["case"]: row for row in summary.get("quarantined", ()) if not row["expired"]}
