"""Progress while a run works: a bar on a terminal, plain lines elsewhere; always on stderr.

Owns how often something is said, and the guess of how long it will take. Knows nothing of what the trials
mean.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from types import TracebackType
from typing import Any, Self

from nightgate.cli.output import counted
from nightgate.plans import Plan
from nightgate.reports.text import plain
from nightgate.scores import Cell, Status
from nightgate.trials import Trial

LINE_EVERY_S = 10.0
"""Without a terminal: a line so often, also while nothing ends, because CI ends jobs that say nothing."""
_BAR_EVERY_S = 1.0
_WINDOW_S = 300.0
"""The pace is that of the last minutes: limits and outages change it within a run."""
_BAR_WIDTH = 12
_MINUTE_S = 60.0
_LONG_MIN = 90


class Pace:
    """How fast trials and cells come in.

    Args:
        now: Seconds of the clock that ``note`` will be given.
    """

    def __init__(self, now: float) -> None:
        self._seen = deque([(now, 0, 0)])

    def note(self, now: float, trials: int, cells: int) -> None:
        """Take note of how many there are by now, of those that this process has made."""
        self._seen.append((now, trials, cells))
        # One that is older than the window stays, so that the whole window is measured.
        while len(self._seen) > 2 and now - self._seen[1][0] >= _WINDOW_S:  # noqa: PLR2004 - first and last
            self._seen.popleft()

    def words(self, cells_left: int) -> list[str]:
        """The rate, and when the rest will be done; nothing where nobody can tell yet."""
        (began, trials_then, cells_then), (now, trials, cells) = self._seen[0], self._seen[-1]
        seconds = now - began
        if seconds <= 0 or (trials, cells) == (0, 0):
            return []
        told = [f"{(trials - trials_then) * _MINUTE_S / seconds:.3g} trials/min"]
        if cells > cells_then and cells_left > 0:
            told.append(f"about {_duration(cells_left * seconds / (cells - cells_then))} left")
        return told


def _duration(seconds: float) -> str:
    """A length of time as people say it.

    >>> _duration(4.2), _duration(200), _duration(7300)
    ('5 s', '4 min', '2 h 2 min')
    """
    if seconds < _MINUTE_S:
        return f"{int(seconds) + 1} s"
    minutes = -(-int(seconds) // 60)
    return f"{minutes} min" if minutes < _LONG_MIN else f"{minutes // 60} h {minutes % 60} min"


class Reporter:
    """Counts finished trials and cells and shows them. Its callbacks are called on an event loop."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._bar: Any = None
        self._task: Any = None
        self._plan: Plan | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pace = Pace(0.0)
        self._reset()

    def _reset(self) -> None:
        self._trials = self._cells = self._failed = self._errors = 0
        self._old_trials = self._old_cells = 0
        self._nanousd, self._unknown = 0, False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def planned(self, plan: Plan) -> None:
        """A run starts."""
        self.__exit__(None, None, None)
        self._plan = plan
        self._reset()
        calls = plan.expected_calls.get("total")  # a plan of an older version does not say
        cases = len({case.case_id for case in plan.cases})
        print(
            f"run {plan.run_id}: {counted(cases, 'case')}, {counted(plan.trial_count, 'trial')}, "
            f"{counted(plan.cell_count, 'cell')} ({plain(plan.model, 120)})"
            + (f", about {counted(calls, 'model call')}" if calls is not None else ""),
            file=sys.stderr,
            flush=True,
        )
        if self._terminal:
            self._start_bar(plan)
        loop = asyncio.get_running_loop()
        self._pace = Pace(loop.time())
        self._timer = loop.call_later(self._every_s, self._tick, loop)

    @property
    def _every_s(self) -> float:
        return _BAR_EVERY_S if self._terminal else LINE_EVERY_S

    def _start_bar(self, plan: Plan) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=_BAR_WIDTH),
            TextColumn("{task.fields[note]}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(plan.suite, total=plan.cell_count, note="")
        self._bar.start()

    def warned(self, warning: str) -> None:
        """Something that probably was not meant."""
        print(f"warning: {plain(warning)}", file=sys.stderr, flush=True)

    def there(self, trials: int, cells: int) -> None:
        """So much was stored before: a resumed run plays and judges the rest."""
        self._old_trials += trials
        self._old_cells += cells
        self._show()

    def trial(self, trial: Trial) -> None:
        """A trial is over."""
        self._trials += 1
        self._spent(trial.cost_nanousd)
        self._show()

    def judged(self) -> None:
        """A stored trial has all its findings: in a sweep none is played."""
        self._trials += 1
        self._show()

    def cell(self, cell: Cell) -> None:
        """A cell has its finding."""
        self._cells += 1
        self._spent(cell.cost_nanousd)
        self._failed += cell.score.status is Status.FAIL
        self._errors += cell.score.status is Status.ERROR
        self._show()

    def _spent(self, nanousd: int | None) -> None:
        self._nanousd += nanousd or 0
        self._unknown |= nanousd is None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        """Time has passed, whatever ended in it."""
        self._pace.note(loop.time(), self._trials, self._cells)
        if self._bar is not None:
            self._show()
        elif self._plan is not None and self._left:
            print(f"{self._plan.suite}: {self._line(self._plan)}", file=sys.stderr, flush=True)
        self._timer = loop.call_later(self._every_s, self._tick, loop)

    def _show(self) -> None:
        if self._bar is not None and self._plan is not None:
            done = self._old_cells + self._cells
            self._bar.update(self._task, completed=done, note=self._line(self._plan))

    @property
    def _left(self) -> int:
        """Cells without a finding."""
        return 0 if self._plan is None else max(0, self._plan.cell_count - self._old_cells - self._cells)

    def _line(self, plan: Plan) -> str:
        parts = [
            f"{self._old_trials + self._trials}/{plan.trial_count} trials",
            f"{self._old_cells + self._cells}/{plan.cell_count} cells",
            *self._pace.words(self._left),
            f"{'at least ' if self._unknown else ''}${self._nanousd / 1e9:.2f}",
            f"{self._failed} failed",
            counted(self._errors, "error"),
        ]
        return ", ".join(parts)
