"""One stored trial: the same from staging and from committed parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case, a_score, a_trial, assistant, user
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError, InputError
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import plan_key, staging_key
from nightgate.rows.records import encode_record
from nightgate.scores import Cell
from nightgate.steps.finishing import finish_run
from nightgate.steps.trials import completed_trials, stored_trial
from nightgate.trials import Ending, Trial

PLANNED = 3


def the_trial(number: int, ending: Ending = Ending.COMPLETED) -> Trial:
    """A trial with words of its own."""
    said = f"answer {number}"
    trial = a_trial(said, ending=ending, messages=(user("Hi"), assistant(said)))
    return replace(trial, key=replace(trial.key, trial=number))


def a_run(*, played: int = PLANNED, broken: Sequence[int] = ()) -> InMemoryStore:
    """A store with run ``r``: one case, ``played`` of its trials staged, all judged."""
    endings = dict.fromkeys(broken, Ending.INFRA_ERROR)
    store = InMemoryStore()
    store.create(plan_key("r"), a_plan(a_planned_case(a_case("a"), trials=PLANNED)).to_json())
    records = [
        record
        for number in range(played)
        for record in (
            the_trial(number, endings.get(number, Ending.COMPLETED)),
            Cell(case_id="a", trial=number, score=a_score()),
        )
    ]
    store.create(
        staging_key("r", "000001-w-000000.jsonl.zst"),
        encode_group([encode_record(record) for record in records]),
    )
    return store


def test_a_trial_of_an_open_run_is_read_from_staging() -> None:
    """Whoever looks into a failure need not wait for the commit."""
    trial, complete = stored_trial(a_run(played=2), "r", "a", 1)

    assert (trial.output, complete) == ("answer 1", False)


def test_a_trial_of_a_committed_run_comes_with_its_own_messages() -> None:
    """Rows refer to a place in a part of transcripts; the neighbour's would look as good."""
    store = a_run()
    finish_run(store, "r")

    trial, complete = stored_trial(store, "r", "a", 1)

    assert complete
    assert trial.messages == the_trial(1).messages


@pytest.mark.parametrize(
    ("case_id", "number", "says"),
    [
        (None, 0, "name the case with --case; it has\n  a"),
        ("b", 0, "no case 'b'"),
        ("a", PLANNED, "has trials 0 to 2, not 3"),
        ("a", -1, "has trials 0 to 2, not -1"),
    ],
)
def test_what_the_plan_does_not_have_is_refused(case_id: str | None, number: int, says: str) -> None:
    """The message says what there is."""
    with pytest.raises(InputError) as refused:
        stored_trial(a_run(), "r", case_id, number)

    assert says in str(refused.value)


def test_a_trial_that_was_not_played_yet_is_refused_with_the_way_on() -> None:
    """An open run may still play it."""
    with pytest.raises(InputError, match="--resume r"):
        stored_trial(a_run(played=1), "r", "a", 2)


@pytest.mark.parametrize("committed", [True, False])
def test_trials_that_completed_are_known_in_open_and_committed_runs(committed: bool) -> None:
    """They are what a refused trial is replaced by."""
    store = a_run(played=PLANNED, broken=(1,))
    if committed:
        finish_run(store, "r")

    assert completed_trials(store, "r", "a") == [0, 2]
    assert completed_trials(store, "r", "other") == []


def test_a_transcript_that_is_gone_is_damage_and_not_silence() -> None:
    """A draft without messages would look like an agent that said nothing."""
    store = a_run()
    finish_run(store, "r")
    store.delete(store.find("transcripts/"))

    with pytest.raises(DamagedError, match="is gone"):
        stored_trial(store, "r", "a", 0)
