"""What CI keeps of a run, from the shell: JUnit XML, and the summary of a GitHub step."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from drill_lab import a_case, write_suite

from shell import DRILLS, SUPPORT, Ran, nightgate


def outcomes(file: Path) -> dict[tuple[str, str], str]:
    """The outcome of every test by class and name; the file's counts are checked on the way."""
    root = ET.parse(file).getroot()
    found = {}
    for suite in root:
        tests = suite.findall("testcase")
        tags = [next((c.tag for c in t if c.tag in ("failure", "error", "skipped")), "pass") for t in tests]
        counts = Counter(tags)
        assert suite.get("tests") == str(len(tests))
        assert [suite.get(name) for name in ("failures", "errors", "skipped")] == [
            str(counts[tag]) for tag in ("failure", "error", "skipped")
        ]
        names = [(t.get("classname", ""), t.get("name", "")) for t in tests]
        assert len(set(names)) == len(names)
        found |= dict(zip(names, tags, strict=True))
    return found


def run(folder: Path, *args: str | Path, summary: Path | None = None) -> tuple[Ran, Path]:
    """A run with JUnit output; the command's end and the file."""
    file = folder / "out.xml"
    env = {"GITHUB_STEP_SUMMARY": str(summary)} if summary is not None else {}
    return nightgate("run", *args, "--store", folder / "store", "--junit", file, env=env), file


def test_a_rejected_model_fails_its_cases_and_the_verdict(tmp_path: Path) -> None:
    """One test a case and evaluator, and one for the gate; the message does for a stranger."""
    ran, file = run(tmp_path, SUPPORT, "--model", "scripted:upgraded", "--trials", "3")

    assert ran.code == 1, ran.err
    found = outcomes(file)
    assert len(found) == 2 * 7 + 1
    assert {key for key, outcome in found.items() if outcome != "pass"} == {
        ("support.ToolPolicy", "refund-out-of-window"),
        ("support.ToolPolicy", "no-resolve-unconfirmed"),
        ("support.CitesSource", "refund-out-of-window"),
        ("support.gate", "verdict"),
    }
    messages = [failure.get("message") for failure in ET.parse(file).iter("failure")]
    assert "expected: search_kb called; observed: called no tool; 0 of 3 trials passed" in messages


def test_a_passing_run_is_green_all_over(tmp_path: Path) -> None:
    """Exit 0 and no failure, error or skip."""
    ran, file = run(tmp_path, SUPPORT)
    assert ran.code == 0, ran.err
    assert set(outcomes(file).values()) == {"pass"}


def test_every_status_of_the_drill_has_its_outcome(tmp_path: Path) -> None:
    """Throttled agents and a judge that is down are errors, what does not apply is skipped."""
    ran, file = run(tmp_path, DRILLS / "honest")

    assert ran.code == 1, ran.err
    assert outcomes(file) == {
        ("honest.CitesSource", "throttled"): "error",
        ("honest.CitesSource", "judge-down"): "pass",
        ("honest.CitesSource", "no-tone"): "pass",
        ("honest.CitesSource", "steady"): "pass",
        ("honest.CitesSource", "shaky"): "failure",
        ("honest.Criterion:tone", "throttled"): "error",
        ("honest.Criterion:tone", "judge-down"): "error",
        ("honest.Criterion:tone", "no-tone"): "skipped",
        ("honest.Criterion:tone", "steady"): "pass",
        ("honest.Criterion:tone", "shaky"): "pass",
        ("honest.gate", "verdict"): "failure",
    }
    suite = ET.parse(file).getroot()[0]
    coverage = {p.get("name"): p.get("value", "") for p in suite.findall("properties/property")}
    assert coverage["coverage.Criterion:tone"].startswith("judged 7 of 15: 3 not applicable (")
    assert "5 errors (judge: " in coverage["coverage.Criterion:tone"]


def test_a_run_in_which_nothing_applied_is_not_green(tmp_path: Path) -> None:
    """All its tests are skipped, which CI shows as harmless: the verdict's test errs."""
    cases = [a_case("one", expect={"answer": {"language": "en"}})]
    suite = write_suite(tmp_path / "s", cases, replies={"*": [{"say": "OK."}]})
    summary = tmp_path / "summary.md"

    ran, file = run(tmp_path, suite, summary=summary)

    assert ran.code == 3, ran.err
    assert outcomes(file) == {("drill.AnswerPolicy", "one"): "skipped", ("drill.gate", "verdict"): "error"}
    text = summary.read_text(encoding="utf-8")
    assert "INCONCLUSIVE: `drill`" in text.splitlines()[0]
    assert "| `AnswerPolicy` | not measured |" in text


