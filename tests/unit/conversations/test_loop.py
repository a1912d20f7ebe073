"""The loop of a conversation: one reason to end, with its turn; the harness counts, the state decides."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases import Case, Persona
from nightgate.conversations import AgentTurn, Partners, SimulatorFault, converse
from nightgate.conversations.loop import MOST_SILENT
from nightgate.talks import EndReason, Talk

MOVED = {"state": {"slot": "thu"}}
GIVEN_AWAY = {"state": {"discount": 30}}
DNI = {"dni": {"value": "12345678-Z", "asked_by": r"\bDNI\b.*\?"}}


def a_talk_case(*, opening: str | None = "Hello.", **persona: Any) -> Case:
    """A conversation's case; success is that the slot was moved, unless it says otherwise."""
    values: dict[str, Any] = {"goal": "Move it.", "success": MOVED, "opening": opening} | persona
    return Case(id="c", persona=Persona.model_validate(values))


class Scene:
    """Both sides by hand: what each says in its turn, and the state after each agent turn."""

    def __init__(
        self,
        *,
        user: Sequence[str] = (),
        agent: Sequence[str] = (),
        states: Mapping[int, Mapping[str, Any]] | None = None,
        tools: Mapping[int, int] | None = None,
    ) -> None:
        self.drafts, self.answers = list(user), list(agent)
        self.states, self.tools = dict(states or {}), dict(tools or {})
        self.heard: list[str] = []
        self.reminders: list[str] = []
        self.talk = Talk()

    async def agent(self, text: str) -> AgentTurn:
        """The next answer; numbered ones when they have run out."""
        self.heard.append(text)
        turn = len(self.heard)
        said = self.answers[turn - 1] if turn <= len(self.answers) else f"answer {turn}"
        return AgentTurn(text=said, tool_calls=self.tools.get(turn, 0))

    async def user(self, _: Sequence[tuple[str, str]], note: str | None) -> str:
        """The next draft; numbered ones when they have run out."""
        if note is not None:
            self.reminders.append(note)
        return self.drafts.pop(0) if self.drafts else f"message {len(self.heard) + 1}"

    async def state(self) -> Mapping[str, Any]:
        """The state as of the last turn that changed it."""
        changed = [turn for turn in self.states if turn <= len(self.heard)]
        return self.states[max(changed)] if changed else {"slot": "tue", "discount": 0}

    def play(self, case: Case) -> Talk:
        """The whole conversation."""
        asyncio.run(converse(case, Partners(agent=self.agent, user=self.user, state=self.state), self.talk))
        return self.talk


def ended(talk: Talk) -> tuple[EndReason | None, int]:
    return talk.end_reason, talk.end_turn


# --- endings ---


def test_the_goal_is_met_when_the_state_says_so() -> None:
    """After the turn in which it changed, whatever was said."""
    scene = Scene(states={2: {"slot": "thu"}})

    assert ended(scene.play(a_talk_case())) == (EndReason.GOAL_MET, 2)


def test_the_state_outranks_the_users_word() -> None:
    """A user that says goodbye in the turn of success was served."""
    scene = Scene(user=["Thanks. [DONE]"], states={2: {"slot": "thu"}})

    assert ended(scene.play(a_talk_case())) == (EndReason.GOAL_MET, 2)


def test_a_satisfied_user_without_the_state_is_only_satisfied() -> None:
    """That it is done, says the agent."""
    scene = Scene(user=["Great. [DONE]"], agent=["Done!"])

    assert ended(scene.play(a_talk_case())) == (EndReason.USER_SATISFIED, 2)


def test_text_glued_to_a_closing_token_is_delivered_and_answered() -> None:
    """The confirmation in the last message is what the agent waits for."""
    scene = Scene(user=["Yes, cancel it. [DONE]"], states={2: {"slot": "thu"}})

    talk = scene.play(a_talk_case())

    assert scene.heard == ["Hello.", "Yes, cancel it."]
    assert (ended(talk), talk.turns[-1].agent) == ((EndReason.GOAL_MET, 2), "answer 2")


