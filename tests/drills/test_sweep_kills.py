"""Kill -9 of a sweep through OpenAI's queue: each record is paid once, and nothing is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batch_standin import openai_batches
from batchkills import CASES, QUICK, STEPS, Place, killed_at_every_step, killed_once, placed
from sweepdrill import write_base

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def openai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("openai")
    with openai_batches() as provider:
        yield placed(provider, write_base(folder / "base", CASES), folder, QUICK, provider.spec("gpt-judge"))


@pytest.mark.parametrize("when", STEPS)
def test_a_killed_sweep_pays_each_record_once(openai: Place, when: str) -> None:
    """At each step of a job's life."""
    killed_once(openai, when, STEPS[when])


def test_a_sweep_killed_at_every_step_in_turn_pays_each_record_once(openai: Place) -> None:
    """Whoever goes on is killed as well."""
    killed_at_every_step(openai)
