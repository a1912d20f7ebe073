"""What a user waits for: ``nightgate --help``, and the first model call of ``nightgate run``.

    uv run python bench/startup.py --repeat 5

Prints one JSON document. The first call is the earliest ``started_at`` in the ledger of a real run;
the imports that it is compared with run just before it, in a process of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from checks import Stored
from workload import Task, write_suite

HELP_BAR_S, FIRST_CALL_BAR_S = 0.3, 2.0
_NIGHTGATE = str(Path(sys.executable).with_name("nightgate"))
_IMPORTS = "import strands, pydantic, ruamel.yaml, pyarrow.parquet"
"""What a run needs before its first call; scipy comes at the gate, boto3 is Strands' own import."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cases", type=int, default=20, help="the plan builds each case's agent once")
    args = parser.parse_args()
    help_cpu = [timed([_NIGHTGATE, "--help"])[1] for _ in range(args.repeat)]
    with tempfile.TemporaryDirectory(prefix="nightgate-bench-") as name:
        folder = Path(name)
        suite = write_suite(folder / "bench", Task(cases=args.cases, latency_ms=0))
        runs = [first_call(folder, suite, f"store-{i}") for i in range(args.repeat)]
    beyond = statistics.median(run["beyond_imports_s"] for run in runs)
    help_s = statistics.median(help_cpu)
    report = {
        "help_cpu_s": round(help_s, 3),
        "help_ok": help_s <= HELP_BAR_S,
        "first_call_beyond_imports_s": round(beyond, 3),
        "first_call_ok": beyond <= FIRST_CALL_BAR_S,
        "cases": args.cases,
        "runs": runs,
        "load": [round(x, 1) for x in os.getloadavg()],
    }
    print(json.dumps(report, indent=1))
    return 0 if report["help_ok"] and report["first_call_ok"] else 1


def first_call(folder: Path, suite: Path, store: str) -> dict[str, Any]:
    """One run: seconds to its first model call, and those of the bare imports."""
    imports_wall, imports_cpu = timed([sys.executable, "-c", _IMPORTS])
    began = time.time()
    summary = folder / f"{store}.json"
    command = [_NIGHTGATE, "run", str(suite), "--store", str(folder / store), "--json", str(summary)]
    wall, cpu = timed(command)
    rows = Stored(str(folder / store), json.loads(summary.read_text())).of("calls", "started_at")
    first = min(row["started_at"] for row in rows).timestamp() - began
    return {
        "imports_s": round(imports_wall, 3),
        "imports_cpu_s": round(imports_cpu, 3),
        "first_call_s": round(first, 3),
        "beyond_imports_s": round(first - imports_wall, 3),
        "run_s": round(wall, 3),
        "run_cpu_s": round(cpu, 3),
    }


def timed(command: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a command."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
