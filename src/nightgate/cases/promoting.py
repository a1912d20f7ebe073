"""A capability case becomes a regression case: its file is edited in place, by one word.

Owns the edit. Nothing but the value of ``stage`` moves, so comments, order and layout stay as people wrote
them. ruamel.yaml is imported on first use.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from nightgate.cases.models import Case, Suite
from nightgate.cases.problems import did_you_mean
from nightgate.errors import InputError

_WORD = re.compile(r"""(["']?)capability\1""")
_JSON_STAGE = re.compile(r'("stage"\s*:\s*)"capability"')


def promoted(suite: Suite, case_id: str) -> Path | None:
    """Let a case gate from the next run on.

    Args:
        suite: As loaded.
        case_id: The case's id, verbatim.

    Returns:
        The file that was edited; None where the case gates already.

    Raises:
        InputError: If there is no such case, or its stage stands where one edit cannot reach it.
    """
    case = next((case for case in suite.cases if case.id == case_id), None)
    if case is None:
        names = [case.id for case in suite.cases]
        msg = f"{suite.file}: no case {case_id!r}{did_you_mean(case_id, names)}"
        raise InputError(msg)
    if case.stage == "regression":
        return None
    text = case.path.read_bytes().decode("utf-8")
    edited = _edited_line(case, text) if case.path.suffix == ".jsonl" else _edited_yaml(case, text)
    if edited is None:
        msg = f"{case.where}: case {case_id!r}: its stage comes from elsewhere (an alias?): edit it by hand"
        raise InputError(msg)
    temporary = case.path.with_name(f".{case.path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(edited.encode("utf-8"))
        temporary.chmod(case.path.stat().st_mode)
        temporary.replace(case.path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        msg = f"{case.path}: cannot be written: {error.strerror or error}"
        raise InputError(msg) from error
    return case.path


def _edited_line(case: Case, text: str) -> str | None:
    """A JSONL file with the word on the case's line exchanged."""
    lines = text.split("\n")
    line = lines[case.line - 1]
    found = _JSON_STAGE.sub(r'\1"regression"', line, count=1)
    if json.loads(found).get("stage") != "regression" or len(_JSON_STAGE.findall(line)) != 1:
        return None
    lines[case.line - 1] = found
    return "\n".join(lines)


def _edited_yaml(case: Case, text: str) -> str | None:
    """A YAML file with the word at the place of the case's stage exchanged."""
    from ruamel.yaml import YAML

    place = _place(YAML(typ="rt").load(text), case)
    if place is None:
        return None
    lines = text.split("\n")
    line, column = place
    start, rest = lines[line][:column], lines[line][column:]
    found = _WORD.match(rest)
    if found is None:
        return None
    lines[line] = f"{start}{found[1]}regression{found[1]}{rest[found.end() :]}"
    return "\n".join(lines)


def _place(document: Any, case: Case) -> tuple[int, int] | None:
    """Line and column of the stage's value, from 0; None where the case has none of its own."""
    listed = document["cases"]
    for position, found in enumerate(listed):
        # The loader counts lines from 1, at the first key of the case.
        if listed.lc.item(position)[0] == case.line - 1 and "stage" in found:
            line, column = found.lc.value("stage")
            return int(line), int(column)
    return None
