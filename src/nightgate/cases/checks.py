"""Checks across a suite's files: names that must exist elsewhere, models that something needs.

Owns every rule that one record cannot decide on its own. Reads no files; ``loading`` hands it the
objects together with the trees that give positions.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nightgate.cases.asks import evaluators_of, matches
from nightgate.cases.binding import Loc, dotted
from nightgate.cases.fields import compile_problem
from nightgate.cases.judges import Judged
from nightgate.cases.models import Case, EvaluatorConfig, Suite
from nightgate.cases.names import BUILTIN, CRITERION, Known, known_evaluator, nearest_evaluator, strands
from nightgate.cases.nodes import Node, Scalar, Table, position
from nightgate.cases.problems import Problem, did_you_mean, nearest
from nightgate.cases.scripts import Script
from nightgate.cases.specs import parse_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCase:
    """A case as it stands in a file."""

    path: Path
    node: Node
    case: Case | None
    """What is right of it; None when nothing is."""
    damaged: frozenset[Loc] = frozenset()
    """Parts that are not what was meant; what is missing there says nothing."""

    @property
    def id(self) -> str | None:
        """Its id as written, if there is one."""
        entry = self.node.entries.get("id") if isinstance(self.node, Table) else None
        return entry.node.text if entry is not None and isinstance(entry.node, Scalar) else None

    @property
    def about(self) -> str:
        """What messages call it."""
        return f"case {self.id!r}" if self.id else "case"

    def has(self, key: str) -> bool:
        """Whether ``key`` is written, right or wrong."""
        return isinstance(self.node, Table) and key in self.node.entries

    def is_sure(self, *keys: str) -> bool:
        """Whether all that was meant under ``keys`` is in ``case``."""
        return self.case is not None and not any(loc[0] in keys for loc in self.damaged)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScript:
    """A script of the suite with its tree."""

    script: Script
    node: Node


def duplicate_ids(read: Sequence[ReadCase]) -> Iterator[Problem]:
    """Ids that are equal after NFC: rows of the two could not be told apart."""
    first: dict[str, ReadCase] = {}
    for item in read:
        if item.id is None:
            continue
        other = first.setdefault(unicodedata.normalize("NFC", item.id), item)
        if other is item:
            continue
        line, column = position(item.node, ("id",))
        where = f"{other.path}:{position(other.node, ('id',))[0]}"
        same = "" if other.id == item.id else f", where it is written {other.id!r} (equal after Unicode NFC)"
        message = f"id {item.id!r} is there twice, first in {where}{same}; ids are unique in a suite"
        yield Problem(path=item.path, line=line, column=column, message=message)


class SuiteChecks:
    """The checks of one suite, as far as its files could be read.

    What is there is always checked. That something is not there is told only where nothing that was
    refused can be meant by it: each slip is reported once.
    """

    def __init__(
        self,
        suite: Suite,
        node: Node,
        read: Sequence[ReadCase],
        scripts: Mapping[str, ReadScript | None],
        *,
        damaged: frozenset[Loc] = frozenset(),
        unread: bool = False,
    ) -> None:
        """Take what was read.

        Args:
            suite: With its cases.
            node: The tree of suite.yaml.
            read: The cases with their trees, in suite order.
            scripts: By name; None for one that cannot be read.
            damaged: Parts of suite.yaml that are not what was meant.
            unread: Whether there may be more cases.
        """
        self.suite, self.node, self.read, self.scripts = suite, node, read, scripts
        self.damaged, self.unread = damaged, unread
        # An entry that was refused as a whole may have been any evaluator.
        self.lost = any(loc[0] == "evaluators" and len(loc) <= 2 for loc in damaged)  # noqa: PLR2004
        self.criteria = {
            f"{CRITERION}{criterion.id}" for case in suite.cases for criterion in case.expect.judge
        }

    def problems(self) -> Iterator[Problem]:
        """Every problem, in no particular order."""
        found = {name: list(self._evaluator(name, config)) for name, config in self.suite.evaluators.items()}
        for problems in found.values():
            yield from problems
        yield from self._models()
        yield from self._roles()
        yield from self._scripts()
        yield from self._cases(self._meant({name for name, problems in found.items() if problems}))

    def _is_damaged(self, *part: str) -> bool:
        return any(loc[: len(part)] == part for loc in self.damaged)

    def _all_sure(self, *keys: str) -> bool:
        """Whether every case of the suite is known under ``keys``."""
        return not self.unread and all(item.is_sure(*keys) for item in self.read)

    def _at_suite(self, loc: Loc, message: str) -> Problem:
        line, column = position(self.node, loc)
        return Problem(path=self.suite.file, line=line, column=column, message=message)

    # -- evaluators -------------------------------------------------------------------------------

    def _evaluator(self, name: str, config: EvaluatorConfig) -> Iterator[Problem]:
        message = self._name_problem(name, config)
        if message is not None:
            yield self._at_suite(("evaluators", name), message)
            return
        yield from self._param_problems(name, config)
        if self.read:
            yield from self._narrowing_problems(name, config)

    def _meant(self, wrong: set[str]) -> Suite:
        """The suite with its evaluators as they were most likely meant: a typo is one problem.

        A misspelt name stands for the nearest one; a narrowing with a mistake in it narrows nothing.
        """
        narrowing = ("layers", "tags", "cases")
        evaluators = {}
        for name, config in self.suite.evaluators.items():
            if name in wrong or any(self._is_damaged("evaluators", name, key) for key in narrowing):
                config = config.model_copy(update=dict.fromkeys(narrowing))  # noqa: PLW2901
            evaluators[self._nearest(name) or name if self._is_unknown(name, config) else name] = config
        return self.suite.model_copy(update={"evaluators": evaluators})

    def _nearest(self, name: str) -> str | None:
        return nearest_evaluator(name, self.criteria)

    def _is_custom(self, name: str, config: EvaluatorConfig) -> bool:
        return config.use is not None or self._is_damaged("evaluators", name, "use")

    def _is_unknown(self, name: str, config: EvaluatorConfig) -> bool:
        return not self._is_custom(name, config) and known_evaluator(name) is None

    def _name_problem(self, name: str, config: EvaluatorConfig) -> str | None:
        if not name.strip():
            return "an evaluator needs a name"
        if self._is_custom(name, config):
            if name in BUILTIN or name.startswith(CRITERION):
                return f"evaluator {name!r} is built in; give the class under use: a name of its own"
            return None
        if name.startswith(CRITERION):
            if name in self.criteria or not self.read or not self._all_sure("expect"):
                return None
            return (
                f"no case has the judge criterion of {name!r}{_guess(nearest(name, sorted(self.criteria)))}"
            )
        if known_evaluator(name) is not None:
            return None
        guess = _guess(self._nearest(name))
        return f"unknown evaluator {name!r}{guess or '; a custom one needs use: module:Class'}"

    def _param_problems(self, name: str, config: EvaluatorConfig) -> Iterator[Problem]:
        known: Known | None = None if self._is_custom(name, config) else known_evaluator(name)
        if known is None:
            return
        for key, value in config.params.items():
            loc = ("evaluators", name, "params", key)
            if key not in known.params:
                hint = did_you_mean(key, known.params) or "; it takes none"
                yield self._at_suite(loc, f"evaluator {name!r} has no parameter {key!r}{hint}")
            elif name in BUILTIN and key == "pattern":
                message = compile_problem(value)
                if message is not None:
                    yield self._at_suite(loc, f"evaluator {name!r}: pattern {message}")
        missing = [key for key in known.required if key not in config.params]
        if missing and not self._is_damaged("evaluators", name, "params"):
            message = f"evaluator {name!r} needs params: {{{', '.join(f'{key}: ...' for key in missing)}}}"
            yield self._at_suite(("evaluators", name), message)

    def _narrowing_problems(self, name: str, config: EvaluatorConfig) -> Iterator[Problem]:
        ids = [item.id for item in self.read if item.id is not None]
        for pattern in config.cases or () if self._all_sure("id") else ():
            if not any(matches(case_id, pattern) for case_id in ids):
                message = (
                    f"evaluator {name!r}: no case is meant by {pattern!r}{_guess(nearest(pattern, ids))}"
                )
                yield self._at_suite(("evaluators", name, "cases"), message)
        tags = sorted({tag for case in self.suite.cases for tag in case.tags})
        for tag in config.tags or () if self._all_sure("tags") else ():
            if tag not in tags:
                message = f"evaluator {name!r}: no case has the tag {tag!r}{_guess(nearest(tag, tags))}"
                yield self._at_suite(("evaluators", name, "tags"), message)

    # -- models -----------------------------------------------------------------------------------

    def _models(self) -> Iterator[Problem]:
        suite, live = self.suite, self.suite.live
        specs: list[tuple[Loc, str | None]] = [
            (("model",), suite.model),
            *_judges(("judge",), suite),
            (("user",), suite.user),
            (("live", "model"), live.model),
            *_judges(("live", "judge"), live),
            (("live", "user"), live.user),
        ]
        for loc, text in specs:
            spec = parse_spec(text) if text is not None else None
            if spec is not None and spec.scripted and spec.name not in self.scripts:
                hint = did_you_mean(spec.name, sorted(self.scripts)) or "; write it"
                message = f"{dotted(loc)}: there is no scripts/{spec.name}.yaml{hint}"
                yield self._at_suite(loc, message)

    def _roles(self) -> Iterator[Problem]:
        suite = self.suite
        if not suite.judges and not self._is_damaged("judge"):
            asked = dict.fromkeys(name for case in suite.cases for name in evaluators_of(suite, case))
            judges = [name for name in asked if _is_judge(name, suite.evaluators.get(name))]
            if judges:
                message = (
                    f"judge is missing, and {', '.join(judges[:3])} cannot run without one; "
                    "pin the judge model, such as judge: scripted:judge"
                )
                yield self._at_suite((), message)
        talking = [item.about for item in self.read if item.has("persona")]
        if suite.user is None and talking and not self._is_damaged("user"):
            message = (
                f"user is missing: {talking[0]} has a persona; "
                "name the simulated user's model, such as user: scripted:user"
            )
            yield self._at_suite((), message)

    # -- cases ------------------------------------------------------------------------------------

    def _cases(self, meant: Suite) -> Iterator[Problem]:
        for item in self.read:
            if item.case is None:
                continue
            planned = evaluators_of(meant, item.case)
            sure = not self.lost and item.is_sure("id", "layer", "tags", "expect", "persona")
            if sure and not planned:
                message = (
                    f"{item.about} asks for nothing; "
                    "add expect, or an evaluator in suite.yaml that runs on it"
                )
                yield self._at_case(item, (), message)
            for key in ("require", "may_skip"):
                for i, name in enumerate(getattr(item.case, key)):
                    if name in planned or not ((sure and planned) or self._is_nowhere(name)):
                        continue
                    message = (
                        f"{item.about}: {key} names {name!r}, which does not run on it"
                        f"{did_you_mean(name, planned)}"
                    )
                    # Positions in a list of which parts were taken out are not those of the file.
                    yield self._at_case(item, (key, i) if item.is_sure(key) else (key,), message)

    def _is_nowhere(self, name: str) -> bool:
        """Whether no repair of the case's other parts would make an evaluator of ``name``."""
        return not self.lost and name not in self.suite.evaluators and known_evaluator(name) is None

    def _at_case(self, read: ReadCase, loc: tuple[str | int, ...], message: str) -> Problem:
        line, column = position(read.node, loc)
        return Problem(path=read.path, line=line, column=column, message=message)

    # -- scripts ----------------------------------------------------------------------------------

    def _scripts(self) -> Iterator[Problem]:
        if self.lost:
            return
        custom = [
            name
            for name, config in self.suite.evaluators.items()
            if self._is_custom(name, config) or (self._is_unknown(name, config) and not self._nearest(name))
        ]
        for read in self.scripts.values():
            if read is None:
                continue
            for name in read.script.judgements:
                if name in custom or known_evaluator(name) is not None:
                    continue
                guess = _guess(nearest(name, [*custom, *self.criteria, *BUILTIN, *strands()]))
                line, column = position(read.node, ("judgements", name))
                message = f"judgements of the unknown evaluator {name!r}{guess}"
                yield Problem(path=read.script.path, line=line, column=column, message=message)


def _judges(loc: Loc, judged: Judged) -> Iterator[tuple[Loc, str | None]]:
    """Where each judge's spec stands: under the key itself, or in the panel's list."""
    if judged.panel is None:
        yield loc, judged.judge
        return
    for i, spec in enumerate(judged.panel.judges):
        yield (*loc, "panel", i), spec


def _is_judge(name: str, config: EvaluatorConfig | None) -> bool:
    if config is not None and config.use is not None:
        return False
    known = known_evaluator(name)
    return known is not None and known.kind == "judge"


def _guess(name: str | None) -> str:
    return f"; did you mean {name!r}?" if name is not None else ""
