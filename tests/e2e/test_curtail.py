"""``--curtail``: the same verdict for less, and what was left out is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shell import nightgate

CASES = 4


def write_suite(folder: Path) -> Path:
    """Four cases, five trials each; the first case fails in every trial, and a trial costs a cent."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "suite: curtailed\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:m\ntrials: 5\n"
    )
    listed = [
        {
            "id": f"c{n}",
            "input": "q",
            "context": {"customer_id": "C-17"},
            "expect": {"answer": {"contains": ["yes"]}},
        }
        for n in range(CASES)
    ]
    used = {"usage": {"input": 1000}}
    script: dict[str, Any] = {
        "price": {"input": 10},
        "replies": {"c0": [{"say": "no", **used}], "*": [{"say": "yes", **used}]},
    }
    (folder / "cases.yaml").write_text(json.dumps({"cases": listed}))
    (folder / "scripts" / "m.yaml").write_text(json.dumps(script))
    return folder


def played(tmp_path: Path, *flags: str) -> tuple[int, dict[str, Any]]:
    """Exit code and summary of a run, one trial after the other."""
    suite, store = write_suite(tmp_path / "curtailed"), str(tmp_path / "store")
    done = nightgate("run", str(suite), "--store", store, "--concurrency", "1", "--json", "-", *flags)
    return done.code, done.json


def test_the_rest_is_left_out_once_the_verdict_is_certain(tmp_path: Path) -> None:
    """One failure settles a threshold of 1.0: the verdict is the same, and nineteen trials are saved."""
    code, summary = played(tmp_path, "--curtail")

    assert (code, summary["verdict"], summary["complete"]) == (1, "fail", True)
    assert summary["trials"]["completed"] == 1
    assert summary["curtailed"] == {"trials": 19, "cells": 19, "saved_usd": pytest.approx(0.19)}
    assert summary["calls"]["total"] == 1


def test_what_was_left_out_is_neither_passed_nor_failed_nor_a_hole_in_coverage(tmp_path: Path) -> None:
    """Skipped, blame curtailed; both shares are over what was meant to be measured."""
    _, summary = played(tmp_path, "--curtail")

    (evaluator,) = summary["evaluators"]
    assert (evaluator["skipped"], evaluator["failed"], evaluator["coverage"]) == (19, 1, 1.0)
    assert evaluator["holes"][0]["blame"] == "curtailed"


def test_nothing_is_left_out_unless_asked_for(tmp_path: Path) -> None:
    """Whoever looks for all failures gets all of them."""
    code, summary = played(tmp_path)

    assert (code, summary["trials"]["completed"], summary["curtailed"]) == (1, 20, None)
