"""The page for newcomers is true: its outputs are printed, its tables complete, its examples run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from nightgate.cases.models import LOADER_FILLED, Suite
from nightgate.cases.script_steps import Raise, Step, Stop
from nightgate.cli.parser import build_parser
from shell import ROOT, Ran, environment, nightgate

PAGE = ROOT / "docs" / "starting.md"
TEXT = PAGE.read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """The page's fenced blocks in one language."""
    return [text for found, text in FENCE.findall(TEXT) if found == language]


def first_column(heading: str) -> list[str]:
    """What the first cells of the table under a heading name."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [row.strip("|").split("|")[0] for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)[2:]]
    return [name for cell in cells for name in re.findall(r"`(\w+)[^`]*`", cell)]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A starter in ``cases/desk`` of an empty folder."""
    assert nightgate("init", "cases/desk", cwd=tmp_path).code == 0
    return tmp_path


@pytest.mark.parametrize("number", range(3))
def test_the_outputs_are_what_the_commands_print(tmp_path: Path, number: int) -> None:
    """Nobody improves what a newcomer compares with an own screen."""
    command, *shown = blocks("text")[number].splitlines()
    words = shlex.split(command)[2:]
    if words[0] != "init":
        nightgate("init", "cases/desk", cwd=tmp_path)

    ran = nightgate(*words, cwd=tmp_path)

    printed = ran.out.splitlines()
    assert [line for line in shown if line not in printed] == []
    assert ran.code == (1 if "scripted:broken" in words else 0)
    if words[0] != "run":
        assert shown == printed


def test_every_command_parses() -> None:
    """A command that was renamed is renamed here."""
    lines = [line for block in blocks("bash") for line in block.splitlines()]

    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        assert words[0] == "nightgate"
        build_parser().parse_args(words[1:])


def test_the_table_of_keys_is_complete() -> None:
    """What is not on the page is looked for in the code."""
    written = {str(field.validation_alias or name) for name, field in Suite.model_fields.items()}

    assert set(first_column("suite.yaml")) == written - LOADER_FILLED[Suite]


def test_the_table_of_steps_is_complete() -> None:
    """A script is the first thing that a newcomer writes."""
    known = {field.alias or name for name, field in Step.model_fields.items()}

    assert set(first_column("Scripts")) == known


@pytest.mark.parametrize("name", [*get_args(Raise), *get_args(Stop)])
def test_every_way_to_fail_is_named(name: str) -> None:
    """They are the values of ``raise`` and ``stop``."""
    assert f"`{name}`" in TEXT or f": {name}`" in TEXT


def test_every_written_file_is_explained(desk: Path) -> None:
    """The table and the folder are the same."""
    files = {str(path.relative_to(desk / "cases" / "desk")) for path in (desk / "cases").rglob("*.*")}

    section = TEXT.partition("| file | holds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)) == files


def run_in(desk: Path, *words: str) -> Ran:
    return nightgate("run", "cases/desk", *words, cwd=desk)


def test_the_factory_of_the_page_builds_an_agent(desk: Path) -> None:
    """A complete example is one that works when it is copied."""
    (desk / "cases" / "desk" / "desk_factory.py").write_text(blocks("python")[0], encoding="utf-8")

    ran = run_in(desk, "--case", "out-of-scope")

    assert ran.code == 0, ran.out + ran.err


@pytest.fixture
def first_case(desk: Path) -> Path:
    """The page's case with its two replies, as a newcomer would copy them."""
    case = next(block for block in blocks("yaml") if "id: closed-on-monday" in block)
    good = next(block for block in blocks("yaml") if block.startswith("  closed-on-monday:"))
    bad = next(block for block in blocks("yaml") if block.startswith("replies:\n  closed-on-monday:"))
    folder = desk / "cases" / "desk"
    (folder / "complaints.yaml").write_text(case, encoding="utf-8")
    (folder / "scripts" / "bad.yaml").write_text(bad, encoding="utf-8")
    script = folder / "scripts" / "baseline.yaml"
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("replies:\n", f"replies:\n{good}", 1), encoding="utf-8")
    return desk


def test_the_first_case_of_the_page_passes(first_case: Path) -> None:
    """The case, its reply, the two commands."""
    check = nightgate("check", "cases/desk", cwd=first_case)
    ran = run_in(first_case, "--case", "closed-on-monday")

    assert "desk: 8 cases" in check.out
    assert "warning" not in check.out
    assert ran.code == 0, ran.out + ran.err


def test_the_first_case_of_the_page_fails_with_the_bad_reply(first_case: Path) -> None:
    """The page promises a second run that fails, and shows it."""
    command, *shown = blocks("text")[3].splitlines()

    ran = nightgate(*shlex.split(command)[2:], cwd=first_case)

    assert ran.code == 1
    assert [line for line in shown if line not in ran.out.splitlines()] == []


def test_a_misspelt_tool_is_a_warning_where_the_page_says(first_case: Path) -> None:
    """Before the run, at its end, in the JSON; not in `check`, which builds no agent."""
    file = first_case / "cases" / "desk" / "complaints.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("tool: opening_hours", "tool: opening_hour"), encoding="utf-8")
    warning = "names the tool 'opening_hour', which the agent does not offer; did you mean 'opening_hours'?"

    ran = run_in(first_case, "--case", "closed-on-monday", "--json", "summary.json")

    summary = json.loads((first_case / "summary.json").read_text(encoding="utf-8"))
    assert warning in ran.err
    assert warning in ran.out
    assert [found for found in summary["warnings"] if warning in found]
    assert "warning" not in nightgate("check", "cases/desk", cwd=first_case).out


def test_the_flaky_script_of_the_page_is_flaky(desk: Path) -> None:
    """It passes the first trial, fails the second and passes the third."""
    script = next(block for block in blocks("yaml") if "trials:\n" in block)
    (desk / "cases" / "desk" / "scripts" / "flaky.yaml").write_text(script, encoding="utf-8")

    ran = run_in(desk, "--model", "scripted:flaky", "--case", "opening-hours-en", "--trials", "3")

    assert ran.code == 1
    assert "FLAKY 2/3 opening-hours-en" in ran.out


def test_the_pytest_example_runs_one_test_a_case(desk: Path) -> None:
    """Seven ids, seven passes, none skipped."""
    (desk / "test_desk.py").write_text(blocks("python")[1], encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_desk.py"],
        capture_output=True, text=True, cwd=desk, env=environment(), timeout=180, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout
