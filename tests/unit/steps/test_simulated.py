"""The word that a simulated month leaves in its store."""

from __future__ import annotations

import json

import pytest

from nightgate.errors import ConflictError
from nightgate.rows.keys import demo_key
from nightgate.steps.simulated import NOTICE, is_simulated, mark_simulated, notice_of
from nightgate.testing import InMemoryStore


def test_a_store_is_real_until_somebody_says_otherwise() -> None:
    """No page of a real night may call it simulated."""
    store = InMemoryStore()

    assert not is_simulated(store)
    assert notice_of(store) is None


def test_a_marked_store_says_so_with_its_facts() -> None:
    """Readers without us find the sentence in the document."""
    store = InMemoryStore()
    mark_simulated(store, {"seed": 7})

    assert is_simulated(store)
    assert notice_of(store) == NOTICE
    document = json.loads(store.read(demo_key()))
    assert (document["schema"], document["simulated"], document["seed"]) == (1, True, 7)
    assert document["notice"] == NOTICE


def test_two_demos_do_not_share_a_store() -> None:
    """Nights of two seeds under the same ids would be neither."""
    store = InMemoryStore()
    mark_simulated(store, {"seed": 1})

    with pytest.raises(ConflictError):
        mark_simulated(store, {"seed": 2})
