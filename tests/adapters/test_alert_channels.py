"""Webhooks against a receiver on loopback that answers, refuses, hangs or is not there."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from hooks import SECRET_PATH, Hook, hook, raw_hook
from nightgate.adapters.alerts.sns import SnsChannel
from nightgate.adapters.alerts.webhook import WebhookChannel
from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import AlertError, InputError
from nightgate.ports import AlertChannel
from nightgate.steps.alerting import check_targets
from nightgate.wiring.alerts import looked_at
from nights import canary, flakiness, green, moment, put_night, red, tell
from servers import HOST, free_ports

pytestmark = pytest.mark.server

FACTS = {"id": "m-1", "suite": "support", "run_id": "r-1", "kind": "opening"}
SECRET = SECRET_PATH.rpartition("/")[2]


def a_webhook(found: Hook | str, monkeypatch: pytest.MonkeyPatch, **more: Any) -> WebhookChannel:
    """A channel to a receiver, quick to lose patience."""
    monkeypatch.setenv("TEAM_WEBHOOK_URL", found if isinstance(found, str) else found.url)
    return WebhookChannel("default", "TEAM_WEBHOOK_URL", **({"timeout_s": 0.5} | more))


@pytest.fixture
def missing() -> str:
    """An address where nobody listens."""
    return f"http://{HOST}:{free_ports(1)[0]}{SECRET_PATH}"


def test_a_webhook_gets_one_json_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """``text`` is what Slack shows; the rest is for machines."""
    with hook() as found:
        a_webhook(found, monkeypatch).send("title", "line 1\nline 2", FACTS)

    request = found.requests[0]
    assert json.loads(request["body"]) == {
        "text": "title\nline 1\nline 2", "title": "title", "body": "line 1\nline 2", **FACTS,
    }  # fmt: skip
    assert request["headers"]["Content-Type"] == "application/json; charset=utf-8"
    assert request["headers"]["Idempotency-Key"] == "m-1"


def test_a_token_travels_in_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """Receivers behind a gateway want one."""
    monkeypatch.setenv("TEAM_TOKEN", "t0ken-value-1")
    with hook() as found:
        a_webhook(found, monkeypatch, token_variable="TEAM_TOKEN").send("t", "b", FACTS)

    assert found.requests[0]["headers"]["Authorization"] == "Bearer t0ken-value-1"


@pytest.mark.parametrize(
    ("status", "again"), [(500, True), (503, True), (429, True), (404, False), (403, False), (302, False)]
)
def test_a_refusal_says_whether_another_try_may_help(
    monkeypatch: pytest.MonkeyPatch, status: int, again: bool
) -> None:
    """A wrong address stays wrong; a redirected post would be a get that says 200."""
    refused = pytest.raises(AlertError, match=f"answered {status}: no_service")
    with hook(lambda _: status, answer_text="no_service") as found, refused as raised:
        a_webhook(found, monkeypatch).send("t", "b", FACTS)

    assert raised.value.again is again
    assert [request["method"] for request in found.requests] == ["POST"]


def test_a_receiver_that_hangs_is_left_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A night must not wait for a chat."""
    with hook(lambda _: None) as found, pytest.raises(AlertError, match=r"no answer within 0\.5 s"):
        a_webhook(found, monkeypatch).send("t", "b", FACTS)


def test_a_receiver_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """By sending and by looking."""
    channel = a_webhook(missing, monkeypatch)

    with pytest.raises(AlertError, match="Connection refused"):
        channel.send("t", "b", FACTS)
    with pytest.raises(AlertError, match="Connection refused"):
        channel.check()


def test_looking_at_a_webhook_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doctor must not post into a channel."""
    with hook() as found:
        said = a_webhook(found, monkeypatch).check()

    assert "nothing was sent" in said
    assert found.requests == []


def test_the_address_is_in_no_error_and_no_target(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """Whoever has a chat's address can write into the chat."""
    texts = []
    with hook(lambda _: 404, answer_text=f"no hook at {SECRET_PATH}") as found:
        for channel in (a_webhook(found, monkeypatch), a_webhook(missing, monkeypatch)):
            texts.append(channel.target)
            with pytest.raises(AlertError) as raised:
                channel.send("t", "b", FACTS)
            texts.append(str(raised.value))

    assert not any(SECRET in text or "SECRET" in text for text in texts)


# -- a user in the address --------------------------------------------------------------------------

USER, PASSWORD = "nightbot", "hunter"


def with_user(url: str, user: str = f"{USER}:{PASSWORD}") -> str:
    """An address as people write it for a receiver behind a gateway."""
    return url.replace("://", f"://{user}@")


@pytest.mark.parametrize(
    ("user", "pair"),
    [
        (f"{USER}:{PASSWORD}", f"{USER}:{PASSWORD}"),
        (USER, f"{USER}:"),
        (f":{PASSWORD}", f":{PASSWORD}"),
        ("a%40b:p%2Fw%3A%C3%BC", "a@b:p/w:ü"),
    ],
)
def test_a_user_in_the_address_is_sent_as_basic_authentication(
    monkeypatch: pytest.MonkeyPatch, user: str, pair: str
) -> None:
    """For urllib the user is a part of the host's name, and it reaches nobody."""
    with hook() as found:
        a_webhook(with_user(found.url, user), monkeypatch).send("t", "b", FACTS)

    headers = found.requests[0]["headers"]
    assert headers["Authorization"] == f"Basic {base64.b64encode(pair.encode()).decode()}"
    assert USER not in headers["Host"]


