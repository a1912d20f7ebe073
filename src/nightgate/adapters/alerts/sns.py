"""Amazon SNS: one publish a message. Region from the topic's ARN, credentials from the usual chain.

Owns what SNS wants of a message: an ASCII subject under 100 characters, and a group for FIFO topics.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Mapping
from typing import Any

from nightgate.errors import AlertError, InputError

TIMEOUT_S = 10.0
_ARN = re.compile(r"arn:aws[a-z-]*:sns:([a-z0-9-]+):(\d{12}):([A-Za-z0-9_-]{1,256}(?:\.fifo)?)")
_SUBJECT = 99
_PASSING = frozenset({"Throttled", "ThrottlingException", "Throttling", "InternalError", "InternalFailure"})
_SERVER_ERROR = 500


class SnsChannel:
    """Publishes to a topic.

    Args:
        name: What suites call it.
        topic_arn: ``arn:aws:sns:REGION:ACCOUNT:TOPIC``.
        timeout_s: Of a connection and of an answer.

    Raises:
        InputError: If the ARN is none.
    """

    def __init__(self, name: str, topic_arn: str, *, timeout_s: float = TIMEOUT_S) -> None:
        found = _ARN.fullmatch(topic_arn)
        if found is None:
            # Not quoted: somebody may have put an address with its secrets here.
            msg = f"alert channel {name!r}: its target is no topic; write arn:aws:sns:REGION:ACCOUNT:TOPIC"
            raise InputError(msg)
        self.name, self.target = name, f"SNS topic {found[3]} in {found[1]}"
        self._arn, self._region, self._timeout_s = topic_arn, found[1], timeout_s
        self.patience_s = 3 * timeout_s
        self._lock, self._made = threading.Lock(), None

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Publish one message; subject and text for people, three attributes for filters."""
        fifo = {"MessageGroupId": facts["suite"], "MessageDeduplicationId": facts["id"]}
        self._asked(
            "publish",
            TopicArn=self._arn,
            Subject=_subject(title),
            Message=f"{title}\n{body}",
            MessageAttributes={
                name: {"DataType": "String", "StringValue": str(facts[name])}
                for name in ("suite", "run_id", "kind")
            },
            **(fifo if self._arn.endswith(".fifo") else {}),
        )

    def check(self) -> str:
        """Ask for the topic's attributes; nothing is published."""
        try:
            self._asked("get_topic_attributes", TopicArn=self._arn)
        except AlertError as error:
            if "AuthorizationError" in str(error) or "AccessDenied" in str(error):
                return (
                    "answers; sns:GetTopicAttributes is not allowed, so whether sns:Publish is cannot be seen"
                )
            raise
        return "the topic is there; nothing was sent"

    def _asked(self, operation: str, **arguments: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return getattr(self._client(), operation)(**arguments)
        except ClientError as error:
            details = error.response.get("Error", {})
            code = str(details.get("Code", "unknown"))
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            again = status >= _SERVER_ERROR or code in _PASSING
            raise AlertError(f"SNS refused: {code}: {details.get('Message', '')}", again=again) from error
        except BotoCoreError as error:
            again = "Credentials" not in type(error).__name__
            raise AlertError(f"SNS is out of reach: {error}", again=again) from error

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                import boto3
                from botocore.config import Config

                config = Config(
                    # Delivery has the only retries.
                    retries={"total_max_attempts": 1},
                    connect_timeout=self._timeout_s,
                    read_timeout=self._timeout_s,
                )
                self._made = boto3.session.Session().client("sns", region_name=self._region, config=config)
            return self._made


def _subject(title: str) -> str:
    """What SNS takes as a subject: printable ASCII that starts with a letter, digit or mark."""
    plain = unicodedata.normalize("NFKD", title.replace("…", "...")).encode("ascii", "ignore").decode()
    return plain[:_SUBJECT].strip() or "nightgate"
