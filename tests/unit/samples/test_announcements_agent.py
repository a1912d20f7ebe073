"""The announcements agent: what its tools offer the model, and what they answer."""

import json
from types import SimpleNamespace

import pytest
from strands.models import Model

from nightgate_samples.announcements import agent as module
from nightgate_samples.announcements import build
from nightgate_samples.announcements.catalogue import SERVICES


class Silent(Model):
    """A model that nobody calls."""

    def update_config(self, **model_config) -> None:
        pass

    def get_config(self) -> dict:
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise AssertionError("not called")

    def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        raise AssertionError("not called")


@pytest.fixture
def target():
    built = build(Silent(), SimpleNamespace(id="some-case", context={}, input="Hello"))
    yield built
    built.close()


def schema(target, tool: str) -> dict:
    return target.agent.tool_registry.registry[tool].tool_spec["inputSchema"]["json"]


async def use(target, name: str, **arguments) -> tuple[str, str]:
    """Status and text of one call, through the schema's check as a model's call goes."""
    tool = target.agent.tool_registry.registry[name]
    request = {"toolUseId": "1", "name": name, "input": arguments}
    events = [event async for event in tool.stream(request, {})]
    result = events[-1].tool_result
    return result["status"], result["content"][0]["text"]


def test_the_agent_offers_exactly_two_tools(target) -> None:
    assert sorted(target.agent.tool_names) == ["get_announcement", "search_announcements"]


def test_the_agent_runs_on_the_given_model() -> None:
    """A wrapped or replaced model would not be metered."""
    model = Silent()

    assert build(model, SimpleNamespace(id="x", context={}, input="Hi")).agent.model is model


def test_two_builds_share_nothing_that_can_be_closed(target) -> None:
    other = build(Silent(), SimpleNamespace(id="x", context={}, input="Hi"))

    other.close()

    assert other.agent is not target.agent
    assert target.agent.tool.get_announcement(announcement_id="BW-0001")["status"] == "success"


def test_the_archive_is_invented_once_and_not_for_each_trial(monkeypatch) -> None:
    """The factory runs once per trial; a few hundred announcements each time would be felt."""
    build(Silent(), SimpleNamespace(id="x", context={}, input="Hi"))
    monkeypatch.setattr("nightgate_samples.announcements.archive.announcements", None)

    build(Silent(), SimpleNamespace(id="y", context={}, input="Hi"))


def test_the_search_has_the_arguments_of_the_cases(target) -> None:
    properties = schema(target, "search_announcements")["properties"]

    assert list(properties) == ["query", "service", "year", "sort_order", "all_history", "limit"]
    assert {name: spec["type"] for name, spec in properties.items()} == {
        "query": "string",
        "service": "string",
        "year": "integer",
        "sort_order": "string",
        "all_history": "boolean",
        "limit": "integer",
    }


def test_the_sort_direction_is_a_choice_that_the_model_has_to_make(target) -> None:
    """Optional, it would be guessed: once by Python, from English words."""
    search = schema(target, "search_announcements")

    assert search["properties"]["sort_order"]["enum"] == ["asc", "desc"]
    assert search["required"] == ["query", "sort_order"]
    assert "default" not in search["properties"]["sort_order"]


def test_the_schema_lists_the_services(target) -> None:
    """Each is described too, so that "object storage" finds its name."""
    service = schema(target, "search_announcements")["properties"]["service"]

    assert service["enum"] == list(SERVICES)
    assert all(f"{name}: " in service["description"] for name in SERVICES)


def test_the_schema_says_what_all_history_means(target) -> None:
    described = schema(target, "search_announcements")["properties"]["all_history"]["description"]

    assert "newest three years" in described
    assert "everything since 2004" in described


def test_no_word_of_the_user_reaches_the_tools_but_through_the_model(target) -> None:
    """Nothing in the module looks for first or latest, in any language."""
    assert not hasattr(module, "re")
    assert set(schema(target, "get_announcement")["properties"]) == {"announcement_id"}


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "", "sort_order": "newest"},
        {"sort_order": "asc"},
        {"query": "", "sort_order": "asc", "service": "stow"},
        {"query": "", "sort_order": "asc", "limit": 0},
        {"query": "", "sort_order": "asc", "year": "last"},
    ],
)
async def test_arguments_that_the_schema_forbids_are_an_error_to_the_model(target, arguments) -> None:
    """Not an answer with other arguments than were asked for."""
    status, text = await use(target, "search_announcements", **arguments)

    assert status == "error"
    assert "BW-" not in text


async def test_the_first_line_says_how_many_of_how_many(target) -> None:
    _, text = await use(target, "search_announcements", query="", sort_order="desc", all_history=True)

    head, *lines = text.splitlines()
    assert head == "Showing 10 of 357, newest first, 2004 to 2026:"
    assert len(lines) == 10


async def test_a_result_has_id_date_service_title_and_url(target) -> None:
    _, text = await use(target, "search_announcements", query="", sort_order="asc", year=2004, limit=1)

    title = "Introducing Courier: message queues that keep every message until it is read"
    url = "https://news.brindlewick.example/2004/05/11/introducing-courier"
    assert text.splitlines() == [
        "Showing 1 of 5, oldest first, 2004:",
        f"BW-0001 | 2004-05-11 | Courier | {title} | {url}",
    ]


async def test_null_for_what_was_not_asked_is_taken(target) -> None:
    """Models send null for optional arguments."""
    status, _ = await use(target, "search_announcements", query="", sort_order="asc", service=None, year=None)

    assert status == "success"


async def test_nothing_found_in_the_window_names_the_way_out(target) -> None:
    """A model that forgot all_history can correct itself."""
    _, text = await use(target, "search_announcements", query="flash", sort_order="asc")

    assert text == (
        "No announcement matches in 2024 to 2026. all_history true searches everything since 2004."
    )


@pytest.mark.parametrize("arguments", [{"all_history": True}, {"year": 2010}])
async def test_nothing_found_where_all_was_searched_promises_nothing(target, arguments) -> None:
    _, text = await use(target, "search_announcements", query="quantum", sort_order="asc", **arguments)

    assert text.startswith("No announcement matches in 20")
    assert "all_history" not in text


async def test_an_announcement_is_read_in_full(target) -> None:
    _, text = await use(target, "get_announcement", announcement_id="BW-0300")

    assert text.splitlines()[1] == (
        "Gatehouse ends support for root access keys on 2025-05-20. Use roles instead."
    )


async def test_an_unknown_id_is_answered_and_not_raised(target) -> None:
    status, text = await use(target, "get_announcement", announcement_id="BW-9999")

    assert (status, text) == (
        "success",
        "There is no announcement BW-9999. search_announcements returns the ids.",
    )


async def test_what_the_tools_answer_is_text_of_ours(target) -> None:
    """One line a result: no JSON that a model would have to unpack."""
    _, text = await use(target, "search_announcements", query="", sort_order="asc", all_history=True)

    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
