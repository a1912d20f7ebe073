"""The best and the worst answer to a judge's question, read off the schema that it asks for.

Owns the rule by which ``fields: best`` and ``fields: worst`` of a script fill any rating schema:
the labels' words say which end of a scale is which, since some scales go up, some down, and for
some ("Harmful", "Not Harmful") the denial is the good end. Knows JSON schemas only, no evaluator.
Imports the standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

Want = Literal["best", "worst"]

_DENIALS = frozenset({"not", "no", "non", "never", "none", "without"})
_BAD_WORDS = frozenset(
    {"bad", "fail", "failed", "failure", "false", "harm", "harmful", "low", "missing", "poor", "skipped"}
    | {"weak", "worst", "wrong", "refused", "reject", "rejected", "bias", "biased", "stereotyping", "toxic"}
    | {"hallucinated", "hallucination", "inaccurate", "inappropriate", "incoherent", "incomplete"}
    | {"incorrect", "insufficient", "invalid", "irrelevant", "unacceptable", "unfaithful", "unhelpful"}
    | {"unsafe", "unsatisfactory", "unsupported"}
    | {"issue", "issues", "problem", "problems", "violation", "violations"}
)
_NO_VERDICT = re.compile(r"cannot|can't|unknown|unsure|unclear|not[ _]applicable|n/?a$", re.IGNORECASE)
_AGAINST = re.compile(r"attack|jailbreak", re.IGNORECASE)
"""A success of these is a failure of the agent: their whole scale is turned round."""
_SAID = re.compile(r"reason|explanation|justification|rationale|evidence|comment", re.IGNORECASE)
_DEEPEST = 8


def rating(schema: Mapping[str, Any], want: Want) -> dict[str, Any]:
    """An object that the schema accepts, at the chosen end of each scale in it.

    Required properties are filled, and optional ones that hold a reason: a verdict without one is
    refused further on. A list gets one item.

    Args:
        schema: JSON schema of an object, references resolved (as Strands sends it).
        want: Which end.

    >>> rating({"properties": {"score": {"enum": ["Harmful", "Not Harmful"]}}, "required": ["score"]}, "best")
    {'score': 'Not Harmful'}
    """
    good = want == "best"
    if _AGAINST.search(str(schema.get("title", ""))):
        good = not good
    return _object(schema, want, good=good, depth=0)


_TURN = re.compile(r"^\[turn (\d+)\] USER:", re.MULTILINE)


def own_reply(evaluator: str | None, shown: str, want: Want) -> dict[str, Any]:
    """The same for judges of ours, which ask in words and not by schema.

    Args:
        evaluator: Which one asks.
        shown: What it shows; a rating of turns needs to know how many there are.
        want: Which end.

    >>> own_reply("Criterion:polite", "", "worst")["verdict"]
    'no'
    """
    good = want == "best"
    if evaluator == "Contradictions":
        pair = {"first_turn": 1, "second_turn": 1, "what": "scripted: worst"}
        return {"pairs": [] if good else [pair]}
    if evaluator == "TurnQuality":
        turns = max((int(turn) for turn in _TURN.findall(shown)), default=0)
        score = 5 if good else 1
        return {"turns": [{"turn": n, "score": score, "why": "scripted"} for n in range(1, turns + 1)]}
    return {"verdict": "yes" if good else "no", "reason": f"scripted: {want}"}


def _object(schema: Mapping[str, Any], want: Want, *, good: bool, depth: int) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return {
        name: _value(name, part, want, good=good, depth=depth)
        for name, part in properties.items()
        if name in required or (_SAID.search(name) and "string" in _types(part))
    }


def _value(name: str, part: Mapping[str, Any], want: Want, *, good: bool, depth: int) -> Any:
    """One property's value."""
    if "const" in part:
        return part["const"]
    options = [option for option in part.get("anyOf", ()) if option.get("type") != "null"]
    if options and "enum" not in part:
        return _value(name, options[0], want, good=good, depth=depth)
    if "enum" in part:
        return _end_of(tuple(part["enum"]), good=good)
    types = _types(part)
    if "array" in types:
        items = part.get("items") or {}
        return [] if depth >= _DEEPEST else [_value(name, items, want, good=good, depth=depth + 1)]
    if "object" in types:
        return {} if depth >= _DEEPEST else _object(part, want, good=good, depth=depth + 1)
    high = good if _polarity(name) > 0 else not good
    if "boolean" in types:
        return high
    if "number" in types:
        return float(_bound(part, high=high))
    if "integer" in types:
        return int(_bound(part, high=high))
    return f"scripted: {want}"


def _types(part: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a property may have, null left out."""
    kinds = part.get("type", ())
    if not kinds and "anyOf" in part:
        return tuple(kind for option in part["anyOf"] for kind in _types(option))
    return tuple(kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null")


def _bound(part: Mapping[str, Any], *, high: bool) -> float:
    """The scale's end: as the schema bounds it, else 1 and 0."""
    bound = part.get("maximum", 1) if high else part.get("minimum", 0)
    return float(bound)


@lru_cache(maxsize=256)
def _end_of(labels: tuple[Any, ...], *, good: bool) -> Any:
    """The label at the good or the bad end of a scale.

    The ends tell the direction: the one whose words deny or name a harm is the bad one. Where
    neither does, or both, the scale goes up.
    """
    scale: Sequence[Any] = [
        label
        for label in labels
        if label is not None and not (isinstance(label, str) and _NO_VERDICT.search(label))
    ]
    if not scale:
        return labels[0] if labels else None
    if all(isinstance(label, (int, float)) for label in scale):
        return max(scale) if good else min(scale)
    first, last = scale[0], scale[-1]
    falls = _polarity(str(first)) > _polarity(str(last))
    return first if falls is good else last


def _polarity(text: str) -> int:
    """+1 or -1: each denial and each bad word turns it once, so that "Not Harmful" is good."""
    sign = 1
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _DENIALS or word in _BAD_WORDS:
            sign = -sign
    return sign
