"""Digests of what else defines the thing under test: files, S3 objects, Bedrock knowledge bases and models.

Owns the reading of ``fingerprint:``, and of where a Bedrock model stands in its life. A source that cannot be
read is an error before anything is spent: a run whose index is unknown can be compared with nothing. Whoever
only looks for changes is told which ones could not be read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nightgate.adapters.models import parse_spec
from nightgate.errors import InputError

_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S, _ATTEMPTS = 5, 20, 3
_PLACES = re.compile(r"^(?:[a-z]{2}|apac|us-gov|global)\.(?=[a-z0-9-]+\.)")
"""What the id of an inference profile puts before that of its model: ``us.``, ``eu.``, ``global.``."""


def digests(sources: Sequence[str], folder: Path) -> dict[str, str]:
    """A digest by source.

    Args:
        sources: Paths relative to ``folder``, ``s3://bucket/key``, ``bedrock-kb:ID/SOURCE``.
        folder: The suite's.

    Raises:
        InputError: If one cannot be read; says which and why.
    """
    return {source: _digest(source, folder) for source in sources}


def readings(sources: Sequence[str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The digests of those sources that can be read, and why the others cannot. Arguments as ``digests``'."""
    found: dict[str, str] = {}
    unread: dict[str, str] = {}
    for source in sources:
        try:
            found[source] = _digest(source, folder)
        except InputError as error:
            unread[source] = str(error)
        except OSError as error:
            unread[source] = f"fingerprint: {source!r} cannot be read: {error.strerror or error}"
    return found, unread


def lifecycles(specs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Where Bedrock's models among ``specs`` stand (ACTIVE, LEGACY), and why that could not be read.

    A model without an id of its own (a provisioned or imported one) has no such state and is left out.
    """
    found: dict[str, str] = {}
    unread: dict[str, str] = {}
    for spec in dict.fromkeys(specs):
        parsed = parse_spec(spec)
        model = _foundation_model(parsed.id) if parsed.scheme == "bedrock" else None
        if model is None:
            continue
        name = f"bedrock:{parsed.id}"
        try:
            asked = _client("bedrock", parsed.options).get_foundation_model(modelIdentifier=model)
            found[name] = str(asked["modelDetails"]["modelLifecycle"]["status"])
        except Exception as error:  # botocore builds its error types at run time
            unread[name] = f"lifecycle of {name} cannot be read: {type(error).__name__}: {error}"
    return found, unread


def _foundation_model(text: str) -> str | None:
    """The model's own id behind that of a profile; None where there is none."""
    if text.startswith("arn:"):
        kind, _, text = text.split(":", 5)[-1].partition("/")
        if kind not in ("foundation-model", "inference-profile"):
            return None
    return _PLACES.sub("", text)


def _digest(source: str, folder: Path) -> str:
    if source.startswith("s3://"):
        return _object(source)
    if source.startswith("bedrock-kb:"):
        return _knowledge_base(source)
    path = folder / source
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if path.is_dir():
        whole = hashlib.sha256()
        for file in sorted(p for p in path.rglob("*") if p.is_file()):
            whole.update(str(file.relative_to(path)).encode())
            whole.update(hashlib.sha256(file.read_bytes()).digest())
        return whole.hexdigest()
    msg = f"fingerprint: {source!r} is neither a file nor a folder (looked for {path})"
    raise InputError(msg)


def _client(service: str, options: Mapping[str, Any] | None = None) -> Any:
    """A client that gives up within a minute or two: whoever looks for changes has other suites too."""
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
    )
    # A session of its own: boto3's default one may not be shared by threads.
    return Session().client(service, config=config, region_name=(options or {}).get("region"))


def _object(source: str) -> str:
    """The ETag: a new version of the same bytes is the same thing."""
    where = urlsplit(source)
    try:
        found = _client("s3").head_object(Bucket=where.netloc, Key=where.path.lstrip("/"))
    except Exception as error:  # botocore builds its error types at run time
        msg = f"fingerprint: {source!r} cannot be read: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    return str(found["ETag"]).strip('"')


def _knowledge_base(source: str) -> str:
    """The last completed ingestion of a data source and its counts: what the index was built from."""
    base, _, data_source = source.removeprefix("bedrock-kb:").partition("/")
    if not base or not data_source:
        msg = f"fingerprint: {source!r}: write bedrock-kb:KNOWLEDGE_BASE_ID/DATA_SOURCE_ID"
        raise InputError(msg)
    try:
        jobs = _client("bedrock-agent").list_ingestion_jobs(
            knowledgeBaseId=base,
            dataSourceId=data_source,
            filters=[{"attribute": "STATUS", "operator": "EQ", "values": ["COMPLETE"]}],
            sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
            maxResults=1,
        )["ingestionJobSummaries"]
    except Exception as error:  # botocore builds its error types at run time
        msg = f"fingerprint: {source!r} cannot be read: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    if not jobs:
        return "never-ingested"
    counts = sorted(jobs[0].get("statistics", {}).items())
    return " ".join([str(jobs[0]["ingestionJobId"]), *(f"{name}={count}" for name, count in counts)])
