"""Digests of what else defines the thing under test: files, S3 objects, Bedrock knowledge bases.

Owns the reading of ``fingerprint:``. A source that cannot be read is an error before anything is
spent: a run whose index is unknown can be compared with nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from nightgate.errors import InputError


def digests(sources: Sequence[str], folder: Path) -> dict[str, str]:
    """A digest by source.

    Args:
        sources: Paths relative to ``folder``, ``s3://bucket/key``, ``bedrock-kb:ID/SOURCE``.
        folder: The suite's.

    Raises:
        InputError: If one cannot be read; says which and why.
    """
    return {source: _digest(source, folder) for source in sources}


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


def _object(source: str) -> str:
    import boto3

    where = urlsplit(source)
    try:
        found = boto3.client("s3").head_object(Bucket=where.netloc, Key=where.path.lstrip("/"))
    except Exception as error:  # botocore builds its error types at run time
        msg = f"fingerprint: {source!r} cannot be read: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    return str(found.get("VersionId") or found["ETag"]).strip('"')


def _knowledge_base(source: str) -> str:
    """The last completed ingestion of a data source: what the index was built from."""
    import boto3

    base, _, data_source = source.removeprefix("bedrock-kb:").partition("/")
    if not base or not data_source:
        msg = f"fingerprint: {source!r}: write bedrock-kb:KNOWLEDGE_BASE_ID/DATA_SOURCE_ID"
        raise InputError(msg)
    try:
        jobs = boto3.client("bedrock-agent").list_ingestion_jobs(
            knowledgeBaseId=base,
            dataSourceId=data_source,
            filters=[{"attribute": "STATUS", "operator": "EQ", "values": ["COMPLETE"]}],
            sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
            maxResults=1,
        )["ingestionJobSummaries"]
    except Exception as error:  # botocore builds its error types at run time
        msg = f"fingerprint: {source!r} cannot be read: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    return str(jobs[0]["ingestionJobId"]) if jobs else "never-ingested"
