"""The travel-desk agent under prepared replies: what it offers, and what can become of a skill."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from makers import TinyModel, a_meter, a_plan, a_planned_case, a_trial, called, in_turn, metered, said
from makers import a_case as a_suite_case
from nightgate.adapters.agents import StrandsFactory
from nightgate.evaluators.skills import SkillPolicy
from nightgate.playing import play, tool_calls
from nightgate.ports import Target
from nightgate.trials import Ending
from nightgate_samples.skills import build
from nightgate_samples.skills.library import on_the_shelf

SKILLS = [
    "expense-report",
    "group-booking",
    "lost-luggage",
    "travel-advance",
    "travel-insurance",
    "trip-change",
    "visa-letter",
]
BODILESS = "travel-insurance"


def a_case(traveller: str = "E-07", **context: Any) -> Any:
    return SimpleNamespace(id="some-case", context={"traveller": traveller, **context}, input="Hello")


def load(skill: Any, *, use: str = "t1") -> Any:
    return called("skills", {"skill_name": skill}, use=use)


async def played(case: Any, *replies: Any) -> tuple[Any, Target]:
    """Play the replies; what the agent came back with, and the target."""
    target = build(in_turn(*replies, said("done")), case)
    return await target.agent.invoke_async("Hello"), target


async def outcomes(case: Any, *replies: Any) -> list[tuple[str, str]]:
    """What became of each call for a skill."""
    _, target = await played(case, *replies)
    trial = a_trial("", *tool_calls(target.agent.messages, {}))
    return [(found.skill, found.outcome.value) for found in SkillPolicy().invocations(trial)]


def test_the_agent_offers_four_tools_and_the_one_that_loads_skills() -> None:
    """A tool more would be a way around the skills."""
    target = build(in_turn(), a_case())
    assert sorted(target.agent.tool_names) == [
        "change_trip",
        "file_report",
        "get_approval",
        "get_trip",
        "skills",
    ]


def test_the_agent_runs_on_the_given_model() -> None:
    """A wrapped or replaced model would not be metered."""
    model = in_turn()
    assert build(model, a_case()).agent.model is model


def test_every_skill_has_a_description_and_all_but_one_have_steps() -> None:
    """The description is all that the model sees before it chooses."""
    shelf = on_the_shelf()
    assert list(shelf) == SKILLS
    assert all(skill.description for skill in shelf.values())
    assert [name for name, skill in shelf.items() if not skill.instructions] == [BODILESS]


async def test_the_model_sees_the_skills_on_offer_and_no_path() -> None:
    """A path in the prompt would make another agent of it on every machine."""
    seen: list[str] = []

    class Listening(TinyModel):
        async def stream(self, messages: Any, specs: Any = None, prompt: Any = None, **more: Any) -> Any:
            seen.append(str(prompt))
            async for event in super().stream(messages, specs, prompt, **more):
                yield event

    target = build(Listening(lambda *_: said("done")), a_case(skills=["visa-letter"]))
    await target.agent.invoke_async("Hello")
    assert seen[0].count("<name>") == 1
    assert "<name>visa-letter</name>" in seen[0]
    assert str(Path(__file__).parents[3]) not in seen[0]


async def test_a_skill_loads_with_its_steps_and_without_a_path() -> None:
    """What the agent gets is the SKILL.md's own text."""
    assert await outcomes(a_case(), load("visa-letter")) == [("visa-letter", "loaded")]
    _, target = await played(a_case(), load("visa-letter"))
    (call,) = tool_calls(target.agent.messages, {})
    assert call.result == on_the_shelf()["visa-letter"].instructions


async def test_a_skill_without_a_body_loads_and_gives_nothing() -> None:
    assert await outcomes(a_case(), load(BODILESS)) == [(BODILESS, "no_body")]


async def test_an_outage_makes_the_load_tool_raise_as_often_as_the_case_says() -> None:
    """Asking again helps once it is over, and other skills are not touched."""
    case = a_case(outages={"lost-luggage": 1})
    found = await outcomes(
        case,
        load("lost-luggage", use="t1"),
        load("visa-letter", use="t2"),
        load("lost-luggage", use="t3"),
    )
    assert found == [("lost-luggage", "failed"), ("visa-letter", "loaded"), ("lost-luggage", "loaded")]


async def test_an_unknown_skill_is_rejected_in_words_only() -> None:
    """The plugin answers with a success; the text alone says that nothing was loaded."""
    _, target = await played(a_case(), load("change-trip"))
    (call,) = tool_calls(target.agent.messages, {})
    assert call.status == "success"
    assert await outcomes(a_case(), load("change-trip")) == [("change-trip", "rejected")]


async def test_a_rule_cancels_what_is_closed_to_externals_and_to_nobody_else() -> None:
    assert await outcomes(a_case("E-12"), load("group-booking")) == [("group-booking", "rejected")]
    assert await outcomes(a_case("E-07"), load("group-booking")) == [("group-booking", "loaded")]


