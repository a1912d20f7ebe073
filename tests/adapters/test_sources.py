"""What else defines the thing under test: a real S3 server, and a double of Bedrock's control API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.sources import digests, lifecycles, readings
from nightgate.errors import InputError
from servers import S3Server

JOB: dict[str, Any] = {
    "knowledgeBaseId": "KB12345678",
    "dataSourceId": "DS12345678",
    "ingestionJobId": "JOB0000001",
    "status": "COMPLETE",
    "startedAt": "2026-11-29T02:00:00Z",
    "updatedAt": "2026-11-29T02:05:00Z",
    "statistics": {"numberOfDocumentsScanned": 12, "numberOfDocumentsFailed": 0},
}
MODEL = {
    "modelArn": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
    "modelId": "amazon.nova-lite-v1:0",
    "modelLifecycle": {"status": "LEGACY"},
}


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Answers by the path's first word; requests are kept under ``asked``."""
    answers: dict[str, Any] = {"asked": []}

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answers["asked"].append((self.path, body.decode()))
            found = answers.get(self.path.split("/")[1])
            data = json.dumps(found if found is not None else {"message": "no"}).encode()
            self.send_response(200 if found is not None else 403)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names that the base class looks for

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_address[1]}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test-secret",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    yield answers
    server.shutdown()
    server.server_close()


@pytest.mark.server
def test_an_object_is_what_its_bytes_are(s3: S3Server) -> None:
    """A pipeline that writes the same index every night has changed nothing."""
    bucket, client = s3.bucket(), s3.client()
    source = f"s3://{bucket}/kb/index.json"
    found = []
    for body in (b"one", b"one", b"two"):
        client.put_object(Bucket=bucket, Key="kb/index.json", Body=body)
        found.append(digests([source], Path())[source])

    assert found[0] == found[1] != found[2]


@pytest.mark.server
def test_what_cannot_be_read_is_told_beside_what_can(s3: S3Server, tmp_path: Path) -> None:
    """One source that is away must not hide a change of another."""
    (tmp_path / "notes.md").write_text("a")
    missing = f"s3://{s3.bucket()}/nothing"

    found, unread = readings(["notes.md", missing, "gone.md"], tmp_path)

    assert list(found) == ["notes.md"]
    assert sorted(unread) == sorted([missing, "gone.md"])
    assert "404" in unread[missing]
    with pytest.raises(InputError, match="cannot be read"):
        digests([missing], tmp_path)


def test_a_knowledge_base_is_its_last_completed_ingestion_and_its_counts(bedrock: dict[str, Any]) -> None:
    """What the index was built from; jobs that failed or still run changed nothing yet."""
    source = "bedrock-kb:KB12345678/DS12345678"
    bedrock["knowledgebases"] = {"ingestionJobSummaries": []}
    never = digests([source], Path())[source]
    bedrock["knowledgebases"] = {"ingestionJobSummaries": [JOB]}

    built = digests([source], Path())[source]

    assert never == "never-ingested"
    assert built == "JOB0000001 numberOfDocumentsFailed=0 numberOfDocumentsScanned=12"
    asked = json.loads(bedrock["asked"][-1][1])
    assert asked["filters"] == [{"attribute": "STATUS", "operator": "EQ", "values": ["COMPLETE"]}]


@pytest.mark.parametrize(
    "spec",
    [
        "bedrock:amazon.nova-lite-v1:0",
        "bedrock:us.amazon.nova-lite-v1:0?temperature=0",
        "bedrock:arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0",
    ],
)
def test_a_models_life_is_asked_of_the_model_behind_a_profile(bedrock: dict[str, Any], spec: str) -> None:
    """Profiles have no life of their own; the model that they lead to is retired some day."""
    bedrock["foundation-models"] = {"modelDetails": MODEL}

    found, unread = lifecycles([spec, spec, "openai:gpt-x", "scripted:baseline"])

    assert (list(found.values()), unread) == (["LEGACY"], {})
    assert [path for path, _ in bedrock["asked"]] == ["/foundation-models/amazon.nova-lite-v1%3A0"]


def test_a_life_that_nobody_may_ask_for_is_said(bedrock: dict[str, Any]) -> None:
    """The role needs `bedrock:GetFoundationModel`; without it nothing else is affected."""
    found, unread = lifecycles(
        ["bedrock:amazon.nova-lite-v1:0", "bedrock:arn:aws:bedrock:us-east-1:1:provisioned-model/a"]
    )

    assert found == {}
    assert list(unread) == ["bedrock:amazon.nova-lite-v1:0"]
