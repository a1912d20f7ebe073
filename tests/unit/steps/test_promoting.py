"""Baselines are made by people, of runs that passed, and never by two at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError, ExitCode
from nightgate.ports import Store
from nightgate.rows.keys import baseline_key, manifest_key
from nightgate.steps.bases import load_baseline
from nightgate.steps.promoting import PromotionRefusedError, note_rejudged, promote
from nightgate.steps.reading import load_plan
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


def put(store: Store, **changes: Any) -> None:
    """The baseline's document with changes by hand."""
    store.replace(KEY, json.dumps({**json.loads(store.read(KEY)), **changes}).encode())


@pytest.mark.parametrize("why", [None, "I want it"])
def test_a_newer_document_is_refused_by_name_and_never_replaced(
    store: InMemoryStore, why: str | None
) -> None:
    """Fields that this version does not know would be dropped, and force is no reason to."""
    play(store, "good", some(2))
    newer = b'{"schema": 2, "run_id": ["one", "two"]}'
    store.replace(KEY, newer)

    for act in (lambda: load_baseline(store, "demo"), lambda: promote(store, "good", why=why)):
        with pytest.raises(
            DamagedError,
            match=r"demo\.json: written by a newer nightgate, schema 2; this one knows 1: upgrade",
        ):
            act()
    assert store.read(KEY) == newer


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"run_id": 7}, "run_id is 7, not an id"),
        ({"run_id": "../../etc"}, 'run_id is "../../etc", not an id'),
        ({"suite": None}, "suite is null, not an id"),
        ({"forced": "no"}, 'forced is "no", not true or false'),
        ({"case_hashes": []}, "case_hashes is a list, not an object"),
        ({"evaluators": {"E": 1}}, "evaluators is an object, not a list"),
        ({"agent": None}, "agent is null, not an object"),
        ({"rejudged": [{"sweep": "s1", "at": "x"}]}, "rejudged[0].evaluators is missing"),
        ({"earlier": [None]}, "earlier[0] is null, not an object"),
        ({"schema": "1"}, 'schema is "1", not a schema number'),
    ],
)
def test_a_hand_edited_document_is_checked_in_all_its_parts(
    store: InMemoryStore, changes: dict[str, Any], problem: str
) -> None:
    """Nights are held against what it names."""
    play(store, "good", some(2))
    promote(store, "good")
    put(store, **changes)

    with pytest.raises(DamagedError) as refused:
        load_baseline(store, "demo")

    text = str(refused.value)
    assert text.startswith(f"baselines/demo.json: no baseline document ({problem}); `nightgate promote RUN ")
    assert promote(store, "good", why="it was edited").changed


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"suite": "other"}, "it is the baseline of suite other"),
        ({"run_id": "gone"}, "it names run gone, which is not in memory"),
    ],
)
def test_a_baseline_that_names_what_is_not_its_own_is_made_again_without_force(
    store: InMemoryStore, changes: dict[str, str], problem: str
) -> None:
    """A copied file, or a store from which runs were removed: there is nothing to lose."""
    play(store, "good", some(2))
    promote(store, "good")
    put(store, **changes)

    with pytest.raises(
        DamagedError, match=rf"demo\.json: {problem}.*; `nightgate promote RUN` makes it again"
    ):
        load_baseline(store, "demo")
    assert promote(store, "good").changed

    assert load_baseline(store, "demo") is not None


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    """A folder with a run that may be promoted."""
    store = FolderStore(tmp_path)
    play(store, "good", some(2), evaluators=[judge()])
    return store


@pytest.mark.parametrize("why", [None, "I want it"])
@pytest.mark.parametrize("table", ["scores", "trials", "summaries"])
@pytest.mark.parametrize("damage", ["gone", "short", "other"])
def test_a_run_that_is_not_there_as_it_was_committed_is_refused(
    folder: FolderStore, table: str, damage: str, why: str | None
) -> None:
    """A gate reads the scores alone; a baseline is compared with, replayed and judged again for years."""
    (key,) = folder.find(f"{table}/demo/")
    whole = folder.read(key)
    if damage == "gone":
        folder.delete([key])
    else:
        folder.replace(key, whole[:-1] if damage == "short" else bytes([whole[0] ^ 1]) + whole[1:])

    with pytest.raises(DamagedError) as refused:
        promote(folder, "good", why=why)

    said = {
        "gone": "it is gone",
        "short": f"it has {len(whole) - 1} bytes",
        "other": "it differs from the sha256",
    }
    text = str(refused.value)
    assert text.startswith(f"run good is not promoted: {key}: {said[damage]}")
    assert "restore the object, or run the suite again" in text
    assert refused.value.exit_code is ExitCode.INCONCLUSIVE
    assert load_baseline(folder, "demo") is None


def test_a_whole_run_in_a_folder_is_promoted(folder: FolderStore) -> None:
    """What is checked is what was written."""
    promote(folder, "good")

    found = load_baseline(folder, "demo")
    assert found is not None
    assert found.run_id == "good"


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


def test_a_lost_baseline_is_replaced_by_a_run_that_passes_apart_from_it(store: InMemoryStore) -> None:
    """Every run was inconclusive against it, so none could ever take its place."""
    rule = {"max_drop": "0.03", "alpha": None}
    play(store, "base", some(2), rule=rule)
    promote(store, "base")
    plan = load_plan(store, "base")
    store.delete([manifest_key("demo", date.fromisoformat(plan.date), "base")])
    with pytest.raises(DamagedError, match=r"run base, whose manifest is gone.*promote RUN"):
        load_baseline(store, "demo")
    lost = play(store, "after", some(2), rule=rule).summary.as_dict()
    assert (lost["verdict"], lost["exit_code"]) == ("inconclusive", 3)
    assert "promote RUN" in lost["findings"][0]["text"]

    assert promote(store, "after").baseline.run_id == "after"

    play(store, "bad", some(1, 1), evaluators=STRICT, rule=rule)
    with pytest.raises(PromotionRefusedError, match="its gate failed"):
        promote(store, "bad")
