"""SkillPolicy: a recorded, successful load of a named skill."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strands import Agent, AgentSkills, Skill, tool
from strands.hooks import BeforeToolCallEvent
from strands_evals.evaluators import SkillInvoked
from strands_evals.extractors.skills import extract_skill_load_events

from makers import a_call, a_case, a_trial, assistant, called, in_turn, results, said, user
from nightgate.evaluators.sessions import message_list, session
from nightgate.evaluators.skills import SkillPolicy
from nightgate.evaluators.strands import StrandsEvaluator
from nightgate.playing import tool_calls
from nightgate.scores import Score, Status
from nightgate.trials import ToolCall, Trial


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


# --- the evidence beside the verdict ---


def outcome(**more: Any) -> str:
    (found,) = judged(LOADED, load("refunds", **more)).details["skills"]["invocations"]
    assert found["judgeable"] is (found["outcome"] == "loaded")
    return str(found["outcome"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Refunds\nFirst look up the order.", "loaded"),
        ("Skill loaded with care is half the work.\nFirst look up the order.", "loaded"),
        ("Skill up: coupons are not found here.", "loaded"),
        ("Skill 'refunds' activated (no instructions available).", "no_body"),
        ("Loaded skill refunds", "no_body"),
        ("", "failed"),
        ("Error: [Errno 2] No such file or directory: 'refunds/SKILL.md'", "failed"),
        ('{"error": "not found"}', "rejected"),
        ("Skill 'refunds' not found. Available skills: shipping", "rejected"),
        ("unrecognized skill: refunds", "rejected"),
    ],
)
def test_a_success_is_told_apart_by_what_came_back(text: str, found: str) -> None:
    """Refusals, errors and acknowledgements call themselves a success too; none can be followed."""
    assert outcome(result=text) == found


@pytest.mark.parametrize(
    ("text", "plugin", "other"),
    [
        ("Error: ConnectionError - the library did not answer", "failed", "failed"),
        ("Error: PermissionError - access denied", "failed", "failed"),
        ("the library did not answer", "rejected", "failed"),
        ("closed to externals", "rejected", "failed"),
        ("tool cancelled by user", "rejected", "rejected"),
        ("Refused by travel policy", "rejected", "rejected"),
        ("DENIED: not in this country", "rejected", "rejected"),
        ("Manual approval denied: no", "rejected", "rejected"),
        ("approval was not granted", "rejected", "rejected"),
        ("CONFIRMATION_FAILED: really?", "rejected", "rejected"),
        ("Unknown tool: skills", "rejected", "rejected"),
    ],
)
def test_an_error_is_a_tool_that_broke_or_a_call_that_was_cancelled(
    text: str, plugin: str, other: str
) -> None:
    """One is repaired by whoever runs the library, the other is a decision. The SDK marks both alike.

    The plugin's tool has no errors of its own, so what did not raise was cancelled; of another tool
    only the words can tell.
    """
    assert outcome(result=text, status="error") == plugin
    call = a_call("load_skill", {"skill_name": "refunds"}, result=text, status="error")
    assert judged(LOADED, call).details["skills"]["invocations"][0]["outcome"] == other


def test_a_call_without_a_result_has_no_outcome() -> None:
    """The agent stopped to ask a person: neither loaded nor refused."""
    assert outcome(result=None, status=None) == "no_result"


@pytest.mark.parametrize(
    ("want", "calls"),
    [
        (LOADED, [load("refunds")]),
        (LOADED, []),
        ({"not_loaded": ["refunds"]}, [load("refunds")]),
        ({"not_loaded": ["refunds"]}, []),
    ],
)
def test_the_evidence_is_there_whatever_the_verdict(want: dict[str, Any], calls: list[ToolCall]) -> None:
    """A run's coverage of loads is counted from passes and fails alike."""
    found = judged(want, *calls).details["skills"]
    expected = want.get("loaded", [])
    assert found["expected"] == expected
    assert found["observed"] == (expected if calls else [])
    assert len(found["invocations"]) == len(calls)


