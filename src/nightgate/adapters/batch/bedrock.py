"""Bedrock batch inference: requests as JSON Lines in S3, a model invocation job, answers in S3.

Owns its wire: Converse requests without tools, for the queue refuses ``toolConfig``. A typed answer is
asked for by schema (``outputConfig``) and turned back into the tool call that the SDK expects. Knows no
job of ours but by its name, which is its idempotency token too.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any
from urllib.parse import urlsplit

from nightgate.adapters.batch.records import Events, Found, Lost, Record
from nightgate.adapters.batch.service import Limits, Rendered, Standing
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.models import ModelSpec
from nightgate.calls import Outcome
from nightgate.errors import InputError

_LIMITS = Limits(minimum=100, maximum=50_000, most_bytes=1_000_000_000)
_OVER = frozenset({"Completed", "PartiallyCompleted", "Failed", "Expired", "Stopped"})
_NOT_SENT = frozenset({"modelId", "serviceTier", "toolConfig"})
_CHUNK = 1 << 20
_TOOL_BLOCKS = ("toolUse", "toolResult")


class BedrockBatches:
    """The queue of one Bedrock model.

    Args:
        model: The SDK's model as built for live calls.
        spec: Its spec.
        settings: Where files go, and the service role.

    Raises:
        InputError: If the settings name no bucket or no role.
    """

    limits = _LIMITS

    def __init__(self, model: Any, spec: ModelSpec, settings: BatchSettings) -> None:
        self._model, self._id = model, spec.id
        if settings.s3 is None or settings.role_arn is None:
            msg = (
                f"--batch: judge bedrock:{spec.id} needs NIGHTGATE_BATCH_S3=s3://bucket/prefix for its files "
                "and NIGHTGATE_BATCH_ROLE_ARN, the service role that reads and writes there"
            )
            raise InputError(msg)
        place = urlsplit(settings.s3)
        self._bucket, self._prefix, self._role = place.netloc, place.path.strip("/"), settings.role_arn
        if place.scheme != "s3" or not place.netloc:
            msg = f"NIGHTGATE_BATCH_S3={settings.s3!r}: write s3://bucket/prefix"
            raise InputError(msg)
        self._jobs, self._s3 = _clients(model.client.meta.region_name)

    def render(
        self,
        messages: Any,
        tool_specs: Sequence[Mapping[str, Any]] | None,
        system_prompt: str | None,
        extra: Mapping[str, Any],
    ) -> Rendered | None:
        """A Converse request; None where it takes tools to ask it, or holds what is no JSON."""
        specs = list(tool_specs or ())
        if len(specs) > 1 or any(
            name in block for m in messages for block in m["content"] for name in _TOOL_BLOCKS
        ):
            return None
        system = extra.get("system_prompt_content") or ([{"text": system_prompt}] if system_prompt else [])
        whole = self._model.format_request(messages, None, list(system), None)
        body = {name: value for name, value in whole.items() if name not in _NOT_SENT and value}
        try:
            if specs:
                body["outputConfig"] = _output_config(specs[0])
            json.dumps(body)
        except (TypeError, ValueError):
            return None
        return Rendered(body=body, asked=str(specs[0]["name"]) if specs else None)

    def line(self, record: Record) -> bytes:
        """``recordId`` and ``modelInput``."""
        told = {"recordId": record.id, "modelInput": record.body}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    async def find(self, job: str, since: datetime) -> str | None:  # noqa: ARG002 - its list can be asked by name
        """By its name."""
        found = await asyncio.to_thread(self._jobs.list_model_invocation_jobs, nameContains=job)
        summaries = found.get("invocationJobSummaries", ())
        return next((str(told["jobArn"]) for told in summaries if told["jobName"] == job), None)

    async def submit(self, job: str, lines: bytes) -> str:
        """Put the requests into the bucket, then begin the job."""
        key = f"{self._folder(job)}input.jsonl"
        await asyncio.to_thread(self._s3.put_object, Bucket=self._bucket, Key=key, Body=lines)
        begun = await asyncio.to_thread(
            self._jobs.create_model_invocation_job,
            jobName=job,
            clientRequestToken=job,
            roleArn=self._role,
            modelId=self._id,
            modelInvocationType="Converse",
            inputDataConfig={"s3InputDataConfig": {"s3InputFormat": "JSONL", "s3Uri": self._uri(key)}},
            outputDataConfig={"s3OutputDataConfig": {"s3Uri": self._uri(f"{self._folder(job)}out/")}},
        )
        return str(begun["jobArn"])

    async def standing(self, job_id: str) -> Standing:
        """Its status, and where its answers are."""
        told = await asyncio.to_thread(self._jobs.get_model_invocation_job, jobIdentifier=job_id)
        out = urlsplit(told["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"])
        return Standing(
            over=told["status"] in _OVER,
            word=told["status"],
            detail=told.get("message", ""),
            whole=told["status"] == "Completed",
            refs={"bucket": out.netloc, "prefix": f"{out.path.strip('/')}/{job_id.rpartition('/')[2]}/"},
        )

    async def results(self, job_id: str, standing: Standing) -> AsyncGenerator[bytes, None]:  # noqa: ARG002
        """The lines of all answer files; a job that failed has none."""
        bucket, prefix = standing.refs["bucket"], standing.refs["prefix"]
        listed = await asyncio.to_thread(self._s3.list_objects_v2, Bucket=bucket, Prefix=prefix)
        for key in [one["Key"] for one in listed.get("Contents", ()) if one["Key"].endswith(".jsonl.out")]:
            with tempfile.TemporaryFile() as file:
                await asyncio.to_thread(self._fetch, bucket, key, file)
                for line in file:
                    if line.strip():
                        yield line

    def read(self, line: bytes) -> Found | None:
        """A line of an answer file."""
        try:
            told = json.loads(line)
            record_id = told["recordId"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(record_id, str):
            return None
        error = told.get("error")
        if error:
            parts = error if isinstance(error, Mapping) else {"errorMessage": error}
            why = ": ".join(str(parts[name]) for name in ("errorCode", "errorMessage") if parts.get(name))
            return Found(record_id=record_id, lost=Lost(why=why or "an error without a word"))
        if not isinstance(told.get("modelOutput"), Mapping):
            broken = Lost(
                why="its line in the results has no modelOutput", outcome=Outcome.UNKNOWN, billed=None
            )
            return Found(record_id=record_id, lost=broken)
        return Found(record_id=record_id, body=told["modelOutput"])

    def events(self, record: Record, body: Mapping[str, Any]) -> Events:
        """As the SDK makes them of a live answer; JSON that was asked for by schema becomes a tool call."""
        told = dict(body)
        message = told["output"]["message"]
        texts = [block["text"] for block in message["content"] if "text" in block]
        arguments = _object("".join(texts)) if record.asked else None
        if arguments is not None:
            call = {"toolUseId": f"batch-{record.id[:24]}", "name": record.asked, "input": arguments}
            told["output"] = {"message": {**message, "content": [{"toolUse": call}]}}
            if told["stopReason"] == "end_turn":
                told["stopReason"] = "tool_use"
        return list(self._model.convert_non_streaming_to_streaming(told))

    async def close(self) -> None:
        """Close the clients."""
        self._jobs.close()
        self._s3.close()

    def _folder(self, job: str) -> str:
        return f"{self._prefix}/{job}/" if self._prefix else f"{job}/"

    def _uri(self, key: str) -> str:
        return f"s3://{self._bucket}/{key}"

    def _fetch(self, bucket: str, key: str, file: IO[bytes]) -> None:
        for chunk in self._s3.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(_CHUNK):
            file.write(chunk)
        file.seek(0)


def _clients(region: str) -> tuple[Any, Any]:
    """Bedrock's control plane and S3, without retries of their own."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"}, connect_timeout=10, read_timeout=120
    )
    session = boto3.Session(region_name=region)
    return session.client("bedrock", config=config), session.client("s3", config=config)


def _output_config(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool as the form of the answer."""
    from strands.models._native_output import to_native_output_schema

    schema = json.dumps(to_native_output_schema(spec["inputSchema"]["json"]))
    structure = {"jsonSchema": {"schema": schema, "name": spec["name"]}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
