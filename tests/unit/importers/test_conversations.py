"""Real conversations from files: three formats, told by content; every problem with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.session.file_session_manager import FileSessionManager

from makers import assistant, in_turn, results, user
from makers import said as spoken
from nightgate.errors import InputError
from nightgate.importers.conversations import Transcripts, read_transcripts
from nightgate.simulators import Conversation
from nightgate.talks import EndReason


def said(*texts: str) -> list[dict[str, Any]]:
    """User and assistant by turns, the user first."""
    return [
        {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)
    ]


def read(folder: Path, *lines: Any, name: str = "a.jsonl") -> Transcripts:
    """Write lines (JSON values, or text as it is) and read the folder."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (folder / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    return read_transcripts(folder)


def refused(folder: Path, *lines: Any, name: str = "a.jsonl") -> str:
    with pytest.raises(InputError) as caught:
        read(folder, *lines, name=name)
    return str(caught.value).replace(str(folder), "F")


# --- our own lines ---


def test_a_line_is_a_conversation(tmp_path: Path) -> None:
    line = {
        "id": "chat-1",
        "messages": said("Hello", "Which code?", "BK-1"),
        "end_reason": "goal_met",
        "case_id": "moves",
        "facts": {"code": "BK-1", "phone": 612},
    }
    assert read(tmp_path, line).conversations == (
        Conversation(
            name="chat-1",
            said=("Hello", "BK-1"),
            turns=2,
            end_reason=EndReason.GOAL_MET,
            case_id="moves",
            facts={"code": "BK-1", "phone": "612"},
            where=f"{tmp_path}/a.jsonl:1",
        ),
    )


def test_messages_in_a_row_are_one_turn(tmp_path: Path) -> None:
    """People write in bits; the assistant answers once."""
    messages = [
        {"role": "assistant", "content": "Good morning."},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "thursday please"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": " "},
        {"role": "user", "content": "ok"},
    ]
    (found,) = read(tmp_path, {"id": "a", "messages": messages}).conversations
    assert (found.said, found.turns) == (("hi", "thursday please", "ok"), 2)


def test_what_is_not_said_is_unknown(tmp_path: Path) -> None:
    """No end reason, no case, no facts: none is invented; the place stands in for the id."""
    (found,) = read(tmp_path, {"messages": said("Hello"), "channel": "web"}).conversations
    assert (found.name, found.end_reason, found.case_id, found.facts) == ("a.jsonl:1", None, None, None)


def test_prompts_and_tool_results_are_nobodys_words(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "x"}, *said("Hi"), {"role": "tool", "content": "y"}]
    (found,) = read(tmp_path, {"id": "a", "messages": messages}).conversations
    assert found.said == ("Hi",)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ({"messages": [{"role": "customer", "content": "Hi"}]}, "message 1: role 'customer' is not user or"),
        ({"messages": [{"role": ["user"], "content": "Hi"}]}, "message 1: role ['user'] is not user or"),
        ({"messages": [{"content": "Hi"}]}, "message 1: must be an object with role and content"),
        ({"messages": ["Hi"]}, "message 1: must be an object with role and content"),
        (
            {"messages": [{"role": "user", "content": 3}]},
            "message 1: content must be text or a list of blocks",
        ),
        ({"messages": {}}, "messages: must be a list, not an object"),
        ({"messages": []}, "conversation 'a.jsonl:1' has no message of the user's"),
        ({"messages": said("", "Hello?")}, "conversation 'a.jsonl:1' has no message of the user's"),
        ({"message": []}, "has no messages; did you mean 'message'?"),
        (
            {"messages": said("Hi"), "end_reson": "stalled"},
            "unknown key 'end_reson'; did you mean 'end_reason'?",
        ),
        (
            {"messages": said("Hi"), "end_reason": "goal-met"},
            "end_reason: unknown 'goal-met'; did you mean 'goal_met'?",
        ),
        ({"messages": said("Hi"), "end_reason": 3}, "end_reason: unknown '3'; known are goal_met"),
        (
            {"messages": said("Hi"), "facts": ["BK-1"]},
            "facts: must be an object of names and values, not a list",
        ),
        ({"messages": said("Hi"), "facts": {"code": []}}, "facts.code: must be text, not a list"),
        ({"messages": said("Hi"), "id": True}, "id: must be text, not true or false"),
        ({"messages": said("Hi"), "case_id": ""}, "case_id: must be text, not empty text"),
        ("3", "is no conversation but a number"),
    ],
)
def test_a_line_that_is_none_is_refused_with_its_place(line: Any, wanted: str, tmp_path: Path) -> None:
    assert f"F/a.jsonl:1: {wanted}" in refused(tmp_path, line)


