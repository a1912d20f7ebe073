"""Where things lie in a store: every key that nightgate reads or writes is built here.

Owns the layout (contract, section 7) and what may stand in a key. Knows no store and no content.
Imports the standard library and ``errors`` only.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date
from typing import NamedTuple

from nightgate.errors import InputError, StoreError

SCORES, TRIALS, CALLS, SUMMARIES, TRANSCRIPTS = "scores", "trials", "calls", "summaries", "transcripts"
_ID = re.compile(r"[0-9a-z-]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_MANIFEST = re.compile(r"manifests/([0-9a-z-]{1,64})/([0-9]{4}-[0-9]{2}-[0-9]{2})/([0-9a-z-]{1,64})\.json")


class RunAddress(NamedTuple):
    """What it takes to find a run's objects."""

    suite: str
    date: date
    run_id: str


def checked_id(text: str, what: str = "run id") -> str:
    """Return ``text`` if it may stand in a key.

    Args:
        text: A run id or a suite id.
        what: How the message calls it.

    Raises:
        InputError: If it is not 1 to 64 of the characters 0-9, a-z and ``-``.
    """
    if not _ID.fullmatch(text):
        msg = f"{what} {text!r}: use 1 to 64 of the characters 0-9, a-z and '-'"
        raise InputError(msg)
    return text


def _checked_name(name: str) -> str:
    """Return ``name`` if it is a plain relative name; it may hold ``/`` but no ``..``."""
    if not _NAME.fullmatch(name):
        msg = f"object name {name!r}: letters, digits, '.', '_', '-' and '/' only, no part starts with '.'"
        raise StoreError(msg)
    return name


