"""Names of evaluators, and of what kind each one is, without importing any of them.

Owns the built-in names and the generated list of Strands evaluators (``strands_names.json``, compared
with the installed library by a test). Knows no evaluator's code: ``check`` needs neither Strands nor
user code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from nightgate.cases.problems import nearest

Kind = Literal["code", "judge", "metric"]
"""``metric``: a figure by code, measured only until a threshold is set."""
Source = Literal["expect", "persona", "named", "strands"]
"""What plans it: a part of ``expect``, a persona, or its being named in suite.yaml."""

CRITERION = "Criterion:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One evaluator that needs no ``use:``."""

    name: str
    kind: Kind
    source: Source
    default_threshold: str | None
    """Decimal text; None: measured until suite.yaml sets one."""
    params: tuple[str, ...] = ()
    """Keys that ``params`` may have."""
    required: tuple[str, ...] = ()
    """Keys that it must have."""
    reads_expected: bool = False
    """Whether it looks at the case's ``expected_output``."""


CODE_THRESHOLD = "1.0"
JUDGE_THRESHOLD = "0.85"


def _code(name: str, source: Source, *params: str) -> Known:
    return Known(name=name, kind="code", source=source, default_threshold=CODE_THRESHOLD, params=params)


def _metric(name: str, kind: Kind, source: Source) -> Known:
    return Known(name=name, kind=kind, source=source, default_threshold=None)


_BUILTIN = (
    _code("ToolPolicy", "expect"),
    _code("ArgumentPolicy", "expect"),
    _code("CitesSource", "expect", "pattern"),
    _code("AnswerPolicy", "expect"),
    _code("StateReached", "expect"),
    _code("SkillPolicy", "expect"),
    _code("BlockedAsExpected", "expect"),
    _code("GoalCompletion", "persona"),
    _code("LimitHeld", "persona"),
    _metric("TurnsToResolve", "metric", "persona"),
    _metric("TurnEfficiency", "metric", "persona"),
    _metric("Elicitation", "metric", "persona"),
    _metric("ReAsks", "metric", "persona"),
    _metric("PerceivedOnly", "metric", "persona"),
    _metric("Contradictions", "judge", "named"),
    _metric("TurnQuality", "judge", "named"),
)

BUILTIN: Mapping[str, Known] = {known.name: known for known in _BUILTIN}


@cache
def strands() -> Mapping[str, Known]:
    """Evaluators of the Strands library by class name, from the generated list."""
    listed = json.loads(Path(__file__).with_name("strands_names.json").read_text(encoding="utf-8"))
    return {
        name: Known(
            name=name,
            kind=entry["kind"],
            source="strands",
            default_threshold=JUDGE_THRESHOLD if entry["kind"] == "judge" else CODE_THRESHOLD,
            params=tuple(entry["params"]),
            required=tuple(entry["required"]),
            reads_expected=entry["reads_expected"],
        )
        for name, entry in listed.items()
    }


def known_evaluator(name: str) -> Known | None:
    """What is known of ``name``; None for custom names, which suite.yaml gives a ``use:``.

    >>> known_evaluator("Criterion:same-language").default_threshold
    '0.85'
    """
    if name.startswith(CRITERION):
        return Known(name=name, kind="judge", source="expect", default_threshold=JUDGE_THRESHOLD)
    return BUILTIN.get(name) or strands().get(name)


def known_names() -> tuple[str, ...]:
    """Every name that needs no ``use:``, the built-in ones first; without ``Criterion:<id>``."""
    return (*BUILTIN, *strands())


def nearest_evaluator(name: str, more: Iterable[str] = ()) -> str | None:
    """The known name (or one of ``more``) that ``name`` most likely stands for."""
    return nearest(name, (*known_names(), *more))
