"""Anthropic's split of written tokens, which the SDK drops, heard and put back."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from nightgate.adapters.models import normalise_usage
from nightgate.adapters.models.cache_writes import listening
from nightgate.trials import Usage


class Stream:
    """A message stream of Anthropic's client: an event, and then the whole message."""

    def __init__(self, split: Any) -> None:
        self.response = "seen through"
        self._split = split

    async def __aiter__(self) -> AsyncIterator[str]:
        yield "event"

    async def get_final_message(self) -> Any:
        """As the client's."""
        return SimpleNamespace(usage=SimpleNamespace(cache_creation=self._split))


class Client:
    """Anthropic's client, as far as the SDK's model uses it; one split an answer."""

    def __init__(self, *splits: Any) -> None:
        self.messages, self.api_key, self._splits = self, "k", list(splits)

    @contextlib.asynccontextmanager
    async def stream(self, **_: Any) -> AsyncIterator[Stream]:
        """As the client's."""
        yield Stream(self._splits.pop(0))


class SdkModel:
    """The SDK's model: asks its client, sums whole numbers up, tells the sums."""

    def __init__(self, client: Client, answers: int = 1) -> None:
        self.client, self.answers = client, answers

    async def stream(self, _messages: Any) -> AsyncIterator[Any]:
        """As the SDK's."""
        assert self.client.api_key == "k"
        for _ in range(self.answers):  # one turn may go on over several answers
            async with self.client.messages.stream(model="m") as stream:
                assert stream.response == "seen through"
                assert [event async for event in stream] == ["event"]
                await stream.get_final_message()
        usage = {"inputTokens": 10, "outputTokens": 5, "cacheWriteInputTokens": 300}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}


def a_split(five: int, hour: int) -> SimpleNamespace:
    """``usage.cache_creation`` of an answer."""
    return SimpleNamespace(ephemeral_5m_input_tokens=five, ephemeral_1h_input_tokens=hour)


async def told(*splits: Any, calls: int = 1) -> list[Usage]:
    """What each call's usage comes to; all answers of a call in one turn."""
    model = listening(SdkModel)(Client(*splits), len(splits) // calls)
    found = []
    for _ in range(calls):
        events = [event async for event in model.stream("hello")]
        assert events[0] == {"messageStop": {"stopReason": "end_turn"}}
        found.append(normalise_usage(events[-1]["metadata"]["usage"], "beside"))
    return found


async def test_an_hours_writes_are_told_apart() -> None:
    """They cost more."""
    assert await told(a_split(100, 200)) == [Usage(input=10, output=5, cache_write=300, cache_write_1h=200)]


async def test_a_turn_over_several_answers_is_added_up() -> None:
    """As the SDK adds the sums."""
    (usage,) = await told(a_split(100, 50), a_split(0, 150))
    assert usage.cache_write_1h == 200


async def test_calls_do_not_hear_each_other() -> None:
    """Each has an ear of its own."""
    first, second = await told(a_split(300, 0), a_split(0, 300), calls=2)
    assert (first.cache_write_1h, second.cache_write_1h) == (0, 300)


async def test_without_a_split_the_sum_stays_as_it_is() -> None:
    """Of older answers, and of those that wrote nothing."""
    assert await told(None) == [Usage(input=10, output=5, cache_write=300)]
