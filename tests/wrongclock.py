"""A worker on a machine whose clock is wrong by ``DRILL_CLOCK_S`` seconds, for drills.

Only the hour is: seconds that pass (``time.monotonic``) are right on such a machine, too. Arguments as of
``drainer``.
"""

from __future__ import annotations

import datetime as dt
import importlib
import os
import pkgutil
import sys
import time
from typing import Any

import drainer
import nightgate

_SHIFT_S = float(os.environ["DRILL_CLOCK_S"])
_RIGHT, _TIME = dt.datetime, time.time


class _Same(type):
    """What is an hour for others is one here."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _RIGHT)


class _Wrong(dt.datetime, metaclass=_Same):
    """The class under its usual name, with another idea of now."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return _RIGHT.now(tz) + dt.timedelta(seconds=_SHIFT_S)


def put_wrong() -> None:
    """Shift the hour of all modules of ours, wherever they ask for it."""
    time.time = lambda: _TIME() + _SHIFT_S
    for found in pkgutil.walk_packages(nightgate.__path__, "nightgate."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    for name, module in list(sys.modules.items()):
        if name.startswith("nightgate") and getattr(module, "datetime", None) is _RIGHT:
            module.datetime = _Wrong  # type: ignore[attr-defined]


if __name__ == "__main__":
    put_wrong()
    drainer.main()
