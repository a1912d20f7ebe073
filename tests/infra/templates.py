"""The CloudFormation template as CloudFormation would see it: conditions decided, intrinsics resolved.

Owns a small resolver, for tests only. It knows the functions that the template uses and fails on any other.
Names and ARNs of what does not exist yet are made up, one form a type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from cfnlint.decode import cfn_yaml

from shell import ROOT

TEMPLATE = ROOT / "infra" / "template.yaml"
ACCOUNT, REGION, STACK = "123456789012", "eu-central-1", "evals"
SECRET = f"arn:aws:secretsmanager:{REGION}:{ACCOUNT}:secret:"
MODEL = f"arn:aws:bedrock:{REGION}::foundation-model/amazon.nova-micro-v1:0"
KNOWLEDGE_BASE = f"arn:aws:bedrock:{REGION}:{ACCOUNT}:knowledge-base/KB1"
NEEDED = {
    "ImageUri": "registry.example.com/nightgate:0.1.0",
    "VpcId": "vpc-1",
    "SubnetIds": ["subnet-1", "subnet-2"],
    "ApiAuthSecretArn": f"{SECRET}auth",
}
"""Parameters without a default."""
EVERYTHING = {
    **NEEDED,
    "EcrRepositoryArn": f"arn:aws:ecr:{REGION}:{ACCOUNT}:repository/nightgate",
    "ClientSecurityGroupId": "sg-1",
    "ArchiveAfterDays": 365,
    "BedrockModelArns": [MODEL],
    "OpenAiKeySecretArn": f"{SECRET}openai",
    "SourceBucketName": "documents",
    "SourceSuite": "support",
    "KnowledgeBaseArns": [KNOWLEDGE_BASE],
    "ParentPool": "parents",
    "EventsUrl": "https://prefect.example.com/api/events",
    "AlertEmail": "team@example.com",
}
"""Every optional part switched on, with a database and a broker of its own."""
_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "AWS::URLSuffix": "amazonaws.com",
}
_NOTHING = object()
_MARK = re.compile(r"\$\{(!?)([^}]+)\}")


class Template:
    """The template under a set of parameters.

    Args:
        given: Parameters; what is missing has its default.
        path: Of the template.
    """

    def __init__(self, given: Mapping[str, Any] = NEEDED, path: Path = TEMPLATE) -> None:
        self.raw: dict[str, Any] = cfn_yaml.load(str(path))
        self._given = dict(given)

    @cached_property
    def resources(self) -> dict[str, Any]:
        """What is made, by logical id, everything resolved."""
        return {
            name: {**resource, "Properties": self.resolved(resource.get("Properties", {}))}
            for name, resource in self.raw["Resources"].items()
            if "Condition" not in resource or self._decided(resource["Condition"])
        }

    def of_type(self, kind: str) -> dict[str, Any]:
        """Properties of all resources of a type, by logical id."""
        return {n: r["Properties"] for n, r in self.resources.items() if r["Type"] == kind}

    def properties(self, name: str) -> Any:
        """Of one resource."""
        return self.resources[name]["Properties"]

    def parameter(self, name: str) -> Any:
        """What a parameter is."""
        declared = self.raw["Parameters"][name]
        value = self._given[name] if name in self._given else declared["Default"]
        if declared["Type"].startswith(("List", "CommaDelimited")) and isinstance(value, str):
            return value.split(",")
        return value

    def arn(self, name: str) -> str:
        """Of a resource, made up where nobody knows it before."""
        kind = self.raw["Resources"][name]["Type"]
        match kind:
            case "AWS::S3::Bucket":
                return f"arn:aws:s3:::{name.lower()}"
            case "AWS::IAM::Role":
                return f"arn:aws:iam::{ACCOUNT}:role/{name}"
            case _:
                return f"arn:aws:{kind.split('::')[1].lower()}:{REGION}:{ACCOUNT}:{name}"

    def resolved(self, value: Any) -> Any:
        """A value without intrinsics, and without what is NoValue."""
        if isinstance(value, list):
            return [one for item in value if (one := self.resolved(item)) is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, of),) = value.items()
            if name in ("Ref", "Condition") or name.startswith("Fn::"):
                return self._called(name, of)
        pairs = ((str(key), self.resolved(item)) for key, item in value.items())
        return {key: item for key, item in pairs if item is not _NOTHING}

    def _called(self, name: str, of: Any) -> Any:
        functions: dict[str, Callable[[Any], Any]] = {
            "Ref": self._referred,
            "Condition": self._condition,
            "Fn::GetAtt": self._attribute,
            "Fn::Sub": self._filled,
            "Fn::If": lambda of: self.resolved(of[1] if self._decided(of[0]) else of[2]),
            "Fn::Join": lambda of: of[0].join(str(part) for part in self.resolved(of[1])),
            "Fn::Split": lambda of: self.resolved(of[1]).split(of[0]),
            "Fn::FindInMap": lambda of: self._mapped(*self.resolved(of)),
            "Fn::Not": lambda of: not self.resolved(of[0]),
            "Fn::And": lambda of: all(self.resolved(of)),
            "Fn::Equals": lambda of: len({str(one) for one in self.resolved(of)}) == 1,
        }
        return functions[name](of)

    def _condition(self, of: Any) -> Any:
        """In a condition the name of another one; in a policy's statement what it says itself."""
        return self._decided(of) if isinstance(of, str) else {"Condition": self.resolved(of)}

    def _attribute(self, of: Any) -> str:
        target, attribute = of if isinstance(of, list) else of.split(".", 1)
        return self.arn(target) if attribute in ("Arn", "GroupId") else f"{target}.{attribute}"

    def _mapped(self, table: str, row: str, column: str) -> Any:
        return self.raw["Mappings"][table][row][column]

    def _referred(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return _NOTHING
        if name in _PSEUDO:
            return _PSEUDO[name]
        if name in self.raw["Parameters"]:
            return self.parameter(name)
        if self.raw["Resources"][name]["Type"] in ("AWS::S3::Bucket", "AWS::IAM::Role"):
            return name.lower() if name == "Store" else name
        return self.arn(name)

    def _filled(self, of: Any) -> str:
        text, names = (of[0], self.resolved(of[1])) if isinstance(of, list) else (of, {})

        def value(found: re.Match[str]) -> str:
            literal, name = found[1], found[2]
            if literal:
                return f"${{{name}}}"
            if name in names:
                return str(names[name])
            return str(self._attribute(name) if "." in name else self._referred(name))

        return _MARK.sub(value, text)

    def _decided(self, name: str) -> bool:
        return bool(self.resolved(self.raw["Conditions"][name]))


def statements(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Of a policy, with actions and resources as lists."""
    for statement in document["Statement"]:
        lists = {name: listed(statement[name]) for name in ("Action", "Resource") if name in statement}
        yield {**statement, **lists}


def listed(value: Any) -> list[Any]:
    """One or many, as many."""
    return list(value) if isinstance(value, list) else [value]
