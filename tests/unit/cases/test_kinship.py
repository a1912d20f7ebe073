"""Judges that are related to what they judge are named."""

from __future__ import annotations

import pytest

from nightgate.cases.kinship import kinship


@pytest.mark.parametrize(
    ("agent", "judge"),
    [
        ("openai:gpt-6-luna", "openai:gpt-6-luna"),
        ("openai:gpt-6-luna?temperature=1", "openai-responses:gpt-6-luna"),
        ("bedrock:us.amazon.nova-lite-v1:0", "bedrock:us.amazon.nova-lite-v1:0?max_tokens=10"),
        ("import:mine:a", "import:mine:a"),
        ("scripted:baseline", "scripted:baseline"),
    ],
)
def test_the_same_model_is_the_same_whatever_its_options(agent: str, judge: str) -> None:
    """And by whichever wire it is asked."""
    assert "the same model" in (kinship(agent, judge) or "")


@pytest.mark.parametrize(
    ("agent", "judge", "family"),
    [
        ("openai:gpt-6-luna", "openai:gpt-6.1-terra", "gpt"),
        ("openai:o3", "openai:gpt-6", "gpt"),
        ("bedrock:us.anthropic.claude-a-v1:0", "anthropic:claude-b", "claude"),
        ("ollama:llama3.3:70b", "bedrock:meta.llama3-1-8b", "llama"),
    ],
)
def test_one_family_is_named(agent: str, judge: str, family: str) -> None:
    """Across providers too."""
    assert f"one family ({family})" in (kinship(agent, judge) or "")


@pytest.mark.parametrize(
    ("agent", "judge"),
    [
        ("scripted:baseline", "scripted:judge"),
        ("scripted:gpt-like", "scripted:gpt-judge"),
        ("import:mine:a", "import:mine:b"),
        ("import:mine:a", "openai:mine:a"),
        ("openai:gpt-6", "anthropic:claude-b"),
        ("openai:my-own", "openai:another"),
        ("openai:egptian", "openai:gpt-6"),
    ],
)
def test_strangers_scripts_and_unknown_names_are_not_related(agent: str, judge: str) -> None:
    """A warning that is often wrong is read by nobody."""
    assert kinship(agent, judge) is None
