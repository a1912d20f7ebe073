"""Where a command's output goes: people's text, JSON, files.

Owns the rule that with ``--json -`` stdout carries JSON and nothing else, and how many of a thing are
written.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from nightgate.errors import InputError
from nightgate.plaintext import harmless

_STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
_STEP_TAKES = 1_000_000
"""Bytes: GitHub drops the summary of a step whose file has more than 1 MiB."""


def people(json_path: str | None) -> TextIO:
    """Where text for people goes."""
    return sys.stderr if json_path == "-" else sys.stdout


def counted(count: int, thing: str) -> str:
    """A number with its noun.

    >>> counted(1, "case"), counted(0, "case"), counted(7, "model call")
    ('1 case', '0 cases', '7 model calls')
    """
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


class _Harmless(io.TextIOBase):
    """Stderr, as of the time of each write, for text of models: nothing in it moves a cursor."""

    def write(self, text: str) -> int:
        """Write without control and direction characters; lines and tabs stay."""
        sys.stderr.write(harmless(text))
        return len(text)

    def flush(self) -> None:
        """Flush stderr."""
        sys.stderr.flush()

    def fileno(self) -> int:
        """The file behind stderr, for processes that users' code starts."""
        return sys.stderr.fileno()

    def isatty(self) -> bool:
        """No: whoever asks wants to draw."""
        return False

    def writable(self) -> bool:
        """Yes."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of stderr."""
        return sys.stderr.encoding

    @property
    def buffer(self) -> Any:
        """The bytes behind stderr, for code that writes bytes."""
        return sys.stderr.buffer


def users_prints_aside() -> contextlib.redirect_stdout[io.TextIOBase]:
    """While users' code runs its prints go to stderr: Strands agents print their answers by default."""
    return contextlib.redirect_stdout(_Harmless())


def write_json(document: Any, path: str | None) -> None:
    """Write strict JSON to a file or to stdout.

    Raises:
        InputError: If the file cannot be written.
    """
    if path is None:
        return
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    if path == "-":
        sys.stdout.write(text + "\n")
    else:
        write_text(text + "\n", path)


def write_text(text: str, path: str) -> None:
    """Write a file, with its folder.

    Raises:
        InputError: If it cannot be written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror or error}"
        raise InputError(msg) from error


def check_writable(*paths: str | None) -> None:
    """Try output files before a run is paid for; afterwards exit 2 would hide its verdict.

    Raises:
        InputError: If one cannot be written.
    """
    for path in [Path(path) for path in paths if path is not None and path != "-"]:
        if path.exists() and not (path.is_file() or path.is_dir()):
            continue  # a pipe: to open it is to use it
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            new = not path.exists()
            path.open("ab").close()
            if new:
                path.unlink()
        except OSError as error:
            msg = f"{path}: cannot be written: {error.strerror or error}"
            raise InputError(msg) from error


def check_folder(folder: str | None) -> None:
    """Try a folder of pages before a run is paid for; None: none is asked for.

    Raises:
        InputError: If nothing can be written there, or it has a first page of somebody else.
    """
    if folder is not None:
        from nightgate.reports.pages.writing import check_target

        check_target(folder)


def append_step_summary(document: Callable[[int], str]) -> None:
    """Append Markdown to the file that GitHub shows with a step, when the variable names one.

    Trouble is a warning on stderr: it must not hide the verdict of a run that was paid for.

    Args:
        document: Makes the text, given the bytes that it may have.
    """
    path = os.environ.get(_STEP_SUMMARY)
    if not path:
        return
    try:
        file = Path(path)
        there = file.stat().st_size if file.exists() else 0
        text = document(max(0, _STEP_TAKES - there))
        if not text:
            print(f"warning: {_STEP_SUMMARY} {path}: is full, nothing was added", file=sys.stderr)
            return
        with file.open("ab") as out:
            out.write((f"\n{text}" if there else text).encode("utf-8", "replace"))
    except OSError as error:
        print(f"warning: {_STEP_SUMMARY} {path}: cannot be written: {error.strerror}", file=sys.stderr)
