"""From a name in a suite to the object that judges.

Owns the construction of every evaluator of a run and what planning has to know of it. A new kind
of our own is one line in ``_CODE``; everything else comes through ``use:`` or is Strands'.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from nightgate.cases import EvaluatorConfig, Suite
from nightgate.errors import InputError
from nightgate.evaluators.answer import AnswerPolicy
from nightgate.evaluators.arguments import ArgumentPolicy
from nightgate.evaluators.citations import CitesSource
from nightgate.evaluators.conversation import (
    Elicitation,
    GoalCompletion,
    LimitHeld,
    PerceivedOnly,
    ReAsks,
    TurnEfficiency,
    TurnsToResolve,
)
from nightgate.evaluators.conversation_judges import Contradictions, TurnQuality
from nightgate.evaluators.criterion import SYSTEM, Criterion
from nightgate.evaluators.skills import SkillPolicy
from nightgate.evaluators.state import BlockedAsExpected, StateReached
from nightgate.evaluators.strands import (
    StrandsEvaluator,
    import_strands_evals,
    is_strands,
    root_logger_kept,
)
from nightgate.evaluators.tools import ToolPolicy
from nightgate.imports import load_object
from nightgate.plans import EvaluatorFacts, digest
from nightgate.ports import Evaluator, JudgeModel

_CODE: Mapping[str, Callable[..., Evaluator]] = {
    "ToolPolicy": ToolPolicy,
    "ArgumentPolicy": ArgumentPolicy,
    "CitesSource": CitesSource,
    "AnswerPolicy": AnswerPolicy,
    "StateReached": StateReached,
    "SkillPolicy": SkillPolicy,
    "BlockedAsExpected": BlockedAsExpected,
    "GoalCompletion": GoalCompletion,
    "LimitHeld": LimitHeld,
    "TurnsToResolve": TurnsToResolve,
    "TurnEfficiency": TurnEfficiency,
    "Elicitation": Elicitation,
    "ReAsks": ReAsks,
    "PerceivedOnly": PerceivedOnly,
}

_JUDGES = {"Contradictions": Contradictions, "TurnQuality": TurnQuality}
"""Judges of ours that suite.yaml names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """An evaluator ready to judge, with what planning needs."""

    evaluator: Evaluator
    facts: EvaluatorFacts
    inline: bool
    """Whether ``evaluate`` may be called on the loop: ours and async ones; others may block."""
    quick: bool = False
    """Our own code evaluators: microseconds of plain code, no task and no deadline needed."""


def build(
    suite: Suite, names: Iterable[str], judge: JudgeModel | None, folders: Sequence[Path]
) -> dict[str, Registered]:
    """Build the evaluators of a run.

    Args:
        suite: For params and ``use:``.
        names: Evaluators that some case plans.
        judge: The pinned judge; None when the suite has none.
        folders: Where modules named by ``use:`` are looked up first.

    Raises:
        InputError: If one cannot be built: unknown, not importable, wrong params, no judge.
    """
    return {name: _built(name, suite.evaluators.get(name), judge, folders) for name in names}


def _built(
    name: str, config: EvaluatorConfig | None, judge: JudgeModel | None, folders: Sequence[Path]
) -> Registered:
    registered = _build(name, config, judge, folders)
    return replace(registered, facts=replace(registered.facts, config=_config_digest(config)))


def _config_digest(config: EvaluatorConfig | None) -> str:
    """What suite.yaml says of an evaluator that another finding could come of; narrowing is none of it."""
    use, params = (config.use, config.params) if config is not None else (None, None)
    return digest({"use": use, "params": dict(params or {})})


