"""What wiring says in the log of a run: trials, shards, the verdict, alerts.

Owns which of it is said at which level. A trial that completed is a line at ``debug`` alone: a night has
thousands of them, and the rows have them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nightgate import logs
from nightgate.runner import Receipt
from nightgate.steps.claims import Taken
from nightgate.steps.finishing import Finished
from nightgate.trials import Ending, Trial

_EXPECTED = frozenset({Ending.COMPLETED, Ending.NOT_RUN})
"""Endings that nobody has to look into: played, or left out on purpose."""


def trial_told(on_trial: Callable[[Trial], None]) -> Callable[[Trial], None]:
    """A callback that says how a trial ended, and then does what ``on_trial`` does."""

    def told(trial: Trial) -> None:
        seconds = None if trial.latency_ms is None else round(trial.latency_ms / 1000, 3)
        took = "" if seconds is None else f" after {seconds:.1f} s"
        say = logs.debug if trial.ending in _EXPECTED else logs.info
        say(
            "trials",
            f"{trial.key.case_id} #{trial.key.trial}: {trial.ending.value}{took}",
            suite=trial.key.suite,
            case=trial.key.case_id,
            trial=trial.key.trial,
            ending=trial.ending.value,
            error=trial.error,
            duration_s=seconds,
            wait_s=round(trial.wait_ms / 1000, 3),
            play=trial.attempt,
        )
        on_trial(trial)

    return told


def tell_claim(taken: Taken) -> None:
    """A worker of a fleet has a shard to play."""
    if taken.before is None:
        line = f"shard {taken.shard} claimed"
    else:
        why = "went silent" if taken.silent else "let it go"
        line = f"shard {taken.shard} taken over from {taken.before}, which {why}"
    logs.info("shards", line, shard=taken.shard, before=taken.before, silent=taken.silent)


def tell_lost(shard: int) -> None:
    """A worker of a fleet found that somebody else had taken its shard over."""
    logs.warn("shards", f"shard {shard} lost: another worker has taken it over", shard=shard)


def tell_let_go(shard: int, why: str | None) -> None:
    """A worker of a fleet leaves a shard to others."""
    logs.info("shards", f"shard {shard} let go{f': {why}' if why else ''}", shard=shard, stopped=why)


def tell_shard(receipt: Receipt) -> None:
    """What was played of a shard here."""
    stopped = f", let go: {receipt.stopped}" if receipt.stopped else ""
    counts = f"{receipt.trials} trials, {receipt.cells} cells"
    logs.info(
        "shards",
        f"shard {receipt.shard} {'played' if receipt.stopped else 'done'}: {counts}{stopped}",
        shard=receipt.shard,
        trials=receipt.trials,
        cells=receipt.cells,
        stopped=receipt.stopped,
    )


def tell_verdict(finished: Finished) -> None:
    """What the gate says of a run; of a sweep, that it was carried out."""
    summary = finished.summary.as_dict()
    verdict, code = summary["verdict"] or "no gate", summary["exit_code"]
    logs.info(
        "gate",
        f"run {summary['run_id']}: {verdict}, exit {code}",
        run=summary["run_id"],
        suite=summary["suite"],
        verdict=summary["verdict"],
        exit_code=code,
        complete=summary["complete"],
        stopped=summary["stopped"],
        wall_s=summary["wall_s"],
        cost_usd=summary["cost_usd"]["total"],
        calls=summary["calls"]["total"],
    )


def tell_alerts(run_id: str, line: str | None, report: Mapping[str, Any]) -> None:
    """Who was told of a run, and what reached nobody.

    Args:
        run_id: The run.
        line: What a terminal says of the report; None where there is nothing to say.
        report: That of ``send_alerts``.
    """
    if line is None:
        return
    lost = report["error"] is not None or bool(report.get("undelivered"))
    (logs.warn if lost else logs.info)("alerts", line, run=run_id)
