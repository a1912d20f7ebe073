"""A suite of one case around the sample agent, run in this process, with its stored rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live.readers import Row, rows
from nightgate.requests import RunRequest
from nightgate.wiring import Progress, run_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One finished run of the one-case suite."""

    summary: Mapping[str, Any]
    trials: list[Row]
    scores: list[Row]
    calls: list[Row]

    @property
    def ending(self) -> str:
        """Of the only trial."""
        (trial,) = self.trials
        return str(trial["ending"])

    @property
    def status(self) -> tuple[str, str | None]:
        """Status and blame of the only cell."""
        (score,) = self.scores
        return score["status"], score["blame"]

    @property
    def judge_calls(self) -> list[Row]:
        """The judge's part of the ledger."""
        return [call for call in self.calls if call["role"] == "judge"]


def write_suite(
    folder: Path, *, evaluators: str = "", expect: str = "answer: {contains: [ok]}", timeout_s: float = 60.0
) -> Path:
    """Write the suite; models are given when it runs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(
        "suite: wire\nowner: us\nagent: nightgate_samples.support:build\n"
        f"model: openai:none\njudge: openai:none\ntimeout_s: {timeout_s}\n{evaluators}"
    )
    (folder / "cases.yaml").write_text(
        "cases:\n- id: one\n  layer: behavior\n  why: Any answer will do.\n  input: May I return it?\n"
        f"  context: {{customer_id: C-17}}\n  expect: {{{expect}}}\n"
    )
    return folder


async def run_one(
    folder: Path, model: str, *, judge: str | None = None, progress: Progress | None = None, **suite: Any
) -> Ran:
    """Run the suite of one case to its committed rows."""
    store = folder / "store"
    request = RunRequest.make(
        write_suite(folder / "wire", **suite), {"store": str(store), "model": model, "judge": judge}
    )
    finished = await run_request(request, progress)
    return Ran(
        summary=finished.summary.as_dict(),
        trials=rows(store, "trials"),
        scores=rows(store, "scores"),
        calls=rows(store, "calls"),
    )
