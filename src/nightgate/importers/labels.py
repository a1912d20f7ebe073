"""Labels that people gave: a folder of CSV or JSONL files -> one ``Label`` a row that is filled in.

Owns the format, also as spreadsheets change it, and which labels cannot stand together. Every problem of
every file is told at once. Knows no store: whether a label meets a judgement is found elsewhere.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nightgate.calibration import Label, Labels, Sample
from nightgate.cases.documents import read_text
from nightgate.cases.problems import Problem, SuiteError, did_you_mean
from nightgate.importers.lines import read_json

NEEDED = ("run_id", "case_id", "trial", "evaluator", "label")
FREE = ("question", "input", "output", "labelled_at", "sample", "note")
"""Columns that may stand beside the needed ones."""
ANY = "*"
_DIRECTIVES = ("sample", "labelled_at")
_WANTED = "labels: one a line, an object with run_id, case_id, trial, evaluator and label"
_UNREAD = frozenset({".md", ".txt"})
_README = "readme"
_RISKY = re.compile(r"'*[=+\-@\t\r]")
_RUN = re.compile(r"[0-9a-z-]{1,64}")
_DELIMITERS = ",;\t"


def guarded(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula.

    >>> guarded("=1+1"), guarded("all is well"), guarded("'-x")
    ("'=1+1", 'all is well', "''-x")
    """
    return f"'{cell}" if _RISKY.match(cell) else cell


