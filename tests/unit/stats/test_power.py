import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.stats import smallest_visible_change, visible_change

suites = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=20, max_size=60
)


def test_seven_cases_show_no_change_of_the_suite() -> None:
    assert smallest_visible_change([(3, 3)] * 6 + [(1, 3)]) is None


def test_cases_without_a_judged_trial_do_not_make_a_suite_larger() -> None:
    assert smallest_visible_change([(3, 3)] * 19 + [(0, 0)] * 5) is None


@pytest.mark.parametrize(("cases", "points"), [(50, 8), (100, 5.5)])
def test_suite_at_90_percent_sees_what_its_size_allows(cases: int, points: float) -> None:
    assert 100 * visible_change(0.9, 0.5, cases, 3) == pytest.approx(points, abs=0.25)


def test_night_in_which_all_passed_does_not_claim_to_see_everything() -> None:
    """Its variance is 0, and a suite of twenty single trials would "see" a change of nothing."""
    assert smallest_visible_change([(1, 1)] * 20) > 0.15


@given(suites)
def test_visible_change_of_a_suite_is_a_share_above_zero(counts: list[tuple[int, int]]) -> None:
    assert 0 < smallest_visible_change(counts) <= 1


@given(st.integers(1, 1000))
def test_four_times_the_cases_see_half_the_change(cases: int) -> None:
    once = visible_change(0.8, 0.3, cases, 3)
    assert visible_change(0.8, 0.3, 4 * cases, 3) == pytest.approx(once / 2)


@pytest.mark.parametrize("wrong", [{"rate": 1.1}, {"icc": -0.1}, {"stability": float("nan")}])
def test_share_outside_zero_to_one_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"each must lie in \[0, 1\]"):
        visible_change(**{"rate": 0.9, "icc": 0.5, "cases": 50, "trials": 3} | wrong)


@pytest.mark.parametrize("wrong", [{"cases": 0}, {"trials": 0}, {"alpha": 0}, {"power": 1}])
def test_plan_without_cases_trials_or_risk_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="want at least one case and trial"):
        visible_change(**{"rate": 0.9, "icc": 0.5, "cases": 50, "trials": 3} | wrong)
