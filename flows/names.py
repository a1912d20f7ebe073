"""What flow runs and task runs are called in Prefect's lists: what, of which suite, how much of it.

Names are looked at by people and by nothing else. Parameters come as somebody gave them, so nothing in them
is taken for granted.
"""

from __future__ import annotations

from collections.abc import Mapping

from prefect.runtime import flow_run, task_run

from nightgate.plaintext import plain

_MOST = 120


def evaluation() -> str:
    """``support support-20261129-0215-a1b2c3``; a deployment's run has no id before it is planned."""
    return _of_request("")


def sweep() -> str:
    """``sweep support sweep-20261129-0215-a1b2c3``."""
    return _of_request("sweep")


def night() -> str:
    """``nightly cases 2026-11-29, 4 suites``."""
    given = flow_run.parameters
    asked = given.get("requests")
    asked = asked if isinstance(asked, list) else []
    start = flow_run.scheduled_start_time
    day = "" if start is None else f" {start:%Y-%m-%d}"
    folder = len(asked) == 1 and isinstance(asked[0], Mapping) and asked[0].get("folder")
    many = "all suites" if folder else f"{len(asked)} suite{'' if len(asked) == 1 else 's'}"
    return _joined(f"nightly {given.get('name')}{day}, {many}")


def change() -> str:
    """``on-change support index s3://kb/manifest.json``; without any of them it is the look at all suites."""
    given = flow_run.parameters
    told = [str(given.get(name) or "") for name in ("suite", "kind", "resource")]
    return _joined("on-change", *(told if any(told) else [f"looks at {given.get('folder')}"]))


def shard() -> str:
    """``support shard 2 of 12: 25 trials of 25 cases``."""
    planned, index = task_run.parameters["planned"], task_run.parameters["index"]
    trials, cases = planned["sizes"][index]
    return _joined(
        f"{planned['suite']} shard {index + 1} of {planned['shards']}: {_count(trials, 'trial')} of "
        f"{_count(cases, 'case')}"
    )


def _of_request(what: str) -> str:
    given = flow_run.parameters
    request = given.get("request")
    ids = [request.get(name) for name in ("run_id", "resume")] if isinstance(request, Mapping) else []
    return _joined(what, str(given.get("name") or ""), *(str(one) for one in ids if one))


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _joined(*parts: str) -> str:
    return plain(" ".join(part for part in parts if part), _MOST)
