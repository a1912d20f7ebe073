"""Skills loaded or not: SkillPolicy.

Owns the reading of skill loads from the message log: which calls ask for a skill, and what became
of each. A load counts when a call of a skill tool named the skill and was answered by a success
that is no refusal. Knows nothing of whether the skill was followed, and nothing of files: a
SKILL.md read with a file tool is no load here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from nightgate.cases import Case
from nightgate.cases.expect import SkillsExpected
from nightgate.evaluators.values import parsed
from nightgate.scores import Score, Status
from nightgate.trials import ToolCall, Trial

_PLUGIN_TOOL = "skills"
"""The tool of the SDK's AgentSkills plugin."""
_SKILL_TOOLS = frozenset(
    {_PLUGIN_TOOL, "skill", "Skill", "load_skill", "activate_skill", "invoke_skill", "use_skill"}
)
_SKILL_KEYS = ("skill_name", "skill", "name")
_NAME = r"""(?:'[^']*'|"[^"]*"|[\w.-]+)"""
_NOT_FOUND = re.compile(
    rf"(?:error\s*:\s*skill_name\s+is\s+required|skill\s+{_NAME}\s+(?:was\s+|is\s+)?not\s+found"
    r"|(?:unknown|unrecognized)\s+skill\b|no\s+such\s+skill\b)[ \t]*[:.]?[^\n]*",
    re.IGNORECASE,
)
"""A refusal that calls itself a success: the SDK's tool answers so for a skill that it does not have."""
_NO_BODY = re.compile(
    rf"(?:(?:launching|loading|activating|loaded|activated)\s+skill"
    rf"|skill\s+{_NAME}?[ \t]*(?:activated|loaded|launched))\b[^\n]*",
    re.IGNORECASE,
)
"""An acknowledgement in one line is not the skill's instructions."""
_BROKE = re.compile(r"\s*error\s*:", re.IGNORECASE)
"""How the SDK begins the result of a tool that raised."""
_REFUSED = re.compile(
    r"cancel|refus|reject|\bden(?:y|ied)\b|\bdeclin|\bforbid|\bblocked\b"
    r"|\bnot (?:allowed|permitted|granted|found)|unknown tool|\bno such\b|confirmation_failed|^guidance:",
    re.IGNORECASE,
)
"""Words of hooks that cancel a call of some other tool, whose own errors look the same."""
_SHOWN = 120
"""Characters of a tool's answer that a finding quotes."""


class Outcome(StrEnum):
    """What became of one call for a skill."""

    LOADED = "loaded"
    """The agent got the instructions: the only outcome whose following can be judged."""
    NO_BODY = "no_body"
    """Loaded, but there was nothing to follow."""
    FAILED = "failed"
    """The tool broke."""
    REJECTED = "rejected"
    """Not found, or cancelled by a rule or a person."""
    NO_RESULT = "no_result"
    """The log ends before the outcome: nobody knows."""

    @property
    def loaded(self) -> bool:
        """Whether the skill counts as loaded."""
        return self in (Outcome.LOADED, Outcome.NO_BODY)


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
        self._tools = frozenset([tools] if isinstance(tools, str) else tools) or _SKILL_TOOLS

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
            arguments: Any = parsed(call.arguments) if call.name in self._tools else None
            if not isinstance(arguments, dict):
                continue
            named = (arguments.get(key) for key in _SKILL_KEYS)
            skill = next((name for name in named if isinstance(name, str) and name), None)
            if skill is not None:
                said = " ".join((call.result or "").split())
                cut = said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"
                yield Invocation(skill=skill, outcome=_outcome(call, skill), said=cut)


def _outcome(call: ToolCall, skill: str) -> Outcome:
    if call.result is None:
        return Outcome.NO_RESULT
    text = call.result.strip()
    if call.status == "error":
        # The plugin's tool makes no errors of its own: what did not raise was cancelled by a hook.
        cancelled = call.name == _PLUGIN_TOOL or _REFUSED.search(text)
        return Outcome.REJECTED if cancelled and not _BROKE.match(text) else Outcome.FAILED
    # The name may hold what the pattern does not expect, so the plugin's own words are looked for too.
    if _NOT_FOUND.fullmatch(text) or text.startswith(f"Skill '{skill}' not found."):
        return Outcome.REJECTED
    return Outcome.NO_BODY if not text or _NO_BODY.fullmatch(text) else Outcome.LOADED


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
