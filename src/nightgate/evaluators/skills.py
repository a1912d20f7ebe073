"""Skills loaded or not: SkillPolicy.

Owns the verdict on a trial's skill loads and the evidence beside it. A load counts when a call of a
skill tool named the skill and brought its instructions, or the tool's word that it was loaded; what
an answer says is read in ``loads``. Knows nothing of whether the skill was followed, and nothing of files: a
SKILL.md read with a file tool is no load here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nightgate.cases import Case
from nightgate.cases.expect import SkillsExpected
from nightgate.evaluators.loads import SKILL_TOOLS, Outcome, outcome_of, skill_of
from nightgate.evaluators.values import parsed
from nightgate.scores import Score, Status
from nightgate.trials import Trial

_SHOWN = 120
"""Characters of a tool's answer that a finding quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call for one skill."""

    skill: str
    outcome: Outcome
    said: str
    """The tool's answer, in one line and cut."""

    def as_dict(self) -> dict[str, Any]:
        """Its entry in a score's details."""
        return {
            "skill": self.skill,
            "outcome": self.outcome.value,
            "judgeable": self.outcome is Outcome.LOADED,
        }

    @property
    def shown(self) -> str:
        """What a reader has to know of it."""
        quoted = not self.outcome.loaded and self.said
        return f"{self.skill} {self.outcome.value}" + (f" ({self.said})" if quoted else "")


class SkillPolicy:
    """Pass if each mandatory skill was loaded with success and no unwanted one was.

    Args:
        tools: Names of the tools that load a skill, where the agent's differ from the usual ones.
    """

    name: ClassVar[str] = "SkillPolicy"
    version: ClassVar[int] = 2
    needs_trajectory: ClassVar[bool] = True

    def __init__(self, tools: str | tuple[str, ...] | list[str] = ()) -> None:
        self._tools = frozenset([tools] if isinstance(tools, str) else tools) or SKILL_TOOLS

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the loads."""
        want = case.expect.skills
        invocations = tuple(self.invocations(trial))
        asked = dict.fromkeys(invocation.skill for invocation in invocations)
        loads = dict.fromkeys(found.skill for found in invocations if found.outcome.loaded)
        broken = [
            f"{skill} was asked for but did not load" if skill in asked else f"{skill} was never loaded"
            for skill in want.loaded
            if skill not in loads
        ]
        broken += [f"{skill} was loaded" for skill in want.not_loaded if skill in loads]
        loaded = ", ".join(loads) or "no skill"
        details: dict[str, Any] = {"skills": _evidence(want, loads, invocations)}
        if broken:
            details |= {"expected": _expected(want), "observed": _observed(invocations)}
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken) if broken else f"loaded {loaded}, as the case wants",
            details=details,
        )

    def invocations(self, trial: Trial) -> Iterator[Invocation]:
        """Every call that names a skill, in order, with what became of it."""
        for call in trial.tool_calls:
            skill = skill_of(call.name, parsed(call.arguments), self._tools)
            if skill is not None:
                said = " ".join((call.result or "").split())
                cut = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
                yield Invocation(
                    skill=skill, outcome=outcome_of(call.name, skill, call.result, call.status), said=cut
                )


def _evidence(
    want: SkillsExpected, loads: dict[str, None], invocations: Sequence[Invocation]
) -> dict[str, Any]:
    """What the two coverages of a run's skills are counted from."""
    expected = list(dict.fromkeys(want.loaded))
    return {
        "expected": expected,
        "observed": [skill for skill in expected if skill in loads],
        "invocations": [invocation.as_dict() for invocation in invocations],
    }


def _expected(want: SkillsExpected) -> str:
    parts = [f"loaded: {', '.join(want.loaded)}"] if want.loaded else []
    parts += [f"not loaded: {', '.join(want.not_loaded)}"] if want.not_loaded else []
    return "; ".join(parts)


def _observed(invocations: Sequence[Invocation]) -> str:
    return "; ".join(invocation.shown for invocation in invocations) or "no skill was asked for"