def unguarded(cell: str) -> str:
    """The text behind ``guarded``.

    >>> unguarded(guarded("=1+1")), unguarded("-x"), unguarded("'tis")
    ('=1+1', '-x', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell) else cell


def read_labels(folder: Path) -> Labels:
    """All labels of a suite's ``labels`` folder; none where there is no folder.

    Raises:
        SuiteError: With every line that cannot be read, is there twice, or contradicts another one.
    """
    reader = _Reader()
    sha = hashlib.sha256()
    unread = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if not path.is_file() or path.name.startswith("."):
            continue
        if path.suffix.lower() in _UNREAD:
            if path.stem.lower() != _README:
                unread.append(str(path))
            continue
        sha.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
        reader.file(path)
    reader.contradictions()
    if reader.problems:
        raise SuiteError(reader.problems)
    return Labels(
        labels=tuple(reader.labels),
        unfilled=reader.unfilled,
        incomplete=frozenset(reader.incomplete),
        digest=sha.hexdigest()[:16],
        unread=tuple(unread),
    )


class _OddError(ValueError):
    """A row that cannot be read."""


@dataclass(slots=True)
class _Reader:
    """What has been read so far."""

    labels: list[Label] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unfilled: int = 0
    incomplete: set[str] = field(default_factory=set)
    """Files with rows that nobody has filled in."""

    def file(self, path: Path) -> None:
        """Read one file."""
        known = len(self.labels) + self.unfilled
        before = len(self.problems)
        try:
            if path.suffix.lower() == ".csv":
                rows: Iterator[tuple[int, Mapping[str, Any]]] = _csv_rows(path)
            elif path.suffix.lower() == ".jsonl":
                rows = _json_rows(path)
            else:
                self.problem(path, 1, "is no label file; labels stand in .csv or .jsonl files")
                return
            self.rows(path, rows)
        except SuiteError as error:
            self.problems += error.problems
        if len(self.labels) + self.unfilled == known and len(self.problems) == before:
            self.problem(path, 1, f"is empty; it should hold {_WANTED}")

    def rows(self, path: Path, rows: Iterator[tuple[int, Mapping[str, Any]]]) -> None:
        """Read the rows of a file: directives first, then labels."""
        written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        shared: dict[str, Any] = {}
        for line, row in rows:
            try:
                if row and not set(row) - set(_DIRECTIVES):
                    shared |= row
                    _sample(shared), _moment(shared)
                    continue
                whole = {**row, **{name: row.get(name) or value for name, value in shared.items()}}
                label = _label(whole, path, line, written)
            except _OddError as odd:
                self.problem(path, line, str(odd))
                continue
            if label is None:
                self.unfilled += 1
                self.incomplete.add(str(path))
            else:
                self.labels.append(label)

    def contradictions(self) -> None:
        """Labels of one thing: the same twice, or one that says otherwise."""
        known: dict[tuple[Any, ...], Label] = {}
        for label in self.labels:
            key = (label.run_id, label.case_id, label.trial, label.evaluator)
            there = known.setdefault(key, label)
            if there is not label:
                self.clash(there, label, "repeats" if there.passed is label.passed else "contradicts")
        exact = list(known.values())
        general: dict[tuple[str, str], list[Label]] = {}
        for label in exact:
            if label.run_id is None or label.trial is None:
                general.setdefault((label.case_id, label.evaluator), []).append(label)
        for label in exact:
            for other in general.get((label.case_id, label.evaluator), ()):
                meet = other is not label and label.meets(other) and label.passed is not other.passed
                # A pair of which both are general comes by twice.
                if meet and (not label.general or _place(other) < _place(label)):
                    first, second = sorted((other, label), key=_place)
                    self.clash(first, second, "contradicts")

    def clash(self, there: Label, label: Label, how: str) -> None:
        """Name both of two labels."""
        what = f"case {label.case_id!r}, {label.evaluator}"
        self.problem(
            Path(label.file),
            label.line,
            f"{what}: {how} the label at {there.file}:{there.line}; keep one of them",
        )

    def problem(self, path: Path, line: int, message: str) -> None:
        """Remember a problem."""
        self.problems.append(Problem(path=path, line=line, message=message))


def _place(label: Label) -> tuple[str, int]:
    return label.file, label.line


def _label(row: Mapping[str, Any], path: Path, line: int, written: datetime) -> Label | None:
    """The label of a row; None when it is not filled in yet."""
    unknown = [key for key in row if key not in (*NEEDED, *FREE)]
    if unknown:
        raise _OddError(f"column {unknown[0]!r} is unknown{did_you_mean(unknown[0], (*NEEDED, *FREE))}")
    missing = [key for key in NEEDED if key not in row]
    if missing:
        raise _OddError(f"{', '.join(missing)} is missing; a label has {', '.join(NEEDED)}")
    said = _text(row, "label").lower()
    if said not in ("", "pass", "fail"):
        raise _OddError(f"label {_text(row, 'label')!r}: write pass or fail{_meant(said)}")
    case_id, evaluator = _verbatim(row["case_id"]), _text(row, "evaluator")
    for name, value in (("case_id", case_id), ("evaluator", evaluator)):
        if value in ("", ANY):
            raise _OddError(f"{name} {value!r}: a label names one {name}")
    run_id, trial = _run(row), _trial(row)
    sample, labelled_at = _sample(row), _moment(row)
    if not said:
        return None
    return Label(
        run_id=run_id,
        case_id=case_id,
        trial=trial,
        evaluator=evaluator,
        passed=said == "pass",
        labelled_at=labelled_at,
        sample=sample,
        file=str(path),
        line=line,
        file_written_at=written,
    )


def _meant(said: str) -> str:
    """What people write instead."""
    for word, forms in (("pass", ("yes", "y", "true", "1", "ok")), ("fail", ("no", "n", "false", "0"))):
        if said in forms:
            return f"; did you mean {word!r}?"
    return did_you_mean(said, ("pass", "fail"))


def _text(row: Mapping[str, Any], name: str) -> str:
    return _verbatim(row.get(name)).strip()


def _verbatim(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _OddError(f"{value!r}: write a text")
    return str(value)


def _run(row: Mapping[str, Any]) -> str | None:
    run_id = _text(row, "run_id")
    if run_id == ANY:
        return None
    if not _RUN.fullmatch(run_id):
        raise _OddError(f"run_id {run_id!r}: write a run id, or * for any run")
    return run_id


def _trial(row: Mapping[str, Any]) -> int | None:
    trial = _text(row, "trial")
    if trial == ANY:
        return None
    if not (trial.isascii() and trial.isdigit()):
        raise _OddError(f"trial {trial!r}: write the number of a trial, from 0, or * for all")
    return int(trial)


def _sample(row: Mapping[str, Any]) -> Sample | None:
    said = _text(row, "sample").lower()
    if not said:
        return None
    try:
        return Sample(said)
    except ValueError:
        known = [sample.value for sample in Sample]
        raise _OddError(f"sample {said!r}: write {' or '.join(known)}{did_you_mean(said, known)}") from None


def _moment(row: Mapping[str, Any]) -> datetime | None:
    """When the label was given; of a day its end, so that labels of the judge's first day count."""
    said = _text(row, "labelled_at")
    if not said:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise _OddError(f"labelled_at {said!r}: write a day such as 2026-11-29, or an ISO time") from None
    if len(said) == len("2026-11-29"):
        moment += timedelta(days=1, microseconds=-1)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for value in read_json(path, _WANTED):
        if not isinstance(value.data, dict):
            problem = Problem(path=path, line=value.line, message=f"is no object; the file holds {_WANTED}")
            raise SuiteError([problem])
        yield value.line, value.data


