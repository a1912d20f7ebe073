"""Leases of a Prefect server's global limits: how much of a model one process may use, whoever else does.

Owns the wire of a limit: putting it up, taking a part of it, keeping and giving it back. A lease that
nobody renews comes back by itself, so a killed holder blocks nobody for longer than ``LEASE_S`` and the
server's next round. Knows no model and no worker. Blocking. Wire facts: Prefect's REST API,
concurrency limits v2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from nightgate.adapters.prefect_api import Finding, PrefectApi, PrefectApiError

LEASE_S = 60.0
"""Seconds that a lease lasts without being renewed: the shortest that the server grants."""
PREFIX = "nightgate: "
"""Of the limits' names: people see them among others."""
_LONGEST_NAME = 120
_BANNED = str.maketrans(dict.fromkeys("/%&><", "_"))
"""The server refuses these in names."""
_MISSING, _CONFLICT, _GONE, _LOCKED = 404, 409, 410, 423


@dataclass(frozen=True, slots=True)
class Lease:
    """What is held of a limit.

    Attributes:
        lease_id: The server's.
        slots: How much.
    """

    lease_id: str
    slots: int


def limit_name(model: str, what: str) -> str:
    """What a limit is called; two models never share a name.

    >>> limit_name("bedrock:anthropic.claude-sonnet-4", "requests a minute")
    'nightgate: bedrock:anthropic.claude-sonnet-4, requests a minute'
    """
    name = model.translate(_BANNED)
    if name != model or len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]} {hashlib.sha256(model.encode()).hexdigest()[:8]}"
    return f"{PREFIX}{name}, {what}"


class GlobalLimit:
    """One limit of the server.

    Args:
        api: The server.
        name: The limit's name.
        slots: What it is to allow in all.
    """

    def __init__(self, api: PrefectApi, name: str, slots: int) -> None:
        self.name, self.slots = name, slots
        self._api = api
        self._path = f"/v2/concurrency_limits/{quote(name, safe='')}"
        self._there = False

    def take(self, most: int) -> Lease | None:
        """As much as is free, ``most`` at the most; None: nothing is.

        Raises:
            PrefectApiError: If the server is out of reach or refuses.
        """
        if not self._there:
            self._put_up()
        found = self._api.ask(self._path)
        if found["limit"] != self.slots:
            self._change()
        free = self.slots - int(found["active_slots"])
        if free < 1:
            return None
        slots = min(most, free)
        body = {"slots": slots, "names": [self.name], "mode": "concurrency", "lease_duration": LEASE_S}
        try:
            granted = self._api.ask("/v2/concurrency_limits/increment-with-lease", body)
        except PrefectApiError as error:
            if error.status == _LOCKED:  # somebody was faster
                return None
            raise
        return Lease(str(granted["lease_id"]), slots)

    def renew(self, lease: Lease) -> bool:
        """Hold it for another ``LEASE_S``; False where it is no longer held.

        Raises:
            PrefectApiError: If the server is out of reach or refuses.
        """
        path = f"/v2/concurrency_limits/leases/{lease.lease_id}/renew"
        try:
            self._api.ask(path, {"lease_duration": LEASE_S})
        except PrefectApiError as error:
            if error.status in (_MISSING, _GONE):
                return False
            raise
        return True

    def give_back(self, lease: Lease) -> None:
        """Let it go; one that is gone already is let go.

        Raises:
            PrefectApiError: If the server is out of reach or refuses; it comes back by itself then.
        """
        try:
            self._api.ask("/v2/concurrency_limits/decrement-with-lease", {"lease_id": lease.lease_id})
        except PrefectApiError as error:
            if error.status not in (_MISSING, _GONE):
                raise

    def uncount(self, lease: Lease) -> None:
        """Free the slots of a lease that the server forgot: a broker lost it, and no round brings it back.

        Raises:
            PrefectApiError: If the server is out of reach or refuses.
        """
        self._api.ask("/v2/concurrency_limits/decrement", {"slots": lease.slots, "names": [self.name]})

    def _put_up(self) -> None:
        """Make it, or let it allow what it should: the models' specs say how much that is."""
        try:
            self._api.ask("/v2/concurrency_limits/", {"name": self.name, "limit": self.slots})
        except PrefectApiError as error:
            if error.status != _CONFLICT:
                raise
        self._there = True

    def _change(self) -> None:
        self._api.ask(self._path, {"limit": self.slots}, method="PATCH")


def limits_of(api: PrefectApi) -> list[dict[str, Any]]:
    """The limits of nightgate on a server: name, limit, active_slots, active.

    Raises:
        PrefectApiError: If the server is out of reach or refuses.
    """
    rows: list[dict[str, Any]] = api.ask("/v2/concurrency_limits/filter", {"limit": 200})
    return [row for row in rows if str(row["name"]).startswith(PREFIX)]


def examine_limits(api: PrefectApi) -> Iterator[Finding]:
    """What limits there are, and whether something is held that nobody can hold.

    Args:
        api: The server.
    """
    try:
        limits = limits_of(api)
        playing = {
            "flow_runs": {"state": {"type": {"any_": ["RUNNING"]}}},
            "flows": {"name": {"any_": ["drain"]}},
        }
        busy = bool(api.ask("/flow_runs/count", playing))
    except PrefectApiError as error:
        yield Finding("prefect limits", str(error), ok=False)
        return
    if not limits:
        text = "none: the first run whose models' specs say max_in_flight, rpm or tpm puts them up"
        yield Finding("prefect limits", text, ok=True)
    for row in limits:
        name, held = str(row["name"]), int(row["active_slots"])
        text = f"{name.removeprefix(PREFIX)}: {held} of {row['limit']} held"
        if not row.get("active", True):
            yield Finding("prefect limit", f"{text}; it is switched off: everybody gets all of it", ok=False)
        elif held and not busy:
            way_out = f"`prefect gcl update '{name}' --active-slots 0` frees it, unless one just ended"
            yield Finding("prefect limit", f"{text}, and no worker runs: {way_out}", ok=False)
        else:
            yield Finding("prefect limit", text, ok=True)
