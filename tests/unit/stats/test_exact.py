from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nightgate.stats import bounds_verdict, parse_threshold, passes_needed, percent_beside, rate_bounds

counts = st.integers(0, 60)
thresholds = st.decimals(0, 1, places=4)
ORDER = {"fail": 0, "inconclusive": 1, "pass": 2}


@pytest.mark.parametrize("written", ["0.85", 0.85, Decimal("0.85"), Fraction(17, 20), " 0.850 ", "8.5e-1"])
def test_threshold_is_read_as_it_was_written(written: object) -> None:
    """The binary float 0.85 lies above 17/20 and would fail 17 of 20."""
    assert parse_threshold(written) == Fraction(17, 20)


@pytest.mark.parametrize(
    "written",
    ["nan", "inf", "-inf", "sNaN", float("nan"), float("inf"), Decimal("NaN"), "", "most", "85%", "1/2"],
)
def test_threshold_that_is_no_decimal_is_refused(written: object) -> None:
    with pytest.raises(ValueError, match=r"no decimal from 0 to 1; write it like 0\.85"):
        parse_threshold(written)


@pytest.mark.parametrize("written", ["-0.01", "1.01", 85, -1, Fraction(3, 2), Decimal("1.0001")])
def test_threshold_outside_zero_to_one_is_refused(written: object) -> None:
    """85 meant as a percentage would fail every suite, -1 would pass every one."""
    with pytest.raises(ValueError, match="no decimal from 0 to 1"):
        parse_threshold(written)


@pytest.mark.parametrize("written", ["1e999999999", "1e-999999999"])
def test_threshold_with_a_giant_exponent_is_refused_without_being_computed(written: str) -> None:
    """Expanded, it is an integer of a billion digits and the process hangs."""
    with pytest.raises(ValueError, match="no decimal from 0 to 1"):
        parse_threshold(written)


def test_zero_with_a_giant_exponent_is_zero() -> None:
    assert parse_threshold("0e999999999") == 0


def test_eighteen_of_twenty_one_passes_085_and_seventeen_does_not() -> None:
    assert bounds_verdict(18, 3, 0, "0.85") == "pass"
    assert bounds_verdict(17, 4, 0, "0.85") == "fail"


@pytest.mark.parametrize(
    ("passed", "failed", "threshold"), [(7, 93, "0.07"), (17, 3, 0.85), (199, 1, "0.995")]
)
def test_rate_equal_to_the_threshold_passes(passed: int, failed: int, threshold: object) -> None:
    """ceil(0.07 * 100) is 8 in floats: the exact rate would be blocked."""
    assert bounds_verdict(passed, failed, 0, threshold) == "pass"


@pytest.mark.parametrize("threshold", ["0", "0.85", "1"])
@pytest.mark.parametrize("unjudged", [0, 21])
def test_no_judged_cell_is_inconclusive_whatever_the_threshold(threshold: str, unjudged: int) -> None:
    """With a threshold of 0 the bounds alone would pass a suite nobody judged."""
    assert bounds_verdict(0, 0, unjudged, threshold) == "inconclusive"


def test_failure_that_unjudged_cells_cannot_mend_is_a_fail() -> None:
    assert bounds_verdict(10, 5, 6, "0.85") == "fail"


def test_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        bounds_verdict(3, -1, 0, "0.5")


def test_fractional_count_is_refused() -> None:
    with pytest.raises(TypeError):
        bounds_verdict(2.5, 1, 0, "0.5")


def test_negative_number_of_cells_needs_no_passes_but_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        passes_needed(-1, "0.5")


def test_bounds_of_nothing_do_not_exist() -> None:
    assert rate_bounds(0, 0, 0) is None


@given(counts, counts, counts, thresholds)
def test_turning_a_failure_into_a_pass_never_worsens_the_verdict(
    passed: int, failed: int, unjudged: int, threshold: Decimal
) -> None:
    before = bounds_verdict(passed, failed + 1, unjudged, threshold)
    after = bounds_verdict(passed + 1, failed, unjudged, threshold)
    assert ORDER[after] >= ORDER[before]