def case_slug(case_id: str) -> str:
    """A case id in 20 hex digits, for keys and file names.

    Case ids are any text (``../esc``, 300 characters, right-to-left), so they never stand in a
    key themselves. The digest is of the id verbatim.
    """
    return hashlib.sha256(case_id.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def folder_key(table: str, suite: str, day: date, run_id: str) -> str:
    """The prefix of one run's parts of one table, with the closing ``/``."""
    return f"{_checked_name(table)}/{checked_id(suite, 'suite')}/{day:%Y-%m-%d}/{checked_id(run_id)}/"


def part_key(table: str, suite: str, day: date, run_id: str, name: str) -> str:
    """``<table>/<suite>/<YYYY-MM-DD>/<run_id>/<name>``; ``name`` comes from ``parts.Part.name``."""
    return folder_key(table, suite, day, run_id) + _checked_name(name)


def summaries_key(suite: str, day: date, run_id: str) -> str:
    """``summaries/<suite>/<YYYY-MM-DD>/<run_id>.parquet``: the case x evaluator counts of a run."""
    return f"summaries/{checked_id(suite, 'suite')}/{day:%Y-%m-%d}/{checked_id(run_id)}.parquet"


def manifest_key(suite: str, day: date, run_id: str) -> str:
    """``manifests/<suite>/<YYYY-MM-DD>/<run_id>.json``: the commit."""
    return f"manifests/{checked_id(suite, 'suite')}/{day:%Y-%m-%d}/{checked_id(run_id)}.json"


def manifest_prefix(suite: str | None = None) -> str:
    """What all manifests, or those of one suite, start with."""
    return "manifests/" if suite is None else f"manifests/{checked_id(suite, 'suite')}/"


def parse_manifest_key(key: str) -> RunAddress | None:
    """The run behind a manifest's key; None for any other key."""
    found = _MANIFEST.fullmatch(key)
    if found is None:
        return None
    try:
        day = date.fromisoformat(found[2])
    except ValueError:
        return None
    return RunAddress(found[1], day, found[3])


def run_key(run_id: str, name: str) -> str:
    """``runs/<run_id>/<name>``: what belongs to a run and is no table."""
    return f"runs/{checked_id(run_id)}/{_checked_name(name)}"


RUNS = "runs/"
"""What all that belongs to runs and is no table starts with; its children are the runs."""


def run_prefix(run_id: str) -> str:
    """``runs/<run_id>/``: what all that belongs to a run and is no table starts with."""
    return f"{RUNS}{checked_id(run_id)}/"


def plan_key(run_id: str) -> str:
    """``runs/<run_id>/plan.json``: the grid, frozen before the first call."""
    return run_key(run_id, "plan.json")


def selection_key(run_id: str) -> str:
    """``runs/<run_id>/selection.json``: in place of a plan, which runs a sweep over several of them means."""
    return run_key(run_id, "selection.json")


def summary_key(run_id: str) -> str:
    """``runs/<run_id>/summary.json``: the JSON summary, replaceable until the manifest."""
    return run_key(run_id, "summary.json")


def report_key(run_id: str, name: str) -> str:
    """``runs/<run_id>/report/<name>``: a file of the HTML report."""
    return run_key(run_id, f"report/{_checked_name(name)}")


def report_index_key(run_id: str) -> str:
    """``runs/<run_id>/report/index.html``: the first page, put last: where it is, the others are."""
    return report_key(run_id, "index.html")


def staging_prefix(run_id: str) -> str:
    """What all staged groups of a run start with."""
    return f"staging/{checked_id(run_id)}/"


def staging_key(run_id: str, name: str) -> str:
    """``staging/<run_id>/<name>``: a group of finished trials, until the run is committed."""
    return staging_prefix(run_id) + _checked_name(name)


def claim_prefix(run_id: str) -> str:
    """What all claims of a run's shards start with."""
    return f"runs/{checked_id(run_id)}/claims/"


def claim_key(run_id: str, shard: int) -> str:
    """``runs/<run_id>/claims/<shard>.json``: who works on a shard; swapped, gone with the commit."""
    return f"{claim_prefix(run_id)}{shard:05d}.json"


def purse_key(run_id: str) -> str:
    """``runs/<run_id>/budget.json``: what workers have leased of a run's cap; swapped."""
    return run_key(run_id, "budget.json")


def stop_key(run_id: str) -> str:
    """``runs/<run_id>/stop.json``: whether a fleet's workers are asked to stop."""
    return run_key(run_id, "stop.json")


def night_key(suite: str, day: date) -> str:
    """``nights/<suite>/<YYYY-MM-DD>.json``: the run that has a local date; put once, before it is planned."""
    return f"nights/{checked_id(suite, 'suite')}/{day:%Y-%m-%d}.json"


def night_holder_key(run_id: str) -> str:
    """``runs/<run_id>/night.json``: which process works on a date's run; swapped, never replaced."""
    return run_key(run_id, "night.json")


def alerts_key(suite: str) -> str:
    """``alerts/<suite>.json``: open causes and what was sent of them; swapped, never replaced."""
    return f"alerts/{checked_id(suite, 'suite')}.json"


def alert_report_key(run_id: str) -> str:
    """``runs/<run_id>/alerts.json``: what was told of a run, and to whom."""
    return run_key(run_id, "alerts.json")


def canary_prefix(suite: str) -> str:
    """What all canary references of a suite start with; the highest number holds."""
    return f"canaries/{checked_id(suite, 'suite')}/"


def canary_key(suite: str, number: int) -> str:
    """``canaries/<suite>/<number>.json``: frozen trials with their reference verdicts; put once."""
    return f"{canary_prefix(suite)}{number:06d}.json"


def canary_report_key(run_id: str) -> str:
    """``runs/<run_id>/canary.json``: what a night's canaries came to."""
    return run_key(run_id, "canary.json")


def baseline_key(suite: str) -> str:
    """``baselines/<suite>.json``: which run a suite is compared with."""
    return f"baselines/{checked_id(suite, 'suite')}.json"


def watch_key(suite: str) -> str:
    """``watch/<suite>.json``: what the change watchers saw and started; swapped, never replaced."""
    return f"watch/{checked_id(suite, 'suite')}.json"


def flakiness_key(suite: str) -> str:
    """``flakiness/<suite>.json``: what each case and evaluator is taken for; swapped, never replaced."""
    return f"flakiness/{checked_id(suite, 'suite')}.json"


def flakiness_report_key(run_id: str) -> str:
    """``runs/<run_id>/flakiness.json``: what a night came to; put once."""
    return run_key(run_id, "flakiness.json")


def demo_key() -> str:
    """``demo.json``: there where `nightgate demo` began a store, whose runs nobody played."""
    return "demo.json"


def history_prefix(suite: str) -> str:
    """What all of a suite's compacted months start with; derived from the summaries, and rebuilt at will."""
    return f"history/{checked_id(suite, 'suite')}/"


def history_key(suite: str, month: str) -> str:
    """``history/<suite>/<YYYY-MM>.parquet``: the counts of a month's committed runs."""
    return f"{history_prefix(suite)}{_checked_name(month)}.parquet"
