"""What each role may do, and what it may not: policies of the template, conditions included."""

from __future__ import annotations

import inspect
from datetime import date
from typing import Any

import pytest

from infra.asking import STORE, TEMPLATE, within
from infra.policies import TLS, may, role_statements
from infra.recording import CREATES, ONCE
from infra.templates import ACCOUNT, EVERYTHING, KNOWLEDGE_BASE, MODEL, REGION, Template, listed, statements
from nightgate.rows import keys
from nightgate.steps.calibrating import calibration_key

TASKS = ("WorkerRole", "FinisherRole", "WatcherRole", "BatchRole")
ROLES = (*TASKS, "BatchServiceRole", "ExecutionRole", "EventsRole")
ONCE_ONLY = (
    "scores/s/2026-11-29/r/part-1.parquet",
    "trials/s/2026-11-29/r/part-1.parquet",
    "calls/s/2026-11-29/r/part-1.parquet",
    "transcripts/s/2026-11-29/r/part-1.parquet",
    "summaries/s/2026-11-29/r.parquet",
    "manifests/s/2026-11-29/r.json",
    "canaries/s/000001.json",
    "nights/s/2026-11-29.json",
    "runs/r/plan.json",
)
SAMPLES: dict[str, Any] = {
    "table": "scores",
    "suite": "support",
    "day": date(2026, 11, 29),
    "run_id": "r-1",
    "name": "part-1.parquet",
    "shard": 1,
    "number": 1,
    "month": "2026-11",
}
WITHOUT_RESOURCE = {
    "ecr:GetAuthorizationToken": "names no resource",
    "bedrock:ListModelInvocationJobs": "names no resource",
}
"""Actions that IAM knows only for everything, and why."""


def test_every_key_that_the_code_builds_may_be_written_by_the_finisher() -> None:
    """A new kind of document needs a line in the template."""
    makers = [make for name, make in inspect.getmembers(keys, inspect.isfunction) if name.endswith("_key")]
    makers.remove(keys.parse_manifest_key)
    makers.remove(keys.demo_key)  # made-up nights belong in no store of a fleet
    built = [
        make(**{name: SAMPLES[name] for name in inspect.signature(make).parameters}) for make in makers
    ] + [calibration_key("support")]

    assert len(built) > 15
    assert [
        key for key in built if not may(TEMPLATE, "FinisherRole", "s3:PutObject", within(key), ONCE)
    ] == []


def test_a_batch_sweep_drops_only_jobs_that_were_never_submitted() -> None:
    """Beside what a finisher may."""
    job = within("runs/sweep-1/batches/nightgate-1.json")

    assert may(TEMPLATE, "BatchRole", "s3:PutObject", job, ONCE)
    assert may(TEMPLATE, "BatchRole", "s3:DeleteObject", job)
    assert not may(TEMPLATE, "FinisherRole", "s3:DeleteObject", job)
    assert not may(TEMPLATE, "BatchRole", "s3:DeleteObject", within("runs/sweep-1/summary.json"))


# -- little else ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ONCE_ONLY)
@pytest.mark.parametrize("role", TASKS)
def test_results_are_put_once_and_never_deleted(role: str, key: str) -> None:
    """Whatever a role's own policy says: the bucket refuses."""
    assert not may(TEMPLATE, role, "s3:PutObject", within(key), CREATES)
    assert not may(TEMPLATE, role, "s3:DeleteObject", within(key))
    assert not may(TEMPLATE, role, "s3:DeleteObjectVersion", within(key))
    assert may(TEMPLATE, "FinisherRole", "s3:PutObject", within(key), ONCE)


def test_the_bucket_holds_even_when_somebody_widens_a_role() -> None:
    """The bucket's policy does not rest on the roles' ones."""
    wide = Template(EVERYTHING)
    policy = wide.properties("WorkerStorePolicy")["PolicyDocument"]
    policy["Statement"] = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]

    assert may(wide, "WorkerRole", "s3:PutObject", within("baselines/support.json"), CREATES)
    for key in ONCE_ONLY:
        assert not may(wide, "WorkerRole", "s3:PutObject", within(key), CREATES)
        assert not may(wide, "WorkerRole", "s3:DeleteObject", within(key))


