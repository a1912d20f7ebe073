"""Objects that a suite names: where they are looked up, and what is said when they cannot be had."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from makers import in_folder
from nightgate.errors import InputError
from nightgate.imports import load_object


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_the_suites_folder_comes_before_the_working_folder(tmp_path: Path) -> None:
    """And both before the environment."""
    suite, work = tmp_path / "suite", tmp_path / "work"
    in_folder(suite, ng_checks="WHERE = 'suite'\n")
    in_folder(work, ng_checks="WHERE = 'work'\n", ng_other="WHERE = 'work'\n")
    assert load_object("ng_checks:WHERE", [suite, work], what="agent") == "suite"
    assert load_object("ng_other:WHERE", [suite, work], what="agent") == "work"
    assert load_object("json:JSONDecoder.__name__", [suite, work], what="agent") == "JSONDecoder"


def test_two_suites_may_have_modules_of_the_same_name(tmp_path: Path) -> None:
    """Both have an ``agent.py`` that imports a ``tools.py``: the second must not get the first's."""
    for name in ("one", "two"):
        in_folder(
            tmp_path / name,
            ng_agent="from ng_tools import NAME\ndef build(): return NAME\n",
            ng_tools=f"NAME = {name!r}\n",
        )
    made = [
        load_object("ng_agent:build", [tmp_path / name, tmp_path], what="agent") for name in ("one", "two")
    ]
    assert [build() for build in made] == ["one", "two"]


def test_a_package_of_the_same_name_is_the_suites_own_too(tmp_path: Path) -> None:
    """With its submodules."""
    for name in ("one", "two"):
        in_folder(tmp_path / name / "ng_pack", __init__="", part=f"NAME = {name!r}\n")
        assert load_object("ng_pack.part:NAME", [tmp_path / name], what="agent") == name


def test_one_suites_modules_are_imported_once(tmp_path: Path) -> None:
    """Its agent and its evaluators share a module's state."""
    in_folder(tmp_path, ng_state="SEEN = []\n", ng_agent="from ng_state import SEEN\n")
    agents = load_object("ng_agent:SEEN", [tmp_path, tmp_path.parent], what="agent")
    assert load_object("ng_state:SEEN", [tmp_path, tmp_path.parent], what="use") is agents


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "names no object: write module:attribute"),
        (":build", "names no object"),
        ("module:", "names no object"),
        ("ng_missing:build", "cannot be imported: ModuleNotFoundError"),
        ("ng_broken:build", "cannot be imported: ZeroDivisionError"),
        ("ng_exits:build", "cannot be imported: SystemExit"),
        ("ng_torn:build", "cannot be imported: SyntaxError"),
        ("ng_good:missing", "module ng_good has no 'missing'"),
        ("ng_good:Thing.missing", "module ng_good has no 'Thing.missing'"),
    ],
)
def test_what_cannot_be_had_says_where_and_why(tmp_path: Path, text: str, says: str) -> None:
    """The key of the suite stands before it; exit 2, nothing spent."""
    in_folder(
        tmp_path,
        ng_broken="1 / 0\n",
        ng_exits="raise SystemExit(0)\n",
        ng_torn="def (\n",
        ng_good="class Thing: ...\n",
    )
    with pytest.raises(InputError, match=rf"^evaluators\.X\.use: .*{says}"):
        load_object(text, [tmp_path], what="evaluators.X.use")
