"""The support agent under a model that plays prepared steps: what it offers, what its tools answer."""

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
from strands.models import Model

from nightgate_samples.support import build


class Played(Model):
    """A Strands model that plays steps: a text, or a list of (tool, arguments) calls."""

    def __init__(self, *steps) -> None:
        self.steps = list(steps)

    def update_config(self, **model_config) -> None:
        pass

    def get_config(self) -> dict:
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise AssertionError("the agent asks for no structured output")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs) -> AsyncIterator[dict]:
        step = self.steps.pop(0)
        blocks = [{"text": step}] if isinstance(step, str) else step
        yield {"messageStart": {"role": "assistant"}}
        for index, block in enumerate(blocks):
            if isinstance(block, dict):
                start, delta = {}, block
            else:
                name, arguments = block
                start = {"toolUse": {"toolUseId": f"{name}-{len(messages)}-{index}", "name": name}}
                delta = {"toolUse": {"input": arguments}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(step, str) else "tool_use"}}


def a_case(**context):
    return SimpleNamespace(id="some-case", context=context or {"customer_id": "C-17"}, input="Hello")


async def results(target) -> list[str]:
    """Run the target and return what its tools answered, in order."""
    await target.agent.invoke_async("Hello")
    return [
        block["toolResult"]["content"][0]["text"]
        for message in target.agent.messages
        for block in message["content"]
        if "toolResult" in block
    ]


def test_the_agent_offers_exactly_three_tools() -> None:
    """A tool more would be a way around the desk."""
    target = build(Played(), a_case())

    assert sorted(target.agent.tool_names) == ["get_case", "resolve_case", "search_kb"]


def test_the_agent_runs_on_the_given_model() -> None:
    """A wrapped or replaced model would not be metered."""
    model = Played()

    assert build(model, a_case()).agent.model is model


async def test_a_foreign_case_gets_the_text_of_a_missing_one() -> None:
    target = build(
        Played(
            [("get_case", '{"case_id": "CS-2001"}')],
            [("get_case", '{"case_id": "CS-9999"}')],
            [("resolve_case", '{"case_id": "CS-2001", "resolution": "x"}')],
            [("resolve_case", '{"case_id": "CS-9999", "resolution": "x"}')],
            "Done.",
        ),
        a_case(),
    )

    answers = await results(target)

    assert len(answers) == 4
    assert len(set(answers)) == 1
    assert target.state()["cases"]["CS-2001"]["status"] == "open"


async def test_a_second_resolve_answers_and_changes_nothing_new() -> None:
    target = build(
        Played(
            [("resolve_case", '{"case_id": "CS-1003", "resolution": "Invoice is right."}')],
            [("resolve_case", '{"case_id": "CS-1003", "resolution": "Again."}')],
            "Done.",
        ),
        a_case(),
    )

    first, second = await results(target)

    assert first == second
    assert target.state()["cases"]["CS-1003"]["resolution"] == "Invoice is right."


async def test_tools_called_at_once_all_answer() -> None:
    """Parallel calls run in threads on one desk."""
    target = build(
        Played(
            [
                ("get_case", '{"case_id": "CS-1002"}'),
                ("search_kb", '{"query": "how long does a repair take"}'),
                ("get_case", '{"case_id": "CS-1001"}'),
            ],
            "Done.",
        ),
        a_case(),
    )

    case, articles, other = await results(target)

    assert case.startswith("CS-1002")
    assert articles.startswith("[KB-104]")
    assert other.startswith("CS-1001")


async def test_two_builds_share_nothing() -> None:
    """Also not with a trial of the same case that runs at the same time."""
    call = [("resolve_case", '{"case_id": "CS-1001", "resolution": "x"}')]
    changed, untouched = build(Played(call, "Done."), a_case()), build(Played(), a_case())

    await changed.agent.invoke_async("Hello")

    assert changed.agent is not untouched.agent
    assert changed.state()["cases"]["CS-1001"]["status"] == "resolved"
    assert untouched.state()["cases"]["CS-1001"]["status"] == "open"


def test_identity_comes_from_the_context() -> None:
    """The same words from another customer open another session; the prompt names no customer."""
    target = build(Played(), a_case(customer_id="C-22"))

    assert "C-22" not in target.agent.system_prompt
    assert target.agent.tool.get_case(case_id="CS-2001")["status"] == "success"
    assert "chairs" in target.agent.tool.get_case(case_id="CS-2001")["content"][0]["text"]


@pytest.mark.parametrize("context", [{"customer": "C-17"}, {"customer_id": 17}, {"customer_id": ""}])
def test_a_context_without_a_customer_is_refused(context) -> None:
    """An agent without a session would report on nobody's cases and look fine."""
    with pytest.raises(ValueError, match=r"some-case: context\.customer_id"):
        build(Played(), a_case(**context))
