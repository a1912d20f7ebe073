"""Recorded conversations with real users: a folder of files -> the users' side of each.

Owns which formats are read, told by content: our own lines, tau-bench result files, Strands sessions.
Every problem of every file is told at once. Knows no suite: which case a conversation belongs to is
written down here and looked up elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nightgate.cases.problems import Problem, did_you_mean, nearest
from nightgate.errors import InputError
from nightgate.importers.lines import read_json
from nightgate.simulators import Conversation
from nightgate.talks import EndReason

_WANTED = "conversations: one a line, an object with messages"
_KEYS = ("id", "messages", "end_reason", "case_id", "facts")
_SPEAKERS = ("user", "assistant")
_SILENT = frozenset({"system", "developer", "tool", "function"})
"""Roles that other tools write and that are nobody's words."""
_UNREAD = frozenset({".md", ".txt"})
_STOP, _HANDED_OVER = "###STOP###", "transfer_to_human_agents"
"""What ends a tau-bench conversation: the user's word, and a tool of the agent's."""
_TOOL_OUTPUT = "API output: "
"""Its text agents get the results of tools as messages of the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcripts:
    """What a folder holds."""

    conversations: tuple[Conversation, ...]
    left_out: int
    """Recordings without a word of the user, as of tasks that broke before they began."""


class _OddError(ValueError):
    """A part of a recording that cannot be read."""


@dataclass(slots=True)
class _Reader:
    """What has been read so far."""

    conversations: list[Conversation] = field(default_factory=list)
    left_out: int = 0
    problems: list[str] = field(default_factory=list)
    ids: dict[str, str] = field(default_factory=dict)
    """Id -> where it stands first."""

    def file(self, path: Path) -> None:
        """Read one file."""
        try:
            values = read_json(path, _WANTED)
        except InputError as error:
            self.problems.append(str(error))
            return
        records = [
            (record, value.line, f"item {number}: " if len(items) > 1 else "")
            for value in values
            for items in [_items(value.data)]
            for number, record in enumerate(items, start=1)
        ]
        messages = [_spoken(record) for record, _, _ in records]
        if not records:
            self.problem(path, 1, f"is empty; it should hold {_WANTED}")
        elif None not in messages:
            self.session(path, messages, records[0][1], path.stem)
        else:
            self.records(path, records)

    def records(self, path: Path, records: Sequence[tuple[Any, int, str]]) -> None:
        """Read the conversations of a file: each with its line, and which item of a list it is."""
        for record, line, item in records:
            try:
                self.record(record, path, line)
            except _OddError as odd:
                self.problem(path, line, f"{item}{odd}")

    def record(self, record: Any, path: Path, line: int) -> None:
        """Read one conversation of a file.

        Raises:
            _OddError: If it is none.
        """
        if _listed(record):
            record = {"messages": record}
        if not isinstance(record, Mapping):
            raise _OddError(f"is no conversation but {_kind(record)}; it should hold {_WANTED}")
        if "traj" in record:
            self.add(_of_tau(record, path), path, line)
        elif "messages" in record:
            self.add(_of_ours(record, path, line), path, line)
        else:
            raise _OddError(f"has no messages{did_you_mean('messages', list(map(str, record)))}")

    def session(self, path: Path, messages: Sequence[Any], line: int, name: str) -> None:
        """Take a list of messages for one conversation."""
        try:
            self.add(_heard(_words(messages), name), path, line)
        except _OddError as odd:
            self.problem(path, line, str(odd))

    def folder(self, folder: Path) -> None:
        """Read the agents of a Strands session: a file a message, numbered."""
        agents = sorted(path for path in folder.glob("agents/agent_*") if path.is_dir())
        if not agents:
            self.problem(folder, 1, "is no Strands session: it has no agents/agent_*/messages; move files up")
        for agent in agents:
            files = sorted(agent.glob("messages/message_*.json"), key=_number)
            messages = []
            try:
                messages = [_spoken(value.data) for file in files for value in read_json(file, "a message")]
            except InputError as error:
                self.problems.append(str(error))
                continue
            self.session(agent, messages, 1, f"{folder.name}/{agent.name}")

    def add(self, conversation: Conversation, path: Path, line: int) -> None:
        """Take a conversation, unless nothing was said in it."""
        where = f"{path}:{line}"
        first = self.ids.setdefault(conversation.name, where)
        if first != where:
            raise _OddError(f"conversation {conversation.name!r} stands in {first} already")
        if not conversation.said:
            self.left_out += 1
            return
        self.conversations.append(replace(conversation, where=where))

    def problem(self, path: Path, line: int, message: str) -> None:
        """Note a problem."""
        self.problems.append(str(Problem(path=path, line=line, message=message)))


def read_transcripts(folder: Path) -> Transcripts:
    """All conversations of a folder, files and sessions by name.

    Raises:
        InputError: If there is no folder or nothing in it, or with every problem of its files.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder}: there is no such folder; put real conversations into it, {_WANTED.partition(': ')[2]}"
        )
    reader = _Reader()
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    entries = [path for path in entries if path.suffix not in _UNREAD]
    for path in entries:
        if path.is_dir():
            reader.folder(path)
        elif path.suffix in (".jsonl", ".json"):
            reader.file(path)
        else:
            reader.problem(path, 1, "is not read under this name; rename it to .jsonl or .json, or move it")
    if reader.problems:
        raise InputError("\n".join(reader.problems))
    if not reader.conversations:
        raise InputError(f"{folder}: holds no conversation; put real ones into it, {_WANTED}")
    return Transcripts(conversations=tuple(reader.conversations), left_out=reader.left_out)


