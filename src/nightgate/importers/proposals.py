"""What was seen in a turn -> expectations that a person may confirm.

Owns which expectations are worth proposing: each holds for the recorded turn itself, so that the
case passes with the recorded replies. Knows no YAML and no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate.cases.expect import ANY_TOOL
from nightgate.evaluators.citations import CITATION, cited_ids
from nightgate.evaluators.text import fold, fold_needle
from nightgate.evaluators.values import equal, parsed
from nightgate.importers.records import Recorded
from nightgate.importers.yamltext import unstorable
from nightgate.rows.redaction import MASK

_NEEDLES = 5
_NAME_CHARS, _WORD_CHARS = 3, 5
_OPENING = 60
_TOKEN = re.compile(r"[^\W_](?:[\w.,:/'’-]*[^\W_])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Expectations, and what could not be proposed."""

    expect: Mapping[str, Any]
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the suite that the case is for says, where it is known."""

    side_effects: Sequence[str] = ()
    citation: str = CITATION
    """Pattern of a citation."""
    taken: frozenset[str] = field(default_factory=frozenset)
    """Case ids that are there already."""


def propose(recorded: Recorded, around: Surroundings) -> Proposal:
    """Expectations that the recorded turn meets."""
    remarks: list[str] = []
    called = list(dict.fromkeys(call.name for call in recorded.calls))
    usable = [name for name in called if _is_usable(name)]
    remarks += [f"the tool name {name!r} cannot be expected" for name in called if name not in usable]
    tools: dict[str, Any] = {"must_call": usable} if usable else {}
    forbidden = [
        name
        for name in dict.fromkeys([*around.side_effects, *recorded.offered])
        if name not in called and _is_usable(name)
    ]
    if not called:
        tools["must_not_call"] = [ANY_TOOL]
    elif forbidden:
        tools["must_not_call"] = forbidden
    expect: dict[str, Any] = {"tools": tools} if tools else {}
    if recorded.exchanges:
        # Arguments and wording depend on how the simulated user puts it.
        return Proposal(expect=expect, remarks=remarks)
    arguments = list(_arguments(recorded, usable, remarks))
    if arguments:
        expect["arguments"] = arguments
    answer = recorded.output or ""
    cited = _cited(answer, around.citation)
    if cited:
        expect["cites"] = cited
    needles = _needles(recorded, answer, cited)
    if needles:
        expect["answer"] = {"contains": needles}
    return Proposal(expect=expect, remarks=remarks)


def _arguments(recorded: Recorded, usable: Sequence[str], remarks: list[str]) -> Iterator[dict[str, Any]]:
    seen: list[tuple[str, Any]] = []
    for number, call in enumerate(recorded.calls, start=1):
        if call.name not in usable or call.arguments is None:
            continue
        value = parsed(call.arguments)
        if not isinstance(value, Mapping):
            remarks.append(f"call {number}: arguments that are no JSON object cannot be expected")
            continue
        why = unstorable(value)
        if why is not None:
            remarks.append(f"call {number}: the arguments cannot be expected, the value {why}")
            continue
        if any(name == call.name and equal(value, known) for name, known in seen):
            continue
        seen.append((call.name, value))
        rest, left_out = _unmasked(value)
        if not left_out:
            yield {"tool": call.name, "where": value, "match": "exact"}
            continue
        names = ", ".join(map(repr, left_out))
        how = "; the rest is proposed as a subset" if rest else ""
        remarks.append(f"call {number}: masked, so not expected: {names}{how}")
        if rest:
            yield {"tool": call.name, "where": rest, "match": "subset"}


def _unmasked(value: Mapping[str, Any], above: str = "") -> tuple[dict[str, Any], list[str]]:
    """What no mask stands in, and the paths of the rest: a mask is not what the agent sent."""
    rest: dict[str, Any] = {}
    left_out: list[str] = []
    for key, item in value.items():
        path = f"{above}{key}"
        if MASK in key or (not isinstance(item, Mapping) and MASK in json.dumps(item, ensure_ascii=False)):
            left_out.append(path)
        elif isinstance(item, Mapping):
            rest[key], within = _unmasked(item, f"{path}.")
            left_out += within
            if within and not rest[key]:
                del rest[key]
        else:
            rest[key] = item
    return rest, left_out


def _is_usable(name: str) -> bool:
    """Whether a tool's name can be expected."""
    return bool(name.strip()) and name != ANY_TOOL and MASK not in name


def _cited(answer: str, pattern: str) -> list[str]:
    found = dict.fromkeys(cited_ids(answer, pattern))
    return [name for name in found if name.strip() and name not in MASK]


def _needles(recorded: Recorded, answer: str, cited: Sequence[str]) -> list[str]:
    """Words of the answer that a tool returned; where there are none, how the answer begins.

    What the data and the answer have in common is what the answer rests on; most of the rest is
    wording, which no case should hold the agent to. Figures and names go first.
    """
    text = fold(answer)
    results = (call.result for call in recorded.calls if call.result)
    known = {fold(token) for result in results for token in set(_words(result))}
    told = {fold(token) for token in (*_words(recorded.input), *cited)}
    found: dict[str, str] = {}
    for token in _words(answer):
        folded = fold(token)
        if (
            folded in known
            and folded not in told
            and _weight(token) < _WORDING
            and fold_needle(token) in text
        ):
            found.setdefault(folded, token)
    best = sorted(found.values(), key=_weight)[:_NEEDLES]
    chosen = [token for token in found.values() if token in best]
    opening = _opening(answer)
    if not chosen and opening and fold_needle(opening) in text:
        chosen = [opening]
    return [needle for needle in chosen if fold_needle(needle).strip()]


_WORDING = 3


def _words(text: str) -> list[str]:
    """The words that were said: a mask is none."""
    return _TOKEN.findall(text.replace(MASK, "\n"))


def _weight(token: str) -> int:
    """0 for figures and ids, 1 for names, 2 for long words, 3 for what stands in any answer."""
    if any(char.isdigit() for char in token):
        return 0 if len(token) > 1 else _WORDING
    if len(token) < _NAME_CHARS:
        return _WORDING
    return 1 if token[0].isupper() else 2 if len(token) >= _WORD_CHARS else _WORDING


def _opening(answer: str) -> str:
    """The answer's first words; empty where it says nothing."""
    said = answer.partition(MASK)[0]
    line = next((line.strip() for line in said.splitlines() if line.strip()), "")
    if len(line) <= _OPENING:
        return line
    return line[:_OPENING].rsplit(" ", 1)[0].strip()
