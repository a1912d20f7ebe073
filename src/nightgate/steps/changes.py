"""Why a stored trial or finding does not stand for the one that is planned now.

Owns the comparison of cases, agents and evaluators with what a run stored, part by part, in words for
people. Whether it stands at all is ``reusing``'s to say. Reads plans and rows, no store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from nightgate.plans import Plan, PlannedCase, PlannedEvaluator, digest
from nightgate.steps.reusing import (
    has_verdict,
    measured,
    same_config,
    same_finding,
    same_question,
    same_trial,
)

SIMULATED_USER = "simulated user"
"""Among the sources of a conversation's fingerprint: the model that plays the user."""

Row = Mapping[str, Any]
Parts = Mapping[str, Any]


class Kind(StrEnum):
    """Kinds of reasons, in the order of report."""

    NOTHING_STORED = "nothing_stored"
    CASE_NEW = "case_new"
    CASE_EDITED = "case_edited"
    MODEL_CHANGED = "model_changed"
    PROMPT_CHANGED = "prompt_changed"
    TOOLS_CHANGED = "tools_changed"
    LIMITS_CHANGED = "limits_changed"
    SOURCE_CHANGED = "source_changed"
    USER_CHANGED = "user_changed"
    AGENT_CHANGED = "agent_changed"
    """Another fingerprint, and the stored plan does not show in which part."""
    MORE_TRIALS = "more_trials"
    INFRASTRUCTURE = "infrastructure"
    EVALUATOR_NEW = "evaluator_new"
    EVALUATOR_VERSION = "evaluator_version"
    JUDGE_CHANGED = "judge_changed"
    EVALUATOR_EDITED = "evaluator_edited"
    QUESTION_EDITED = "question_edited"
    """What the agent is asked and the case hash are as they were; what this evaluator reads is not."""
    NO_VERDICT = "no_verdict"


@dataclass(frozen=True, slots=True)
class Why:
    """A reason, as it is grouped and printed."""

    kind: Kind
    text: str


NOTHING_STORED = Why(Kind.NOTHING_STORED, "no complete run to take from")
_NEW = Why(Kind.CASE_NEW, "case new to that run")
_EDITED = Why(Kind.CASE_EDITED, "case edited")
_PROMPT = Why(Kind.PROMPT_CHANGED, "system prompt changed")
_TOOLS = Why(Kind.TOOLS_CHANGED, "tool or skill schema changed")
_USER = Why(Kind.USER_CHANGED, "simulated user changed")
_AGENT = Why(Kind.AGENT_CHANGED, "agent changed, in a part that the stored plan does not show")
_MORE = Why(Kind.MORE_TRIALS, "more trials asked for")
_UNPLAYED = Why(Kind.INFRASTRUCTURE, "ended by the infrastructure: no record")


