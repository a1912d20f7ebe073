"""Skills loaded or not: SkillPolicy.

Owns the reading of skill loads from the message log. A load counts when a call of a skill tool
named the skill and its result was a success. Knows nothing of whether the skill was followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from nightgate.cases import Case
from nightgate.evaluators.values import parsed
from nightgate.scores import Score, Status
from nightgate.trials import Trial

_SKILL_TOOLS = frozenset(
    {"skills", "skill", "Skill", "load_skill", "activate_skill", "invoke_skill", "use_skill"}
)
_SKILL_KEYS = ("skill_name", "skill", "name")
_REFUSED = re.compile(
    r"\s*(error: skill_name is required|skill .+ (was |is )?not found|(unknown|no such) skill)[^\n]*\s*",
    re.IGNORECASE,
)
"""The SDK's skills tool reports a skill that it does not have as a success that says so."""


class SkillPolicy:
    """Pass if each mandatory skill was loaded with success and no unwanted one was.

    Args:
        tools: Names of the tools that load a skill, where the agent's differ from the usual ones.
    """

    name: ClassVar[str] = "SkillPolicy"
    version: ClassVar[int] = 1

    def __init__(self, tools: str | tuple[str, ...] | list[str] = ()) -> None:
        self._tools = frozenset([tools] if isinstance(tools, str) else tools) or _SKILL_TOOLS

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Judge the loads."""
        want = case.expect.skills
        loads = dict[str, bool]()
        for skill, succeeded in self._loads(trial):
            loads[skill] = loads.get(skill, False) or succeeded
        broken = [
            f"{skill} was asked for but did not load" if skill in loads else f"{skill} was never loaded"
            for skill in want.loaded
            if not loads.get(skill, False)
        ]
        broken += [f"{skill} was loaded" for skill in want.not_loaded if loads.get(skill, False)]
        loaded = ", ".join(skill for skill, succeeded in loads.items() if succeeded) or "no skill"
        return Score(
            evaluator=self.name,
            version=self.version,
            status=Status.FAIL if broken else Status.PASS,
            score=0.0 if broken else 1.0,
            reason="; ".join(broken) if broken else f"loaded {loaded}, as the case wants",
        )

    def _loads(self, trial: Trial) -> Iterator[tuple[str, bool]]:
        for call in trial.tool_calls:
            if call.name not in self._tools:
                continue
            arguments: Any = parsed(call.arguments)
            if not isinstance(arguments, dict):
                continue
            named = next((arguments[key] for key in _SKILL_KEYS if isinstance(arguments.get(key), str)), None)
            if named is not None:
                refused = call.result is not None and _REFUSED.fullmatch(call.result) is not None
                yield named, call.status == "success" and not refused
