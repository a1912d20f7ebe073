"""Providers' batch queues on loopback: OpenAI's files and batches, and Bedrock's control plane.

Owns the documented shapes of both services, the live endpoints beside them (the same question gets the
same answer either way), faults to order, and the provider's own bill: every record of every job, every
live call. Speaks real HTTP. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import email.parser
import email.policy
import hashlib
import http.server
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

HOST = "127.0.0.1"
JsonObject = dict[str, Any]


@dataclass
class Faults:
    """What goes wrong, and with which records; a record's share is drawn from its content."""

    malformed: float = 0.0
    """Share of lines that are broken JSON or hold no answer."""
    missing: float = 0.0
    error: float = 0.0
    ends: Mapping[int, str] = field(default_factory=dict)
    """How job number n (from 0) ends, where not ``completed``: failed, expired, stopped."""
    looks: int = 1
    """How often a job is looked at before it is over."""
    late: Mapping[int, int] = field(default_factory=dict)
    """Job number -> looks that it needs besides."""

    def over(self, job: Mapping[str, Any]) -> bool:
        """Whether a job that was looked at so often has come to its end."""
        return bool(job["looks"] > self.looks + self.late.get(job["number"], 0))


@dataclass(frozen=True)
class Raw:
    """An answer to order, sent as it is.

    Attributes:
        text: What is said, or the argument text of the tool that was asked for.
        as_call: Whether it comes as a call of that tool.
    """

    text: str
    as_call: bool = False


@dataclass
class Provider:
    """What both services share.

    Attributes:
        on: Called with what is about to happen: upload, submit, submitted, look, read, live.
    """

    faults: Faults = field(default_factory=Faults)
    on: Callable[[str], None] = lambda _: None
    records: Counter[str] = field(default_factory=Counter)
    """Records of all jobs, by id."""
    jobs: list[JsonObject] = field(default_factory=list)
    live: int = 0
    """Live calls."""
    answer: Callable[[JsonObject], Raw | None] = lambda _: None
    """What is answered to a request instead of the usual; None: the usual. Asked once a call or record."""
    bodies: list[JsonObject] = field(default_factory=list)
    """Requests of all records."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fate(self, record_id: str, body: Any) -> str:
        """What becomes of a record: ok, malformed, missing or error; the same in every run."""
        shares = (
            ("malformed", self.faults.malformed),
            ("missing", self.faults.missing),
            ("error", self.faults.error),
        )
        drawn = _share(json.dumps(body, sort_keys=True), "fate")
        for name, share in shares:
            if drawn < share:
                return name
            drawn -= share
        return "ok"

    def take(self, records: Mapping[str, JsonObject]) -> None:
        """Bill a job's records."""
        with self.lock:
            self.records.update(records.keys())
            self.bodies.extend(records.values())


def said(prompt: str) -> str:
    """What the judge says when asked in text: yes or no, by the question alone."""
    verdict = "yes" if _share(prompt, "verdict") < 0.6 else "no"
    return json.dumps({"verdict": verdict, "reason": f"because of {len(prompt)} characters"})


def filled(schema: Mapping[str, Any], prompt: str) -> JsonObject:
    """What the judge says when asked by a schema."""
    found: JsonObject = {}
    for name, kind in schema.get("properties", {}).items():
        options = kind.get("enum") or next(
            (s["enum"] for s in schema.get("$defs", {}).values() if "$ref" in kind), None
        )
        if options:
            found[name] = options[int(_share(prompt, name) * len(options))]
        elif kind.get("type") in ("number", "integer"):
            found[name] = 1
        elif kind.get("type") == "boolean":
            found[name] = True
        else:
            found[name] = "as asked"
    return found


def _share(text: str, salt: str) -> float:
    return int(hashlib.sha256(f"{salt}:{text}".encode()).hexdigest()[:8], 16) / 0xFFFFFFFF


def shuffled(lines: list[bytes]) -> list[bytes]:
    """Lines in another order than they came."""
    return sorted(lines, key=lambda line: hashlib.sha256(line).digest())


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def handle(self) -> None:
        """A client that was killed in the middle is no error of the server's."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer."""
        self._route("GET")

    def do_POST(self) -> None:
        """Answer."""
        self._route("POST")

    def _route(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(length)
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        status, kind, body = self.server.route(method, unquote(parts.path), query, raw, self.headers)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


Answer = tuple[int, str, bytes]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, route: Callable[[str, str, dict[str, str], bytes, Any], Answer]) -> None:
        super().__init__((HOST, 0), _Handler)
        self.route = route