def test_only_expected_loads_are_observed_and_each_once() -> None:
    """More loads than planned would be a coverage above one."""
    want = {"loaded": ["refunds", "shipping", "refunds"]}
    calls = [
        load("refunds"),
        load("refunds"),
        load("other"),
        load("shipping", status="error", result="Error: x"),
    ]
    found = judged(want, *calls).details["skills"]
    assert (found["expected"], found["observed"]) == (["refunds", "shipping"], ["refunds"])
    assert [call["outcome"] for call in found["invocations"]] == ["loaded", "loaded", "loaded", "failed"]


def test_a_call_that_names_no_skill_is_no_invocation() -> None:
    """There is no skill to blame or to credit; the SDK's extractor sees none either."""
    score = judged(LOADED, load(""), a_call("skills", {}), a_call("skills", "broken"))
    assert score.details["skills"]["invocations"] == []


def test_a_fail_says_what_was_expected_and_what_was_observed() -> None:
    """One line each, with the tool's own words where nothing was loaded."""
    want = {"loaded": ["refunds", "shipping"], "not_loaded": ["other"]}
    score = judged(want, load("refunds", status="error", result="Error: no\nanswer"), load("other"))
    assert score.details["expected"] == "loaded: refunds, shipping; not loaded: other"
    assert score.details["observed"] == "refunds failed (Error: no answer); other loaded"
    assert judged(LOADED).details["observed"] == "no skill was asked for"
    assert "expected" not in judged(LOADED, load("refunds")).details


def test_a_long_answer_is_cut() -> None:
    """The row holds the whole transcript elsewhere."""
    score = judged(LOADED, load("refunds", status="error", result="x" * 5_000))
    assert len(score.details["observed"]) < 200


# --- against the extractor of Strands Evals ---


def recorded(*answers: tuple[str, str | None, str]) -> Trial:
    """A trial that asked for a skill and got (skill, text or None for no result, status)."""
    log: list[dict[str, Any]] = [user("Hi")]
    for number, (skill, text, status) in enumerate(answers):
        log.append(assistant((f"t{number}", "skills", {"skill_name": skill})))
        if text is not None:
            log.append(results((f"t{number}", text, status)))
    return a_trial("", *tool_calls(log, {}), messages=tuple(log))


_NAMES = st.sampled_from(["refunds", "shipping", "a.b_c"])
_REFUSAL_WORDS = ["Skill", "'refunds'", "refunds", "is", "was", "not found", "unknown", "no such", "Error:"]
_OTHER_WORDS = ["skill_name is required", "Loading", "loaded", "activated", ".", ":", "\n", "order", "skill"]
_WORDS = st.lists(st.sampled_from([*_REFUSAL_WORDS, *_OTHER_WORDS]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(_NAMES, _WORDS, st.sampled_from(["success", "error"])), min_size=1, max_size=4))
def test_loads_and_bodies_are_those_that_the_strands_extractor_finds(
    answers: list[tuple[str, str | None, str]],
) -> None:
    """Two readings of one log would make two reports that contradict each other."""
    trial = recorded(*answers)
    ours = [call.as_dict() for call in SkillPolicy().invocations(trial)]
    theirs = extract_skill_load_events(session(trial))
    assert [call["skill"] for call in ours] == [event.name for event in theirs]
    assert [call["outcome"] in ("loaded", "no_body") for call in ours] == [
        event.status == "loaded" for event in theirs
    ]
    assert [call["judgeable"] for call in ours] == [bool(event.body) for event in theirs]


@given(st.lists(st.tuples(_NAMES, _WORDS, st.sampled_from(["success", "error"])), min_size=1, max_size=4))
def test_what_their_extractor_finds_failed_in_the_bare_log_is_never_loaded_here(
    answers: list[tuple[str, str | None, str]],
) -> None:
    """Ours is the stricter of the two: it never takes for a load what theirs refuses unaided."""
    trial = recorded(*answers)
    ours = list(SkillPolicy().invocations(trial))
    theirs = extract_skill_load_events(list(trial.messages))
    for mine, event in zip(ours, theirs, strict=True):
        assert not (mine.outcome.loaded and event.status == "failed")
        assert mine.outcome != "loaded" or event.body


