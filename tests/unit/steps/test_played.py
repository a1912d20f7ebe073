"""Trials and findings case by case, from stored rows alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_score
from nightgate.errors import DamagedError
from nightgate.rows import keys
from nightgate.scores import Score, Status
from nightgate.steps.played import played_cases
from nightgate.steps.reading import load_plan, manifest_of
from nightgate.testing import InMemoryStore
from nightgate.trials import Trial, TrialKey
from playedruns import a_played, a_run_plan, put_run

NAMES = ("ToolPolicy", "ToneJudge")


def answered(key: TrialKey) -> Trial:
    """A trial whose answer names it."""
    return replace(a_played(key), output=f"{key.case_id}/{key.trial}")


def mixed(case: str, trial: int, evaluator: str) -> Score:
    """Findings that differ by trial and evaluator."""
    failed = trial == 1 and evaluator == "ToneJudge"
    return a_score(Status.FAIL if failed else Status.PASS, reason=f"{case} {trial} {evaluator}")


def test_each_case_comes_whole_with_its_words_and_what_judging_it_cost() -> None:
    """Also where the order of the suite is not the order of the rows."""
    store = InMemoryStore()
    put_run(store, a_run_plan(["b", "a"], NAMES, trials=3), trial=answered, score=mixed)

    found = list(played_cases(store, load_plan(store, "demo-1")))

    assert [one.case.case_id for one in found] == ["a", "b"]
    for one in found:
        assert [one.trials[n].output for n in one.numbers] == [f"{one.case.case_id}/{n}" for n in range(3)]
        assert all(one.trials[n].messages and one.trials[n].system_prompt for n in one.numbers)
        assert one.cells[1, "ToneJudge"].score.status is Status.FAIL
        assert one.cells[2, "ToolPolicy"].score.reason == f"{one.case.case_id} 2 ToolPolicy"
        assert one.judge_nanousd == {0: 250_000, 1: 250_000, 2: 250_000}


def test_a_run_that_is_open_shows_what_it_has_staged() -> None:
    """A budget that ran out is no reason to see nothing."""
    store = InMemoryStore()
    summary = put_run(store, a_run_plan(["a", "b"], NAMES, trials=2), trial=answered, score=mixed, left_out=1)

    found = {one.case.case_id: one for one in played_cases(store, load_plan(store, "demo-1"))}

    assert summary["complete"] is False
    assert sorted(found["a"].trials) == [0, 1]
    assert sorted(found["b"].trials) == [0]
    assert set(found["b"].cells) == {(0, name) for name in NAMES}
    assert found["b"].numbers == (0, 1)


def test_a_transcript_that_is_gone_is_told_and_the_figures_stay() -> None:
    """No status hangs on it, so nobody should lose the page for it."""
    store = InMemoryStore()
    put_run(store, a_run_plan(["a"], NAMES), trial=answered)
    plan = load_plan(store, "demo-1")
    manifest = manifest_of(store, plan)
    assert manifest is not None
    store.delete(part.key for part in manifest.of(keys.TRANSCRIPTS))

    (one,) = played_cases(store, plan)

    assert [trouble.partition(":")[0] for trouble in one.troubles] == ["a transcript cannot be read"]
    assert one.trials[0].output == "a/0"
    assert one.trials[0].messages == ()


def test_scores_that_are_not_what_was_committed_are_refused() -> None:
    """A page of other findings would be believed."""
    store = InMemoryStore()
    put_run(store, a_run_plan(["a"], NAMES))
    plan = load_plan(store, "demo-1")
    manifest = manifest_of(store, plan)
    assert manifest is not None
    (part,) = manifest.of(keys.SCORES)
    store.replace(part.key, store.read(part.key)[:-1] + b"x")

    with pytest.raises(DamagedError):
        list(played_cases(store, plan))
