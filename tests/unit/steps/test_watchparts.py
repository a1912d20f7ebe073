"""What differs between two looks at a suite, and how it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case
from nightgate.errors import InputError
from nightgate.rows.keys import manifest_key
from nightgate.rows.manifests import Manifest
from nightgate.steps.watchparts import AGENT, TRIGGERS, checked_trigger, last_complete, moved, parts_of, words
from nightgate.testing import InMemoryStore
from nights import SUITE, commit, put_night

PARTS = {
    "model": "scripted:baseline",
    "system_prompt": "You are helpful.",
    "tools": "aaaa",
    "limits": {"turns": 20},
    "sources": {"s3://kb/index.json": "etag-1"},
}


def parts(**more: object) -> dict[str, str]:
    """Of a plan whose first case's fingerprint is ``PARTS`` and what is given."""
    return parts_of(replace(a_plan(a_planned_case(a_case())), parts={**PARTS, **more}))


@pytest.mark.parametrize(
    ("part", "value", "trigger", "said"),
    [
        ("model", "other", "model", "the model's script or options changed"),
        ("sources", {"s3://kb/index.json": "etag-2"}, "retrieval", "s3://kb/index.json changed"),
        ("system_prompt", "You are rude.", "prompt", "system prompt changed"),
        ("tools", "bbbb", "tools", "tool or skill schema changed"),
        ("limits", {"turns": 5}, "code", "limits: turns 20 -> turns 5"),
    ],
)
def test_each_part_of_the_fingerprint_has_its_trigger_and_its_words(
    part: str, value: object, trigger: str, said: str
) -> None:
    """The report's line is made of them."""
    from nightgate.steps.watchparts import trigger_of

    before, now = parts(), parts(**{part: value})

    found = moved(now, before, before)

    assert [trigger_of(each) for each in found] == [trigger]
    assert words(found, now, before, before) == said


def test_the_prompt_itself_is_kept_out_of_the_state() -> None:
    """It may be long, and it is nobody's business outside of the run."""
    assert "You are helpful." not in str(parts())


def test_a_part_that_nobody_saw_before_is_no_change() -> None:
    """A source that is declared anew was not changed by anybody."""
    before, now = parts(), parts(sources={**PARTS["sources"], "notes.md": "1"})

    assert moved({**now, AGENT: "other"}, before, before) == []


def test_an_agent_that_differs_in_no_part_that_shows_is_still_a_change() -> None:
    """Another case's prompt changed: the plan keeps the parts of the first case only."""
    before, now = parts(), {**parts(), AGENT: "other"}

    assert moved(now, before, before) == [AGENT]


def test_what_the_last_complete_run_measured_is_no_change() -> None:
    """Somebody ran the suite by hand after the change: nothing is left to start."""
    before, now = parts(), parts(tools="bbbb")

    assert moved(now, before, now) == []


def test_another_model_in_a_run_by_hand_is_no_change_of_the_suite() -> None:
    """`--model` tries something; what the suite names is as it was."""
    tried = {**parts(), "model": "scripted:tried", "identity": "t"}
    now = parts(sources={"s3://kb/index.json": "etag-2"})

    assert moved(now, parts(), tried) == ["source:s3://kb/index.json"]


def test_a_judge_that_changed_is_told_once_for_all_its_evaluators() -> None:
    """Six lines that say the same hide the seventh."""
    before = {"judge": "a", "judge:E": "1", "judge:F": "1"}
    now = {"judge": "b", "judge:E": "2", "judge:F": "2"}

    assert words(moved(now, before, before), now, before, before) == "judge: a -> b"


def test_a_trigger_that_is_none_is_answered_with_those_that_are() -> None:
    """Events come from pipelines that nobody runs by hand."""
    with pytest.raises(InputError, match=", ".join(TRIGGERS)):
        checked_trigger("weather")


def test_the_last_complete_run_is_the_newest_committed_one_of_the_whole_suite() -> None:
    """Open runs, reruns, parts of the suite and the live line are compared with by others."""
    store = InMemoryStore()
    for number in range(1, 6):
        put_night(store, number, filters={"case": ["x"]} if number == 4 else {}, as_live=number == 3)
        if number != 5:
            commit(store, number)
    addresses = [key for key in store.find(f"manifests/{SUITE}/") if key.endswith("night-2.json")]

    newest, live = last_complete(store, SUITE, live=False), last_complete(store, SUITE, live=True)
    manifest = Manifest.from_json(store.read(addresses[0]))
    store.replace(
        manifest_key(SUITE, manifest.date, "night-2"), replace(manifest, run_kind="rerun").to_json()
    )

    assert newest is not None
    assert live is not None
    assert (newest.run_id, live.run_id) == ("night-2", "night-3")
    older = last_complete(store, SUITE, live=False)
    assert older is not None
    assert older.run_id == "night-1"
