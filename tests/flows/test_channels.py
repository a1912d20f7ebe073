"""Prefect's notification blocks as channels, on a real Prefect server and a receiver on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hooks import hook
from nightgate.adapters.alerts import build_channel, definitions
from nightgate.adapters.store.folder import FolderStore
from nightgate.errors import AlertError
from nights import put_night, red, tell
from rundocs import an_evaluator


@pytest.fixture(scope="module")
def prefect_server() -> Iterator[None]:
    """One temporary Prefect server for this file."""
    from nightgate.cli.prefect_env import quiet_prefect

    quiet_prefect()
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield


def test_a_saved_block_delivers_refuses_and_is_found_missing(tmp_path: Path, prefect_server: None) -> None:
    """One server start for the three: it takes longer than all else here."""
    from prefect.blocks.notifications import SlackWebhook

    both = [an_evaluator("ToolPolicy", "fail"), an_evaluator("CitesSource", "fail")]
    answers = {0: 200, 1: 500, 2: 500, 3: 500}
    with hook(lambda number: answers[number]) as found:
        # Apprise sends plain JSON to an address of this scheme, where Slack's own would leave the machine.
        SlackWebhook(url=found.url.replace("http://", "json://")).save("team")
        channel = build_channel(definitions("default=prefect:slack-webhook/team")["default"])
        looked = channel.check()
        store = FolderStore(tmp_path)
        first = tell(store, put_night(store, 1, red()), channel)
        failed = tell(store, put_night(store, 2, red(evaluators=both)), channel)

    assert "nothing was sent" in looked
    assert found.taken[0]["title"] == "support: gate FAILED: ToolPolicy"
    assert "owner: support-team" in found.taken[0]["message"]
    assert first["undelivered"] == []
    assert [row["attempts"] for row in failed["undelivered"]] == [3]
    assert "SECRET" not in str(failed)
    with pytest.raises(AlertError, match="there is no block of that name"):
        build_channel(definitions("x=prefect:slack-webhook/nobody")["x"]).check()