@pytest.mark.parametrize(("threshold", "code"), [("0.5", 0), ("0.8", 1)])
def test_a_failure_is_red_exactly_where_the_gate_is(tmp_path: Path, threshold: str, code: int) -> None:
    """The exit code and the reporter's colour are one answer."""
    replies = {"*": [{"say": "Gladly. [KB-1]"}], "bad": [{"say": "Gladly."}]}
    cases = [a_case("good"), a_case("fine"), a_case("bad")]
    evaluators = {"CitesSource": {"threshold": threshold}}
    suite = write_suite(tmp_path / "s", cases, replies=replies, evaluators=evaluators)

    ran, file = run(tmp_path, suite)

    assert ran.code == code, ran.err
    assert (outcomes(file)["drill.CitesSource", "bad"] == "failure") is (code == 1)
    assert "observed: nothing cited" in file.read_text(encoding="utf-8")


def test_awkward_ids_are_found_by_their_id(tmp_path: Path) -> None:
    """Right-to-left text, an emoji, markup, a path: verbatim in the file."""
    ids = ["حالة الاسترداد", "réfund 🧾", "<b>&\"'", "../esc", "`tick` | @all"]
    suite = write_suite(tmp_path / "s", [a_case(case_id) for case_id in ids])
    ran, file = run(tmp_path, suite, summary=tmp_path / "summary.md")
    assert ran.code == 0, ran.err
    assert [name for _, name in outcomes(file)] == [*ids, "verdict"]


def test_the_step_summary_says_what_failed_and_what_to_do(tmp_path: Path) -> None:
    """The page that a pull request links to."""
    summary = tmp_path / "summary.md"

    ran, _ = run(tmp_path, SUPPORT, "--model", "scripted:upgraded", summary=summary)

    assert ran.code == 1
    lines = summary.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "## ❌ FAIL: `support`"
    assert "- `ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]`" in lines
    assert "  - expected: `exactly KB-101 cited`" in lines
    assert lines[-1].startswith(f"Next: `nightgate run {SUPPORT} --case refund-out-of-window ")


def test_steps_append_to_the_summary(tmp_path: Path) -> None:
    """Others write into the same file, before and after."""
    summary = tmp_path / "summary.md"
    summary.write_text("# Build\n", encoding="utf-8")
    run(tmp_path, SUPPORT, summary=summary)
    run(tmp_path, SUPPORT, "--model", "scripted:upgraded", summary=summary)
    heads = [line for line in summary.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert heads == ["# Build", "## ✅ PASS: `support`", "## ❌ FAIL: `support`", "### Failed"]


def test_several_suites_have_one_summary_and_one_file(tmp_path: Path) -> None:
    """The worst verdict stands first."""
    good = write_suite(tmp_path / "s", [a_case("one")])
    summary = tmp_path / "summary.md"

    ran, file = run(tmp_path, good, DRILLS / "honest", summary=summary)

    assert ran.code == 1, ran.err
    lines = summary.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# ❌ FAIL: 2 suites, 1 pass, 1 fail"
    assert [suite.get("name") for suite in ET.parse(file).getroot()] == ["drill", "honest"]


def test_nightly_writes_both_too(tmp_path: Path) -> None:
    """Through Prefect the outputs are the same."""
    shutil.copytree(SUPPORT, tmp_path / "cases" / "support")
    summary, file = tmp_path / "summary.md", tmp_path / "out.xml"

    ran = nightgate(
        "nightly", tmp_path / "cases", "--store", tmp_path / "store", "--junit", file,
        env={"GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip

    assert ran.code == 0, ran.err
    assert summary.read_text(encoding="utf-8").startswith("## ✅ PASS: `support`\n")
    assert set(outcomes(file).values()) == {"pass"}


@pytest.mark.parametrize("where", ["a folder", "under a file", "a missing folder"])
def test_a_summary_that_cannot_be_written_is_a_warning(tmp_path: Path, where: str) -> None:
    """The run was paid for: its verdict, its JSON and its exit code stay what they are."""
    (tmp_path / "file").write_text("in the way")
    paths = {
        "a folder": tmp_path,
        "under a file": tmp_path / "file" / "s.md",
        "a missing folder": tmp_path / "x/y",
    }
    summary = paths[where]
    env = {"GITHUB_STEP_SUMMARY": str(summary)}

    ran = nightgate("run", SUPPORT, "--store", tmp_path / "store", "--json", "-", env=env)

    assert ran.code == 0, ran.err
    assert ran.json["verdict"] == "pass"
    assert f"warning: GITHUB_STEP_SUMMARY {summary}: cannot be written: " in ran.err


def test_a_summary_that_is_full_stays_as_it_is(tmp_path: Path) -> None:
    """Above 1 MiB GitHub drops all of it, what others wrote included."""
    summary = tmp_path / "summary.md"
    summary.write_text("x" * 1_000_000)

    ran, _ = run(tmp_path, SUPPORT, summary=summary)

    assert ran.code == 0
    assert summary.stat().st_size == 1_000_000
    assert "is full" in ran.err


@pytest.mark.parametrize("value", [None, ""])
def test_without_the_variable_nothing_is_written(tmp_path: Path, value: str | None) -> None:
    """At a desk there is no step."""
    env = {} if value is None else {"GITHUB_STEP_SUMMARY": value}
    ran = nightgate("run", SUPPORT, "--store", tmp_path / "store", cwd=tmp_path, env=env)
    assert ran.code == 0, ran.err
    assert "GITHUB_STEP_SUMMARY" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
