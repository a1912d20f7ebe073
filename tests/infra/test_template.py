"""The template keeps its promises, also those that no emulator looks at."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.templates import ACCOUNT, EVERYTHING, NEEDED, TEMPLATE, Template, statements
from nightgate.rows.schemas import TABLES

FULL, BARE = Template(EVERYTHING), Template(NEEDED)
KEPT = {"Store", "Key", "Database"}
"""What outlives the stack."""


# -- as a whole -------------------------------------------------------------------------------------


def test_cfn_lint_has_nothing_to_say() -> None:
    """Errors and warnings alike."""
    lint = [str(Path(sys.executable).with_name("cfn-lint")), str(TEMPLATE)]
    ran = subprocess.run(lint, capture_output=True, text=True, check=False)

    assert (ran.returncode, ran.stdout) == (0, ""), ran.stdout + ran.stderr


def test_every_parameter_says_what_it_is_and_what_it_takes() -> None:
    """A wrong value is refused before anything is made."""
    for name, parameter in BARE.raw["Parameters"].items():
        assert parameter["Description"].strip(), name
        limits = {"AllowedPattern", "AllowedValues", "MinValue"} & parameter.keys()
        assert limits or parameter["Type"] not in ("String", "Number"), name


def test_every_default_fits_its_own_limits() -> None:
    """CloudFormation would say so at the first deployment only."""
    for name, parameter in BARE.raw["Parameters"].items():
        if "Default" in parameter and "AllowedPattern" in parameter:
            assert re.search(parameter["AllowedPattern"], parameter["Default"]), name


@pytest.mark.parametrize(
    ("image", "good"),
    [
        ("nightgate:0.1.0", True),
        ("123456789012.dkr.ecr.eu-central-1.amazonaws.com/nightgate@sha256:" + "a" * 64, True),
        ("registry.example.com:5000/nightgate:v1", True),
        ("nightgate:latest", False),
        ("nightgate", False),
    ],
)
def test_an_image_has_a_tag_of_its_own(image: str, good: bool) -> None:
    """With latest nobody knows what a run was measured with."""
    pattern = BARE.raw["Parameters"]["ImageUri"]["AllowedPattern"]

    assert bool(re.search(pattern, image)) is good


def test_data_outlives_the_stack_and_nothing_else_does() -> None:
    """Deleting a stack by mistake loses no result and leaves no bill."""
    kept = {n for n, r in FULL.resources.items() if r.get("DeletionPolicy") in ("Retain", "Snapshot")}

    assert kept == KEPT
    for name in KEPT:
        resource = FULL.resources[name]
        assert resource["UpdateReplacePolicy"] == resource["DeletionPolicy"], name


# -- the bucket -------------------------------------------------------------------------------------


def test_the_bucket_is_versioned_encrypted_and_private() -> None:
    """Also against an account's weaker defaults."""
    store = BARE.properties("Store")
    (encryption,) = store["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    assert store["VersioningConfiguration"] == {"Status": "Enabled"}
    assert encryption["ServerSideEncryptionByDefault"] == {
        "SSEAlgorithm": "aws:kms",
        "KMSMasterKeyID": BARE.arn("Key"),
    }
    assert encryption["BucketKeyEnabled"] is True
    assert set(store["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(store["PublicAccessBlockConfiguration"]) == 4
    assert store["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    assert BARE.properties("Key")["EnableKeyRotation"] is True


def test_the_bucket_and_the_topic_refuse_plain_http() -> None:
    """For everyone, on everything in them."""
    bucket = {s["Sid"]: s for s in statements(BARE.properties("StorePolicy")["PolicyDocument"])}
    topic = {s["Sid"]: s for s in statements(BARE.properties("AlertsPolicy")["PolicyDocument"])}

    assert bucket["TlsOnly"]["Resource"] == ["arn:aws:s3:::store", "arn:aws:s3:::store/*"]
    assert bucket["TlsOnly"]["Action"] == ["s3:*"]
    for statement in (bucket["TlsOnly"], topic["TlsOnly"]):
        assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_results_are_write_once_for_everyone() -> None:
    """A put without `If-None-Match` is refused, whoever asks."""
    policy = {s["Sid"]: s for s in statements(BARE.properties("StorePolicy")["PolicyDocument"])}
    once = policy["WriteOnce"]

    assert (once["Effect"], once["Principal"], once["Action"]) == ("Deny", "*", ["s3:PutObject"])
    assert once["Condition"] == {
        "Null": {"s3:if-none-match": "true"},
        "Bool": {"s3:ObjectCreationOperation": "true"},
    }
    named = {resource.removeprefix("arn:aws:s3:::store/evals/") for resource in once["Resource"]}
    assert {f"{table}/*" for table in TABLES} | {"manifests/*", "runs/*/plan.json"} <= named
    assert policy["WorkloadsDeleteNoResults"]["Resource"] == once["Resource"]
    assert set(policy["WorkloadsDeleteNoResults"]["Action"]) == {"s3:DeleteObject", "s3:DeleteObjectVersion"}


def test_leftovers_go_and_results_stay() -> None:
    """Multipart uploads after a day, staging later; no rule expires a current object of a result."""
    rules = {rule["Id"]: rule for rule in FULL.properties("Store")["LifecycleConfiguration"]["Rules"]}

    assert rules["abort-multipart"]["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 1}
    assert "Prefix" not in rules["abort-multipart"]
    assert rules["noncurrent"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 90}
    expiring = {rule["Prefix"] for rule in rules.values() if "ExpirationInDays" in rule}
    assert expiring == {"evals/staging/", "evals-batch/"}
    assert all(rule["Status"] == "Enabled" for rule in rules.values())


def test_an_archive_is_asked_for_and_stays_readable() -> None:
    """Glacier Instant Retrieval answers a read at once; what gates and trends read is not moved."""
    archived = [
        rule for rule in FULL.properties("Store")["LifecycleConfiguration"]["Rules"] if "Transitions" in rule
    ]

    assert {rule["Prefix"] for rule in archived} == {"evals/trials/", "evals/transcripts/", "evals/calls/"}
    assert [rule["Transitions"] for rule in archived] == [
        [{"StorageClass": "GLACIER_IR", "TransitionInDays": 365}]
    ] * 3
    assert "Transitions" not in json.dumps(BARE.properties("Store"))


# -- alerts and alarms ------------------------------------------------------------------------------


def test_alarms_and_budgets_can_use_the_encrypted_topic() -> None:
    """Under the managed key of SNS their messages would vanish without a word."""
    key = {s["Sid"]: s for s in statements(BARE.properties("Key")["KeyPolicy"])}["AlarmsAndBudgetsPublish"]
    topic = {s["Sid"]: s for s in statements(BARE.properties("AlertsPolicy")["PolicyDocument"])}

    assert BARE.properties("Alerts")["KmsMasterKeyId"] == BARE.arn("Key")
    services = ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]
    for statement in (key, topic["AlarmsAndBudgets"]):
        assert statement["Principal"] == {"Service": services}
        assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}


def test_a_night_that_never_ran_rings() -> None:
    """It writes no metric, so what is missing is the alarm; looked at every hour over the whole age."""
    alarm = BARE.properties("NightMissing")

    assert (alarm["Namespace"], alarm["MetricName"]) == ("nightgate", "RunsCompleted")
    assert "Dimensions" not in alarm
    assert alarm["TreatMissingData"] == "breaching"
    assert (alarm["Statistic"], alarm["ComparisonOperator"], alarm["Threshold"]) == (
        *("Sum", "LessThanThreshold", 1),
    )
    assert alarm["Period"] * alarm["EvaluationPeriods"] == 26 * 3600
    assert alarm["DatapointsToAlarm"] == alarm["EvaluationPeriods"]
    assert alarm["AlarmActions"] == [BARE.arn("Alerts")]
    longest = BARE.raw["Parameters"]["NightMaxAgeHours"]["MaxValue"]
    assert longest * alarm["Period"] <= 7 * 86400, "CloudWatch looks back at most seven days"


def test_spending_is_told_before_it_is_spent() -> None:
    """Actual and forecast, both to the topic."""
    told = BARE.properties("Spending")["NotificationsWithSubscribers"]

    assert {one["Notification"]["NotificationType"] for one in told} == {"ACTUAL", "FORECASTED"}
    assert all(one["Subscribers"][0]["Address"] == BARE.arn("Alerts") for one in told)


# -- events -----------------------------------------------------------------------------------------


def test_the_event_for_a_changed_object_is_the_one_that_prefect_takes() -> None:
    """A list of one, with the fields of `nightgate notify-change`."""
    from prefect.server.events.schemas.events import Event

    (target,) = FULL.properties("SourceChanged")["Targets"]
    text = target["InputTransformer"]["InputTemplate"]
    values = {
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "time": "2026-11-29T01:02:03Z",
        "bucket": "documents",
        "key": "kb/manifest.json",
        "what": "Object Created",
    }
    assert values.keys() == target["InputTransformer"]["InputPathsMap"].keys()
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)

    (told,) = json.loads(text)
    event = Event.model_validate(told)
    assert event.event == "nightgate.retrieval.changed"
    assert event.resource.id == "nightgate.suite.support"
    assert event.payload == {
        "suite": "support",
        "kind": "retrieval",
        "resource": "s3://documents/kb/manifest.json",
        "reason": "Object Created",
        "id": values["id"],
    }


def test_events_go_only_where_they_are_wanted() -> None:
    """By default changes are found by the schedule, and that one is switched on by hand."""
    assert "SourceChanged" not in BARE.resources
    assert "PrefectEvents" not in BARE.resources
    assert BARE.properties("Reconcile")["State"] == "DISABLED"
    pattern = FULL.properties("SourceChanged")["EventPattern"]
    assert pattern["detail"] == {"bucket": {"name": ["documents"]}, "object": {"key": [{"prefix": "kb/"}]}}


def test_what_could_not_be_delivered_is_kept_and_told() -> None:
    """Every target has the queue, and the queue has an alarm."""
    for name, rule in FULL.of_type("AWS::Events::Rule").items():
        for target in rule["Targets"]:
            assert target["DeadLetterConfig"] == {"Arn": FULL.arn("Undelivered")}, name
    assert FULL.properties("Undelivered")["SqsManagedSseEnabled"] is True
    assert FULL.properties("EventsUndelivered")["Threshold"] == 0
