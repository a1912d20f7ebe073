"""A process with the product's libraries imported, which forks one child for each command of a test.

Most of a command's seconds are imports; thousands of commands are run here. A child is a process of its
own with its own arguments, environment, folder and exit code, so what a test sees is what a shell sees,
but for the imports; it can be killed like any other. Tests of what is imported, and of how a process
starts, start real processes instead.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A process that forks may have no threads."""
_USED = (
    *("boto3", "openai.types.chat", "pyarrow.compute", "pyarrow.parquet", "regex", "s3fs", "scipy.special"),
    *("strands.agent._agent_delegation", "strands.models.openai", "strands_evals"),
    *("pandas", "pyarrow.pandas_compat"),  # pyarrow looks for them at the first row
    *("nightgate.adapters.agents", "nightgate.adapters.refusing", "nightgate.adapters.scripted"),
    *("nightgate.cli.progress", "nightgate.cli.run", "nightgate.reports.comparison"),
    *("nightgate.reports.junit", "nightgate.reports.markdown", "nightgate.reports.terminal"),
    *("nightgate.rows.histories", "nightgate.wiring", "nightgate_samples.support"),
)
"""What nearly every command imports."""


class Child:
    """One command under way, with the few things of a ``Popen`` that drills use.

    Attributes:
        pid: Its process id.
        returncode: Its exit code, a signal's number below 0; None while nobody has waited for its end.
    """

    def __init__(self, line: socket.socket, folder: Path) -> None:
        self._line, self._folder = line, folder
        self._forgotten = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._heard = b""
        self._waiting = threading.Lock()
        self.returncode: int | None = None
        self.pid = self._number(None)

    def poll(self) -> int | None:
        """The exit code, if it has ended. Does not wait for another thread that waits for the end."""
        if self.returncode is None and self._waiting.acquire(blocking=False):
            try:
                self._take(0)
            except TimeoutError:
                pass
            finally:
                self._waiting.release()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it is known to have ended."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a chance to say anything."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, from any thread; the exit code.

        Raises:
            TimeoutError: If it takes longer.
        """
        with self._waiting:
            return self._take(timeout)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end: stdout and stderr.

        Raises:
            TimeoutError: If it takes longer.
        """
        self.wait(timeout)
        return self.said("out"), self.said("err")

    def said(self, stream: str) -> str:
        """What it has written so far to ``out`` or ``err``."""
        return (self._folder / stream).read_text(encoding="utf-8", errors="replace")

    def forget(self) -> None:
        """Kill it if it still lives, and remove what it said."""
        self.kill()
        self.wait()
        self._forgotten()

    def _take(self, timeout: float | None) -> int:
        if self.returncode is None:
            self.returncode = self._number(timeout)
            self._line.close()
        return self.returncode

    def _number(self, timeout: float | None) -> int:
        """The next that the server says of it: its process id, then how it ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._heard:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            self._line.settimeout(left)
            try:
                heard = self._line.recv(64)
            except BlockingIOError:
                raise TimeoutError from None
            if not heard:
                msg = "the warm process is gone"
                raise RuntimeError(msg)
            self._heard += heard
        number, _, self._heard = self._heard.partition(b"\n")
        return int(number)


class Warm:
    """The process, started with its first command and ended with its parent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""

    def run(
        self, args: Sequence[str], cwd: Path | None, env: Mapping[str, str], timeout_s: float
    ) -> tuple[int, str, str]:
        """Run ``nightgate ARGS`` to its end: exit code (a signal's number below 0), stdout, stderr.

        Raises:
            TimeoutError: If it takes longer; it is killed then.
        """
        child = self.start(args, cwd, env)
        try:
            code = child.wait(timeout_s)
            return code, child.said("out"), child.said("err")
        except TimeoutError:
            msg = f"nightgate {' '.join(args)}: no end within {timeout_s:.0f} s"
            raise TimeoutError(msg) from None
        finally:
            child.forget()

    def start(
        self, args: Sequence[str], cwd: Path | None, env: Mapping[str, str], script: Path | None = None
    ) -> Child:
        """Start ``nightgate ARGS``, or a Python script with these arguments, and do not wait."""
        folder = Path(tempfile.mkdtemp())
        asked = {"args": list(args), "cwd": str(cwd or Path.cwd()), "env": dict(env), "said": str(folder)}
        line = socket.socket(socket.AF_UNIX)
        line.connect(self._started())
        line.sendall(json.dumps({**asked, "script": script and str(script)}).encode() + b"\n")
        return Child(line, folder)

    def _started(self) -> str:
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                # Its standard input is the parent's life: it ends when that does, however that ends.
                self._process = subprocess.Popen(
                    [sys.executable, __file__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, **_ONE_THREAD},
                )
                assert self._process.stdout is not None
                self._address = self._process.stdout.readline().decode().strip()
            return self._address


