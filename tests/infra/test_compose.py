"""The fleet on one machine: on loopback, pinned, not root, and with the settings that were measured."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.tasks import containers, environment, known_settings
from infra.templates import Template
from nightgate.cli.deploy import DRAIN_POOL, POOL
from shell import ROOT

COMPOSE: Any = YAML(typ="safe").load((ROOT / "infra" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if one["image"] == "nightgate:local"}
ONE_SHOT = {"bucket", "deploy"}


def test_it_is_the_whole_fleet() -> None:
    """A parent, and two workers in a pool of their own, so that one may be killed."""
    assert SERVICES.keys() == {
        *("postgres", "redis", "server", "s3", "bucket", "deploy", "parent", "worker-1", "worker-2")
    }
    for name, pool in (("parent", POOL), ("worker-1", DRAIN_POOL), ("worker-2", DRAIN_POOL)):
        assert SERVICES[name]["command"] == ["nightgate", "worker", "--pool", pool]
    spools = [SERVICES[name]["volumes"][0] for name in ("parent", "worker-1", "worker-2")]
    assert len(set(spools)) == 3, "one spool a machine"


def test_ports_are_published_on_loopback_alone() -> None:
    """A laptop in a café is a public place."""
    ports = {name: port for name, one in SERVICES.items() for port in one.get("ports", [])}

    assert ports == {"server": "127.0.0.1:4200:4200", "s3": "127.0.0.1:8333:8333"}
    assert not any("network_mode" in one for one in SERVICES.values())


def test_images_are_pinned_or_built_here() -> None:
    """No latest, no tag that moves within a major version."""
    for name, one in SERVICES.items():
        assert one["image"].endswith(":local") or re.search(r":\d+\.\d+(\.\d+)?-", one["image"]), name
        assert ("build" in one) is one["image"].endswith(":local"), name


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "postgres"])
def test_services_cannot_change_themselves_or_gain_rights(name: str) -> None:
    """PostgreSQL's image begins as root, gives its folder away and steps down; all others never were root."""
    one = SERVICES[name]

    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert not str(one.get("user", "10001")).startswith(("0", "root"))
    assert "privileged" not in one


def test_every_service_that_stays_says_how_it_is() -> None:
    """Workers by their image."""
    for name, one in SERVICES.items():
        if name in ONE_SHOT:
            assert one["healthcheck"] == {"disable": True}
        elif name != "parent" and not name.startswith("worker"):
            assert one["healthcheck"]["test"], name


def test_secrets_are_files_and_nowhere_in_the_environment() -> None:
    """Files do not show in `docker inspect`."""
    for name, one in SERVICES.items():
        for variable, value in one.get("environment", {}).items():
            if re.search(r"PASSWORD|AUTH|CREDENTIALS|KEY", variable):
                assert variable.endswith("_FILE"), name
                assert value.removeprefix("/run/secrets/") in one["secrets"], name
    assert all(list(secret) == ["file"] for secret in COMPOSE["secrets"].values())


def test_the_server_is_set_up_as_it_was_measured() -> None:
    """The same settings as in the cloud."""
    found = SERVICES["server"]["environment"]

    recorder = "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_"
    assert [found[f"{recorder}{name}"] for name in ("READ_BATCH_SIZE", "BATCH_SIZE", "FLUSH_INTERVAL")] == [
        *("100", "200", "1")
    ]
    assert found["PREFECT_MESSAGING_BROKER"] == "prefect_redis.messaging"
    assert found["PREFECT_SERVER_API_AUTH_STRING_FILE"] == "/run/secrets/api_auth"


@pytest.mark.parametrize("name", OURS)
def test_nothing_of_ours_phones_home_and_clients_outlive_the_database(name: str) -> None:
    """On every service by itself: each may be started alone."""
    found = OURS[name]["environment"]

    assert (found["PREFECT_SERVER_ANALYTICS_ENABLED"], found["DO_NOT_TRACK"]) == ("false", "1")
    if name != "server":
        assert found["PREFECT_CLIENT_RETRY_EXTRA_CODES"] == "500"
        assert found["PREFECT_API_AUTH_STRING_FILE"] == "/run/secrets/api_auth"


def test_cloud_and_compose_give_the_server_the_same_settings() -> None:
    """What works here works there; only addresses and homes differ."""

    def settings(found: dict[str, str]) -> dict[str, str]:
        same = ("RECORDER", "MESSAGING_BROKER", "MESSAGING_CACHE", "ORDERING", "LEASE", "ANALYTICS", "TRACK")
        return {name: value for name, value in found.items() if any(part in name for part in same)}

    assert settings(SERVICES["server"]["environment"]) == settings(
        environment(containers(Template())["ServerTask"])
    )


def test_prefect_knows_every_setting_that_it_is_given() -> None:
    """A misspelt setting is ignored without a word."""
    given = {
        variable.removesuffix("_FILE")
        for one in OURS.values()
        for variable in one["environment"]
        if variable.startswith("PREFECT_") and "REDIS" not in variable
    }

    assert given <= known_settings()


def test_secrets_are_drawn_once_and_each_time_anew(tmp_path: Path) -> None:
    """What is there stays, so that a second call locks nobody out; the folder is closed to others."""
    spec = importlib.util.spec_from_file_location("local_secrets", ROOT / "infra" / "local_secrets.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    folder = tmp_path / "secrets"
    assert script.main(folder) == 0
    first = {path.name: path.read_text() for path in folder.iterdir()}
    (folder / "api_auth").unlink()

    assert script.main(folder) == 0

    second = {path.name: path.read_text() for path in folder.iterdir()}
    assert {f"secrets/{name}" for name in first} == {s["file"] for s in COMPOSE["secrets"].values()}
    assert second.pop("api_auth") != first.pop("api_auth")
    assert second == first
    assert folder.stat().st_mode & 0o077 == 0
    (identity,) = json.loads(first["s3_identities.json"])["identities"]
    assert identity["credentials"][0]["secretKey"] in first["aws_credentials"]
