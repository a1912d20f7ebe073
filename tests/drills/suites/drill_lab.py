"""Suites as Python values, played in this process, and their rows: what fault drills are made of."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import nightgate
from nightgate.ports import Store
from nightgate.testing import InMemoryStore
from shell import Ran

DRILL: Mapping[str, Any] = {
    "suite": "drill",
    "agent": "drill_agent:build",
    "model": "scripted:agent",
    "timeout_s": 20,
}
CITED: Mapping[str, Any] = {"cites": ["KB-1"]}
OK = [{"say": "Gladly. [KB-1]"}]


def a_case(case_id: str, **more: Any) -> dict[str, Any]:
    """A case that asks for a citation, unless ``expect`` says otherwise."""
    return {"id": case_id, "input": f"What about {case_id[:20]}?", "expect": CITED, **more}


def write_suite(
    folder: Path,
    cases: Sequence[Mapping[str, Any]],
    *,
    replies: Mapping[str, Any] | None = None,
    judgements: Mapping[str, Any] | None = None,
    price: Mapping[str, Any] | None = None,
    **suite: Any,
) -> Path:
    """Write a suite (JSON is YAML too); agent and judge share the script ``agent``.

    Args:
        folder: Created.
        cases: As people write them.
        replies: Of the agent; without them every trial says one cited sentence.
        judgements: Of the judge.
        price: Dollars per million tokens of the script.
        **suite: Keys of suite.yaml over ``DRILL``; None takes one away.
    """
    (folder / "scripts").mkdir(parents=True)
    script = {"replies": replies or {"*": OK}, "judgements": judgements, "price": price}
    head = {**DRILL, **({"judge": "scripted:agent"} if judgements else {}), **suite}
    _write(folder / "suite.yaml", {key: value for key, value in head.items() if value is not None})
    _write(folder / "cases.yaml", {"cases": list(cases)})
    _write(folder / "scripts" / "agent.yaml", {key: value for key, value in script.items() if value})
    return folder


def _write(path: Path, document: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def play(suite: Path, store: Store | str | None = None, **options: Any) -> dict[str, Any]:
    """Run a suite to its end; the summary document, proven to be strict JSON."""
    with tempfile.TemporaryDirectory() as spool:
        values = {"spool": spool, **options}
        kept = store if store is not None else InMemoryStore()
        summary = asyncio.run(nightgate.run_suite(suite, store=kept, **values)).as_dict()
    json.dumps(summary, allow_nan=False)
    return summary


def command(*args: str | Path) -> Ran:
    """A command in this process: a second faster than a shell, and the same but for the process's end."""
    from nightgate.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as refused:  # argparse's own
            code = int(refused.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def evaluator(summary: Mapping[str, Any], name: str) -> dict[str, Any]:
    """One evaluator's entry of a summary."""
    return next(entry for entry in summary["evaluators"] if entry["name"] == name)


def tables(store: Store, table: str, run_id: str | None = None) -> list[pa.Table]:
    """The parts that the manifests name, read as any Parquet reader would."""
    found = []
    for key in store.find("manifests/"):
        manifest = json.loads(store.read(key))
        if run_id is None or manifest["run_id"] == run_id:
            parts = [part for part in manifest["parts"] if part["table"] == table]
            found += [pq.read_table(io.BytesIO(store.read(part["key"]))) for part in parts]
    return found


def rows(store: Store, table: str, run_id: str | None = None) -> list[dict[str, Any]]:
    """Rows of the committed runs of a store."""
    return [row for part in tables(store, table, run_id) for row in part.to_pylist()]


def only(found: Sequence[Any]) -> Any:
    """The one element."""
    assert len(found) == 1, found
    return found[0]


def stored(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
