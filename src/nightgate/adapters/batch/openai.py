"""OpenAI's Batch API: a file of requests, a job of up to a day, a file of answers and one of errors.

Owns its wire. A record carries the very request of the live call, tools included, without its stream:
both take the same body, so both get the same answers. Knows no job of ours but by its name.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Literal

from nightgate.adapters.batch.records import Events, Found, Lost, Record
from nightgate.adapters.batch.service import Limits, Rendered, Standing
from nightgate.adapters.replies import SYSTEM_FINGERPRINT, with_fingerprint
from nightgate.calls import Outcome

_CHAT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
_RESPONSES: Literal["/v1/responses"] = "/v1/responses"
_LIMITS = Limits(minimum=1, maximum=50_000, most_bytes=200_000_000)
_OVER = frozenset({"completed", "failed", "expired", "cancelled"})
_SLACK_S = 3600
"""How far the provider's clock may be off ours."""
_OK = 200
_FINISH = {"max_output_tokens": "length", "content_filter": "content_filter"}


class OpenAIBatches:
    """The queue of one OpenAI model.

    Args:
        model: The SDK's model, of the chat or the responses kind, as built for live calls.
        client_args: For ``openai.AsyncOpenAI``.
        responses: Whether it is of the responses kind.
    """

    limits = _LIMITS

    def __init__(self, model: Any, client_args: Mapping[str, Any], *, responses: bool) -> None:
        import openai

        self._model, self._responses = model, responses
        self._client = openai.AsyncOpenAI(**client_args)

    def render(
        self,
        messages: Any,
        tool_specs: Sequence[Mapping[str, Any]] | None,
        system_prompt: str | None,
        extra: Mapping[str, Any],
    ) -> Rendered | None:
        """The live call's own request, without its stream."""
        specs = list(tool_specs) if tool_specs else None
        choice = extra.get("tool_choice")
        if self._responses:
            body = self._model._format_request(messages, specs, system_prompt, choice)  # noqa: SLF001 - no other way to it
        else:
            body = self._model.format_request(messages, specs, system_prompt, choice)
            if not body.get("tools"):
                body.pop("tools", None)
        body = {name: value for name, value in body.items() if name not in ("stream", "stream_options")}
        return Rendered(body=body)

    def line(self, record: Record) -> bytes:
        """``custom_id``, method, url and body."""
        url = _RESPONSES if self._responses else _CHAT
        told = {"custom_id": record.id, "method": "POST", "url": url, "body": record.body}
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    async def find(self, job: str, since: datetime) -> str | None:
        """By our name in its metadata; the API cannot be asked for it, so the newest are looked through."""
        earliest, last = since.timestamp() - _SLACK_S, 0
        async for batch in self._client.batches.list(limit=100):
            if (batch.metadata or {}).get("nightgate_job") == job:
                return str(batch.id)
            # The order is not promised: only in a list that goes back is the rest older still.
            if batch.created_at < earliest and batch.created_at < last:
                return None
            last = batch.created_at
        return None

    async def submit(self, job: str, lines: bytes) -> str:
        """Upload the requests, then begin the job; an upload without a job costs nothing."""
        file = await self._client.files.create(file=(f"{job}.jsonl", lines), purpose="batch")
        batch = await self._client.batches.create(
            input_file_id=file.id,
            endpoint=_RESPONSES if self._responses else _CHAT,
            completion_window="24h",
            metadata={"nightgate_job": job},
            extra_headers={"Idempotency-Key": job},
        )
        return str(batch.id)

    async def standing(self, job_id: str) -> Standing:
        """Its status, and where its two files are."""
        batch = await self._client.batches.retrieve(job_id)
        files = {"output": batch.output_file_id, "error": batch.error_file_id}
        errors = (batch.errors.data if batch.errors else None) or []
        return Standing(
            over=batch.status in _OVER,
            word=batch.status,
            detail="; ".join(str(error.message) for error in errors[:3]),
            ran=batch.status != "failed",
            whole=batch.status == "completed",
            refs={name: file for name, file in files.items() if file},
        )

    async def results(self, job_id: str, standing: Standing) -> AsyncGenerator[bytes, None]:  # noqa: ARG002
        """All lines of the answers, then of the errors."""
        for file in standing.refs.values():
            content = await self._client.files.content(file)
            for line in content.content.splitlines():
                if line.strip():
                    yield line

    def read(self, line: bytes) -> Found | None:
        """A line of either file."""
        try:
            told = json.loads(line)
            record_id = told["custom_id"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(record_id, str):
            return None
        error, response = told.get("error"), told.get("response")
        if error:
            return Found(record_id=record_id, lost=Lost(why=_told(error)))
        if not isinstance(response, Mapping) or not isinstance(response.get("body"), Mapping):
            broken = Lost(why="its line in the results has no body", outcome=Outcome.UNKNOWN, billed=None)
            return Found(record_id=record_id, lost=broken)
        if response.get("status_code") != _OK:
            return Found(record_id=record_id, lost=Lost(why=_told(response["body"].get("error"))))
        return Found(record_id=record_id, body=response["body"])

    def events(self, record: Record, body: Mapping[str, Any]) -> Events:  # noqa: ARG002
        """As the SDK makes them of a live answer."""
        return self._of_response(body) if self._responses else self._of_completion(body)

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    def _of_completion(self, body: Mapping[str, Any]) -> Events:
        choices = body.get("choices")
        if not choices or not isinstance(choices[0].get("message"), Mapping):
            raise ValueError("no choices")
        message = choices[0]["message"]
        parts: list[tuple[str, Any]] = [("text", message["content"])] if message.get("content") else []
        for call in message.get("tool_calls") or ():
            function = call["function"]
            parts.append(("tool", _tool(call["id"], function["name"], function["arguments"])))
        events = self._chunks(
            self._model.format_chunk, parts, choices[0].get("finish_reason"), body.get("usage")
        )
        return [with_fingerprint(event, body.get(SYSTEM_FINGERPRINT)) for event in events]

    def _of_response(self, body: Mapping[str, Any]) -> Events:
        if not isinstance(body.get("output"), list) or body.get("status") == "failed":
            raise ValueError(_told(body.get("error")) if body.get("error") else "no output")
        parts: list[tuple[str, Any]] = []
        for item in body["output"]:
            if item.get("type") == "message":
                texts = [part["text"] for part in item["content"] if part.get("type") == "output_text"]
                parts += [("text", text) for text in texts if text]
            elif item.get("type") == "function_call":
                parts.append(("tool", _tool(item["call_id"], item["name"], item["arguments"])))
        cut = _FINISH.get((body.get("incomplete_details") or {}).get("reason", ""))
        finish = cut or ("tool_calls" if any(kind == "tool" for kind, _ in parts) else "stop")
        return self._chunks(self._model._format_chunk, parts, finish, body.get("usage"))  # noqa: SLF001

    def _chunks(self, chunk: Any, parts: Sequence[tuple[str, Any]], finish: str | None, usage: Any) -> Events:
        events = [chunk({"chunk_type": "message_start"})]
        for kind, data in parts:
            told = {"data_type": kind, "data": data}
            events += [
                chunk({"chunk_type": f"content_{step}", **told}) for step in ("start", "delta", "stop")
            ]
        if not finish:
            raise ValueError("no finish reason")
        events.append(chunk({"chunk_type": "message_stop", "data": finish}))
        if usage:
            events.append(chunk({"chunk_type": "metadata", "data": _named(usage)}))
        return events


def _tool(call_id: str, name: str, arguments: str) -> SimpleNamespace:
    return SimpleNamespace(id=call_id, function=SimpleNamespace(name=name, arguments=arguments))


def _named(value: Any) -> Any:
    """JSON objects with their keys as attributes, as the SDK reads them."""
    if isinstance(value, Mapping):
        return SimpleNamespace(**{str(key): _named(inner) for key, inner in value.items()})
    return value


def _told(error: Any) -> str:
    if isinstance(error, Mapping):
        parts = [str(error[name]) for name in ("code", "message") if error.get(name)]
        return ": ".join(parts) or "an error without a word"
    return str(error or "an error without a word")