def test_all_problems_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"messages": [{"role": "bot", "content": "Hi"}]}\n')
    (tmp_path / "c.csv").write_text("id,text\n")
    told = refused(tmp_path, {"messages": said("Hi")}, '{"messages": [', {"messages": []}).splitlines()
    # A file with a damaged line is not looked into further: what it holds is not known.
    assert told == [
        "F/a.jsonl:2: ends in the middle of a value (column 15)",
        "F/b.jsonl:1: message 1: role 'bot' is not user or assistant",
        "F/c.csv:1: is not read under this name; rename it to .jsonl or .json, or move it",
    ]


def test_one_conversation_twice_is_refused(tmp_path: Path) -> None:
    """It would count twice."""
    line = {"id": "a", "messages": said("Hi")}
    assert refused(tmp_path, line, line) == "F/a.jsonl:2: conversation 'a' stands in F/a.jsonl:1 already"


def test_notes_and_hidden_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Where these come from.")
    (tmp_path / ".gitkeep").write_text("")
    assert len(read(tmp_path, {"messages": said("Hi")}).conversations) == 1


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no conversation"):
        read_transcripts(tmp_path)


def test_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder; put real conversations into it"):
        read_transcripts(tmp_path / "transcripts")


# --- tau-bench ---


def a_result(*messages: dict[str, Any], reward: float = 0.0, task: int = 0) -> dict[str, Any]:
    """An entry of a tau-bench result file."""
    return {"task_id": task, "reward": reward, "info": {}, "traj": list(messages), "trial": 0}


def calls(name: str) -> dict[str, Any]:
    call = {"function": {"name": name, "arguments": "{}"}, "id": "1", "type": "function"}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


TOOL = {"role": "tool", "tool_call_id": "1", "name": "x", "content": "ok"}
STOP = {"role": "user", "content": "Great, bye. ###STOP###"}


@pytest.mark.parametrize(
    ("messages", "reward", "reason"),
    [
        ([*said("Hi", "Done."), STOP], 1.0, EndReason.GOAL_MET),
        ([*said("Hi", "Done."), STOP], 0.0, EndReason.USER_SATISFIED),
        (said("Hi", "One moment."), 0.0, EndReason.TURN_LIMIT),
        ([*said("Hi"), calls("transfer_to_human_agents"), TOOL], 0.0, None),
    ],
)
def test_a_tau_bench_result_ends_as_its_reward_and_its_user_say(
    messages: list[dict[str, Any]], reward: float, reason: EndReason | None, tmp_path: Path
) -> None:
    """The reward is decided by state; a hand-over to a person is no reason of ours."""
    (found,) = read(tmp_path, [a_result(*messages, reward=reward)], name="a.json").conversations
    assert found.end_reason == reason


def test_a_tau_bench_user_is_heard_without_its_token(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "Policy."}, *said("Hi", "Done."), STOP]
    (found,) = read(tmp_path, [a_result(*messages)], name="a.json").conversations
    assert (found.said, found.turns, found.name) == (("Hi", "Great, bye."), 2, "a, task 0, trial 0")


