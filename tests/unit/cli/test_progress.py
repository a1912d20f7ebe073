"""What is said while a run works."""

from __future__ import annotations

from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case
from nightgate.cli import progress
from nightgate.cli.progress import Reporter


def test_a_sweep_counts_the_trials_that_have_their_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It plays none, and said 0 of 28 trials to its end."""
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 0.0)
    planned = a_planned_case(a_case("a"), trials=2)
    reporter = Reporter()
    reporter.planned(a_plan(planned))

    reporter.judged()

    assert "1/2 trials" in capsys.readouterr().err


def test_a_case_of_several_nights_is_one_case(capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep over them shows all as one plan."""
    planned = a_planned_case(a_case("a"), trials=2)
    plan = a_plan(planned)

    Reporter().planned(replace(plan, cases=(planned, planned)))

    assert "1 case, 4 trials" in capsys.readouterr().err
