"""The three words: a difference must be shown, likeness must be shown too, and the rest is unproven."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgate.stats import compare, overall, two_samples
from nightgate.stats.representative import ALPHA, LEAST_CONVERSATIONS

Talks = list[list[float]]

talks = st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=5), min_size=1, max_size=30)
counts = st.lists(st.integers(0, 20), min_size=5, max_size=5)
NOTHING = ([0], [0])


@pytest.fixture(autouse=True)
def _fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words do not hang on the fourth digit of a p-value."""
    monkeypatch.setattr(two_samples, "DRAWS", 999)
    monkeypatch.setattr(two_samples, "RESAMPLES", 500)


def turns(rng: np.random.Generator, size: int, mean: float = 4.0) -> Talks:
    """Turns of conversations: whole numbers from 1."""
    return [[float(value)] for value in 1 + rng.poisson(mean, size)]


def words(rng: np.random.Generator, size: int, each: float = 9.0) -> Talks:
    """Words of messages; some people write more than others."""
    lengths = 1 + rng.poisson(4, size)
    habits = each * rng.lognormal(0, 0.25, size)
    return [list(1.0 + rng.poisson(habit, n)) for habit, n in zip(habits, lengths, strict=True)]


@settings(max_examples=40, deadline=None)
@given(talks, talks, counts)
def test_a_sample_is_never_unlike_itself(a: Talks, b: Talks, ends: list[int]) -> None:
    """Whatever it looks like: no feature of it is off."""
    found, sorts = compare({"turns": (a, a), "words": (b, b)}, (ends, ends))
    assert "not representative" not in {*(feature.word for feature in found.values()), sorts.word}


def test_users_who_are_alike_are_seldom_called_unlike() -> None:
    """Over all features and tests together at most one time in twenty: Holm."""
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(100):
        found, sorts = compare(
            {
                "turns": (turns(rng, 20), turns(rng, 80)),
                "words": (words(rng, 20), words(rng, 80)),
            },
            (list(rng.multinomial(20, [0.6, 0.2, 0.2])), list(rng.multinomial(80, [0.6, 0.2, 0.2]))),
        )
        wrong += "not representative" in {*(feature.word for feature in found.values()), sorts.word}
    assert wrong <= 10  # 99th percentile of 5%


def test_users_who_are_unlike_are_found_with_enough_data() -> None:
    """A simulated user who needs a third fewer turns, with 60 conversations a side."""
    rng = np.random.default_rng(4)
    words_found = [
        compare({"turns": (turns(rng, 60), turns(rng, 60, mean=2.4))}, NOTHING)[0]["turns"].word
        for _ in range(20)
    ]
    assert words_found.count("not representative") == 20


def test_users_who_are_alike_are_called_so_with_enough_data() -> None:
    """Otherwise the word would never be said."""
    rng = np.random.default_rng(5)
    said = [
        compare({"turns": (turns(rng, 150), turns(rng, 150))}, NOTHING)[0]["turns"].word for _ in range(20)
    ]
    assert said.count("representative") >= 18


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 20), min_size=1, max_size=5), max_size=LEAST_CONVERSATIONS - 1),
    talks,
    st.lists(st.integers(0, 5), min_size=3, max_size=3),
)
def test_few_conversations_never_represent(few: Talks, many: Talks, ends: list[int]) -> None:
    """However alike they look, and whichever side is short."""
    short = ends if sum(ends) < LEAST_CONVERSATIONS else [1, 0, 0]
    for samples in ((few, many), (many, few)):
        found, sorts = compare({"turns": samples}, (short, [50, 50, 50]))
        assert found["turns"].word != "representative"
        assert sorts.word != "representative"


def test_conversations_without_any_spread_are_no_proof_when_few() -> None:
    """A width of 0 at n = 3 is not certainty."""
    same = [[3.0]] * 3
    found, _ = compare({"turns": (same, same)}, NOTHING)
    assert found["turns"].word == "unproven"


def test_too_uniform_a_user_is_off_in_spread() -> None:
    real = [[float(n)] for n in (1, 2, 3, 5, 7, 8, 9)] * 8
    simulated = [[float(n)] for n in (4, 5, 5, 5, 6)] * 8
    found, _ = compare({"turns": (real, simulated)}, NOTHING)
    assert found["turns"].word == "not representative"
    assert "spread" in found["turns"].off


def test_p_values_are_corrected_for_all_that_was_asked() -> None:
    """What one question alone would have shown is open when seven were asked."""
    rng = np.random.default_rng(6)
    alike = {f"feature {n}": (turns(rng, 40), turns(rng, 40)) for n in range(3)}
    found, sorts = compare(alike, ([30, 10], [20, 20]))
    assert sorts.association is not None
    assert sorts.association.p_value < ALPHA < (sorts.p_value or 0)
    assert {feature.word for feature in found.values()} <= {"unproven", "representative"}


def test_end_reasons_that_nobody_knows_are_unproven() -> None:
    _, sorts = compare({}, ([0, 0], [3, 4]))
    assert sorts == ("unproven", None, None, None)


def test_end_reasons_need_a_test_that_could_have_seen_something() -> None:
    """No difference among 50 is not yet likeness; among 200 it is."""
    words_said = [compare({}, ([n, n], [n, n]))[1].word for n in (12, 50)]
    assert words_said == ["unproven", "representative"]


def test_one_feature_that_is_off_decides() -> None:
    assert overall(["representative", "not representative", "unproven"]) == "not representative"
    assert overall(["representative", "representative"]) == "representative"