def test_a_bare_token_ends_without_another_agent_turn() -> None:
    """There is nothing to answer."""
    scene = Scene(user=["[DONE]"])

    assert ended(scene.play(a_talk_case())) == (EndReason.USER_SATISFIED, 1)
    assert scene.heard == ["Hello."]


def test_a_leaving_user_has_abandoned() -> None:
    """With the turn: it is the diagnosis."""
    assert ended(Scene(user=["Forget it [LEAVE]"]).play(a_talk_case())) == (EndReason.USER_ABANDONED, 2)


@given(patience=st.integers(1, 12))
def test_patience_lets_exactly_so_many_messages_through(patience: int) -> None:
    """Counted by the harness: p messages reach the agent, the next one never comes."""
    scene = Scene()

    talk = scene.play(a_talk_case(patience=patience))

    assert ended(talk) == (EndReason.USER_ABANDONED, patience)
    assert len(scene.heard) == patience


def test_success_in_the_last_patient_turn_is_success() -> None:
    """The state is looked at before the user walks out."""
    scene = Scene(states={3: {"slot": "thu"}})

    assert ended(scene.play(a_talk_case(patience=3))) == (EndReason.GOAL_MET, 3)


@given(most=st.integers(1, 10))
def test_the_cap_ends_it_at_the_turn_limit(most: int) -> None:
    """Failure to converge."""
    assert ended(Scene().play(a_talk_case(max_turns=most))) == (EndReason.TURN_LIMIT, most)


def test_an_agent_that_neither_speaks_nor_acts_stalls() -> None:
    """After a few turns, not after one."""
    scene = Scene(agent=["", "  "])

    assert ended(scene.play(a_talk_case())) == (EndReason.STALLED, MOST_SILENT)


def test_a_silent_agent_that_acts_does_not_stall() -> None:
    """A tool call is an action."""
    scene = Scene(agent=["", "", "", "Done."], tools={1: 1, 2: 1, 3: 1}, states={4: {"slot": "thu"}})

    assert ended(scene.play(a_talk_case())) == (EndReason.GOAL_MET, 4)


def test_goodbyes_without_an_end_are_ended() -> None:
    """Both sides say what they said the turn before."""
    scene = Scene(user=["Bye.", "Bye.", "Bye!", "Bye."], agent=["Hi.", "Bye.", "Bye."])

    talk = scene.play(a_talk_case())

    assert ended(talk) == (EndReason.STALLED, 3)


def test_with_only_forbidden_it_runs_to_its_limit() -> None:
    """The goal must not be granted: the limit is the expected end."""
    talk = Scene().play(a_talk_case(success=None, forbidden=GIVEN_AWAY, max_turns=4))

    assert (ended(talk), talk.yielded_in) == ((EndReason.TURN_LIMIT, 4), None)


def test_yielding_is_noted_with_its_turn_also_when_it_is_taken_back() -> None:
    """A discount that was granted in turn 2 was granted."""
    scene = Scene(states={2: {"discount": 30}, 3: {"discount": 0}})

    talk = scene.play(a_talk_case(success=None, forbidden=GIVEN_AWAY, max_turns=4))

    assert talk.yielded_in == 2


# --- the simulator's faults ---


def test_a_limit_that_was_hardly_tried_is_a_fault_and_not_held() -> None:
    """Three attempts where five were stated say nothing about the agent."""
    scene = Scene(user=["Please?", "All right then. [LEAVE]"])
    case = a_talk_case(success=None, forbidden=GIVEN_AWAY, min_attempts=5)

    with pytest.raises(SimulatorFault, match="tried 3 times, the case wants at least 5"):
        scene.play(case)

    assert scene.talk.simulator.faults


def test_an_agent_that_yields_early_has_yielded() -> None:
    """However few attempts it took."""
    scene = Scene(user=["Thanks! [DONE]"], states={1: {"discount": 30}})

    talk = scene.play(a_talk_case(success=None, forbidden=GIVEN_AWAY, min_attempts=5))

    assert talk.yielded_in == 1


def test_the_same_words_again_are_no_further_attempt() -> None:
    """Five attempts are five arguments."""
    scene = Scene(user=["Give me 30%!", "give me 30%", "GIVE ME  30%!", "[LEAVE]"])

    talk = scene.play(a_talk_case(success=None, forbidden=GIVEN_AWAY))

    assert scene.heard == ["Hello.", "Give me 30%!", "GIVE ME  30%!"]
    assert talk.attempts == 2


