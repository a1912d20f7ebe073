"""For the tests of people who use nightgate: models, stores, clocks and channels that need no world.

Owns nothing of its own but ``cases``: one pytest test a case, where a hole fails and never skips in
silence. Imports pytest when ``cases`` is used.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from nightgate.adapters.scripted import ScriptedModel
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.cases import load_script, load_suite
from nightgate.errors import AlertError
from nightgate.wiring import run_suite

__all__ = [
    "CaseResult",
    "FixedClock",
    "InMemoryStore",
    "Recorded",
    "RecordingChannel",
    "ScriptedModel",
    "cases",
    "scripted_model",
]


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands."""

    at: datetime
    """Aware."""

    def now(self) -> datetime:
        """The moment it stands at."""
        return self.at


@dataclass(frozen=True, slots=True)
class Recorded:
    """A message that was sent."""

    title: str
    body: str
    facts: Mapping[str, Any]


@dataclass(slots=True)
class RecordingChannel:
    """An alert channel that keeps what it gets.

    Args:
        name: What suites call it.
        failures: So many sends fail before the first one is taken; None: all fail.
    """

    name: str = "default"
    failures: int | None = 0
    messages: list[Recorded] = field(default_factory=list)
    """What was taken, in order."""
    tries: int = 0
    target: str = "a recording"
    patience_s: float = 10.0

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Keep one message, or refuse it.

        Raises:
            AlertError: While failures are left.
        """
        self.tries += 1
        if self.failures is None or self.tries <= self.failures:
            msg = "this channel was told to fail"
            raise AlertError(msg)
        self.messages.append(Recorded(title, body, dict(facts)))

    def check(self) -> str:
        """Whether it takes messages.

        Raises:
            AlertError: If all fail.
        """
        if self.failures is None:
            msg = "this channel was told to fail"
            raise AlertError(msg)
        return "recording"


def scripted_model(path: str | Path) -> ScriptedModel:
    """The scripted model behind a ``scripts/<name>.yaml``."""
    return ScriptedModel(load_script(path), Path(path).stem)


class _Once:
    """A suite's run, made when the first test asks and shared by all of them."""

    def __init__(self, path: Path, options: dict[str, Any]) -> None:
        self._path, self._options = path, options
        self._lock = threading.Lock()
        self._summary: dict[str, Any] | None = None

    def summary(self) -> dict[str, Any]:
        with self._lock:
            if self._summary is None:
                self._summary = asyncio.run(self._run())
            return self._summary

    async def _run(self) -> dict[str, Any]:
        # A test tells nobody, and needs none of the channels that a suite names.
        options = {"store": InMemoryStore(), "alerts": False, **self._options}
        return (await run_suite(self._path, **options)).as_dict()


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case of a suite, run together with all others when the first test asks."""

    case_id: str
    _once: _Once = field(repr=False)

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Counts by evaluator: planned, passed, failed, open."""
        return [row for row in self._once.summary()["cases"] if row["case"] == self.case_id]

    def check(self) -> None:
        """Fail unless every planned cell of the case passed or was allowed to be skipped.

        Raises:
            AssertionError: With one line a failure or hole.
        """
        __tracebackhide__ = True
        reasons = [
            f"{failure['evaluator']} {failure['status']}: {failure['reason']}"
            for failure in self._once.summary()["failures"]
            if failure["case"] == self.case_id
        ]
        figures = {e["name"] for e in self._once.summary()["evaluators"] if e["threshold"] is None}
        holes = {row["evaluator"]: _holes(row, figure=row["evaluator"] in figures) for row in self.cells}
        broken = [row for row in self.cells if row["failed"] or holes[row["evaluator"]]]
        if broken or not self.cells:
            counts = [
                f"{row['evaluator']}: {row['passed']} of {row['planned']} passed, {row['failed']} failed, "
                f"{holes[row['evaluator']]} not measured"
                for row in broken
            ]
            lines = "\n".join([*counts, *reasons]) or "nothing was planned"
            raise AssertionError(f"case {self.case_id}:\n{lines}")


def _holes(row: dict[str, Any], *, figure: bool) -> int:
    """Cells that should have a finding and have none; a figure may be not applicable."""
    missing = int(row["error"] + row["skipped"])
    return missing if figure else missing + row["not_applicable"] - row["allowed"] - row["required"]


def cases(path: str | Path, **options: Any) -> Any:
    """Parametrize a pytest test with one id a case; the test takes ``result`` and calls ``check``.

    Cases with ``stage: capability`` are marked xfail: they are shown and break nothing.

    Args:
        path: The suite's folder.
        **options: As ``nightgate.run_suite``'s; the store is in memory unless given.

    Example:
        ::

            @nightgate.testing.cases("cases/support")
            def test_support(result):
                result.check()
    """
    import pytest

    suite = load_suite(path)
    once = _Once(Path(path), options)
    return pytest.mark.parametrize(
        "result",
        [
            pytest.param(
                CaseResult(case.id, once),
                id=case.id,
                # Reported, and no gate: a capability that is not there yet is expected to fail.
                marks=[pytest.mark.xfail(reason="stage: capability", strict=False)]
                if case.stage == "capability"
                else [],
            )
            for case in suite.cases
        ]
        # pytest skips a test without parameters, and a suite without cases would end green.
        or [pytest.param(CaseResult("", once), id="no-case")],
    )
