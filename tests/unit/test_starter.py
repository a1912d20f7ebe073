"""The starter: names made from folders, texts that hold, files that appear whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from nightgate.cases import load_suite
from nightgate.cases.lint import lint
from nightgate.cases.schema import suite_schema
from nightgate.errors import InputError
from nightgate.starter import SAMPLES, Starter, place, sample_files, suite_id

FILES = {"a.yaml": "a\n", "scripts/b.yaml": "b\n", "suite.yaml": "c\n"}


def a_starter(suite: str = "desk", *, folder: str = "cases/desk", schema: str | None = "{}") -> Starter:
    return Starter(suite=suite, folder=folder, schema=schema)


def left_in(folder: Path) -> set[str]:
    """Everything under a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# -- names ------------------------------------------------------------------------------------------


@given(st.text(max_size=200))
@example("-")
@example("null")
@example("2026-11-29")
@example("a" * 63 + "-b")
def test_every_folder_name_makes_a_suite_id(name: str) -> None:
    """People name folders as they like; the id stands in keys and must import as a module."""
    found = suite_id(name)

    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,62}[a-z0-9])?", found)
    assert suite_id(found) == found
    assert a_starter(found).module.isidentifier()


@given(st.sets(st.sampled_from(["desk", "desk-2", "desk-3", "x" * 64, "x" * 62 + "-2"])))
def test_a_taken_id_is_never_given_again(taken: set[str]) -> None:
    """One night refuses two suites of one id."""
    for name in ("desk", "x" * 64):
        found = suite_id(name, taken)

        assert found not in taken
        assert re.fullmatch(r"[a-z0-9-]{1,64}", found)


def test_two_suites_have_two_modules() -> None:
    """Modules of suite folders share one process in a night."""
    assert a_starter("desk").module != a_starter("desk-2").module


def test_the_module_does_not_hide_a_package_named_like_the_suite() -> None:
    """``support_bot`` is what a team's own package is called, and the suite's folder is looked up first."""
    assert a_starter("support-bot").module == "support_bot_factory"


# -- texts ------------------------------------------------------------------------------------------


def test_the_package_has_every_template() -> None:
    """Data files are lost easily between a tree and a wheel."""
    found = resources.files("nightgate.starter").joinpath("files")

    assert {entry.name for entry in found.iterdir()} == {
        "suite.yaml", "answers.yaml", "refusals.yaml", "scripts", "factory.py.txt"
    }  # fmt: skip
    assert {entry.name for entry in found.joinpath("scripts").iterdir()} == {"baseline.yaml", "broken.yaml"}


