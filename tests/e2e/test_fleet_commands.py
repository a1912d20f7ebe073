"""Commands of a fleet say what they miss before they start anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import SUPPORT, nightgate

SERVER = {"PREFECT_API_URL": "http://127.0.0.1:9/api"}


@pytest.mark.parametrize("command", ["deploy", "worker"])
def test_a_fleet_needs_a_server_of_its_own(command: str) -> None:
    """An embedded server ends with its process, and the deployments with it."""
    done = nightgate(command, env={"PREFECT_API_URL": ""})

    assert done.code == 2
    assert f"{command}: set PREFECT_API_URL" in done.err
    assert "nightgate serve" in done.err


def test_a_file_of_deployments_that_is_not_there_is_named(tmp_path: Path) -> None:
    """With the one that would do."""
    done = nightgate("deploy", "--file", tmp_path / "mine.yaml", env=SERVER)

    assert done.code == 2
    assert "mine.yaml: no such file" in done.err


def test_a_schedule_of_the_wrong_form_is_refused_before_a_server_starts() -> None:
    """It would be found at half past two in the morning."""
    done = nightgate("serve", SUPPORT.parent, "--cron", "30 2 * *")

    assert done.code == 2
    assert "minute, hour, day, month and weekday; here are 4 fields" in done.err


def test_a_zone_that_does_not_exist_is_refused_by_name() -> None:
    """As by `nightly --once`."""
    done = nightgate("serve", SUPPORT.parent, "--timezone", "Europe/Madird")

    assert done.code == 2
    assert "did you mean Europe/Madrid" in done.err


def test_a_plain_run_has_no_workers_to_share_with() -> None:
    """Else it would look as if four machines had been at work."""
    done = nightgate("run", SUPPORT, "--drainers", 4)

    assert done.code == 2
    assert "--drainers goes with --prefect" in done.err