def test_a_token_alone_is_no_message(tmp_path: Path) -> None:
    messages = [*said("Hi", "Done."), {"role": "user", "content": "###STOP###"}]
    (found,) = read(tmp_path, [a_result(*messages)], name="a.json").conversations
    assert (found.said, found.turns) == (("Hi",), 1)


def test_tool_results_of_a_text_agent_are_not_the_users(tmp_path: Path) -> None:
    """Its agents without tool calls get them as messages of the user."""
    messages = said("Hi", "Action: x", "API output: {}", "Done.", "Thanks")
    (found,) = read(tmp_path, [a_result(*messages)], name="a.json").conversations
    assert found.said == ("Hi", "Thanks")


def test_a_task_that_broke_before_it_began_is_left_out(tmp_path: Path) -> None:
    found = read(tmp_path, [a_result(), a_result(*said("Hi"), task=1)], name="a.json")
    assert (len(found.conversations), found.left_out) == (1, 1)


def test_a_damaged_result_is_said_with_its_place_in_the_list(tmp_path: Path) -> None:
    bad = {"task_id": 1, "traj": "x"}
    assert refused(tmp_path, [a_result(*said("Hi")), bad], name="a.json") == (
        "F/a.json:1: item 2: traj: must be a list, not text"
    )


# --- Strands ---


def test_content_blocks_are_read_as_their_text(tmp_path: Path) -> None:
    messages = [
        user("Hi"),
        assistant("One moment.", ("1", "look", {})),
        results(("1", "found")),
        assistant("Which code?"),
        user("BK-1"),
    ]
    (found,) = read(tmp_path, {"id": "a", "messages": messages}).conversations
    assert (found.said, found.turns) == (("Hi", "BK-1"), 2)


async def test_a_strands_session_folder_is_a_conversation(tmp_path: Path) -> None:
    """As the library's own session manager writes it."""
    agent = Agent(
        model=in_turn(spoken("Which code?"), spoken("Done.")),
        agent_id="desk",
        session_manager=FileSessionManager(session_id="s1", storage_dir=str(tmp_path)),
        callback_handler=None,
    )
    await agent.invoke_async("Hi")
    await agent.invoke_async("BK-1")

    (found,) = read_transcripts(tmp_path).conversations

    assert (found.name, found.said, found.turns) == ("session_s1/agent_desk", ("Hi", "BK-1"), 2)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_messages_of_a_session_in_one_file_are_one_conversation(name: str, tmp_path: Path) -> None:
    wrapped = [
        {"message": message, "message_id": number, "redact_message": None}
        for number, message in enumerate([user("Hi"), assistant("Yes?"), user("BK-1")])
    ]
    lines = wrapped if name.endswith("l") else [wrapped]
    (found,) = read(tmp_path, *lines, name=name).conversations
    assert (found.said, found.turns) == (("Hi", "BK-1"), 2)


def test_a_redacted_message_counts_as_it_was_redacted(tmp_path: Path) -> None:
    line = {"message": user("My code is BK-1"), "message_id": 0, "redact_message": user("[redacted]")}
    (found,) = read(tmp_path, line).conversations
    assert found.said == ("[redacted]",)


def test_lists_of_messages_are_conversations(tmp_path: Path) -> None:
    found = read(tmp_path, said("Hi"), said("Ho", "Yes?", "Well")).conversations
    assert [talk.turns for talk in found] == [1, 2]


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    assert "F/a.json:1: is empty" in refused(tmp_path, [], name="a.json")


def test_a_folder_that_is_no_session_is_refused(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    assert "F/more:1: is no Strands session" in refused(tmp_path, {"messages": said("Hi")})


def test_a_damaged_message_of_a_session_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "session_s1" / "agents" / "agent_a" / "messages"
    folder.mkdir(parents=True)
    (folder / "message_0.json").write_text('{"message": {"role": "us')
    with pytest.raises(InputError, match=r"message_0\.json:1: ends in the middle"):
        read_transcripts(tmp_path)
