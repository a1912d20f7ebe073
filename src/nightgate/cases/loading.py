"""A suite folder -> ``Suite``, or every problem of all its files at once.

Owns which files of a folder are read and in what order. ``documents`` reads text, ``models`` checks
records, ``checks`` looks across them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from nightgate.cases.binding import Loc, examine
from nightgate.cases.checks import ReadCase, ReadScript, SuiteChecks, duplicate_ids
from nightgate.cases.documents import read_document, read_jsonl
from nightgate.cases.models import LOADER_FILLED, Case, Suite
from nightgate.cases.nodes import Entry, Listing, Node, Scalar, Table, describe
from nightgate.cases.problems import Problem, SuiteError, did_you_mean
from nightgate.cases.scripts import read_script

SUITE_FILE = "suite.yaml"
SCRIPTS = "scripts"
_CASES = (".yaml", ".jsonl")
_UNREAD: Mapping[str, str] = {
    "suite": "unread",
    "agent": "unread:unread",
    "model": "import:unread:unread",
}
"""Stands in for what suite.yaml lacks, so that the rest of it is looked at in the same round."""
_ALMOST = frozenset({".yml", ".yaml", ".jsonl"})
_SHOWN = 6


def load_suite(path: str | Path) -> Suite:
    """Read a suite.

    Args:
        path: The suite's folder, or its suite.yaml.

    Returns:
        The suite with its cases in suite order; with none if its files hold none.

    Raises:
        SuiteError: With every problem of suite.yaml, the case files and the scripts.
    """
    folder = Path(path)
    if folder.name == SUITE_FILE and not folder.is_dir():
        folder = folder.parent
    if not folder.is_dir():
        raise SuiteError([Problem(path=Path(path), line=0, message=_no_suite(Path(path)))])
    loader = _Loader(folder)
    suite = loader.load()
    if suite is None or loader.problems:
        raise SuiteError(loader.problems)
    return suite


def _no_suite(path: Path) -> str:
    if path.is_file():
        return f"is no suite; give the folder that holds {SUITE_FILE}"
    siblings = path.parent.iterdir() if path.parent.is_dir() else ()
    suites = sorted(sibling.name for sibling in siblings if (sibling / SUITE_FILE).is_file())
    return f"does not exist{did_you_mean(path.name, suites)}"


def case_files(folder: Path) -> list[Path]:
    """The files of a suite folder that hold cases, by name."""
    return sorted(
        (
            file
            for file in folder.iterdir()
            if file.suffix in _CASES and file.name != SUITE_FILE and _visible_file(file)
        ),
        key=lambda file: file.name,
    )


def script_files(folder: Path) -> list[Path]:
    """The scripts of a suite folder, by name."""
    scripts = folder / SCRIPTS
    files = scripts.iterdir() if scripts.is_dir() else ()
    return sorted(file for file in files if file.suffix == ".yaml" and _visible_file(file))


def _visible_file(file: Path) -> bool:
    return not file.name.startswith(".") and file.is_file()


@dataclass(slots=True)
class _Loader:
    """One read of a folder, collecting problems on the way."""

    folder: Path
    problems: list[Problem] = field(default_factory=list)
    cases: list[ReadCase] = field(default_factory=list)
    scripts: dict[str, ReadScript | None] = field(default_factory=dict)
    damaged: frozenset[Loc] = frozenset()
    """Parts of suite.yaml that are not what was meant."""
    unread: bool = False
    """Whether there may be cases that nobody has seen."""

    def load(self) -> Suite | None:
        """The suite as far as it can be read; None when suite.yaml cannot."""
        self._misnamed()
        suite, node = self._suite()
        for file in case_files(self.folder):
            self._case_file(file)
        self.problems += duplicate_ids(self.cases)
        for file in script_files(self.folder):
            self._script(file)
        cases = tuple(read.case for read in self.cases if read.case is not None)
        if suite is None or node is None:
            return None
        whole = suite.model_copy(update={"cases": cases})
        checks = SuiteChecks(whole, node, self.cases, self.scripts, damaged=self.damaged, unread=self.unread)
        self.problems += checks.problems()
        return whole

    def _misnamed(self) -> None:
        for file in sorted(self.folder.iterdir()):
            kind = file.suffix.lower()
            if kind in _ALMOST and file.suffix not in _CASES and _visible_file(file):
                right = file.with_suffix(".jsonl" if kind == ".jsonl" else ".yaml").name
                self._problem(file, 0, f"is not read under this name; rename it to {right} or move it away")
                self.unread = True

    def _suite(self) -> tuple[Suite | None, Node | None]:
        file = self.folder / SUITE_FILE
        if not file.is_file():
            self._problem(file, 0, f"is missing; every suite has one{self._instead()}")
            return None, None
        node = self._read(file)
        if node is None:
            return None, None
        read = examine(
            Suite,
            node,
            file,
            forbidden=LOADER_FILLED[Suite],
            filled={"path": self.folder, "cases": ()},
            stand_ins=_UNREAD,
        )
        self.problems += read.problems
        self.damaged = read.damaged
        return read.value, node

    def _instead(self) -> str:
        """What a folder without suite.yaml most likely is: one of suites, or one with a misspelt file."""
        inner = sorted(file.parent.name for file in self.folder.glob(f"*/{SUITE_FILE}"))
        if inner:
            shown = ", ".join(inner[:_SHOWN]) + (f" and {len(inner) - _SHOWN} more" if inner[_SHOWN:] else "")
            return f". The suites in it are {shown}; `nightgate nightly {self.folder}` runs all of them"
        files = sorted(entry.name for entry in self.folder.iterdir() if entry.name != SUITE_FILE)
        return did_you_mean(SUITE_FILE, files)

    def _read(self, file: Path) -> Node | None:
        try:
            document = read_document(file)
        except SuiteError as error:
            self.problems += error.problems
            return None
        self.problems += document.problems
        if document.root is None:
            self._problem(file, 1, "is empty; it needs at least suite, agent and model")
        return document.root

    def _case_file(self, file: Path) -> None:
        try:
            if file.suffix == ".jsonl":
                self._lines(file)
            else:
                self._listed(file)
        except SuiteError as error:
            self.problems += error.problems
            self.unread = True

    def _lines(self, file: Path) -> None:
        for document in read_jsonl(file):
            self.problems += document.problems
            if document.root is None:
                self.unread = True
            else:
                self._case(document.root, file)

    def _listed(self, file: Path) -> None:
        document = read_document(file)
        self.problems += document.problems
        root = document.root
        if root is None:
            return
        if isinstance(root, Table) and "cases" in root.repeated:
            self.unread = True
        if not isinstance(root, Table):
            self._problem(file, root.line, f"must hold cases: [...], not {describe(root)}")
            self.unread = True
            return
        for key, entry in root.entries.items():
            if key != "cases":
                self._problem(file, entry.line, f"unknown key {key!r}{did_you_mean(key, ['cases'])}")
                self.unread = True
        if "cases" in root.entries:
            for node in self._items(root.entries["cases"], file):
                self._case(node, file)
        elif not root.entries:
            self._problem(file, root.line, "has no key cases")

    def _items(self, entry: Entry, file: Path) -> Iterable[Node]:
        node = entry.node
        if isinstance(node, Listing):
            return node.items
        if not (isinstance(node, Scalar) and node.plain and not node.text):
            self._problem(file, entry.line, f"cases: must be a list, not {describe(node)}")
            self.unread = True
        return ()

    def _case(self, node: Node, file: Path) -> None:
        raw = ReadCase(path=file, node=node, case=None)
        found = examine(
            Case,
            node,
            file,
            about=raw.about,
            forbidden=LOADER_FILLED[Case],
            filled={"path": file, "line": node.line},
            stand_ins={"id": "unread"},
        )
        self.problems += found.problems
        self.cases.append(replace(raw, case=found.value, damaged=found.damaged))

    def _script(self, file: Path) -> None:
        self.scripts[file.stem] = None
        try:
            script, node, problems = read_script(file)
        except SuiteError as error:
            self.problems += error.problems
            return
        self.problems += problems
        self.scripts[file.stem] = ReadScript(script=script, node=node)

    def _problem(self, file: Path, line: int, message: str) -> None:
        self.problems.append(Problem(path=file, line=line, message=message))
