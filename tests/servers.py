"""Real servers on loopback, for tests, drills and benchmarks.

Owns starting and ending them: every port is ephemeral and bound to 127.0.0.1, everything they
write lies in one folder, and they are ended by process id. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
READY_TIMEOUT_S = 60.0
_SOCKETS = Path("/tmp")  # the server puts its local sockets there, whatever TMPDIR says
_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
)


def free_ports(number: int) -> list[int]:
    """Ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


@dataclass
class S3Server:
    """A running S3 server.

    Attributes:
        endpoint: Its address.
        access_key: Of the only identity.
        secret_key: Of the only identity.
    """

    endpoint: str
    access_key: str
    secret_key: str
    _start: Callable[[], subprocess.Popen[bytes]]
    _log: Path
    _process: subprocess.Popen[bytes]
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def env(self) -> dict[str, str]:
        """What a client finds the server by: the usual AWS variables."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def storage_options(self) -> dict[str, Any]:
        """The same as s3fs and fsspec take it."""
        return {
            "key": self.access_key,
            "secret": self.secret_key,
            "endpoint_url": self.endpoint,
            "use_listings_cache": False,
        }

    def client(self, **settings: Any) -> Any:
        """A boto3 client that asks once and waits a few seconds at most."""
        import boto3
        from botocore.config import Config

        config = Config(
            retries={"total_max_attempts": 1},
            connect_timeout=2,
            read_timeout=10,
            s3={"addressing_style": "path"},
        )
        return boto3.client(
            "s3",
            **{
                "endpoint_url": self.endpoint,
                "aws_access_key_id": self.access_key,
                "aws_secret_access_key": self.secret_key,
                "region_name": "us-east-1",
                "config": config,
                **settings,
            },
        )

    def start(self) -> None:
        """Start it again on the same port and folder, and wait until it takes puts.

        Raises:
            RuntimeError: If it ends or is not ready in time; with the end of its log.
        """
        self._process = self._start()
        _wait(self, self._process, self._log)

    def kill(self) -> None:
        """SIGKILL: an orderly end takes 15 s. What it has answered for is on the disk. Safe to call twice."""
        self._process.kill()
        self._process.wait()

    def bucket(self, name: str = "nightgate") -> str:
        """A fresh, empty bucket; returns its name."""
        fresh = f"{name}-{next(self._numbers)}"
        self.client().create_bucket(Bucket=fresh)
        return fresh


@contextlib.contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """SeaweedFS with one identity, ready to take puts.

    Args:
        folder: For all that it writes; created.

    Raises:
        RuntimeError: If it ends or is not ready in time; with the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
    access_key, secret_key = "nightgate-test", "nightgate-test-secret"
    identities = folder / "identities.json"
    identities.write_text(
        json.dumps(
            {
                "identities": [
                    {
                        "name": "test",
                        "credentials": [{"accessKey": access_key, "secretKey": secret_key}],
                        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
                    }
                ]
            }
        )
    )
    log = folder / "server.log"

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                _command(folder, identities, ports), stdout=output, stderr=output, cwd=folder
            )

    endpoint = f"http://{HOST}:{ports['s3.port']}"
    server = S3Server(endpoint, access_key, secret_key, start, log, start())
    try:
        _wait(server, server._process, log)
        yield server
    finally:
        server.kill()
        for port in ports.values():
            for path in _SOCKETS.glob(f"seaweedfs-*-{port}.sock"):
                path.unlink(missing_ok=True)


def _command(folder: Path, identities: Path, ports: dict[str, int]) -> list[str]:
    weed = shutil.which("weed") or str(Path(sys.executable).with_name("weed"))
    data = folder / "data"
    data.mkdir(exist_ok=True)
    options = {
        "ip": HOST,
        "ip.bind": HOST,
        "dir": str(data),
        "s3.config": str(identities),
        "s3.iam": "false",
        "s3.autoCreateBucket": "false",
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "master.telemetry": "false",
        "master.electionTimeout": "1s",
        "master.volumeSizeLimitMB": 64,
        "volume.max": 0,
        "volume.preStopSeconds": 0,
        **ports,
    }
    # Where the system can, the server dies with the tests, also when those are killed.
    bound = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    flags = [f"-{name}={value}" for name, value in options.items()]
    return [*bound, weed, f"-logdir={folder}", "server", "-s3", *flags]


def _wait(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    client, end, error = server.client(), time.monotonic() + READY_TIMEOUT_S, None
    there = client.exceptions.BucketAlreadyExists, client.exceptions.BucketAlreadyOwnedByYou
    while time.monotonic() < end and process.poll() is None:
        try:
            with contextlib.suppress(*there):  # from an earlier start
                client.create_bucket(Bucket="ready")
            client.put_object(Bucket="ready", Key="ready", Body=b"ready")
        except Exception as refused:
            error = refused
            time.sleep(0.05)
        else:
            return
    tail = log.read_text(errors="replace")[-2000:]
    msg = f"the S3 server is not ready (exit {process.poll()}): {error!r}\n{tail}"
    raise RuntimeError(msg)


@contextlib.contextmanager
def environment(**values: str | None) -> Iterator[None]:
    """Set variables of this process for a while; None takes one away."""
    before = {name: os.environ.get(name) for name in values}
    _apply(values)
    try:
        yield
    finally:
        _apply(before)


def _apply(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
