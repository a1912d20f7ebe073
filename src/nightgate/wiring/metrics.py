"""Figures of a run for whoever watches machines: given out once at its end, where that is asked for.

Owns the setting ``NIGHTGATE_METRICS``, and that a run never fails for its figures' sake. An ``emf`` line goes
to stderr, where a log driver picks it up; ``otlp`` goes to a collector.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from datetime import UTC, datetime

from nightgate import logs
from nightgate.errors import InputError
from nightgate.plaintext import plain
from nightgate.reports.metrics import emf, figures
from nightgate.rows.redaction import redact_text
from nightgate.steps.finishing import Finished
from nightgate.wiring.telling import tell_verdict

SETTING = "NIGHTGATE_METRICS"
_FORMS = ("emf", "otlp")
_MOST_REASON = 300


def check_metrics() -> None:
    """Refuse a form that nobody writes, or that cannot be sent from here, before anything is spent.

    Raises:
        InputError: If the setting names none, or the exporter is missing.
    """
    forms = _forms()
    for form in forms:
        if form not in _FORMS:
            msg = f"{SETTING}={form!r}: write {' or '.join(_FORMS)}, both with a comma between, or nothing"
            raise InputError(msg)
    if "otlp" in forms:
        from nightgate.adapters.otlp import check_exporter

        check_exporter()


async def measured(finished: Finished) -> Finished:
    """Give out the figures of a run that ended; the same object, so that it can be returned."""
    tell_verdict(finished)
    forms = _forms()
    if "emf" in forms:
        _write(emf(finished.summary.as_dict(), datetime.now(UTC)))
    if "otlp" in forms:
        why = await asyncio.to_thread(_send, finished)
        if why is not None:
            _tell(why, finished.summary.run_id)
    return finished


def _forms() -> tuple[str, ...]:
    return tuple(form for part in os.environ.get(SETTING, "").split(",") if (form := part.strip()))


def _send(finished: Finished) -> str | None:
    """Why the figures did not arrive; None when they did."""
    from nightgate.adapters.otlp import send

    summary = finished.summary.as_dict()
    try:
        began = datetime.fromisoformat(summary["started_at"])
        return send(figures(summary, finished.ledger), began=began, now=datetime.now(UTC))
    except Exception as error:  # whatever it is, the run has its verdict
        return f"{type(error).__name__}: {error}"


def _tell(why: str, run_id: str) -> None:
    """One line, wherever lines go."""
    from nightgate.adapters.otlp import endpoint

    line = f"metrics of run {run_id} not sent to {endpoint()}: {why}; the run stands as it is"
    if not logs.warn("metrics", line, run=run_id):
        _write(f"nightgate: {plain(redact_text(line), _MOST_REASON)}")


def _write(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # stderr is full, closed, or a broken pipe
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()
