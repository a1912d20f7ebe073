"""Messages on their way to channels: tries, waits and an end to patience.

Owns that a channel which fails, hangs or is missing costs a bounded time and never an exception. A try
that timed out may have arrived all the same: whoever repeats it sends the same id.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nightgate.errors import AlertError
from nightgate.messages import neutral
from nightgate.ports import AlertChannel

ERROR_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How hard delivery is tried."""

    attempts: int = 3
    """Tries of one message on one channel."""
    wait_s: float = 1.0
    """Before the second try; each further wait is four times as long."""
    total_s: float = 180.0
    """What all messages of a call may take; what is left then waits for the next run."""
    sleep: Callable[[float], None] = time.sleep


def deliver(
    items: Sequence[Mapping[str, Any]], channels: Mapping[str, AlertChannel], patience: Patience
) -> dict[str, dict[str, dict[str, Any]]]:
    """Try every message on every channel that has not got it.

    Args:
        items: Of the outbox.
        channels: By name; a message for another one stays.
        patience: Tries and times.

    Returns:
        Message id -> channel -> ``{"error": text or None, "attempts": n}``, for what was tried.
    """
    end = time.monotonic() + patience.total_s
    failed: dict[str, str] = {}
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for item in items:
        told = results.setdefault(item["id"], {})
        for name, to in item["to"].items():
            if to["delivered"]:
                continue
            if name not in channels:
                told[name] = {"error": "no channel of that name is configured any more", "attempts": 0}
            elif name in failed:
                # It has had its tries in this call: the other messages wait with the first.
                told[name] = {"error": failed[name], "attempts": 0}
            else:
                told[name] = _tried(channels[name], item["message"], patience, end)
                if told[name]["error"] is not None:
                    failed[name] = told[name]["error"]
        for name, to in item["to"].items():
            if to["delivered"]:
                told[name] = {"error": None, "attempts": 0}
    return results


def _tried(
    channel: AlertChannel, message: Mapping[str, Any], patience: Patience, end: float
) -> dict[str, Any]:
    wait, error = patience.wait_s, "there was no time left"
    for attempt in range(1, patience.attempts + 1):
        left = end - time.monotonic()
        if left <= 0:
            return {"error": error, "attempts": attempt - 1}
        try:
            bounded(
                lambda: channel.send(message["title"], message["body"], message["facts"]),
                min(channel.patience_s, left),
            )
        except AlertError as refused:
            error = neutral(str(refused), ERROR_CHARS)
            if not refused.again or attempt == patience.attempts:
                return {"error": error, "attempts": attempt}
            patience.sleep(min(wait, max(0.0, end - time.monotonic())))
            wait *= 4
        else:
            return {"error": None, "attempts": attempt}
    raise AssertionError  # the last attempt returns


def bounded(act: Callable[[], Any], limit_s: float) -> Any:
    """What ``act`` returns, if it does within ``limit_s``.

    It runs in a daemon thread: what hangs in a library can be left behind, not ended.

    Raises:
        AlertError: If it raised anything, or did not come back.
    """
    answer: list[Any] = []
    problem: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(act())
        except BaseException as error:  # a channel is somebody's code
            problem.append(error)

    thread = threading.Thread(target=work, name="nightgate-alert", daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        msg = f"no answer within {limit_s:.0f} s"
        raise AlertError(msg)
    if not problem:
        return answer[0]
    if isinstance(problem[0], AlertError):
        raise problem[0]
    # Only the kind: the text of foreign errors may quote an address, which is a secret.
    msg = f"the channel broke: {type(problem[0]).__name__}"
    raise AlertError(msg) from problem[0]
