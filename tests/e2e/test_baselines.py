"""Baselines from the shell: promoted by hand, compared with, judged again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shell import Ran, nightgate

CASES = 24


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """24 cases that ask for a word and for a judge's yes; ``scripted:worse`` breaks ten of them."""
    folder = tmp_path / "words"
    (folder / "scripts").mkdir(parents=True)
    (folder / "suite.yaml").write_text(
        "suite: words\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:good\n"
        "judge: scripted:judge\nevaluators:\n"
        "  AnswerPolicy: {threshold: 0.5}\n  Criterion:polite: {threshold: 0.5}\n"
    )
    expect = {"answer": {"contains": ["hello"]}, "judge": [{"id": "polite", "criterion": "Is it polite?"}]}
    cases = [
        {"id": f"c{n}", "input": f"q{n}", "context": {"customer_id": "C-17"}, "expect": expect}
        for n in range(CASES)
    ]
    (folder / "cases.yaml").write_text(json.dumps({"cases": cases}))
    hello, bye = [{"say": "Hello."}], [{"say": "Bye."}]
    worse = {"*": hello, **{f"c{n}": bye for n in range(10)}}
    for name, replies in (("good", {"*": hello}), ("worse", worse)):
        (folder / "scripts" / f"{name}.yaml").write_text(json.dumps({"replies": replies}))
    write_judge(folder, "best")
    return folder


def write_judge(folder: Path, fields: str) -> None:
    """The judge's script."""
    script = {"judgements": {"Criterion:polite": {"*": {"fields": fields}}}}
    (folder / "scripts" / "judge.yaml").write_text(json.dumps(script))


class Shell:
    """Commands over one store."""

    def __init__(self, suite: Path, store: Path) -> None:
        self.suite, self.store = suite, store

    def __call__(self, *words: str | Path) -> Ran:
        return nightgate(*words, "--store", self.store)

    def run(self, run_id: str, *more: str | Path) -> Ran:
        """One night."""
        return self("run", self.suite, "--run-id", run_id, "--judge", "scripted:judge", "--json", "-", *more)


@pytest.fixture
def shell(suite: Path, tmp_path: Path) -> Shell:
    return Shell(suite, tmp_path / "store")


def rule(suite: Path, text: str) -> None:
    """Give the suite the rule."""
    file = suite / "suite.yaml"
    file.write_text(f"{file.read_text()}gate: {{regression: {text}}}\n")


def test_a_night_that_is_worse_than_the_baseline_names_what_broke_and_what_changed(shell: Shell) -> None:
    """And the next person finds the same through `compare`."""
    shell.run("first")
    promoted = shell("promote", "first")

    night = shell.run("second", "--model", "scripted:worse")

    assert (promoted.code, promoted.out) == (0, "first is the baseline of words now\n")
    found = night.json["comparison"]
    assert (night.json["baseline"], found["verdict"]) == ("first", "regressed")
    assert [flip["case"] for flip in night.json["changes"]["newly_broken"]] == [f"c{n}" for n in range(10)]
    assert [factor["part"] for factor in found["factors"]] == ["model"]
    assert "baseline: regressed against first: AnswerPolicy 100% -> 58.3%" in night.err
    compared = shell("compare", "baseline", "second", "--json", "-")
    assert (compared.code, compared.json["answer"]) == (1, "no, it got worse")
    assert compared.json["runs"][0]["comparison"] == found


def test_the_rule_fails_the_gate_and_gating_again_says_the_same(shell: Shell) -> None:
    """Both thresholds are met; the fall is what fails it."""
    rule(shell.suite, "{max_drop: 0.03}")
    shell.run("first")
    shell("promote", "first")

    night = shell.run("second", "--model", "scripted:worse")

    assert (night.code, night.json["verdict"]) == (1, "fail")
    assert night.json["findings"][0]["text"].startswith(
        "AnswerPolicy: fell by 41.7 points against the baseline"
    )
    assert shell("gate", "second", "--json", "-").json["findings"] == night.json["findings"]


