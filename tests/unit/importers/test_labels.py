"""Labels as people and their spreadsheets write them."""

from __future__ import annotations

import contextlib
import doctest
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.calibration import Sample
from nightgate.cases.problems import SuiteError
from nightgate.importers import labels as module
from nightgate.importers.labels import guarded, read_labels, unguarded

HEADER = "run_id,case_id,trial,evaluator,label\n"


def told(folder: Path) -> list[str]:
    """What is said of the files, without the folder."""
    with pytest.raises(SuiteError) as caught:
        read_labels(folder)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def write(folder: Path, text: str, name: str = "people.csv") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder


def test_no_folder_is_no_label(tmp_path: Path) -> None:
    """A suite starts without any."""
    assert read_labels(tmp_path / "labels").labels == ()


def test_csv_and_json_lines_say_the_same(tmp_path: Path) -> None:
    """Two ways to write them, one meaning."""
    write(tmp_path, HEADER + "night-1,a,0,E,pass\n*,b,*,E,fail\n")
    first = read_labels(tmp_path).labels
    (tmp_path / "people.csv").unlink()
    write(
        tmp_path,
        '{"run_id": "night-1", "case_id": "a", "trial": 0, "evaluator": "E", "label": "pass"}\n'
        '{"run_id": "*", "case_id": "b", "trial": "*", "evaluator": "E", "label": "fail"}\n',
        "people.jsonl",
    )

    second = read_labels(tmp_path).labels

    meaning = [
        [(x.run_id, x.case_id, x.trial, x.evaluator, x.passed) for x in found] for found in (first, second)
    ]
    assert meaning[0] == meaning[1] == [("night-1", "a", 0, "E", True), (None, "b", None, "E", False)]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_spreadsheets_may_save_with_their_own_separator(tmp_path: Path, mark: str) -> None:
    """With a byte order mark, line ends of theirs, and cells that fill up the lines above."""
    text = "# sample: random,,,,\r\n" + HEADER.replace("\n", "\r\n") + "night-1,a,0,E,PASS\r\n"
    write(tmp_path, "\ufeff" + text.replace(",", mark))

    (label,) = read_labels(tmp_path).labels

    assert (label.case_id, label.passed, label.sample, label.line) == ("a", True, Sample.RANDOM, 3)


def test_rows_that_nobody_filled_in_are_counted(tmp_path: Path) -> None:
    """They are no labels, and their file is no longer the sample that was drawn."""
    write(tmp_path, HEADER + "night-1,a,0,E,\nnight-1,b,0,E,pass\n")

    found = read_labels(tmp_path)

    assert (len(found.labels), found.unfilled) == (1, 1)
    assert found.incomplete == {str(tmp_path / "people.csv")}


