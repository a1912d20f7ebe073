"""Judges against people, end to end: a run of scripted judges, sheets, labels, the bar, the gate's set."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store import open_store
from nightgate.calibration import may_block
from nightgate.importers.labels import unguarded
from nightgate.steps.calibrating import kept
from shell import Ran, nightgate

TONE = "Criterion:tone"
HEADER = "run_id,case_id,trial,evaluator,label\n"
JUDGED_RIGHT = {True: 55, False: 54}
"""Of 60 passes and 60 fails: sensitivity .92, specificity .90."""
SIZE = 60


def truth(number: int) -> bool:
    """The first half of the cases are passes."""
    return number < SIZE


def verdict(number: int, right: dict[bool, int]) -> str:
    """What the judge says of a case; it is wrong about the last ones of each half."""
    good = number % SIZE < right[truth(number)]
    return "yes" if truth(number) is good else "no"


def a_judge(right: dict[bool, int]) -> dict[str, Any]:
    """A judge's script."""
    said = {
        f"c{number}": {"fields": {"verdict": verdict(number, right), "reason": "so it seems"}}
        for number in range(2 * SIZE)
    }
    return {"judgements": {TONE: said}}


def a_suite(folder: Path, right: dict[bool, int] = JUDGED_RIGHT, *, threshold: bool = True) -> Path:
    """120 cases under one criterion, half of them passes in truth; the last answer is a formula."""
    suite = folder / "suite"
    (suite / "scripts").mkdir(parents=True)
    settings = {
        "suite": "tones",
        "owner": "drill",
        "agent": "drill_agent:build",
        "model": "scripted:agent",
        "judge": "scripted:judge",
        "evaluators": {TONE: {"threshold": 0.4}} if threshold else {},
    }
    (suite / "suite.yaml").write_text(json.dumps(settings))
    cases = [
        {
            "id": f"c{number}",
            "layer": "quality" if number % 2 else "behavior",
            "input": f"Question {number}?",
            "expect": {"judge": [{"id": "tone", "criterion": "Is the tone friendly?"}]},
        }
        for number in range(2 * SIZE)
    ]
    (suite / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    replies = {"*": [{"say": "Gladly."}], "c1": [{"say": "=HYPERLINK(1)"}]}
    (suite / "scripts" / "agent.yaml").write_text(json.dumps({"replies": replies}))
    (suite / "scripts" / "judge.yaml").write_text(json.dumps(a_judge(right)))
    return suite


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A suite with a good judge, and the store with a run of it."""
    folder = tmp_path_factory.mktemp("judged")
    suite = a_suite(folder)
    ran = nightgate("run", suite, "--store", folder / "store", "--run-id", "night-1")
    assert ran.code == 0, ran.err
    return suite, folder / "store"


@pytest.fixture
def relabel(judged: tuple[Path, Path]) -> Callable[..., Ran]:
    """Give the suite these labels and calibrate."""
    suite, store = judged

    def write(*texts: str, **more: str) -> Ran:
        folder = suite / "labels"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for number, text in enumerate(texts):
            (folder / f"people-{number}.csv").write_text(text)
        flags = [word for name, value in more.items() for word in (f"--{name}", value)]
        return nightgate("calibrate", suite, "--store", store, "--json", "-", *flags)

    return write


def labels(numbers: Iterable[int], run: str = "night-1") -> str:
    """A label file that tells the truth."""
    return HEADER + "".join(f"{run},c{n},0,{TONE},{'pass' if truth(n) else 'fail'}\n" for n in numbers)


def judge_of(ran: Ran) -> dict[str, Any]:
    """The run's own judge."""
    (found,) = [judge for judge in ran.json["judges"] if judge["pinned"]]
    return found


def test_a_judge_that_agrees_with_people_meets_the_bar(
    relabel: Callable[..., Ran], judged: tuple[Path, Path]
) -> None:
    """What it found is kept, and tells the gate whom to let block."""
    ran = relabel(labels(range(2 * SIZE)))

    judge = judge_of(ran)
    assert ran.code == 0, ran.err
    assert judge["word"] == "meets the bar"
    assert judge["counts"] == {"tp": 55, "fn": 5, "fp": 6, "tn": 54}
    assert judge["kappa"]["value"] == pytest.approx(0.8166667)
    document = kept(open_store(str(judged[1])), "tones")
    assert may_block(document, {TONE: judge["judge_fingerprint"]}, {TONE: judge["criteria"]}) == {TONE}
    assert may_block(document, {TONE: "another judge"}, {TONE: judge["criteria"]}) == frozenset()


def test_figures_come_by_slice(relabel: Callable[..., Ran]) -> None:
    """A judge may be good on the whole and blind somewhere."""
    slices = judge_of(relabel(labels(range(2 * SIZE))))["slices"]

    assert [(one["by"], one["value"]) for one in slices] == [("layer", "behavior"), ("layer", "quality")]
    assert sum(sum(one["counts"].values()) for one in slices) == 2 * SIZE


def test_the_pass_rate_is_corrected_for_the_judges_mistakes(relabel: Callable[..., Ran]) -> None:
    """The judge passes 61 of 120; 60 are passes."""
    found = judge_of(relabel(labels(range(2 * SIZE))))["corrected"]

    assert found["rate"] == pytest.approx(61 / 120)
    assert found["rogan_gladen"]["value"] == pytest.approx(0.5)
    assert found["prediction_powered"] is None
    assert "random sample" in found["why"]["prediction_powered"]


def test_a_declared_random_sample_gives_a_prediction_powered_mean(relabel: Callable[..., Ran]) -> None:
    """Nobody can see from the labels how they were drawn: the file has to say it."""
    found = judge_of(relabel("# sample: random\n" + labels(range(0, 2 * SIZE, 3))))["corrected"]

    assert found["prediction_powered"]["value"] == pytest.approx(0.5, abs=0.06)
    low, high = found["prediction_powered"]["interval"]
    assert low < 0.5 < high


def test_a_random_sample_with_gaps_is_none(relabel: Callable[..., Ran]) -> None:
    """People leave out what is hard to tell."""
    text = "# sample: random\n" + labels(range(0, 2 * SIZE, 3)) + f"night-1,c1,0,{TONE},\n"

    found = judge_of(relabel(text))["corrected"]

    assert found["prediction_powered"] is None
    assert "rows without a label" in found["why"]["prediction_powered"]


def test_too_few_labels_cannot_tell(relabel: Callable[..., Ran]) -> None:
    """And it is said how many are missing."""
    ran = relabel(labels([*range(20), *range(SIZE, SIZE + 15)]))

    assert ran.code == 3
    assert judge_of(ran)["word"] == "too few labels"
    assert judge_of(ran)["labels"]["missing_passes"] == 30
    assert judge_of(ran)["labels"]["missing_fails"] == 35


def test_no_labels_cannot_tell(relabel: Callable[..., Ran]) -> None:
    """A suite starts without any."""
    ran = relabel()

    assert ran.code == 3
    assert judge_of(ran)["word"] == "no labels"


def test_labels_of_a_run_that_is_not_there_are_told(relabel: Callable[..., Ran]) -> None:
    """The store was cleared, or is another one."""
    ran = relabel(labels(range(2 * SIZE)), labels(range(4), run="long-gone"))

    assert ran.code == 0
    assert ran.json["labels"]["absent_runs"] == ["long-gone"]


def test_labels_before_the_judge_do_not_count_for_the_bar(relabel: Callable[..., Ran]) -> None:
    """A new prompt is a new judge: somebody has to look at it again."""
    rows = labels(range(2 * SIZE), run="*")

    ran = relabel("# labelled_at: 2020-01-01\n" + rows)

    assert ran.code == 3
    assert judge_of(ran)["labels"]["older"] == 2 * SIZE
    assert judge_of(ran)["of_old_labels"] is True


def test_dated_labels_of_any_run_count(relabel: Callable[..., Ran]) -> None:
    """Where the agent always says the same, one label is good for all runs."""
    ran = relabel("# labelled_at: 2999-01-01\n" + labels(range(2 * SIZE), run="*"))

    assert ran.code == 0
    assert judge_of(ran)["labels"]["dated_by_file"] == 0


def test_bad_labels_are_told_with_file_and_line(relabel: Callable[..., Ran]) -> None:
    """All of them at once, nothing is counted."""
    lines = [
        f"night-1,c1,0,{TONE},pass",
        f"night-1,c1,0,{TONE},pass",
        f"night-1,c1,0,{TONE},fail",
        f"night-1,c2,0,{TONE},maybe",
        f"night-1,c3,first,{TONE},pass",
        f"*,c1,*,{TONE},fail",
    ]

    ran = relabel(HEADER + "\n".join(lines) + "\n")

    assert ran.code == 2
    told = [line.partition("people-0.csv:")[2] for line in ran.err.splitlines()]
    assert [line.partition(":")[0] for line in told] == ["3", "4", "5", "6", "7"]
    assert "repeats the label at" in told[0]
    assert "contradicts the label at" in told[1]
    assert "write pass or fail" in told[2]
    assert "write the number of a trial" in told[3]
    assert "contradicts" in told[4]


def test_labels_of_unknown_cases_and_of_code_are_refused(relabel: Callable[..., Ran]) -> None:
    """They would be lost in silence."""
    ran = relabel(HEADER + f"*,cc1,*,{TONE},pass\n*,c1,*,Criterion:tones,pass\n")

    assert ran.code == 2
    assert "unknown 'cc1'" in ran.err
    assert "did you mean 'Criterion:tone'?" in ran.err


def test_a_sheet_never_tells_what_the_judge_said(judged: tuple[Path, Path], tmp_path: Path) -> None:
    """Whoever knows the verdict agrees with it."""
    suite, store = judged
    out = tmp_path / "sheet.csv"

    ran = nightgate("label", "night-1", "--sample", "40", "--suite", suite, "--out", out, "--store", store)

    assert ran.code == 0, ran.err
    header, rows = sheet(out)
    assert header == ["run_id", "case_id", "trial", "evaluator", "question", "input", "output", "label"]
    assert {row["question"] for row in rows} == {"Is the tone friendly?"}
    assert all(row["label"] == "" for row in rows)
    said = [verdict(number(row), JUDGED_RIGHT) for row in rows]
    assert Counter(said) == {"yes": 20, "no": 20}
    assert said != sorted(said)
    assert said != sorted(said, reverse=True)


def test_a_sheet_is_the_same_for_the_same_seed(judged: tuple[Path, Path], tmp_path: Path) -> None:
    """And another one for another seed."""
    flags = ("label", "night-1", "--sample", "30", "--store", judged[1])
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        nightgate(*flags, "--seed", seed, "--out", tmp_path / name)

    first, again, other = ((tmp_path / name).read_bytes() for name in "abc")
    assert first == again
    assert first != other


def test_a_sheet_is_never_overwritten(judged: tuple[Path, Path], tmp_path: Path) -> None:
    """Somebody may have filled it in for days."""
    out = tmp_path / "sheet.csv"
    out.write_text("filled in")

    ran = nightgate("label", "night-1", "--sample", "30", "--out", out, "--store", judged[1])

    assert ran.code == 1
    assert out.read_text() == "filled in"


def test_a_formula_in_an_answer_is_text_in_the_sheet(judged: tuple[Path, Path], tmp_path: Path) -> None:
    """An agent's words must not run in somebody's spreadsheet."""
    out = tmp_path / "sheet.csv"

    nightgate("label", "night-1", "--sample", "500", "--out", out, "--store", judged[1])

    _, rows = sheet(out)
    assert len(rows) == 2 * SIZE
    (formula,) = [row["output"] for row in rows if row["case_id"] == "c1"]
    assert formula == "'=HYPERLINK(1)"
    assert unguarded(formula) == "=HYPERLINK(1)"


def test_what_is_labelled_already_is_not_drawn_again(
    judged: tuple[Path, Path], relabel: Callable[..., Ran], tmp_path: Path
) -> None:
    """A second sheet goes on where the first one ended."""
    suite, store = judged
    relabel(labels(range(100)))
    out = tmp_path / "sheet.csv"
    flags = ("label", "night-1", "--random", "--sample", "500", "--suite", suite, "--store", store)

    ran = nightgate(*flags, "--out", out)

    assert ran.code == 0, ran.err
    _, rows = sheet(out)
    assert {number(row) for row in rows} == set(range(100, 2 * SIZE))
    assert out.read_text(encoding="utf-8-sig").startswith("# sample: random\n")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--sample", "0"), "ask for at least 1 row"),
        (("--sample", "5", "--evaluator", "Criterion:tune"), "did you mean 'Criterion:tone'?"),
    ],
)
def test_a_sheet_that_cannot_be_drawn_is_refused(
    judged: tuple[Path, Path], tmp_path: Path, flags: tuple[str, ...], told: str
) -> None:
    """Before a file is there."""
    out = tmp_path / "sheet.csv"

    ran = nightgate("label", "night-1", *flags, "--out", out, "--store", judged[1])

    assert ran.code == 2
    assert told in ran.err
    assert not out.exists()


