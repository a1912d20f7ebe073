"""``nightgate init DIR``: write a starter suite of seven cases that checks and runs at once."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path

from nightgate.errors import ExitCode, InputError

_SUITE_LINE = re.compile(r"^suite:[ \t]*[\"']?([0-9a-z-]+)", re.MULTILINE)
_SCHEMA_TITLE = '"nightgate suite.yaml'


def run(args: argparse.Namespace) -> int:
    """Write the files and say what to do with them."""
    from nightgate.reports.text import plain
    from nightgate.starter import Starter, place, suite_id

    if not args.folder.strip():
        msg = "init: give the folder of the new suite, such as cases/my-agent"
        raise InputError(msg)
    folder = Path(args.folder)
    # Not Path.resolve(): it raises where links lead in a circle.
    name = Path(os.path.realpath(folder)).name
    suite = suite_id(name, _neighbours(folder))
    starter = Starter(suite=suite, folder=_in_comments(folder, suite), schema=_schema(folder))
    written = place(folder, starter.files())
    for file in written:
        print(f"  {plain(str(file), 200)}")
    print(f"suite {suite}: 7 cases{_why_so_named(suite, plain(name, 80), suite_id(name))}")
    print(f"agent: {starter.module}.py, an example; put your own there")
    shown = plain(shlex.quote(args.folder), 200)
    print("next:")
    print(f"  nightgate check {shown}")
    print(f"  nightgate run {shown}")
    print(f"  nightgate run {shown} --model scripted:broken    # one reply is wrong: the gate says no")
    return ExitCode.OK


def _why_so_named(suite: str, name: str, own: str) -> str:
    if suite != own:
        return f" (the suite beside it is {own} already; change `suite:` as you like)"
    return "" if suite == name else f" (an id is made of a-z, 0-9 and -, so {name!r} became {suite})"


def _neighbours(folder: Path) -> set[str]:
    """Ids of the suites beside the new one, also of those that do not load."""
    own = Path(os.path.realpath(folder))
    found = set()
    for file in own.parent.glob("*/suite.yaml"):
        try:
            match = _SUITE_LINE.search(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if match and file.parent != own:
            found.add(match[1])
    return found


def _in_comments(folder: Path, suite: str) -> str:
    """How the files' comments name the folder: they travel to other machines, so never from the root."""
    text = folder.as_posix()
    travels = not folder.is_absolute() and folder.name and ".." not in folder.parts and text.isprintable()
    return shlex.quote(text) if travels else suite


def _schema(folder: Path) -> str | None:
    """The JSON Schema for editors, from this version's own models; None where it lies one folder up."""
    from nightgate.cases.schema import render
    from nightgate.starter import SCHEMA_FILE

    above = Path(os.path.realpath(folder)).parent / SCHEMA_FILE
    try:
        if _SCHEMA_TITLE in above.read_text(encoding="utf-8"):
            return None
    except (OSError, ValueError):
        pass
    return render()
