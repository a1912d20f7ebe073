"""Arguments that the model chose: ArgumentPolicy.

Owns the matching of calls with ``expect.arguments``. Each entry holds if any one call of the tool
matches; a call that never happened fails, because the case asked for it. Knows nothing of results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from nightgate.cases import Case
from nightgate.evaluators.text import difference
from nightgate.evaluators.values import equal, parsed, show, subset
from nightgate.scores import Score, Status
from nightgate.trials import Trial

_SHOWN = 3
"""Calls shown in a line: enough to see."""


class ArgumentPolicy:
    """Pass if for every entry one call of its tool carries the wanted arguments."""

    name: ClassVar[str] = "ArgumentPolicy"
    version: ClassVar[int] = 2
    needs_trajectory: ClassVar[bool] = True

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the arguments of the calls."""
        broken: list[str] = []
        held: list[str] = []
        wanted: list[str] = []
        observed: list[str] = []
        called = ", ".join(dict.fromkeys(call.name for call in trial.tool_calls)) or "no tool"
        for entry in case.expect.arguments:
            seen = [parsed(call.arguments) for call in trial.tool_calls if call.name == entry.tool]
            matches = equal if entry.match == "exact" else subset
            if any(matches(entry.where, arguments) for arguments in seen):
                held.append(f"{entry.tool} got {show(entry.where)}")
                continue
            how = "exactly" if entry.match == "exact" else "at least"
            wanted.append(f"{entry.tool} called with {how} {show(entry.where)}")
            if not seen:
                broken.append(f"{entry.tool} was never called")
                observed.append(f"{broken[-1]} (called: {called})")
            else:
                broken.append(f"{entry.tool} got {_several(seen)}, want {entry.match} {show(entry.where)}")
                observed.append(f"{entry.tool} got {_several([_asked_first(entry.where, s) for s in seen])}")
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken or held),
            details=difference("; ".join(wanted), "; ".join(observed)) if broken else {},
        )


def _several(seen: Sequence[Any]) -> str:
    """The arguments of the first calls, and how many more there were."""
    more = f" and {len(seen) - _SHOWN} more" if len(seen) > _SHOWN else ""
    return "; ".join(show(arguments) for arguments in seen[:_SHOWN]) + more


def _asked_first(where: Any, arguments: Any) -> Any:
    """The arguments that the case asks about before the others, so that no cut takes them away."""
    if not isinstance(where, Mapping) or not isinstance(arguments, Mapping):
        return arguments
    return {name: arguments[name] for name in where if name in arguments} | dict(arguments)
