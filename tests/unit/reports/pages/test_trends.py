"""Series over nights: what is a figure, what is a hole, and whose changes are marked."""

from __future__ import annotations

from typing import Any

from nightgate.reports.pages.axis import Axis
from nightgate.reports.pages.suitevalues import Change
from nightgate.reports.pages.trends import Trend, trends
from suiteaxes import an_axis


def entry_of(coverage: float, verdict: str, interval: list[float] | None = None) -> dict[str, Any]:
    """A summary with E alone."""
    return {"evaluators": [{"name": "E", "coverage": coverage, "verdict": verdict, "interval": interval}]}


def the_trend(axis: Axis) -> Trend:
    """Of E."""
    (found,) = trends(axis)
    assert found.chart is not None
    return found


def test_a_night_that_decided_nothing_is_a_hole_and_no_drop() -> None:
    """One of three was judged, and it failed: the gate did not believe it, and no line leads to it."""
    axis = an_axis([(3, 3), (0, 1), (3, 3)], {1: entry_of(0.34, "inconclusive")})

    found = the_trend(axis)

    assert [night.thin for night in found.nights] == [False, True, False]
    assert found.brief == (
        "100% on 2026-11-01, 100% on 2026-11-03; 100% to 100%. Wanted 100%. "
        "Holes: 2026-11-02 (1 of 3 judged)."
    )
    assert ">1 of 3</text>" in found.chart
    assert 'class="open"' in found.chart


def test_a_night_without_any_judgement_is_a_hole() -> None:
    """Never a zero."""
    found = the_trend(an_axis([(3, 3), (0, 0), (3, 3)]))

    assert "Holes: 2026-11-02 (0 of 3 judged)" in found.brief
    assert "100% to 100%" in found.brief


def test_a_failed_night_with_all_of_its_cells_is_a_drop() -> None:
    """That is what the line is for."""
    found = the_trend(an_axis([(3, 3), (0, 3)], {1: entry_of(1.0, "fail")}))

    assert found.brief.startswith("100% on 2026-11-01, 0% on 2026-11-02; 0% to 100%.")


def test_less_than_half_is_a_hole_whatever_the_gate_said() -> None:
    """One failed trial out of ten is a fail at the gate; as a rate it says nothing."""
    assert the_trend(an_axis([(0, 1)], {0: entry_of(0.34, "fail")})).nights[0].thin


def test_intervals_are_those_of_the_summaries() -> None:
    """As on the page of the run; a night without a summary has none."""
    found = the_trend(an_axis([(3, 3), (3, 3)], {1: entry_of(1.0, "pass", [0.3, 1.0])}))

    assert found.chart is not None
    assert found.chart.split('class="range">')[1].split("</g>")[0].count("<path") == 1


def test_the_runs_judge_is_no_change_of_an_evaluator_that_asks_none() -> None:
    """Code judges as before; an evaluator with a judge has a mark of its own."""
    run_wide = Change(night=1, what="judge", text="judge a → b")
    its_own = Change(night=1, what="judge", text="judge of E", evaluator="E")

    without = the_trend(an_axis([(3, 3), (3, 3)], changes=[run_wide]))
    with_one = the_trend(an_axis([(3, 3), (3, 3)], changes=[run_wide, its_own]))

    assert ">judge</text>" not in (without.chart or "")
    assert ">judge</text>" in (with_one.chart or "")
    assert list(with_one.nights[1].changes) == ["judge of E"]


def test_a_change_of_the_agent_is_marked_for_all() -> None:
    """In the chart, in its description, and beside the night's figures."""
    found = the_trend(an_axis([(3, 3), (0, 3)], changes=[Change(night=1, what="model", text="model a → b")]))

    assert ">model</text>" in (found.chart or "")
    assert "Changed: model a → b on 2026-11-02." in (found.chart or "")
    assert list(found.nights[1].changes) == ["model a → b"]


def test_a_figure_that_does_not_gate_has_its_mean_score() -> None:
    """Its scale ends above its highest value."""
    axis = an_axis([(0, 0), (0, 0)])
    axis.facts.document["evaluators"][0].update(threshold=None, mean_score=[3.5, 3.7])

    found = the_trend(axis)

    assert found.measure == "mean_score"
    assert found.brief == "3.5 on 2026-11-01, 3.7 on 2026-11-02; 3.5 to 3.7."
    assert ">4</text>" in (found.chart or "")


def test_what_was_never_measured_has_no_chart() -> None:
    """An empty one would look like a zero."""
    (found,) = trends(an_axis([(0, 0), (0, 0)]))

    assert found.chart is None
