"""A thousand stored trials of the support suite, two judges and two evaluators: what is called, and by whom.

Judges and agent count their own calls; the ledger is held against that.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from drill_lab import command

from shell import SUPPORT, Ran

CASES, TRIALS = 5, 1000
JUDGES = ("import:counted_models:one", "import:counted_models:two")
CRITERION, RUBRIC = "Criterion:kind", "Rubric"
EDITED_RUBRIC = "Does the answer rest on an article alone?"


@dataclass
class Desk:
    """A copy of the support suite with two judge evaluators, a store with its run, and the tally."""

    suite: Path
    store: Path
    tally: Path

    def counted(self) -> Counter[str]:
        """Calls since the last look, as those who were called counted them."""
        found = Counter(self.tally.read_text().splitlines()) if self.tally.exists() else Counter[str]()
        self.tally.unlink(missing_ok=True)
        return found

    def sweep(self, run_id: str, *more: str) -> Ran:
        """Both judges and both evaluators over the whole run."""
        judges = [flag for judge in JUDGES for flag in ("--judge", judge)]
        names = ["--evaluator", CRITERION, "--evaluator", RUBRIC]
        done = command(
            "sweep", "base", "--store", self.store, "--suite", self.suite, *judges, *names,
            "--run-id", run_id, "--json", "-", *more,
        )  # fmt: skip
        assert done.code == 0, done.err
        return done

    def ledger(self, run_id: str) -> list[dict[str, Any]]:
        """Ledger rows of a sweep."""
        paths = self.store.glob(f"calls/*/*/{run_id}/*.parquet")
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]

    def scores(self, run_id: str) -> list[dict[str, Any]]:
        """Rows of a sweep."""
        paths = self.store.glob(f"scores/*/*/{run_id}/*.parquet")
        return [row for path in paths for row in pq.ParquetFile(path).read().to_pylist()]


def write_suite(folder: Path, *, rubric: str = "Is it polite?", criterion: str = "Is it kind?") -> None:
    """Five of the support cases, each under a criterion of its own and a rubric of the suite's."""
    shutil.copytree(SUPPORT / "scripts", folder / "scripts", dirs_exist_ok=True)
    settings = yaml.safe_load((SUPPORT / "suite.yaml").read_text())
    settings["agent"] = "counted_models:build"
    settings["evaluators"] = {
        CRITERION: {"when": "live"},
        RUBRIC: {
            "use": "counted_models:Rubric",
            "params": {"rubric": rubric},
            "threshold": 0.5,
            "when": "live",
        },
    }
    found = [
        case
        for file in sorted(SUPPORT.glob("*.yaml"))
        if file.name != "suite.yaml"
        for case in yaml.safe_load(file.read_text())["cases"]
    ]
    cases = found[:CASES]
    for case in cases:
        case["expect"]["judge"] = [{"id": "kind", "criterion": criterion}]
    (folder / "suite.yaml").write_text(yaml.safe_dump(settings))
    (folder / "cases.yaml").write_text(yaml.safe_dump({"cases": cases}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """The run is played once; each test sweeps a copy of its store."""
    folder = tmp_path_factory.mktemp("promises")
    found = Desk(folder / "support", folder / "store", folder / "tally")
    write_suite(found.suite)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTED_CALLS", str(found.tally))
        for name in [name for name in os.environ if name.startswith("NIGHTGATE_")]:
            patch.delenv(name)
        ran = command(
            "run", found.suite, "--store", found.store, "--run-id", "base", "--trials", str(TRIALS // CASES),
            "--no-alerts", "--json", "-",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        assert ran.json["trials"]["completed"] == TRIALS
        assert found.counted()["agent"] >= TRIALS
        yield found


@pytest.fixture(scope="module")
def swept(desk: Desk) -> Counter[str]:
    """What the first sweep called."""
    desk.sweep("first")
    return desk.counted()


def test_two_judges_and_two_evaluators_over_a_thousand_trials_are_4000_judge_calls(
    desk: Desk, swept: Counter[str]
) -> None:
    """And none of an agent's; the ledger says the same."""
    each = {f"{judge} {asks}": TRIALS for judge in ("one", "two") for asks in ("criterion", "rubric")}
    assert swept == each
    assert [row["role"] for row in desk.ledger("first")] == ["judge"] * 4 * TRIALS
    assert Counter(row["status"] for row in desk.scores("first")) == {"pass": 4 * TRIALS}


@pytest.mark.usefixtures("swept")
def test_the_same_sweep_again_calls_nobody(desk: Desk) -> None:
    """All of it is known, and stands in its rows all the same."""
    desk.sweep("second")

    assert desk.counted() == {}
    assert desk.ledger("second") == []
    assert len(desk.scores("second")) == 4 * TRIALS


@pytest.mark.usefixtures("swept")
def test_an_edited_rubric_is_2000_calls(desk: Desk) -> None:
    """Of that evaluator's, by either judge; the other one's findings still hold."""
    write_suite(desk.suite, rubric=EDITED_RUBRIC)
    desk.sweep("rubric")

    assert desk.counted() == {"one rubric": TRIALS, "two rubric": TRIALS}
    assert len(desk.ledger("rubric")) == 2 * TRIALS
    assert len(desk.scores("rubric")) == 4 * TRIALS


@pytest.mark.usefixtures("swept")
def test_an_edited_criterion_is_2000_calls(desk: Desk) -> None:
    """The agent was asked the same: its answers are judged by the new criterion, and by nothing else."""
    write_suite(desk.suite, criterion="Is it kind, whatever the customer wrote?")
    desk.sweep("criterion")

    assert desk.counted() == {"one criterion": TRIALS, "two criterion": TRIALS}
    assert len(desk.ledger("criterion")) == 2 * TRIALS
    assert len(desk.scores("criterion")) == 4 * TRIALS