# -- formats ------------------------------------------------------------------------------------------


def _of_ours(record: Mapping[str, Any], path: Path, line: int) -> Conversation:
    for key in record:
        meant = nearest(key, _KEYS, cutoff=0.8)
        if key not in _KEYS and meant is not None and meant not in record:
            raise _OddError(f"unknown key {key!r}; did you mean {meant!r}?")
    messages = record["messages"]
    if not isinstance(messages, list):
        raise _OddError(f"messages: must be a list, not {_kind(messages)}")
    name = _text(record, "id") or f"{path.name}:{line}"
    heard = _heard(_words([_spoken(message) for message in messages]), name)
    if not heard.said:
        raise _OddError(f"conversation {name!r} has no message of the user's")
    return Conversation(
        name=name,
        said=heard.said,
        turns=heard.turns,
        end_reason=_reason(record),
        case_id=_text(record, "case_id"),
        facts=_facts(record),
    )


def _of_tau(record: Mapping[str, Any], path: Path) -> Conversation:
    """A result of tau-bench. A full reward says that the state was right; it goes on after that."""
    messages = record["traj"]
    if not isinstance(messages, list):
        raise _OddError(f"traj: must be a list, not {_kind(messages)}")
    name = f"{path.stem}, task {record.get('task_id')}, trial {record.get('trial', 0)}"
    spoken = list(_words([_spoken(message) for message in messages]))
    words = [(role, text) for role, text in spoken if not (role == "user" and text.startswith(_TOOL_OUTPUT))]
    users = [text for role, text in words if role == "user"]
    heard = _heard(((role, text.replace(_STOP, "").strip()) for role, text in words), name)
    reward = record.get("reward")
    reason: EndReason | None = EndReason.TURN_LIMIT
    if isinstance(reward, int | float) and reward > 1 - 1e-6:
        reason = EndReason.GOAL_MET
    elif users and _STOP in users[-1]:
        reason = EndReason.USER_SATISFIED
    elif _HANDED_OVER in str(messages[-2:]):
        reason = None  # handed to a person: no reason of ours
    return Conversation(name=name, said=heard.said, turns=heard.turns, end_reason=reason)


# -- messages -----------------------------------------------------------------------------------------


def _items(data: Any) -> list[Any]:
    """The items of a list; what is no list, or a list that is one conversation, is one item."""
    return data if isinstance(data, list) and not _listed(data) else [data]


def _listed(data: Any) -> bool:
    """Whether it is a list of messages."""
    return isinstance(data, list) and bool(data) and all(_spoken(item) is not None for item in data)


def _spoken(record: Any) -> Any:
    """The message in a record: the record itself, or what a Strands session wraps; None if it is none.

    A message that was redacted counts as it was redacted.
    """
    if isinstance(record, Mapping) and isinstance(record.get("message"), Mapping):
        record = record.get("redact_message") or record["message"]
    return record if isinstance(record, Mapping) and "role" in record else None


def _words(messages: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Who said what; messages without words have empty text.

    Raises:
        _OddError: If a message is none, or of a role that nobody knows.
    """
    for number, message in enumerate(messages, start=1):
        if message is None:
            raise _OddError(f"message {number}: must be an object with role and content")
        role = message["role"]
        if isinstance(role, str) and role in _SILENT:
            continue
        if role not in _SPEAKERS:
            raise _OddError(f"message {number}: role {role!r} is not user or assistant")
        yield role, _said(message.get("content"), number)


def _said(content: Any, number: int) -> str:
    """The text of a message: as it is, or of its text blocks."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        raise _OddError(f"message {number}: content must be text or a list of blocks, not {_kind(content)}")
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _heard(words: Iterator[tuple[str, str]] | Sequence[tuple[str, str]], name: str) -> Conversation:
    """The user's side: messages, and turns, between which the assistant spoke."""
    said: list[str] = []
    turns, answered = 0, True
    for role, text in words:
        if role == "user" and text:
            turns += answered
            answered = False
            said.append(text)
        elif role == "assistant":
            answered = True
    return Conversation(name=name, said=tuple(said), turns=turns)


# -- the keys beside the messages ---------------------------------------------------------------------


def _text(record: Mapping[str, Any], key: str, within: str = "") -> str | None:
    value = record.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise _OddError(f"{within}{key}: must be text, not {_kind(value)}")
    return str(value)


def _reason(record: Mapping[str, Any]) -> EndReason | None:
    value = _text(record, "end_reason")
    known = [reason.value for reason in EndReason]
    if value is not None and value not in known:
        raise _OddError(f"end_reason: unknown {value!r}{did_you_mean(value, known)}")
    return None if value is None else EndReason(value)


def _facts(record: Mapping[str, Any]) -> Mapping[str, str] | None:
    facts = record.get("facts")
    if facts is None:
        return None
    if not isinstance(facts, Mapping):
        raise _OddError(f"facts: must be an object of names and values, not {_kind(facts)}")
    return {name: _text(facts, name, "facts.") or "" for name in facts}


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return "empty text" if not value else "text"
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _number(path: Path) -> tuple[int, str]:
    digits = path.stem.rpartition("_")[2]
    return (int(digits) if digits.isdecimal() else 0, path.name)
