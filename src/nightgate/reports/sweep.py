"""The end of a judge sweep, and what one would do, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.figures import STOPPED, coverage, money, percent
from nightgate.reports.text import plain

_MOST_REASONS = 6


def render(summary: Mapping[str, Any], *, suite: str = "SUITE") -> str:
    """All lines of a sweep's end.

    Args:
        summary: The sweep's document.
        suite: The suite's path, for the command to go on with.
    """
    return "\n".join(_lines(summary, suite))


def _lines(summary: Mapping[str, Any], suite: str) -> Iterator[str]:
    cells = summary["cells"]
    took = f" in {summary['wall_s']:.1f} s" if summary["wall_s"] is not None else ""
    state = "" if summary["complete"] else f" ({STOPPED.get(summary['stopped'] or '', 'open')})"
    yield (
        f"sweep {summary['run_id']} of {summary['source']}: {cells['planned']} cells over "
        f"{summary['trials']} stored trials{took}{state}"
    )
    for evaluator in summary["evaluators"]:
        yield f"  {plain(evaluator['name'], 80)}: {_figure(evaluator)}; {coverage(_whole(evaluator))}"
    for pair in summary["agreement"]:
        yield f"  {_agreement(pair)}"
    for reason, count in summary["left_out"].items():
        yield f"  left out: {count} trials, {plain(reason)}"
    for failure in [f for f in summary["failures"] if f["status"] == "error"][:_MOST_REASONS]:
        yield f"  error ({failure['blame']}) {plain(failure['case'], 60)}: {plain(failure['reason'], 200)}"
    yield f"cost: {money(summary)}"
    if summary["complete"]:
        yield f"next: nightgate calibrate {suite}"
    else:
        yield f"next: nightgate sweep --resume {summary['run_id']} --suite {suite}"


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
    lines = [f"sweep of {plan['source']}: {grid}; {rest}"]
    lines += [
        f"  {row['name']}: {row['to_judge']} to judge, {_usd(row['usd'])}" for row in plan["evaluators"]
    ]
    lines += [f"  left out: {count} trials, {reason}" for reason, count in plan["left_out"].items()]
    batch = plan.get("usd_batch")
    queued = "" if batch is None else f", {_usd(batch)} with --batch"
    lines.append(f"cost: {_usd(plan['usd'])} at list price{queued}, {plan['assumption']}; no call was made")
    return "\n".join(lines)


def _usd(amount: float | None) -> str:
    return "unknown (a model without a price)" if amount is None else f"about ${amount:.4f}"
