"""The sample suite from the shell: what the README promises a stranger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shell import ROOT, SUPPORT, nightgate


def test_baseline_passes_everything(tmp_path: Path) -> None:
    """The first command of the README: green, and it says how many it measured."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path, "--json", "-")

    assert ran.code == 0, ran.err
    counts = {e["name"]: (e["passed"], e["planned"], e["verdict"]) for e in ran.json["evaluators"]}
    assert counts == {"ToolPolicy": (7, 7, "pass"), "CitesSource": (7, 7, "pass")}


def test_upgraded_model_is_rejected_for_the_right_reasons(tmp_path: Path) -> None:
    """Nothing differs but the model, and the gate names evaluator, rate, threshold and cases."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path, "--model", "scripted:upgraded")

    assert ran.code == 1
    lines = ran.out.splitlines()
    assert "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]" in lines
    assert "CitesSource: 86% < 100%, failed [refund-out-of-window]" in lines
    assert "missing search_kb" in ran.out
    assert "forbidden resolve_case" in ran.out
    assert "cited nothing, expected KB-101" in ran.out


def test_judges_are_planned_once_one_is_named(tmp_path: Path) -> None:
    """21 trials and 84 ratings, as the reference has it."""
    ran = nightgate(
        "run", SUPPORT, "--store", tmp_path, "--trials", "3", "--judge", "scripted:judge", "--json", "-"
    )

    assert ran.code == 0, ran.err
    assert ran.json["trials"]["planned"] == 21
    judged = [e for e in ran.json["evaluators"] if e["threshold"] == "0.85"]
    assert sum(e["planned"] for e in judged) == 84


@pytest.mark.parametrize(("worst", "code"), [(3, 0), (4, 1)])
def test_three_of_21_ratings_may_fail_and_a_fourth_blocks(tmp_path: Path, worst: int, code: int) -> None:
    """0.85 of 21 is no whole number; no rounding may decide it."""
    suite = tmp_path / "support"
    copy_suite(suite)
    judge = suite / "scripts" / "judge.yaml"
    bad = [f"    {case}: {{trials: {trials(n)}}}" for case, n in spread(worst)]
    judge.write_text(
        "\n".join(
            ["judgements:", "  HelpfulnessEvaluator:", '    "*": {fields: best}', *bad]
            + [
                f'  {name}: {{"*": {{fields: best}}}}'
                for name in ("CorrectnessEvaluator", "ResponseRelevanceEvaluator", "FaithfulnessEvaluator")
            ]
        )
    )

    ran = nightgate(
        "run", suite, "--store", tmp_path / "s", "--trials", "3", "--judge", "scripted:judge", "--json", "-"
    )

    assert ran.code == code, ran.err
    helpful = next(e for e in ran.json["evaluators"] if e["name"] == "HelpfulnessEvaluator")
    assert (helpful["passed"], helpful["failed"]) == (21 - worst, worst)


def test_flaky_case_is_printed_with_its_count(tmp_path: Path) -> None:
    """Two of three is no pass at 1.0, and no plain failure either."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path, "--model", "scripted:flaky", "--trials", "3")

    assert ran.code == 1
    assert "FLAKY 2/3 refund-in-window (ToolPolicy)" in ran.out.splitlines()


def test_gate_on_stored_rows_repeats_the_verdict(tmp_path: Path) -> None:
    """The same rows, the same answer, with no model near."""
    nightgate("run", SUPPORT, "--store", tmp_path, "--model", "scripted:upgraded")

    ran = nightgate("gate", "latest", "--store", tmp_path)

    assert ran.code == 1
    assert "CitesSource: 86% < 100%, failed [refund-out-of-window]" in ran.out


def test_json_on_stdout_is_all_of_stdout_and_equals_the_stored_summary(tmp_path: Path) -> None:
    """Scripts pipe it; progress belongs on stderr."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path, "--run-id", "r-1", "--json", "-")

    assert ran.json == json.loads((tmp_path / "runs" / "r-1" / "summary.json").read_text())


def copy_suite(target: Path) -> None:
    """The sample suite, to be changed."""
    import shutil

    shutil.copytree(ROOT / "cases" / "support", target)


def spread(failures: int) -> list[tuple[str, int]]:
    """Failures over two cases: three in one, the rest in another."""
    return [
        (case, n)
        for case, n in (("refund-in-window", min(3, failures)), ("report-repair", failures - 3))
        if n > 0
    ]


def trials(failures: int) -> str:
    """Three trials of which the first ``failures`` are rated worst."""
    return "[" + ", ".join("{fields: worst}" if i < failures else "{fields: best}" for i in range(3)) + "]"
