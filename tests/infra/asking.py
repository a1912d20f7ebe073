"""Requests of a store, held against the policies of the template with everything switched on.

Owns the template and the ARNs that tests of the roles share.
"""

from __future__ import annotations

from collections.abc import Iterable

from infra.policies import may
from infra.recording import Asked
from infra.templates import EVERYTHING, Template

TEMPLATE = Template(EVERYTHING)
STORE = "arn:aws:s3:::store"


def within(key: str) -> str:
    """The ARN of an object of the store."""
    return f"{STORE}/evals/{key}"


def refused(role: str, asked: Iterable[Asked]) -> list[Asked]:
    """What of it the role may not do."""
    return [
        one
        for one in asked
        if not may(
            TEMPLATE,
            role,
            one.action,
            STORE if one.action == "s3:ListBucket" else within(one.key),
            {"s3:prefix": f"evals/{one.key}", **dict(one.context)}
            if one.action == "s3:ListBucket" and one.key
            else dict(one.context),
        )
    ]
