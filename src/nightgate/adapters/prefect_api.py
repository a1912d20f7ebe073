"""What a Prefect server says of itself, over its HTTP API.

Owns the questions that ``doctor`` asks and the one automation that ``deploy`` puts up. Does not import
Prefect: a look around must answer in seconds, also where no flow can be imported.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from nightgate.errors import NightgateError

DEPLOYMENTS = (
    "nightly/nightly",
    "evaluate/evaluate",
    "judge-sweep/judge-sweep",
    "on-change/on-change",
    "drain/drain",
)
HEARTBEAT_S = 30
"""How often a flow run says that it lives."""
SILENT_S = 90
"""A flow run that said nothing for so long is marked as crashed."""
ZOMBIES = "nightgate: flow runs that fell silent"
_TIMEOUT_S = 5.0
_MOST_SKEW_S = 5.0
_RECORDER = {"read_batch_size": 100, "batch_size": 200, "flush_interval": 1}
"""With its defaults a server records a third as many task runs a second."""


class PrefectApiError(NightgateError):
    """The server is out of reach, or refused.

    Args:
        told: What to say.
        status: What it answered; None where it did not.
    """

    def __init__(self, told: str, status: int | None = None) -> None:
        super().__init__(told)
        self.status = status


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    text: str
    ok: bool


class PrefectApi:
    """A server's API.

    Args:
        url: As in ``PREFECT_API_URL``.
        environ: Where ``PREFECT_API_AUTH_STRING`` is looked up; the process's by default.
    """

    def __init__(self, url: str, environ: Mapping[str, str] | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            msg = f"PREFECT_API_URL {url!r} is no http(s) address"
            raise PrefectApiError(msg)
        self.url = url.rstrip("/")
        self._auth = (os.environ if environ is None else environ).get("PREFECT_API_AUTH_STRING", "")
        self.skew_s: float | None = None
        """Seconds by which this machine's clock is ahead of the server's, once it answered."""

    def ask(self, path: str, body: Mapping[str, Any] | None = None, *, method: str | None = None) -> Any:
        """What the server answers: a GET, or a POST where there is a body, unless a method is named.

        Raises:
            PrefectApiError: If it is out of reach or refuses.
        """
        request = Request(f"{self.url}{path}", method=method)  # noqa: S310 - http(s) only, checked above
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self._auth:
            request.add_header("Authorization", f"Basic {base64.b64encode(self._auth.encode()).decode()}")
        try:
            with urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - as above
                self._look_at_clock(answer.headers.get("Date"))
                return json.loads(answer.read() or b"null")
        except HTTPError as error:
            way_out = "; set PREFECT_API_AUTH_STRING" if error.code == _UNAUTHORIZED else ""
            msg = f"{self.url}{path}: {error.code} {error.reason}{way_out}"
            raise PrefectApiError(msg, error.code) from error
        except ValueError as error:
            msg = f"{self.url}{path}: no JSON; a Prefect API's address ends in /api"
            raise PrefectApiError(msg) from error
        except (URLError, OSError) as error:
            msg = f"{self.url}: {error}"
            raise PrefectApiError(msg) from error

    def _look_at_clock(self, said: str | None) -> None:
        if said:
            self.skew_s = (datetime.now(UTC) - parsedate_to_datetime(said)).total_seconds()


_UNAUTHORIZED = 401


def examine(api: PrefectApi, *, pool: str | None = None) -> Iterator[Finding]:
    """Look at all that nightgate needs of a server; a fleet's part only where a fleet is deployed.

    Args:
        api: The server.
        pool: The work pool; None: all that the deployments name.
    """
    try:
        api.ask("/health")
        version = api.ask("/admin/version")
        there = {f"{row['flow']}/{row['deployment']}": row["pool"] for row in _deployments(api)}
        settings = api.ask("/admin/settings")
    except PrefectApiError as error:
        yield Finding("prefect", str(error), ok=False)
        return
    except (KeyError, TypeError, AttributeError):
        yield Finding("prefect", f"{api.url}: what answers there is no Prefect server", ok=False)
        return
    yield Finding("prefect", f"{api.url}: Prefect {version}", ok=True)
    yield _clock(api)
    yield _guarded(api, settings)
    missing = [name for name in DEPLOYMENTS if name not in there]
    if len(missing) == len(DEPLOYMENTS):
        yield Finding("prefect deployments", "none: `nightgate deploy` puts them up", ok=True)
        return
    told = f"missing {', '.join(missing)}: `nightgate deploy`" if missing else ", ".join(DEPLOYMENTS)
    yield Finding("prefect deployments", told, ok=not missing)
    yield from _pools(api, {name: there[name] for name in DEPLOYMENTS if name in there}, pool)
    try:
        yield _heartbeat(api)
    except PrefectApiError as error:
        yield Finding("prefect heartbeat", str(error), ok=False)
    yield from _server(settings)


def _deployments(api: PrefectApi) -> Iterator[dict[str, str]]:
    flows = {row["id"]: row["name"] for row in api.ask("/flows/filter", {"limit": 200})}
    for row in api.ask("/deployments/filter", {"limit": 200}):
        flow = flows.get(row["flow_id"], "")
        yield {"flow": flow, "deployment": row["name"], "pool": row.get("work_pool_name") or ""}


def _clock(api: PrefectApi) -> Finding:
    skew = api.skew_s or 0.0
    text = f"this machine's is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the server's"
    return Finding("prefect clock", text, ok=abs(skew) <= _MOST_SKEW_S)


def _guarded(api: PrefectApi, settings: Mapping[str, Any]) -> Finding:
    """Whether anybody who reaches the API may use it."""
    guarded = bool(_at(settings, "server", "api", "auth_string"))
    local = urlsplit(api.url).hostname in ("127.0.0.1", "localhost", "::1")
    if guarded or local:
        return Finding(
            "prefect access", "guarded by a password" if guarded else "this machine alone", ok=True
        )
    text = "anybody who reaches it may start flows: set PREFECT_SERVER_API_AUTH_STRING on the server"
    return Finding("prefect access", text, ok=False)


def _pools(api: PrefectApi, deployed: Mapping[str, str], pool: str | None) -> Iterator[Finding]:
    """Who works for the pools, and whether parents leave their workers a slot.

    Args:
        api: The server.
        deployed: Pool by deployment; empty where it is served without one.
        pool: Only this one.
    """
    for name in [pool] if pool else sorted({name for name in deployed.values() if name}):
        try:
            yield _pool(api, name)
        except PrefectApiError as error:
            yield Finding(f"prefect pool {name}", str(error), ok=False)
    shared = deployed.get(_WORKERS)
    if not shared or shared not in [name for flow, name in deployed.items() if flow != _WORKERS]:
        return
    with contextlib.suppress(PrefectApiError):  # told above
        if limit := api.ask(f"/work_pools/{quote(shared, safe='')}").get("concurrency_limit"):
            text = (
                f"parents and their workers share {limit} slots: parents that hold all of them wait for ever"
            )
            yield Finding(f"prefect pool {shared}", f"{text}; `nightgate deploy --drain-pool`", ok=False)


_WORKERS = "drain/drain"


def _pool(api: PrefectApi, pool: str) -> Finding:
    # Each container leaves a worker of its own name behind: the living are few, all of them may be many.
    asked = {"workers": {"status": {"any_": ["ONLINE"]}}, "limit": 200}
    online = api.ask(f"/work_pools/{quote(pool, safe='')}/workers/filter", asked)
    text = (
        f"{len(online)} workers online" if online else f"no worker online: `nightgate worker --pool {pool}`"
    )
    return Finding(f"prefect pool {pool}", text, ok=bool(online))


def _heartbeat(api: PrefectApi) -> Finding:
    found = _zombies(api)
    if found and found[0]["enabled"]:
        within = float(found[0]["trigger"].get("within") or 0)
        text = f"a flow run that is silent for {within:g} s is crashed"
        if within >= 2 * HEARTBEAT_S:
            return Finding("prefect heartbeat", text, ok=True)
        text += f", and those that live are heard every {HEARTBEAT_S} s: remove it and `nightgate deploy`"
        return Finding("prefect heartbeat", text, ok=False)
    text = "no automation for flow runs that died: they stay RUNNING; `nightgate deploy` puts it up"
    return Finding("prefect heartbeat", text, ok=False)


def _zombies(api: PrefectApi) -> Any:
    return api.ask("/automations/filter", {"automations": {"name": {"any_": [ZOMBIES]}}})


def _server(settings: Mapping[str, Any]) -> Iterator[Finding]:
    """Settings that decide how much a server can take."""
    broker = str(_at(settings, "server", "events", "messaging_broker") or "")
    in_memory = "memory" in broker
    text = f"{broker}: one server process only" if in_memory else broker
    yield Finding("prefect broker", text or "unknown", ok=True)
    recorder = _at(settings, "server", "services", "task_run_recorder") or {}
    slow = [name for name, wanted in _RECORDER.items() if recorder.get(name) not in (None, wanted)]
    told = ", ".join(
        f"PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_{name.upper()}={_RECORDER[name]}" for name in slow
    )
    yield Finding("prefect recorder", f"as by default; faster with {told}" if slow else "tuned", ok=True)


def _at(settings: Mapping[str, Any], *names: str) -> Any:
    found: Any = settings
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def put_up_heartbeat(api: PrefectApi) -> bool:
    """Make the automation that crashes flow runs which fell silent; False where it is there already.

    Raises:
        PrefectApiError: If the server refuses it.
    """
    if _zombies(api):
        return False
    ends = [f"prefect.flow-run.{state}" for state in ("Completed", "Failed", "Cancelled", "Crashed")]
    api.ask(
        "/automations/",
        {
            "name": ZOMBIES,
            "description": "A killed worker cannot say so; its flow run would stay RUNNING for ever.",
            "enabled": True,
            "trigger": {
                "type": "event",
                "posture": "Proactive",
                "after": ["prefect.flow-run.heartbeat"],
                "expect": ["prefect.flow-run.heartbeat", *ends],
                "match": {"prefect.resource.id": ["prefect.flow-run.*"]},
                "for_each": ["prefect.resource.id"],
                "threshold": 1,
                "within": SILENT_S,
            },
            "actions": [
                {
                    "type": "change-flow-run-state",
                    "state": "CRASHED",
                    "message": f"nothing was heard of it for {SILENT_S} s",
                }
            ],
        },
    )
    return True
