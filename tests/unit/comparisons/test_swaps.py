"""What fell between two runs, what may be swapped, and what to do about the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nightgate.comparisons import Side, pair
from nightgate.comparisons.swaps import Swap, fallen, fixed, swaps
from pairs import a_side, judge

GOOD, BAD = {"a": "PPP", "b": "PPP"}, {"a": "FFF", "b": "PPP"}


def side(run_id: str, letters: dict[str, str], *, parts: dict[str, Any] | None = None, **more: Any) -> Side:
    """A run whose agent is its own."""
    facts = {case_id: {"agent_fingerprint": run_id} for case_id in letters}
    found = a_side(run_id, letters, facts=facts, **more)
    whole = {"model": "m", "system_prompt": "p", "tools": "t", "limits": {}, "sources": {}, **(parts or {})}
    return replace(found, plan=replace(found.plan, parts=whole))


def between(good: Side, bad: Side, *talking: str) -> tuple[Swap, ...]:
    """The settings that differ."""
    return swaps(good, bad, fallen(good, bad), set(talking))


outcomes = st.text(alphabet="PFNE", min_size=1, max_size=4)


@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=5))
def test_with_the_same_judge_what_fell_is_what_a_comparison_calls_newly_broken(
    cases: list[tuple[str, str]],
) -> None:
    """Two commands must not name different cases."""
    good, bad = (
        a_side(run, {f"c{i}": pair[n] for i, pair in enumerate(cases)}) for n, run in enumerate("ab")
    )

    assert fallen(good, bad) == pair(good, bad).newly_broken


def test_a_case_that_another_judge_fails_fell() -> None:
    """A comparison refuses to say so; whether it was the judge is what is asked here."""
    good = a_side("a", GOOD, evaluators=[judge("1" * 16)])
    bad = a_side("b", BAD, evaluators=[judge("2" * 16)])

    assert pair(good, bad).newly_broken == ()
    assert [flip.case for flip in fallen(good, bad)] == ["a"]


def test_an_edited_case_did_not_fall() -> None:
    """It is another case."""
    assert fallen(a_side("a", GOOD), a_side("b", BAD, hashes={"a": "other"})) == ()


def test_the_settings_that_differ_are_swapped_model_first_and_judge_last() -> None:
    """The judge is asked about trials, and those are the control's where the bad run has few."""
    good = side("a", GOOD, model="scripted:x", timeout_s=9.0, limits={"turns": 9})
    bad = side("b", BAD, model="scripted:y", timeout_s=3.0, limits={"turns": 1})

    assert [swap.text for swap in between(good, bad)] == [
        "model: scripted:x -> scripted:y",
        "limits: turns 9 -> turns 1",
        "timeout: 9 s -> 3 s",
    ]


def test_a_simulated_user_is_swapped_only_for_conversations() -> None:
    """It has no part in the others."""
    good, bad = side("a", GOOD, user="scripted:x"), side("b", BAD, user="scripted:y")

    assert between(good, bad) == ()
    assert [swap.pairs for swap in between(good, bad, "a")] == [(("a", "E"),)]


def test_a_judge_is_swapped_only_for_what_it_judges() -> None:
    """Code needs none."""
    good = side("a", GOOD, judge="scripted:x", evaluators=[judge("1" * 16)])
    bad = side("b", BAD, judge="scripted:y", evaluators=[judge("2" * 16)])
    code = side("b", BAD, judge="scripted:y", evaluators=[judge("1" * 16)])

    assert [(swap.factor, swap.pairs) for swap in between(good, bad)] == [("judge", (("a", "E"),))]
    assert between(good, code) == ()


def test_what_is_no_setting_is_listed_with_what_to_do() -> None:
    """Prompt, tools and code cannot be swapped from outside."""
    good = side("a", GOOD, git_sha="1" * 40)
    bad = side("b", BAD, git_sha="2" * 40, parts={"system_prompt": "q", "tools": "u", "sources": {"kb": "2"}})

    told = {found.part: found.advice for found in fixed(good, bad, between(good, bad))}

    assert set(told) == {"system_prompt", "tools", "source:kb", "git_sha"}
    assert "check out the revision of a (111111111111)" in told["system_prompt"]
    assert "put it back" in told["source:kb"]


def test_what_is_swapped_is_not_listed_as_fixed() -> None:
    """Nobody has to check out anything for a model."""
    good = side("a", GOOD, model="scripted:x", limits={"turns": 9}, parts={"limits": {"turns": 9}})
    bad = side("b", BAD, model="scripted:y", limits={"turns": 1}, parts={"limits": {"turns": 1}})

    assert fixed(good, bad, between(good, bad)) == ()


def test_a_changed_script_behind_the_same_name_cannot_be_swapped() -> None:
    """The setting is the same on both sides."""
    good = side("a", GOOD, model="scripted:x")
    bad = side("b", BAD, model="scripted:x", parts={"model": "n"})

    (found,) = fixed(good, bad, between(good, bad))

    assert between(good, bad) == ()
    assert found.part == "model"
    assert "put the script back" in found.advice


def test_an_evaluator_of_another_version_is_told_from_the_good_runs_trials() -> None:
    """No run has to be repeated for it."""
    good = a_side("a", GOOD)
    newer = replace(good.evaluators["E"], version=2)
    bad = a_side("b", BAD, evaluators=[newer])

    (found,) = fixed(good, bad, ())

    assert "nightgate sweep a" in found.advice


def test_edited_cases_are_listed() -> None:
    """They may be what fell, and no swap can say."""
    good, bad = a_side("a", GOOD), a_side("b", BAD, hashes={"b": "other"})

    assert [found.text for found in fixed(good, bad, ())] == ["case text edited: b"]
