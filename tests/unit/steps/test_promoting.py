"""Baselines are made by people, of runs that passed, and never by two at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError
from nightgate.rows.keys import baseline_key
from nightgate.steps.bases import load_baseline
from nightgate.steps.promoting import PromotionRefusedError, note_rejudged, promote
from pairs import a_run_plan, judge, lenient, play, put_run, some

KEY = baseline_key("demo")
STRICT = [replace(lenient(), threshold="1.0")]


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


def test_a_passing_run_becomes_the_baseline_with_all_that_it_was_judged_by(store: InMemoryStore) -> None:
    """The document is what later runs are held against."""
    play(store, "good", some(2), evaluators=[judge()])

    promote(store, "good", now=datetime(2026, 11, 30, 5, 0, tzinfo=UTC))

    assert json.loads(store.read(KEY)) == {
        "schema": 1,
        "suite": "demo",
        "run_id": "good",
        "promoted_at": "2026-11-30T05:00:00Z",
        "forced": False,
        "why": None,
        "verdict": "pass",
        "case_hashes": {"c0": "hash of c0", "c1": "hash of c1"},
        "evaluators": [
            {"name": "E", "version": 1, "judge_fingerprint": "f" * 16, "judge_model": "scripted:judge"}
        ],
        "agent": {"model": "scripted:agent", "fingerprint": "g", "parts": {}},
        "rejudged": [],
        "earlier": [],
    }


def test_a_run_never_becomes_the_baseline_by_itself(store: InMemoryStore) -> None:
    """However well it went."""
    play(store, "good", some(20))

    assert load_baseline(store, "demo") is None


def test_a_run_that_failed_is_refused_and_says_what_to_do(store: InMemoryStore) -> None:
    """Or with a reason, which is kept."""
    play(store, "bad", some(1, 1), evaluators=STRICT)

    with pytest.raises(
        PromotionRefusedError, match=r"its gate failed \(E: 50% < 100%.*--force --why TEXT"
    ) as refused:
        promote(store, "bad")
    assert refused.value.exit_code == 1
    assert load_baseline(store, "demo") is None

    forced = promote(store, "bad", why="known, ticket 12").baseline
    assert (forced.forced, forced.why, forced.verdict) == (True, "known, ticket 12", "fail")


def test_a_run_with_too_little_measured_is_refused(store: InMemoryStore) -> None:
    """Inconclusive is not passed."""
    play(store, "holes", {"c0": "P", "c1": "E"}, evaluators=STRICT)

    with pytest.raises(PromotionRefusedError, match="its gate is inconclusive"):
        promote(store, "holes")


def test_an_open_run_is_refused_whatever_the_reason(store: InMemoryStore) -> None:
    """There are no rows to compare with."""
    plan = a_run_plan("open", {"c0": "PP"})
    put_run(store, plan, {"c0": "P"})

    with pytest.raises(PromotionRefusedError, match=r"is open.*--resume open"):
        promote(store, "open", why="I want it")


def test_a_part_of_the_suite_is_refused(store: InMemoryStore) -> None:
    """Its other cases would all count as added."""
    play(store, "part", some(2), filters={"tag": ["refund"]})

    with pytest.raises(PromotionRefusedError, match=r"a part of the suite \(--tag refund\)"):
        promote(store, "part")
    assert promote(store, "part", why="the rest is new").baseline.forced


@pytest.mark.parametrize("kind", ["rerun", "sweep"])
def test_only_a_run_that_played_its_suite_can_be_one(store: InMemoryStore, kind: str) -> None:
    """A rerun has the failed cases only, and a sweep none of its own."""
    put_run(store, a_run_plan("r1", some(2), run_kind=kind, source="r0"), some(2))

    with pytest.raises(PromotionRefusedError, match=f"is a {kind}"):
        promote(store, "r1", why="I want it")


def test_what_was_the_baseline_before_is_kept(store: InMemoryStore) -> None:
    """With its reason, oldest first."""
    for name in ("one", "two", "three"):
        play(store, name, some(2), started_at=f"2026-11-29T22:30:0{len(name)}Z")
        promote(store, name)

    found = load_baseline(store, "demo")

    assert found is not None
    assert [entry["run_id"] for entry in found.earlier] == ["one", "two"]
    assert found.earlier[1]["replaced_at"] == found.promoted_at


def test_promoting_the_baseline_again_changes_nothing(store: InMemoryStore) -> None:
    """A repeated command must not rewrite history."""
    play(store, "good", some(2))
    promote(store, "good")
    before = store.read(KEY)

    assert promote(store, "good").changed is False
    assert store.read(KEY) == before


class Overtaken(InMemoryStore):
    """A store in which somebody else promotes between the look and the put."""

    other: bytes | None = None

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        """The other one is faster."""
        if self.other is not None:
            self.replace(key, self.other)
        super().swap(key, data, before)


@pytest.mark.parametrize("first", [True, False])
def test_of_two_who_promote_at_a_time_one_is_told(first: bool) -> None:
    """Also where there was no baseline yet; what the faster one wrote stands."""
    store = Overtaken()
    for name in ("old", "mine", "theirs"):
        play(store, name, some(2))
    promote(store, "theirs")
    theirs = store.read(KEY)
    store.delete([KEY])
    if not first:
        promote(store, "old")
    store.other = theirs

    with pytest.raises(PromotionRefusedError, match=r"by somebody else .* run theirs"):
        promote(store, "mine")
    assert store.read(KEY) == theirs


def test_a_document_that_cannot_be_read_is_replaced_on_purpose_only(store: InMemoryStore) -> None:
    """Its history would be lost with it."""
    play(store, "good", some(2))
    store.replace(KEY, b"{half")

    with pytest.raises(DamagedError, match=r"baselines/demo\.json: no baseline document.*--force --why"):
        promote(store, "good")
    assert promote(store, "good", why="it was half a document").changed


def test_a_newer_document_is_refused_by_name(store: InMemoryStore) -> None:
    """Fields that this version does not know would be dropped at the next promotion."""
    store.replace(KEY, b'{"schema": 2}')

    with pytest.raises(DamagedError, match="newer nightgate"):
        load_baseline(store, "demo")


def test_a_sweep_is_noted_once_and_only_with_the_run_that_it_judged(store: InMemoryStore) -> None:
    """Comparisons take its findings for the run's."""
    for name in ("good", "newer"):
        play(store, name, some(2))
    promote(store, "good")

    note_rejudged(store, "demo", "good", "s1", (judge(),))
    note_rejudged(store, "demo", "good", "s1", (judge(),))

    found = load_baseline(store, "demo")
    assert found is not None
    assert found.sweeps == ("s1",)
    promote(store, "newer")
    with pytest.raises(PromotionRefusedError, match="no longer the baseline"):
        note_rejudged(store, "demo", "good", "s2", (judge(),))
