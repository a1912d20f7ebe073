"""A word from a run's parent to its workers: stop.

Owns ``runs/<run_id>/stop.json``. Prefect tells a worker's flow run that it was cancelled only while its
server answers, and gives up for good after an outage; workers ask the store anyway. Knows no worker.
"""

from __future__ import annotations

import json

from nightgate.errors import MissingError
from nightgate.ports import Store
from nightgate.rows.jsondocs import DocumentKind, one_of
from nightgate.rows.keys import stop_key

SCHEMA = 1
_STOP, _GO = "stop", "go"
_KIND = DocumentKind(
    name="word to the workers",
    schema=SCHEMA,
    shape={"word": one_of((_STOP, _GO))},
    way_out="remove it: without it the workers go on",
)


def stop_workers(store: Store, run_id: str) -> None:
    """Ask all workers of a run to let their shards go.

    Raises:
        StoreError: If the store refuses.
    """
    store.replace(stop_key(run_id), _document(_STOP))


def let_workers_go_on(store: Store, run_id: str) -> None:
    """Take it back, where it was said: the run is taken up again.

    Raises:
        StoreError: If the store refuses.
        DamagedError: If what stands there is no such word.
    """
    if is_stopped(store, run_id):
        store.replace(stop_key(run_id), _document(_GO))


def is_stopped(store: Store, run_id: str) -> bool:
    """Whether the workers of a run are asked to stop.

    Raises:
        StoreError: If the store is away.
        DamagedError: If what stands there is no such word.
    """
    key = stop_key(run_id)
    try:
        data = store.read(key)
    except MissingError:
        return False
    return bool(_KIND.read(data, key)["word"] == _STOP)


def _document(word: str) -> bytes:
    return json.dumps({"schema": SCHEMA, "word": word}).encode()