def test_no_placeholder_is_left() -> None:
    """Also where a folder is named like one: it is text, and filled in once."""
    texts = a_starter(folder="__MODULE__").files().values()

    assert not any(re.search(r"__(SUITE|FOLDER|SCHEMA)__", text) for text in texts)
    assert any("nightgate run __MODULE__" in text for text in texts)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A starter on the disk."""
    place(tmp_path / "desk", a_starter(schema=None).files())
    return tmp_path / "desk"


def test_seven_cases_five_to_answer_and_two_to_refuse(suite: Path) -> None:
    """The shape that the requirement gives a starter."""
    cases = load_suite(suite).cases

    assert [case.path.name for case in cases] == ["answers.yaml"] * 5 + ["refusals.yaml"] * 2


def test_nothing_needs_a_second_look(suite: Path) -> None:
    """A newcomer cannot tell a warning about the example from one about an own mistake."""
    assert lint(load_suite(suite)) == []


def test_every_case_says_why_it_is_there(suite: Path) -> None:
    """The example is copied; so is what it leaves out."""
    assert all(case.why and case.expected_output and case.family for case in load_suite(suite).cases)


def test_the_family_in_two_languages_is_one(suite: Path) -> None:
    """The report compares languages within a family."""
    hours = [case for case in load_suite(suite).cases if case.family == "opening-hours"]

    assert [case.language for case in hours] == ["en", "es"]


def test_the_broken_script_differs_in_one_reply(suite: Path) -> None:
    """One planted failure, so that what the gate says can be traced to it."""
    scripts = [YAML(typ="safe").load(suite / "scripts" / f"{name}.yaml") for name in ("baseline", "broken")]
    good, bad = (script["replies"] for script in scripts)

    assert set(good) == set(bad)
    assert [case for case in good if good[case] != bad[case]] == ["reserve-for-someone-else"]


@pytest.mark.parametrize(
    "name", ["suite.yaml", "answers.yaml", "refusals.yaml", "scripts/baseline.yaml", "scripts/broken.yaml"]
)
def test_an_editor_finds_nothing_wrong(suite: Path, name: str) -> None:
    """The first line names the schema for editors; the loader never reads it."""
    yaml = YAML(typ="safe", pure=True)

    Draft202012Validator(suite_schema()).validate(yaml.load(suite / name))


@pytest.mark.parametrize("schema", ["{}", None])
def test_the_first_line_leads_to_the_schema(tmp_path: Path, schema: str | None) -> None:
    """It lies in the suite, or one folder up where several suites share it."""
    if schema is None:
        (tmp_path / "schema.json").write_text("{}", encoding="utf-8")
    files = place(tmp_path / "desk", a_starter(schema=schema).files())

    for file in files:
        if file.suffix == ".yaml":
            head = file.read_text(encoding="utf-8").splitlines()[0]
            assert head.startswith("# yaml-language-server: $schema=")
            assert (file.parent / head.partition("=")[2]).is_file()


def test_the_agent_module_is_clean(suite: Path) -> None:
    """It becomes a team's code: its formatter and linter shall not touch it on the first commit."""
    module = suite / "desk_factory.py"
    ruff = [sys.executable, "-m", "ruff"]

    for words in (["check", "--select", "E,F,I,B,UP,ANN,D1"], ["format", "--check"]):
        done = subprocess.run(
            [*ruff, *words, "--isolated", "--line-length", "100", str(module)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout


# -- files ------------------------------------------------------------------------------------------


def test_files_and_folders_above_are_written(tmp_path: Path) -> None:
    """``cases/`` need not be there yet."""
    written = place(tmp_path / "evals" / "desk", FILES)

    assert [str(file.relative_to(tmp_path / "evals" / "desk")) for file in written] == list(FILES)
    assert [file.read_text(encoding="utf-8") for file in written] == list(FILES.values())


def test_the_suite_file_comes_last() -> None:
    """A folder without it is no suite: a kill half-way leaves nothing that runs."""
    assert list(a_starter().files())[-1] == "suite.yaml"


def test_an_empty_folder_and_a_harmless_file_are_no_obstacle(tmp_path: Path) -> None:
    """A README or a .gitkeep is nobody's case."""
    (tmp_path / "README.md").write_text("ours", encoding="utf-8")
    (tmp_path / "scripts").mkdir()

    place(tmp_path, FILES)

    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "ours"


@pytest.mark.parametrize("name", ["suite.yaml", "scripts/b.yaml", "more.yaml", "more.jsonl", "scripts/x.yml"])
def test_what_would_be_overwritten_or_read_is_named(tmp_path: Path, name: str) -> None:
    """Another YAML file in the folder would be read as cases of the suite."""
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("mine", encoding="utf-8")
    before = left_in(tmp_path)

    with pytest.raises(InputError, match=re.escape(name)):
        place(tmp_path, FILES)

    assert left_in(tmp_path) == before
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_link_that_leads_nowhere_is_in_the_way(tmp_path: Path) -> None:
    """Writing through it would make a file somewhere else."""
    (tmp_path / "suite.yaml").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(InputError, match=re.escape("suite.yaml")):
        place(tmp_path, FILES)

    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", ["evals", "evals/desk", "evals/desk/scripts"])
def test_a_file_where_a_folder_is_due_is_named(tmp_path: Path, name: str) -> None:
    """The message says which of the parts it is."""
    blocked = tmp_path / name
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match=Path(name).name):
        place(tmp_path / "evals" / "desk", FILES)

    assert blocked.read_text(encoding="utf-8") == "mine"


def test_a_folder_of_suites_is_no_suite(tmp_path: Path) -> None:
    """``init cases`` is the likely slip; ``nightly cases`` would then play one suite and no other."""
    place(tmp_path / "cases" / "desk", FILES)

    with pytest.raises(InputError, match=r"holds suites \(desk\)"):
        place(tmp_path / "cases", FILES)


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    """Half a suite would be in the way of the next try."""
    (tmp_path / "evals").mkdir()
    too_long = "x" * 300 + ".yaml"

    with pytest.raises(InputError, match="nothing was written"):
        place(tmp_path / "evals" / "a" / "desk", {**FILES, too_long: "never"})

    assert left_in(tmp_path) == {"evals"}


def test_an_interrupt_half_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is no ``OSError``."""
    whole = Path.mkdir

    def interrupted(self: Path, *args: object, **kwargs: object) -> None:
        if self.name == "scripts":
            raise KeyboardInterrupt
        whole(self)

    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(KeyboardInterrupt):
        place(tmp_path / "desk", FILES)

    assert left_in(tmp_path) == set()


# -- the demo's suites ------------------------------------------------------------------------------

CASES = Path(__file__).parents[2] / "cases"


@pytest.mark.parametrize("suite", SAMPLES)
def test_the_demo_brings_the_suites_of_the_repository(suite: str) -> None:
    """The package has no ``cases/`` beside it, so it has copies: after an edit copy the file again."""
    ours = sample_files(suite)
    theirs = {
        str(path.relative_to(CASES / suite)): path.read_text(encoding="utf-8")
        for path in (CASES / suite).rglob("*.yaml")
    }

    own = {"scripts/strict-judge.yaml"} if suite == "support" else set()
    assert {name: text for name, text in ours.items() if name not in own} == theirs
    assert own <= set(ours)
    assert list(ours)[-1] == "suite.yaml"


@pytest.mark.parametrize("suite", SAMPLES)
def test_the_demo_s_suites_have_nothing_to_mend(tmp_path: Path, suite: str) -> None:
    """They are what a newcomer reads first."""
    place(tmp_path / suite, sample_files(suite))

    assert list(lint(load_suite(tmp_path / suite))) == []
