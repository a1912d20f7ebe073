"""A draft -> its two files, both or none, and never over what somebody else wrote.

Owns how the files come into being: under a name of their own first, then under the real one at once.
An empty file of the name is what a full disk once left behind, and nobody's work.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from nightgate.errors import ExitCode, InputError, NightgateError


class DraftExistsError(NightgateError):
    """Another draft has the name; somebody may have worked on it."""

    exit_code = ExitCode.FAILED


def save(files: Mapping[Path, str]) -> None:
    """Write all files, which lie in one folder; those that are there with the same text stay.

    Args:
        files: Path -> text; the folder is made unless it is there.

    Raises:
        DraftExistsError: If one of them is there with another text; then nothing is written.
        InputError: If the folder cannot be written; then nothing is left behind.
    """
    contents = {path: text.encode() for path, text in files.items()}
    folder = next(iter(files)).parent
    try:
        missing = [path for path, data in contents.items() if not _is_there(path, data)]
        made = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            _publish({path: contents[path] for path in missing})
        except BaseException:
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror or error}") from error


def _is_there(path: Path, data: bytes) -> bool:
    """Whether the file holds this.

    Raises:
        DraftExistsError: If it holds something else.
    """
    if not path.is_symlink() and not path.exists():
        return False
    found = path.read_bytes() if path.is_file() else None
    if found == data:
        return True
    if found == b"" and not path.is_symlink():
        return False
    raise DraftExistsError(f"{path}: another draft has this name; move it, or name a case with --case")


def _publish(contents: Mapping[Path, bytes]) -> None:
    done: list[Path] = []
    with contextlib.ExitStack() as stack:
        ready = {path: stack.enter_context(_temporary(path, data)) for path, data in contents.items()}
        try:
            for path, temporary in ready.items():
                if _name(temporary, path, contents[path]):
                    done.append(path)
        except BaseException:
            for path in done:
                path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _temporary(path: Path, data: bytes) -> Iterator[Path]:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _name(temporary: Path, path: Path, data: bytes) -> bool:
    """Give the content its name; False if somebody was faster with the same."""
    try:
        os.link(temporary, path)
    except OSError:
        # The name is taken, or the file system has no hard links.
        if _is_there(path, data):
            return False
        temporary.replace(path)
    return True
