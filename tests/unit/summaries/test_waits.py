"""Waits of calls: quantiles that were there, buckets that add up."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from nightgate.summaries import BOUNDS_S, Waits


def test_a_quantile_is_a_wait_that_was_there() -> None:
    """Of twenty calls one may wait longer than the 95th percentile."""
    waits = Waits(array("d", [float(second) for second in range(20)]))

    assert waits.as_dict() == {"p50": 9.0, "p95": 18.0, "max": 19.0, "total": 190.0}


def test_without_a_call_nothing_is_known() -> None:
    """A zero would be a measurement."""
    assert Waits().as_dict() is None


@given(st.lists(st.floats(0, 1e6)))
def test_every_wait_lies_in_one_bucket(seconds: list[float]) -> None:
    """At a bound it belongs below, as OpenTelemetry counts."""
    counts = Waits(array("d", seconds)).buckets()

    below = [sum(wait <= bound for wait in seconds) for bound in BOUNDS_S]
    assert [sum(counts[: place + 1]) for place in range(len(BOUNDS_S))] == below
    assert sum(counts) == len(seconds)
