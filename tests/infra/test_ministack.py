"""The template deployed on a cloud stand-in: another engine resolves it, and a run commits in its bucket.

What ministack 1.4 cannot: it makes no Cloud Map, Glue, budget, RDS subnet or ElastiCache resources, stumbles
over services whose count is a parameter, and drops the bucket's key, lifecycle and public access block. It
evaluates no policy, also with AUTH=true; the last test says when that changes.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from botocore.config import Config

from infra.policies import may
from infra.templates import (
    ACCOUNT,
    KNOWLEDGE_BASE,
    MODEL,
    NEEDED,
    REGION,
    SECRET,
    STACK,
    Template,
    statements,
)
from live.servers import NO_AWS, _running
from servers import HOST, free_ports
from shell import SUPPORT, nightgate

pytestmark = pytest.mark.live

UNKNOWN = ("AWS::ServiceDiscovery::", "AWS::Budgets::", "AWS::Glue::", "AWS::ECS::Service")
PARAMETERS = {
    **NEEDED,
    "DatabaseUrlSecretArn": f"{SECRET}db",
    "RedisUrlSecretArn": f"{SECRET}redis",
    # Of an empty list it says that there is one.
    "BedrockModelArns": [MODEL],
    "KnowledgeBaseArns": [KNOWLEDGE_BASE],
}
TEMPLATE = Template(PARAMETERS)
ROLES = sorted(TEMPLATE.of_type("AWS::IAM::Role"))
KEYS = {"AWS_ACCESS_KEY_ID": "nightgate-test", "AWS_SECRET_ACCESS_KEY": "nightgate-test-secret"}


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that came up.

    Attributes:
        url: Of the stand-in.
        names: Physical id by logical id.
        outputs: By name.
    """

    url: str
    names: dict[str, str]
    outputs: dict[str, str]

    def client(self, service: str, **keys: str) -> Any:
        """A client of one service."""
        given = {
            "aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"],
            "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"],
        }
        config = Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1})
        return boto3.client(
            service, endpoint_url=self.url, region_name=REGION, config=config, **{**given, **keys}
        )

    def logical(self, value: Any) -> Any:
        """A document of the stand-in with the names that the tests' own resolver makes up."""
        text = json.dumps(value)
        for logical, physical in sorted(self.names.items(), key=lambda pair: -len(pair[1])):
            own = re.escape(physical.rpartition(":::")[2])
            form = (
                own
                if physical.startswith("arn:")
                else rf"arn:aws:\w+:[\w-]*:\d*:(?:[\w-]+[/:])?{own}(?::\*)?"
            )
            text = re.sub(rf"{form}(?![\w-])", TEMPLATE.arn(logical), text)
        return json.loads(text)


def deployable() -> str:
    """The template without what the stand-in cannot make, and with each policy within its roles.

    Policies that stand beside their roles it takes, and answers no question about them.
    """
    whole = json.loads(json.dumps(TEMPLATE.raw, default=str))
    resources = whole["Resources"]
    for name, one in list(resources.items()):
        if one["Type"].startswith(UNKNOWN):
            del resources[name]
        if one["Type"] == "AWS::IAM::Policy":
            inline = {"PolicyName": name, "PolicyDocument": one["Properties"]["PolicyDocument"]}
            if "Condition" in one:
                inline = {"Fn::If": [one["Condition"], inline, {"Ref": "AWS::NoValue"}]}
            for role in one["Properties"]["Roles"]:
                resources[role["Ref"]]["Properties"].setdefault("Policies", []).append(inline)
            del resources[name]
    whole["Outputs"] = {
        name: one for name, one in whole["Outputs"].items() if one["Value"].get("Ref", name) != "Tables"
    }
    return json.dumps(whole)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Deployed once for all tests."""
    folder = tmp_path_factory.mktemp("ministack")
    (port,) = free_ports(1)
    env = {
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "AUTH": "true",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "TMPDIR": str(folder),
        "LOG_LEVEL": "WARNING",
    }
    url = f"http://{HOST}:{port}"
    with _running([sys.executable, "-m", "ministack"], folder, env, f"{url}/_ministack/health"):
        formation = Stack(url, {}, {}).client("cloudformation")
        given = {name: ",".join(v) if isinstance(v, list) else str(v) for name, v in PARAMETERS.items()}
        formation.create_stack(
            StackName=STACK,
            TemplateBody=deployable(),
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in given.items()],
        )
        made = _settled(formation)
        events = formation.describe_stack_events(StackName=STACK)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"].endswith("FAILED")]
        assert made["StackStatus"] == "CREATE_COMPLETE", failed
        found = formation.describe_stack_resources(StackName=STACK)["StackResources"]
        yield Stack(
            url,
            {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found},
            {one["OutputKey"]: one["OutputValue"] for one in made["Outputs"]},
        )


def _settled(formation: Any) -> Any:
    """The stack, once it is there or not."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        (made,) = formation.describe_stacks(StackName=STACK)["Stacks"]
        if not made["StackStatus"].endswith("IN_PROGRESS"):
            return made
        time.sleep(0.2)
    raise AssertionError(made)


