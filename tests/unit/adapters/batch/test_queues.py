"""Which judges have a batch queue, and what is refused before anything is spent."""

from __future__ import annotations

import pytest

from batch_double import QUICK
from makers import a_meter, a_price, in_turn, metered
from nightgate.adapters.batch.queues import BatchQueues
from nightgate.adapters.models import parse_spec
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import InputError


@pytest.mark.parametrize(
    ("spec", "word"),
    [("scripted:judge", "has no batch queue"), ("openai:gpt-x", "what the batch queue of judge")],
)
async def test_a_missing_queue_is_said_before_a_missing_price(spec: str, word: str) -> None:
    """No line of --prices gives a script a queue."""
    queues = BatchQueues(InMemoryStore(), QUICK, live=1)
    meter = a_meter()

    with pytest.raises(InputError, match=word):
        queues.model(parse_spec(spec), metered(in_turn(), meter, price=a_price(input="1")), meter)
