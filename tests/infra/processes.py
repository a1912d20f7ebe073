"""Services of ``compose.yaml`` as plain processes: their commands, settings and health checks, on loopback.

Owns what a container would have given them: addresses, folders, secrets as files, the entry point. PostgreSQL
and the broker are this machine's, because they come as images. Every process is ended by its id.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fleetservers
import servers
from servers import HOST, free_ports
from shell import ROOT

READY_S = 180.0
"""The server migrates an empty database first, on a machine that may be busy."""


@dataclass
class Compose:
    """Services of a compose file.

    Attributes:
        file: What it says.
        folder: For all that they write.
        words: What stands in the file, and what it is here.
        exact: Whole values that are other ones here.
    """

    file: Any
    folder: Path
    words: dict[str, str]
    exact: dict[str, str] = field(default_factory=dict)
    _running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def here(self, text: Any, service: str) -> str:
        """A word of the file as it is on this machine."""
        found = self.exact.get(str(text), str(text))
        for there, here in self.words.items():
            found = found.replace(there, here)
        return found.replace("/data", str(self._folder(service, "data")))

    def env(self, service: str) -> dict[str, str]:
        """All that a service is given; nothing of this process's settings."""
        given = {
            name: self.here(value, service)
            for name, value in self.file[service].get("environment", {}).items()
        }
        spool = self._folder(service, "spool")
        image = {"HOME": str(spool), "PREFECT_HOME": str(spool / ".prefect"), "NIGHTGATE_SPOOL": str(spool)}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "TMPDIR": str(self.folder), **image, **given}

    def command(self, service: str, words: list[str] | None = None) -> list[str]:
        """Behind the image's entry point."""
        given = [self.here(word, service) for word in words or self.file[service]["command"]]
        return ["sh", str(ROOT / "infra" / "with-secrets.sh"), *given]

    def start(self, service: str, *more: str) -> subprocess.Popen[bytes]:
        """Start one that stays; ended with the block."""
        with self.log(service).open("ab") as output:
            process = subprocess.Popen(
                [*fleetservers.bound(), *self.command(service), *more],
                env=self.env(service),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self._running.append(process)
        return process

    def run(self, service: str, words: list[str] | None = None) -> subprocess.CompletedProcess[str]:
        """One that ends: its own command, or another one in its place."""
        return subprocess.run(
            self.command(service, words),
            env=self.env(service),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=READY_S,
        )

    def healthy(self, service: str) -> None:
        """Wait until a service's own health check passes.

        Raises:
            AssertionError: If it does not in time, or the service ends; with the end of its log.
        """
        _, *check = self.file[service]["healthcheck"]["test"]
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline and all(one.poll() is None for one in self._running):
            if self.run(service, check).returncode == 0:
                return
            time.sleep(0.5)
        raise AssertionError(self.log(service).read_text(errors="replace")[-2000:])

    def log(self, service: str) -> Path:
        """What a service says."""
        return self.folder / f"{service}.log"

    def end(self) -> None:
        """Kill all that was started, with what they started."""
        for process in reversed(self._running):
            fleetservers.kill_tree(process.pid)
            process.wait()

    def _folder(self, service: str, name: str) -> Path:
        found = self.folder / service / name
        found.mkdir(parents=True, exist_ok=True)
        return found


@contextlib.contextmanager
def compose(file: Any, secrets: Path, files: dict[str, str]) -> Iterator[Compose]:
    """PostgreSQL and the broker running, all else to be started.

    Args:
        file: The services of the compose file.
        secrets: Folder of the secrets.
        files: File by secret.
    """
    folder = Path(tempfile.mkdtemp(prefix="nightgate-compose-"))
    folder.chmod(0o755)  # the database's user has to get through
    postgres, broker, api, s3 = free_ports(4)
    others = [name for name in servers._PORTS if name != "s3.port"]
    found = Compose(
        file,
        folder,
        words={
            **{f"/run/secrets/{name}": str(secrets / path) for name, path in files.items()},
            "server:4200": f"{HOST}:{api}",
            "127.0.0.1:4200": f"{HOST}:{api}",
            "s3:8333": f"{HOST}:{s3}",
            "127.0.0.1:8333": f"{HOST}:{s3}",
            "s3.port=8333": f"s3.port={s3}",
            "-ip=s3": f"-ip={HOST}",
            "0.0.0.0": HOST,
            "redis:6379": f"{HOST}:{broker}",
            "/app": str(ROOT),
        },
        exact={"postgres": HOST, "5432": str(postgres), "4200": str(api)},
    )
    found.exact |= {
        "ports": " ".join(f"-{n}={p}" for n, p in zip(others, free_ports(len(others)), strict=True))
    }
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for server in (fleetservers._postgres(folder, postgres), fleetservers._broker(folder, broker)):
            stack.callback(server.kill)
            server.start()
        psql = [fleetservers._postgres_tool("psql"), "-h", HOST, "-p", str(postgres), "-U", "prefect"]
        subprocess.run([*psql, "-qc", "CREATE DATABASE prefect", "postgres"], check=True)
        stack.callback(found.end)
        yield found
