"""Evaluators as users write them on a bad day: NaN, exceptions, garbage instead of a finding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from strands_evals.evaluators import Evaluator
from strands_evals.types.evaluation import NOT_APPLICABLE, EvaluationOutput

from nightgate import Score, Status


class Graded(Evaluator):
    """Strands': the score that the case's context names, and always ``test_pass=True``."""

    def evaluate(self, evaluation_case: Any) -> list[EvaluationOutput]:
        score = float(evaluation_case.metadata["context"]["score"])
        return [EvaluationOutput(score=score, test_pass=True, reason="as the context says")]


class GradedJudge(Graded):
    """The same as a judge that asks its model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model


class Applies(Evaluator):
    """Strands': not applicable, with the library's pass flag, unless the context says so."""

    def evaluate(self, evaluation_case: Any) -> list[EvaluationOutput]:
        if evaluation_case.metadata["context"].get("applies"):
            return [EvaluationOutput(score=1.0, test_pass=True, reason="all there")]
        return [EvaluationOutput(score=0.0, test_pass=True, reason="no skill here", label=NOT_APPLICABLE)]


class BrokenJudge:
    """A judge whose own code raises on every case."""

    name, version = "BrokenJudge", 1

    def __init__(self, model: Any) -> None:
        self.model = model

    def evaluate(self, trial: Any, case: Any) -> Score:
        raise RuntimeError("the judge fell over")


class Ours:
    """One of nightgate's: returns the score of the context as it is."""

    name, version = "Ours", 1

    def evaluate(self, trial: Any, case: Any) -> Score:
        score = case.context["score"]
        value = float(score) if isinstance(score, str) else score
        return Score(
            evaluator=self.name,
            version=1,
            status=Status.PASS,
            score=value,
            reason=case.context.get("reason", "graded"),
        )


def _score(**more: Any) -> Score:
    return Score(**{"evaluator": "Garbage", "version": 1, "status": Status.PASS, "reason": "fine"} | more)


def _raised(error: BaseException) -> Any:
    raise error


GARBAGE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "true": lambda: True,
    "a float": lambda: 0.9,
    "a mapping": lambda: {"status": "pass"},
    "text": lambda: "pass",
    "a list with a hole": lambda: [_score(), None],
    "a set": lambda: {1, 2},
    "an unknown status": lambda: _score(status="great"),
    "no reason": lambda: _score(reason=None),
    "a score as text": lambda: _score(score="0.9"),
    "a pass without a status": lambda: _score(status=None),
    "an exception": lambda: _raised(ValueError("boom")),
    "no text in the exception": lambda: _raised(KeyError()),
    "an exit": lambda: _raised(SystemExit(0)),
    "a stop": lambda: _raised(StopIteration()),
    "an interrupt": lambda: _raised(KeyboardInterrupt()),
}
"""Findings that are none; each has to end as an error of the evaluator's."""

ODD: dict[str, Callable[[], Any]] = {
    "true as score": lambda: _score(score=True),
    "a whole number as score": lambda: _score(score=1),
    "a number as label": lambda: _score(label=5),
    "odd details": lambda: _score(
        details={"when": {1, 2}, "what": object(), "nan": float("nan"), "bytes": b"\xff"}
    ),
    "details that are no mapping": lambda: _score(details=["a"]),
    "half a surrogate pair": lambda: _score(reason="half a pair \ud83d"),
    "line breaks": lambda: _score(reason="one\ntwo\x1b[31m\x00"),
    "another evaluator's name": lambda: _score(evaluator="ToolPolicy", version=99),
    "a blame beside a pass": lambda: _score(blame="everybody"),
    "nothing found": list,
}
"""Findings that are odd, and must at least not keep the run from being stored."""


class Returns:
    """Returns what its parameter names."""

    name, version = "Returns", 1

    def __init__(self, what: str) -> None:
        self.make = (GARBAGE | ODD)[what]

    def evaluate(self, trial: Any, case: Any) -> Any:
        return self.make()


class AsyncReturns(Returns):
    """The same, async."""

    async def evaluate(self, trial: Any, case: Any) -> Any:
        return self.make()


class OwnWord:
    """Fails unless everything that the trial holds is about the word of its own case and trial."""

    name, version = "OwnWord", 1

    def evaluate(self, trial: Any, case: Any) -> Score:
        word = case.id
        texts = [
            block["text"] for message in trial.messages for block in message["content"] if "text" in block
        ]
        heard = [
            trial.output,
            *texts,
            *(str(call.arguments) + (call.result or "") for call in trial.tool_calls),
        ]
        strange = [text for text in heard if word not in text]
        right = not strange and len(trial.tool_calls) == 1 and len(trial.messages) == 4
        status = Status.PASS if right else Status.FAIL
        return Score(
            evaluator=self.name, version=1, status=status, reason=f"{word}: {strange or 'its own word only'}"
        )


class OwnSpans(Evaluator):
    """The same for the session that Strands' evaluators read."""

    def evaluate(self, evaluation_case: Any) -> list[EvaluationOutput]:
        text = evaluation_case.actual_trajectory.model_dump_json()
        word = evaluation_case.name
        others = [
            other for other in evaluation_case.metadata["context"]["words"] if other != word and other in text
        ]
        right = not others and text.count(word) >= 4
        return [EvaluationOutput(score=float(right), test_pass=right, reason=f"{word}: found {others}")]


class Loud:
    """Prints, as people's code does."""

    name, version = "Loud", 1

    def evaluate(self, trial: Any, case: Any) -> Score:
        print("a print in an evaluator")  # noqa: T201 - the fault
        sys.stdout.write("and a write\n")
        return Score(evaluator=self.name, version=1, status=Status.PASS, reason="loud")