def test_a_part_of_a_multipart_upload_needs_no_header_and_its_end_does() -> None:
    """S3 does not take the header on the parts; the object appears with the end."""
    key = within(ONCE_ONLY[0])

    assert may(TEMPLATE, "FinisherRole", "s3:PutObject", key, {"s3:ObjectCreationOperation": "false"})
    assert not may(TEMPLATE, "FinisherRole", "s3:PutObject", key, CREATES)


@pytest.mark.parametrize("key", [*ONCE_ONLY, "baselines/s.json", "alerts/s.json", "runs/r/summary.json"])
def test_a_worker_writes_nothing_that_a_run_comes_to(key: str) -> None:
    """It commits nothing, decides nothing, tells nobody."""
    assert not may(TEMPLATE, "WorkerRole", "s3:PutObject", within(key), ONCE)


@pytest.mark.parametrize(
    "key", [keys.staging_key("r", "group.jsonl.zst"), keys.claim_key("r", 1), keys.purse_key("r")]
)
def test_a_worker_writes_what_it_works_with(key: str) -> None:
    """What it played, which shard is its own, and what it may spend; the latter two are swapped."""
    for context in (ONCE, CREATES):
        assert may(TEMPLATE, "WorkerRole", "s3:PutObject", within(key), context)
    assert may(TEMPLATE, "WorkerRole", "s3:GetObject", within(key))


@pytest.mark.parametrize("key", ["staging/r/group.jsonl.zst", "runs/r/claims/00001.json", "baselines/s.json"])
def test_a_worker_deletes_nothing(key: str) -> None:
    """Claims go with the commit, and the commit is the parent's."""
    assert not may(TEMPLATE, "WorkerRole", "s3:DeleteObject", within(key))


def test_a_worker_lists_what_it_works_on() -> None:
    """Runs, staging and manifests; no other suite's books."""
    listing = ("WorkerRole", "s3:ListBucket", STORE)

    assert may(TEMPLATE, *listing, {"s3:prefix": "evals/staging/r/"})
    assert not may(TEMPLATE, *listing, {"s3:prefix": "evals/baselines/"})
    assert not may(TEMPLATE, *listing, {"s3:prefix": ""})


@pytest.mark.parametrize("role", TASKS)
def test_runs_are_listed_without_what_lies_below_them(role: str) -> None:
    """One name a run: the same action as any listing, with a delimiter."""
    runs = {"s3:prefix": f"evals/{keys.RUNS}", "s3:delimiter": "/"}

    assert may(TEMPLATE, role, "s3:ListBucket", STORE, runs)
    assert may(TEMPLATE, role, "s3:ListBucket", STORE, runs | {"s3:prefix": f"evals/{keys.run_prefix('r')}"})


def test_nobody_reaches_beside_the_stores_prefix() -> None:
    """The bucket may hold other things later."""
    for role in TASKS:
        for action in ("s3:GetObject", "s3:PutObject", "s3:DeleteObject"):
            assert not may(TEMPLATE, role, action, f"{STORE}/elsewhere/x", ONCE)


def test_only_the_finisher_tidies_up_and_only_what_is_no_result() -> None:
    """Staging, and claims of a run that is committed."""
    for key in ("staging/r/group.jsonl.zst", "runs/r/claims/00001.json"):
        assert may(TEMPLATE, "FinisherRole", "s3:DeleteObject", within(key))
        assert not may(TEMPLATE, "WatcherRole", "s3:DeleteObject", within(key))
    for key in ("runs/r/summary.json", "baselines/s.json", "history/s/2026-11.parquet"):
        assert not may(TEMPLATE, "FinisherRole", "s3:DeleteObject", within(key))


