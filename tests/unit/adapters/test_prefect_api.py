"""What ``doctor`` finds wrong with a Prefect server, against a stand-in that speaks its wire."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any

import pytest

from nightgate.adapters.prefect_api import DEPLOYMENTS, ZOMBIES, Finding, PrefectApi, examine
from servers import free_ports

POOLS = dict.fromkeys(DEPLOYMENTS, "flows") | {"drain/drain": "drains"}


class Server(ThreadingHTTPServer):
    """A healthy fleet's server, to be made ill.

    Attributes:
        answers: By method and path; without one it is 404.
        password: What it wants to be asked with; None: anybody may ask.
        ahead_s: Seconds by which its clock is wrong.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.password: str | None = None
        self.ahead_s = 0.0
        self.answers: dict[str, Any] = {
            "GET /api/health": True,
            "GET /api/admin/version": "3.9.1",
            "GET /api/admin/settings": {
                "server": {
                    "api": {"auth_string": None},
                    "events": {"messaging_broker": "prefect_redis.messaging"},
                    "services": {
                        "task_run_recorder": {"read_batch_size": 100, "batch_size": 200, "flush_interval": 1}
                    },
                }
            },
            "POST /api/automations/filter": [an_automation(90)],
        }
        self.deployed(POOLS)
        for pool in ("flows", "drains"):
            self.answers[f"GET /api/work_pools/{pool}"] = {"concurrency_limit": None}
            self.answers[f"POST /api/work_pools/{pool}/workers/filter"] = [{"name": "w", "status": "ONLINE"}]

    def deployed(self, pools: dict[str, str]) -> None:
        """Which deployments there are, and their pools."""
        names = [name.partition("/") for name in pools]
        self.answers["POST /api/flows/filter"] = [{"id": flow, "name": flow} for flow, _, _ in names]
        self.answers["POST /api/deployments/filter"] = [
            {"flow_id": flow, "name": name, "work_pool_name": pools[f"{flow}/{name}"]}
            for flow, _, name in names
        ]

    def found(self, host: str = "127.0.0.1", auth: str = "", pool: str | None = None) -> dict[str, Finding]:
        """What a look at it tells, by what was looked at; a finding that is not well outranks one that is."""
        api = PrefectApi(f"http://{host}:{self.server_port}/api", {"PREFECT_API_AUTH_STRING": auth})
        findings = list(examine(api, pool=pool))
        return {one.what: one for one in sorted(findings, key=lambda one: not one.ok)}


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, body: bytes | None) -> None:
        wanted = self.server.password
        word = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        key = f"{self.command} {self.path}"
        if wanted is not None and word != wanted:
            self.send_error(401)
        elif key not in self.server.answers:
            self.send_error(404)
        else:
            answer = self.server.answers[key]
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(data)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate((timestamp or time()) + self.server.ahead_s, usegmt=True)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def an_automation(within_s: float, *, enabled: bool = True) -> dict[str, Any]:
    """As ``deploy`` puts it up."""
    return {"name": ZOMBIES, "enabled": enabled, "trigger": {"within": within_s}}


@pytest.fixture
def server() -> Iterator[Server]:
    """All is well with it."""
    with Server() as found:
        thread = threading.Thread(target=found.serve_forever, args=(0.01,))
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def test_a_healthy_server_has_no_finding_that_is_not_well(server: Server) -> None:
    """Else every other test here could pass for another reason."""
    found = server.found()

    assert all(one.ok for one in found.values()), found
    assert "Prefect 3.9.1" in found["prefect"].text
    assert found["prefect heartbeat"].text == "a flow run that is silent for 90 s is crashed"
    assert found["prefect recorder"].text == "tuned"


def test_a_server_that_is_not_there_is_one_finding() -> None:
    """What follows from it is not told as well."""
    (port,) = free_ports(1)

    (found,) = examine(PrefectApi(f"http://127.0.0.1:{port}/api", {}))

    assert not found.ok
    assert "refused" in found.text


@pytest.mark.parametrize(
    ("answer", "told"),
    [(b"<html>", "a Prefect API's address ends in /api"), ([1, 2], "is no Prefect server")],
    ids=["page", "other"],
)
def test_what_is_no_prefect_api_is_told(server: Server, answer: Any, told: str) -> None:
    """The page's address instead of the API's, or another service on that port."""
    server.answers["POST /api/flows/filter"] = answer

    found = server.found()

    assert list(found) == ["prefect"]
    assert not found["prefect"].ok
    assert told in found["prefect"].text


def test_a_password_that_is_wrong_or_missing_is_told_with_its_variable(server: Server) -> None:
    """And the right one lets in."""
    server.password = "nightgate:right"

    assert server.found(auth="nightgate:right")["prefect"].ok
    for auth in ("", "nightgate:wrong"):
        found = server.found(auth=auth)["prefect"]
        assert not found.ok
        assert found.text.endswith("set PREFECT_API_AUTH_STRING")


