"""Delivery ends: by success, by refusal or by the clock."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nightgate.errors import AlertError
from nightgate.steps.delivering import Patience, bounded, deliver
from nightgate.testing import RecordingChannel


def an_item(message_id: str = "m", *names: str) -> dict[str, Any]:
    """A waiting message."""
    return {
        "id": message_id,
        "message": {"title": "t", "body": "b", "facts": {"id": message_id}},
        "to": {name: {"delivered": False, "attempts": 0, "error": None} for name in names or ("default",)},
    }


def test_waits_grow_and_tries_are_bounded() -> None:
    """Three tries, with one and four seconds between them."""
    waits: list[float] = []
    channel = RecordingChannel(failures=None)

    results = deliver([an_item()], {"default": channel}, Patience(sleep=waits.append))

    assert (channel.tries, waits) == (3, [1.0, 4.0])
    assert results["m"]["default"]["attempts"] == 3


def test_a_refusal_for_good_is_not_repeated() -> None:
    """A wrong address is wrong three times."""

    class Refusing(RecordingChannel):
        def send(self, *_: Any) -> None:
            self.tries += 1
            raise AlertError("answered 404", again=False)

    channel = Refusing()

    deliver([an_item()], {"default": channel}, Patience(sleep=lambda _: None))

    assert channel.tries == 1


def test_a_channel_that_is_down_is_tried_for_the_first_message_only() -> None:
    """Ten messages to a hanging chat would take ten times as long."""
    channel = RecordingChannel(failures=None)

    results = deliver([an_item("a"), an_item("b")], {"default": channel}, Patience(sleep=lambda _: None))

    assert channel.tries == 3
    assert results["b"]["default"]["error"] == results["a"]["default"]["error"]


def test_a_channel_that_hangs_is_left_behind() -> None:
    """Nobody's code may hold a night."""
    released = threading.Event()

    class Hanging(RecordingChannel):
        def send(self, *_: Any) -> None:
            released.wait()

    results = deliver(
        [an_item()], {"default": Hanging(patience_s=0.05)}, Patience(attempts=1, sleep=lambda _: None)
    )
    released.set()

    assert results["m"]["default"]["error"].startswith("no answer within")


def test_a_message_for_a_channel_that_is_not_configured_any_more_stays() -> None:
    """It is said, and no try is made."""
    results = deliver([an_item("m", "gone")], {}, Patience())

    assert results["m"]["gone"] == {"error": "no channel of that name is configured any more", "attempts": 0}


def test_with_no_time_left_nothing_is_tried() -> None:
    """The next run has its own time."""
    channel = RecordingChannel()

    results = deliver([an_item()], {"default": channel}, Patience(total_s=0.0))

    assert channel.tries == 0
    assert results["m"]["default"]["error"] == "there was no time left"


def test_an_exception_of_a_channel_becomes_an_error_without_its_text() -> None:
    """Foreign errors quote addresses."""

    def act() -> None:
        msg = "https://hooks.invalid/secretpath"
        raise RuntimeError(msg)

    with pytest.raises(AlertError, match="the channel broke: RuntimeError") as raised:
        bounded(act, 5.0)
    assert "secretpath" not in str(raised.value)
