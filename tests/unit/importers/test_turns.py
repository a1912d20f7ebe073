"""One turn out of many spans: what counts once, what belongs to it, what is left out and told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.importers.masks import masked
from nightgate.importers.otel import span_of
from nightgate.importers.overlaps import Overlaps
from nightgate.importers.records import Recorded
from nightgate.importers.turns import last_turn

SOURCE = {"kind": "otel", "about": "spans"}


def a_span(
    number: int, operation: str = "chat", *, parent: int | None = None, status: str = "OK", **attributes: Any
) -> dict[str, Any]:
    return {
        "trace_id": "t1",
        "span_id": str(number),
        "parent_span_id": None if parent is None else str(parent),
        "name": operation,
        "start_time": number * 10,
        "end_time": number * 10 + 5,
        "status": {"code": status},
        "attributes": {
            "gen_ai.operation.name": operation,
            **{f"gen_ai.{name.replace('__', '.')}": value for name, value in attributes.items()},
        },
    }


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


def use(call_id: str, name: str = "find", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def result(call_id: str, response: Any = "ok") -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": response}


def chat(number: int, inputs: list[Any], *outputs: Any, parent: int | None = None) -> dict[str, Any]:
    return a_span(number, parent=parent, input__messages=inputs, output__messages=list(outputs))


def tool(number: int, **more: Any) -> dict[str, Any]:
    return a_span(number, "execute_tool", **more)


def read(*records: dict[str, Any]) -> Recorded:
    recorded, _ = last_turn([span_of(record) for record in records], SOURCE)
    assert recorded is not None
    return recorded


def names(recorded: Recorded) -> list[str]:
    return [f"{call.name} {json.dumps(call.arguments)}" for call in recorded.calls]


HI = said("user", "Hi")


def test_a_call_in_many_histories_counts_once() -> None:
    """Every later model call repeats all earlier ones."""
    history: list[Any] = [HI]
    spans = []
    for number in range(4):
        answer = said("assistant", use(f"c{number}", n=number)) if number < 3 else said("assistant", "Done.")
        spans.append(chat(number, list(history), answer))
        history += [answer, said("tool", result(f"c{number}"))]

    recorded = read(*spans)

    assert names(recorded) == ['find {"n": 0}', 'find {"n": 1}', 'find {"n": 2}']
    assert [call.step for call in recorded.calls] == [0, 1, 2]
    assert recorded.output == "Done."


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(1, 6), st.randoms())
def test_any_window_on_the_history_gives_the_same_calls(sizes: list[int], window: int, order: Any) -> None:
    """Agents drop old messages; exporters write spans in any order."""
    history: list[Any] = [HI]
    spans, wanted = [], []
    for step, size in enumerate(sizes):
        ids = [f"c{step}-{index}" for index in range(size)]
        wanted += [(step, call_id) for call_id in ids]
        answer = said("assistant", *(use(call_id, at=call_id) for call_id in ids))
        spans.append(chat(2 * step, history[-2 * window - 1 :], answer))
        history += [answer, said("tool", *(result(call_id) for call_id in ids))]
    spans.append(chat(2 * len(sizes), history[-2 * window - 1 :], said("assistant", "Done.")))
    order.shuffle(spans)

    recorded = read(*spans)

    assert [(call.step, call.call_id) for call in recorded.calls] == wanted
    assert recorded.output == "Done."


def test_equal_calls_with_ids_of_their_own_all_count() -> None:
    """An agent that asks the same twice did it twice; that may be the very fault."""
    first, second = said("assistant", use("c1", n=1)), said("assistant", use("c2", n=1))
    one, two = said("tool", result("c1")), said("tool", result("c2"))

    recorded = read(
        chat(1, [HI], first),
        chat(2, [HI, first, one], second),
        chat(3, [HI, first, one, second, two], said("assistant", "x")),
    )

    assert [call.call_id for call in recorded.calls] == ["c1", "c2"]


def test_one_id_for_all_calls_loses_none() -> None:
    """Some servers give every call of an answer the same id."""
    answer = said("assistant", use("call", n=1), use("call", n=2))
    back = said("tool", result("call", "one"), result("call", "two"))

    recorded = read(
        chat(1, [HI], answer),
        tool(2, tool__name="find", tool__call__id="call", tool__call__arguments='{"n": 1}'),
        tool(3, tool__name="find", tool__call__id="call", tool__call__arguments='{"n": 2}'),
        chat(4, [HI, answer, back], said("assistant", "x")),
    )

    assert [(call.arguments, call.result) for call in recorded.calls] == [
        ({"n": 1}, "one"),
        ({"n": 2}, "two"),
    ]


def ran(number: int, call_id: str, n: int, response: str, name: str = "find") -> dict[str, Any]:
    return tool(
        number,
        tool__name=name,
        tool__call__id=call_id,
        tool__call__arguments=json.dumps({"n": n}),
        tool__call__result=response,
    )


@given(st.permutations(range(4)), st.booleans(), st.booleans())
def test_tools_that_finish_in_another_order_keep_their_results(
    order: list[int], shared: bool, told: bool
) -> None:
    """With one id for all, only the arguments tell which tool ran for which call."""
    ids = ["call" if shared else f"c{n}" for n in range(4)]
    answer = said("assistant", *(use(ids[n], n=n) for n in range(4)))
    back = said("tool", *(result(ids[n], f"result {n}") for n in order))
    spans = [ran(2 + at, ids[n], n, f"result {n}") for at, n in enumerate(order)]

    recorded = read(
        chat(1, [HI], answer),
        *spans,
        chat(7, [HI, answer, *([back] if told else [])], said("assistant", "x")),
    )

    assert [(call.arguments["n"], call.result) for call in recorded.calls] == [
        (n, f"result {n}") for n in range(4)
    ]


def test_two_tools_with_one_id_are_told_apart_by_their_names() -> None:
    """Spans need not have arguments."""
    answer = said("assistant", use("call", "find", n=1), use("call", "pay", n=2))
    spans = [
        tool(2 + at, tool__name=name, tool__call__id="call", tool__call__result=f"{name} ran")
        for at, name in enumerate(("pay", "find"))
    ]

    recorded = read(chat(1, [HI], answer), *spans, chat(5, [HI, answer], said("assistant", "x")))

    assert [(call.name, call.result) for call in recorded.calls] == [("find", "find ran"), ("pay", "pay ran")]


def test_results_that_name_their_tool_meet_its_call() -> None:
    """Nothing else tells them apart where ids are shared or missing and no tool has a span."""
    answer = said("assistant", use("", "find"), use("", "pay"))
    back = said("tool", *({**result("", f"{name} ran"), "name": name} for name in ("pay", "find")))

    recorded = read(chat(1, [HI], answer), chat(3, [HI, answer, back], said("assistant", "x")))

    assert [(call.name, call.result) for call in recorded.calls] == [("find", "find ran"), ("pay", "pay ran")]


def test_arguments_that_a_span_writes_differently_are_the_same() -> None:
    """``12.0`` is ``12``; the order of keys means nothing."""
    answer = said("assistant", use("call", n=1, m=2), use("call", n=3, m=4))
    spans = [
        tool(
            2,
            tool__name="find",
            tool__call__id="call",
            tool__call__arguments='{"m": 4.0, "n": 3}',
            tool__call__result="b",
        ),
        tool(
            3,
            tool__name="find",
            tool__call__id="call",
            tool__call__arguments='{"m": 2, "n": 1.0}',
            tool__call__result="a",
        ),
    ]

    recorded = read(chat(1, [HI], answer), *spans)

    assert [call.result for call in recorded.calls] == ["a", "b"]


@pytest.mark.parametrize("text", [" ", "\u00a0", "\u2028", "\u200b", "\n\t"])
def test_a_blank_question_is_no_content(text: str) -> None:
    """The draft of it could not be loaded."""
    recorded, reading = last_turn([span_of(chat(1, [said("user", text)], said("assistant", "Hi?")))], SOURCE)

    assert recorded is None
    assert reading.blank


def test_a_blank_message_beside_a_question_is_left_out_in_silence() -> None:
    """It says nothing that could be missed."""
    recorded = read(chat(1, [said("user", " "), HI, said("user", "\n")], said("assistant", "Ho")))

    assert (recorded.input, recorded.unread) == ("Hi", ())


def test_the_agents_span_fills_in_for_a_blank_question() -> None:
    """As for a missing one."""
    recorded = read(
        a_span(0, "invoke_agent", input__messages=[HI]), chat(1, [said("user", " ")], said("assistant", "Ho"))
    )

    assert (recorded.input, recorded.output) == ("Hi", "Ho")


def test_a_blank_last_message_does_not_bring_the_turn_before_it_back() -> None:
    """Its answer would be taken for that turn's."""
    spans = [chat(1, [HI, said("assistant", "Ho"), said("user", " ")], said("assistant", "Hm?"))]

    assert last_turn([span_of(span) for span in spans], SOURCE)[0] is None


