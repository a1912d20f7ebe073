"""One planned run in one process and in several, beside what the machine has to give.

On a shared machine two busy loops may well get no more than one core between them, so the speed-up
of plain loops is measured before and after and stands beside ours. ``speed_up_in_cpu`` compares the
CPU seconds of the one process with those of the busiest of several: what free cores would give.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from workplace import Workplace

_LOOP = """
import time
began, total = time.perf_counter(), 0
for number in range(12_000_000):
    total += number
print(time.perf_counter() - began)
"""


def in_processes(place: Workplace, processes: int) -> dict[str, Any]:
    """The same planned shards in one process, then in several; both finished from the store."""
    found: dict[str, Any] = {"problems": []}
    before = _loops(processes)
    for count in (1, processes):
        job = place.job()
        planned = place.run("plan", job)
        workers = [
            place.start("share", {**job, "run_id": planned["run_id"], "index": i, "of": count})
            for i in range(count)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        began = time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        reports = [place.wait(worker) for worker in workers]
        found[f"play_in_{count}_s"] = max(report["phases"]["play"]["wall_s"] for report in reports)
        found[f"wall_in_{count}_s"] = round(time.perf_counter() - began, 3)
        found[f"cpu_in_{count}_s"] = max(report["phases"]["play"]["cpu_s"] for report in reports)
        finished = place.run("finish", {**job, "run_id": planned["run_id"]})
        found["problems"] += finished["problems"]
    found["speed_up_of_plain_loops"] = round((before + _loops(processes)) / 2, 2)
    found["speed_up_in_cpu"] = round(found["cpu_in_1_s"] / found[f"cpu_in_{processes}_s"], 2)
    found["speed_up"] = round(found["play_in_1_s"] / found[f"play_in_{processes}_s"], 2)
    return found


def _loops(processes: int) -> float:
    """How much faster ``processes`` plain loops are than one after the other."""
    one = _spin(1)
    return processes * one / _spin(processes)


def _spin(count: int) -> float:
    loops = [
        subprocess.Popen([sys.executable, "-c", _LOOP], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    return max(float(loop.communicate()[0]) for loop in loops)
