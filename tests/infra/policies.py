"""Whether a role may do something, by the template's policies: IAM's rules, as far as the template uses them.

Owns the evaluation: an explicit deny wins, then an allow, else no. Policies of roles, of the bucket and of
the topic. A condition operator that is not known here raises, so a new one cannot pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from infra.templates import Template, listed, statements

Context = Mapping[str, str]
TLS: Context = {"aws:SecureTransport": "true"}


def may(template: Template, role: str, action: str, resource: str, context: Context | None = None) -> bool:
    """Whether ``role`` may do ``action`` on ``resource``.

    Args:
        template: Resolved.
        role: Logical id.
        action: ``service:Action``.
        resource: ARN.
        context: Condition keys of the request, besides TLS and the role's own ARN.
    """
    keys = {**TLS, "aws:PrincipalArn": template.arn(role), **(context or {})}
    found = [s for s in _of(template, role) if _matches(s, action, resource, keys)]
    effects = {statement["Effect"] for statement in found}
    return effects == {"Allow"}


def role_statements(template: Template, role: str) -> Iterator[dict[str, Any]]:
    """What a role's own policies say."""
    for policy in template.of_type("AWS::IAM::Policy").values():
        if role in policy["Roles"]:
            yield from statements(policy["PolicyDocument"])


def _of(template: Template, role: str) -> Iterator[dict[str, Any]]:
    yield from role_statements(template, role)
    for kind in ("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
        for policy in template.of_type(kind).values():
            for statement in statements(policy["PolicyDocument"]):
                if statement["Principal"] == "*":
                    yield statement


def _matches(statement: Mapping[str, Any], action: str, resource: str, keys: Context) -> bool:
    return (
        any(fnmatchcase(action, pattern) for pattern in statement["Action"])
        and any(fnmatchcase(resource, pattern) for pattern in statement["Resource"])
        and all(_holds(*condition, keys) for condition in statement.get("Condition", {}).items())
    )


def _holds(operator: str, wanted: Mapping[str, Any], keys: Context) -> bool:
    return all(_one(operator, keys.get(name), listed(values)) for name, values in wanted.items())


def _one(operator: str, value: str | None, wanted: list[Any]) -> bool:
    match operator:
        case "Null":
            return wanted == [str(value is None).lower()]
        case "StringLikeIfExists" if value is None:
            return True
        case "StringEquals" | "Bool" | "ArnEquals":
            return value in wanted
        case "StringLike" | "StringLikeIfExists" | "ArnLike":
            return value is not None and any(fnmatchcase(value, pattern) for pattern in wanted)
    msg = f"the tests know no condition {operator}"
    raise ValueError(msg)
