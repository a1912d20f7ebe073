"""``nightgate.testing.cases``: one test a case, and a hole fails instead of skipping in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nightgate.testing import CaseResult, cases
from talks import write_talks


def write_suite(folder: Path, listed: list[dict[str, Any]], replies: Mapping[str, Any]) -> Path:
    """A suite on the support agent with a scripted model."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "suite: pytested\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:m\n"
    )
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (folder / "scripts" / "m.yaml").write_text(json.dumps({"replies": replies}))
    return folder


def a_case(case_id: str, **more: Any) -> dict[str, Any]:
    """A case that wants "yes" in the answer."""
    expect = {"answer": {"contains": ["yes"]}}
    return {"id": case_id, "input": "q", "context": {"customer_id": "C-17"}, "expect": expect} | more


def results(path: Path) -> dict[str, Any]:
    """The parameters that pytest would get, by test id."""
    return {param.id: param for param in cases(path).mark.args[1]}


def checked(param: Any) -> None:
    """What the test of a case does."""
    result: CaseResult = param.values[0]
    result.check()


def test_a_case_that_passes_passes_and_one_that_fails_says_why(tmp_path: Path) -> None:
    """One run serves both tests."""
    suite = write_suite(
        tmp_path / "s", [a_case("good"), a_case("bad")], {"good": [{"say": "yes"}], "bad": [{"say": "no"}]}
    )
    params = results(suite)

    checked(params["good"])
    with pytest.raises(AssertionError, match="lacks 'yes'"):
        checked(params["bad"])


def test_a_trial_that_broke_is_a_failure_and_no_skip(tmp_path: Path) -> None:
    """Nothing is known of the agent, and nobody may read that as green."""
    suite = write_suite(tmp_path / "s", [a_case("down")], {"down": [{"raise": "auth"}]})

    with pytest.raises(AssertionError, match="1 not measured"):
        checked(results(suite)["down"])


def test_a_suite_without_cases_fails(tmp_path: Path) -> None:
    """A parametrized test without parameters is a skip to pytest."""
    suite = write_suite(tmp_path / "s", [], {"*": [{"say": "yes"}]})

    with pytest.raises(AssertionError, match="nothing was planned"):
        checked(results(suite)["no-case"])


def test_a_capability_is_expected_to_fail(tmp_path: Path) -> None:
    """It is shown, and breaks no build."""
    suite = write_suite(tmp_path / "s", [a_case("later", stage="capability")], {"*": [{"say": "no"}]})

    (mark,) = results(suite)["later"].marks
    assert (mark.name, mark.kwargs["strict"]) == ("xfail", False)


def test_figures_without_a_threshold_are_no_holes(tmp_path: Path) -> None:
    """A conversation that met its goal passes, whatever its metrics measure or do not apply to."""
    persona = {"goal": "g", "opening": "Hi.", "success": {"state": {"slot": "thu"}}}
    moved = {"replies": {"*": [{"call": {"move": {"slot": "thu"}}}, {"say": "Moved."}]}}
    suite = write_talks(tmp_path / "talks", persona, scripts={"agent": moved, "user": moved, "judge": moved})

    checked(results(suite)["c0"])
