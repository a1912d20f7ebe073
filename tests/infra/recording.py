"""What a store is asked for, as the S3 requests that the S3 store would make of it.

Owns the translation from the store's few methods to IAM's actions and condition keys. The store under it is a
folder, so that a whole run costs no server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore

CREATES = {"s3:ObjectCreationOperation": "true"}
ONCE = {**CREATES, "s3:if-none-match": "*"}


@dataclass(frozen=True, slots=True)
class Asked:
    """One request.

    Attributes:
        action: IAM's name.
        key: Within the store; of a listing, its prefix.
        context: Condition keys, as pairs.
    """

    action: str
    key: str
    context: tuple[tuple[str, str], ...] = ()


@dataclass
class Recording:
    """All requests of one block, in no order."""

    asked: set[Asked] = field(default_factory=set)

    def note(self, method: str, arguments: tuple[Any, ...]) -> None:
        """Take note of a call of the store."""
        self.asked.update(_requests(method, *arguments))


@contextmanager
def recorded(patch: pytest.MonkeyPatch) -> Iterator[Recording]:
    """Every folder store within the block tells what it is asked for."""
    recording = Recording()
    with patch.context() as here:
        for method in ("create", "replace", "swap", "read", "find", "children", "delete"):
            here.setattr(FolderStore, method, _told(recording, method))
        yield recording


def _told(recording: Recording, method: str) -> Callable[..., Any]:
    real = getattr(FolderStore, method)

    @wraps(real)
    def called(self: FolderStore, *arguments: Any) -> Any:
        if method == "delete":
            arguments = (list(arguments[0]),)
        recording.note(method, arguments)
        return real(self, *arguments)

    return called


def _requests(method: str, first: Any, *rest: Any) -> Iterator[Asked]:
    match method:
        case "create":
            yield Asked("s3:PutObject", first, tuple(ONCE.items()))
            yield Asked("s3:GetObject", first)  # a conflict is read back
        case "replace":
            yield Asked("s3:PutObject", first, tuple(CREATES.items()))
        case "swap":
            yield Asked("s3:GetObject", first)
            yield Asked("s3:PutObject", first, tuple((ONCE if rest[1] is None else CREATES).items()))
        case "read":
            yield Asked("s3:GetObject", first)
            yield Asked("s3:ListBucket", "")  # else a missing key reads as denied
        case "find":
            yield Asked("s3:ListBucket", first)
        case "children":
            yield Asked("s3:ListBucket", first, (("s3:delimiter", "/"),))
        case "delete":
            yield from (Asked("s3:DeleteObject", key) for key in _keys(first))


def _keys(keys: Iterable[str]) -> Iterator[str]:
    yield from keys
