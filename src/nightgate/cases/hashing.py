"""Identity of what a case means: canonical JSON and the hash over it.

Owns which keys of a case make yesterday's trial and today's comparable. Imports no file format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nightgate.cases.models import Case

HASHED = ("input", "context", "persona", "expect", "require", "may_skip")
"""What a trial and its judgement depend on; not why, tags, family, stage, blocking or trials."""
ASKED = ("input", "context", "persona")
"""What of it the agent is given."""
_CRITERION = "Criterion:"


def canonical_json(value: Any) -> bytes:
    r"""JSON that is the same bytes for the same value: keys sorted, no white space, UTF-8.

    Text is taken as it is, without Unicode normalisation; ``12`` and ``12.0`` stay apart.

    Raises:
        TypeError: If something is no JSON value.
        ValueError: If a number is NaN or infinite.

    >>> canonical_json({"b": (1, 2), "a": "é"})
    b'{"a":"\xc3\xa9","b":[1,2]}'
    """
    return json.dumps(
        _plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"keys must be text, not {key!r}")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def case_hash(case: Case) -> str:
    """Hash of what ``case`` means, 16 hexadecimal characters of a SHA-256.

    A key at its default counts as absent, so that new keys of later versions change no hash. Lists
    keep their order, mappings do not.
    """
    return _digest(_dumped(case))


def asked_hash(case: Case) -> str:
    """Hash of what the agent is given: a stored answer stays one to it, whatever is expected of it."""
    dumped = _dumped(case)
    return _digest({key: dumped[key] for key in ASKED if key in dumped})


def question_hashes(case: Case, names: Iterable[str], expected: Collection[str] = ()) -> dict[str, str]:
    """Hash of what an evaluator's finding depends on in the case, by evaluator.

    A criterion depends on what the agent was given and on its own text; any other evaluator on all that is
    hashed but the criteria, which are not its own. The expected output is in no case hash: an agent never
    sees it. Findings of those that read it depend on it all the same.

    Args:
        case: The case.
        names: Of the evaluators.
        expected: Those of them that read ``expected_output``.
    """
    dumped = _dumped(case)
    expect = {key: value for key, value in dumped.pop("expect", {}).items() if key != "judge"}
    asked = {key: dumped[key] for key in ASKED if key in dumped}
    criteria = _criteria(case)
    other = {**dumped, "expect": expect}
    found = {}
    for name in names:
        question = {**asked, "criterion": criteria[name]} if name in criteria else other
        if name in expected and case.expected_output is not None:
            question = {**question, "expected_output": case.expected_output}
        found[name] = _digest(question)
    return found


def criterion_hashes(case: Case, names: Iterable[str]) -> dict[str, str]:
    """Hash of the text of each criterion, by evaluator: the same whichever case asks it."""
    criteria = _criteria(case)
    return {name: _digest(criteria[name]) for name in names if name in criteria}


def _criteria(case: Case) -> dict[str, str]:
    return {f"{_CRITERION}{one.id}": one.criterion for one in case.expect.judge}


def _dumped(case: Case) -> dict[str, Any]:
    return case.model_dump(mode="python", include=set(HASHED), exclude_defaults=True)


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical_json(value)).hexdigest()[:16]
