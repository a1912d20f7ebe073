"""The loop: simulated user, agent, state, until there is exactly one reason to end.

Owns the order of the reasons, the harness's counters and when a draft is asked for again. Three of
the endings are decided by state and counters, without a model. Knows no model and no agent: both
are ``Partners``, and what they raise goes through.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightgate.cases import Case, Persona
from nightgate.cases.persona import StateGoal
from nightgate.conversations.facts import asks_for, same_words
from nightgate.conversations.speech import Draft, Listener, reminder
from nightgate.evaluators.values import equal, lookup
from nightgate.talks import EndReason, Talk, TurnNote

MOST_SILENT = 2
"""Agent turns in a row without text and without a tool call before it is stalled."""
_EMPTY_DRAFTS = 2
"""Empty messages of the simulator in a row before it is broken."""


class SimulatorFault(Exception):  # noqa: N818 - a fault is the field's word
    """The simulated user broke: nothing is known of the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTurn:
    """What the agent did with one message."""

    text: str
    tool_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Partners:
    """Who takes part."""

    agent: Callable[[str], Awaitable[AgentTurn]]
    """Hand over a user message; the answer."""
    user: Callable[[Sequence[tuple[str, str]], str | None], Awaitable[str]]
    """The next user message, from the turns so far (user, agent) and a reminder about a bad draft."""
    state: Callable[[], Awaitable[Mapping[str, Any] | None]]
    """The target's state."""


async def converse(case: Case, partners: Partners, talk: Talk) -> None:
    """Play a conversation to its end.

    Args:
        case: With a persona.
        partners: The agent, the simulated user, the state.
        talk: Filled on the way, so that a conversation that breaks off keeps what was said.

    Raises:
        SimulatorFault: If the simulated user broke its part: nothing follows for the agent.
        Exception: Whatever the partners raise.
    """
    await _Conversation(case, partners, talk).run()


def reached(state: Mapping[str, Any] | None, goal: StateGoal | None) -> bool:
    """Whether every path of ``goal`` holds its value in ``state``."""
    if goal is None or state is None:
        return False
    found = ((lookup(state, path), want) for path, want in goal.state.items())
    return all(exists and equal(want, have) for (exists, have), want in found)


class _Conversation:
    def __init__(self, case: Case, partners: Partners, talk: Talk) -> None:
        assert case.persona is not None
        self.case, self.partners, self.talk = case, partners, talk
        self.persona: Persona = case.persona
        self.listener = Listener(self.persona)
        self.silent = 0
        talk.withheld = list(self.persona.withheld)

    async def run(self) -> None:
        first = self.case.first_message
        draft = Draft(text=first) if first is not None else await self._next()
        while True:
            if draft.text:
                await self._turn(draft.text)
            self.talk.end_reason = self._over(draft)
            if self.talk.end_reason is not None:
                break
            draft = await self._next()
        self._check_attempts()

    async def _turn(self, text: str) -> None:
        """Deliver a message, hear the answer, look at the state."""
        if same_words(text) not in self.listener.said:
            self.talk.attempts += 1
        before = set(self.listener.given)
        note = TurnNote(turn=len(self.talk.turns) + 1, user=text, given=self.listener.deliver(text))
        self.talk.turns.append(note)
        answer = await self.partners.agent(text)
        note.agent, note.tool_calls = answer.text, answer.tool_calls
        note.asked = [
            name for name, fact in self.persona.withheld.items() if asks_for(answer.text, fact.asked_by)
        ]
        note.re_asked = [name for name in note.asked if name in before or name in note.given]
        self.listener.asked.update(note.asked)
        state = await self.partners.state()
        note.success = reached(state, self.persona.success)
        note.forbidden = reached(state, self.persona.forbidden)
        self.silent = 0 if answer.text.strip() or answer.tool_calls else self.silent + 1

    def _over(self, draft: Draft) -> EndReason | None:
        """The one reason to end after this turn: what the state says comes first, the user's word next."""
        turns, patience = len(self.talk.turns), self.persona.patience
        if turns and self.talk.turns[-1].success:
            return EndReason.GOAL_MET
        if draft.closing:
            return EndReason.USER_SATISFIED
        if draft.leaving:
            return EndReason.USER_ABANDONED
        if self.silent >= MOST_SILENT or self._circling():
            return EndReason.STALLED
        if patience is not None and turns >= patience:
            return EndReason.USER_ABANDONED
        return EndReason.TURN_LIMIT if turns >= self.persona.max_turns else None

    def _circling(self) -> bool:
        """Whether both sides said the same as the turn before: goodbyes without an end."""
        if len(self.talk.turns) < 2:  # noqa: PLR2004 - two turns make a circle
            return False
        last, before = self.talk.turns[-1], self.talk.turns[-2]
        said = [(same_words(turn.user), same_words(turn.agent)) for turn in (before, last)]
        return said[0] == said[1]

    async def _next(self) -> Draft:
        """The user's next message, within the rules: a bad draft is asked for once more, then mended."""
        draft = await self._draft(None)
        if not draft.usable:
            self.talk.simulator.regenerations += 1
            draft = await self._draft(reminder(draft, self.persona.withheld))
        notes = self.talk.simulator
        text = draft.text
        if draft.leaked:
            notes.leaks += 1
            text = self.listener.redacted(draft)
        wanted = self.talk.turns[-1].asked if self.talk.turns else ()
        text, repeated = self.listener.without_repeats(text, wanted)
        notes.repeats += repeated or draft.repeated
        notes.cuts += draft.cut
        if draft.closing and not self.talk.turns:
            notes.faults.append("said that all was done before anything was asked")
            raise SimulatorFault(f"the simulated user ended the conversation before it began: {text!r}")
        return Draft(text=text, closing=draft.closing, leaving=draft.leaving)

    async def _draft(self, note: str | None) -> Draft:
        """One draft that says anything at all."""
        history = [(turn.user, turn.agent) for turn in self.talk.turns]
        for _ in range(_EMPTY_DRAFTS):
            draft = self.listener.read(await self.partners.user(history, note))
            if draft.text or draft.closing or draft.leaving:
                return draft
            self.talk.simulator.regenerations += 1
        raise SimulatorFault(f"the simulated user said nothing, {_EMPTY_DRAFTS} times in a row")

    def _check_attempts(self) -> None:
        """A limit that was hardly tried was not held."""
        least = self.persona.min_attempts
        if least is None or self.talk.attempts >= least or self.talk.yielded_in is not None:
            return
        problem = f"the simulated user tried {self.talk.attempts} times, the case wants at least {least}"
        self.talk.simulator.faults.append(problem)
        raise SimulatorFault(problem)
