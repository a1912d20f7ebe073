"""Committed runs of a suite as nights: which of them count, and their rows, read side by side.

Owns what a night is: a committed run of kind ``run`` over the whole suite that played all of its trials
itself. Filtered runs, runs that took trials over, reruns, sweeps and canaries are none. Reads manifests
and the summaries table only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from nightgate.errors import MissingError
from nightgate.flakiness import Found, Identity, Night, Pair
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.keys import RunAddress
from nightgate.rows.manifests import Manifest
from nightgate.steps.readers import side_by_side
from nightgate.steps.reading import rows_of

_COLUMNS = (
    "case_id", "case_hash", "evaluator", "evaluator_version", "judge_fingerprint", "threshold", "stage",
    "agent_model", "planned", "passed", "failed", "not_applicable_required",
)  # fmt: skip


def addresses(store: Store, suite: str) -> list[RunAddress]:
    """All committed runs of a suite, by day and id."""
    found = (keys.parse_manifest_key(key) for key in store.find(keys.manifest_prefix(suite)))
    return sorted((address for address in found if address is not None), key=lambda a: (a.date, a.run_id))


def manifests(store: Store, wanted: Sequence[RunAddress]) -> list[Manifest]:
    """The manifests behind addresses, the earliest start first."""

    def read(address: RunAddress) -> Manifest:
        return Manifest.from_json(store.read(keys.manifest_key(*address)))

    return sorted(side_by_side(read, wanted), key=when)


def when(manifest: Manifest) -> tuple[str, str]:
    """What nights are ordered by: the scheduled start, then the id."""
    return started(manifest), manifest.run_id


def started(manifest: Manifest) -> str:
    """The scheduled start, UTC with Z; the day where a run does not say."""
    if manifest.started_at is None:
        return manifest.date.isoformat()
    return manifest.started_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_night(manifest: Manifest) -> bool:
    """Whether a run says of every case how it did that night."""
    whole = not manifest.facts.get("filters") and manifest.facts.get("parent") is None
    return manifest.run_kind == "run" and whole


def series_of(model: str | None) -> str:
    """Runs of scripts and runs of real models are two histories: one says nothing of the other."""
    return "scripted" if (model or "").startswith("scripted:") else "live"


def night_of(store: Store, manifest: Manifest) -> Night:
    """A run's rows as the detector reads them.

    Infrastructure errors, skipped cells and what did not apply are no evidence; a required finding that
    did not apply counts as failed, as at the gate.
    """
    found: dict[Pair, Found] = {}
    trials: dict[str, int] = {}
    for row in rows_of(store, manifest, keys.SUMMARIES, _COLUMNS):
        case = row["case_id"]
        trials[case] = max(trials.get(case, 0), row["planned"])
        if row["threshold"] is not None:
            found[case, row["evaluator"]] = _found(row)
    return Night(
        run_id=manifest.run_id,
        date=manifest.date.isoformat(),
        started_at=started(manifest),
        cases=len(trials),
        planned_trials=sum(trials.values()),
        found=found,
    )


def _found(row: Mapping[str, Any]) -> Found:
    identity = Identity(row["case_hash"], row["evaluator_version"], row["judge_fingerprint"])
    failed = row["failed"] + (row["not_applicable_required"] or 0)
    return Found(identity, row["passed"], failed, row["stage"] or "regression")


def manifest_at(store: Store, address: RunAddress) -> Manifest | None:
    """The manifest at an address; None while the run is open."""
    try:
        return Manifest.from_json(store.read(keys.manifest_key(*address)))
    except MissingError:
        return None
