"""Which swap moved a broken case back: control first, one factor at a time, honest with small numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.comparisons.bisecting import (
    ALL,
    ALPHA,
    CONTROL,
    JUDGE_AGAIN,
    Search,
    Verdict,
    Word,
    answer,
    beside,
    mostly,
)
from nightgate.comparisons.swaps import JUDGE, LIMITS, MODEL, Pair, Swap
from nightgate.stats.fisher import Share, more_passes

A, B, C, D = ("a", "E"), ("b", "E"), ("c", "E"), ("d", "E")
NONE, WHOLE = (0, 3), (3, 3)

shares = st.integers(0, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def a_swap(factor: str, *pairs: Pair) -> Swap:
    """A setting that differs."""
    return Swap(factor=factor, before="old", now="new", pairs=pairs)


def a_search(*swaps: Swap, pairs: tuple[Pair, ...] = (A,), **found: Mapping[Pair, Share]) -> Search:
    """A search with what was found so far; underscores stand for dashes in names of probes."""
    named = {name.replace("_", "-"): shares for name, shares in found.items()}
    return Search(pairs=pairs, swaps=swaps, found=named)


def verdicts(search: Search) -> list[Verdict]:
    """Of all pairs, in order."""
    return [outcome.verdict for outcome in search.outcomes()]


# --- one case and one swap ---


@given(shares, shares)
def test_moved_is_never_said_of_what_chance_explains(control: Share, probe: Share) -> None:
    """A cause that is named wrongly sends people to the wrong place."""
    if beside(control, probe) is Word.MOVED:
        assert mostly(probe)
        assert more_passes(control, probe) <= ALPHA


@given(shares, shares)
def test_better_than_the_control_is_never_said_not_to_have_moved(control: Share, probe: Share) -> None:
    """A larger share that is not shown is open, and no acquittal."""
    if control[1] and probe[1] and probe[0] * control[1] > control[0] * probe[1]:
        assert beside(control, probe) in (Word.MOVED, Word.UNTOLD)


@given(shares, shares)
def test_too_few_trials_tell_nothing(control: Share, probe: Share) -> None:
    """Two trials of two are no evidence either way."""
    if min(control[1], probe[1]) < 3 and max(control[1], probe[1]) <= 3:
        assert beside(control, probe) is Word.UNTOLD


@given(shares, shares)
def test_one_more_pass_in_the_probe_never_takes_an_explanation_away(control: Share, probe: Share) -> None:
    """The words are in an order."""
    if probe[0] < probe[1] and beside(control, probe) is Word.MOVED:
        assert beside(control, (probe[0] + 1, probe[1])) is Word.MOVED


def test_what_was_not_played_is_no_answer() -> None:
    """An open probe is neither a pass nor a fail."""
    assert beside(NONE, None) is Word.OPEN


# --- what is asked next ---


def test_the_control_comes_before_any_swap() -> None:
    """A flaky case must not be blamed on a factor."""
    asked = a_search(a_swap(MODEL, A)).next()

    assert asked is not None
    assert (asked.name, asked.factors, asked.pairs) == (CONTROL, (), (A,))


def test_a_case_that_passes_in_the_control_is_asked_about_no_more() -> None:
    """Each further probe of it would be paid for nothing."""
    search = a_search(a_swap(MODEL, A, B), pairs=(A, B), control={A: (2, 3), B: NONE})

    asked = search.next()

    assert asked is not None
    assert (asked.name, asked.pairs) == (MODEL, (B,))


def test_nothing_is_asked_when_all_of_it_is_flaky() -> None:
    """The search is over."""
    assert a_search(a_swap(MODEL, A), control={A: WHOLE}).next() is None


def test_a_judge_is_asked_again_about_the_same_trials_before_another_one_is() -> None:
    """Its own flicker would be the other judge's merit."""
    search = a_search(a_swap(JUDGE, A), control={A: NONE})
    first = search.next()
    search.found[JUDGE_AGAIN] = {A: NONE}
    second = search.next()

    assert first is not None
    assert second is not None
    assert (first.name, first.factors, second.name) == (JUDGE_AGAIN, (), JUDGE)