def test_a_run_that_failed_cannot_be_promoted_without_a_reason(shell: Shell) -> None:
    """Exit 1 and what to do; --force alone is not enough."""
    shell.suite.joinpath("suite.yaml").write_text(
        shell.suite.joinpath("suite.yaml").read_text().replace("threshold: 0.5", "threshold: 1.0")
    )
    shell.run("bad", "--model", "scripted:worse")

    refused, bare = shell("promote", "bad"), shell("promote", "bad", "--force")
    forced = shell("promote", "bad", "--force", "--why", "first night ever")

    assert (refused.code, bare.code, forced.code) == (1, 2, 0)
    assert "its gate failed" in refused.err
    assert "--force needs --why TEXT" in bare.err
    assert "forced: first night ever" in forced.out


def test_a_named_base_is_checked_before_anything_is_spent(shell: Shell) -> None:
    """Exit 2, and no run is there."""
    done = shell.run("second", "--baseline", "nowhere")

    assert done.code == 2
    assert "no run 'nowhere'" in done.err
    assert not (shell.store / "runs").exists()


def test_a_filtered_run_is_compared_on_its_cases(shell: Shell) -> None:
    """The other 23 are not removed."""
    shell.run("first")
    shell("promote", "first")

    found = shell.run("one", "--case", "c3", "--model", "scripted:worse").json

    assert (found["comparison"]["removed"], found["comparison"]["cases"]) == ([], 1)
    assert [flip["case"] for flip in found["changes"]["newly_broken"]] == ["c3"]


def calls(shell: Shell, summary: dict[str, Any]) -> int:
    """Model calls of a sweep."""
    ledger = sorted(Path(shell.store).glob(f"calls/words/*/{summary['run_id']}/*.parquet"))
    import pyarrow.parquet as pq

    return sum(pq.ParquetFile(part).metadata.num_rows for part in ledger)


def test_a_new_judge_is_comparable_after_sweep_baseline(shell: Shell) -> None:
    """It judges the stored trials again, once, and only what the change is about."""
    shell.run("first")
    shell("promote", "first")
    write_judge(shell.suite, "worst")
    before = shell.run("second").json["comparison"]

    swept = shell("sweep", "baseline", "--json", "-")
    after = shell.run("third").json["comparison"]
    again = shell("sweep", "baseline")

    assert before["verdict"] == "not comparable"
    assert "nightgate sweep baseline" in before["text"]
    assert [e["name"] for e in swept.json["evaluators"]] == ["Criterion:polite"]
    assert calls(shell, swept.json) == CASES
    assert after["verdict"] == "inconclusive"
    polite = next(e for e in after["evaluators"] if e["name"] == "Criterion:polite")
    assert (polite["before"], polite["now"]) == (0.0, 0.0)
    assert (again.code, again.out) == (0, "first: today's judges found all that is there\n")


def test_a_bare_baseline_is_that_of_the_other_runs_suite(shell: Shell) -> None:
    """Two suites in the store; alone the word is refused with the list."""
    shell.run("first")
    shell("promote", "first")
    shell.run("second")
    nightgate("init", shell.suite.parent / "other")
    shell("run", shell.suite.parent / "other", "--run-id", "elsewhere")

    compared, alone = shell("compare", "baseline", "second"), shell("gate", "baseline")

    assert compared.code == 3, compared.err
    assert alone.code == 2
    assert "2 suites, say whose: baseline:words" in alone.err


@pytest.mark.parametrize("name", ["plan.json", "summary.json"])
@pytest.mark.parametrize("content", ["[]", '{"run_id": "base'])
def test_a_damaged_file_of_the_baseline_leaves_new_runs_decided(
    shell: Shell, name: str, content: str
) -> None:
    """A run that is played and paid for is committed whatever became of an older one."""
    assert shell.run("base").code == 0
    assert shell("promote", "base").code == 0
    (shell.store / "runs" / "base" / name).write_text(content)

    ran = shell.run("next")

    assert ran.code == 0
    summary = json.loads(ran.out)
    assert (summary["complete"], summary["verdict"]) == (True, "pass")
    if name == "plan.json":
        assert "runs/base/plan.json is no plan" in summary["changes"]["not_comparable"][0]["reason"]


def test_help_says_what_the_exit_codes_of_compare_mean(shell: Shell) -> None:
    """A pipeline hangs on them."""
    text = " ".join(nightgate("compare", "--help").out.split())

    assert "0 improved, or no relevant change; 1 a run regressed" in text
