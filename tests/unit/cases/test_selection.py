from __future__ import annotations

from typing import Any

import pytest

from nightgate.cases import Case, Suite, select
from nightgate.errors import ExitCode, InputError

CASES = (
    Case(id="refund-in", input="x", tags=("refund",)),
    Case(id="refund-out", input="x", tags=("refund", "money"), layer="parameter"),
    Case(id="[odd]", input="x", stage="capability"),
    Case(id="o", input="x"),
)
SUITE = Suite(suite="s", agent="a:b", model="scripted:x", cases=CASES)


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({}, ["refund-in", "refund-out", "[odd]", "o"]),
        ({"case_globs": ["refund-*"]}, ["refund-in", "refund-out"]),
        ({"case_globs": ["o", "refund-in"]}, ["refund-in", "o"]),
        ({"case_globs": ["[odd]"]}, ["[odd]", "o"]),
        ({"tags": ["money"]}, ["refund-out"]),
        ({"tags": ["money", "refund"]}, ["refund-in", "refund-out"]),
        ({"layers": ["parameter"]}, ["refund-out"]),
        ({"stages": ["capability"]}, ["[odd]"]),
        ({"case_globs": ["refund*"], "layers": ["behavior"]}, ["refund-in"]),
    ],
)
def test_filters_take_any_of_their_values_and_all_together(filters: dict[str, Any], ids: list[str]) -> None:
    """Suite order is kept, and an id with brackets is found by its own text."""
    assert [case.id for case in select(SUITE, **filters).cases] == ids


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"case_globs": ["refund_in"]}, "--case 'refund_in' matches no case; the nearest is 'refund-in'"),
        ({"case_globs": ["zzzzz"]}, "the nearest is"),
        ({"case_globs": ["refund*", "x*"]}, "--case 'x*' matches no case"),
        ({"tags": ["mony"]}, "--tag 'mony' matches no case; the nearest is 'money'"),
        ({"layers": ["quality"]}, "--layer 'quality' matches no case"),
        ({"layers": ["behavior", "paramter"]}, "--layer 'paramter' matches no case"),
        (
            {"tags": ["money"], "stages": ["capability"]},
            "no case matches all of --tag money --stage capability",
        ),
    ],
)
def test_a_filter_that_matches_no_case_is_refused_with_the_nearest(
    filters: dict[str, Any], message: str
) -> None:
    """An empty selection would otherwise be a run without a verdict."""
    with pytest.raises(InputError) as raised:
        select(SUITE, **filters)

    assert message in str(raised.value)
    assert raised.value.exit_code is ExitCode.INPUT


def test_a_suite_without_cases_can_be_selected_whole_but_not_in_part() -> None:
    """Nothing measured is the run's verdict; a filter on nothing is a mistake."""
    empty = SUITE.model_copy(update={"cases": ()})

    assert select(empty) is empty
    with pytest.raises(InputError, match="the suite has no cases"):
        select(empty, case_globs=["a"])


def test_of_several_layers_one_is_enough() -> None:
    """One command plays the same layers of many suites, and not every suite has each of them."""
    assert select(SUITE, layers=["behavior", "quality"]) == select(SUITE, layers=["behavior"])