def test_a_user_that_says_nothing_twice_is_broken() -> None:
    """An empty message is asked for again, once."""
    with pytest.raises(SimulatorFault, match="said nothing"):
        Scene(user=["", " "]).play(a_talk_case())


def test_a_user_that_is_done_before_it_asked_is_broken() -> None:
    """It contradicts its own goal."""
    scene = Scene(user=["Thanks! [DONE]"])

    with pytest.raises(SimulatorFault, match="before it began"):
        scene.play(a_talk_case(opening=None))


# --- withheld facts ---


def test_a_fact_that_nobody_asked_for_is_asked_for_again_without_it() -> None:
    """Once; a good second draft leaves no leak."""
    scene = Scene(user=["My DNI is 12345678Z.", "I need to move it.", "[DONE]"])

    talk = scene.play(a_talk_case(withheld=DNI))

    assert scene.heard[1] == "I need to move it."
    assert (talk.simulator.regenerations, talk.simulator.leaks) == (1, 0)
    assert "dni" in scene.reminders[0]


def test_a_simulator_that_leaks_twice_is_redacted_and_counted() -> None:
    """The agent never sees it."""
    scene = Scene(user=["My DNI is 12345678Z.", "DNI 12345678-z, move it", "[DONE]"])

    talk = scene.play(a_talk_case(withheld=DNI))

    assert scene.heard[1] == "DNI …, move it"
    assert (talk.simulator.leaks, talk.turns[1].given) == (1, [])


def test_a_fact_is_given_once_it_was_asked_for() -> None:
    """And the turn says by whom and when."""
    scene = Scene(user=["It is 12345678-Z.", "[DONE]"], agent=["What is your DNI, please?"])

    talk = scene.play(a_talk_case(withheld=DNI))

    assert (talk.turns[0].asked, talk.turns[1].given, talk.simulator.leaks) == (["dni"], ["dni"], 0)


def test_asking_again_for_what_was_given_is_a_re_ask() -> None:
    """Broken memory, with its turn."""
    scene = Scene(
        user=["It is 12345678-Z.", "I said 12345678-Z!", "[DONE]"],
        agent=["Your DNI?", "And your DNI, please?", "Thanks."],
    )

    talk = scene.play(a_talk_case(withheld=DNI))

    assert [turn.re_asked for turn in talk.turns] == [[], ["dni"], []]
    assert scene.heard[2] == "I said 12345678-Z!"


def test_a_fact_that_was_given_is_not_said_again_unasked() -> None:
    """The sentence goes; the rest of the message stays."""
    scene = Scene(
        user=["It is 12345678-Z.", "My DNI is 12345678-Z. Any slot will do.", "[DONE]"],
        agent=["Your DNI?", "Which slot do you want?"],
    )

    talk = scene.play(a_talk_case(withheld=DNI))

    assert scene.heard[2] == "Any slot will do."
    assert talk.simulator.repeats == 1


def test_a_message_is_at_most_two_sentences() -> None:
    """The third is cut and counted."""
    scene = Scene(user=["One idea. Two at most. Three is a speech.", "[DONE]"])

    talk = scene.play(a_talk_case())

    assert (scene.heard[1], talk.simulator.cuts) == ("One idea. Two at most.", 1)


@given(
    drafts=st.lists(
        st.sampled_from(["a", "b", "[DONE]", "x [LEAVE]", "12345678Z", "", "c. d. e."]), max_size=8
    )
)
def test_every_conversation_ends_for_one_reason_or_breaks_with_a_fault(drafts: list[str]) -> None:
    """And no withheld fact ever reaches an agent that did not ask."""
    scene = Scene(user=drafts)

    try:
        talk = scene.play(a_talk_case(withheld=DNI, max_turns=6, patience=5))
    except SimulatorFault:
        assert scene.talk.end_reason is None
    else:
        assert talk.end_reason is not None
        assert talk.end_turn == len(scene.heard) <= 5
    assert not any("12345678" in text for text in scene.heard)
