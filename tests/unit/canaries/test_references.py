"""What is frozen, and how it grows."""

from __future__ import annotations

import json

import pytest

from nightgate.canaries import Flips, Frozen, Judge, Reference
from nightgate.canaries.drift import MEASURED_NIGHTS
from nightgate.errors import InputError

JUDGE = Judge("Criterion:polite", 2, "f1")
OTHER = Judge("Criterion:polite", 2, "f2")


def a_reference() -> Reference:
    """Two cases, one of them with two trials."""
    trials = (Frozen("r1", "a", 0, "h"), Frozen("r1", "a", 1, "h"), Frozen("r1", "b", 0, "g"))
    return Reference(
        suite="demo",
        number=3,
        frozen_at="2026-11-29T22:30:00.000Z",
        run_id="r1",
        why=("case 'a' is new, 2 of this run frozen",),
        trials=trials,
        looks={JUDGE: {("a", 0): True, ("b", 0): False}},
        nights={JUDGE: {"n1-canary": Flips(judged=2, to_pass=1)}},
    )


def test_a_reference_is_read_as_it_was_written() -> None:
    """As strict JSON, with all that later nights are held against."""
    text = json.dumps(a_reference().to_dict(), allow_nan=False)

    assert Reference.from_dict(json.loads(text)) == a_reference()


def test_a_newer_document_is_refused_by_name() -> None:
    """It may mean something else."""
    with pytest.raises(InputError, match="newer than 1"):
        Reference.from_dict({**a_reference().to_dict(), "schema": 2})


def test_the_first_look_stays() -> None:
    """A later verdict never replaces what it is held against."""
    found = a_reference().seen({JUDGE: {("a", 0): False, ("a", 1): True}})

    assert found.looks == {JUDGE: {("a", 0): True, ("b", 0): False, ("a", 1): True}}


def test_another_judge_gets_first_looks_of_its_own() -> None:
    """And the earlier one keeps its, for the day it comes back."""
    found = a_reference().seen({OTHER: {("a", 0): False}})

    assert found.looks[OTHER] == {("a", 0): False}
    assert found.looks[JUDGE] == a_reference().looks[JUDGE]


def test_a_verdict_over_what_is_not_frozen_is_not_kept() -> None:
    """Nothing would ever be held against it."""
    assert a_reference().seen({OTHER: {("z", 0): True}}) == a_reference()


def test_a_case_leaves_with_its_trials_and_verdicts() -> None:
    """An edited case asks another question."""
    found = a_reference().without({"a"})

    assert [trial.case for trial in found.trials] == ["b"]
    assert found.looks == {JUDGE: {("b", 0): False}}


def test_a_night_is_measured_once() -> None:
    """However often its document is made again."""
    night = {JUDGE: Flips(judged=2, to_fail=1)}

    once = a_reference().measured("n2-canary", night)

    assert once.nights[JUDGE]["n2-canary"] == night[JUDGE]
    assert once.measured("n2-canary", {JUDGE: Flips(judged=2)}) == once


def test_only_a_judges_first_nights_are_measured() -> None:
    """The document stops growing, and its bar stops moving."""
    found = a_reference()
    for number in range(MEASURED_NIGHTS + 10):
        found = found.measured(f"m{number}", {JUDGE: Flips(judged=2)})

    assert len(found.nights[JUDGE]) == MEASURED_NIGHTS
