"""Runs after each other in one process, with a client that the factory holds."""

from __future__ import annotations

import asyncio
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent, tool

from makers import TinyModel, called, said
from nightgate import run_suite
from nightgate.wiring.home import at_home


class Echo(socketserver.StreamRequestHandler):
    """Answers each line with itself, for as long as the connection stands."""

    def handle(self) -> None:
        """One connection."""
        for line in self.rfile:
            self.wfile.write(line)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of an echo server."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


class Client:
    """An async client that keeps its connection, as HTTP clients do."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, text: str) -> str:
        """One line there and back."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        writer.write(f"{text}\n".encode())
        await writer.drain()
        return (await reader.readline()).decode().strip()


CLIENTS: dict[str, Client] = {}
"""What the factory below holds."""


def build(model: Any, case: Any) -> Agent:
    """An agent whose tool uses the held client."""

    @tool
    async def look(topic: str) -> str:
        """Look it up.

        Args:
            topic: What.
        """
        return await CLIENTS["echo"].ask(topic)

    return Agent(model=model, tools=[look], callback_handler=None)


def model() -> TinyModel:
    """Calls the tool, then answers."""
    return TinyModel(
        lambda messages, _: said("done") if len(messages) > 1 else called("look", {"topic": "kb"})
    )


def test_a_client_held_by_the_factory_works_in_the_second_run_too(echo: int, tmp_path: Path) -> None:
    """Each ``asyncio.run`` closes its loop; the client must not find itself on a closed one."""
    CLIENTS["echo"] = Client(echo)
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "suite.yaml").write_text(
        "suite: twice\nagent: test_home_agent:build\nmodel: import:test_home_agent:model\n"
    )
    (suite / "cases.yaml").write_text("cases: [{id: a, input: hi, expect: {tools: {must_call: [look]}}}]")
    (suite / "test_home_agent.py").write_text(
        f"import sys\n\nhere = sys.modules[{__name__!r}]\nbuild, model = here.build, here.model\n"
    )

    results = []
    for number in range(2):
        store = tmp_path / f"store{number}"
        assert asyncio.run(run_suite(suite, store=str(store))).verdict == "pass"
        results.append(tool_results(store))

    assert results == [["success"], ["success"]]


def tool_results(store: Path) -> list[str]:
    """Statuses of all tool calls of a store's one run."""
    import json

    import pyarrow.parquet as pq

    rows = [row for part in (store / "trials").rglob("*.parquet") for row in pq.read_table(part).to_pylist()]
    return [call["status"] for row in rows for call in json.loads(row["tool_calls"])]


async def test_a_cancelled_caller_waits_until_the_work_has_put_its_things_away() -> None:
    """Ctrl-C in a notebook must not leave a run half staged."""
    began, put_away = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            put_away.set()

    task = asyncio.create_task(at_home(work()))
    await asyncio.to_thread(began.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert put_away.is_set()