@pytest.mark.parametrize(
    ("ahead_s", "told"), [(60, "s behind the server's"), (-60, "s ahead of the server's")]
)
def test_a_clock_that_is_a_minute_off_is_told(server: Server, ahead_s: float, told: str) -> None:
    """A night would be scheduled by one clock and dated by the other."""
    server.ahead_s = ahead_s

    found = server.found()["prefect clock"]

    assert not found.ok
    assert told in found.text


def test_an_open_api_is_well_on_this_machine_alone(server: Server) -> None:
    """Elsewhere anybody who reaches it may start flows. The number is 127.0.0.1, by another name."""
    assert server.found()["prefect access"].ok
    far = server.found(host="2130706433")["prefect access"]
    server.answers["GET /api/admin/settings"]["server"]["api"]["auth_string"] = "**********"

    assert not far.ok
    assert "PREFECT_SERVER_API_AUTH_STRING" in far.text
    assert server.found(host="2130706433")["prefect access"].text == "guarded by a password"


def test_a_deployment_that_is_missing_is_named(server: Server) -> None:
    """One that was removed by hand; without any there is no fleet to look at."""
    server.deployed({name: pool for name, pool in POOLS.items() if name != "on-change/on-change"})
    found = server.found()["prefect deployments"]
    server.deployed({})
    none = server.found()

    assert not found.ok
    assert found.text == "missing on-change/on-change: `nightgate deploy`"
    assert none["prefect deployments"].ok
    assert not [what for what in none if "pool" in what or "heartbeat" in what]


def test_each_pool_of_the_deployments_needs_a_worker(server: Server) -> None:
    """Parents that nobody drains for wait for ever, and say nothing."""
    server.answers["POST /api/work_pools/drains/workers/filter"] = []

    found = server.found()

    assert found["prefect pool flows"].ok
    assert not found["prefect pool drains"].ok
    assert "`nightgate worker --pool drains`" in found["prefect pool drains"].text
    assert [what for what in server.found(pool="flows") if "pool" in what] == ["prefect pool flows"]


def test_a_pool_that_is_not_there_is_told_and_the_rest_is_looked_at(server: Server) -> None:
    """Somebody deleted it; its deployments stay."""
    del server.answers["POST /api/work_pools/drains/workers/filter"]

    found = server.found()

    assert not found["prefect pool drains"].ok
    assert "404" in found["prefect pool drains"].text
    assert found["prefect heartbeat"].ok


def test_one_pool_with_a_limit_lets_parents_starve_their_workers(server: Server) -> None:
    """All slots are parents', and they wait for those who wait for a slot."""
    server.deployed(dict.fromkeys(DEPLOYMENTS, "flows"))
    unlimited = server.found()
    server.answers["GET /api/work_pools/flows"] = {"concurrency_limit": 2}
    limited = server.found()["prefect pool flows"]
    server.deployed(POOLS)

    assert unlimited["prefect pool flows"].ok
    assert not limited.ok
    assert "share 2 slots" in limited.text
    assert server.found()["prefect pool flows"].ok, "a limit of the parents' own starves nobody"


@pytest.mark.parametrize(
    ("automations", "told"),
    [
        ([], "they stay RUNNING"),
        ([an_automation(90, enabled=False)], "they stay RUNNING"),
        ([an_automation(20)], "those that live are heard every 30 s"),
    ],
    ids=["none", "switched off", "too short"],
)
def test_an_automation_that_finds_no_dead_or_kills_the_living_is_told(
    server: Server, automations: list[dict[str, Any]], told: str
) -> None:
    """A killed worker cannot say that it died."""
    server.answers["POST /api/automations/filter"] = automations

    found = server.found()["prefect heartbeat"]

    assert not found.ok
    assert told in found.text


def test_a_broker_in_memory_and_an_untuned_recorder_are_said(server: Server) -> None:
    """They are well for one machine; whoever has more is told what to set."""
    settings = server.answers["GET /api/admin/settings"]["server"]
    settings["events"]["messaging_broker"] = "prefect.server.utilities.messaging.memory"
    settings["services"]["task_run_recorder"] = {"read_batch_size": 1, "batch_size": 200, "flush_interval": 5}

    found = server.found()

    assert found["prefect broker"].text.endswith("memory: one server process only")
    recorder = found["prefect recorder"]
    assert recorder.ok
    assert "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE=100" in recorder.text
    assert "RECORDER_FLUSH_INTERVAL=1" in recorder.text
    assert "RECORDER_BATCH_SIZE" not in recorder.text
