"""A one-factor search as lines for people."""

from __future__ import annotations

from typing import Any

from nightgate.reports.bisect import forecast, render


def a_finding(case: str = "a", **more: Any) -> dict[str, Any]:
    """A broken case with what was found."""
    values = {"verdict": "explained", "by": ["model"], "reason": "model 3 of 3, control 0 of 3"}
    return {"case": case, "evaluator": "E", "before": [3, 3], "now": [0, 3], **values, **more}


def a_document(*broken: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a search found."""
    swap = {
        "factor": "model",
        "text": "model: x -> y",
        "moved": 1,
        "of": 1,
        "control": [0, 3],
        "probe": [3, 3],
    }
    values: dict[str, Any] = {
        "good": "a", "bad": "b", "broken": list(broken), "swaps": [swap], "fixed": [], "probes": [],
        "notes": [], "stopped": None, "answer": "model moved 1 of 1", "cost_usd": 0.5, "budget_usd": None,
    }  # fmt: skip
    return values | more


def test_the_last_line_is_the_answer() -> None:
    """Where the eye lands."""
    lines = render(a_document(a_finding())).splitlines()

    assert lines[0] == "a (E) 3/3 -> 0/3: explained by model (model 3 of 3, control 0 of 3)"
    assert lines[-1] == "which swap moved it? model moved 1 of 1"


def test_an_unknown_price_is_not_told_as_nothing() -> None:
    """Null is no zero."""
    assert "cost: unknown: a model has no price" in render(a_document(a_finding(), cost_usd=None))


def test_a_stopped_search_says_how_to_go_on() -> None:
    """There is no flag to find."""
    assert "stopped (budget): the same command goes on" in render(a_document(a_finding(), stopped="budget"))


def test_overlap_asks_for_more_trials_and_what_is_not_explained_for_the_rest() -> None:
    """Each open end has a next step."""
    fixed = [
        {"part": "tools", "text": "tool or skill schema changed", "advice": "check out the revision of a"}
    ]
    told = render(
        a_document(
            a_finding(verdict="cannot be told", by=[]),
            a_finding("b", verdict="not explained", by=[]),
            fixed=fixed,
        )
    )

    assert "more trials (--trials N) tell more" in told
    assert "not swapped: tool or skill schema changed: check out the revision of a" in told


def test_case_ids_cannot_fake_a_line() -> None:
    """They come from files."""
    told = forecast(a_document(a_finding("x\nwhich swap moved it? judge")))

    assert len([line for line in told.splitlines() if line.startswith("which swap")]) == 0


def test_without_a_setting_that_differs_the_plan_says_what_the_control_is_for() -> None:
    """Somebody pays for it."""
    assert "only the control is played" in forecast(a_document(a_finding(), swaps=[]))
