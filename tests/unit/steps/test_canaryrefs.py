"""The reference in the store: of many who would change it one wins, and none is lost."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.canaries import Flips, Frozen, Judge, Reference
from nightgate.rows.jsontext import json_text
from nightgate.rows.keys import canary_key
from nightgate.steps.canaryrefs import learn, reference_of

NOW = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)
JUDGE = Judge("Criterion:polite", 2, "f1")
TRIALS = tuple(Frozen("r1", f"c{n}", 0, "h") for n in range(8))


def a_store(trials: tuple[Frozen, ...] = TRIALS) -> tuple[InMemoryStore, Reference]:
    """A store with a first reference that no judge has looked at."""
    store = InMemoryStore()
    first = Reference(suite="demo", number=1, frozen_at="x", run_id="r1", why=(), trials=trials)
    store.create(canary_key("demo", 1), json_text(first.to_dict()).encode())
    return store, first


def test_nothing_frozen_is_none() -> None:
    """Not an empty reference, which would say that a night froze nothing."""
    assert reference_of(InMemoryStore(), "demo") is None


def test_a_night_that_teaches_nothing_makes_no_document() -> None:
    """Otherwise each night would."""
    store, first = a_store()
    learn(store, first, "n1-canary", NOW, looks={JUDGE: {("c0", 0): True}}, quiet={})

    again = learn(store, first, "n2-canary", NOW, looks={JUDGE: {("c0", 0): False}}, quiet={})

    assert again is not None
    assert again.number == 2
    assert again.looks == {JUDGE: {("c0", 0): True}}


def test_of_nights_that_learn_at_once_none_is_lost() -> None:
    """Each puts the next number; who comes second takes what is there and goes on."""
    store, first = a_store()

    def night(number: int) -> None:
        looks = {JUDGE: {(f"c{number}", 0): True}}
        learn(store, first, f"n{number}", NOW, looks=looks, quiet={JUDGE: Flips(judged=1)})

    threads = [threading.Thread(target=night, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = reference_of(store, "demo")
    assert found is not None
    assert found.looks[JUDGE] == {(f"c{number}", 0): True for number in range(8)}
    assert set(found.nights[JUDGE]) == {f"n{number}" for number in range(8)}
    assert len(store.find("canaries/demo/")) == found.number


def test_what_was_frozen_anew_since_learns_nothing_from_an_older_night() -> None:
    """The same case and number are another trial now."""
    store, used = a_store()
    anew = Reference(
        suite="demo",
        number=2,
        frozen_at="y",
        run_id="r2",
        why=(),
        trials=(Frozen("r2", "c0", 0, "h"),),
        looks={JUDGE: {}},
    )
    store.create(canary_key("demo", 2), json_text(anew.to_dict()).encode())

    looks = {JUDGE: {("c0", 0): True}}
    found = learn(store, used, "n1", NOW, looks=looks, quiet={JUDGE: Flips(judged=1)})

    assert found == anew
