"""The flake board: what wavers, what broke and what was never judged do not look alike."""

from __future__ import annotations

from typing import Any

from nightgate.reports.pages.flakegrid import all_cases, outcome, rows_in_trouble
from nightgate.reports.pages.suitevalues import SuiteFacts, slots


def a_case(name: str, counts: list[tuple[int, int] | None], **more: Any) -> dict[str, Any]:
    """The trend of a case; None is a hole."""
    known = [each for each in counts if each is not None]
    return {
        "case": name,
        "evaluator": "E",
        "passed": sum(passed for passed, _ in known),
        "judged": sum(judged for _, judged in known),
        "nights": {
            "passed": [each and each[0] for each in counts],
            "judged": [each and each[1] for each in counts],
        },
        "changes": [],
    } | more


def facts(*cases: dict[str, Any], pairs: list[dict[str, Any]] | None = None) -> SuiteFacts:
    """A history of these cases."""
    board = None if pairs is None else {"pairs": pairs}
    nights = [
        {"date": f"2026-11-{day + 1:02d}"}
        for day in range(max(len(case["nights"]["judged"]) for case in cases))
    ]
    return SuiteFacts(document={"nights": nights, "cases": list(cases), "flaky": board, "summaries": {}})


def rows(found: SuiteFacts) -> list[tuple[str, str]]:
    """Case and label of each row."""
    shown = slots([night["date"] for night in found.nights])
    return [(row.case, row.label) for row in rows_in_trouble(found, shown)]


def a_pair(case: str, state: str, label: str) -> dict[str, Any]:
    """What the detector takes a case for."""
    return {"case": case, "evaluator": "E", "state": state, "label": label}


def test_broken_comes_before_flaky_and_flaky_before_what_failed_once() -> None:
    """The worst first, by the detector's own words."""
    found = facts(
        a_case("once", [(3, 3), (2, 3)]),
        a_case("wavers", [(2, 3), (1, 3)]),
        a_case("broke", [(3, 3), (0, 3)]),
        a_case("steady", [(3, 3), (3, 3)]),
        pairs=[
            a_pair("once", "sound", "stable pass"),
            a_pair("wavers", "sound", "flaky"),
            a_pair("broke", "broken", "stable fail"),
        ],
    )

    assert rows(found) == [("broke", "broken"), ("wavers", "flaky"), ("once", "stable pass")]


def test_without_the_detectors_board_rates_say_what_is_worst() -> None:
    """Its book may be damaged; the rows are not."""
    assert rows(facts(a_case("a", [(2, 3)]), a_case("b", [(0, 3)]))) == [("b", ""), ("a", "")]


def test_a_hole_has_no_figure_and_no_colour_of_a_failure() -> None:
    """An outage is no drop."""
    found = facts(a_case("a", [(0, 3), None]))
    (row,) = rows_in_trouble(found, slots(["2026-11-01", "2026-11-02"]))

    assert [(field.tone, field.sign, field.word, field.night) for field in row.fields] == [
        ("bad", "✗", "failed", 0),
        ("calm", "·", "not judged", None),
    ]


def test_a_night_that_never_came_is_a_field_of_its_own() -> None:
    """Between two others."""
    found = facts(a_case("a", [(0, 3), (3, 3), (3, 3)]))
    (row,) = rows_in_trouble(found, slots(["2026-11-01", "2026-11-02", "2026-11-04"]))

    assert [field.word for field in row.fields] == ["failed", "passed", "no night", "passed"]


def test_a_change_is_named_on_its_night() -> None:
    """What another judge says is no news of the agent."""
    found = facts(a_case("a", [(3, 3), (0, 3)], changes=[{"night": 1, "what": "judge"}]))
    (row,) = rows_in_trouble(found, slots(["2026-11-01", "2026-11-02"]))

    assert [list(field.changes) for field in row.fields] == [[], ["judge"]]


def test_signs_differ_where_colours_do() -> None:
    """Colour is never the only sign."""
    found = [outcome(3, 3), outcome(1, 3), outcome(0, 3), outcome(None, None)]

    assert len({sign for _, sign, _ in found}) == len({tone for tone, _, _ in found}) == 4


def test_all_evaluators_of_a_case_are_added_up() -> None:
    """One line a case; what was never judged has none."""
    found = facts(
        a_case("a", [(3, 3), (2, 3)]), a_case("a", [(3, 3), (3, 3)], evaluator="F"), a_case("b", [None, None])
    )

    assert all_cases(found, slots(["2026-11-01", "2026-11-02"])) == [
        ("a", [("good", "✓", "passed", ""), ("doubt", "≈", "passed in part", "5/6")])
    ]
