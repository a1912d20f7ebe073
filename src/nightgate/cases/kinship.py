"""Judges that are related to what they judge.

Owns the comparison of two model specs by name. A judge rates the answers of its own model, and of its
own family, better than others do; that is a bias that no rubric shows.
"""

from __future__ import annotations

import re

from nightgate.cases.specs import ModelSpec, parse_spec

_FAMILIES = re.compile(
    r"(?<![a-z])(claude|command|deepseek|gemini|gemma|gpt|grok|jamba|llama|mistral|mixtral|nova|palmyra|phi|qwen|titan)"
    r"(?![a-z])|(?<![a-z0-9])(o)[1-9](?![a-z0-9])"
)
_GATEWAYS = frozenset({"bedrock", "openai", "openai-responses", "anthropic", "ollama", "llamacpp", "litellm"})


def kinship(agent: str, judge: str) -> str | None:
    """How a judge is related to the model under test: a sentence for people, or None.

    >>> kinship("openai:gpt-6-luna", "openai-responses:gpt-6-luna?temperature=0")
    "judge and agent are the same model ('gpt-6-luna'): a judge favours its own answers"
    >>> kinship("bedrock:us.amazon.nova-lite-v1:0", "anthropic:claude-x") is None
    True
    >>> kinship("import:ours:model", "import:ours:model")
    "judge and agent are the same model ('ours:model'): a judge favours its own answers"
    """
    first, second = parse_spec(agent), parse_spec(judge)
    if (first.scheme, first.name) == (second.scheme, second.name):
        return f"judge and agent are the same model ({first.name!r}): a judge favours its own answers"
    # Two scripts have nothing in common, and of somebody's own factory only its name is known.
    if first.scheme not in _GATEWAYS or second.scheme not in _GATEWAYS:
        return None
    if first.name == second.name:
        return f"judge and agent are the same model ({first.name!r}): a judge favours its own answers"
    shared = _family(first)
    if shared is not None and shared == _family(second):
        return f"judge and agent are of one family ({shared}): a judge favours its relatives' answers"
    return None


def _family(spec: ModelSpec) -> str | None:
    found = _FAMILIES.search(spec.name.lower())
    if found is None:
        return None
    return "gpt" if found[2] else str(found[1])
