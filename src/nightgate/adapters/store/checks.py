"""What all stores check alike: keys, and what a conflict means.

Owns the rules that keep a key inside its store. Knows no store.
"""

from __future__ import annotations

import re

from nightgate.errors import ConflictError, StoreError

_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_MAX_KEY = 900
"""S3 takes 1,024 bytes with the prefix."""
_MAX_PART = 200
"""File systems take 255 bytes; temporary names are longer."""


def checked_key(key: str) -> str:
    """Return ``key`` if it is relative, plain and cannot leave its store.

    Raises:
        StoreError: If it is empty, has a part that starts with a dot, or a character besides
            letters, digits, ``.``, ``_``, ``-`` and ``/``.
    """
    parts = key.split("/")
    if len(key) > _MAX_KEY or not all(_PART.fullmatch(part) and len(part) <= _MAX_PART for part in parts):
        msg = f"no store key: {key[:100]!r}; keys are built by nightgate.rows.keys"
        raise StoreError(msg)
    return key


def checked_prefix(prefix: str) -> str:
    """Return ``prefix`` if some key could start with it.

    Raises:
        StoreError: If none could.
    """
    *folders, last = prefix.split("/")
    if not all(_PART.fullmatch(part) for part in folders) or not (not last or _PART.fullmatch(last)):
        msg = f"no key starts with {prefix[:100]!r}"
        raise StoreError(msg)
    return prefix


def cut_below(key: str, prefix: str) -> str:
    """A key that starts with ``prefix``, up to the first ``/`` behind it.

    >>> cut_below("runs/r-1/plan.json", "runs/"), cut_below("runs/r-1/plan.json", "runs/r-1/")
    ('runs/r-1/', 'runs/r-1/plan.json')
    """
    name, slash, _ = key[len(prefix) :].partition("/")
    return prefix + name + slash


def swap_conflict(uri: str, key: str) -> ConflictError:
    """What a swap raises when the key no longer holds what was read before."""
    msg = f"{uri}: {key} was changed by another process meanwhile; read it again and decide anew"
    return ConflictError(msg)


def settle_conflict(uri: str, key: str, wanted: bytes, found: bytes) -> None:
    """A create-only key exists: the own content is success.

    Raises:
        ConflictError: If it holds something else.
    """
    if found != wanted:
        msg = (
            f"{uri}: {key} exists with other content ({len(found)} bytes there, {len(wanted)} offered);"
            " it was written by another run or process and is never overwritten"
        )
        raise ConflictError(msg)
