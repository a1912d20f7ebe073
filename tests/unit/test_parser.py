"""The grammar's answers to what it does not know."""

from __future__ import annotations

import pytest

from nightgate.cli.output import counted
from nightgate.cli.parser import build_parser


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a refused command line says; it always exits with 2."""
    with pytest.raises(SystemExit) as left:
        build_parser().parse_args(words)
    assert left.value.code == 2
    return capsys.readouterr().err


def test_a_misspelt_flag_is_answered_with_the_nearest_and_the_commands_own_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The usage of the whole program names none of a command's flags."""
    said = refused(capsys, "run", "--modle", "x", "cases/support")

    assert said.startswith("usage: nightgate run ")
    assert "nightgate run: error: unrecognized arguments: --modle" in said
    assert said.endswith("did you mean --model?\n")


def test_a_misspelt_flag_of_a_command_in_a_command_is_answered_by_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`simulator validate` has flags that `simulator` has not."""
    said = refused(capsys, "simulator", "validate", "cases/a", "--rum=3")

    assert said.startswith("usage: nightgate simulator validate ")
    assert said.endswith("did you mean --run?\n")


def test_a_misspelt_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """One word of ten, picked out."""
    assert refused(capsys, "chekc", "cases/support").endswith("did you mean check?\n")


def test_what_is_like_nothing_gets_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    """A far-fetched guess is worse than none."""
    assert "did you mean" not in refused(capsys, "run", "--qqqq", "cases/support")
    assert "did you mean" not in refused(capsys, "gate", "latest", "one", "two")


@pytest.mark.parametrize("flag", ["--model", "--judge", "--user", "--case", "--tag", "--layer", "--stage"])
def test_check_takes_the_flags_that_say_what_run_would_play(flag: str) -> None:
    """Both are given the same words."""
    given = [build_parser().parse_args([command, "cases/a", flag, "x"]) for command in ("check", "run")]

    assert len({str(getattr(args, flag.strip("-"))) for args in given}) == 1


def test_one_of_a_thing_is_singular() -> None:
    """`1 cases` reads like a slip."""
    assert [counted(number, "cell") for number in (0, 1, 2)] == ["0 cells", "1 cell", "2 cells"]


@pytest.mark.parametrize("flag", ["--run-id", "--resume"])
def test_a_night_of_many_suites_has_no_flag_of_one_run(capsys: pytest.CaptureFixture[str], flag: str) -> None:
    """It was listed by --help and refused."""
    assert f"unrecognized arguments: {flag}" in refused(capsys, "nightly", "cases", flag, "x")
    build_parser().parse_args(["run", "cases/support", flag, "x"])