def test_a_filled_sheet_is_read_back_and_weighted(
    judged: tuple[Path, Path], relabel: Callable[..., Ran], tmp_path: Path
) -> None:
    """The way of a label: drawn, filled in, put into the suite."""
    out = tmp_path / "sheet.csv"
    nightgate("label", "night-1", "--sample", "116", "--out", out, "--store", judged[1])

    ran = relabel(filled(out))

    judge = judge_of(ran)
    assert ran.code == 0, ran.err
    assert judge["weighted"] is True
    assert sum(judge["counts"].values()) == 116
    assert judge["sensitivity"]["value"] == pytest.approx(55 / 60, abs=0.02)
    assert judge["specificity"]["value"] == pytest.approx(54 / 60, abs=0.02)


def test_judges_of_sweeps_are_held_against_the_same_labels(
    judged: tuple[Path, Path], relabel: Callable[..., Ran]
) -> None:
    """A candidate is seen beside the run's judge, and what they disagree about."""
    suite, store = judged
    wrong = json.dumps(a_judge({True: 30, False: 30}))
    (suite / "scripts" / "coin.yaml").write_text(wrong)
    swept = nightgate(
        *("sweep", "night-1", "--judge", "scripted:coin", "--evaluator", TONE, "--repeat", "2"),
        *("--suite", suite, "--store", store),
    )
    assert swept.code == 0, swept.err

    ran = relabel("# labelled_at: 2999-01-01\n" + labels(range(2 * SIZE)))

    assert ran.code == 0
    (coin,) = [judge for judge in ran.json["judges"] if not judge["pinned"]]
    assert coin["judge_model"] == "scripted:coin"
    assert coin["word"] == "below the bar"
    assert coin["repeats"] == {"cells": 2 * SIZE, "flickering": 0, "alpha": 1.0}
    assert coin["corrected"]["rogan_gladen"] is None
    (among,) = ran.json["among_judges"]
    assert among["cells"] == 2 * SIZE
    assert among["alpha"] == pytest.approx(0.187, abs=0.001)


