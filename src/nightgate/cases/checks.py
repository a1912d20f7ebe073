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
from nightgate.cases.fields import compile_problem
from nightgate.cases.models import Case, EvaluatorConfig, Suite
from nightgate.cases.names import BUILTIN, CRITERION, Known, known_evaluator, nearest_evaluator, strands
from nightgate.cases.nodes import Node, Scalar, Table, position
from nightgate.cases.problems import Problem, did_you_mean, nearest
from nightgate.cases.scripts import Script
from nightgate.cases.specs import parse_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCase:
    """A case as it stands in a file; ``case`` is None when it has problems of its own."""

    path: Path
    node: Node
    case: Case | None

    @property
    def id(self) -> str | None:
        """Its id as written, if there is one."""
        entry = self.node.entries.get("id") if isinstance(self.node, Table) else None
        return entry.node.text if entry is not None and isinstance(entry.node, Scalar) else None


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
    """The checks of one suite whose files have all been read without problems of their own."""

    def __init__(
        self, suite: Suite, node: Node, read: Sequence[ReadCase], scripts: Mapping[str, ReadScript | None]
    ) -> None:
        """Take what was read.

        Args:
            suite: With its cases.
            node: The tree of suite.yaml.
            read: The cases with their trees, in suite order; every ``case`` is there.
            scripts: By name; None for one that has problems of its own.
        """
        self.suite, self.node, self.read, self.scripts = suite, node, read, scripts
        self.criteria = {
            f"{CRITERION}{criterion.id}" for case in suite.cases for criterion in case.expect.judge
        }

    def problems(self) -> Iterator[Problem]:
        """Every problem, in no particular order."""
        evaluators = list(self._evaluators())
        yield from evaluators
        yield from self._models()
        yield from self._roles()
        yield from self._scripts()
        # An evaluator that is narrowed by a typo leaves cases that ask for nothing; one report is enough.
        if not evaluators:
            yield from self._cases()

    def _at_suite(self, loc: tuple[str, ...], message: str) -> Problem:
        line, column = position(self.node, loc)
        return Problem(path=self.suite.file, line=line, column=column, message=message)

    # -- evaluators -------------------------------------------------------------------------------

    def _evaluators(self) -> Iterator[Problem]:
        for name, config in self.suite.evaluators.items():
            message = self._name_problem(name, config)
            if message is not None:
                yield self._at_suite(("evaluators", name), message)
                continue
            yield from self._param_problems(name, config)
            if self.suite.cases:
                yield from self._narrowing_problems(name, config)

    def _name_problem(self, name: str, config: EvaluatorConfig) -> str | None:
        if not name.strip():
            return "an evaluator needs a name"
        if config.use is not None:
            if name in BUILTIN or name.startswith(CRITERION):
                return f"evaluator {name!r} is built in; give the class under use: a name of its own"
            return None
        if name.startswith(CRITERION):
            if name in self.criteria or not self.suite.cases:
                return None
            return (
                f"no case has the judge criterion of {name!r}{_guess(nearest(name, sorted(self.criteria)))}"
            )
        if known_evaluator(name) is not None:
            return None
        guess = _guess(nearest_evaluator(name, self.criteria))
        return f"unknown evaluator {name!r}{guess or '; a custom one needs use: module:Class'}"

    def _param_problems(self, name: str, config: EvaluatorConfig) -> Iterator[Problem]:
        known: Known | None = None if config.use is not None else known_evaluator(name)
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
        if missing:
            message = f"evaluator {name!r} needs params: {{{', '.join(f'{key}: ...' for key in missing)}}}"
            yield self._at_suite(("evaluators", name), message)

    def _narrowing_problems(self, name: str, config: EvaluatorConfig) -> Iterator[Problem]:
        ids = [case.id for case in self.suite.cases]
        for pattern in config.cases or ():
            if not any(matches(case_id, pattern) for case_id in ids):
                message = (
                    f"evaluator {name!r}: no case is meant by {pattern!r}{_guess(nearest(pattern, ids))}"
                )
                yield self._at_suite(("evaluators", name, "cases"), message)
        tags = sorted({tag for case in self.suite.cases for tag in case.tags})
        for tag in config.tags or ():
            if tag not in tags:
                message = f"evaluator {name!r}: no case has the tag {tag!r}{_guess(nearest(tag, tags))}"
                yield self._at_suite(("evaluators", name, "tags"), message)

    # -- models -----------------------------------------------------------------------------------

    def _models(self) -> Iterator[Problem]:
        suite, live = self.suite, self.suite.live
        for loc, text in (
            (("model",), suite.model),
            (("judge",), suite.judge),
            (("user",), suite.user),
            (("live", "model"), live.model),
            (("live", "judge"), live.judge),
            (("live", "user"), live.user),
        ):
            spec = parse_spec(text) if text is not None else None
            if spec is not None and spec.scripted and spec.name not in self.scripts:
                hint = did_you_mean(spec.name, sorted(self.scripts)) or "; write it"
                message = f"{'.'.join(loc)}: there is no scripts/{spec.name}.yaml{hint}"
                yield self._at_suite(loc, message)

    def _roles(self) -> Iterator[Problem]:
        suite = self.suite
        if suite.judge is None:
            asked = dict.fromkeys(name for case in suite.cases for name in evaluators_of(suite, case))
            judges = [name for name in asked if _is_judge(name, suite.evaluators.get(name))]
            if judges:
                message = (
                    f"judge is missing, and {', '.join(judges[:3])} cannot run without one; "
                    "pin the judge model, such as judge: scripted:judge"
                )
                yield self._at_suite((), message)
        talking = [case.id for case in suite.cases if case.persona is not None]
        if suite.user is None and talking:
            message = (
                f"user is missing: case {talking[0]!r} has a persona; "
                "name the simulated user's model, such as user: scripted:user"
            )
            yield self._at_suite((), message)

    # -- cases ------------------------------------------------------------------------------------

    def _cases(self) -> Iterator[Problem]:
        for read, case in zip(self.read, self.suite.cases, strict=True):
            planned = evaluators_of(self.suite, case)
            if not planned:
                message = (
                    f"case {case.id!r} asks for nothing; "
                    "add expect, or an evaluator in suite.yaml that runs on it"
                )
                yield self._at_case(read, (), message)
                continue
            for key in ("require", "may_skip"):
                for i, name in enumerate(getattr(case, key)):
                    if name not in planned:
                        hint = did_you_mean(name, planned)
                        message = f"case {case.id!r}: {key} names {name!r}, which does not run on it{hint}"
                        yield self._at_case(read, (key, i), message)

    def _at_case(self, read: ReadCase, loc: tuple[str | int, ...], message: str) -> Problem:
        line, column = position(read.node, loc)
        return Problem(path=read.path, line=line, column=column, message=message)

    # -- scripts ----------------------------------------------------------------------------------

    def _scripts(self) -> Iterator[Problem]:
        custom = [name for name, config in self.suite.evaluators.items() if config.use is not None]
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


def _is_judge(name: str, config: EvaluatorConfig | None) -> bool:
    if config is not None and config.use is not None:
        return False
    known = known_evaluator(name)
    return known is not None and known.kind == "judge"


def _guess(name: str | None) -> str:
    return f"; did you mean {name!r}?" if name is not None else ""
