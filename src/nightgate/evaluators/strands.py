"""Any Strands Evals evaluator as one of ours.

Owns the typing of what they return: a not-applicable row carries a pass flag and a placeholder
0.0 there, an unusable score may be NaN beside ``test_pass=True``, and a trajectory that is missing
reads as not applicable or as a fail; here it becomes the status that it is. Their ``Experiment`` is
not used. Imports strands_evals when used.
"""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Iterator
from typing import Any

from nightgate.calls import Role, current_scope
from nightgate.cases import Case
from nightgate.evaluators.sessions import message_list, session, unanswered
from nightgate.scores import Blame, Score, Status, fold
from nightgate.trials import Trial

ADAPTER_VERSION = 2
"""Raised when the same output of a Strands evaluator could get another status."""

_ABOUT_CALLS = ("Skill", "Tool", "Trajectory")
"""How the names of their evaluators begin that look at what was called, loaded or done."""


_TAKEN_AWAY = frozenset({"guardrail_intervened", "content_filtered"})
_SDK_LOG = "strands.event_loop.event_loop"


class StrandsEvaluator:
    """Runs a ``strands_evals`` evaluator on a trial and types its findings.

    Args:
        name: The cell's evaluator name.
        inner: The evaluator, built with a pinned model if it takes one.
    """

    version = ADAPTER_VERSION

    def __init__(self, name: str, inner: Any) -> None:
        self.name, self._inner = name, inner
        logging.getLogger(_SDK_LOG).addFilter(_of_no_judge)

    @property
    def per_call(self) -> bool:
        """Whether it asks its judge once for each tool call or loaded skill, not once for the trial."""
        return self._level == "TOOL_LEVEL" or self._about("Skill")

    @property
    def needs_trajectory(self) -> bool:
        """Whether it looks at calls or skills: on a trial whose calls nobody recorded it finds nothing."""
        return self._level == "TOOL_LEVEL" or self._about(*_ABOUT_CALLS)

    @property
    def _level(self) -> str:
        return getattr(getattr(self._inner, "evaluation_level", None), "name", "")

    def _about(self, *words: str) -> bool:
        """Whether one of their classes with such a name is in it, also under a subclass of the user's."""
        return any(
            base.__name__.startswith(words)
            for base in type(self._inner).__mro__
            if base.__module__.startswith("strands_evals.")
        )

    async def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge one trial; several findings fold into one."""
        if self.needs_trajectory and not (trial.recorded and trial.messages):
            # They answer "no trajectory" as not applicable, or as a fail of the agent's.
            return self._missing("what the agent called was not recorded")
        data = evaluation_data(trial, case)
        if self._about("Skill") and unanswered(trial):
            data.actual_trajectory = message_list(trial)
        try:
            outputs = await self._inner.evaluate_async(data)
        except (AttributeError, TypeError):  # what theirs make of an answer that holds no rating
            stopped = _stopped_reply()
            if stopped is None:
                raise
            return self._broken(f"the judge's reply was stopped ({stopped}) and holds no rating")
        findings = [self._typed(output, trial) for output in outputs]
        return fold(self.name, self.version, findings, trajectory=bool(trial.messages))

    def _broken(self, reason: str) -> Score:
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.ERROR,
            blame=Blame.JUDGE,
            reason=reason,
        )

    def _missing(self, what: str) -> Score:
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.ERROR,
            blame=Blame.EVALUATOR,
            reason=f"the trial's trajectory is missing: {what}",
        )

    def _typed(self, output: Any, trial: Trial) -> Score:
        from strands_evals.types.evaluation import NOT_APPLICABLE

        reason = output.reason or ""
        label = None if output.label is None else str(getattr(output.label, "value", output.label))
        if label == NOT_APPLICABLE and not trial.messages:
            return self._missing(reason or "no message was recorded, so there was nothing to judge")
        if label == NOT_APPLICABLE:
            return Score(
                evaluator=self.name,
                version=self.version,
                status=Status.NOT_APPLICABLE,
                reason=reason or "the evaluator had nothing to judge",
                label=label,
            )
        if not math.isfinite(output.score) or not 0.0 <= output.score <= 1.0:
            return Score(
                evaluator=self.name,
                version=self.version,
                status=Status.ERROR,
                blame=Blame.JUDGE,
                reason=f"score {output.score} lies outside [0, 1]: {reason}".rstrip(": "),
                label=label,
                details={"raw": f"score={output.score} test_pass={output.test_pass} label={label}"},
            )
        status = Status.PASS if output.test_pass else Status.FAIL
        return Score(
            evaluator=self.name,
            version=self.version,
            status=status,
            score=float(output.score),
            reason=reason or f"{status.value} with score {output.score:g}; no reason was given",
            label=label,
        )


def _stopped_reply() -> str | None:
    """Why the judge's provider took its last answer away; None where it did not."""
    scope = current_scope()
    reason = scope.calls[-1].stop_reason if scope is not None and scope.calls else None
    return reason if reason in _TAKEN_AWAY else None


def _of_no_judge(_: logging.LogRecord) -> bool:
    """Whether a line of the SDK's is shown: what broke in a judgement stands in its row, with the reason."""
    scope = current_scope()
    return scope is None or scope.role is not Role.JUDGE


def evaluation_data(trial: Trial, case: Case) -> Any:
    """What a Strands evaluator reads of a trial."""
    from strands_evals.types.evaluation import EnvironmentState, EvaluationData

    state = trial.final_state
    return EvaluationData(
        input=trial.input,
        actual_output=trial.output,
        name=case.id,
        expected_output=case.expected_output,
        actual_trajectory=session(trial) if trial.messages else None,
        metadata={"context": dict(case.context or {}), "tags": list(case.tags)},
        actual_environment_state=[EnvironmentState(name=name, state=value) for name, value in state.items()]
        if state is not None
        else None,
    )


def import_strands_evals() -> Any:
    """``strands_evals.evaluators``, with the root logger as it was."""
    with root_logger_kept():
        import strands_evals.evaluators as found
    return found


@contextlib.contextmanager
def root_logger_kept() -> Iterator[None]:
    """Undo what imports inside do to the root logger: strands_evals sets it to INFO, from wherever."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in root.handlers[:]:
            if handler not in handlers:
                root.removeHandler(handler)


def is_strands(candidate: Any) -> bool:
    """Whether a class is one of Strands Evals' evaluators, without importing the package for it."""
    return any(
        base.__module__.startswith("strands_evals.") and base.__name__ == "Evaluator"
        for base in getattr(candidate, "__mro__", ())
    )
