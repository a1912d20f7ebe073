"""The reference in the store: of many who would change it one wins, and none is lost."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.canaries import Flips, Frozen, Judge, Reference
from nightgate.errors import DamagedError, MissingError
from nightgate.rows.jsondocs import NewerDocumentError
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


# -- documents that are damaged, newer or gone -------------------------------------------------------

KEY = canary_key("demo", 2)


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    """A folder with a first reference and a second one, which a judge has looked at."""
    store = FolderStore(tmp_path)
    first = Reference(suite="demo", number=1, frozen_at="x", run_id="r1", why=(), trials=TRIALS)
    store.create(canary_key("demo", 1), json_text(first.to_dict()).encode())
    learn(store, first, "n1", NOW, looks={JUDGE: {("c0", 0): True}}, quiet={JUDGE: Flips(judged=1)})
    return store


def edited(store: FolderStore, **changes: Any) -> bytes:
    """The second reference with changes by hand."""
    return json.dumps({**json.loads(store.read(KEY)), **changes}).encode()


def test_a_reference_is_read_as_it_was_written(folder: FolderStore) -> None:
    """What else lies in the folder, such as an editor's copy, is no reference."""
    folder.replace("canaries/demo/000002.json.bak", b"old")
    folder.replace("canaries/demo/notes.txt", b"mine")

    found = reference_of(folder, "demo")

    assert found is not None
    assert (found.number, found.trials, found.looks) == (2, TRIALS, {JUDGE: {("c0", 0): True}})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"judges": None}, "judges is null, not a list"),
        ({"trials": [{"run_id": "r1", "case": "c", "trial": "0", "case_hash": "h"}]}, "trials[0].trial is"),
        ({"schema": "1"}, 'schema is "1", not a schema number'),
        ({"suite": "other"}, "it is number 2 of suite 'other'"),
        ({"number": 7}, "it is number 7 of suite 'demo'"),
    ],
)
def test_a_damaged_reference_is_named_with_the_ways_out(
    folder: FolderStore, changes: dict[str, Any], problem: str
) -> None:
    """Verdicts would be held against nonsense: a drift that is none, or none that is one."""
    folder.replace(KEY, edited(folder, **changes))

    with pytest.raises(DamagedError) as refused:
        reference_of(folder, "demo")

    text = str(refused.value)
    assert text.startswith(f"canaries/demo/000002.json: no canary reference ({problem}")
    assert "remove it: the number before it holds again" in text
    assert "`nightgate canary RUN --freeze`" in text


def test_without_the_damaged_number_the_one_before_it_holds(folder: FolderStore) -> None:
    """As the message says."""
    folder.replace(KEY, b"[]")
    folder.delete([KEY])

    found = reference_of(folder, "demo")

    assert found is not None
    assert found.number == 1


def test_a_night_learns_nothing_over_a_newer_reference(folder: FolderStore) -> None:
    """It would hold by its higher number, without what the newer program knows."""
    used = reference_of(folder, "demo")
    assert used is not None
    folder.replace(KEY, edited(folder, schema=2, trials="in another form"))

    with pytest.raises(NewerDocumentError, match=r"canaries/demo/000002\.json: written by a newer nightgate"):
        learn(folder, used, "n2", NOW, looks={JUDGE: {("c1", 0): True}}, quiet={})

    assert folder.find("canaries/demo/") == [canary_key("demo", 1), KEY]


def test_a_reference_that_canaries_were_planned_with_and_is_gone_is_named(folder: FolderStore) -> None:
    """Somebody removed it."""
    with pytest.raises(MissingError, match=r"canaries/demo/000009\.json is gone, and canaries were planned"):
        reference_of(folder, "demo", 9)
