"""Money and conversations over nights."""

from __future__ import annotations

from nightgate.reports.pages.nightcharts import conversation_chart, cost_chart, decay_chart, shares_of_talks
from suiteaxes import an_axis


def test_cost_is_drawn_for_those_who_were_paid() -> None:
    """No line for a user that nobody simulated; a night of unknown cost interrupts its line."""
    costs = [{"agent": 0.1, "judge": 0.02, "user": 0.0, "total": 0.12}] * 3
    unknown = {"agent": None, "judge": 0.02, "user": 0.0, "total": None}
    summaries = {i: {"cost_usd": cost} for i, cost in enumerate([*costs, unknown, *costs])}

    chart, roles = cost_chart(an_axis([(3, 3)] * 7, summaries))

    assert roles == ["total", "agent", "judge"]
    assert chart is not None
    assert chart.split('class="line line-1">')[1].split("</g>")[0].count("<path") == 2
    assert "The newest night: total $0.1200; agent $0.1000; judge $0.0200." in chart


def test_nights_that_cost_nothing_have_no_chart_of_cost() -> None:
    """Scripts are free."""
    assert cost_chart(an_axis([(3, 3)], {0: {"cost_usd": {"total": 0.0, "agent": 0.0}}})) == (None, [])


TALKS = {"planned": 10, "ended": 10, "elicitation": 0.5, "quality_by_turn": {"1": 1.0, "10": 0.5, "2": 0.9}}


def test_endings_are_shares_of_the_conversations_that_came_to_one() -> None:
    """Those that the infrastructure broke are none."""
    found = shares_of_talks(
        {"conversations": TALKS, "endings": {"goal_met": 6, "user_abandoned": 2, "infra_error": 2}}
    )

    assert (found["goal_met"], found["user_abandoned"], found["facts asked for"]) == (0.75, 0.25, 0.5)


def test_a_night_whose_conversations_broke_off_has_no_shares() -> None:
    """An outage is no drop of goals."""
    assert shares_of_talks({"conversations": TALKS, "endings": {"goal_met": 1, "infra_error": 9}}) == {}
    assert shares_of_talks({}) == {}


def test_conversations_are_drawn_with_what_happened_in_them() -> None:
    """No line for an ending that never was."""
    night = {"conversations": TALKS, "endings": {"goal_met": 8, "user_abandoned": 2, "stalled": 0}}
    broken = {"conversations": TALKS, "endings": {"infra_error": 10}}
    nights = [night, night, broken, night, night]
    chart = conversation_chart(an_axis([(3, 3)] * 5, dict(enumerate(nights))))

    assert chart is not None
    assert [word in chart for word in (">goal met<", ">user abandoned<", ">facts asked for<", "stalled")] == [
        True, True, True, False,
    ]  # fmt: skip
    assert chart.split('class="line line-0">')[1].split("</g>")[0].count("<path") == 2
    assert conversation_chart(an_axis([(3, 3)])) is None


def test_decay_is_drawn_in_the_order_of_turns() -> None:
    """Ten comes after two; the oldest and the newest night."""
    axis = an_axis([(3, 3)] * 3, {i: {"conversations": TALKS} for i in range(3)})

    chart = decay_chart(axis, [0, 1, 2])

    assert chart is not None
    assert "On 2026-11-01 and on 2026-11-03, turns 1 to 10." in chart
    assert chart.index("turn 1<") < chart.index("turn 2<") < chart.index("turn 10<")