def _csv_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows by column; ``# name: value`` lines before the header are directives."""
    text = read_text(path)
    header: list[str] | None = None
    # What separates cells is what the header has, whatever the texts below it hold.
    top = next((line for line in text.splitlines() if line.strip(' ",;\t') and not _comment(line)), "")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(_DELIMITERS, key=top.count), strict=True)
    try:
        start = 1
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None and cells[0].startswith("#"):
                yield line, _directive(path, line, cells[0])
            elif header is None:
                header = [cell.strip().lower() for cell in cells]
                _check_header(path, line, header)
            else:
                yield line, _row(path, line, header, cells)
    except csv.Error as error:
        problem = Problem(path=path, line=max(1, reader.line_num), message=f"is no CSV: {error}")
        raise SuiteError([problem]) from error


def _comment(line: str) -> bool:
    return line.lstrip('"').startswith("#")


def _directive(path: Path, line: int, cell: str) -> dict[str, Any]:
    name, _, value = cell.lstrip("#").partition(":")
    if name.strip() not in _DIRECTIVES:
        hint = did_you_mean(name.strip(), _DIRECTIVES)
        message = f"{cell!r}: no such line; write `# sample: random` or `# labelled_at: DAY`{hint}"
        raise SuiteError([Problem(path=path, line=line, message=message)])
    return {name.strip(): value.strip()}


def _check_header(path: Path, line: int, header: list[str]) -> None:
    named = [name for name in header if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    unknown = next((name for name in named if name not in (*NEEDED, *FREE)), None)
    missing = [name for name in NEEDED if name not in named]
    if twice is not None:
        message = f"column {twice!r} is there twice; keep one of them"
    elif unknown is not None:
        message = f"column {unknown!r} is unknown{did_you_mean(unknown, (*NEEDED, *FREE))}"
    elif missing:
        message = f"column {', '.join(missing)} is missing; the first line names {','.join(NEEDED)}"
    else:
        return
    raise SuiteError([Problem(path=path, line=line, message=message)])


def _row(path: Path, line: int, header: list[str], cells: list[str]) -> dict[str, Any]:
    if any(cell.strip() for cell in cells[len(header) :]):
        message = f"has {len(cells)} cells, the header {len(header)}; quote texts that hold a separator"
        raise SuiteError([Problem(path=path, line=line, message=message)])
    filled = [*cells, *[""] * (len(header) - len(cells))]
    return {name: unguarded(cell) for name, cell in zip(header, filled, strict=False) if name}