def test_many_conversations_take_no_more_than_their_number() -> None:
    """Each was once laid over every other; counted, not timed: comparisons of whole items."""
    spans = [chat(n, [said("user", f"q{n}")], said("assistant", "a")) for n in range(300)]
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    overlaps = Overlaps()
    for span in spans:
        keys = [Counted(part["content"]) for part in span["attributes"]["gen_ai.input.messages"][0]["parts"]]
        assert overlaps.find(keys) is None
        overlaps.add(keys)
    overlaps.outer()

    assert compared <= 3 * len(spans)
    assert len(read(*spans).unread) == len(spans) - 1


def test_what_earlier_turns_hold_is_looked_through_for_secrets() -> None:
    """A password of the first turn may come back in the last one."""
    login, done = said("assistant", use("c1", "login", password="hunter2hunter2")), said("assistant", "Hi.")
    again = said("user", "Was it hunter2hunter2?")
    history = [HI, login, said("tool", result("c1")), done, again]

    recorded = masked(read(chat(1, [HI], login), chat(3, history, said("assistant", "Yes."))), ())

    assert recorded.input == "Was it [redacted]?"


def test_calls_without_ids_meet_their_tool_spans_by_arguments() -> None:
    """Otherwise each would count twice."""
    answer = said("assistant", use("", n=1), use("", n=2))

    recorded = read(
        chat(1, [HI], answer),
        tool(
            2,
            tool__name="find",
            tool__call__id="x2",
            tool__call__arguments='{"n": 2}',
            tool__call__result="two",
        ),
        tool(
            3,
            tool__name="find",
            tool__call__id="x1",
            tool__call__arguments='{"n": 1}',
            tool__call__result="one",
        ),
    )

    assert [(call.arguments, call.result) for call in recorded.calls] == [
        ({"n": 1}, "one"),
        ({"n": 2}, "two"),
    ]


