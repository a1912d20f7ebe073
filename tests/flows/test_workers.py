"""Workers as Prefect sees them, where somebody has deleted their flow runs."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.exceptions import ObjectNotFound
from prefect.states import Running

from flows import workers


class Client:
    """Prefect's client, to a server that knows one flow run and not the other."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def read_flow_run(self, run_id: str) -> Any:
        """The run, where it is known."""
        self._known(run_id)
        return SimpleNamespace(state=Running())

    async def set_flow_run_state(self, run_id: str, _: Any) -> None:
        """Note who was told."""
        self._known(run_id)
        self.told.append(run_id)

    def _known(self, run_id: str) -> None:
        if run_id == "deleted":
            raise ObjectNotFound(Exception("404"))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """In place of the real one: a server never loses a flow run at a test's word."""
    made = Client()

    @contextlib.asynccontextmanager
    async def get_client() -> AsyncIterator[Client]:
        yield made

    monkeypatch.setattr(workers, "get_client", get_client)
    return made


async def test_a_flow_run_that_is_gone_counts_as_crashed(client: Client) -> None:
    """The server is a dashboard that may lose records: the parent goes on with the others."""
    states = await workers.states({"one": "deleted", "two": "there"})
    assert {owner: state.is_final() for owner, state in states.items()} == {"one": True, "two": False}


async def test_all_others_are_told_to_stop(client: Client) -> None:
    """One that is gone must not keep the rest at work."""
    await workers.cancel({"one": "deleted", "two": "there"})
    assert client.told == ["there"]
