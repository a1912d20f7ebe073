"""Identity of what a case means: canonical JSON and the hash over it.

Owns which keys of a case make yesterday's trial and today's comparable. Imports no file format.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from nightgate.cases.models import Case

HASHED = ("input", "context", "persona", "expect", "require", "may_skip")
"""What a trial and its judgement depend on; not why, tags, family, stage, blocking or trials."""


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
    dumped = case.model_dump(mode="python", include=set(HASHED), exclude_defaults=True)
    return hashlib.sha256(canonical_json(dumped)).hexdigest()[:16]