def test_all_swaps_together_are_tried_on_what_no_single_one_moved() -> None:
    """Two changes may each be enough to break a case."""
    search = a_search(
        a_swap(MODEL, A, B), a_swap(LIMITS, A, B), pairs=(A, B),
        control={A: NONE, B: NONE}, model={A: WHOLE, B: NONE}, limits={A: NONE, B: NONE},
    )  # fmt: skip

    asked = search.next()

    assert asked is not None
    assert (asked.name, asked.factors, asked.pairs) == (ALL, (MODEL, LIMITS), (B,))


factors = st.lists(st.sampled_from([MODEL, "user", LIMITS, "timeout", JUDGE]), unique=True, max_size=4)


@given(factors, st.data())
def test_every_search_ends_and_asks_nothing_twice(names: list[str], data: st.DataObject) -> None:
    """Whatever is found; each question is paid for."""
    pairs = (A, B, C)
    order = [MODEL, "user", LIMITS, "timeout", JUDGE]
    swaps = tuple(
        a_swap(name, *data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1)))
        for name in sorted(names, key=order.index)
    )
    search, asked_before = a_search(*swaps, pairs=pairs), set()
    while (asked := search.next()) is not None:
        assert asked.name not in asked_before
        assert asked.pairs
        asked_before.add(asked.name)
        search.found[asked.name] = {pair: data.draw(shares) for pair in asked.pairs}

    assert Verdict.OPEN not in verdicts(search)
    for outcome in search.outcomes():
        control = search.found[CONTROL][outcome.pair]
        if mostly(control):
            assert outcome.verdict is Verdict.FLAKY
        if outcome.verdict is Verdict.EXPLAINED:
            assert all(search.word(name, outcome.pair) is Word.MOVED for name in outcome.by)


# --- what became of a case ---


def test_the_sentence_counts_what_each_swap_moved_and_what_is_left() -> None:
    """The line that people read."""
    pairs = (A, B, C, D)
    search = a_search(
        a_swap(MODEL, *pairs), a_swap(JUDGE, C), pairs=pairs,
        control={A: NONE, B: NONE, C: NONE, D: WHOLE}, model={A: WHOLE, B: WHOLE, C: NONE},
        judge_again={C: NONE}, judge={C: WHOLE},
    )  # fmt: skip

    assert answer(search) == (
        "model moved 2 of 4; judge moved 1 of 4; 1 is not explained (flaky: control passed)"
    )


def test_a_case_that_only_both_swaps_move_is_explained_by_both() -> None:
    """Neither alone is the cause."""
    search = a_search(
        a_swap(MODEL, A), a_swap(LIMITS, A),
        control={A: NONE}, model={A: NONE}, limits={A: NONE}, all={A: WHOLE},
    )  # fmt: skip

    (outcome,) = search.outcomes()

    assert (outcome.verdict, outcome.by) == (Verdict.TOGETHER, (MODEL, LIMITS))
    assert answer(search) == "only model and limits together moved 1 of 1"


@pytest.mark.parametrize(
    ("control", "model", "verdict"),
    [
        (NONE, WHOLE, Verdict.EXPLAINED),
        (NONE, NONE, Verdict.NOT_EXPLAINED),
        (NONE, (2, 3), Verdict.UNTOLD),
        ((1, 3), WHOLE, Verdict.UNTOLD),
        ((0, 0), WHOLE, Verdict.UNTOLD),
        ((2, 3), WHOLE, Verdict.FLAKY),
        (NONE, (0, 0), Verdict.UNTOLD),
    ],
)
def test_a_case_is_judged_by_control_and_probe(control: Share, model: Share, verdict: Verdict) -> None:
    """Where they overlap it cannot be told."""
    assert verdicts(a_search(a_swap(MODEL, A), control={A: control}, model={A: model})) == [verdict]


def test_a_stopped_search_leaves_what_it_knows_and_says_what_it_does_not() -> None:
    """A budget that is spent is no acquittal of the factors that were not tried."""
    search = a_search(
        a_swap(MODEL, A, B), a_swap(LIMITS, A, B), pairs=(A, B),
        control={A: NONE, B: NONE}, model={A: WHOLE, B: NONE},
    )  # fmt: skip

    assert verdicts(search) == [Verdict.EXPLAINED, Verdict.OPEN]


def test_a_judge_that_takes_the_same_trials_otherwise_at_a_second_look_is_flaky() -> None:
    """The other judge is not asked: it would be held against a coin."""
    search = a_search(a_swap(JUDGE, A), control={A: NONE}, judge_again={A: WHOLE})

    assert search.next() is None
    assert verdicts(search) == [Verdict.FLAKY]
