"""Tools chosen or not: ToolPolicy.

Owns required, forbidden and counted tool names. Order and repeats are free; a call counts when the
model asked for it, whatever came back. Knows nothing of arguments.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from nightgate.cases import Case
from nightgate.evaluators.text import difference
from nightgate.scores import Score, Status
from nightgate.trials import Trial


class ToolPolicy:
    """Pass if every required tool was called, no forbidden one was, and no count was passed."""

    name: ClassVar[str] = "ToolPolicy"
    version: ClassVar[int] = 2
    needs_trajectory: ClassVar[bool] = True

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the names of the calls."""
        policy = case.expect.tools
        counts = Counter(call.name for call in trial.tool_calls)
        broken: list[str] = []
        wanted: list[str] = []
        missing = [name for name in policy.must_call if name not in counts]
        if missing:
            broken.append(f"missing {', '.join(missing)}")
            wanted.append(f"{', '.join(missing)} called")
        none_at_all = "*" in policy.must_not_call
        forbidden = sorted(counts) if none_at_all else [n for n in policy.must_not_call if n in counts]
        if forbidden:
            broken.append(f"forbidden {', '.join(forbidden)}")
            wanted.append("no tool called at all" if none_at_all else f"{', '.join(forbidden)} not called")
        for name, most in policy.max_calls.items():
            if counts[name] > most:
                broken.append(f"{name} called {counts[name]} times, at most {most} allowed")
                wanted.append(f"{name} called at most {most} {'time' if most == 1 else 'times'}")
        called = ", ".join(f"{name} x{n}" if n > 1 else name for name, n in counts.items()) or "no tool"
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken) + f" (called: {called})"
            if broken
            else f"called {called}, as the policy wants",
            details=difference("; ".join(wanted), f"called {called}") if broken else {},
        )
