from __future__ import annotations

import re

import pytest

from nightgate.cases import parse_spec


@pytest.mark.parametrize(
    ("text", "scheme", "name", "options"),
    [
        ("scripted:baseline", "scripted", "baseline", {}),
        ("bedrock:eu.anthropic.claude-x-v1:0", "bedrock", "eu.anthropic.claude-x-v1:0", {}),
        (
            "openai:gpt-x?base_url=http://127.0.0.1:80/v1&temperature=0",
            "openai",
            "gpt-x",
            {"base_url": "http://127.0.0.1:80/v1", "temperature": "0"},
        ),
        ("import:my.models:make", "import", "my.models:make", {}),
        ("litellm:groq/llama-3", "litellm", "groq/llama-3", {}),
        ("ollama:qwen:0.5b?keep_alive=", "ollama", "qwen:0.5b", {"keep_alive": ""}),
    ],
)
def test_a_spec_is_scheme_name_and_options(
    text: str, scheme: str, name: str, options: dict[str, str]
) -> None:
    """Model ids hold colons, dots and slashes."""
    spec = parse_spec(text)

    assert (spec.scheme, spec.name, dict(spec.options), spec.text) == (scheme, name, options, text)
    assert spec.scripted is (scheme == "scripted")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpt-x", "names no model"),
        ("opnai:gpt-x", "did you mean 'openai'?"),
        ("openai:", "has no model name"),
        ("openai: gpt", "has no model name"),
        ("scripted:../secrets", "is its file name in scripts/"),
        ("scripted:a/b", "is its file name in scripts/"),
        ("import:my.models", "must be import:module:factory"),
        ("openai:gpt?temperature", "options are written"),
        ("openai:gpt?a=1&a=2", "gives an option twice"),
    ],
)
def test_what_is_no_spec_is_refused_with_a_reason(text: str, message: str) -> None:
    """Before anything is imported or spent."""
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_spec(text)
