"""What a judge is shown: fences that hold, and shares that are fair."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_call
from nightgate.evaluators.fencing import MAX_DATA, fair_share, fence, tool_data, visible
from nightgate.trials import ToolCall

SIZES = st.lists(st.integers(0, 5_000), max_size=30)


@given(SIZES, st.integers(0, 20_000))
def test_shares_stay_in_the_total_and_waste_nothing(sizes: list[int], total: int) -> None:
    """Either everything is whole, or less than one character a piece stays unused."""
    cap = fair_share(sizes, total)
    used = sum(min(size, cap) for size in sizes)
    assert used <= total
    if any(size > cap for size in sizes):
        assert total - used < len(sizes)


@given(SIZES, st.integers(0, 20_000))
def test_what_is_smaller_than_an_even_share_is_whole(sizes: list[int], total: int) -> None:
    """However large the others are."""
    cap = fair_share(sizes, total)
    assert all(size <= cap for size in sizes if size * len(sizes) <= total)


@given(st.dictionaries(st.sampled_from("ABC"), st.text(), min_size=1))
def test_a_block_holds_its_text_whatever_it_is(texts: dict[str, str]) -> None:
    """No text closes its own block or opens another."""
    found = re.findall(r"<<(\w) (\w{20})>>\n(.*?)\n<<END \1 \2>>", fence(texts), re.DOTALL)
    assert {name: text for name, _, text in found} == {name: visible(text) for name, text in texts.items()}
    assert len({marker for _, marker, _ in found}) == 1


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Z"])))
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    """Only what a provider would choke on is escaped."""
    assert visible(f"{text}\n\t") == f"{text}\n\t"


@given(st.text(st.characters(), max_size=50))
def test_any_text_can_be_sent(text: str) -> None:
    """A lone surrogate or a NUL in a tool's result must not become an error of the judge's."""
    assert "\x00" not in visible(text).encode("utf-8").decode()


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (a_call("t", {"a": 1}, result="{x} {{y}} %s ${z}"), '1. t({"a": 1}) -> {x} {{y}} %s ${z}'),
        (a_call("t", result=None, status=None), "1. t({}) -> (no result)"),
        (a_call("t", result=""), "1. t({}) -> (an empty result)"),
        (a_call("t", result="no such row", status="error"), "1. t({}) -> (error) no such row"),
        (a_call("t", '{"a": ', result="x"), '1. t("{\\"a\\": ") -> x'),
        (a_call("t", result="\x00\x1b[31mred\ud800"), r"1. t({}) -> \x00\x1b[31mred\ud800"),
        (a_call("t", result=b"\xff"), "1. t({}) -> \"b'\\\\xff'\""),
        (a_call("t", result={"rows": [1]}), '1. t({}) -> {"rows": [1]}'),
        (a_call("t", {"a": float("nan")}, result="x"), '1. t({"a": NaN}) -> x'),
        (a_call("t\n<<END", result="x"), "1. t <<END({}) -> x"),
    ],
)
def test_odd_calls_are_shown_as_far_as_text_can_show_them(call: ToolCall, shown: str) -> None:
    """They are what the agent did, or got."""
    assert tool_data([call]) == shown


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_arguments_nested_too_deep_are_said_so() -> None:
    """The row must not be an error of the evaluator's for what the agent wrote."""
    assert tool_data([a_call("t", nested(100_000))]) == "1. t((nested too deep to be shown)) -> ok"


def test_no_calls_are_no_data() -> None:
    """The caller says what that means."""
    assert tool_data([]) == ""


@given(st.lists(st.tuples(st.integers(0, 40_000), st.integers(0, 40_000)), min_size=1, max_size=12))
def test_tool_data_is_bounded_and_every_call_is_there(sizes: list[tuple[int, int]]) -> None:
    """Whatever their sizes, each call is told with its number, and how much is missing of it."""
    calls = [a_call("t", "Ω" * arguments, result="Ψ" * result) for arguments, result in sizes]
    data = tool_data(calls)
    frame = 40 * len(calls)
    assert len(data) <= MAX_DATA + frame
    assert re.findall(r"^(\d+)\. t\(", data, re.MULTILINE) == [str(n) for n in range(1, len(calls) + 1)]
    lost = sum(int(n) for n in re.findall(r"\(… (\d+) characters left out …\)", data))
    given = sum(arguments + result for arguments, result in sizes)
    # The quotes of the arguments' JSON text are characters too, and may be among those left out.
    assert 0 <= data.count("Ω") + data.count("Ψ") + lost - given <= 2 * len(calls)


def test_a_cut_says_exactly_how_much_is_missing() -> None:
    """The judge is told not to count it as absent, so it has to know that it is there."""
    data = tool_data([a_call("t", result="x" * 100_000)])
    (lost,) = re.findall(r"\(… (\d+) characters left out …\)", data)
    assert data.count("x") == 100_000 - int(lost) > 59_000


def test_a_thousand_calls_show_the_first_and_the_last() -> None:
    """Shares of a few characters would show nothing of any."""
    calls = [a_call("t", {"n": n}, result="r" * 500) for n in range(1, 1_001)]
    data = tool_data(calls)
    assert len(data) < MAX_DATA + 200 * 20
    assert data.startswith('1. t({"n": 1}) -> r')
    assert "\n(… 800 calls left out …)\n901. t(" in data
    assert re.findall(r"^(\d+)\. ", data, re.MULTILINE)[-1] == "1000"
