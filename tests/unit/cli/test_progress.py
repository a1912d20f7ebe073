"""What is said while a run works, in virtual time."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case, a_score, a_trial
from nightgate.cli.output import users_prints_aside
from nightgate.cli.progress import LINE_EVERY_S, Pace, Reporter
from nightgate.plans import Plan
from nightgate.scores import Cell, Status
from virtual import in_virtual_time

Act = Callable[[Reporter, float], None]


def said(capsys: pytest.CaptureFixture[str], plan: Plan, act: Act, *, seconds: int) -> list[str]:
    """Lines of a run of so many seconds without a terminal; ``act`` is done once a second."""

    async def run() -> None:
        with Reporter() as reporter:
            reporter.planned(plan)
            for second in range(seconds):
                act(reporter, second)
                await asyncio.sleep(1)

    in_virtual_time(run())
    return capsys.readouterr().err.splitlines()[1:]


def a_cell(status: Status = Status.PASS, nanousd: int = 0) -> Cell:
    """A finding."""
    return Cell(
        case_id="a",
        trial=0,
        score=replace(a_score(), status=status),
        judge_model=None,
        judge_fingerprint=None,
        cost_nanousd=nanousd,
        latency_ms=1.0,
    )


def of_trials(trials: int) -> Plan:
    """A run of one case with one evaluator."""
    return a_plan(a_planned_case(a_case("a"), trials=trials))


def a_finished_trial(reporter: Reporter, _: float = 0) -> None:
    """A trial and its cell, for half a cent each."""
    reporter.trial(a_trial(cost_nanousd=5_000_000))
    reporter.cell(a_cell(nanousd=5_000_000))


def test_a_line_has_rate_dollars_and_rest(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody who looks at a log at night wants to know whether to wait."""
    lines = said(capsys, of_trials(600), a_finished_trial, seconds=12)

    assert lines == [
        "demo: 10/600 trials, 10/600 cells, 60 trials/min, about 10 min left, $0.10, 0 failed, 0 errors"
    ]


def test_a_line_comes_every_ten_seconds_whatever_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """CI ends jobs that say nothing, and a model that hangs is told by a count that stands still."""

    def once(reporter: Reporter, second: float) -> None:
        if second == 0:
            a_finished_trial(reporter)

    lines = said(capsys, of_trials(9), once, seconds=61)

    assert LINE_EVERY_S == 10.0
    assert len(lines) == 6
    assert all(line.startswith("demo: 1/9 trials, 1/9 cells, ") for line in lines)


def test_a_run_whose_cells_are_all_there_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    """What follows, the summary and the pages, has lines of its own."""
    plan = of_trials(1)

    assert (
        said(capsys, plan, lambda reporter, at: a_finished_trial(reporter) if at == 0 else None, seconds=30)
        == []
    )


def test_no_rest_is_guessed_before_anything_ended(capsys: pytest.CaptureFixture[str]) -> None:
    """A guess out of nothing would be believed."""
    lines = said(capsys, of_trials(9), lambda *_: None, seconds=11)

    assert lines == ["demo: 0/9 trials, 0/9 cells, $0.00, 0 failed, 0 errors"]


def test_what_was_stored_before_counts_as_done_and_not_as_speed(capsys: pytest.CaptureFixture[str]) -> None:
    """A resumed run would say that it is done in a second, or never come to its end."""

    def resumed(reporter: Reporter, second: float) -> None:
        if second == 0:
            reporter.there(90, 90)
        if second < 5:
            a_finished_trial(reporter)

    lines = said(capsys, of_trials(100), resumed, seconds=11)

    assert lines == [
        "demo: 95/100 trials, 95/100 cells, 30 trials/min, about 11 s left, $0.05, 0 failed, 0 errors"
    ]


def test_a_sweep_counts_the_trials_that_have_their_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """It plays none, and said 0 of 28 trials to its end."""
    lines = said(
        capsys, of_trials(2), lambda reporter, at: reporter.judged() if at == 0 else None, seconds=11
    )

    assert lines[0].startswith("demo: 1/2 trials, 0/2 cells")


def test_a_cost_that_is_unknown_makes_the_sum_a_least(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown price is not nothing."""

    def unpriced(reporter: Reporter, second: float) -> None:
        if second == 0:
            reporter.trial(a_trial(cost_nanousd=None))

    assert ", at least $0.00, " in said(capsys, of_trials(2), unpriced, seconds=11)[0]


def test_failures_and_errors_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """A night in which all fails can be stopped before it has cost its budget."""

    def bad(reporter: Reporter, second: float) -> None:
        if second < 2:
            reporter.cell(a_cell(Status.FAIL))
        if second == 0:
            reporter.cell(a_cell(Status.ERROR))

    assert said(capsys, of_trials(9), bad, seconds=11)[0].endswith(", 2 failed, 1 error")


def test_the_pace_is_that_of_the_last_minutes() -> None:
    """After an outage of an hour the average would say three hours for what takes ten minutes."""
    pace = Pace(0.0)
    for second in range(0, 3600, 10):
        pace.note(second, 1, 1)
    for second in range(3600, 3910, 10):
        pace.note(second, 1 + (second - 3600), 1 + (second - 3600))

    assert pace.words(600) == ["60 trials/min", "about 10 min left"]


def test_a_case_of_several_nights_is_one_case(capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep over them shows all as one plan."""
    planned = a_planned_case(a_case("a"), trials=2)
    plan = replace(a_plan(planned), cases=(planned, planned))

    async def run() -> None:
        with Reporter() as reporter:
            reporter.planned(plan)

    in_virtual_time(run())

    assert "1 case, 4 trials" in capsys.readouterr().err


class Terminal(io.StringIO):
    """A stderr that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_bar_has_rate_dollars_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures, on one line that is drawn over."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")

    async def run() -> None:
        with Reporter() as reporter:
            reporter.planned(of_trials(600))
            for _ in range(12):
                a_finished_trial(reporter)
                await asyncio.sleep(1)
            reporter._bar.refresh()

    in_virtual_time(run())

    assert "12/600 trials, 12/600 cells, " in terminal.getvalue()
    assert "trials/min, about 10 min left, $0.12, 0 failed, 0 errors" in terminal.getvalue()


def test_what_users_code_prints_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    """Agents print what their models say, unless they are told not to."""
    with users_prints_aside():
        print("bad \x1b[2J\x9b31m\u202e news\r\n\tindented")  # noqa: T201 - as an agent does

    assert tuple(capsys.readouterr()) == ("", "bad [2J31m news\n\tindented\n")