def test_a_judge_that_passes_everything_is_below_the_bar(tmp_path: Path) -> None:
    """Agreement of one half, and kappa says so."""
    suite = a_suite(tmp_path, {True: SIZE, False: 0})
    nightgate("run", suite, "--store", tmp_path / "store", "--run-id", "night-1")
    (suite / "labels").mkdir()
    (suite / "labels" / "people.csv").write_text(labels(range(2 * SIZE)))

    ran = nightgate("calibrate", suite, "--store", tmp_path / "store")

    assert ran.code == 1, ran.err
    assert "BELOW THE BAR  Criterion:tone by scripted:judge" in ran.out
    assert "kappa undefined" in ran.out


def test_a_suite_without_a_run_says_so(tmp_path: Path) -> None:
    """There is nothing to hold against labels."""
    suite = a_suite(tmp_path)

    ran = nightgate("calibrate", suite, "--store", tmp_path / "store")

    assert ran.code == 2
    assert "no run of suite 'tones'" in ran.err


def test_the_suite_may_be_named_by_its_id(judged: tuple[Path, Path]) -> None:
    """The labels lie in its folder all the same."""
    suite, store = judged

    assert nightgate("calibrate", "tones", "--suite", suite, "--store", store).code in (0, 1, 3)
    assert nightgate("calibrate", "tones", "--store", store).code == 2


