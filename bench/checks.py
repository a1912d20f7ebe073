"""Whether a run came to what was planted: from its stored rows, not from what the engine says.

Reads Parquet with pyarrow alone; the summary is compared besides.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from workload import BROKEN, CALL_NANOUSD, CALLS, EVALUATORS, Task, case_id


def check_rows(task: Task, store: str, summary: dict[str, Any]) -> dict[str, Any]:
    """Counts of the stored rows, and every difference from the planted ones as a sentence."""
    rows = Stored(store, summary)
    failed = Counter(
        (row["case_id"], row["evaluator"])
        for row in rows.of("scores", "case_id", "evaluator", "status")
        if row["status"] == "fail"
    )
    statuses = Counter(row["status"] for row in rows.of("scores", "status"))
    calls = Counter(
        row["case_id"] for row in rows.of("calls", "case_id", "outcome") if row["outcome"] == "ok"
    )
    nanousd = sum(row["cost_nanousd"] for row in rows.of("calls", "cost_nanousd"))
    endings = Counter(row["ending"] for row in rows.of("trials", "ending"))
    spoken = Counter(len(json.loads(row["messages"])) for row in rows.of("transcripts", "messages"))
    flaky = {(found["case"], found["evaluator"]) for found in summary["flaky"]}

    ids = [case_id(i) for i in range(task.cases)]
    cells = task.total * len(EVALUATORS)
    failures = {(c, e): task.trials for c in task.wrong for e in BROKEN}
    failures |= {(c, e): task.trials // 2 for c in task.flaky for e in BROKEN}
    wanted: list[tuple[str, Any, Any]] = [
        ("score rows", statuses.total(), cells),
        ("passed cells", statuses["pass"], cells - sum(failures.values())),
        ("failed cells", dict(failed), failures),
        ("flaky cells", flaky, {(c, e) for c in task.flaky for e in BROKEN}),
        ("trial endings", dict(endings), {"completed": task.total}),
        ("calls by case", dict(calls), dict.fromkeys(ids, CALLS * task.trials)),
        ("cost in nano-dollars", nanousd, CALLS * task.total * CALL_NANOUSD),
        ("messages by transcript", dict(spoken), {2 * CALLS: task.total}),
        ("summary: complete", summary["complete"], True),
        ("summary: failed cells", summary["cells"]["fail"], sum(failures.values())),
    ]
    return {
        "cells": statuses.total(),
        "failed": sum(failed.values()),
        "flaky": len(flaky),
        "calls": calls.total(),
        "problems": [_differs(*one) for one in wanted if one[1] != one[2]],
    }


def _differs(what: str, found: Any, wanted: Any) -> str:
    return f"{what}: {str(found)[:200]}, planted {str(wanted)[:200]}"


class Stored:
    """Rows of one committed run, by the part names in its manifest."""

    def __init__(self, store: str, summary: dict[str, Any]) -> None:
        from nightgate.adapters.store import open_store

        self._store = open_store(store)
        run_id = summary["run_id"]
        keys = [key for key in self._store.find("manifests/") if key.endswith(f"/{run_id}.json")]
        self._manifest = json.loads(self._store.read(keys[0])) if keys else {"parts": []}

    def of(self, table: str, *columns: str) -> Iterator[dict[str, Any]]:
        import pyarrow.parquet as pq

        for part in self._manifest["parts"]:
            if part["table"] == table:
                yield from pq.read_table(
                    io.BytesIO(self._store.read(part["key"])), columns=list(columns)
                ).to_pylist()
