"""nightgate: batch evals for AI agents, with honest denominators and a gate that stands.

The public names (contract, section 8) load on first use, so that ``import nightgate`` and
``nightgate --help`` stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nightgate.version import VERSION

if TYPE_CHECKING:
    from nightgate.cases import Case, Suite, load_suite
    from nightgate.gates import Decision
    from nightgate.ports import Evaluator, Target
    from nightgate.scores import Score, Status
    from nightgate.summaries import Summary
    from nightgate.trials import Trial
    from nightgate.wiring import gate, open_store, run_suite

__version__ = VERSION

_HOMES = {
    "Case": "cases",
    "Suite": "cases",
    "load_suite": "cases",
    "Target": "ports",
    "Trial": "trials",
    "Score": "scores",
    "Status": "scores",
    "Evaluator": "ports",
    "Summary": "summaries",
    "Decision": "gates",
    "run_suite": "wiring",
    "open_store": "wiring",
    "gate": "wiring",
}

__all__ = [
    "Case",
    "Decision",
    "Evaluator",
    "Score",
    "Status",
    "Suite",
    "Summary",
    "Target",
    "Trial",
    "gate",
    "load_suite",
    "open_store",
    "run_suite",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'nightgate' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"nightgate.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
