"""Figures of a run for whoever watches machines: written once at its end, where that is asked for.

Owns the setting ``NIGHTGATE_METRICS``. A line goes to stderr, where a log driver picks it up.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

from nightgate.errors import InputError
from nightgate.reports.metrics import emf
from nightgate.steps.finishing import Finished

_SETTING = "NIGHTGATE_METRICS"
_FORMS = ("emf",)


def check_metrics() -> None:
    """Refuse a form that nobody writes, before anything is spent.

    Raises:
        InputError: If the setting names none.
    """
    form = os.environ.get(_SETTING, "")
    if form and form not in _FORMS:
        msg = f"{_SETTING}={form!r}: write {' or '.join(_FORMS)}, or nothing"
        raise InputError(msg)


def measured(finished: Finished) -> Finished:
    """Write the figures of a run that ended; the same object, so that it can be returned."""
    if os.environ.get(_SETTING) == "emf":
        sys.stderr.write(f"{emf(finished.summary.as_dict(), datetime.now(UTC))}\n")
        sys.stderr.flush()
    return finished
