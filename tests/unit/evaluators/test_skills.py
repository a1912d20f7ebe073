"""SkillPolicy: a recorded, successful load of a named skill."""

from pathlib import Path
from typing import Any

import pytest
from strands import Agent, AgentSkills

from makers import a_call, a_case, a_trial, called, in_turn, said
from nightgate.evaluators.skills import SkillPolicy
from nightgate.playing import tool_calls
from nightgate.scores import Score, Status
from nightgate.trials import ToolCall


def judged(want: dict[str, Any], *calls: ToolCall, **params: Any) -> Score:
    return SkillPolicy(**params).evaluate(a_trial("", *calls), a_case(expect={"skills": want}))


def load(name: str, **more: Any) -> ToolCall:
    return a_call("skills", {"skill_name": name}, **{"result": "# Refunds\nFirst look up the order."} | more)


LOADED = {"loaded": ["refunds"]}


@pytest.mark.parametrize(
    ("calls", "status"),
    [
        ([load("refunds")], Status.PASS),
        ([load("shipping"), load("refunds")], Status.PASS),
        ([load("refunds", status="error", result="boom"), load("refunds")], Status.PASS),
        ([], Status.FAIL),
        ([load("shipping")], Status.FAIL),
        ([load("refunds", status="error", result="boom")], Status.FAIL),
        ([load("refunds", status=None, result=None)], Status.FAIL),
        ([a_call("search", {"skill_name": "refunds"})], Status.FAIL),
        ([a_call("skills", '{"skill_name": "refunds"')], Status.FAIL),
        ([a_call("skills", '{"skill_name": "refunds"}')], Status.PASS),
    ],
)
def test_a_load_has_to_be_recorded_and_to_have_succeeded(calls: list[ToolCall], status: Status) -> None:
    """Absent, failed and unresolved loads are no loads; a retry that worked is one."""
    assert judged(LOADED, *calls).status is status


@pytest.mark.parametrize(
    "refusal",
    [
        "Skill 'refunds' not found. Available skills: shipping",
        "Error: skill_name is required. Available skills: shipping",
        "Unknown skill refunds",
    ],
)
def test_a_refusal_that_calls_itself_a_success_is_no_load(refusal: str) -> None:
    """The SDK's tool answers a skill that it does not have with a plain text, status success."""
    assert judged(LOADED, load("refunds", result=refusal)).status is Status.FAIL


def test_a_skill_whose_text_speaks_of_refusals_is_a_load() -> None:
    """Only a line that is nothing but the refusal is one."""
    body = "Skill 'x' not found is what you answer\nwhen the order is unknown."
    assert judged(LOADED, load("refunds", result=body)).status is Status.PASS


def test_an_unwanted_skill_fails_only_when_it_loaded() -> None:
    """A load that was refused gave the agent nothing."""
    assert judged({"not_loaded": ["refunds"]}, load("refunds")).status is Status.FAIL
    assert judged({"not_loaded": ["refunds"]}, load("refunds", status="error")).status is Status.PASS
    assert judged({"not_loaded": ["refunds"]}).status is Status.PASS


def test_the_reason_tells_never_asked_from_asked_in_vain() -> None:
    """They need different repairs: the catalogue's text, or the skill itself."""
    want = {"loaded": ["refunds", "shipping"]}
    score = judged(want, load("refunds", status="error"))
    assert score.reason == "refunds was asked for but did not load; shipping was never loaded"


@pytest.mark.parametrize("tools", ["open_manual", ["open_manual"]])
def test_the_agents_own_tool_can_be_named(tools: Any) -> None:
    """One name or a list of them."""
    call = a_call("open_manual", {"name": "refunds"})
    assert judged(LOADED, call, tools=tools).status is Status.PASS
    assert judged(LOADED, load("refunds"), tools=tools).status is Status.FAIL


async def test_the_sdks_own_skills_tool_is_read_right(tmp_path: Path) -> None:
    """Pins the installed SDK: tool name, argument and the text of a refusal."""
    folder = tmp_path / "refunds"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: refunds\ndescription: How to refund.\n---\nLook it up.\n")
    model = in_turn(
        called("skills", {"skill_name": "refund"}, use="t1"),
        called("skills", {"skill_name": "refunds"}, use="t2"),
        said("done"),
    )
    agent = Agent(model=model, plugins=[AgentSkills(skills=[str(tmp_path)])], callback_handler=None)
    await agent.invoke_async("hi")
    calls = tool_calls(agent.messages, {})
    assert judged({"loaded": ["refunds"]}, *calls).status is Status.PASS
    assert judged({"loaded": ["refund"]}, *calls).reason == "refund was asked for but did not load"
