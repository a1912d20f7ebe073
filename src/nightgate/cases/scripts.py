"""Scripted models as data: what a model says, call after call, trial after trial.

Owns the format of ``scripts/<name>.yaml`` and which steps a case, trial and evaluator get. Knows no
agent framework: ``adapters.scripted`` plays the steps, and looks for what a judge is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nightgate.cases.binding import bind, dotted
from nightgate.cases.documents import read_document
from nightgate.cases.nodes import Entry, Listing, Node, Table, describe
from nightgate.cases.problems import Problem, SuiteError, did_you_mean
from nightgate.cases.script_steps import Choice, ScriptPrice, Step

DEFAULT = "*"
"""The case id that stands for every case without an entry of its own."""

FIRST_MATCH = "first_match"
"""The key of a judgement that depends on what the judge is shown."""
_CHOOSING = frozenset({FIRST_MATCH, "sees"})
_CHOICE_FORM = "a judgement that depends on what the judge sees is {first_match: [{sees: ..., fields: ...}]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Playlist:
    """The steps of one trial (for a judge: of one judgement)."""

    steps: tuple[Step, ...]
    repeat: bool = False
    """The one step answers every call, as a judgement written as a single mapping does."""
    choices: tuple[Choice, ...] = ()
    """Of a ``first_match``: what the judge is shown decides, anew for each call; ``steps`` is empty."""

    def chosen(self, fits: Callable[[str], bool]) -> Playlist | None:
        """What plays for one call: the list itself, or the first choice whose pattern fits.

        Args:
            fits: Whether a pattern is found in what the judge is shown.

        Returns:
            None when none of the choices fits.
        """
        if not self.choices:
            return self
        for choice in self.choices:
            if choice.sees is None or fits(choice.sees):
                return Playlist(steps=(choice,), repeat=True)
        return None

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
        if judge and isinstance(node, Table) and FIRST_MATCH in node.entries:
            return self._first_match(node, loc)
        if judge and isinstance(node, Table):
            step = self._step(node, loc)
            return Playlist(steps=(step,) if step else (), repeat=True)
        wanted = "a step or a list of steps" if judge else "a list of steps such as [{say: ...}]"
        self._problem(node, loc, f"must be {wanted}, not {describe(node)}")
        return Playlist(steps=())

    def _first_match(self, node: Table, loc: tuple[str | int, ...]) -> Playlist:
        for key, entry in node.entries.items():
            if key != FIRST_MATCH:
                message = f"unknown key {key!r} beside {FIRST_MATCH}; options belong to its entries"
                self._problem(entry, loc, message)
        loc, entries = (*loc, FIRST_MATCH), node.entries[FIRST_MATCH].node
        if not isinstance(entries, Listing) or not entries.items:
            self._problem(
                entries, loc, "must be a list such as [{sees: a pattern, fields: ...}, {fields: ...}]"
            )
            return Playlist(steps=())
        choices: list[Choice] = []
        for i, item in enumerate(entries.items):
            choice, problems = bind(Choice, item, self.path, about=dotted((*loc, i)))
            self.problems += problems
            if choice is None:
                continue
            if choice.sees is None and i < len(entries.items) - 1:
                self._problem(
                    item, (*loc, i), "without sees it always fits, and nothing after it plays; put it last"
                )
            choices.append(choice)
        return Playlist(steps=(), choices=tuple(choices))

    def _step(self, node: Node, loc: tuple[str | int, ...]) -> Step | None:
        if isinstance(node, Table) and not _CHOOSING.isdisjoint(node.entries):
            for key in sorted(_CHOOSING.intersection(node.entries)):
                self._problem(node.entries[key], loc, f"{key} has no effect here; {_CHOICE_FORM}")
            return None
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
