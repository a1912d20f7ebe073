"""``nightgate check`` plans what ``nightgate run`` with the same flags would play."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from drill_lab import a_case, command, write_suite

from shell import ROOT, SUPPORT, environment, nightgate


def first_line(*words: str | Path) -> str:
    """The line about the grid."""
    return command("check", *words).out.splitlines()[0]


def test_check_plans_the_model_and_the_cases_that_it_is_given() -> None:
    """One case with another script, before it is played."""
    assert first_line(SUPPORT, "--model", "scripted:upgraded", "--case", "refund-out-of-window") == (
        "support: 1 case, 1 trial, 2 cells (scripted:upgraded)"
    )


def test_check_and_run_plan_the_same_grid(tmp_path: Path) -> None:
    """The flags have one meaning."""
    flags = ["--model", "scripted:flaky", "--judge", "scripted:judge", "--trials", "2", "--tag", "refund"]

    planned = command("check", SUPPORT, *flags, "--json", "-").json
    ran = command("run", SUPPORT, *flags, "--store", tmp_path, "--json", "-").json

    assert (planned["trials"], planned["cells"]) == (ran["trials"]["planned"], ran["cells"]["planned"])
    assert [row["name"] for row in planned["evaluators"]] == [row["name"] for row in ran["evaluators"]]
    assert (planned["model"], planned["judge"]) == (ran["model"], ran["judge"])


def test_check_takes_layers_and_stages(tmp_path: Path) -> None:
    """As `run` does, also for what matches nothing."""
    suite = write_suite(
        tmp_path / "s", [a_case("one", layer="quality"), a_case("two", stage="capability"), a_case("three")]
    )

    assert first_line(suite, "--layer", "quality").startswith("drill: 1 case, ")
    assert first_line(suite, "--stage", "capability").startswith("drill: 1 case, ")
    wrong = command("check", suite, "--layer", "qualtiy")
    assert (wrong.code, wrong.out) == (2, "")
    assert "the nearest is 'quality'" in wrong.err


def test_check_warns_of_replies_that_the_given_script_has_not(tmp_path: Path) -> None:
    """A script stands alone: it does not inherit the suite's replies."""
    suite = write_suite(tmp_path / "s", [a_case("one"), a_case("two")])
    (suite / "scripts" / "bad.yaml").write_text("replies: {one: [{say: hm}]}\n", encoding="utf-8")

    all_cases = command("check", suite, "--model", "scripted:bad")
    one_case = command("check", suite, "--model", "scripted:bad", "--case", "one")

    assert f"warning: {suite}/scripts/bad.yaml: has no replies for 'two'" in all_cases.out
    assert "warning" not in one_case.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--model", "scripted:flak"], "there is no scripts/flak.yaml; did you mean 'flaky'?"),
        (["--model", "gpt-5"], "'gpt-5' names no model"),
        (["--judge", "nobody:x"], "'nobody:x' names no model"),
        (["--user", "scripted:nobody"], "there is no scripts/nobody.yaml"),
        (["--prices", "/no/such/file.yaml"], "/no/such/file.yaml"),
        (["--trials", "0"], "must be at least 1"),
        (["--case", "refund-out-of-windw"], "the nearest is 'refund-out-of-window'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_check_refuses_what_run_refuses(flags: list[str], said: str) -> None:
    """Exit 2 and one line, before anything is spent."""
    ran = command("check", SUPPORT, *flags)

    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_check_uses_the_prices_that_it_is_given(tmp_path: Path) -> None:
    """A model that the bundled table does not know has a price then."""
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "version: mine\nprices:\n  - {models: ['openai:own'], input: 1.0, output: 1.0, as_of: 2026-10-12, "
        "source: https://example.com}\n",
        encoding="utf-8",
    )

    unknown = command("check", SUPPORT, "--model", "openai:own", "--json", "-").json
    known = command("check", SUPPORT, "--model", "openai:own", "--prices", prices, "--json", "-").json

    assert unknown["cost_usd"]["agent"] is None
    assert known["cost_usd"]["agent"] > 0


def test_check_reads_the_settings_that_run_reads() -> None:
    """In CI the model stands in a variable for both."""
    ran = nightgate("check", SUPPORT, env={"NIGHTGATE_MODEL": "scripted:upgraded", "NIGHTGATE_TRIALS": "2"})

    assert ran.out.startswith("support: 7 cases, 14 trials, 28 cells (scripted:upgraded)")


def test_a_judge_that_no_cell_uses_is_not_named() -> None:
    """The suite pins one for `--live`; a run with scripts never asks it."""
    assert "judge" not in first_line(SUPPORT)
    assert "judge scripted:judge" in first_line(SUPPORT, "--judge", "scripted:judge")


def test_the_simulated_user_is_named_where_somebody_talks() -> None:
    """And nowhere else."""
    talking = ROOT / "cases" / "appointments"

    assert first_line(talking).endswith("(scripted:baseline, user scripted:user)")
    assert "user" not in first_line(SUPPORT)


def test_long_evaluator_names_keep_the_columns() -> None:
    """The longest one sets the width."""
    rows = [line for line in command("check", ROOT / "cases" / "skills").out.splitlines() if "wanted" in line]

    assert len({line.index(" wanted") for line in rows}) == 1
    assert len({line.index("code " if "code " in line else "judge ") for line in rows}) == 1


def test_every_suite_that_cannot_be_checked_is_told_at_once(tmp_path: Path) -> None:
    """Files and flags alike."""
    broken = tmp_path / "broken"
    shutil.copytree(SUPPORT, broken)
    (broken / "suite.yaml").write_text("suite: x\n", encoding="utf-8")

    ran = command("check", broken, SUPPORT, "--layer", "skill")

    assert ran.code == 2
    assert "key 'agent' is missing" in ran.err
    assert "--layer 'skill' matches no case" in ran.err


def test_check_with_all_its_flags_imports_no_heavy_library() -> None:
    """It is run while one types; it answers in half a second."""
    code = (
        "import sys; from nightgate.cli import main; "
        f"main(['check', {str(SUPPORT)!r}, '--judge', 'scripted:judge', '--layer', 'behavior']); "
        "print([m for m in ('strands', 'strands_evals', 'prefect', 'boto3', 'pyarrow') if m in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, env=environment(), timeout=60, check=True,
    )  # fmt: skip

    assert done.stdout.splitlines()[-1] == "[]"
