"""The end of a judge sweep, and what one would do, as lines for people."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.figures import STOPPED, coverage, money, more_money, percent
from nightgate.reports.panels import panels
from nightgate.reports.text import plain

_MOST_REASONS = 6


def render(summary: Mapping[str, Any], *, suite: str | None = "SUITE", store: str | None = None) -> str:
    """All lines of a sweep's end.

    Args:
        summary: The sweep's document, of one run or of several.
        suite: The suite's path, for the command to go on with; None: each run has its own.
        store: The store, where it is not the default one.
    """
    return "\n".join(_lines(summary, suite, store))


def _lines(summary: Mapping[str, Any], suite: str | None, store: str | None) -> Iterator[str]:
    if "wall_s" not in summary:  # it left no summary of its own
        yield f"sweep {summary['run_id']}: " + "; ".join(plain(one["text"]) for one in summary["findings"])
        return
    cells = summary["cells"]
    took = f" in {summary['wall_s']:.1f} s" if summary["wall_s"] is not None else ""
    state = "" if summary["complete"] else f" ({STOPPED.get(summary['stopped'] or '', 'open')})"
    parts = summary.get("parts")
    source = summary["source"] if parts is None else f"{len(parts)} runs of {plain(summary['suite'], 80)}"
    yield (
        f"sweep {summary['run_id']} of {source}: {cells['planned']} cells over "
        f"{summary['trials']} stored trials{_known(summary)}{took}{state}"
    )
    for evaluator in summary["evaluators"]:
        of_suite = f"{evaluator['suite']}: " if parts and "," in summary["suite"] else ""
        name = f"{of_suite}{plain(evaluator['name'], 80)}"
        yield f"  {name}: {_figure(evaluator)}; {coverage(_whole(evaluator))}"
    for pair in summary["agreement"]:
        yield f"  {_agreement(pair)}"
    yield from (f"  {line}" for line in panels(summary))
    yield from (f"  warning: {plain(warning)}" for warning in summary.get("warnings", ()))
    for reason, count in summary["left_out"].items():
        yield f"  left out: {count} trials, {plain(reason)}"
    yield from _runs(summary)
    for failure in [f for f in summary["failures"] if f["status"] == "error"][:_MOST_REASONS]:
        yield f"  error ({failure['blame']}) {plain(failure['case'], 60)}: {plain(failure['reason'], 200)}"
    yield f"cost: {money(summary)}"
    yield from (f"next: {command}" for command in _next(summary, suite, store))


def _known(summary: Mapping[str, Any]) -> str:
    """How many findings were taken over; a summary of an older version does not say."""
    known = summary.get("known")
    return f", {known} of them known already" if known else ""


def _next(summary: Mapping[str, Any], suite: str | None, store: str | None) -> Iterator[str]:
    """The commands to go on with, ready for a shell: one, or one a suite."""
    where = f" --store {shlex.quote(store)}" if store else ""
    if not summary["complete"]:
        of = f" --suite {shlex.quote(suite)}" if suite is not None else ""
        yield f"nightgate sweep --resume {summary['run_id']}{of}{more_money(summary)}{where}"
        return
    folders = [part.get("suite_path") or "SUITE" for part in summary.get("parts", ())]
    for folder in list(dict.fromkeys([suite] if suite is not None else folders))[:_MOST_REASONS]:
        yield f"nightgate calibrate {shlex.quote(folder)}{where}"


def _runs(summary: Mapping[str, Any]) -> Iterator[str]:
    """Of a sweep over several runs: those that are open or were left out, and which sweep is whose."""
    parts = summary.get("parts", [])
    if parts:
        yield f"  its sweeps: {parts[0]['run_id']} to {parts[-1]['run_id']}, one a run"
    unfinished = [part["source"] for part in parts if not part["complete"]]
    if unfinished:
        yield f"  open: {_first(unfinished)}"
    for run in summary.get("runs_left_out", [])[:_MOST_REASONS]:
        yield f"  left out: {plain(run['reason'], 300)}"
    more = len(summary.get("runs_left_out", [])) - _MOST_REASONS
    if more > 0:
        yield f"  left out: {more} more runs"


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_REASONS} more" if len(names) > _MOST_REASONS else ""
    return ", ".join(names[:_MOST_REASONS]) + more


def _figure(evaluator: Mapping[str, Any]) -> str:
    rate, interval, mean = evaluator["pass_rate"], evaluator["interval"], evaluator["mean_score"]
    if rate is None:
        return "not measured" if mean is None else f"mean {mean:.3g}"
    spread = f" [{interval[0]:.0%}, {interval[1]:.0%}]" if interval is not None else ""
    return f"{percent(rate)}{spread} passed, {evaluator['passed']} of {evaluator['planned']}"


def _whole(evaluator: Mapping[str, Any]) -> dict[str, Any]:
    return {**evaluator, "required_not_applicable": 0}


def _agreement(pair: Mapping[str, Any]) -> str:
    first, second = (plain(name, 80) for name in pair["between"])
    if not pair["both"]:
        return f"{first} and {second} judged no output both"
    what = "agree with themselves" if pair["kind"] == "repeat" else "agree"
    return f"{first} and {second} {what} on {pair['same']} of {pair['both']} ({pair['share']:.0%})"


def forecast(plan: Mapping[str, Any]) -> str:
    """What a sweep would do, from ``wiring.sweep_forecast``."""
    grid = f"{plan['cells']} cells over {plan['trials']} stored trials"
    rest = f"{plan['known']} are known already, {plan['to_judge']} would be judged"
    runs = plan.get("sources", [])
    source = f"{len(runs)} runs" if runs else plan["source"]
    lines = [f"sweep of {source}: {grid}; {rest}"]
    several = len({run["suite"] for run in runs}) > 1
    for row in plan["evaluators"]:
        name = f"{row['suite']}: {row['name']}" if several else row["name"]
        queued = "" if row["usd_batch"] is None else f", {_usd(row['usd_batch'])} with --batch"
        lines.append(f"  {name}: {row['to_judge']} to judge, {_usd(row['usd'])}{queued}")
    lines += [
        f"  {run['run_id']}: {run['to_judge']} of {run['cells']} to judge" for run in runs[:_MOST_REASONS]
    ]
    if len(runs) > _MOST_REASONS:
        lines.append(f"  and {len(runs) - _MOST_REASONS} more runs")
    lines += [f"  left out: {run['reason']}" for run in plan.get("runs_left_out", [])[:_MOST_REASONS]]
    lines += [f"  left out: {count} trials, {reason}" for reason, count in plan["left_out"].items()]
    batch = plan.get("usd_batch")
    queued = "" if batch is None else f", {_usd(batch)} with --batch"
    listed = _usd(plan["usd"], plan["usd_at_least"])
    lines.append(f"cost: {listed} at list price{queued}, {plan['assumption']}; no call was made")
    return "\n".join(lines)


def _usd(amount: float | None, at_least: float = 0.0) -> str:
    if amount is not None:
        return f"about ${amount:.4f}"
    known = f", at least ${at_least:.4f}" if at_least else ""
    return f"unknown (a model without a price{known})"
