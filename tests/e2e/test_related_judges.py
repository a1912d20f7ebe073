"""A judge that is the model under test, or of its family: told, or refused before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live.onecase import write_suite
from live.openai_standin import Say, Standin, openai_standin
from nightgate import run_suite
from nightgate.errors import InputError
from nightgate.requests import RunRequest
from shell import nightgate

CRITERION = "judge: [{id: polite, criterion: Is it polite?}]"
REFUSE = "gate: {related_judges: refuse}\n"
YES = Say(text='{"verdict": "yes", "reason": "polite"}')
pytestmark = pytest.mark.server


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    monkeypatch.delenv("NIGHTGATE_RELATED_JUDGES", raising=False)
    with openai_standin() as server:
        yield server


async def run(standin: Standin, tmp_path: Path, judge: str = "gpt-6-terra", **more: Any) -> dict[str, Any]:
    """A run of one case whose agent is gpt-6-luna."""
    suite = write_suite(tmp_path / "s", expect=CRITERION, evaluators=more.pop("settings", ""))
    models = {"model": standin.plays("gpt-6-luna", Say()), "judge": standin.plays(judge, YES)}
    return (await run_suite(suite, store=tmp_path / "store", **models | more)).as_dict()


async def test_a_relative_is_a_warning_by_default(standin: Standin, tmp_path: Path) -> None:
    """It is a bias and no error: the suite's owner decides."""
    summary = await run(standin, tmp_path)

    assert summary["verdict"] == "pass"
    assert any("one family (gpt)" in warning for warning in summary["warnings"])


async def test_a_suite_may_refuse_relatives_before_anything_is_spent(
    standin: Standin, tmp_path: Path
) -> None:
    """Both models are named, so that one of them can be changed."""
    with pytest.raises(InputError, match="one family") as refused:
        await run(standin, tmp_path, settings=REFUSE)

    assert "gpt-6-luna" in str(refused.value)
    assert "gpt-6-terra" in str(refused.value)
    assert standin.requests == []
    assert not (tmp_path / "store" / "runs").exists()


async def test_the_request_outranks_the_suite_and_the_environment_asks_too(
    standin: Standin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI job may be stricter than a suite, and a person at a desk laxer."""
    summary = await run(standin, tmp_path, settings=REFUSE, related_judges="warn")
    monkeypatch.setenv("NIGHTGATE_RELATED_JUDGES", "refuse")

    assert summary["verdict"] == "pass"
    with pytest.raises(InputError, match="one family"):
        await run(standin, tmp_path)


async def test_the_model_itself_is_refused_by_name(standin: Standin, tmp_path: Path) -> None:
    """The nearest relative of all."""
    with pytest.raises(InputError, match=r"the same model \('gpt-6-luna'\)"):
        await run(standin, tmp_path, judge="gpt-6-luna", related_judges="refuse")


async def test_a_stranger_passes(standin: Standin, tmp_path: Path) -> None:
    """Only kinship is refused."""
    summary = await run(standin, tmp_path, judge="claude-y", related_judges="refuse")

    assert summary["verdict"] == "pass"


async def test_a_judge_that_nobody_asks_is_no_matter(standin: Standin, tmp_path: Path) -> None:
    """A suite of code checks may name any judge."""
    suite = write_suite(tmp_path / "s", evaluators=REFUSE)
    models = {"model": standin.plays("gpt-6-luna", Say()), "judge": "openai:gpt-6-luna"}

    assert (await run_suite(suite, store=tmp_path / "store", **models)).verdict == "pass"


async def test_one_related_member_refuses_a_panel(standin: Standin, tmp_path: Path) -> None:
    """It has a vote like the others."""
    suite = write_suite(tmp_path / "s", expect=CRITERION, evaluators=REFUSE)
    panel = "judge: {panel: [openai:claude-y, openai:gpt-6-terra, openai:qwen-z], rule: majority}"
    settings = suite / "suite.yaml"
    settings.write_text(settings.read_text().replace("judge: openai:none", panel))

    with pytest.raises(InputError, match="one family") as refused:
        await run_suite(suite, store=tmp_path / "store", model="openai:gpt-6-luna")

    assert "gpt-6-terra" in str(refused.value)
    assert "claude-y" not in str(refused.value)


async def test_a_sweep_is_held_against_the_model_that_answered(standin: Standin, tmp_path: Path) -> None:
    """Not against what the suite says today."""
    await run(standin, tmp_path, judge="claude-y")
    command = ("sweep", "latest:wire", "--store", tmp_path / "store", "--suite", tmp_path / "s")
    judge = standin.plays("gpt-6-terra", YES)
    flags = ("--evaluator", "Criterion:polite", "--judge", judge)

    refused = nightgate(*command, *flags, "--related-judges", "refuse")
    asked = standin.asked("gpt-6-terra")
    warned = nightgate(*command, *flags)

    assert (refused.code, asked) == (2, 0)
    assert "gpt-6-luna" in refused.err
    assert "gpt-6-terra" in refused.err
    assert (warned.code, standin.asked("gpt-6-terra")) == (0, 1)
    assert "one family (gpt)" in warned.err


def test_a_night_over_a_folder_refuses_too(standin: Standin, tmp_path: Path) -> None:
    """The same flag on every command that runs something."""
    suite = write_suite(tmp_path / "all" / "s", expect=CRITERION)
    models = ("--model", standin.plays("gpt-6-luna", Say()), "--judge", standin.plays("gpt-6-terra", YES))

    done = nightgate("run", suite, *models, "--store", tmp_path / "store", "--related-judges", "refuse")
    night = nightgate("nightly", "--help")

    assert done.code == 2
    assert "--related-judges" in night.out
    assert standin.requests == []


@pytest.mark.parametrize("word", ["no", "Refuse"])
def test_another_word_is_refused(word: str) -> None:
    """Silence would be taken for the stricter of the two by some."""
    with pytest.raises(InputError, match=r"--related-judges .* must be one of warn, refuse"):
        RunRequest.make("s", {"related_judges": word})
