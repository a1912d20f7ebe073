"""A process with the product's libraries imported, which forks one child for each command of a test.

Most of a command's seconds are imports; thousands of commands are run here. A child is a process of its
own with its own arguments, environment, folder and exit code, so what a test sees is what a shell sees,
but for the imports: tests of what is imported, and drills that kill, start real processes instead.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A process that forks may have no threads."""


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
        with tempfile.TemporaryDirectory() as folder:
            out, err = Path(folder, "out"), Path(folder, "err")
            asked = {"args": list(args), "cwd": str(cwd or Path.cwd()), "env": dict(env)}
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(timeout_s)
                line.connect(self._started())
                line.sendall(json.dumps({**asked, "out": str(out), "err": str(err)}).encode() + b"\n")
                with line.makefile() as answers:
                    pid = int(answers.readline())
                    try:
                        code = int(answers.readline())
                    except OSError:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, 9)
                        msg = f"nightgate {' '.join(args)}: no end within {timeout_s:.0f} s"
                        raise TimeoutError(msg) from None
            return code, out.read_text(encoding="utf-8"), err.read_text(encoding="utf-8")

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
    import pyarrow.parquet
    import scipy.special
    import strands
    import strands_evals

    import nightgate.wiring
    from nightgate import cli

    del nightgate, pyarrow, scipy, strands, strands_evals
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
                    os._exit(_attend(line, cli.main))
                line.close()
                with contextlib.suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG) != (0, 0):
                        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Readable:
    """Whether somebody calls, until the parent is gone."""

    def __init__(self, door: socket.socket, life: int) -> None:
        import select

        self._select, self._door, self._life = select.select, door, life

    def calls(self) -> bool:
        """Wait for a call; False once the parent is gone."""
        ready, _, _ = self._select([self._door, self._life], [], [])
        return self._life not in ready


def _attend(line: socket.socket, main: object) -> int:
    """Run one command in a child, and tell the caller its process id and how it ended."""
    with line.makefile("rw") as talk:
        asked = json.loads(talk.readline())
        pid = os.fork()
        if pid == 0:
            line.detach()
            _become(asked, main)
        print(pid, file=talk, flush=True)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):
            print(os.waitstatus_to_exitcode(status), file=talk, flush=True)
    return 0


def _become(asked: Mapping[str, object], main: object) -> None:
    """What ``python -m nightgate.cli`` would be in that folder with that environment."""
    import logging
    import random

    os.setsid()
    for number, target in ((1, asked["out"]), (2, asked["err"])):
        file = os.open(str(target), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, number)
        os.close(file)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.chdir(str(asked["cwd"]))
    env = asked["env"]
    assert isinstance(env, dict)
    os.environ.clear()
    os.environ.update(env)
    added = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[0:1] = [str(asked["cwd"]), *added]
    arguments = asked["args"]
    assert isinstance(arguments, list)
    sys.argv = ["nightgate", *arguments]
    random.seed()
    logging.getLogger().setLevel(logging.WARNING)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    assert callable(main)
    try:
        sys.exit(main())
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
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
