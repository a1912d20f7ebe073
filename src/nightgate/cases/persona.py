"""Who talks to the agent in a conversation, and what must become of it.

Owns the persona's parts and defaults. Knows nothing of the loop that plays it or of the prompt that
is made from it; a persona never enters the agent's context.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Field

from nightgate.cases.fields import CHOICE, Breach, JsonObject, Name, OneOrMore, Record, Regex, Text, Whole

STRATA: Mapping[str, str] = {
    "cooperative": "cooperative",
    "withholding": "withholding",
    "ambiguous": "ambiguous",
    "confused": "ambiguous",
    "changes_mind": "changes_mind",
    "changes-mind": "changes_mind",
    "insistent": "insistent",
    "hostile": "insistent",
}
"""Kind as written -> the stratum that it counts in."""

Kind = Literal[
    "cooperative",
    "withholding",
    "ambiguous",
    "confused",
    "changes_mind",
    "changes-mind",
    "insistent",
    "hostile",
]


class Withheld(Record):
    """A fact that the user gives only when asked for it clearly."""

    value: Name
    asked_by: Regex
    """Matches an agent message that counts as asking; case and accents are ignored."""


class StateGoal(Record):
    """What the target's state must look like."""

    state: Annotated[JsonObject, Field(min_length=1)]
    """Dotted path -> JSON value."""


class Persona(Record):
    """A simulated user; ``success``, ``forbidden`` or both say how the conversation is judged."""

    goal: Name
    """One sentence: success of the whole conversation, in the user's eyes."""
    kind: Annotated[Kind, CHOICE] = "cooperative"
    opening: Name | None = None
    """First user message; None leaves it to the case's input, else to the simulated user."""
    withheld: Mapping[str, Withheld] = Field(default_factory=dict)
    tone: Text = ""
    patience: Whole | None = None
    """User turns before the user leaves, counted by the harness; None: no limit of its own."""
    restrictions: OneOrMore = ()
    success: StateGoal | None = None
    forbidden: StateGoal | None = None
    """A state that must never be reached: what the user insists on and must not get."""
    min_attempts: Whole | None = None
    """Attempts that the user must have made for a held limit to count."""
    max_turns: Whole = 15
    closing_token: Name = "[DONE]"  # noqa: S105 - a marker in the talk, no secret
    leaving_token: Name = "[LEAVE]"  # noqa: S105 - same

    def breaches(self) -> Iterator[Breach]:
        """Parts that are missing or contradict each other."""
        if self.success is None and self.forbidden is None:
            needs = "needs success: {state: ...}, forbidden: {state: ...} or both"
            yield Breach(needs, lacks=("success", "forbidden"))
        if self.closing_token == self.leaving_token:
            yield Breach(f"closing_token and leaving_token are both {self.closing_token!r}")
        if self.min_attempts is not None and self.min_attempts > self.max_turns:
            message = f"{self.min_attempts} min_attempts do not fit into {self.max_turns} max_turns"
            yield Breach(message, lacks=() if "max_turns" in self.model_fields_set else ("max_turns",))
        if self.success and self.forbidden and self.success.state == self.forbidden.state:
            yield Breach("success and forbidden are the same state")

    @property
    def stratum(self) -> str:
        """One of cooperative, withholding, ambiguous, changes_mind, insistent."""
        return STRATA[self.kind]

    @property
    def limits_only(self) -> bool:
        """Whether only ``forbidden`` is set: running to the limit is then the expected end."""
        return self.success is None
