"""From a finished trial to its cells: what each planned evaluator found, or why it could not.

Owns the mapping of endings and failures to statuses and blames (contract, section 2). An agent's
own fault fails every evaluator with a threshold; an infrastructure fault is an error that says
nothing about the agent. Knows no store and no gate.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from nightgate.calls import Role, Scope, scoped
from nightgate.cases import Case
from nightgate.deadlines import DeadlineError, contained, within
from nightgate.errors import BudgetError, ModelCallError
from nightgate.evaluators.registry import Registered
from nightgate.plans import PlannedEvaluator
from nightgate.scores import BadScoreError, Blame, Cell, Score, Status, fold
from nightgate.trials import Ending, Trial

_JUDGE_CONTENT = frozenset({"call_cap"})
"""Model failures that are the judge's own: it answered, but nothing usable."""
CURTAILED = "left out: no outcome of it could change the gate's verdict any more"
_MAX_RAW = 4_000
"""Characters of a judge's reply that an error keeps."""
_CALLS_A_TOOL_CALL = 3
"""Some judges ask once for each tool call of the trial: the cap on their calls grows with them."""


def unjudged(
    trial: Trial, planned: PlannedEvaluator, case: Case, *, reads_trajectory: bool = False
) -> Score | None:
    """The finding that the trial alone decides; None when the evaluator has to look.

    A case that wants a guardrail stop and got one is judged on the guardrail's text.

    Args:
        trial: The finished trial.
        planned: The evaluator as planned.
        case: Its case.
        reads_trajectory: Whether the evaluator looks at calls, which have to be recorded for that.
    """
    wanted_stop = trial.ending is Ending.AGENT_BLOCKED and case.expect.blocked is True
    if trial.ending is Ending.COMPLETED or wanted_stop:
        if trial.recorded or not reads_trajectory:
            return None
        # No call was seen because none could be: neither a pass nor a fail of the agent's.
        return Score(
            evaluator=planned.name,
            version=planned.version,
            status=Status.ERROR,
            blame=Blame.EVALUATOR,
            reason="the trial's trajectory is missing: the target, or a part of it, shows no agent whose "
            "calls could be recorded. Return a strands Agent, or a graph of them, from the factory",
        )
    if planned.name == "BlockedAsExpected" and trial.ending is Ending.AGENT_BLOCKED:
        return None
    reason = f"{trial.ending.value}: {trial.error or 'no further word'}"
    if trial.ending.agent_fault:
        if planned.threshold is None:
            status, blame = Status.NOT_APPLICABLE, Blame.AGENT
        else:
            status, blame = Status.FAIL, Blame.AGENT
    elif trial.ending is Ending.SIMULATOR_ERROR:
        transport = trial.conversation is not None and trial.conversation.transport
        status, blame = Status.ERROR, Blame.INFRA if transport else Blame.SIMULATOR
    elif trial.ending is Ending.INFRA_ERROR:
        status, blame = Status.ERROR, Blame.INFRA
    else:
        status, blame = Status.SKIPPED, Blame.CANCELLED
    return Score(
        evaluator=planned.name,
        version=planned.version,
        status=status,
        blame=blame,
        reason=reason,
        score=0.0 if status is Status.FAIL else None,
    )


def curtailed(trial: Trial, planned: PlannedEvaluator) -> Cell:
    """The cell of a finding that was left out because the verdict no longer hangs on it."""
    score = Score(
        evaluator=planned.name,
        version=planned.version,
        status=Status.SKIPPED,
        blame=Blame.CURTAILED,
        reason=CURTAILED,
    )
    return Cell(
        case_id=trial.key.case_id,
        trial=trial.key.trial,
        score=score,
        judge_model=planned.judge_model,
        judge_fingerprint=planned.judge_fingerprint,
        attempt=trial.attempt,
    )


async def judge(
    trial: Trial, case: Case, planned: PlannedEvaluator, registered: Registered, *, timeout_s: float
) -> Cell | None:
    """One cell of a trial; None when the budget stopped it before it could be found.

    Args:
        trial: The finished trial.
        case: Its case.
        planned: The evaluator as planned.
        registered: The evaluator itself.
        timeout_s: Working time of the judgement, waiting left out.
    """
    began = time.monotonic()
    scope = Scope(
        role=Role.JUDGE,
        run_id=trial.key.run_id,
        suite=trial.key.suite,
        case_id=case.id,
        trial=trial.key.trial,
        evaluator=planned.evaluator,
        repeat=planned.repeat,
        play=trial.attempt,
        limits={"more_calls": _more_calls(registered, trial)},
    )
    needs = bool(getattr(registered.evaluator, "needs_trajectory", False))
    score = unjudged(trial, planned, case, reads_trajectory=needs)
    asked = score is None
    if score is None:
        try:
            with scoped(scope):
                score = await _evaluate(trial, case, planned, registered, scope, timeout_s)
        finally:
            scope.close()
        if score is None:
            return None
    is_judge = planned.kind == "judge"
    return Cell(
        case_id=case.id,
        trial=trial.key.trial,
        score=score,
        judge_model=planned.judge_model,
        judge_fingerprint=planned.judge_fingerprint,
        usage=scope.usage,
        cost_nanousd=scope.cost_nanousd if is_judge else 0,
        latency_ms=round((time.monotonic() - began - scope.waited_s) * 1000, 3) if asked else None,
        attempt=trial.attempt,
        scored_at=datetime.now(UTC),
    )