def _serve() -> None:
    """Import, listen, and fork for each that calls."""
    _warm_up()
    # No TemporaryDirectory: its clean-up would run at the end of each child.
    folder = Path(tempfile.mkdtemp())
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(str(folder / "door"))
            door.listen(16)
            sys.stdout.write(f"{folder / 'door'}\n")
            sys.stdout.flush()
            watch = _Readable(door, sys.stdin.fileno())
            while watch.calls():
                line, _ = door.accept()
                if os.fork() == 0:
                    door.close()
                    os._exit(_attend(line))
                line.close()
                with contextlib.suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG) != (0, 0):
                        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _warm_up() -> None:
    """Import and read once what each command would import and read again."""
    for name in _USED:
        importlib.import_module(name)
    from nightgate.prices import PriceTable
    from nightgate.reports.pages import shell

    PriceTable.load()
    pages = shell.environment()
    for name in pages.list_templates(extensions=["j2"]):
        pages.get_template(name)
    # What is here now outlives each child: none of them walks it, and its pages stay shared.
    gc.collect()
    gc.freeze()


class _Readable:
    """Whether somebody calls, until the parent is gone."""

    def __init__(self, door: socket.socket, life: int) -> None:
        import select

        self._select, self._door, self._life = select.select, door, life

    def calls(self) -> bool:
        """Wait for a call; False once the parent is gone."""
        ready, _, _ = self._select([self._door.fileno(), self._life], [], [])
        return self._life not in ready


def _attend(line: socket.socket) -> int:
    """Run one command in a child, and tell the caller its process id and how it ended."""
    _end_with_parent()
    with line.makefile("rw") as talk:
        asked = json.loads(talk.readline())
        pid = os.fork()
        if pid == 0:
            line.detach()
            _end_with_parent()
            _become(asked)
        print(pid, file=talk, flush=True)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            print(os.waitstatus_to_exitcode(status), file=talk, flush=True)
    return 0


def _end_with_parent() -> None:
    """Where the system can: a command that hangs must not outlive the tests."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _become(asked: Mapping[str, object]) -> None:
    """What ``python -m nightgate.cli``, or a script, would be in that folder with that environment."""
    import logging
    import random
    import runpy
    import traceback

    from nightgate import cli

    os.setsid()
    for number, stream in ((1, "out"), (2, "err")):
        file = os.open(Path(str(asked["said"]), stream), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.chdir(str(asked["cwd"]))
    env, arguments, script = asked["env"], asked["args"], asked["script"]
    assert isinstance(env, dict)
    assert isinstance(arguments, list)
    os.environ.clear()
    os.environ.update(env)
    added = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[0:1] = [str(asked["cwd"] if script is None else Path(str(script)).parent), *added]
    sys.argv = ["nightgate" if script is None else str(script), *arguments]
    random.seed()
    logging.getLogger().setLevel(logging.WARNING)
    # Thawed by a run's end, the parent's things would be walked and copied in each child.
    gc.unfreeze = lambda: None
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    code = 0
    try:
        if script is None:
            sys.exit(cli.main())
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:  # it must not reach the server's own clean-up
        traceback.print_exc()
        code = 1
    _leave(code)


def _leave(code: int) -> None:
    """End as an interpreter ends: threads are waited for, exit functions run, streams are written out."""
    import atexit

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