@given(counts, counts, counts, thresholds)
def test_judging_one_more_cell_never_overturns_a_decided_verdict(
    passed: int, failed: int, unjudged: int, threshold: Decimal
) -> None:
    """That is what lets a verdict stand: no rerun can prove it wrong."""
    verdict = bounds_verdict(passed, failed, unjudged + 1, threshold)
    outcomes = {
        bounds_verdict(passed + 1, failed, unjudged, threshold),
        bounds_verdict(passed, failed + 1, unjudged, threshold),
    }
    assert verdict == "inconclusive" or outcomes == {verdict}


@given(st.integers(0, 500), thresholds)
def test_fewest_passes_reach_the_threshold_and_one_less_does_not(planned: int, threshold: Decimal) -> None:
    needed = passes_needed(planned, threshold)
    assert 0 <= needed <= planned
    assert Fraction(needed) >= Fraction(threshold) * planned
    assert needed == 0 or Fraction(needed - 1) < Fraction(threshold) * planned


@pytest.mark.parametrize(
    ("rate", "threshold", "printed"),
    [
        (Fraction(5, 7), Fraction(1), ("71%", "100%")),
        (Fraction(17, 21), Fraction("0.81"), ("80.95%", "81%")),
        (Fraction(20, 21), Fraction("0.95"), ("95.2%", "95%")),
        (Fraction(1), Fraction(1), ("100%", "100%")),
        (Fraction(0), Fraction("0.5"), ("0%", "50%")),
        (Fraction(17, 20), Fraction("0.85"), ("85%", "85%")),
        (Fraction(21, 22), Fraction("0.905"), ("95%", "90.5%")),
        (Fraction(2, 3), Fraction(1, 3), ("67%", "33%")),
    ],
)
def test_rate_is_printed_in_whole_percents_where_they_show_the_comparison(
    rate: Fraction, threshold: Fraction, printed: tuple[str, str]
) -> None:
    assert percent_beside(rate, threshold) == printed


@pytest.mark.parametrize("threshold", ["0", "0.5", "1"])
def test_rate_just_short_of_an_end_is_never_printed_as_that_end(threshold: str) -> None:
    """299 of 300 is 99.67%: "100%" would deny the failure."""
    assert percent_beside(Fraction(299, 300), Fraction(threshold))[0] == "99.7%"
    assert percent_beside(Fraction(1, 300), Fraction(threshold))[0] == "0.3%"


def test_threshold_just_short_of_one_is_never_printed_as_100_percent() -> None:
    assert percent_beside(Fraction(1), Fraction("0.995")) == ("100%", "99.5%")


def test_rate_that_no_decimals_tell_apart_is_printed_as_a_fraction() -> None:
    rate = Fraction(10**15 - 1, 10**15)
    assert percent_beside(rate, Fraction(1)) == ("999999999999999/1000000000000000", "100%")


@pytest.mark.parametrize(("rate", "threshold"), [(Fraction(3, 2), Fraction(1)), (Fraction(1), Fraction(-1))])
def test_share_outside_zero_to_one_is_not_printed(rate: Fraction, threshold: Fraction) -> None:
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        percent_beside(rate, threshold)


def printed_share(text: str) -> Fraction:
    return Fraction(text.removesuffix("%")) / 100 if text.endswith("%") else Fraction(text)


shares = st.one_of(
    st.fractions(0, 1, max_denominator=500),
    st.fractions(0, 1),
    thresholds.map(Fraction),
)


@given(shares, shares)
@example(Fraction(1, 3), Fraction(10**12 + 1, 3 * 10**12))
@example(Fraction(1, 3), Fraction(10**9 + 1, 3 * 10**9))
@example(Fraction(10**14 - 1, 10**14), Fraction(10**14 - 2, 10**14))
def test_printed_rate_compares_with_the_printed_threshold_as_the_exact_ones_do(
    rate: Fraction, threshold: Fraction
) -> None:
    shown, bar = (printed_share(text) for text in percent_beside(rate, threshold))
    assert (shown < bar, shown == bar) == (rate < threshold, rate == threshold)
    for printed, exact in ((shown, rate), (bar, threshold)):
        assert (printed == 0, printed == 1) == (exact == 0, exact == 1)
