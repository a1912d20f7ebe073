"""Progress while a run works: a bar on a terminal, plain lines elsewhere; always on stderr.

Owns how often something is said. Knows nothing of what the trials mean.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

from nightgate.cli.output import counted
from nightgate.plans import Plan
from nightgate.reports.text import plain
from nightgate.scores import Cell, Status
from nightgate.trials import Trial

_LINE_EVERY_S = 10.0


class Reporter:
    """Counts finished trials and cells and shows them."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._plan: Plan | None = None
        self._trials = self._cells = self._failed = self._errors = 0
        self._nanousd: int = 0
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def planned(self, plan: Plan) -> None:
        """A run starts."""
        self._plan = plan
        self._trials = self._cells = self._failed = self._errors = 0
        calls = plan.expected_calls.get("total")  # a plan of an older version does not say
        cases = len({case.case_id for case in plan.cases})
        print(
            f"run {plan.run_id}: {counted(cases, 'case')}, {counted(plan.trial_count, 'trial')}, "
            f"{counted(plan.cell_count, 'cell')} ({plan.model})"
            + (f", about {counted(calls, 'model call')}" if calls is not None else ""),
            file=sys.stderr,
            flush=True,
        )
        if self._terminal:
            self._start_bar(plan)

    def _start_bar(self, plan: Plan) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.__exit__(None, None, None)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(plan.suite, total=plan.cell_count, note="")
        self._bar.start()

    def warned(self, warning: str) -> None:
        """Something that probably was not meant."""
        print(f"warning: {plain(warning)}", file=sys.stderr, flush=True)

    def trial(self, trial: Trial) -> None:
        """A trial is over."""
        self._trials += 1
        self._nanousd += trial.cost_nanousd or 0
        self._say()

    def judged(self) -> None:
        """A stored trial has all its findings: in a sweep none is played."""
        self._trials += 1
        self._say()

    def cell(self, cell: Cell) -> None:
        """A cell has its finding."""
        self._cells += 1
        self._nanousd += cell.cost_nanousd or 0
        self._failed += cell.score.status is Status.FAIL
        self._errors += cell.score.status is Status.ERROR
        self._say()

    def _say(self) -> None:
        note = f"{self._failed} failed, {self._errors} errors, ${self._nanousd / 1e9:.2f}"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._cells, note=note)
            return
        now = time.monotonic()
        if self._plan is not None and now - self._last >= _LINE_EVERY_S:
            self._last = now
            print(
                f"{self._plan.suite}: {self._trials}/{self._plan.trial_count} trials, "
                f"{self._cells}/{self._plan.cell_count} cells, {note}",
                file=sys.stderr,
                flush=True,
            )
