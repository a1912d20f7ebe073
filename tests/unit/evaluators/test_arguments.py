"""ArgumentPolicy: the arguments that the model chose."""

from typing import Any

import pytest

from makers import a_call, a_case, a_trial
from nightgate.evaluators.arguments import ArgumentPolicy
from nightgate.scores import Score, Status
from nightgate.trials import ToolCall


def judged(entries: list[dict[str, Any]], *calls: ToolCall) -> Score:
    return ArgumentPolicy().evaluate(a_trial("", *calls), a_case(expect={"arguments": entries}))


def asked(where: dict[str, Any], *calls: ToolCall, match: str = "subset") -> Status:
    return judged([{"tool": "search", "where": where, "match": match}], *calls).status


def test_an_uncalled_tool_fails_instead_of_going_unjudged() -> None:
    """A green N/A once hid a skipped lookup: the asked-for call did not happen."""
    score = judged(
        [{"tool": "search", "where": {"sort_order": "asc"}}], a_call("other", {"sort_order": "asc"})
    )
    assert score.status is Status.FAIL
    assert score.reason == "search was never called"


def test_an_uncalled_tool_fails_also_where_any_arguments_will_do() -> None:
    """Nothing asked of the arguments still asks for the call."""
    assert asked({}) is Status.FAIL


def test_one_matching_call_of_several_is_enough() -> None:
    """A model may search broadly first."""
    calls = [a_call("search", {"q": "x"}), a_call("search", {"q": "y", "sort_order": "asc"})]
    assert asked({"sort_order": "asc"}, *calls) is Status.PASS


def test_parts_of_two_calls_do_not_add_up() -> None:
    """Any one call has to carry all of it."""
    calls = [a_call("search", {"a": 1}), a_call("search", {"b": 2})]
    assert asked({"a": 1, "b": 2}, *calls) is Status.FAIL


@pytest.mark.parametrize(
    ("where", "arguments", "match", "status"),
    [
        ({"year": 2004}, {"year": 2004.0, "q": "x"}, "subset", Status.PASS),
        ({"all": True}, {"all": 1}, "subset", Status.FAIL),
        ({"n": "5"}, {"n": 5}, "subset", Status.FAIL),
        ({"n": None}, {}, "subset", Status.FAIL),
        ({"n": None}, {"n": None}, "subset", Status.PASS),
        ({"f": {"a": 1}}, {"f": {"a": 1, "b": 2}}, "subset", Status.PASS),
        ({"f": {"a": 1}}, {"f": {"a": 1, "b": 2}}, "exact", Status.FAIL),
        ({"l": [1]}, {"l": [1, 2]}, "subset", Status.FAIL),
        ({"a": 1}, {"a": 1}, "exact", Status.PASS),
        ({}, {"a": 1}, "exact", Status.FAIL),
        ({}, {}, "exact", Status.PASS),
    ],
)
def test_subset_and_exact(
    where: dict[str, Any], arguments: dict[str, Any], match: str, status: Status
) -> None:
    """Subset leaves other keys free at every depth; exact does not."""
    assert asked(where, a_call("search", arguments), match=match) is status


def test_arguments_that_arrive_as_json_text_are_parsed_first() -> None:
    """Some providers hand over text, some objects."""
    assert asked({"a": {"b": 1}}, a_call("search", '{"a": {"b": 1, "c": 2}}')) is Status.PASS


@pytest.mark.parametrize("broken", ['{"a": 1', "", "null", "[1]", "5", None])
def test_what_is_no_object_matches_nothing(broken: Any) -> None:
    """Torn JSON is the model's doing, and no empty object."""
    call = ToolCall(name="search", arguments=broken, status="error")
    assert asked({}, call) is Status.FAIL
    assert asked({}, call, match="exact") is Status.FAIL


def test_each_entry_has_to_hold() -> None:
    """Two expectations of one tool are two checks, each with its reason."""
    entries = [{"tool": "search", "where": {"a": 1}}, {"tool": "search", "where": {"b": 2}}]
    score = judged(entries, a_call("search", {"a": 1}))
    assert score.status is Status.FAIL
    assert score.reason == 'search got {"a": 1}, want subset {"b": 2}'


def test_a_reason_shows_three_calls_and_counts_the_rest() -> None:
    """A loop of forty searches must fit the page."""
    score = judged([{"tool": "search", "where": {"q": 9}}], *[a_call("search", {"q": n}) for n in range(5)])
    assert score.reason == 'search got {"q": 0}; {"q": 1}; {"q": 2} and 2 more, want subset {"q": 9}'


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("subset", 'search called with at least {"sort_order": "asc"}'),
        ("exact", 'search called with exactly {"sort_order": "asc"}'),
    ],
)
def test_a_fail_says_what_was_expected_and_what_was_observed(match: str, expected: str) -> None:
    """What the case asks about stands first, so that a long query cannot push it out of the line."""
    call = a_call("search", {"query": "x" * 1000, "sort_order": "desc"})

    score = judged([{"tool": "search", "where": {"sort_order": "asc"}, "match": match}], call)

    assert score.details["expected"] == expected
    assert score.details["observed"].startswith('search got {"sort_order": "desc", "query": "xxx')
    assert len(score.details["observed"]) <= 300


def test_of_an_uncalled_tool_the_observed_side_names_what_was_called_instead() -> None:
    """The model may have taken another way."""
    entries = [{"tool": "search", "where": {"a": 1}}]
    assert judged(entries, a_call("list"), a_call("list")).details["observed"] == (
        "search was never called (called: list)"
    )
    assert judged(entries).details["observed"] == "search was never called (called: no tool)"


def test_only_entries_that_did_not_hold_are_in_the_difference() -> None:
    """What held needs no second look; calls with text that is no JSON are shown as they came."""
    entries = [{"tool": "s", "where": {"a": 1}}, {"tool": "s", "where": {"b": 2}}]
    score = judged(entries, a_call("s", '{"a": 1'), a_call("s", {"a": 1}))
    assert score.details == {
        "expected": 's called with at least {"b": 2}',
        "observed": r's got "{\"a\": 1"; {"a": 1}',
    }
    assert judged(entries[:1], a_call("s", {"a": 1})).details == {}