class Changes:
    """What differs between a plan and a stored run.

    Args:
        now: The plan.
        before: The stored run's plan.
        talks: Ids of the cases that are conversations.
    """

    def __init__(self, now: Plan, before: Plan, talks: Collection[str]) -> None:
        self._now, self._before, self._talks = now, before, talks
        self._cases = {case.case_id: case for case in before.cases}
        self._evaluators = {planned.name: planned for planned in before.evaluators}
        users = {parts["sources"].get(SIMULATED_USER) for parts in (now.parts, before.parts) if parts} - {
            None
        }
        self._new, self._old = _variants(now.parts, users), _variants(before.parts, users)
        self._agents: dict[tuple[str, str, bool], tuple[Why, ...]] = {}

    def of_trial(self, case: PlannedCase, number: int, row: Row | None) -> tuple[Why, ...]:
        """Why a trial has to be played; all reasons that apply, none if the stored one stands.

        Args:
            case: As planned now.
            number: The trial, from 0.
            row: The stored run's row of it; None: it has none.
        """
        if row is not None and same_trial(row, case):
            return () if measured(row) else (_broken(row),)
        old = self._cases.get(case.case_id)
        if old is None:
            return (_NEW,)
        changed: list[Why] = []
        if old.case_hash != case.case_hash:
            changed.append(_EDITED)
        if old.agent_fingerprint != case.agent_fingerprint:
            changed += self._agent(old.agent_fingerprint, case)
        if changed:
            return tuple(changed)
        return (_MORE if number >= old.trials else _UNPLAYED,)

    def of_finding(self, case: PlannedCase, evaluator: PlannedEvaluator, row: Row | None) -> Why | None:
        """Why a stored trial has to be judged again; None if the stored finding stands.

        Args:
            case: As planned now.
            evaluator: As planned now.
            row: The stored run's row of that cell; None: it has none.
        """
        if row is None:
            return Why(Kind.EVALUATOR_NEW, f"evaluator new: {evaluator.name}")
        old = self._evaluators.get(evaluator.name)
        if same_finding(row, evaluator):
            edited = self._edited(case, evaluator, old)
            no_verdict = Why(Kind.NO_VERDICT, f"ended without a verdict: {evaluator.name}")
            return edited if edited is not None or has_verdict(row) else no_verdict
        version = row["evaluator_version"]
        if version != evaluator.version:
            change = f"{evaluator.name} {version} -> {evaluator.version}"
            return Why(Kind.EVALUATOR_VERSION, f"evaluator version changed: {change}")
        models = (old and old.judge_model, evaluator.judge_model)
        change = f"{models[0]} -> {models[1]}" if models[0] != models[1] else "its prompt, params or script"
        return Why(Kind.JUDGE_CHANGED, f"judge changed: {evaluator.name} ({change})")

    def _edited(
        self, case: PlannedCase, evaluator: PlannedEvaluator, old: PlannedEvaluator | None
    ) -> Why | None:
        """Why a finding by the same version and judge does not stand."""
        name = evaluator.name
        if old is not None and not same_config(evaluator, old):
            unknown = old.config is None and (old.threshold is None) == (evaluator.threshold is None)
            what = "that run does not show its params" if unknown else "its class, params or threshold"
            return Why(Kind.EVALUATOR_EDITED, f"evaluator edited: {name} ({what})")
        then = self._cases.get(case.case_id)
        if then is not None and not same_question(case, then, evaluator.evaluator):
            return Why(Kind.QUESTION_EDITED, f"expected output edited: {name}")
        return None

    def _agent(self, old: str, case: PlannedCase) -> tuple[Why, ...]:
        key = old, case.agent_fingerprint, case.case_id in self._talks
        if key not in self._agents:
            self._agents[key] = tuple(self._compared(*key))
        return self._agents[key]

    def _compared(self, old: str, new: str, talks: bool) -> Iterator[Why]:
        """Which parts of an agent changed.

        A plan shows the parts of its first case. Where those of this case can be derived from them the
        answer is exact; elsewhere what changed in the first case is the likely cause.
        """
        exact = old in self._old and new in self._new
        before = self._old[old] if exact else _without_user(self._before.parts)
        now = self._new[new] if exact else _without_user(self._now.parts)
        found = list(self._parts(before, now)) if before and now else []
        yield from found or (_USER if talks else _AGENT,)

    def _parts(self, before: Parts, now: Parts) -> Iterator[Why]:
        if before["model"] != now["model"]:
            models = self._before.model, self._now.model
            change = f"{models[0]} -> {models[1]}" if models[0] != models[1] else f"the script of {models[1]}"
            yield Why(Kind.MODEL_CHANGED, f"model changed: {change}")
        if before["system_prompt"] != now["system_prompt"]:
            yield _PROMPT
        if before["tools"] != now["tools"]:
            yield _TOOLS
        for name, old, new in _differing(before["limits"], now["limits"]):
            yield Why(Kind.LIMITS_CHANGED, f"limits changed: {name} {_or_none(old)} -> {_or_none(new)}")
        for name, old, new in _differing(before["sources"], now["sources"]):
            if name == SIMULATED_USER:
                yield _USER
            else:
                word = "named anew" if old is None else "no longer named" if new is None else "changed"
                yield Why(Kind.SOURCE_CHANGED, f"source {word}: {name}")


def _broken(row: Row) -> Why:
    return Why(Kind.INFRASTRUCTURE, f"ended by the infrastructure: {row['ending']}")


def _differing(before: Parts, now: Parts) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys((*before, *now)):
        if before.get(name) != now.get(name):
            yield name, before.get(name), now.get(name)


def _or_none(value: Any) -> str:
    return "none" if value is None else str(value)


def _without_user(parts: Parts) -> dict[str, Any]:
    if not parts:
        return {}
    sources = {name: value for name, value in parts["sources"].items() if name != SIMULATED_USER}
    return {**parts, "sources": sources}


def _variants(parts: Parts, users: Iterable[str]) -> dict[str, Parts]:
    """The parts of the plan's agents that can be derived from the first case's, by digest.

    A conversation's agent is that of a single question and the simulated user besides.
    """
    if not parts:
        return {}
    bare = _without_user(parts)
    talking = [{**bare, "sources": {**bare["sources"], SIMULATED_USER: user}} for user in users]
    return {digest(variant): variant for variant in (bare, *talking)}