def test_a_user_and_a_token_are_refused_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both want the one header; which was meant is not for us to guess."""
    monkeypatch.setenv("TEAM_TOKEN", "t0ken-value-1")

    with pytest.raises(InputError, match="take the user out of the address, or drop token_env") as raised:
        a_webhook("http://nightbot:hunter@127.0.0.1/x", monkeypatch, token_variable="TEAM_TOKEN")

    assert not any(secret in str(raised.value) for secret in (USER, PASSWORD, "t0ken"))


@pytest.mark.parametrize("token", ["t0ken\nvalue", "t0ken-ü"])
def test_a_token_that_no_header_can_hold_is_refused_unseen(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    """http.client would raise with all of it in its text."""
    monkeypatch.setenv("TEAM_TOKEN", token)

    with pytest.raises(InputError, match="TEAM_TOKEN holds no token") as raised:
        a_webhook("http://127.0.0.1/x", monkeypatch, token_variable="TEAM_TOKEN")

    assert "t0ken" not in str(raised.value)


def test_a_token_may_end_in_a_line_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets that come from files do."""
    monkeypatch.setenv("TEAM_TOKEN", "t0ken-value-1\n")
    with hook() as found:
        a_webhook(found, monkeypatch, token_variable="TEAM_TOKEN").send("t", "b", FACTS)

    assert found.requests[0]["headers"]["Authorization"] == "Bearer t0ken-value-1"


def test_a_user_of_the_address_is_in_no_text(
    monkeypatch: pytest.MonkeyPatch, missing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Refused by name, out of reach, looked at by doctor, written into the book and the report."""
    store = FolderStore(tmp_path)
    texts = []
    with hook(lambda _: 401, answer_text=f"wrong {PASSWORD} of {USER}") as found:
        for number, url in enumerate((found.url, missing), 1):
            channel = a_webhook(with_user(url), monkeypatch)
            texts += [channel.target, json.dumps(check_targets([channel]))]
            with pytest.raises(AlertError) as raised:
                channel.send("t", "b", FACTS)
            texts.append(str(raised.value))
            texts.append(json.dumps(tell(store, put_night(store, number, red()), channel)))
    monkeypatch.setenv("NIGHTGATE_ALERT_CHANNELS", "default=webhook:TEAM_WEBHOOK_URL")
    texts.append(json.dumps(looked_at(None, "doctor")))
    texts += [path.read_text() for path in tmp_path.rglob("*.json")]

    assert any("answered 401" in text for text in texts)
    assert any("alerts" in str(path) for path in tmp_path.rglob("*.json"))
    assert not any(secret in text for secret in (USER, PASSWORD) for text in [*texts, caplog.text])


# -- what counts as delivered -----------------------------------------------------------------------

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 500\r\n\r\nhalf",
        OK + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhalf",
        OK + b"Content-Le",
        OK + b"X-Long: " + b"x" * 100_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\n",
        b"HTTP/1.1 204 No Content\r\n",
    ],
)
@pytest.mark.parametrize("hangs", [False, True])
def test_a_2xx_is_delivered_whatever_becomes_of_the_rest(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, hangs: bool
) -> None:
    """The receiver has taken it: another try would be a second message."""
    store = InMemoryStore()
    with raw_hook(answer, hangs=hangs) as found:
        report = tell(store, put_night(store, 1, red()), a_webhook(found.url, monkeypatch))

    assert (report["undelivered"], len(report["sent"]), found.requests) == ([], 1, 1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "closed without an answer"),
        (b"HTTP/1.1 ", "is no HTTP"),
        (b"SSH-2.0-OpenSSH\r\n", "is no HTTP"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "closed without an answer"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 500\r\n\r\nhalf", "answered 503"),
    ],
)
def test_a_connection_that_ends_without_a_2xx_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, says: str
) -> None:
    """Nobody can tell whether it arrived, so it is repeated under the same id."""
    store = InMemoryStore()
    with raw_hook(answer, answer, OK + b"Content-Length: 0\r\n\r\n") as found:
        channel = a_webhook(found.url, monkeypatch)
        with pytest.raises(AlertError, match=says) as raised:
            channel.send("t", "b", FACTS)
        report = tell(store, put_night(store, 1, red()), channel)

    assert raised.value.again
    assert (report["undelivered"], len(report["sent"]), found.requests) == ([], 1, 3)


# -- the whole way ----------------------------------------------------------------------------------


def test_the_receiver_gets_exactly_one_message_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three nights of a regression and its end, with a judge that drifts in the second."""
    store = InMemoryStore()
    with hook() as found:
        channel = a_webhook(found, monkeypatch)
        nights = [
            (red(), flakiness(broken=["late"]), canary()),
            (red(), flakiness(still=["late"], gate_explained=True), canary(alarm=True)),
            (red(), flakiness(still=["late"], gate_explained=True), canary(alarm=True)),
            (green(), flakiness(fixed=["late"]), canary()),
        ]
        for number, (summary, told, drift) in enumerate(nights, 1):
            run_id = put_night(store, number, summary, flakiness=told, canary=drift)
            tell(store, run_id, channel, at=moment(number))

    assert [document["title"] for document in found.taken] == [
        "support: gate FAILED, newly broken: late",
        "support: judge drifts, stricter",
        "support: over: gate passes again, 1 fixed, judge drift",
    ]
    assert "known before: " in found.taken[1]["body"]


def test_a_receiver_that_fails_first_gets_the_message_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """500, then 200: tried again with the same id."""
    with hook(lambda number: 500 if number == 0 else 200) as found:
        store = InMemoryStore()
        tell(store, put_night(store, 1, red()), a_webhook(found, monkeypatch))

    assert len(found.taken) == 1
    assert len({json.loads(request["body"])["id"] for request in found.requests}) == 1


@pytest.mark.parametrize("answer", [500, None, "missing"])
def test_a_channel_in_trouble_is_reported_and_raises_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: Any, missing: str
) -> None:
    """The verdict is not the chat's business."""
    store = InMemoryStore()
    with hook(lambda _: answer) as found:
        channel = a_webhook(missing if answer == "missing" else found, monkeypatch)
        report = tell(store, put_night(store, 1, red()), channel)

    assert [(row["channel"], row["attempts"]) for row in report["undelivered"]] == [("default", 3)]
    assert report["undelivered"][0]["error"]
    assert SECRET not in json.dumps(report)
    assert SECRET not in store.read("alerts/support.json").decode()


