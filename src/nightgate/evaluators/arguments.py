"""Arguments that the model chose: ArgumentPolicy.

Owns the matching of calls with ``expect.arguments``. Each entry holds if any one call of the tool
matches; a call that never happened fails, because the case asked for it. Knows nothing of results.
"""

from __future__ import annotations

from typing import ClassVar

from nightgate.cases import Case
from nightgate.evaluators.values import equal, parsed, show, subset
from nightgate.scores import Score, Status
from nightgate.trials import Trial


class ArgumentPolicy:
    """Pass if for every entry one call of its tool carries the wanted arguments."""

    name: ClassVar[str] = "ArgumentPolicy"
    version: ClassVar[int] = 1

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the arguments of the calls."""
        broken: list[str] = []
        held: list[str] = []
        for entry in case.expect.arguments:
            seen = [parsed(call.arguments) for call in trial.tool_calls if call.name == entry.tool]
            matches = equal if entry.match == "exact" else subset
            if not seen:
                broken.append(f"{entry.tool} was never called")
            elif any(matches(entry.where, arguments) for arguments in seen):
                held.append(f"{entry.tool} got {show(entry.where)}")
            else:
                got = "; ".join(show(arguments) for arguments in seen[:3])
                more = f" and {len(seen) - 3} more" if len(seen) > 3 else ""  # noqa: PLR2004 - three are enough to see
                broken.append(f"{entry.tool} got {got}{more}, want {entry.match} {show(entry.where)}")
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken or held),
        )