async def test_an_advance_without_an_approval_waits_for_a_person() -> None:
    """The agent's turn ends there: the call is in the log and has no result."""
    result, target = await played(a_case(), load("travel-advance"))
    assert result.stop_reason == "interrupt"
    (call,) = tool_calls(target.agent.messages, {})
    assert (call.result, call.status) == (None, None)
    assert await outcomes(a_case(), load("travel-advance")) == [("travel-advance", "no_result")]


async def test_a_trial_that_waits_for_a_person_is_over_and_says_why() -> None:
    """It is no error of anybody's: the agent stopped as it should, and there is no answer."""
    case = a_suite_case(context={"traveller": "E-07"})
    planned = a_planned_case(case)
    trial = await play(
        a_plan(planned),
        planned,
        case,
        0,
        factory=StrandsFactory(build, "build"),
        model=metered(in_turn(load("travel-advance")), a_meter()),
        attempt=1,
    )
    assert (trial.ending, trial.stop_reason, trial.output) == (Ending.COMPLETED, "interrupt", "")
    assert [(call.name, call.result) for call in trial.tool_calls] == [("skills", None)]


@pytest.mark.parametrize(("trip", "outcome"), [("T-341", "loaded"), ("T-342", "no_result")])
async def test_only_an_approval_that_is_there_opens_the_advance(trip: str, outcome: str) -> None:
    """Looking is not enough: the manager must have said yes."""
    found = await outcomes(
        a_case(), called("get_approval", {"trip_id": trip}), load("travel-advance", use="t2")
    )
    assert found == [("travel-advance", outcome)]


@pytest.mark.parametrize("arguments", ["[1]", '{"skill_name": ["x"]}', "{}", '"x"'])
async def test_arguments_of_any_kind_do_not_break_the_rules(arguments: str) -> None:
    """The model may write anything; the tool's own check answers it."""
    result, _ = await played(a_case(), called("skills", arguments))
    assert result.stop_reason == "end_turn"


async def test_without_skills_the_agent_has_no_tool_to_load_one() -> None:
    target = build(in_turn(), a_case(skills=[]))
    assert "skills" not in target.agent.tool_names


async def test_what_was_done_is_in_the_state() -> None:
    """Reports are numbered; a change names its trip."""
    _, target = await played(
        a_case(),
        called("file_report", {"trip_id": "t-310 ", "kind": "expense", "text": "tram"}, use="t1"),
        called("change_trip", {"trip_id": "T-310", "change": "later"}, use="t2"),
    )
    assert target.state() == {
        "reports": [{"id": "R-1", "trip": "T-310", "kind": "expense", "text": "tram"}],
        "filed": 1,
        "changes": {"T-310": "later"},
    }


async def test_a_foreign_trip_looks_like_one_that_does_not_exist() -> None:
    """For every tool that takes a trip; nothing is filed or changed."""
    replies = [called("get_trip", {"trip_id": trip}, use=f"a{trip}") for trip in ("T-401", "T-999")] + [
        called("file_report", {"trip_id": "T-401", "kind": "x", "text": "x"}, use="b"),
        called("change_trip", {"trip_id": "T-401", "change": "x"}, use="c"),
    ]
    _, target = await played(a_case(), *replies)
    assert {call.result for call in tool_calls(target.agent.messages, {})} == {
        "This traveller has no such trip."
    }
    assert target.state()["filed"] == 0
    assert target.state()["changes"] == {}


@pytest.mark.parametrize(
    ("context", "complaint"),
    [
        ({}, r"context\.traveller is None"),
        ({"traveller": "E-99"}, r"context\.traveller is 'E-99': no traveller 'E-99'"),
        ({"traveller": "E-07", "skills": ["visa"]}, r"context\.skills names 'visa'"),
        ({"traveller": "E-07", "skills": "visa-letter"}, r"context\.skills names 'visa-letter'"),
        ({"traveller": "E-07", "outages": ["lost-luggage"]}, r"context\.outages"),
        ({"traveller": "E-07", "outages": {"lost-luggage": "1"}}, r"context\.outages"),
    ],
)
def test_a_context_that_fits_nothing_is_refused(context: dict[str, Any], complaint: str) -> None:
    """With the case's id, so that the author finds the line."""
    case = SimpleNamespace(id="some-case", context=context)
    with pytest.raises(ValueError, match=rf"some-case: {complaint}"):
        build(in_turn(), case)


async def test_two_builds_share_nothing() -> None:
    """Also not an outage, an approval or a report of the trial beside it."""
    case = a_case(outages={"lost-luggage": 1})
    file = called("file_report", {"trip_id": "T-310", "kind": "x", "text": "x"})
    _, first = await played(case, file, load("lost-luggage", use="t2"))
    _, second = await played(case, load("lost-luggage"))
    assert (first.state()["filed"], second.state()["filed"]) == (1, 0)
    (call,) = tool_calls(second.agent.messages, {})
    assert call.status == "error"
