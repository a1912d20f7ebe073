from __future__ import annotations

from typing import Any

from nightgate.reports.panels import panels


def line(**more: Any) -> str:
    """The line of a panel of three that agreed on nine of ten."""
    panel = {
        "evaluator": "Criterion:short",
        "rule": "majority",
        "members": [{}, {}, {}],
        "undecided": 0,
        "judged": 10,
        "unanimous": 9,
        "alpha": 0.62,
        "split": [{"case": "late", "trial": 1, "verdicts": {}}],
    }
    (found,) = panels({"panels": [panel | more]})
    return found


def test_a_panel_is_one_line_with_where_it_split() -> None:
    """What a reader looks up next."""
    assert line() == (
        "panel Criterion:short (majority of 3 judges): agreed on 9 of 10, alpha 0.62; split on late trial 1"
    )


def test_what_was_not_judged_is_said() -> None:
    """No verdict is not agreement."""
    assert line(judged=0, unanimous=0).endswith("no output has verdicts of two members")
    assert "agreed on 9 of 10, 2 undecided;" in line(alpha=None, undecided=2)


def test_many_splits_are_cut_short() -> None:
    """The summary has ten of them, the rows all."""
    split = [{"case": f"c{n}", "trial": 0, "verdicts": {}} for n in range(5)]

    assert line(unanimous=3, split=split).endswith("; split on c0 trial 0, c1 trial 0, c2 trial 0 and 4 more")


def test_a_summary_from_before_panels_has_no_line() -> None:
    """Stored documents are read for ever."""
    assert not list(panels({}))
