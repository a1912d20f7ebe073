"""The workflow for CI is one that works: real commands, suites that exist, no secret and no paid call."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from ruamel.yaml import YAML

from nightgate.cases import load_suite
from nightgate.cli.parser import build_parser
from shell import ROOT

FILE = ROOT / ".github" / "workflows" / "evals.yml"
WORKFLOW: dict[str, Any] = YAML(typ="safe", pure=True).load(FILE)
(JOB,) = WORKFLOW["jobs"].values()
PREFIX = ["uv", "run", "--no-sync", "nightgate"]


def commands() -> list[list[str]]:
    """The words after ``nightgate`` of each step that runs it."""
    steps = [shlex.split(step["run"]) for step in JOB["steps"] if "run" in step]
    return [words[len(PREFIX) :] for words in steps if words[: len(PREFIX)] == PREFIX]


def the_run() -> list[str]:
    (words,) = (words for words in commands() if words[0] == "run")
    return words


def test_every_command_parses() -> None:
    """A flag that was renamed would turn every pull request red."""
    assert [build_parser().parse_args(words).command for words in commands()] == ["check", "run"]


def test_no_step_hides_a_command() -> None:
    """Shell operators would put what runs, and its exit code, out of these tests' sight."""
    for step in JOB["steps"]:
        assert not re.search(r"[|&;`$\n]", step.get("run", "").strip())


def test_what_is_checked_is_what_runs() -> None:
    """A suite in one list only is a suite that nobody sees break."""
    check, run = (build_parser().parse_args(words) for words in commands())

    assert check.suites == run.suites


def test_the_suites_play_scripted_models() -> None:
    """The default models of a suite are what a run without flags pays for."""
    for path in build_parser().parse_args(the_run()).suites:
        suite = load_suite(ROOT / path)
        models = [suite.model, suite.judge or "scripted:none"]

        assert [model for model in models if not model.startswith("scripted:")] == []


def test_conversations_are_left_out_and_nothing_else() -> None:
    """A conversation needs a second model; the other layers are all there."""
    layers = build_parser().parse_args(the_run()).layer

    assert set(layers) == {"behavior", "parameter", "quality", "skill"}


def test_a_paid_call_cannot_be_made() -> None:
    """A cap below the price of any call, and not 0, which no scripted call would survive either."""
    args = build_parser().parse_args(the_run())

    assert 0 < float(args.budget_usd) <= 0.00001
    assert not args.allow_unpriced
    assert (args.live, args.model, args.judge, args.user) == (None, None, None, None)


def test_no_secret_is_used() -> None:
    """Pull requests from forks have none, and what is not there cannot leak."""
    text = FILE.read_text(encoding="utf-8")

    assert "secrets." not in text
    assert "_KEY" not in text
    assert "pull_request_target" not in text
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in WORKFLOW["jobs"].values())


def test_every_action_has_a_version() -> None:
    """A branch name runs whatever is pushed to it."""
    used = [step["uses"] for step in JOB["steps"] if "uses" in step]

    assert used
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+(\.\d+)*|[0-9a-f]{40})", action) for action in used)


def test_it_ends_and_is_not_run_twice_at_once() -> None:
    """A push makes the run of the push before it pointless."""
    assert 0 < JOB["timeout-minutes"] <= 30
    assert WORKFLOW["concurrency"]["cancel-in-progress"] is True
    assert "github.ref" in WORKFLOW["concurrency"]["group"]


def test_what_the_run_writes_is_uploaded_also_when_it_fails() -> None:
    """The files matter most on a red run."""
    args = build_parser().parse_args(the_run())
    (upload,) = (step for step in JOB["steps"] if step.get("uses", "").startswith("actions/upload-artifact"))

    assert upload["if"] == "${{ !cancelled() }}"
    assert all(path.startswith(upload["with"]["path"]) for path in (args.junit, args.json))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the very command of the workflow ran, with nothing in its environment."""
    here = tmp_path_factory.mktemp("checkout")
    (here / "cases").symlink_to(ROOT / "cases")

    done = subprocess.run(
        [sys.executable, "-m", "nightgate.cli", *the_run()],
        capture_output=True, text=True, cwd=here, env={"GITHUB_STEP_SUMMARY": str(here / "summary.md")},
        timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    return here


def test_the_command_passes_with_an_empty_environment(finished: Path) -> None:
    """No account, no key, no server: what a fork's pull request has."""
    document = json.loads((finished / "results" / "summary.json").read_text(encoding="utf-8"))

    named = [Path(path).name for path in build_parser().parse_args(the_run()).suites]
    assert [run["suite"] for run in document["runs"]] == named
    assert all(run["verdict"] == "pass" and run["cost_usd"]["total"] == 0 for run in document["runs"])
    assert all(run["calls"]["total"] for run in document["runs"])


def test_the_command_leaves_junit_and_a_summary(finished: Path) -> None:
    """What the job's page and its artifact show."""
    suites = ET.parse(finished / "results" / "junit.xml").getroot()  # our own file

    assert len(list(suites.iter("testcase"))) > 0
    assert (finished / "summary.md").read_text(encoding="utf-8")


def test_a_priced_model_is_stopped_before_its_first_call(tmp_path: Path) -> None:
    """The guard itself, with a key that a careless runner might have."""
    words = the_run()
    (tmp_path / "cases").symlink_to(ROOT / "cases")

    done = subprocess.run(
        [sys.executable, "-m", "nightgate.cli", *words[:2], *words[words.index("--layer") :],
         "--model", "openai-responses:gpt-6-luna"],
        capture_output=True, text=True, cwd=tmp_path, env={"OPENAI_API_KEY": "none"},
        timeout=300, check=False,
    )  # fmt: skip

    assert done.returncode == 4, done.stdout + done.stderr
    document = json.loads((tmp_path / "results" / "summary.json").read_text(encoding="utf-8"))
    assert document["calls"]["total"] == 0
