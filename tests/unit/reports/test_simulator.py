"""The comparison as people read it: which feature is off, which way, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.reports.simulator import render


def a_feature(word: str | None = "representative", **more: Any) -> dict[str, Any]:
    """A numeric feature as the document has it."""
    test = {"statistic": 1.0, "p": 0.2, "p_holm": 0.4}
    return {
        "name": "turns",
        "word": word,
        "off": [],
        "real": {"conversations": 40, "mean": 5.0, "sd": 2.0},
        "simulated": {"conversations": 60, "mean": 5.0, "sd": 2.0},
        "ratio": 1.0,
        "interval": [0.9, 1.1],
        "tests": {"cramer_von_mises": test, "levene": test},
    } | more


def the_ends(word: str = "representative", **more: Any) -> dict[str, Any]:
    """End reasons as the document has them."""
    return {
        "name": "end_reasons",
        "word": word,
        "off": [],
        "real": {"conversations": 40, "counts": {"goal_met": 20, "user_abandoned": 20}},
        "simulated": {"conversations": 60, "counts": {"goal_met": 54, "user_abandoned": 6}},
        "cramers_v": 0.44,
        "visible_v": 0.28,
        "dof": 1,
        "tests": {"chi_square": {"statistic": 19.0, "p": 1e-5, "p_holm": 2e-5}},
    } | more


def document(*features: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "word": "unproven",
        "suite": "demo",
        "run_id": "r",
        "real": {"conversations": 40, "left_out": 0},
        "simulated": {"conversations": 60, "left_out": {}, "copies": 0},
        "facts_by": "value",
        "facts_by_shape_because": None,
        "features": list(features),
    } | more


def test_the_word_comes_first() -> None:
    first, second, *_ = render(document(a_feature())).splitlines()
    assert first == "UNPROVEN  simulated user of demo, run r"
    assert second == "60 simulated conversations against 40 real ones"


def test_a_feature_has_its_size_its_interval_and_its_samples() -> None:
    assert (
        "turns a conversation  representative      ratio 1.00 [0.90, 1.10]; "
        "real 5.00 (sd 2.00, n 40), simulated 5.00 (sd 2.00, n 60)"
    ) in render(document(a_feature()))


def test_a_representative_feature_needs_no_explanation() -> None:
    assert len(render(document(a_feature(), the_ends())).splitlines()) == 4


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            {"off": ["shape"], "ratio": 0.65, "interval": [0.5, 0.8]},
            "35% fewer than real users (Cramer-von Mises p = 0.4)",
        ),
        ({"off": ["shape"], "ratio": 2.5, "interval": [2.0, None]}, "150% more than real users"),
        ({"off": ["shape"], "ratio": 1.02, "interval": [0.9, 1.1]}, "another distribution"),
        ({"off": ["shape"], "ratio": None, "interval": None}, "another distribution"),
        (
            {"off": ["spread"], "simulated": {"conversations": 60, "mean": 5.0, "sd": 0.5}},
            "too uniform: sd 0.50 against 2.00 (Levene p = 0.4)",
        ),
        (
            {"off": ["spread"], "simulated": {"conversations": 60, "mean": 5.0, "sd": 4.5}},
            "too varied: sd 4.50 against 2.00",
        ),
    ],
)
def test_what_is_off_is_said_with_its_direction(more: dict[str, Any], wanted: str) -> None:
    text = render(document(a_feature("not representative", **more)))
    assert f"turns a conversation: not representative: {wanted}" in text


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            {"interval": [0.7, 1.4]},
            "no difference shown, and the interval [0.70, 1.40] is not inside [0.8, 1.25]: more",
        ),
        ({"real": {"conversations": 7, "mean": 5.0, "sd": 1.0}}, "7 real, at least 20 of each are needed"),
        ({"ratio": None, "interval": None}, "the real mean is 0, so there is no ratio"),
    ],
)
def test_what_is_unproven_says_what_is_missing(more: dict[str, Any], wanted: str) -> None:
    assert f"turns a conversation: unproven: {wanted}" in render(document(a_feature("unproven", **more)))


def test_end_reasons_that_are_off_name_the_largest_gaps() -> None:
    text = render(document(the_ends("not representative")))
    assert (
        "end reasons: not representative: goal_met 90% against 50%, user_abandoned 10% against 50% "
        "(chi-square p < 0.001)"
    ) in text


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (
            {"visible_v": 0.4},
            "no difference shown, but so few show only a Cramer's V of 0.40 or more, and 0.3",
        ),
        (
            {"real": {"conversations": 0, "counts": {}}, "cramers_v": None},
            "no transcript says how it ended; put end_reason into the lines",
        ),
        ({"real": {"conversations": 3, "counts": {"stalled": 3}}}, "3 real, at least 20 of each are needed"),
    ],
)
def test_end_reasons_that_are_unproven_say_what_is_missing(more: dict[str, Any], wanted: str) -> None:
    assert f"end reasons: unproven: {wanted}" in render(document(the_ends("unproven", **more)))


def test_what_is_not_compared_is_said() -> None:
    """Trials that broke off, copies, silent transcripts, facts without names."""
    text = render(
        document(
            a_feature(None, name="facts"),
            real={"conversations": 40, "left_out": 2},
            simulated={"conversations": 60, "left_out": {"simulator_error": 3}, "copies": 5},
            facts_by="shape",
            facts_by_shape_because="cases changed since the run: a\x1b[31m",
        )
    )
    assert "left out, because they broke off: 3 simulator_error" in text
    assert "5 more repeat another trial of their case word for word: counted once" in text
    assert "left out, because the user says nothing in them: 2 real ones" in text
    assert "facts are told by their shape (numbers, codes, e-mail addresses): cases changed since" in text
    assert "facts a message       not compared        neither side gives a fact" in text
    assert "\x1b" not in text