def test_a_failed_tool_span_outweighs_the_text_in_the_history() -> None:
    """A history holds an error's text like any other result."""
    answer = said("assistant", use("c1"))
    failed = tool(2, tool__name="find", tool__call__id="c1", status="ERROR")

    recorded = read(
        chat(1, [HI], answer),
        failed,
        chat(3, [HI, answer, said("tool", result("c1", "no service"))], said("assistant", "x")),
    )

    assert [(call.status, call.result) for call in recorded.calls] == [("error", "no service")]


def test_tool_spans_alone_tell_the_calls_in_their_order() -> None:
    """Some record content on the agent's span and its tools, not on model calls."""
    agent = a_span(0, "invoke_agent", input__messages=[HI], output__messages=[said("assistant", "Done.")])

    recorded = read(
        tool(5, parent=0, tool__name="b", tool__call__arguments='{"n": 2}', tool__call__result="two"),
        agent,
        tool(3, parent=0, tool__name="a", tool__call__arguments={"n": 1.0}, tool__call__result="one"),
    )

    assert names(recorded) == ['a {"n": 1.0}', 'b {"n": 2}']
    assert [call.step for call in recorded.calls] == [0, 1]
    assert (recorded.input, recorded.output) == ("Hi", "Done.")


def test_lone_tool_spans_that_overlap_are_parallel() -> None:
    """Nothing else tells which calls were asked for together."""
    agent = a_span(0, "invoke_agent", input__messages=[HI], output__messages=[said("assistant", "x")])
    slow, quick = tool(1, tool__name="a"), tool(2, tool__name="b")
    slow["end_time"] = quick["end_time"]

    recorded = read(agent, slow, quick, tool(5, tool__name="c"))

    assert [call.step for call in recorded.calls] == [0, 0, 1]
    assert [str(item) for item in recorded.unread] == [
        f"call {name}: the arguments of {name} were not recorded" for name in "abc"
    ]


