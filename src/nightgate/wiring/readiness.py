"""Whether what a run writes to can be written, told before anything is spent.

Owns the look that comes before the first call: the spool of this machine, the store with its conditional
puts, and what both say where they cannot be used. Knows no command line.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nightgate.adapters.store import open_store
from nightgate.adapters.store.clocks import MOST_SKEW_S
from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.probing import UnsafeStoreError, probe
from nightgate.adapters.store.s3 import S3Store
from nightgate.errors import DamagedError, InputError, MissingError, NightgateError, StoreError
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import manifest_prefix, staging_key
from nightgate.steps.spools import free_bytes, leftovers, refuse_unwritable, short_of_room

SKEW_WARNED_S = MOST_SKEW_S / 3
"""A clock that drifts gets a warning with time left to set it."""
_SPOOL = "--spool or NIGHTGATE_SPOOL"


async def ready(request: RunRequest) -> None:
    """Look at the spool and the store of a run that somebody else will open.

    Raises:
        InputError: If one of them cannot be used; nothing was spent.
    """
    store = await asyncio.to_thread(open_store, request.store)
    await asyncio.to_thread(refuse_unready, request, store)
    with nothing_spent(store):
        await asyncio.to_thread(store.find, manifest_prefix())


def refuse_unready(request: RunRequest, store: Store, run_id: str | None = None) -> list[str]:
    """Write to the spool and to the store as a run would. Blocking.

    Args:
        request: Names the spool.
        store: The run's.
        run_id: Of a run that is stored already. Whoever joins one may not remove objects: what is put then is
            an empty group, which goes with the run's staging.

    Returns:
        Warnings: it works now, and may not for long.

    Raises:
        InputError: If one of them cannot be used; nothing was spent.
    """
    with nothing_spent(store, request.spool):
        refuse_unwritable(request.spool_folder, _SPOOL)
        examine(store, run_id)
    return [told for told in (short_of_room(request.spool_folder), drift(store)) if told is not None]


def examine(store: Store, run_id: str | None = None) -> None:
    """Put, overwrite and read an object of the store, and remove it again where it is no run's.

    Raises:
        StoreError: If the store cannot be used.
    """
    root = Path(store.root) if isinstance(store, FolderStore) else None
    there = root is None or root.exists()
    try:
        if root is not None:
            refuse_unwritable(root, "--store or NIGHTGATE_STORE")
        _put(store, run_id)
    finally:
        if root is not None and not there:
            _leave_no_trace(root)


def _leave_no_trace(root: Path) -> None:
    """Remove a folder that was made for the look alone; what else lies in it stays."""
    for folder in (root / "staging" / "doctor", root / "staging", root):
        with contextlib.suppress(OSError):  # the store has removed it, or somebody else put something there
            folder.rmdir()


def _put(store: Store, run_id: str | None) -> None:
    name = secrets.token_hex(8)
    group = encode_group([])
    if run_id is not None:
        probe(store, staging_key(run_id, f"000000-{name}-look.jsonl.zst"), data=group, other=b"")
        return
    key = staging_key("doctor", name)
    probe(store, key, data=group, other=b"")
    store.delete([key])


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What was found of something that a run writes to."""

    what: str
    text: str
    ok: bool = True
    warn: bool = False
    """It works now, and may not for long; or something lies there that somebody should take up."""


def places(request: RunRequest, store: Store, *, named: str | None = None) -> list[Place]:
    """Look at the store and the spool of this machine, one line a question. Blocking.

    Args:
        request: Names the spool.
        store: To look at.
        named: The spool as commands have to name it; None: they find it by themselves.
    """
    return [*_of_store(store), *_of_spool(request.spool_folder, store, named)]


def _of_store(store: Store) -> Iterator[Place]:
    try:
        store.find("staging/doctor/")
        if isinstance(store, S3Store):
            yield Place(what="store access", text=f"bucket {store.bucket!r} is there, the credentials hold")
        examine(store)
        yield Place(what="store", text=f"{store.uri}: written, read, listed, removed")
        yield Place(what="store conditions", text="puts whose condition does not hold are refused")
    except UnsafeStoreError as error:
        yield Place(what="store conditions", text=str(error), ok=False)
    except StoreError as error:
        yield Place(what="store", text=str(error), ok=False)
    if isinstance(store, S3Store) and store.clock.skew_s is not None:
        off = abs(store.clock.skew_s)
        yield Place(
            what="store clock",
            text=store.clock.in_words(),
            ok=off < MOST_SKEW_S,
            warn=off >= SKEW_WARNED_S,
        )


def _of_spool(spool: Path, store: Store, named: str | None) -> Iterator[Place]:
    try:
        refuse_unwritable(spool, _SPOOL)
    except StoreError as error:
        yield Place(what="spool", text=str(error), ok=False)
    else:
        short, free = short_of_room(spool), free_bytes(spool)
        room = "" if free is None else f", {free / 1e6:,.0f} MB free"
        yield Place(what="spool", text=short or f"{spool}: writable{room}", warn=short is not None)
    for left in leftovers(spool):
        size = f"{left.journals} journals, {left.size / 1e3:,.0f} kB"
        if left.living:
            yield Place(what=f"spool {left.run_id}", text=f"{size}, of a process that is at work on it")
            continue
        where = f" --spool {named}" if named else ""
        command = f"nightgate publish {left.run_id} --store {left.store or store.uri}{where}"
        text = f"{size}, left by a run that ended while the store was away, or was killed: {command}"
        yield Place(what=f"spool {left.run_id}", text=text, warn=True)


def drift(store: Store) -> str | None:
    """A warning where this machine's clock and the store's go apart; None too where that cannot be told."""
    if not isinstance(store, S3Store) or abs(store.clock.skew_s or 0.0) < SKEW_WARNED_S:
        return None
    return f"{store.uri}: {store.clock.in_words()}"


@contextlib.contextmanager
def nothing_spent(store: Store, spool: str | None = None) -> Iterator[None]:
    """What the store refuses within the block is configuration: nothing was spent yet."""
    try:
        yield
    except MissingError:
        raise
    except StoreError as error:
        raise unusable(store, error, spool) from error


def unusable(store: Store, error: StoreError, spool: str | None = None) -> NightgateError:
    """A store that cannot be used at the start is configuration.

    What lies in it damaged is not: like any other command, a run then cannot tell.
    """
    if isinstance(error, DamagedError):
        return DamagedError(f"{error}\nNothing was spent.")
    if isinstance(error, MissingError):
        return InputError(str(error))
    named = f" --spool {spool}" if spool else ""
    look = f"`nightgate doctor --store {store.uri}{named}` looks at store and spool alone."
    return InputError(f"{error}\nNothing was spent. {look}")