def number(row: dict[str, str]) -> int:
    """Which case a row is of."""
    return int(row["case_id"].removeprefix("c"))


def sheet(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows of a sheet."""
    first, _, rest = path.read_text(encoding="utf-8-sig").partition("\n")
    assert first.startswith("# sample: ")
    reader = csv.DictReader(io.StringIO(rest))
    rows = list(reader)
    return list(reader.fieldnames or ()), rows


def filled(path: Path) -> str:
    """The sheet as somebody saves it who tells the truth, with their spreadsheet's habits."""
    header, rows = sheet(path)
    out = io.StringIO()
    out.write("# sample: stratified;;;;;;;\r\n")
    writer = csv.DictWriter(out, header, delimiter=";", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows({**row, "label": "Pass" if truth(number(row)) else "FAIL"} for row in rows)
    return out.getvalue()


def test_only_a_calibrated_judge_gates_where_the_suite_says_so(tmp_path: Path) -> None:
    """Before: reported, and nothing gates. After: the same judge decides."""
    suite, store = a_suite(tmp_path), tmp_path / "store"
    settings = json.loads((suite / "suite.yaml").read_text()) | {"gate": {"judges": "calibrated"}}
    (suite / "suite.yaml").write_text(json.dumps(settings))
    before = nightgate("run", suite, "--store", store, "--run-id", "night-1", "--json", "-")
    (suite / "labels").mkdir()
    (suite / "labels" / "people.csv").write_text(labels(range(2 * SIZE)))
    calibrated = nightgate("calibrate", suite, "--store", store)
    after = nightgate("run", suite, "--store", store, "--run-id", "night-2", "--json", "-")
    again = nightgate("gate", "night-1", "--store", store)

    assert (before.code, calibrated.code, after.code) == (3, 0, 0)
    assert any("its judge is not calibrated" in finding["text"] for finding in before.json["findings"])
    assert [e["verdict"] for e in before.json["evaluators"]] == [None]
    assert [e["verdict"] for e in after.json["evaluators"]] == ["pass"]
    assert again.code == 3  # a stored run is decided as it was planned


def edited(suite: Path, was: str = "friendly", now: str = "formal") -> None:
    """Another criterion in all cases."""
    cases = suite / "cases.jsonl"
    cases.write_text(cases.read_text().replace(was, now))


def test_an_edited_criterion_needs_a_calibration_of_its_own(tmp_path: Path) -> None:
    """The judge is the same, and nobody has held its answers to this question against people."""
    suite, store = a_suite(tmp_path), tmp_path / "store"
    settings = json.loads((suite / "suite.yaml").read_text()) | {"gate": {"judges": "calibrated"}}
    (suite / "suite.yaml").write_text(json.dumps(settings))
    nightgate("run", suite, "--store", store, "--run-id", "night-1")
    (suite / "labels").mkdir()
    (suite / "labels" / "people.csv").write_text(labels(range(2 * SIZE)))
    assert nightgate("calibrate", suite, "--store", store).code == 0
    edited(suite)

    after = nightgate("run", suite, "--store", store, "--run-id", "night-2", "--json", "-")
    again = nightgate("calibrate", suite, "--run", "night-2", "--store", store, "--json", "-")

    assert [e["verdict"] for e in after.json["evaluators"]] == [None]
    assert any("its judge is not calibrated" in finding["text"] for finding in after.json["findings"])
    judge = judge_of(again)
    assert (again.code, judge["word"]) == (3, "no labels")
    assert judge["labels"]["other_question"] == 2 * SIZE
    assert set(judge["counts"].values()) == {0}
    one = nightgate("label", "night-1", "--sample", "9", "--suite", suite, "--out", "-", "--store", store)
    assert one.code == 3  # all labelled already
    (suite / "labels" / "people.csv").unlink()
    blind = nightgate("label", "night-1", "--sample", "9", "--suite", suite, "--out", "-", "--store", store)
    assert blind.code == 2
    assert "120 judged cells are asked otherwise by the suite today" in blind.err


def test_a_sheet_leaves_out_what_is_asked_otherwise_today(judged: tuple[Path, Path], tmp_path: Path) -> None:
    """People would answer another question than the run's judge did."""
    suite = Path(shutil.copytree(judged[0], tmp_path / "suite", ignore=shutil.ignore_patterns("labels")))
    cases = (suite / "cases.jsonl").read_text().splitlines(keepends=True)
    (suite / "cases.jsonl").write_text("".join([cases[0].replace("friendly", "formal"), *cases[1:]]))
    flags = ("label", "night-1", "--sample", "500", "--suite", suite, "--store", judged[1])

    ran = nightgate(*flags, "--out", tmp_path / "sheet.csv", "--json", "-")
    random = nightgate(*flags, "--out", tmp_path / "random.csv", "--random")

    assert (ran.code, ran.json["rows"], ran.json["left_out"]) == (0, 2 * SIZE - 1, 1)
    assert "c0" not in {row["case_id"] for row in sheet(tmp_path / "sheet.csv")[1]}
    assert (random.code, (tmp_path / "random.csv").exists()) == (2, False)
    assert "a random sample may not leave them out" in random.err


def test_labels_that_meet_nothing_are_told(relabel: Callable[..., Ran], judged: tuple[Path, Path]) -> None:
    """With their place; the others count."""
    (judged[0] / "labels").mkdir(exist_ok=True)

    ran = relabel(labels(range(2 * SIZE)) + f"night-1,c1,99,{TONE},pass\n")

    (unmet,) = ran.json["labels"]["unmet"]
    assert ran.code == 0
    assert unmet["file"].endswith("people-0.csv")
    assert (unmet["line"], unmet["why"]) == (
        122,
        "run night-1 has no trial 99 of case 'c1', which it plays 1 times",
    )