def test_a_call_that_only_the_tool_span_knows_stands_at_its_time() -> None:
    """A model call whose content was dropped lies between two that have theirs."""
    first, last = said("assistant", use("c1", "a")), said("assistant", use("c3", "c"))

    recorded = read(
        chat(1, [HI], first),
        tool(2, tool__name="b", tool__call__id="c2", tool__call__arguments="{}"),
        chat(3, [HI, first, said("tool", result("c1"))], last),
    )

    assert [call.name for call in recorded.calls] == ["a", "b", "c"]


def test_arguments_that_are_no_json_stay_text() -> None:
    """The model wrote them so; a check must see it."""
    answer = said("assistant", {"type": "tool_call", "id": "c1", "name": "find", "arguments": "{broken"})

    assert read(chat(1, [HI], answer)).calls[0].arguments == "{broken"


@pytest.mark.parametrize("value", [1, 1.0, True, None, "1", [1], {"a": None}, "no", 0.1, -0.0, 10**30])
def test_types_of_arguments_survive(value: Any) -> None:
    """``1``, ``1.0``, ``true`` and ``"1"`` are four answers to "which argument did it choose"."""
    objects = read(chat(1, [HI], said("assistant", use("c1", x=value))))
    text = {"type": "tool_call", "id": "c1", "name": "find", "arguments": json.dumps({"x": value})}

    assert (
        names(objects)
        == names(read(chat(1, [HI], said("assistant", text))))
        == [f"find {json.dumps({'x': value})}"]
    )


def test_the_last_turn_is_taken_and_earlier_ones_are_told() -> None:
    """A case asks one thing; what came before is named, not silently dropped."""
    before = [HI, said("assistant", use("c1", n=1)), said("tool", result("c1")), said("assistant", "Ho")]
    again = said("user", "And now?")
    answer = said("assistant", use("c2", n=2))

    recorded = read(
        tool(1, tool__name="find", tool__call__id="c1", tool__call__arguments='{"n": 1}'),
        chat(2, [*before, again], answer),
        chat(4, [*before, again, answer, said("tool", result("c2"))], said("assistant", "Done.")),
    )

    assert (recorded.input, names(recorded), recorded.output) == ("And now?", ['find {"n": 2}'], "Done.")
    assert [str(item) for item in recorded.unread] == ["conversation: an earlier turn left out: 'Hi'"]


def test_of_two_user_messages_in_a_row_the_first_is_the_input() -> None:
    """What is added behind it (reminders, retrieved text) is told."""
    recorded = read(chat(1, [HI, said("user", "<context>")], said("assistant", "Ho")))

    assert recorded.input == "Hi"
    assert [str(item) for item in recorded.unread] == [
        "conversation: a second user message left out: '<context>'"
    ]