def test_lines_are_told_below_texts_of_several_lines(tmp_path: Path) -> None:
    """A sheet holds whole answers."""
    header = "run_id,case_id,trial,evaluator,output,label\n"
    write(tmp_path, header + 'night-1,a,0,E,"one\ntwo\nthree",pass\nnight-1,b,0,E,four,perhaps\n')

    assert [line.partition(": ")[0] for line in told(tmp_path)] == ["people.csv:5"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "people.csv:1: is empty"),
        (HEADER, "people.csv:1: is empty"),
        ("run_id,case_id,trial,evaluator,lable\n", "people.csv:1: column 'lable' is unknown; did you mean"),
        ("run_id,case_id,trial,label\n", "people.csv:1: column evaluator is missing"),
        ("label," + HEADER, "people.csv:1: column 'label' is there twice"),
        ("# sampel: random\n" + HEADER, "people.csv:1: '# sampel: random': no such line"),
        ("# sample: some\n" + HEADER + "r,a,0,E,pass\n", "people.csv:1: sample 'some': write random or"),
        (HEADER + "r,a,0,E,yes\n", "people.csv:2: label 'yes': write pass or fail; did you mean 'pass'?"),
        (HEADER + "R 1,a,0,E,pass\n", "people.csv:2: run_id 'R 1': write a run id, or * for any run"),
        (HEADER + "r,*,0,E,pass\n", "people.csv:2: case_id '*': a label names one case_id"),
        (HEADER + "r,a,-1,E,pass\n", "people.csv:2: trial '-1': write the number of a trial"),
        (HEADER + "r,a,0,E,pass,more\n", "people.csv:2: has 6 cells, the header 5"),
        (HEADER + 'r,"a,0,E,pass\n', "people.csv:2: is no CSV"),
        ("# labelled_at: soon\n" + HEADER + "r,a,0,E,pass\n", "people.csv:1: labelled_at 'soon': write"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    """And with what to write instead."""
    write(tmp_path, text)

    assert told(tmp_path)[0].startswith(problem)


def test_other_files_are_refused_and_notes_are_not(tmp_path: Path) -> None:
    """A table that nobody reads would be labels lost."""
    write(tmp_path, "notes", "README.md")
    write(tmp_path, "x", "people.xlsx")

    assert told(tmp_path) == ["people.xlsx:1: is no label file; labels stand in .csv or .jsonl files"]


def test_contradictions_are_found_between_files(tmp_path: Path) -> None:
    """Two people who disagree have to talk."""
    write(tmp_path, HEADER + "night-1,a,0,E,pass\n", "ann.csv")
    write(tmp_path, HEADER + "night-1,a,0,E,fail\n", "ben.csv")

    (problem,) = told(tmp_path)

    assert problem.startswith("ben.csv:2: case 'a', E: contradicts the label at ")
    assert problem.endswith("ann.csv:2; keep one of them")


def test_a_general_label_may_stand_beside_particular_ones_that_agree(tmp_path: Path) -> None:
    """All trials pass, and somebody looked at one of them."""
    write(tmp_path, HEADER + "*,a,*,E,pass\nnight-1,a,0,E,pass\nnight-1,b,*,E,fail\n*,b,1,E,fail\n")

    assert len(read_labels(tmp_path).labels) == 4


def test_general_labels_that_meet_contradict_once(tmp_path: Path) -> None:
    """Any run, trial 0; and one run, any trial."""
    write(tmp_path, HEADER + "*,a,0,E,pass\nnight-1,a,*,E,fail\n")

    assert len(told(tmp_path)) == 1


def test_a_day_ends_with_its_last_moment(tmp_path: Path) -> None:
    """Labels of the day on which a judge began are labels of that judge."""
    write(tmp_path, "# labelled_at: 2026-11-29\n" + HEADER + "*,a,*,E,pass\n")

    (label,) = read_labels(tmp_path).labels

    assert label.labelled_at == datetime(2026, 11, 29, 23, 59, 59, 999999, tzinfo=UTC)


def test_the_digest_is_of_what_was_read(tmp_path: Path) -> None:
    """An edited label is another set of labels."""
    first = read_labels(write(tmp_path, HEADER + "*,a,*,E,pass\n")).digest
    second = read_labels(write(tmp_path, HEADER + "*,a,*,E,fail\n")).digest

    assert first != second


@given(st.text())
def test_a_guarded_cell_is_no_formula_and_comes_back(text: str) -> None:
    """Whatever an agent says."""
    cell = guarded(text)

    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguarded(cell) == text


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Never an error of ours."""
    folder = tmp_path_factory.mktemp("labels")
    (folder / "people.csv").write_bytes(HEADER.encode() + data)
    with contextlib.suppress(SuiteError):
        assert len(read_labels(folder).labels) <= len(data)


def test_the_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


def test_files_that_are_taken_for_notes_are_named(tmp_path: Path) -> None:
    """A sheet may have been saved as text; only a README is surely none."""
    for name in ("README.md", "people.txt", "notes.md"):
        write(tmp_path, HEADER + "night-1,a,0,E,pass\n", name)

    found = read_labels(tmp_path)

    assert found.labels == ()
    assert found.unread == (str(tmp_path / "notes.md"), str(tmp_path / "people.txt"))
