"""What is stored: runs of a suite, newest first.

Owns how a run is found by something else than its id, and that a run is open until its manifest exists.
Reads plans, summaries and the names of manifests, no rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nightgate.errors import InputError, MissingError
from nightgate.ports import Store
from nightgate.rows.keys import RUNS, manifest_prefix, parse_manifest_key, plan_key, summary_key
from nightgate.steps.readers import side_by_side


def runs_of(store: Store, suite: str | None, *, newest: int | None = None) -> list[dict[str, Any]]:
    """Runs of a suite (or of all), the most recently started first; open ones included.

    It costs two listings, the plan of each run and the summary of each that is told of, however many pages
    lie beside these.

    Args:
        store: Where they lie.
        suite: Whose; None for all.
        newest: So many at most; None for all.
    """
    committed = {
        address.run_id: key for key in store.find(manifest_prefix()) if (address := parse_manifest_key(key))
    }

    def entry(plan: Mapping[str, Any]) -> dict[str, Any]:
        return _entry(store, plan, committed)

    return side_by_side(entry, _plans(store, suite)[:newest])


def latest(store: Store, suite: str | None) -> str:
    """The most recently started run of kind ``run``.

    Raises:
        MissingError: If there is none.
    """
    for plan in _plans(store, suite):
        if plan["run_kind"] == "run":
            return str(plan["run_id"])
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


def _plans(store: Store, suite: str | None) -> list[Mapping[str, Any]]:
    """The plans of a suite's runs (or of all), the most recently started first."""

    def read(folder: str) -> Mapping[str, Any] | None:
        try:
            return _head(json.loads(store.read(plan_key(folder.removeprefix(RUNS).rstrip("/")))))
        except (InputError, MissingError):
            return None  # no id of ours, or something else than a run: a sweep over several, a late report

    found = [plan for plan in side_by_side(read, store.children(RUNS)) if plan is not None]
    chosen = [plan for plan in found if suite is None or plan["suite"] == suite]
    return sorted(chosen, key=lambda plan: (plan["started_at"], plan["run_id"]), reverse=True)


def _head(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a list says of a plan; the grid, which is most of it, is let go at once."""
    return {
        "run_id": plan["run_id"],
        "suite": plan["suite"],
        "started_at": plan["started_at"],
        "run_kind": plan["run_kind"],
        "part_of": (plan.get("sweep") or {}).get("sweep_id"),
        "trigger": plan["trigger"],
        "model": plan["model"],
    }


def _entry(store: Store, plan: Mapping[str, Any], committed: Mapping[str, str]) -> dict[str, Any]:
    try:
        summary = json.loads(store.read(summary_key(plan["run_id"])))
    except MissingError:
        summary = {}
    manifest = committed.get(plan["run_id"])
    if manifest is not None and not summary.get("complete"):
        # It died between its commit and its summary: the manifest is what counts.
        facts = json.loads(store.read(manifest)).get("facts", {})
        summary = {"verdict": facts.get("verdict"), "cost_usd": {}}
    return {
        **plan,
        "complete": manifest is not None,
        "verdict": summary.get("verdict"),
        "exit_code": summary.get("exit_code"),
        "cells": summary.get("cells"),
        "total_usd": summary.get("cost_usd", {}).get("total"),
    }