def _more_calls(registered: Registered, trial: Trial) -> int:
    per_call = getattr(registered.evaluator, "per_call", False)
    return _CALLS_A_TOOL_CALL * len(trial.tool_calls) if per_call else 0


async def _evaluate(
    trial: Trial,
    case: Case,
    planned: PlannedEvaluator,
    registered: Registered,
    scope: Scope,
    timeout_s: float,
) -> Score | None:
    try:
        if registered.quick:
            found = registered.evaluator.evaluate(trial, case)
        else:
            work = asyncio.create_task(_call(registered, trial, case))
            found = await within(work, timeout_s, scope)
    except DeadlineError:
        blame = Blame.INFRA if planned.kind == "judge" else Blame.EVALUATOR
        return _broken(planned, blame, f"no finding within {timeout_s:g} s of working time")
    except Exception as error:  # an evaluator may raise anything; it is typed here
        return _failed(planned, scope, error)
    if isinstance(scope.fatal, ModelCallError | BudgetError):
        # It swallowed the failure of its model and made something up: that is no verdict.
        return _failed(planned, scope, scope.fatal)
    try:
        return _with_reply(_folded(planned, found, trial), scope)
    except Exception as error:  # what came back is the user's too
        return _failed(planned, scope, error)


async def _call(registered: Registered, trial: Trial, case: Case) -> Any:
    evaluate = registered.evaluator.evaluate
    with contained():
        if registered.inline or inspect.iscoroutinefunction(evaluate):
            found = evaluate(trial, case)
        else:
            found = await asyncio.to_thread(evaluate, trial, case)
        return await found if inspect.isawaitable(found) else found


def _failed(planned: PlannedEvaluator, scope: Scope, error: BaseException) -> Score | None:
    """Type a failure: the budget's, the infrastructure's, the judge's or the evaluator's."""
    cause = scope.fatal if isinstance(scope.fatal, ModelCallError | BudgetError) else error
    if isinstance(cause, BudgetError):
        return None
    if isinstance(cause, ModelCallError) and cause.kind not in _JUDGE_CONTENT:
        return _broken(planned, Blame.INFRA, str(cause))
    judged = planned.kind == "judge" or isinstance(error, BadScoreError)
    blame = Blame.JUDGE if judged else Blame.EVALUATOR
    text = str(cause) if isinstance(cause, ModelCallError) else f"{type(error).__name__}: {error}"
    raw = {"raw": scope.last_reply[:_MAX_RAW]} if blame is Blame.JUDGE and scope.last_reply else {}
    return replace(_broken(planned, blame, text), details=raw)


def _with_reply(score: Score, scope: Scope) -> Score:
    """Keep what the judge really said beside an error of its own; of several findings each keeps its part."""
    broken = score.status is Status.ERROR and score.blame is Blame.JUDGE
    if not (broken and scope.last_reply) or "parts" in score.details:
        return score
    return replace(score, details={**score.details, "raw": scope.last_reply[:_MAX_RAW]})


def _folded(planned: PlannedEvaluator, found: Any, trial: Trial) -> Score:
    """Check what came back and make it the cell's one finding, under the planned name."""
    findings: Sequence[Any] = found if isinstance(found, list | tuple) else [found]
    blame = Blame.JUDGE if planned.kind == "judge" else Blame.EVALUATOR
    for finding in findings:
        if not isinstance(finding, Score):
            return _broken(planned, blame, f"returned {type(finding).__name__} instead of a nightgate.Score")
    score = fold(planned.name, planned.version, list(findings), trajectory=bool(trial.messages))
    score = replace(
        score,
        evaluator=planned.name,
        version=planned.version,
        reason=score.reason.strip() or score.status.value,
    )
    if score.status is Status.ERROR and score.blame is None:
        score = replace(score, blame=blame)
    if planned.threshold is None and score.status.judged and score.score is not None:
        # A metric without a threshold is a figure: it is shown, and no gate counts it.
        return replace(score, status=Status.MEASURED, label=score.label or score.status.value)
    return score


def _broken(planned: PlannedEvaluator, blame: Blame, reason: str) -> Score:
    return Score(
        evaluator=planned.name, version=planned.version, status=Status.ERROR, blame=blame, reason=reason
    )
