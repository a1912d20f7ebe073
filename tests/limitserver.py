"""Prefect's global limits in memory: answers ``PrefectApi.ask`` as the server does, with a clock of its own.

For tests of shares, which want lost leases and hours in milliseconds. That it answers as the real server does
is held by the contract test of the leases, which runs against both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from nightgate.adapters.prefect_api import PrefectApi, PrefectApiError

_ROOT = "/v2/concurrency_limits/"


@dataclass
class _Held:
    name: str
    slots: int
    until: float


@dataclass
class LimitServer(PrefectApi):
    """Limits and leases.

    Attributes:
        now: Its clock's hand, in seconds.
        away: Whether it is out of reach.
        limits: Their names and what each allows.
    """

    now: float = 0.0
    away: bool = False
    limits: dict[str, int] = field(default_factory=dict)
    busy: int = 0
    """Workers that play."""
    lost: dict[str, int] = field(default_factory=dict)
    """Slots that are counted though their leases are forgotten."""
    _held: dict[str, _Held] = field(default_factory=dict)
    _count: int = 0

    def active(self, name: str) -> int:
        """Slots of a limit that somebody holds."""
        held = sum(held.slots for held in self._held.values() if held.name == name)
        return held + self.lost.get(name, 0)

    def forget(self) -> None:
        """Lose all leases, as a broker that is killed; what they held is still counted."""
        for held in self._held.values():
            self.lost[held.name] = self.lost.get(held.name, 0) + held.slots
        self._held.clear()

    def ask(  # noqa: C901 - a table of paths
        self, path: str, body: Mapping[str, Any] | None = None, *, method: str | None = None
    ) -> Any:
        """As ``PrefectApi.ask``, for the paths of limits."""
        if self.away:
            raise PrefectApiError("out of reach")
        self._held = {key: held for key, held in self._held.items() if held.until > self.now}
        asked = dict(body or {})
        if path == "/flow_runs/count":
            return self.busy
        match path.removeprefix(_ROOT).split("/"):
            case [""]:
                return self._create(asked["name"], asked["limit"])
            case ["filter"]:
                return [self._row(name) for name in self.limits]
            case ["increment-with-lease"]:
                return self._lend(asked["names"][0], asked["slots"], asked["lease_duration"])
            case ["decrement"]:
                self.lost[asked["names"][0]] -= asked["slots"]
                return None
            case ["decrement-with-lease"]:
                return self._drop(asked["lease_id"])
            case ["leases", lease, "renew"]:
                self._found(lease).until = self.now + asked["lease_duration"]
                return None
            case [quoted] if method == "PATCH":
                self.limits[unquote(quoted)] = asked["limit"]
                return None
            case [quoted]:
                return self._row(unquote(quoted))
        raise AssertionError(path)

    def _row(self, name: str) -> dict[str, Any]:
        if name not in self.limits:
            raise PrefectApiError("no such limit", 404)
        return {"name": name, "limit": self.limits[name], "active_slots": self.active(name), "active": True}

    def _create(self, name: str, limit: int) -> None:
        if name in self.limits:
            raise PrefectApiError("exists", 409)
        self.limits[name] = limit

    def _lend(self, name: str, slots: int, seconds: float) -> dict[str, Any]:
        if self.active(name) + slots > self.limits[name]:
            raise PrefectApiError("locked", 423)
        self._count += 1
        self._held[f"lease-{self._count}"] = _Held(name, slots, self.now + seconds)
        return {"lease_id": f"lease-{self._count}"}

    def _drop(self, lease: str) -> None:
        self._found(lease)
        del self._held[lease]

    def _found(self, lease: str) -> _Held:
        if lease not in self._held:
            raise PrefectApiError("gone", 410)
        return self._held[lease]