# -- SNS --------------------------------------------------------------------------------------------


class Topic:
    """SNS as far as it is spoken here: the query protocol over loopback."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.status = 200
        self.code = "InternalError"


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    """A stand-in that boto3 finds through the usual variables."""
    told = Topic()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            told.requests.append({name: values[0] for name, values in parse_qs(body).items()})
            action = told.requests[-1]["Action"]
            result = f"<{action}Result><MessageId>m</MessageId></{action}Result>"
            good = f"<{action}Response>{result}</{action}Response>"
            bad = (
                f"<ErrorResponse><Error><Code>{told.code}</Code><Message>no</Message></Error></ErrorResponse>"
            )
            data = (good if told.status == 200 else bad).encode()
            self.send_response(told.status)
            self.send_header("Content-Type", "text/xml")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer((HOST, 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT_URL_SNS": f"http://{HOST}:{server.server_address[1]}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test-secret-key",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield told
    server.shutdown()
    server.server_close()


ARN = "arn:aws:sns:eu-central-1:123456789012:evals"


def test_sns_gets_subject_text_and_attributes(topic: Topic) -> None:
    """A subject is ASCII and short, whatever the title is."""
    SnsChannel("page", ARN).send("support: gate FAILED: répond …" + "x" * 90, "line", FACTS)

    request = topic.requests[0]
    assert request["Action"] == "Publish"
    assert request["TopicArn"] == ARN
    assert request["Subject"].startswith("support: gate FAILED: repond ...x")
    assert len(request["Subject"]) < 100
    assert request["Message"].endswith("\nline")
    named = {request[f"MessageAttributes.entry.{n}.Name"] for n in (1, 2, 3)}
    assert named == {"suite", "run_id", "kind"}


def test_a_fifo_topic_is_told_which_messages_are_the_same(topic: Topic) -> None:
    """A repeated try arrives once."""
    SnsChannel("page", f"{ARN}.fifo").send("t", "b", FACTS)

    assert topic.requests[0]["MessageDeduplicationId"] == "m-1"
    assert topic.requests[0]["MessageGroupId"] == "support"


@pytest.mark.parametrize(
    ("status", "code", "again"), [(500, "InternalError", True), (404, "NotFound", False)]
)
def test_what_sns_refuses_is_said_once_a_try(topic: Topic, status: int, code: str, again: bool) -> None:
    """boto3's own retries are off: delivery has the only ones."""
    topic.status, topic.code = status, code

    with pytest.raises(AlertError, match=code) as raised:
        SnsChannel("page", ARN).send("t", "b", FACTS)

    assert raised.value.again is again
    assert len(topic.requests) == 1


def test_looking_at_a_topic_publishes_nothing(topic: Topic) -> None:
    """Its attributes are asked for; a role that may only publish is told so, and is no failure."""
    channel: AlertChannel = SnsChannel("page", ARN)
    assert "nothing was sent" in channel.check()
    topic.status, topic.code = 403, "AuthorizationError"

    assert "not allowed" in channel.check()
    assert {request["Action"] for request in topic.requests} == {"GetTopicAttributes"}


def test_missing_credentials_are_no_reason_to_try_again(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They will not appear within seconds."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    with pytest.raises(AlertError, match="credentials") as raised:
        SnsChannel("page", ARN).send("t", "b", FACTS)

    assert not raised.value.again
