"""Which store and which run a command means, and what was meant where there is none of that name."""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from pathlib import Path

from nightgate.adapters.store import open_store
from nightgate.cases.problems import nearest
from nightgate.errors import MissingError, StoreError
from nightgate.ports import Store
from nightgate.requests import default_store
from nightgate.steps.listing import resolve, runs_of
from nightgate.steps.simulated import notice_of

_RUN_ID = re.compile(r"[0-9a-z-]{1,64}")


def store_of(args: argparse.Namespace) -> Store:
    """The store that was named, or the default one; of a simulated one that is said on stderr."""
    store = open_store(args.store or default_store())
    with contextlib.suppress(StoreError):  # the command itself says what is wrong with the store
        notice = notice_of(store)
        if notice is not None:
            print(notice, file=sys.stderr)
    return store


def suite_id(text: str) -> str:
    """A suite's id: as given, or from the suite.yaml of a folder."""
    try:
        is_folder = (Path(text) / "suite.yaml").is_file()
    except OSError:  # a name that no file system takes
        is_folder = False
    if is_folder:
        from nightgate.cases import load_suite

        return load_suite(text).suite
    return text


def run_of(store: Store, text: str, suite: str | None = None) -> str:
    """The run id that a person means.

    Args:
        store: Where it lies.
        text: A run id, ``latest``, ``latest:SUITE``, ``baseline`` or ``baseline:SUITE``.
        suite: Whose run a bare word means, where another run's suite says it.

    Raises:
        InputError: For a baseline that nobody promoted, or of which suite is not clear.
        MissingError: If there is no such run, with the nearest one that there is.
    """
    word, _, named = text.partition(":")
    if word in ("latest", "baseline") and named and not runs_of(store, named, newest=1):
        msg = f"no run of suite {named!r} in {store.uri}{near_suite(store, named)}"
        raise MissingError(msg)
    found = resolve(store, text, suite)
    if word != "latest" and not (_RUN_ID.fullmatch(found) and store.find(f"runs/{found}/plan.json")):
        msg = f"no run {text!r} in {store.uri}{_near_run(store, text)}"
        raise MissingError(msg)
    return found


def _near_run(store: Store, text: str) -> str:
    runs = runs_of(store, None)
    words = {"latest": "latest"}
    for entry in runs:
        alias = f"latest:{entry['suite']}"
        words |= {alias: alias, entry["suite"]: alias, entry["run_id"]: entry["run_id"]}
    guess = nearest(text, words, cutoff=0.75)
    return f"; did you mean {words[guess]}?" if guess else "; `nightgate runs SUITE` lists what is stored"


def none_of(series: str | None, suite: str) -> str:
    """The start of a sentence about a suite without complete runs, or without any of a series."""
    from nightgate.reports.text import plain

    of_series = {"scripted": " with scripts", "live": " with real models"}.get(series or "", "")
    return f"no complete run of {plain(suite)}{of_series}"


def near_suite(store: Store, suite: str) -> str:
    """The end of a sentence about a suite without runs: the nearest one that has some, else those."""
    known = _suites(store)
    guess = nearest(suite, known)
    if guess is not None and guess != suite:
        return f"; did you mean {guess}?"
    return f"; it has runs of {', '.join(known[:_SHOWN])}" if known and suite not in known else ""


_SHOWN = 10


def _suites(store: Store) -> list[str]:
    return sorted({entry["suite"] for entry in runs_of(store, None)})
