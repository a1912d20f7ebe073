"""Stored runs: plan, manifest, and the rows that the manifest names.

Owns the checks between "it is in the store" and "it may be counted": every part is held against its
digest and row count before anything is read from it. Decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

from nightgate.errors import DamagedError, InputError, MissingError
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.rows.manifests import Manifest, PartRef
from nightgate.rows.parts import decode_part
from nightgate.rows.schemas import TABLES
from nightgate.rows.tables import table_rows


def load_plan(store: Store, run_id: str) -> Plan:
    """The frozen plan of a run.

    Raises:
        MissingError: If there is no such run.
        InputError: If it is a sweep over several runs, which has no plan of its own, or a newer nightgate's.
        DamagedError: If what is stored is no plan.
    """
    try:
        data = store.read(keys.plan_key(keys.checked_id(run_id)))
    except MissingError as error:
        if store.find(keys.selection_key(run_id)):
            msg = f"{run_id} is a sweep over several runs: name one of its parts, as its summary lists them"
            raise InputError(msg) from error
        msg = f"no run {run_id!r} in {store.uri}; `nightgate runs SUITE` lists what is stored"
        raise MissingError(msg) from error
    try:
        return Plan.from_json(json.loads(data))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        msg = f"run {run_id}: {keys.plan_key(run_id)} is no plan ({type(error).__name__}: {error})"
        raise DamagedError(msg) from error


def manifest_of(store: Store, plan: Plan) -> Manifest | None:
    """The run's commit; None while it is open."""
    try:
        data = store.read(keys.manifest_key(plan.suite, date.fromisoformat(plan.date), plan.run_id))
    except MissingError:
        return None
    return Manifest.from_json(data)


def rows_of(
    store: Store, manifest: Manifest, table: str, columns: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of one table of a run, part by part.

    Raises:
        DamagedError: If a part is gone or is not what was committed.
    """
    for part in manifest.of(table):
        yield from table_rows(table_of(store, manifest, part), columns)


def table_of(store: Store, manifest: Manifest, part: PartRef) -> Any:
    """One part of a run, decoded.

    Raises:
        DamagedError: If it is gone or is not what was committed.
    """
    try:
        data = store.read(part.key)
    except MissingError as error:
        msg = f"run {manifest.run_id}: part {part.key} is gone, the manifest names it"
        raise DamagedError(msg) from error
    return decode_part(data, TABLES[part.table], rows=part.rows, nbytes=part.bytes, sha256=part.sha256)
