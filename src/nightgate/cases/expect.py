"""What a case asks for, one part an evaluator.

Owns the parts of ``expect`` and their inner contradictions. An empty part asks for nothing; only for
``cites`` and ``blocked`` does presence itself mean something. Knows no evaluator's code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from nightgate.cases.fields import CHOICE, Breach, Count, Flag, JsonObject, Name, Names, Record, Regexes

ANY_TOOL = "*"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def _language(value: str) -> str:
    if not _LANGUAGE.fullmatch(value):
        raise ValueError(f"{value!r} is no language code; write one such as en, es or pt-BR")
    return value


class ToolsExpected(Record):
    """Names of tools; order and repeats are free."""

    must_call: Names = ()
    must_not_call: Names = ()
    """``*`` means that no tool at all may be called."""
    max_calls: Mapping[str, Count] = Field(default_factory=dict)

    def breaches(self) -> Iterator[Breach]:
        """Demands that no run can meet together."""
        if ANY_TOOL in self.must_call or ANY_TOOL in self.max_calls:
            yield Breach('"*" is for must_not_call only; name the tools')
        for tool in dict.fromkeys(self.must_call):
            if tool == ANY_TOOL:
                continue
            if tool in self.must_not_call or ANY_TOOL in self.must_not_call:
                yield Breach(f"{tool!r} must be called and must not be called")
            if self.max_calls.get(tool) == 0:
                yield Breach(f"{tool!r} must be called and may be called 0 times")

    @property
    def asks(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.must_call or self.must_not_call or self.max_calls)


class ArgumentsExpected(Record):
    """Holds if any one call of ``tool`` matches; fails if there was none."""

    tool: Name
    where: JsonObject
    match: Annotated[Literal["subset", "exact"], CHOICE] = "subset"


class AnswerExpected(Record):
    """Text checks on the last answer."""

    contains: Names = ()
    contains_any: Names = ()
    not_contains: Names = ()
    matches: Regexes = ()
    not_matches: Regexes = ()
    language: Annotated[Name, AfterValidator(_language)] | None = None
    exact: Flag = False
    """Compare after NFC only, instead of folding case, accents, quotes, dashes and white space."""

    @property
    def asks(self) -> bool:
        """Whether there is anything to check."""
        parts = (self.contains, self.contains_any, self.not_contains, self.matches, self.not_matches)
        return any(parts) or self.language is not None


class SkillsExpected(Record):
    """Names of skills that must, or must not, be loaded."""

    loaded: Names = ()
    not_loaded: Names = ()

    def breaches(self) -> Iterator[Breach]:
        """Demands that no run can meet together."""
        for skill in dict.fromkeys(self.loaded):
            if skill in self.not_loaded:
                yield Breach(f"skill {skill!r} must be loaded and must not be loaded")

    @property
    def asks(self) -> bool:
        """Whether there is anything to check."""
        return bool(self.loaded or self.not_loaded)


class Criterion(Record):
    """One concrete question to a judge; becomes the evaluator ``Criterion:<id>``."""

    id: Name
    criterion: Name


class Expect(Record):
    """Everything a case asks for in ``expect``."""

    tools: ToolsExpected = Field(default_factory=ToolsExpected)
    arguments: tuple[ArgumentsExpected, ...] = ()
    cites: Names | None = None
    """Exactly these, as a set; () that nothing may be cited; None that citations are not asked about."""
    answer: AnswerExpected = Field(default_factory=AnswerExpected)
    state: JsonObject = Field(default_factory=dict)
    """Dotted path into the target's final state -> JSON value."""
    skills: SkillsExpected = Field(default_factory=SkillsExpected)
    judge: tuple[Criterion, ...] = ()
    blocked: Flag | None = None
    """True: a guardrail stop is the right outcome; None that it is not asked about."""

    def breaches(self) -> Iterator[Breach]:
        """Criteria that could not be told apart."""
        ids = Counter(criterion.id for criterion in self.judge)
        for criterion_id, count in ids.items():
            if count > 1:
                yield Breach(f"judge id {criterion_id!r} is there twice; each is an evaluator of its own")
