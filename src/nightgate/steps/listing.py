"""What is stored: runs of a suite, newest first.

Owns how a run is found by something else than its id, and that a run is open until its manifest exists.
Reads plans, summaries and the names of manifests, no rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from nightgate.errors import MissingError
from nightgate.ports import Store
from nightgate.rows.keys import manifest_prefix, parse_manifest_key

_PLAN = re.compile(r"runs/([0-9a-z-]{1,64})/plan\.json")


def runs_of(store: Store, suite: str | None) -> list[dict[str, Any]]:
    """Runs of a suite (or of all), the most recently started first; open ones included."""
    keys = set(store.find("runs/"))
    committed = {
        address.run_id: key for key in store.find(manifest_prefix()) if (address := parse_manifest_key(key))
    }
    found = [entry for key in sorted(keys) if (entry := _entry(store, key, keys, committed)) is not None]
    chosen = [entry for entry in found if suite is None or entry["suite"] == suite]
    return sorted(chosen, key=lambda entry: (entry["started_at"], entry["run_id"]), reverse=True)


def latest(store: Store, suite: str | None) -> str:
    """The most recently started run of kind ``run``.

    Raises:
        MissingError: If there is none.
    """
    for entry in runs_of(store, suite):
        if entry["run_kind"] == "run":
            return str(entry["run_id"])
    of_suite = f" of suite {suite!r}" if suite else ""
    msg = f"no run{of_suite} in {store.uri}: start one with `nightgate run SUITE --store {store.uri}`"
    raise MissingError(msg)


def resolve(store: Store, text: str, suite: str | None = None) -> str:
    """The run id that a person means.

    Args:
        store: Where it lies.
        text: A run id, ``latest``, ``latest:SUITE``, ``baseline`` or ``baseline:SUITE``.
        suite: Whose run a bare ``latest`` or ``baseline`` is; None takes the latest of all, and the baseline
            of the store's only suite.

    Raises:
        InputError: For a baseline that nobody promoted, or of which suite is not clear.
        MissingError: If there is no such run.
    """
    word, _, named = text.partition(":")
    if word == "baseline":
        # Rows are read for it, and commands that name no baseline need no Arrow.
        from nightgate.steps.bases import baseline_run

        return baseline_run(store, named or suite)
    return latest(store, named or suite) if word == "latest" else text


def _entry(store: Store, key: str, keys: set[str], committed: Mapping[str, str]) -> dict[str, Any] | None:
    match = _PLAN.fullmatch(key)
    if match is None:
        return None
    plan = json.loads(store.read(key))
    summary_key = f"runs/{match[1]}/summary.json"
    summary = json.loads(store.read(summary_key)) if summary_key in keys else {}
    complete = match[1] in committed
    if complete and not summary.get("complete"):
        # It died between its commit and its summary: the manifest is what counts.
        facts = json.loads(store.read(committed[match[1]])).get("facts", {})
        summary = {"verdict": facts.get("verdict"), "cost_usd": {}}
    return {
        "run_id": plan["run_id"],
        "suite": plan["suite"],
        "started_at": plan["started_at"],
        "run_kind": plan["run_kind"],
        "part_of": (plan.get("sweep") or {}).get("sweep_id"),
        "trigger": plan["trigger"],
        "model": plan["model"],
        "complete": complete,
        "verdict": summary.get("verdict"),
        "exit_code": summary.get("exit_code"),
        "cells": summary.get("cells"),
        "total_usd": summary.get("cost_usd", {}).get("total"),
    }
