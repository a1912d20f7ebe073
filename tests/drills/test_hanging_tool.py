"""A tool that never returns costs its own trial, not the night."""

from __future__ import annotations

from pathlib import Path

from shell import DRILLS, nightgate


def test_a_hanging_tool_times_out_and_the_process_ends(tmp_path: Path) -> None:
    """Threads cannot be killed; waiting for one would hold the report back for ever."""
    ran = nightgate("run", DRILLS / "hanging", "--store", tmp_path, "--json", "-")

    assert ran.code == 1
    assert ran.json["trials"]["agent_timeout"] == 1
    assert ran.json["failures"][0]["blame"] == "agent"