def test_without_tls_nothing_is_answered() -> None:
    """Also not what the role may do."""
    plain = {**ONCE, "aws:SecureTransport": "false"}

    assert TLS["aws:SecureTransport"] == "true"
    assert not may(TEMPLATE, "FinisherRole", "s3:GetObject", within("baselines/s.json"), plain)
    assert not may(TEMPLATE, "FinisherRole", "sns:Publish", TEMPLATE.arn("Alerts"), plain)
    assert may(TEMPLATE, "FinisherRole", "sns:Publish", TEMPLATE.arn("Alerts"))


def test_models_are_called_by_those_who_play_and_only_the_named_ones() -> None:
    """Another model is another bill."""
    other = MODEL.replace("nova-micro", "nova-pro")

    assert [role for role in ROLES if may(TEMPLATE, role, "bedrock:InvokeModel", MODEL)] == [
        *("WorkerRole", "FinisherRole", "BatchRole", "BatchServiceRole")
    ]
    assert not any(may(TEMPLATE, role, "bedrock:InvokeModel", other) for role in ROLES)


def test_no_model_is_called_where_none_is_named() -> None:
    """The default allows none."""
    bare = Template()

    actions = {action for role in ROLES for s in role_statements(bare, role) for action in s["Action"]}
    assert not [action for action in actions if action.startswith("bedrock:")]


def test_sources_are_looked_at_and_not_changed() -> None:
    """Objects of the named bucket, the named knowledge bases."""
    document = "arn:aws:s3:::documents/kb/manifest.json"

    for role in ("WorkerRole", "FinisherRole", "WatcherRole"):
        assert may(TEMPLATE, role, "s3:GetObject", document)
        assert not may(TEMPLATE, role, "s3:PutObject", document, ONCE)
        assert may(TEMPLATE, role, "bedrock:ListIngestionJobs", KNOWLEDGE_BASE)
        assert not may(TEMPLATE, role, "bedrock:StartIngestionJob", KNOWLEDGE_BASE)
    assert not may(TEMPLATE, "WatcherRole", "s3:GetObject", "arn:aws:s3:::documents/private/x")


def test_a_role_is_handed_over_to_one_service() -> None:
    """iam:PassRole without a condition hands over whatever it names."""
    passing = [
        (role, s) for role in ROLES for s in role_statements(TEMPLATE, role) if "iam:PassRole" in s["Action"]
    ]

    assert {role for role, _ in passing} == {"BatchRole", "EventsRole"}
    for _, statement in passing:
        assert list(statement["Condition"]) == ["StringEquals"]
        assert list(statement["Condition"]["StringEquals"]) == ["iam:PassedToService"]
        assert all(":role/" in resource and "*" not in resource for resource in statement["Resource"])


def test_everything_is_named_but_what_iam_cannot_name() -> None:
    """No `*` for a resource, and no action by pattern."""
    for role in ROLES:
        for statement in role_statements(TEMPLATE, role):
            assert all("*" not in action for action in statement["Action"]), statement
            if "*" in statement["Resource"]:
                assert set(statement["Action"]) <= WITHOUT_RESOURCE.keys(), statement


def test_roles_are_assumed_by_one_service_of_this_account() -> None:
    """A confused deputy brings another account."""
    for name, role in TEMPLATE.of_type("AWS::IAM::Role").items():
        (statement,) = statements(role["AssumeRolePolicyDocument"])
        assert len(listed(statement["Principal"]["Service"])) == 1, name
        assert statement["Condition"]["StringEquals"] == {"aws:SourceAccount": ACCOUNT}, name


def test_the_watcher_is_all_that_eventbridge_may_start() -> None:
    """In this cluster."""
    cluster = {"ecs:cluster": TEMPLATE.arn("Cluster")}
    elsewhere = {"ecs:cluster": f"arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/other"}

    assert may(TEMPLATE, "EventsRole", "ecs:RunTask", TEMPLATE.arn("WatcherTask"), cluster)
    assert not may(TEMPLATE, "EventsRole", "ecs:RunTask", TEMPLATE.arn("WatcherTask"), elsewhere)
    assert not may(TEMPLATE, "EventsRole", "ecs:RunTask", TEMPLATE.arn("WorkerTask"), cluster)
