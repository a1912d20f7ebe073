"""The compose file's services come up: commands, settings, secrets and health checks, without containers."""

from __future__ import annotations

import base64
import importlib.util
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.processes import READY_S, Compose, compose
from shell import ROOT

pytestmark = [pytest.mark.server, pytest.mark.fleet]

FILE: Any = YAML(typ="safe").load((ROOT / "infra" / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As ``local_secrets.py`` draws them."""
    spec = importlib.util.spec_from_file_location("local_secrets", ROOT / "infra" / "local_secrets.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = tmp_path_factory.mktemp("compose") / "secrets"
    script.main(folder)
    return folder


@pytest.fixture(scope="module")
def fleet(secrets: Path) -> Iterator[Compose]:
    """Server and S3 server healthy, the bucket made, all deployed, a parent and two workers started."""
    files = {name: Path(secret["file"]).name for name, secret in FILE["secrets"].items()}
    with compose(FILE["services"], secrets, files) as found:
        found.start("s3", *found.here("ports", "s3").split())
        found.start("server", "--port", found.here("4200", "server"))
        found.healthy("s3")
        found.healthy("server")
        for once in ("bucket", "bucket", "deploy"):  # the bucket may be there already
            ran = found.run(once)
            assert ran.returncode == 0, ran.stdout + ran.stderr
        for stays in ("parent", "worker-1", "worker-2"):
            found.start(stays)
        yield found


def asked(fleet: Compose, path: str, auth: str | None, body: dict[str, Any] | None = None) -> Any:
    """What Prefect's API answers."""
    headers = {"Content-Type": "application/json"}
    if auth is not None:
        headers["Authorization"] = f"Basic {base64.b64encode(auth.encode()).decode()}"
    url = f"{fleet.here('http://server:4200/api', 'worker-1')}{path}"
    data = None if body is None else json.dumps(body).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data=data, headers=headers), timeout=10) as answer:
        return json.load(answer)


def test_the_api_is_closed_without_the_password(fleet: Compose, secrets: Path) -> None:
    """It came from a file, through the entry point."""
    with pytest.raises(urllib.error.HTTPError, match="401"):
        asked(fleet, "/admin/version", None)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        asked(fleet, "/admin/version", "nightgate:wrong")
    assert asked(fleet, "/admin/version", (secrets / "api_auth").read_text())


@pytest.mark.parametrize(("pool", "workers"), [("nightgate", 1), ("nightgate-drain", 2)])
def test_all_workers_are_there_for_their_pools(
    fleet: Compose, secrets: Path, pool: str, workers: int
) -> None:
    """With the same command as in the cloud."""
    auth, deadline = (secrets / "api_auth").read_text(), time.monotonic() + READY_S
    found: list[Any] = []
    while len(found) < workers and time.monotonic() < deadline:
        found = asked(fleet, f"/work_pools/{pool}/workers/filter", auth, {})
        time.sleep(0.5)

    assert [worker["status"] for worker in found] == ["ONLINE"] * workers, fleet.log("worker-1").read_text()


def test_everything_is_deployed(fleet: Compose, secrets: Path) -> None:
    """What workers are started for."""
    found = asked(fleet, "/deployments/filter", (secrets / "api_auth").read_text(), {})

    assert {"nightly", "evaluate", "judge-sweep", "drain"} <= {one["name"] for one in found}


def test_a_worker_reaches_its_store(fleet: Compose) -> None:
    """Credentials from a file, the bucket made once, conditional puts."""
    ran = fleet.run("worker-1", ["nightgate", "doctor"])

    assert "ok    store: s3://nightgate/evals: written, read, listed, removed" in ran.stdout, ran.stdout
    assert "ok    prefect" in ran.stdout, ran.stdout
