"""Scripted models as data: what a model says, call after call, trial after trial.

Owns the format of ``scripts/<name>.yaml`` and which steps a case, trial and evaluator get. Knows no
agent framework: ``adapters.scripted`` plays the steps. ``raise`` is a word of Python, so the key
``raise`` is the attribute ``raise_``; all other attributes are named as the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nightgate.cases.binding import bind, dotted
from nightgate.cases.documents import read_document
from nightgate.cases.fields import (
    CHOICE,
    Breach,
    Count,
    Delay,
    Flag,
    Money,
    Name,
    Record,
    Shown,
    Text,
    Whole,
    json_value,
)
from nightgate.cases.nodes import Entry, Listing, Node, Plain, Table, describe
from nightgate.cases.problems import Problem, SuiteError, did_you_mean

DEFAULT = "*"
"""The case id that stands for every case without an entry of its own."""

Raise = Literal["throttled", "server_error", "timeout", "auth", "context_overflow", "error"]
Stop = Literal["max_tokens", "guardrail_intervened", "content_filtered"]


def _arguments(value: Any) -> Any:
    if isinstance(value, Plain):
        return value.source or {}
    if isinstance(value, str | Mapping):
        return json_value(value)
    raise ValueError("must be a mapping, or text that is sent as it is")


class ScriptCall(Record):
    """One tool call of a step."""

    name: Name
    arguments: Annotated[Mapping[str, Any] | str, BeforeValidator(_arguments)]
    """A JSON object, or text that is sent as it is, also when it is no JSON."""


class ScriptUsage(Record):
    """Tokens that a step claims to have used; the four kinds do not overlap."""

    input: Count = 0
    output: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0


class ScriptPrice(Record):
    """US dollars per million tokens."""

    input: Money = Decimal(0)
    output: Money = Decimal(0)
    cache_read: Money = Decimal(0)
    cache_write: Money = Decimal(0)


def _calls(value: Any) -> Any:
    """``{tool: arguments}`` or a list of such mappings -> the calls of one model turn."""
    mappings = value if isinstance(value, list | tuple) else [value]
    calls: list[Any] = []
    for mapping in mappings:
        if isinstance(mapping, ScriptCall):
            calls.append(mapping)
        elif isinstance(mapping, Mapping):
            calls.extend({"name": tool, "arguments": given} for tool, given in mapping.items())
        else:
            message = "must be {tool: {argument: value}} or a list of such mappings"
            raise ValueError(message)  # noqa: TRY004 - pydantic wants ValueError
    if not calls:
        raise ValueError("names no tool")
    return tuple(calls)


def _fields(value: Any) -> Any:
    if isinstance(value, Plain):
        value = value.source
    if isinstance(value, Mapping):
        return json_value(value)
    if value in ("best", "worst", None):
        return value
    raise ValueError(f"must be best, worst or a mapping, not {value!r}")


_CALLED: dict[str, Any] = {"type": "object", "minProperties": 1}
_CALL_SCHEMA: dict[str, Any] = {"anyOf": [_CALLED, {"type": "array", "items": _CALLED, "minItems": 1}]}


class Step(Record):
    """One answer of a model, or one way in which a call ends badly."""

    call: Annotated[tuple[ScriptCall, ...], BeforeValidator(_calls), Shown(_CALL_SCHEMA)] = ()
    """Tool calls asked for in parallel, in this one answer."""
    say: Text | None = None
    """Text of the answer; "" is an empty message; None is none."""
    fields: Annotated[
        Mapping[str, Any] | Literal["best", "worst"] | None,
        BeforeValidator(_fields),
        Shown({"anyOf": [{"enum": ["best", "worst"]}, {"type": "object"}]}),
    ] = None
    """Values for the schema that the caller asks for, or its best or worst rating."""
    raw: Text | None = None
    """The reply as it arrives where a schema was asked for, whether it fits or not."""
    usage: ScriptUsage | None = None
    delay_s: Delay = 0.0
    stop: Annotated[Stop, CHOICE] | None = None
    """Stop reason; None is the natural one."""
    cut: Flag = False
    """The stream ends without a stop."""
    raise_: Annotated[Raise, CHOICE] | None = Field(default=None, alias="raise")
    times: Whole | None = None
    """How many tries end so before the step answers or the next one is played; None: all of them."""

    def breaches(self) -> Iterator[Breach]:
        """Parts that do nothing or exclude each other."""
        bad = self.cut or self.raise_ is not None
        answers = self.call or self.say is not None or self.fields is not None or self.raw is not None
        if not (bad or answers or self.stop):
            does = ("say", "call", "fields", "raw", "stop", "cut", "raise")
            yield Breach(f"does nothing: give {', '.join(does[:-1])} or {does[-1]}", lacks=does)
        if self.times is not None and not bad:
            message = "times counts how often raise or cut happens, and there is neither"
            yield Breach(message, lacks=("raise", "cut"))
        if self.cut and self.raise_ is not None:
            yield Breach("cut and raise are two endings of one call; write two steps")
        if self.fields is not None and self.raw is not None:
            yield Breach("fields and raw are two replies; keep one")


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """The steps of one trial (for a judge: of one judgement)."""

    steps: tuple[Step, ...]
    repeat: bool = False
    """The one step answers every call, as a judgement written as a single mapping does."""

    def at(self, index: int) -> Step | None:
        """The step of call ``index`` (from 0); None when the script has run out."""
        if self.repeat:
            return self.steps[0]
        return self.steps[index] if index < len(self.steps) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What one case gets: trial i plays entry i modulo the number of entries."""

    trials: tuple[Playlist, ...]

    def of_trial(self, trial: int) -> Playlist:
        """Steps of ``trial``, counted from 0."""
        return self.trials[trial % len(self.trials)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A scripted model."""

    name: str
    path: Path = Path()
    replies: Mapping[str, Replies] = field(default_factory=dict)
    """By case id or ``*``: for the agent and the simulated user."""
    judgements: Mapping[str, Mapping[str, Replies]] = field(default_factory=dict)
    """By evaluator, then case id or ``*``."""
    price: ScriptPrice = field(default_factory=ScriptPrice)
    """Default 0: known, and nothing."""

    def steps(self, *, role: str, case_id: str, trial: int, evaluator: str | None = None) -> Playlist | None:
        """The steps for one trial of one case.

        Args:
            role: ``agent``, ``user`` or ``judge``; the first two share ``replies``.
            case_id: Verbatim; without an entry of its own it gets ``*``.
            trial: From 0.
            evaluator: The judge's evaluator.

        Returns:
            None when the script has nothing for it.
        """
        by_case = self.judgements.get(evaluator or "", {}) if role == "judge" else self.replies
        replies = by_case.get(case_id) or by_case.get(DEFAULT)
        return replies.of_trial(trial) if replies is not None else None

    @property
    def case_ids(self) -> frozenset[str]:
        """Every case id that the script names, without ``*``."""
        named = set(self.replies).union(*self.judgements.values())
        return frozenset(named - {DEFAULT})


def load_script(path: str | Path) -> Script:
    """Read ``scripts/<name>.yaml``.

    Raises:
        SuiteError: With every problem of the file.
    """
    script, _, problems = read_script(Path(path))
    if problems:
        raise SuiteError(problems)
    return script


def read_script(path: Path) -> tuple[Script, Node, list[Problem]]:
    """A script as far as it can be read, the tree that positions are looked up in, and its problems.

    Raises:
        SuiteError: If the file cannot be read or is empty.
    """
    document = read_document(path)
    root = document.root
    if root is None:
        raise SuiteError(
            [Problem(path=path, line=1, message="is empty; a script needs replies or judgements")]
        )
    reader = _Reader(path)
    script = reader.script(root)
    return script, root, [*document.problems, *reader.problems]


class _Reader:
    """Walks one script's tree and collects all of its problems."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[Problem] = []

    def script(self, root: Node) -> Script:
        parts = self._table(root, ())
        known = ("replies", "judgements", "price")
        for key, entry in parts.items():
            if key not in known:
                self._problem(entry, (), f"unknown key {key!r}{did_you_mean(key, known)}")
        replies: dict[str, Replies] = {}
        judgements: dict[str, dict[str, Replies]] = {}
        price = None
        if "replies" in parts:
            replies = self._by_case(parts["replies"].node, ("replies",), judge=False)
        if "judgements" in parts:
            evaluators = self._table(parts["judgements"].node, ("judgements",))
            for name, entry in evaluators.items():
                judgements[name] = self._by_case(entry.node, ("judgements", name), judge=True)
        if "price" in parts:
            price, problems = bind(ScriptPrice, parts["price"].node, self.path, about="price")
            self.problems += problems
        if "replies" not in parts and "judgements" not in parts:
            self._problem(root, (), "needs replies or judgements")
        return Script(
            name=self.path.stem,
            path=self.path,
            replies=replies,
            judgements=judgements,
            price=price or ScriptPrice(),
        )

    def _by_case(self, node: Node, loc: tuple[str, ...], *, judge: bool) -> dict[str, Replies]:
        return {
            case_id: self._replies(entry.node, (*loc, case_id), judge=judge)
            for case_id, entry in self._table(node, loc).items()
        }

    def _replies(self, node: Node, loc: tuple[str | int, ...], *, judge: bool) -> Replies:
        if not (isinstance(node, Table) and "trials" in node.entries):
            return Replies(trials=(self._playlist(node, loc, judge=judge),))
        for key, entry in node.entries.items():
            if key != "trials":
                self._problem(entry, loc, f"unknown key {key!r} beside trials; options belong to steps")
        entries = node.entries["trials"].node
        if not isinstance(entries, Listing) or not entries.items:
            self._problem(entries, (*loc, "trials"), "must be a list with one entry a trial")
            return Replies(trials=(Playlist(steps=()),))
        return Replies(
            trials=tuple(
                self._playlist(item, (*loc, "trials", i), judge=judge) for i, item in enumerate(entries.items)
            )
        )

    def _playlist(self, node: Node, loc: tuple[str | int, ...], *, judge: bool) -> Playlist:
        if isinstance(node, Listing):
            steps = [self._step(item, (*loc, i)) for i, item in enumerate(node.items)]
            return Playlist(steps=tuple(step for step in steps if step is not None))
        if judge and isinstance(node, Table):
            step = self._step(node, loc)
            return Playlist(steps=(step,) if step else (), repeat=True)
        wanted = "a step or a list of steps" if judge else "a list of steps such as [{say: ...}]"
        self._problem(node, loc, f"must be {wanted}, not {describe(node)}")
        return Playlist(steps=())

    def _step(self, node: Node, loc: tuple[str | int, ...]) -> Step | None:
        step, problems = bind(Step, node, self.path, about=dotted(loc))
        self.problems += problems
        return step

    def _table(self, node: Node, loc: tuple[str, ...]) -> Mapping[str, Entry]:
        if isinstance(node, Table):
            return node.entries
        self._problem(node, loc, f"must be a mapping, not {describe(node)}")
        return {}

    def _problem(self, spot: Node | Entry, loc: tuple[str | int, ...], message: str) -> None:
        prefix = f"{dotted(loc)}: " if loc else ""
        self.problems.append(
            Problem(path=self.path, line=spot.line, column=spot.column, message=f"{prefix}{message}")
        )