def test_a_run_commits_in_the_bucket(stack: Stack) -> None:
    """Conditional puts, swaps and listings, where the outputs say that the store is."""
    env = {"AWS_ENDPOINT_URL": stack.url, "AWS_REGION": REGION, **KEYS, **NO_AWS}

    ran = nightgate("run", SUPPORT, "--store", stack.outputs["StoreUri"], env=env)

    assert ran.code == 0, ran.err
    listed = stack.client("s3").list_objects_v2(Bucket=stack.names["Store"], Prefix="evals/manifests/")
    assert listed["KeyCount"] == 1
    assert nightgate("gate", "latest", "--store", stack.outputs["StoreUri"], env=env).code == 0


def test_the_bucket_is_what_the_template_says(stack: Stack) -> None:
    """As far as the stand-in keeps it."""
    s3, bucket = stack.client("s3"), stack.names["Store"]

    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    rules = s3.get_bucket_ownership_controls(Bucket=bucket)["OwnershipControls"]["Rules"]
    assert rules == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    policy = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    assert stack.logical(policy) == TEMPLATE.properties("StorePolicy")["PolicyDocument"]


def test_the_policies_are_those_that_the_other_tests_evaluate(stack: Stack) -> None:
    """Two engines resolve the same template; where they agree the evaluation stands on solid ground."""
    iam, policies = stack.client("iam"), TEMPLATE.of_type("AWS::IAM::Policy")
    held = {role: [n for n, p in policies.items() if role in p["Roles"]] for role in ROLES}

    for role, names in held.items():
        physical = stack.names[role]
        assert sorted(iam.list_role_policies(RoleName=physical)["PolicyNames"]) == sorted(names)
        for name in names:
            kept = iam.get_role_policy(RoleName=physical, PolicyName=name)["PolicyDocument"]
            wanted = list(statements(policies[name]["PolicyDocument"]))
            assert list(statements(stack.logical(kept))) == wanted, name
    assert sum(map(len, held.values())) > len(ROLES)


def test_the_alarm_and_the_logs_arrive_as_they_are_written(stack: Stack) -> None:
    """Numbers among them, which are texts on the way."""
    (alarm,) = (
        one
        for one in stack.client("cloudwatch").describe_alarms()["MetricAlarms"]
        if one["MetricName"] == "RunsCompleted"
    )
    groups = stack.client("logs").describe_log_groups()["logGroups"]

    assert (alarm["TreatMissingData"], alarm["EvaluationPeriods"], alarm["Period"]) == ("breaching", 26, 3600)
    assert alarm["AlarmActions"] == [stack.outputs["AlertsTopic"]]
    assert [group["retentionInDays"] for group in groups] == [30, 30, 30]


def test_the_stand_in_evaluates_no_policy_yet(stack: Stack) -> None:
    """A worker may not do this. Once it is refused here, probes of the roles belong in this test's place."""
    elsewhere = "arn:aws:s3:::store/elsewhere"
    role = stack.client("sts").assume_role(RoleArn=stack.outputs["WorkerRoleArn"], RoleSessionName="probe")
    session = role["Credentials"]
    worker = stack.client(
        "s3",
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )

    assert not may(TEMPLATE, "WorkerRole", "s3:PutObject", elsewhere)
    assert worker.put_object(Bucket=stack.names["Store"], Key="elsewhere", Body=b"x")["ETag"]
