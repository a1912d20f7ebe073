"""The runbook speaks of what is there: commands, parameters, outputs, files."""

from __future__ import annotations

import re

import pytest

from infra.templates import Template
from nightgate.cli.parser import build_parser
from shell import ROOT

PAGE = (ROOT / "infra" / "README.md").read_text(encoding="utf-8")
TEMPLATE = Template().raw


def test_every_command_parses() -> None:
    """Those in the running text and those that a task is overridden with."""
    told = re.findall(r"`nightgate ([^`]+)`", PAGE)
    told += [
        " ".join(re.findall(r'"([^"]+)"', words)) for words in re.findall(r'\["nightgate",([^]]+)\]', PAGE)
    ]

    assert len(told) > 5
    for words in told:
        assert build_parser().parse_args(words.split()).command


def test_every_parameter_of_the_deployment_exists_and_none_that_is_needed_is_missing() -> None:
    """Copied from the page it has to work."""
    (command,) = re.findall(r"--parameter-overrides (.*?)\n\n", PAGE, re.DOTALL)
    given = set(re.findall(r"(\w+)=", command))
    needed = {name for name, one in TEMPLATE["Parameters"].items() if "Default" not in one}

    assert needed <= given <= TEMPLATE["Parameters"].keys()


@pytest.mark.parametrize("name", re.findall(r"`([A-Z][A-Za-z]+)(?:=[^`]*)?`", PAGE))
def test_every_name_of_the_template_is_one(name: str) -> None:
    """A parameter, an output or a resource."""
    elsewhere = {"FROM", "AUTH", "IfExists", "SET", "Dockerfile", "RunsCompleted"}
    known = TEMPLATE["Parameters"].keys() | TEMPLATE["Outputs"].keys() | TEMPLATE["Resources"].keys()

    assert name in known | elsewhere


def test_every_file_of_the_folder_is_told_of() -> None:
    """And none that is not there."""
    files = {
        path.name for path in (ROOT / "infra").iterdir() if path.is_file() and not path.name.startswith(".")
    }
    (table,) = re.findall(r"\| file \| is \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.DOTALL)
    told = {name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])}

    assert files - {"README.md", "Dockerfile.dockerignore"} == told
