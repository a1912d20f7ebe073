"""Small disks of a test's own, to be filled up or made read-only; where mounts are not allowed, a skip.

Owns mounting and unmounting. Tests often run as root, whom no file mode stops. Imports nothing of nightgate.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Disk:
    """A mounted file system in memory."""

    path: Path

    @property
    def filler(self) -> Path:
        """What fills it up."""
        return self.path / "filler"

    def fill(self, leave: int = 0) -> None:
        """Write until nothing more goes on it, and leave so many bytes."""
        with self.filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * _BLOCK)
        if leave:
            os.truncate(self.filler, self.filler.stat().st_size - leave)

    def empty(self) -> None:
        """Take away what filled it up."""
        self.filler.unlink()

    def protect(self) -> None:
        """Make it read-only."""
        _run("mount", "-o", "remount,ro", str(self.path))


@contextlib.contextmanager
def disk(path: Path, megabytes: int = 8) -> Iterator[Disk]:
    """A disk at ``path``; skips the test where this user may mount none."""
    path.mkdir()
    try:
        _run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(path))
    except (OSError, subprocess.CalledProcessError) as refused:
        pytest.skip(f"this machine lets the tests mount no disk of their own: {refused}")
    try:
        yield Disk(path)
    finally:
        _run("umount", "-l", str(path))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