@pytest.mark.parametrize(
    ("skill", "text"),
    [
        ("pack's", "Skill 'pack's' not found. Available skills: refunds"),
        ("refunds", "Error: [Errno 2] No such file or directory"),
        ("refunds", "No skill named refunds."),
        ("refunds", '{"error": "not found"}'),
        ("refunds", "None"),
    ],
)
async def test_a_failure_that_their_extractor_takes_for_a_body_fails_theirs_too(
    skill: str, text: str
) -> None:
    """Alone it would read it as instructions, and one report would contradict the other."""
    trial = recorded((skill, text, "success"))
    (alone,) = extract_skill_load_events(list(trial.messages))
    assert alone.status == "loaded"
    (told,) = extract_skill_load_events(session(trial))
    assert (told.status, told.body) == ("failed", None)
    (listed,) = extract_skill_load_events(message_list(trial))
    assert listed.status == "failed"
    theirs = await StrandsEvaluator("SkillInvoked", SkillInvoked(skill)).evaluate(trial, a_case())
    ours = SkillPolicy().evaluate(trial, a_case(expect={"skills": {"loaded": [skill]}}))
    assert (ours.status, theirs.status) == (Status.FAIL, Status.FAIL)


@tool(name="skills")
def broken_library(skill_name: str) -> str:
    """Stand in for the plugin's tool.

    Args:
        skill_name: What was asked for.
    """
    raise ConnectionError(skill_name)


async def played(*names: str) -> Trial:
    """What the SDK's own plugin and hooks make of these loads."""

    def before(event: BeforeToolCallEvent) -> None:
        skill = event.tool_use["input"]["skill_name"]
        if skill == "waits":
            event.interrupt("approval")
        elif skill == "cancelled":
            event.cancel_tool = True
        elif skill == "closed":
            event.cancel_tool = "closed to externals"
        elif skill == "broken":
            event.selected_tool = broken_library

    skills = [
        Skill(name=name, description=name, instructions="" if name == "bodiless" else f"Do {name}.")
        for name in ("refunds", "bodiless", "waits", "cancelled", "closed", "broken")
    ]
    loads = [called("skills", {"skill_name": name}, use=f"t{n}") for n, name in enumerate(names)]
    agent = Agent(
        model=in_turn(*loads, said("done")), plugins=[AgentSkills(skills=skills)], callback_handler=None
    )
    agent.hooks.add_callback(BeforeToolCallEvent, before)
    await agent.invoke_async("hi")
    return a_trial("", *tool_calls(agent.messages, {}), messages=tuple(agent.messages))


@pytest.mark.parametrize(
    ("skill", "found"),
    [
        ("refunds", "loaded"),
        ("bodiless", "no_body"),
        ("waits", "no_result"),
        ("cancelled", "rejected"),
        ("closed", "rejected"),
        ("broken", "failed"),
        ("unknown", "rejected"),
        ("it's", "rejected"),
    ],
)
async def test_the_plugins_real_outputs_get_the_verdict_of_skill_invoked(skill: str, found: str) -> None:
    """Ours and theirs answer the same question about the same trial."""
    trial = await played(skill)
    ours = SkillPolicy().evaluate(trial, a_case(expect={"skills": {"loaded": [skill]}}))
    assert [call["outcome"] for call in ours.details["skills"]["invocations"]] == [found]
    theirs = await StrandsEvaluator("SkillInvoked", SkillInvoked(skill)).evaluate(trial, a_case())
    assert ours.status is theirs.status


async def test_a_retry_that_worked_is_a_load_for_both() -> None:
    """One success is enough, whatever came before it."""
    trial = await played("unknown", "broken", "refunds")
    theirs = await StrandsEvaluator("SkillInvoked", SkillInvoked("refunds")).evaluate(trial, a_case())
    ours = SkillPolicy().evaluate(trial, a_case(expect={"skills": LOADED}))
    assert (ours.status, theirs.status) == (Status.PASS, Status.PASS)
