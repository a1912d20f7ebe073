"""Judges beside agents, and one run over two processes.

    uv run python bench/judges.py

Prints one JSON document; exit 1 if a bar is missed. Eight judges of half a second each on one trial
work side by side; a trial whose judges are still busy holds no agent slot; two worker processes
share CPU-bound work.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scaling import in_processes
from workload import Task
from workplace import workplace

JUDGES, DELAY_S, BAR_S = 8, 0.5, 0.7
SPEED_UP_BAR = 1.6
_AGENTS = 10
"""Trials of the second drill, one at a time: with judges in their slot they would take 5 s."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="of the shared run")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nightgate-bench-") as name:
        folder = Path(name)
        alone = [watch(folder, cases=1) for _ in range(args.repeat)]
        many = [watch(folder, cases=_AGENTS) for _ in range(args.repeat)]
    with workplace(Task(cases=args.cases, latency_ms=0), "folder") as place:
        shared = [in_processes(place, 2) for _ in range(args.repeat)]
    judged_s = statistics.median(seen.judged_s for seen in alone)
    beside = all(max(seen.trials) < min(seen.cells) for seen in many)
    problems = [problem for run in shared for problem in run["problems"]]
    in_cpu = statistics.median(run["speed_up_in_cpu"] for run in shared)
    report: dict[str, Any] = {
        "judges": {
            "count": JUDGES,
            "each_s": DELAY_S,
            "together_s": round(judged_s, 3),
            "runs_s": [round(seen.judged_s, 3) for seen in alone],
            "ok": judged_s <= BAR_S,
        },
        "agent_slots": {
            "last_trial_s": [round(max(seen.trials) - seen.began, 3) for seen in many],
            "first_judgement_s": [round(min(seen.cells) - seen.began, 3) for seen in many],
            "ok": beside,
        },
        "two_processes": {
            "speed_up": statistics.median(run["speed_up"] for run in shared),
            "speed_up_of_plain_loops": statistics.median(run["speed_up_of_plain_loops"] for run in shared),
            "speed_up_in_cpu": in_cpu,
            "ok": in_cpu >= SPEED_UP_BAR,
            "runs": shared,
        },
        "problems": problems,
    }
    print(json.dumps(report, indent=1))
    return 0 if judged_s <= BAR_S and beside and report["two_processes"]["ok"] and not problems else 1


@dataclass(slots=True)
class Seen:
    """When things happened, in monotonic seconds."""

    began: float = 0.0
    trials: list[float] = field(default_factory=list)
    cells: list[float] = field(default_factory=list)

    @property
    def judged_s(self) -> float:
        """From the end of the last trial to its last judgement."""
        return max(self.cells) - max(self.trials)


def watch(folder: Path, *, cases: int) -> Seen:
    """Run a suite of judged cases with one agent slot."""
    from nightgate.requests import RunRequest
    from nightgate.wiring import Progress, run_request

    suite = _suite(folder / "judged", cases)
    seen = Seen()

    def planned(_: Any) -> None:
        seen.began = time.monotonic()

    progress = Progress(
        on_plan=planned,
        on_trial=lambda _: seen.trials.append(time.monotonic()),
        on_cell=lambda _: seen.cells.append(time.monotonic()),
    )
    values = {
        "store": str(folder / "store"),
        "concurrency": 1,
        "judge_concurrency": JUDGES,
        "judge": "scripted:judge",
    }
    finished = asyncio.run(run_request(RunRequest.make(suite, values, {}), progress))
    found = finished.summary.as_dict()["cells"]["pass"]
    if found != cases * JUDGES:
        raise SystemExit(f"{found} judgements passed, {cases * JUDGES} expected")
    return seen


def _suite(folder: Path, cases: int) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "scripts").mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("agent.py"), folder / "bench_agent.py")
    (folder / "suite.yaml").write_text(
        "suite: judged\nagent: bench_agent:build\nmodel: scripted:baseline\njudge: scripted:judge\n"
    )
    asked = [
        {"id": f"question-{i}", "criterion": f"Is statement {i} true of the answer?"} for i in range(JUDGES)
    ]
    with (folder / "cases.jsonl").open("w") as file:
        for number in range(cases):
            case = {"id": f"case-{number}", "layer": "quality", "input": "May I?", "expect": {"judge": asked}}
            file.write(json.dumps(case) + "\n")
    (folder / "scripts" / "baseline.yaml").write_text('replies: {"*": [{say: You may.}]}\n')
    answer = {"*": {"fields": "best", "delay_s": DELAY_S}}
    judge = {"judgements": {f"Criterion:{each['id']}": answer for each in asked}}
    (folder / "scripts" / "judge.yaml").write_text(json.dumps(judge))
    return folder


if __name__ == "__main__":
    sys.exit(main())
