"""``nightgate doctor`` looks at alert targets and at the age of the newest run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from drill_lab import a_case, write_suite

from hooks import SECRET_PATH, hook
from servers import HOST, free_ports
from shell import SUPPORT, nightgate

CHANNELS = {"NIGHTGATE_ALERT_CHANNELS": "default=webhook:TEAM_WEBHOOK_URL"}


def a_suite(folder: Path, channel: str = "default") -> Path:
    """The sample suite with a channel."""
    suite = folder / "support"
    shutil.copytree(SUPPORT, suite)
    file = suite / "suite.yaml"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("alerts:")]
    file.write_text("\n".join([*lines, f"alerts: [{channel}]", ""]))
    return suite


def test_a_reachable_channel_is_ok_and_gets_nothing(tmp_path: Path) -> None:
    """Looking must not post."""
    with hook() as found:
        env = {**CHANNELS, "TEAM_WEBHOOK_URL": found.url}
        ran = nightgate("doctor", a_suite(tmp_path), "--store", tmp_path / "s", "--json", "-", env=env)

    row = next(row for row in ran.json["findings"] if row["what"] == "alerts default")
    assert row["ok"]
    assert found.requests == []
    assert SECRET_PATH not in ran.out + ran.err


@pytest.mark.parametrize("url", [None, f"http://{HOST}:{{port}}{SECRET_PATH}"], ids=["unset", "missing"])
def test_a_channel_that_cannot_work_fails(tmp_path: Path, url: str | None) -> None:
    """Before a night depends on it."""
    env = CHANNELS if url is None else {**CHANNELS, "TEAM_WEBHOOK_URL": url.format(port=free_ports(1)[0])}

    ran = nightgate("doctor", a_suite(tmp_path), "--store", tmp_path / "s", env=env)

    assert ran.code == 1
    assert "FAIL  alerts default: " in ran.out
    assert SECRET_PATH not in ran.out + ran.err


def test_an_overdue_suite_is_exit_3_and_tells_its_channel_once(tmp_path: Path) -> None:
    """A night that never ran cannot say so itself; a second look an hour later repeats nothing."""
    asked = ("doctor", a_suite(tmp_path), "--since", "26h", "--alert", "--store", tmp_path / "s")
    with hook() as found:
        env = {**CHANNELS, "TEAM_WEBHOOK_URL": found.url}
        for _ in range(2):
            ran = nightgate(*asked, env=env)
            assert ran.code == 3, ran.err

    assert [document["title"] for document in found.taken] == ["support: no complete run"]


def test_a_suite_that_ran_is_not_overdue(tmp_path: Path) -> None:
    """Any complete run counts, whatever its verdict."""
    nightgate("run", SUPPORT, "--store", tmp_path, "--no-alerts")

    ran = nightgate("doctor", SUPPORT, "--since", "26h", "--store", tmp_path)

    assert "a complete run within 26h" in ran.out
    assert ran.code != 3


def test_of_several_suites_each_has_to_have_run(tmp_path: Path) -> None:
    """One that never ran, and one whose only run was stopped, beside one that is well."""
    nightgate("run", SUPPORT, "--store", tmp_path / "s", "--no-alerts")
    suites = {
        name: write_suite(tmp_path / name, [a_case("one")], suite=name) for name in ("never", "stopped")
    }
    assert nightgate("run", suites["stopped"], "--budget-usd", "0", "--store", tmp_path / "s").code == 4

    ran = nightgate("doctor", SUPPORT, *suites.values(), "--since", "26h", "--store", tmp_path / "s")

    assert ran.code == 3
    assert f"ok    runs of {SUPPORT}: a complete run within 26h" in ran.out
    for suite in suites.values():
        assert f"FAIL  runs of {suite}: no complete run for 26 hours: there is none at all" in ran.out


@pytest.mark.parametrize(
    "flags",
    [("--since", "soon", SUPPORT), ("--since", "26h"), ("--alert", SUPPORT), ("--since", "0h", SUPPORT)],
)
def test_an_age_that_is_none_is_wrong_input(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Exit 2, with what to write."""
    assert nightgate("doctor", *flags, "--store", tmp_path).code == 2


def test_an_unknown_channel_stops_a_run_before_anything_is_spent(tmp_path: Path) -> None:
    """A misspelt channel would be found out on the worst night."""
    ran = nightgate("run", a_suite(tmp_path, "defalt"), "--store", tmp_path / "store")

    assert ran.code == 2
    assert "did you mean 'default'?" in ran.err
    assert not (tmp_path / "store" / "runs").exists()