def test_parts_of_one_message_are_lines_of_the_input() -> None:
    """As the agent's own log joins them."""
    assert read(chat(1, [said("user", "a", "b")], said("assistant", "x"))).input == "a\nb"


def test_an_agent_behind_a_tool_keeps_its_calls_to_itself() -> None:
    """Its calls are the tool's doing: a case of the outer agent must not expect them."""
    answer = said("assistant", use("c1", "ask_expert"))
    inner = said("assistant", use("i1", "search"))

    recorded = read(
        a_span(0, "invoke_agent", input__messages=[HI]),
        chat(1, [HI], answer, parent=0),
        tool(2, parent=0, tool__name="ask_expert", tool__call__id="c1"),
        a_span(3, "invoke_agent", parent=2, input__messages=[said("user", "inner")]),
        chat(4, [said("user", "inner")], inner, parent=3),
        tool(5, parent=3, tool__name="search", tool__call__id="i1"),
        chat(7, [HI, answer, said("tool", result("c1"))], said("assistant", "Done."), parent=0),
    )

    assert [call.name for call in recorded.calls] == ["ask_expert"]
    assert recorded.input == "Hi"
    assert [str(item) for item in recorded.unread] == [
        "span 2 (execute_tool): 3 spans inside it left out: they are the tool's own doing"
    ]


def test_a_conversation_within_anothers_time_is_not_the_agents_own() -> None:
    """Log events have no parents; only their times tell an inner agent."""
    answer = said("assistant", use("c1", "ask_expert"))

    recorded = read(
        chat(1, [HI], answer),
        chat(2, [said("user", "inner")], said("assistant", "inner answer")),
        chat(3, [HI, answer, said("tool", result("c1"))], said("assistant", "Done.")),
    )

    assert (recorded.input, recorded.output) == ("Hi", "Done.")
    assert str(recorded.unread[0]) == "trace: another conversation left out; it begins with 'inner'"


def test_a_service_that_keeps_the_history_is_followed() -> None:
    """It is sent only what is new."""
    recorded = read(
        chat(1, [HI], said("assistant", use("c1", n=1))),
        chat(2, [said("tool", result("c1", "one"))], said("assistant", "Done.")),
    )

    assert [(call.result, recorded.output) for call in recorded.calls] == [("one", "Done.")]


def test_a_missing_answer_is_told() -> None:
    """The trace may have been cut, or the agent ended in an error."""
    recorded = read(chat(1, [HI], said("assistant", use("c1"))))

    assert recorded.output is None
    assert [str(item) for item in recorded.unread] == ["final answer: none was recorded"]


def test_the_agents_span_fills_in_for_a_missing_answer() -> None:
    """Its own span may say what the last model call did not."""
    recorded = read(
        a_span(0, "invoke_agent", input__messages=[HI], output__messages=[said("assistant", "Done.")]),
        chat(1, [HI], said("assistant", use("c1"))),
    )

    assert recorded.output == "Done."
    assert [str(item) for item in recorded.unread] == ["final answer: taken from the agent's span"]


def test_the_agents_span_fills_in_for_a_missing_question() -> None:
    """Model calls that record their output only."""
    recorded = read(
        a_span(0, "invoke_agent", input__messages=[HI]),
        a_span(1, output__messages=[said("assistant", use("c1", n=1))]),
        a_span(2, output__messages=[said("assistant", "Done.")]),
    )

    assert (recorded.input, names(recorded), recorded.output) == ("Hi", ['find {"n": 1}'], "Done.")


def test_reasoning_is_neither_said_nor_called() -> None:
    """It is not what the user saw."""
    thought = {"type": "reasoning", "content": "hmm"}

    recorded = read(chat(1, [HI], said("assistant", thought, "Done.")))

    assert (recorded.output, recorded.unread) == ("Done.", ())


def test_a_users_json_stays_text() -> None:
    """It looks like blocks of content and is none."""
    text = '[{"text": "a", "id": 7}]'

    assert read(chat(1, [said("user", text)], said("assistant", "x"))).input == text