def _json(value: Any, status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode()


@contextlib.contextmanager
def serving(route: Callable[[str, str, dict[str, str], bytes, Any], Answer]) -> Iterator[str]:
    server = _Server(route)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


# --- OpenAI


@dataclass
class OpenAI(Provider):
    """``/v1/files``, ``/v1/batches`` and ``/v1/chat/completions``."""

    files: dict[str, bytes] = field(default_factory=dict)
    url: str = ""

    def spec(self, model: str = "gpt-judge") -> str:
        """A judge's spec."""
        return f"openai:{model}?base_url={self.url}/v1"

    def route(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: Any) -> Answer:
        """One request."""
        if path == "/v1/chat/completions":
            return self._live(json.loads(raw))
        if (method, path) == ("POST", "/v1/files"):
            self.on("upload")
            file_id = self._file(_uploaded(raw, headers["Content-Type"]))
            return _json({"id": file_id, "object": "file", "purpose": "batch", "bytes": 1, "created_at": 1,
                          "filename": "f", "status": "processed"})  # fmt: skip
        if path.startswith("/v1/files/") and path.endswith("/content"):
            self.on("read")
            return 200, "application/octet-stream", self.files[path.split("/")[3]]
        if (method, path) == ("POST", "/v1/batches"):
            return self._create(json.loads(raw))
        if path == "/v1/batches":
            return self._list(query)
        found = re.fullmatch(r"/v1/batches/(\S+)", path)
        if found:
            self.on("look")
            return self._look(found[1])
        return _json({"error": {"message": f"no {path}", "type": "invalid_request_error"}}, 404)

    def _file(self, data: bytes) -> str:
        with self.lock:
            file_id = f"file-{len(self.files) + 1}"
            self.files[file_id] = data
        return file_id

    def _create(self, asked: JsonObject) -> Answer:
        self.on("submit")
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        self.take({line["custom_id"]: line["body"] for line in lines})
        with self.lock:
            job = {"id": f"batch_{len(self.jobs) + 1}", "object": "batch", "status": "validating",
                   "created_at": int(time.time()), "looks": 0, "number": len(self.jobs), **asked}  # fmt: skip
            self.jobs.append(job)
        self.on("submitted")
        return _json(self._shown(job))

    def _list(self, query: dict[str, str]) -> Answer:
        newest = list(reversed(self.jobs))
        if "after" in query:
            ids = [job["id"] for job in newest]
            newest = newest[ids.index(query["after"]) + 1 :]
        page = newest[: int(query.get("limit", "20"))]
        return _json(
            {
                "object": "list",
                "data": [self._shown(job) for job in page],
                "has_more": len(newest) > len(page),
            }
        )

    def _look(self, job_id: str) -> Answer:
        job = next(job for job in self.jobs if job["id"] == job_id)
        with self.lock:
            job["looks"] += 1
            over = self.faults.over(job) and job["status"] in ("validating", "in_progress")
        if over:
            self._end(job)
        elif job["status"] == "validating":
            job["status"] = "in_progress"
        return _json(self._shown(job))

    def _end(self, job: JsonObject) -> None:
        """Answer what is to be answered; each fault leaves the mark that the documentation describes."""
        end = self.faults.ends.get(job["number"], "completed")
        lines = [json.loads(line) for line in self.files[job["input_file_id"]].splitlines()]
        outputs: list[bytes] = []
        errors: list[bytes] = []
        for number, line in enumerate(lines if end != "failed" else []):
            left = end in ("expired", "stopped") and number % 2 == 1
            fate = end if left else self.fate(line["custom_id"], line["body"])
            told = _told(line, fate, half=number % 2 == 1, answer=self.answer)
            if told is not None:
                (errors if fate in ("error", "expired") else outputs).append(told)
        job["output_file_id"] = self._file(b"\n".join(shuffled(outputs)) + b"\n") if outputs else None
        job["error_file_id"] = self._file(b"\n".join(errors) + b"\n") if errors else None
        job["status"] = {"stopped": "cancelled"}.get(end, end)
        if end == "failed":
            told = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}
            job["errors"] = {"object": "list", "data": [told]}

    def _shown(self, job: JsonObject) -> JsonObject:
        return {name: value for name, value in job.items() if name not in ("looks", "number")}

    def _live(self, body: JsonObject) -> Answer:
        self.on("live")
        with self.lock:
            self.live += 1
        whole = completion(body, self.answer(body))
        if not body.get("stream"):
            return _json(whole)
        message = whole["choices"][0]["message"]
        delta: JsonObject = {"role": "assistant", "content": message.get("content")}
        if message.get("tool_calls"):
            delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(message["tool_calls"])]
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {
                **head,
                "choices": [{"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}],
            },
            {**head, "choices": [], "usage": whole["usage"]},
        ]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return 200, "text/event-stream", text.encode()


def completion(body: Mapping[str, Any], raw: Raw | None = None) -> JsonObject:
    """A chat completion, or a response, to a request."""
    if "input" in body:
        text = raw.text if raw else said(json.dumps(body["input"], sort_keys=True))
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        usage = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
        return {"id": "r", "object": "response", "status": "completed", "output": [message], "usage": usage}
    prompt = json.dumps(body["messages"], sort_keys=True)
    if body.get("tools") and (raw is None or raw.as_call):
        function = body["tools"][0]["function"]
        arguments = raw.text if raw else json.dumps(filled(function["parameters"], prompt))
        call = {
            "id": "call-1",
            "type": "function",
            "function": {"name": function["name"], "arguments": arguments},
        }
        message: JsonObject = {"role": "assistant", "content": None, "tool_calls": [call]}
        finish = "tool_calls"
    else:
        message, finish = {"role": "assistant", "content": raw.text if raw else said(prompt)}, "stop"
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


def _told(
    line: JsonObject, fate: str, *, half: bool, answer: Callable[[JsonObject], Raw | None]
) -> bytes | None:
    """What the files say of a record: nothing of one that is missing, or that a stopped job left."""
    if fate in ("missing", "stopped"):
        return None
    told: JsonObject = {"id": "r", "custom_id": line["custom_id"], "error": None}
    if fate == "expired":
        late = {"code": "batch_expired", "message": "This request could not be executed in time."}
        return _line({**told, "response": None, "error": late})
    if fate == "error":
        refused = {"error": {"code": "server_error", "message": "The server had an error"}}
        return _line({**told, "response": {"status_code": 500, "request_id": "q", "body": refused}})
    body = completion(line["body"], answer(line["body"]))
    response: JsonObject = {"status_code": 200, "request_id": "q", "body": body}
    if fate == "malformed" and not half:
        response["body"] = {"choices": []}
    whole = _line({**told, "response": response})
    return whole[: len(whole) // 2] if fate == "malformed" and half else whole


def _line(value: Any) -> bytes:
    return json.dumps(value).encode()


def _uploaded(raw: bytes, content_type: str) -> bytes:
    """The file of a multipart form."""
    whole = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        f"Content-Type: {content_type}\r\n\r\n".encode() + raw
    )
    for part in whole.iter_parts():
        if part.get_filename():
            payload = part.get_payload(decode=True)
            assert isinstance(payload, bytes)
            return payload
    raise ValueError("no file in the form")


@contextlib.contextmanager
def openai_batches(faults: Faults | None = None) -> Iterator[OpenAI]:
    """OpenAI's stand-in."""
    provider = OpenAI(faults=faults or Faults())
    with serving(provider.route) as url:
        provider.url = url
        yield provider


# --- Bedrock


@dataclass
class Bedrock(Provider):
    """The control plane of model invocation jobs, and ``converse``; files are in a real S3 server.

    Attributes:
        s3: A boto3 client of that server.
    """

    s3: Any = None
    url: str = ""

    def spec(self, model: str = "acme.judge") -> str:
        """A judge's spec."""
        return f"bedrock:{model}?base_url={self.url}&region=us-east-1&streaming=false"

    def route(self, method: str, path: str, query: dict[str, str], raw: bytes, headers: Any) -> Answer:
        """One request."""
        del headers
        if path.endswith("/converse"):
            self.on("live")
            with self.lock:
                self.live += 1
            body = json.loads(raw)
            return _json(conversed(body, self.answer(body)))
        if (method, path) == ("POST", "/model-invocation-job"):
            return self._create(json.loads(raw))
        if path == "/model-invocation-jobs":
            found = [job for job in self.jobs if query.get("nameContains", "") in job["jobName"]]
            return _json({"invocationJobSummaries": [self._shown(job) for job in found]})
        if path.startswith("/model-invocation-job/"):
            self.on("look")
            return self._look(path.removeprefix("/model-invocation-job/"))
        return _json({"message": f"no {path}"}, 404)

    def _create(self, asked: JsonObject) -> Answer:
        self.on("submit")
        known = next((j for j in self.jobs if j["clientRequestToken"] == asked["clientRequestToken"]), None)
        if known is not None:
            return _json({"jobArn": known["jobArn"]})
        lines = self._input(asked)
        wrong = None
        if len(lines) < MINIMUM:
            wrong = f"The number of records must be at least {MINIMUM}"
        if any("toolConfig" in line["modelInput"] for line in lines):
            wrong = "toolConfig is not supported"
        if asked.get("modelInvocationType") != "Converse":
            wrong = "modelInput does not fit the invocation type"
        if wrong is not None:
            return _json({"message": wrong, "__type": "ValidationException"}, 400)
        self.take({line["recordId"]: line["modelInput"] for line in lines})
        with self.lock:
            number = len(self.jobs)
            arn = f"arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/{number:012d}"
            job = {"jobArn": arn, "status": "Submitted", "looks": 0, "number": number, **asked}
            self.jobs.append(job)
        self.on("submitted")
        return _json({"jobArn": arn})

    def _input(self, job: JsonObject) -> list[JsonObject]:
        place = urlsplit(job["inputDataConfig"]["s3InputDataConfig"]["s3Uri"])
        body = self.s3.get_object(Bucket=place.netloc, Key=place.path[1:])["Body"].read()
        return [json.loads(line) for line in body.splitlines()]

    def _look(self, arn: str) -> Answer:
        job = next(job for job in self.jobs if job["jobArn"] == arn)
        with self.lock:
            job["looks"] += 1
            over = self.faults.over(job) and job["status"] in ("Submitted", "InProgress")
        if over:
            self._end(job)
        elif job["status"] == "Submitted":
            job["status"] = "InProgress"
        return _json(self._shown(job))

    def _end(self, job: JsonObject) -> None:
        end = self.faults.ends.get(job["number"], "completed")
        outputs: list[bytes] = []
        for number, line in enumerate(self._input(job)):
            if end in ("failed", "expired") or (end in ("partial", "stopped") and number % 2):
                continue
            fate = self.fate(line["recordId"], line["modelInput"])
            if fate == "missing":
                continue
            if fate == "error":
                outputs.append(_line({**line, "error": {"errorCode": 500, "errorMessage": "internal"}}))
                continue
            body = line["modelInput"]
            whole = _line({**line, "modelOutput": conversed(body, self.answer(body))})
            if fate == "malformed":
                whole = (
                    whole[: len(whole) // 2] if number % 2 else _line({**line, "modelOutput": {"output": {}}})
                )
            outputs.append(whole)
        place = urlsplit(job["outputDataConfig"]["s3OutputDataConfig"]["s3Uri"])
        folder = f"{place.path.strip('/')}/{job['jobArn'].rpartition('/')[2]}"
        if outputs:
            body = b"\n".join(shuffled(outputs)) + b"\n"
            self.s3.put_object(Bucket=place.netloc, Key=f"{folder}/input.jsonl.out", Body=body)
        self.s3.put_object(Bucket=place.netloc, Key=f"{folder}/manifest.json.out", Body=b"{}")
        words = {"partial": "PartiallyCompleted"}
        job["status"] = words.get(end, end.capitalize())
        if end == "failed":
            job["message"] = "the role cannot read the bucket"

    def _shown(self, job: JsonObject) -> JsonObject:
        shown = {name: value for name, value in job.items() if name not in ("looks", "number")}
        return {**shown, "submitTime": "2026-11-29T00:00:00Z"}


MINIMUM = 100
"""Records of a Bedrock job."""


def conversed(body: Mapping[str, Any], raw: Raw | None = None) -> JsonObject:
    """A Converse response to a request, live or in a batch."""
    prompt = json.dumps(body["messages"], sort_keys=True)
    content: JsonObject
    if raw is not None:
        content, stop = {"text": raw.text}, "end_turn"
    elif "toolConfig" in body:
        spec = body["toolConfig"]["tools"][0]["toolSpec"]
        asked = filled(spec["inputSchema"]["json"], prompt)
        content, stop = {"toolUse": {"toolUseId": "t1", "name": spec["name"], "input": asked}}, "tool_use"
    elif "outputConfig" in body:
        schema = json.loads(body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"])
        content, stop = {"text": json.dumps(filled(schema, prompt))}, "end_turn"
    else:
        content, stop = {"text": said(prompt)}, "end_turn"
    usage = {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
    message = {"role": "assistant", "content": [content]}
    return {"output": {"message": message}, "stopReason": stop, "usage": usage, "metrics": {"latencyMs": 7}}


@contextlib.contextmanager
def bedrock_batches(s3: Any, faults: Faults | None = None) -> Iterator[Bedrock]:
    """Bedrock's stand-in, over a real S3 server."""
    provider = Bedrock(faults=faults or Faults(), s3=s3)
    with serving(provider.route) as url:
        provider.url = url
        yield provider
