"""May I say it improved? The words, and how often they may be wrong."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from nightgate.comparisons import Word, compare
from nightgate.comparisons.verdicts import Change
from nightgate.comparisons.wording import change_text
from nightgate.stats.power import LEAST_CASES_FOR_A_CLAIM
from pairs import a_side, beside, counted, judge, lenient, some


def coin(run_id: str, cases: int, trials: int, rate: float, draw: random.Random):
    """A night of equal coins."""
    return counted(run_id, [(sum(draw.random() < rate for _ in range(trials)), trials) for _ in range(cases)])


def test_of_200_pairs_of_the_same_coin_about_5_percent_at_most_say_regressed() -> None:
    """20 cases x 3 trials at 85%, with three standard errors of room."""
    draw = random.Random(20261129)

    words = [beside(coin("a", 20, 3, 0.85, draw), coin("b", 20, 3, 0.85, draw)).word for _ in range(200)]

    assert words.count(Word.REGRESSED) <= 200 * 0.05 + 3 * (200 * 0.05 * 0.95) ** 0.5


@pytest.mark.parametrize("trials", [1, 3])
def test_of_twenty_equal_variants_at_most_5_percent_of_simulations_name_a_winner(trials: int) -> None:
    """The best of twenty looks good by chance; the correction is for having looked at all of them."""
    draw, runs, wins = random.Random(7), 100, 0
    for _ in range(runs):
        base = coin("base", 40, trials, 0.8, draw)
        found = compare([(base, coin(f"v{i}", 40, trials, 0.8, draw)) for i in range(20)])
        wins += any(comparison.word is Word.IMPROVED for comparison in found)

    assert wins <= runs * 0.05 + 3 * (runs * 0.05 * 0.95) ** 0.5


def test_a_large_fall_is_a_regression_with_its_interval() -> None:
    """40 cases, 12 of them from pass to fail."""
    found = beside(a_side("a", some(40)), a_side("b", some(28, 12)))
    change = found.changes[0]

    assert (found.word, change.change) == (Word.REGRESSED, Fraction(-12, 40))
    assert change.interval is not None
    assert change.interval[0] < -0.3 < change.interval[1] < 0


def test_the_same_rise_on_fewer_than_20_cases_is_a_candidate() -> None:
    """Ten cases say little about the suite as a whole, whatever their p-value."""
    found = beside(a_side("a", some(0, 10)), a_side("b", some(10)))

    assert found.word is Word.CANDIDATE


def test_82_to_85_percent_on_50_single_trials_is_inconclusive_and_says_what_it_could_have_seen() -> None:
    """41 and 42.5 of 50: three points are far below what such a suite shows."""
    found = beside(a_side("a", some(41, 9)), a_side("b", some(43, 7)))
    change = found.changes[0]

    assert found.word is Word.INCONCLUSIVE
    assert change.smallest_visible is not None
    assert change.smallest_visible > 0.15
    assert change.trials_needed is not None
    assert change.trials_needed > 1


def test_a_change_inside_the_margin_is_no_relevant_change() -> None:
    """400 cases of which one changed: the interval lies within 2 points."""
    found = beside(a_side("a", some(400)), a_side("b", some(399, 1)))

    assert found.word is Word.NO_RELEVANT_CHANGE


@pytest.mark.parametrize("cases", [20, 29, 30, 31, 45])
def test_a_constant_fall_is_a_regression_and_never_certainty(cases: int) -> None:
    """All cases from 3/3 to 2/3: no spread, and a t test would divide by it."""
    found = beside(counted("a", [(3, 3)] * cases), counted("b", [(2, 3)] * cases)).changes[0]

    assert found.word is Word.REGRESSED
    assert found.p_value == pytest.approx(2.0 ** (1 - cases))
    assert found.interval is not None
    assert found.interval[0] < -1 / 3 < found.interval[1]


def test_nothing_changed_is_inconclusive_where_too_little_could_have_been_seen() -> None:
    """20 equal single trials still allow a change of 15 points."""
    found = beside(a_side("a", some(20)), a_side("b", some(20))).changes[0]

    assert (found.word, found.p_value) == (Word.INCONCLUSIVE, 1.0)


@settings(max_examples=15)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=20, max_size=32))
def test_holm_runs_over_the_evaluators_of_the_gate_and_skips_what_is_not_comparable(rows) -> None:
    """Two evaluators are compared, one has another judge: two questions, not three."""
    names = {"A": 0, "B": 1, "J": 0}

    def side(run_id: str, shift: int, fingerprint: str):
        found = a_side(
            run_id,
            {f"c{i}": "PPP" for i in range(len(rows))},
            evaluators=[lenient("A"), lenient("B"), judge(fingerprint, "J")],
        )
        counts = {
            (f"c{i}", name): type(found.counts["c0", "A"])(3, 3, row[place + shift], 3)
            for i, row in enumerate(rows)
            for name, place in names.items()
        }
        return type(found).of(found.plan, counts)

    found = beside(side("a", 0, "1" * 16), side("b", 2, "2" * 16))

    raw = [found.of(name).p_value for name in "AB"]
    assert found.questions == 2
    assert found.of("J").p_adjusted is None
    assert [found.of(n).p_adjusted for n in "AB"] == pytest.approx(list(multipletests(raw, method="holm")[1]))


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4)).flatmap(
            lambda n: st.tuples(
                st.tuples(st.integers(0, n[0]), st.just(n[0])), st.tuples(st.integers(0, n[1]), st.just(n[1]))
            )
        ),
        min_size=1,
        max_size=40,
    )
)
def test_a_claim_always_has_an_interval_that_excludes_no_change(pairs) -> None:
    """Whatever was counted; and the change lies in its interval."""
    found = beside(counted("a", [p for p, _ in pairs]), counted("b", [p for _, p in pairs])).changes[0]

    assert found.change is not None
    if found.interval is not None:
        assert found.interval[0] - 1e-9 <= found.change <= found.interval[1] + 1e-9
    if found.word in (Word.IMPROVED, Word.REGRESSED):
        assert found.interval is not None
        assert not found.interval[0] <= 0 <= found.interval[1]
        assert found.cases >= LEAST_CASES_FOR_A_CLAIM


def test_a_regression_beside_an_improvement_is_a_regression() -> None:
    """One evaluator's gain does not pay for another's loss."""
    evaluators = [lenient("Up"), lenient("Down")]

    def side(run_id: str, up: int, down: int):
        found = a_side(run_id, some(30), evaluators=evaluators)
        counts = {
            (f"c{i}", name): type(found.counts["c0", "Up"])(1, 1, int(i < most), 1)
            for i in range(30)
            for name, most in (("Up", up), ("Down", down))
        }
        return type(found).of(found.plan, counts)

    found = beside(side("a", 5, 30), side("b", 30, 5))

    assert [change.word for change in found.changes] == [Word.IMPROVED, Word.REGRESSED]
    assert found.word is Word.REGRESSED


def test_the_interval_of_a_variant_goes_with_the_corrected_decision() -> None:
    """Where Holm stops, all that follows has the level at which it stopped."""
    base = counted("base", [(2, 3)] * 30)
    moved = [(7, 1), (9, 2), (11, 3)]
    better = [[(3, 3)] * up + [(1, 3)] * down + [(2, 3)] * (30 - up - down) for up, down in moved]

    found = [c.changes[0] for c in compare([(base, counted(f"v{n}", rows)) for n, rows in enumerate(better)])]
    alone = [beside(base, counted("v", rows)).changes[0] for rows in better]

    assert [change.word for change in found] == [Word.INCONCLUSIVE] * 3
    for change, by_itself in zip(found, alone, strict=True):
        assert change.questions == 3
        assert change.p_adjusted > 0.05 >= by_itself.p_value
        assert change.interval[0] <= 0 < by_itself.interval[0]


def test_a_change_that_only_the_correction_hides_is_said_without_a_void_hint() -> None:
    """A change larger than what could have been shown "on average" is not answered by more trials."""
    change = Change(
        name="E", word=Word.INCONCLUSIVE, cases=24, before=Fraction(1, 2), now=Fraction(13, 18),
        change=Fraction(2, 9), interval=(-0.01, 0.45), p_value=0.03, p_adjusted=0.09, questions=3,
        smallest_visible=0.15, trials_needed=1,
    )  # fmt: skip

    assert change_text(change) == (
        "E 50% -> 72.2%, by +22.2 points [-1.0, +45.0] over 24 cases; p .09 after correction for 3"
    )
