"""``nightgate init`` from the shell: what a newcomer gets in the first minute."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shell import environment, nightgate

_HEAVY = ("strands", "strands_evals", "prefect", "pyarrow", "boto3", "s3fs", "scipy", "lingua")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A starter in ``cases/desk`` of an empty folder."""
    assert nightgate("init", "cases/desk", cwd=tmp_path).code == 0
    return tmp_path


def commands(printed: str) -> list[list[str]]:
    """What it says to do next, as words after ``nightgate``."""
    lines = [line.strip() for line in printed.partition("next:\n")[2].splitlines()]
    return [line.partition("#")[0].split()[1:] for line in lines]


def test_the_next_three_commands_do_what_they_say(tmp_path: Path) -> None:
    """Right, green, and stopped: the three answers of the tool, without an account."""
    first = nightgate("init", "cases/desk", cwd=tmp_path)
    check, run, broken = (nightgate(*words, cwd=tmp_path) for words in commands(first.out))

    assert (check.code, run.code, broken.code) == (0, 0, 1), (check.err, run.err, broken.err)
    assert "warning" not in check.out
    assert "PASS  desk" in run.out
    assert "failed [reserve-for-someone-else]" in broken.out


def test_every_written_file_is_named(tmp_path: Path) -> None:
    """Nothing appears that was not said."""
    ran = nightgate("init", "desk", cwd=tmp_path)

    named = {line.strip() for line in ran.out.splitlines() if line.startswith("  desk/")}
    assert named == {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}


def test_exactly_the_planted_failure_is_caught(desk: Path) -> None:
    """One wrong reply: the tool and the state see it, the other evaluators and cases do not."""
    ran = nightgate("run", "cases/desk", "--model", "scripted:broken", "--json", "-", cwd=desk)

    failed = {row["name"]: row["failed_cases"] for row in ran.json["evaluators"] if row["failed"]}
    assert failed == {
        "ToolPolicy": ["reserve-for-someone-else"],
        "StateReached": ["reserve-for-someone-else"],
    }


def test_two_starters_in_one_run_use_their_own_agents(desk: Path) -> None:
    """Each folder has a module, and one process imports both."""
    nightgate("init", "cases/Front Desk", cwd=desk)
    other = desk / "cases" / "Front Desk" / "front_desk_factory.py"
    text = other.read_text(encoding="utf-8")
    other.write_text(text.replace("10:00 to 16:00", "closed on Saturdays"), encoding="utf-8")

    ran = nightgate("run", "cases/desk", "cases/Front Desk", "--json", "-", cwd=desk)

    assert ran.code == 0, ran.err
    one, two = ran.json["runs"]
    assert (one["suite"], two["suite"]) == ("desk", "front-desk")
    assert one["fingerprint"] != two["fingerprint"]


def test_an_odd_folder_name_becomes_an_id_and_that_is_said(tmp_path: Path) -> None:
    """The id is not the folder's name, so a person has to learn it here."""
    ran = nightgate("init", "Prüfung 2", cwd=tmp_path)

    assert ran.code == 0, ran.err
    assert "suite prufung-2" in ran.out
    assert "'Prüfung 2'" in ran.out
    assert nightgate("check", "Prüfung 2", cwd=tmp_path).code == 0


@pytest.mark.parametrize("name", ["null", "true", "2026", "1e3", "class", "json", "nightgate", "strands"])
def test_no_name_breaks_the_suite(tmp_path: Path, name: str) -> None:
    """YAML words, numbers, keywords and names of modules."""
    nightgate("init", name, cwd=tmp_path)

    ran = nightgate("run", name, "--case", "out-of-scope", cwd=tmp_path)

    assert ran.code == 0, ran.err


def test_an_id_that_a_neighbour_has_is_not_given_again(desk: Path) -> None:
    """``nightly cases`` would refuse both of them."""
    ran = nightgate("init", "cases/Desk!", cwd=desk)

    assert ran.code == 0
    assert "suite desk-2" in ran.out
    assert "desk already" in ran.out
    assert nightgate("run", "cases/desk", "cases/Desk!", "--case", "out-of-scope", cwd=desk).code == 0


def test_the_folder_one_stands_in_may_become_the_suite(tmp_path: Path) -> None:
    """``.`` has a name too."""
    here = tmp_path / "desk"
    here.mkdir()

    ran = nightgate("init", ".", cwd=here)

    assert ran.code == 0, ran.err
    assert "suite desk" in ran.out
    assert nightgate("run", ".", cwd=here).code == 0


def test_a_second_time_is_refused_and_changes_nothing(desk: Path) -> None:
    """The first edit of the day must not be lost to the second try."""
    suite = desk / "cases" / "desk" / "suite.yaml"
    suite.write_text("mine", encoding="utf-8")

    ran = nightgate("init", "cases/desk", cwd=desk)

    assert ran.code == 2
    assert "suite.yaml" in ran.err
    assert "nothing was written" in ran.err
    assert suite.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("where", ["file/desk", "/proc/nightgate/desk", "x" * 300, "loop/desk", ""])
def test_a_place_that_cannot_be_written_is_wrong_input(tmp_path: Path, where: str) -> None:
    """A clear message instead of a traceback, and exit 2: nothing was decided, nothing spent."""
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    (tmp_path / "loop").symlink_to("loop")

    ran = nightgate("init", where, cwd=tmp_path)

    assert ran.code == 2, ran.err
    assert len(ran.err.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"file", "loop"}


def test_an_absolute_folder_leaves_no_trace_of_this_machine(tmp_path: Path) -> None:
    """The files are committed and read elsewhere."""
    assert nightgate("init", tmp_path / "desk").code == 0

    for path in (tmp_path / "desk").rglob("*"):
        assert path.is_dir() or str(tmp_path) not in path.read_text(encoding="utf-8")


def test_a_folder_name_with_a_line_break_stays_in_its_comment(tmp_path: Path) -> None:
    """What is filled into a YAML file must not end the comment that it stands in."""
    ran = nightgate("init", "desk\nagent: x", cwd=tmp_path)

    assert ran.code == 0, ran.err
    assert nightgate("check", "desk\nagent: x", cwd=tmp_path).code == 0


def test_the_shared_schema_is_used_where_there_is_one(tmp_path: Path) -> None:
    """Several suites of a repository need one copy."""
    nightgate("init", "cases/first", cwd=tmp_path)
    (tmp_path / "cases" / "first" / "schema.json").rename(tmp_path / "cases" / "schema.json")

    nightgate("init", "cases/second", cwd=tmp_path)

    second = tmp_path / "cases" / "second"
    assert not (second / "schema.json").exists()
    assert "$schema=../schema.json" in (second / "suite.yaml").read_text(encoding="utf-8")
    assert "$schema=../../schema.json" in (second / "scripts" / "broken.yaml").read_text(encoding="utf-8")


def test_it_imports_nothing_heavy(tmp_path: Path) -> None:
    """The first command of a newcomer answers at once."""
    code = (
        "import sys; from nightgate.cli import main; main(['init', 'desk']); "
        f"print([name for name in {_HEAVY} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, cwd=tmp_path, env=environment(), check=True,
    )  # fmt: skip

    assert done.stderr.strip() == "[]"
