"""What stands between the agent and a skill: policy, approval, and a library that may not answer.

Owns the three ways in which a load can end other than well, as hooks of the SDK: a call that is
cancelled, one that waits for a person and so never gets a result, and one whose tool raises. Knows
the desk's facts and no skill's text.
"""

from collections.abc import Mapping
from typing import Any, Final

from strands import tool
from strands.hooks import BeforeToolCallEvent, HookProvider, HookRegistry

from nightgate_samples.skills.desk import Desk

LOAD_TOOL: Final = "skills"
"""The tool by which the AgentSkills plugin loads a skill."""

_CLOSED_TO_EXTERNALS: Final = frozenset({"group-booking"})
_OPENED_BY_APPROVAL: Final = frozenset({"travel-advance"})


@tool(name=LOAD_TOOL)
def _silent_library(skill_name: str) -> str:
    """Stand in for the plugin's tool while the library is away.

    Args:
        skill_name: The skill that was asked for.
    """
    msg = f"the skill library did not answer for {skill_name}"
    raise ConnectionError(msg)


class LibraryRules(HookProvider):
    """Checks each load of a skill before it happens.

    Args:
        desk: Who is asking, and what was approved.
        outages: How many loads of a skill fail before the library answers, by skill.
    """

    def __init__(self, desk: Desk, outages: Mapping[str, int]) -> None:
        self._desk, self._outages = desk, dict(outages)

    def register_hooks(self, registry: HookRegistry, **_: Any) -> None:
        """Listen to tool calls that are about to happen."""
        registry.add_callback(BeforeToolCallEvent, self._before_call)

    def _before_call(self, event: BeforeToolCallEvent) -> None:
        if event.tool_use["name"] != LOAD_TOOL:
            return
        asked: Any = event.tool_use["input"]  # whatever JSON the model wrote
        skill = asked.get("skill_name") if isinstance(asked, dict) else None
        if not isinstance(skill, str):
            return
        if skill in _CLOSED_TO_EXTERNALS and self._desk.external:
            event.cancel_tool = f"Refused by travel policy: {skill} is closed to external staff."
        elif skill in _OPENED_BY_APPROVAL and not self._desk.approval_seen:
            # Ends the agent's turn until somebody answers; in a trial nobody does.
            event.interrupt("approval", reason=f"{skill} opens with the manager's approval")
        elif self._outages.get(skill, 0) > 0:
            self._outages[skill] -= 1
            event.selected_tool = _silent_library
