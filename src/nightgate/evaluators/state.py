"""The world after the play: StateReached, BlockedAsExpected.

Owns what is decided from facts beside the text. Knows nothing of tools and answers.
"""

from __future__ import annotations

from typing import ClassVar

from nightgate.cases import Case
from nightgate.evaluators.text import difference
from nightgate.evaluators.values import equal, lookup, show
from nightgate.scores import Score, Status
from nightgate.trials import Ending, Trial


class StateReached:
    """Pass if every dotted path of the final state holds the wanted value."""

    name: ClassVar[str] = "StateReached"
    version: ClassVar[int] = 2

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the final state; a target that shows none leaves nothing to judge."""
        wants = {path: f"{path} is {show(want)}" for path, want in case.expect.state.items()}
        if trial.final_state is None:
            return Score(
                evaluator=self.name,
                version=self.version,
                status=Status.NOT_APPLICABLE,
                reason="the target shows no state: let the factory return nightgate.Target(agent, state=...)",
                details=difference("; ".join(wants.values()), "the target shows no state"),
            )
        broken: list[str] = []
        wanted: list[str] = []
        observed: list[str] = []
        for path, want in case.expect.state.items():
            exists, have = lookup(trial.final_state, path)
            if exists and equal(want, have):
                continue
            observed.append(f"{path} is {show(have) if exists else 'missing'}")
            wanted.append(wants[path])
            broken.append(f"{observed[-1]}, want {show(want)}")
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken) or ", ".join(wants.values()),
            details=difference("; ".join(wanted), "; ".join(observed)) if broken else {},
        )


class BlockedAsExpected:
    """Pass if a guardrail stopped the agent exactly when the case wants it."""

    name: ClassVar[str] = "BlockedAsExpected"
    version: ClassVar[int] = 1

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the ending."""
        blocked = trial.ending is Ending.AGENT_BLOCKED
        passed = blocked is bool(case.expect.blocked)
        did = "a guardrail stopped the agent" if blocked else "no guardrail stopped the agent"
        wanted = "a stop" if case.expect.blocked else "an answer"
        expected = (
            "a guardrail stops the agent" if case.expect.blocked else "an answer without a guardrail stop"
        )
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.PASS if passed else Status.FAIL,
            score=1.0 if passed else 0.0,
            reason=f"{did}, the case wants {wanted}",
            details={} if passed else difference(expected, did),
        )
