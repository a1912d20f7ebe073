"""The benchmark task as a suite folder, and what a correct run of it must come to.

A trial: one model call that asks for the tool, the tool, one model call that answers; three
deterministic evaluators. One case in twenty is planted wrong; with several trials another one in
twenty is planted flaky (its odd trials are wrong). Knows nothing of nightgate's code.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EVALUATORS = ("ToolPolicy", "CitesSource", "AnswerPolicy")
BROKEN = ("CitesSource", "AnswerPolicy")
"""What a wrong answer fails; the tool is called all the same."""
CALLS = 2
_EVERY = 20
_USAGE = {"input": 120, "output": 30}
_USD_PER_MILLION = {"input": 1, "output": 2}
CALL_NANOUSD = 1000 * sum(_USAGE[kind] * _USD_PER_MILLION[kind] for kind in _USAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """How much work there is, and how slow the model is."""

    cases: int = 1000
    trials: int = 1
    latency_ms: float = 200.0
    concurrency: int = 100

    @property
    def total(self) -> int:
        """Trials in all."""
        return self.cases * self.trials

    @property
    def ideal_s(self) -> float:
        """Nothing but waiting for the model: ceil(trials / concurrency) x 2 calls x latency."""
        return math.ceil(self.total / self.concurrency) * CALLS * self.latency_ms / 1000

    @property
    def wrong(self) -> frozenset[str]:
        """Cases whose every trial answers wrongly."""
        return frozenset(case_id(i) for i in range(0, self.cases, _EVERY))

    @property
    def flaky(self) -> frozenset[str]:
        """Cases whose odd trials answer wrongly; none where there is one trial only."""
        return frozenset(case_id(i) for i in range(1, self.cases, _EVERY)) if self.trials > 1 else frozenset()

    @property
    def wrong_trials(self) -> int:
        """Trials with a wrong answer."""
        return len(self.wrong) * self.trials + len(self.flaky) * (self.trials // 2)


def case_id(number: int) -> str:
    return f"question-{number:05d}"


def write_suite(folder: Path, task: Task) -> Path:
    """The suite as users write them: suite.yaml, cases, one script, the agent's module."""
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("agent.py"), folder / "bench_agent.py")
    (folder / "suite.yaml").write_text(
        "suite: bench\nagent: bench_agent:build\nmodel: scripted:baseline\n"
        "evaluators:\n" + "".join(f"  {name}: {{threshold: 0.9}}\n" for name in EVALUATORS)
    )
    with (folder / "cases.jsonl").open("w") as file:
        for number in range(task.cases):
            file.write(json.dumps(_case(number)) + "\n")
    (folder / "scripts" / "baseline.yaml").write_text(_script(task))
    return folder


def _case(number: int) -> dict[str, Any]:
    return {
        "id": case_id(number),
        "layer": "behavior",
        "input": f"Order {number}: it arrived last week and I never used it. May I return it?",
        "expect": {
            "tools": {"must_call": ["lookup"], "max_calls": {"lookup": 1}},
            "cites": ["KB-101"],
            "answer": {"contains": ["30 days"], "not_contains": ["no idea"]},
        },
    }


def _script(task: Task) -> str:
    """JSON is YAML; entries that say the same share one anchor, as a person would write them."""
    asks = {"call": {"lookup": {"query": "return unused item"}}, **_costs(task)}
    right = [asks, {"say": "Yes: unused items go back within 30 days. [KB-101]", **_costs(task)}]
    wrong = [asks, {"say": "I have no idea, ask a colleague. [KB-999]", **_costs(task)}]
    flaky = {"trials": [right, wrong]}
    lines = [f"price: {json.dumps(_USD_PER_MILLION)}", "replies:", f'  "*": {json.dumps(right)}']
    for name, body, ids in (("wrong", wrong, task.wrong), ("flaky", flaky, task.flaky)):
        said = f"&{name} {json.dumps(body)}"
        for each in sorted(ids):
            lines.append(f"  {each}: {said}")
            said = f"*{name}"
    return "\n".join(lines) + "\n"


def _costs(task: Task) -> dict[str, Any]:
    return {"usage": _USAGE, "delay_s": task.latency_ms / 1000}
