"""Families: where one language fails and another passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case
from nightgate import summaries
from nightgate.plans import PlannedCase
from nightgate.summaries import tally


def test_a_family_shows_the_language_that_fails() -> None:
    """The same intent passes in English and fails in Spanish."""
    plan = a_plan(
        *(
            replace(a_planned_case(a_case(f"c-{code}")), family="refund", language=code)
            for code in ("en", "es")
        )
    )
    rows = [("c-en", "E", "pass", None, None), ("c-es", "E", "fail", None, None)]

    assert summaries.families(tally(plan, rows)) == {"refund": {"en": "pass", "es": "fail"}}


def test_an_unmeasured_language_is_no_pass() -> None:
    """Nor a fail."""
    plan = a_plan(replace(a_planned_case(a_case("c")), family="refund", language="en"))

    assert summaries.families(tally(plan, [("c", "E", "error", "infra", None)])) == {
        "refund": {"en": "inconclusive"}
    }


@pytest.mark.parametrize(("status", "score"), [("not_applicable", None), ("measured", 0.5)])
def test_a_language_in_which_nothing_was_judged_is_no_pass(status: str, score: float | None) -> None:
    """A finding that may be skipped and a mere figure close a hole; they say nothing of the agent."""
    case = replace(a_planned_case(a_case("c"), trials=1), family="refund", language="en", may_skip=("E",))

    assert summaries.families(tally(a_plan(case), [("c", "E", status, None, score)])) == {
        "refund": {"en": "inconclusive"}
    }


def _member(case_id: str, language: str | None, layer: str = "behavior") -> PlannedCase:
    case = replace(a_planned_case(a_case(case_id), trials=1), family="first", language=language)
    return replace(case, layer=layer)


def test_a_family_names_case_layer_and_evaluator_that_failed() -> None:
    """The same family may fail in two languages for two reasons: that is two repairs."""
    plan = a_plan(_member("en", "en"), _member("es", "es"), _member("es-order", "es", "parameter"))
    rows = [
        ("en", "E", "fail", None, None),
        ("es", "E", "pass", None, None),
        ("es-order", "E", "fail", None, None),
    ]

    details = summaries.family_details(tally(plan, rows))["first"]

    assert details["en"]["failed_by"] == [{"case": "en", "layer": "behavior", "evaluator": "E"}]
    assert details["es"]["failed_by"] == [{"case": "es-order", "layer": "parameter", "evaluator": "E"}]
    assert (details["es"]["passed"], details["es"]["failed"], details["es"]["planned"]) == (1, 1, 2)


def test_cases_without_a_language_are_a_group_of_their_own() -> None:
    """They are not taken for English."""
    plan = a_plan(_member("a", None), _member("b", "en"))

    assert set(summaries.families(tally(plan, []))["first"]) == {"und", "en"}


def test_a_required_finding_that_did_not_apply_fails_its_family() -> None:
    """As it does at the gate."""
    plan = a_plan(replace(_member("a", "en"), require=("E",)))

    found = summaries.families(tally(plan, [("a", "E", "not_applicable", None, None)]))

    assert found == {"first": {"en": "fail"}}