def _build(
    name: str, config: EvaluatorConfig | None, judge: JudgeModel | None, folders: Sequence[Path]
) -> Registered:
    params = dict(config.params or {}) if config is not None else {}
    if config is not None and config.use is not None:
        with root_logger_kept():
            found = load_object(config.use, folders, what=f"evaluators.{name}.use")
        return _custom(name, found, params, judge)
    if name in _CODE:
        evaluator = _construct(name, _CODE[name], params)
        facts = EvaluatorFacts(version=evaluator.version, kind="code")
        return Registered(evaluator=evaluator, facts=facts, inline=True, quick=True)
    if name.startswith("Criterion:"):
        pinned = _pinned(name, judge)
        criterion = _construct(name, partial(Criterion, name.removeprefix("Criterion:"), pinned), params)
        return Registered(
            evaluator=criterion,
            facts=_judge_facts(name, Criterion.version, pinned, {**params, "prompt": SYSTEM}),
            inline=True,
        )
    if name in _JUDGES:
        pinned = _pinned(name, judge)
        made = _construct(name, partial(_JUDGES[name], pinned), params)
        identity = {**params, "prompt": _JUDGES[name].system}
        return Registered(
            evaluator=made, facts=_judge_facts(name, made.version, pinned, identity), inline=True
        )
    found = getattr(import_strands_evals(), name, None)
    if found is None or not is_strands(found):
        msg = f"evaluators.{name}: no such evaluator here or in Strands Evals"
        raise InputError(msg)
    return _custom(name, found, params, judge)


def _custom(name: str, found: Any, params: dict[str, Any], judge: JudgeModel | None) -> Registered:
    """A Strands evaluator or one of the user's own, by class or by factory function."""
    if not callable(found):
        msg = f"evaluators.{name}: {found!r} is no class or function that makes an evaluator"
        raise InputError(msg)
    takes_model = _takes_model(found)
    pinned = _pinned(name, judge) if takes_model and "model" not in params else None
    if takes_model and "model" in params:
        msg = f"evaluators.{name}.params.model: a judge's model is the suite's `judge`, not a parameter"
        raise InputError(msg)
    arguments = {**params, "model": pinned.model} if pinned is not None else params
    made = _construct(name, found, arguments)
    asks = is_strands(type(made)) and hasattr(made, "model")
    if asks and (pinned is None or made.model is not arguments["model"]):
        msg = (
            f"evaluators.{name}: {type(made).__name__} would ask a model that the suite does not pin: "
            "let its __init__ take `model` and hand it on"
        )
        raise InputError(msg)
    evaluator = StrandsEvaluator(name, made) if is_strands(type(made)) else made
    version = getattr(evaluator, "version", None)
    if not isinstance(version, int) or not callable(getattr(evaluator, "evaluate", None)):
        msg = (
            f"evaluators.{name}: {type(made).__name__} is no evaluator: it needs `name`, an integer "
            "`version` and `evaluate(trial, case)`"
        )
        raise InputError(msg)
    if pinned is not None:
        facts = _judge_facts(name, version, pinned, {**params, **_prompts(made)})
    else:
        facts = EvaluatorFacts(version=version, kind="code")
    return Registered(evaluator=evaluator, facts=facts, inline=isinstance(evaluator, StrandsEvaluator))


def _takes_model(found: Any) -> bool:
    """Whether ``model`` can be handed in, also where a subclass hands its ``**kwargs`` on."""
    makers = [vars(base).get("__init__") for base in found.__mro__] if inspect.isclass(found) else [found]
    for maker in filter(None, makers):
        try:
            parameters = inspect.signature(maker).parameters
        except ValueError:  # built-in: it has none that could be seen
            return False
        if "model" in parameters:
            return True
        if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values()):
            return False
    return False


def _construct(name: str, found: Any, params: Mapping[str, Any]) -> Any:
    try:
        return found(**params)
    except InputError:
        raise
    except Exception as error:  # a user's class; its constructor may raise anything
        shown = {key: value for key, value in params.items() if key != "model"}
        msg = f"evaluators.{name}: cannot be built with params {shown}: {type(error).__name__}: {error}"
        raise InputError(msg) from error


def _pinned(name: str, judge: JudgeModel | None) -> JudgeModel:
    if judge is None:
        msg = (
            f"evaluators.{name} asks a judge and the suite pins none: "
            "set `judge:` in suite.yaml or pass --judge"
        )
        raise InputError(msg)
    return judge


def _prompts(made: Any) -> dict[str, str]:
    """The texts that make a judge what it is, where the evaluator shows them."""
    shown = {key: getattr(made, key, None) for key in ("system_prompt", "reference_system_prompt", "rubric")}
    return {key: value for key, value in shown.items() if isinstance(value, str)}


def _judge_facts(name: str, version: int, judge: JudgeModel, identity: Mapping[str, Any]) -> EvaluatorFacts:
    fingerprint = digest(
        {"judge": judge.fingerprint, "evaluator": name, "version": version, "identity": dict(identity)}
    )
    return EvaluatorFacts(version=version, kind="judge", fingerprint=fingerprint)
