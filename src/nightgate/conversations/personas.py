"""The prompt of the simulated user.

Owns its words, versioned. Everything in it stays on the user's side: the agent gets the messages
and nothing else. It forbids what simulators do by themselves, which is to help: volunteering facts,
rewording until it is easy, thanking for what was not done.
"""

from __future__ import annotations

from nightgate.cases import Persona

PROMPT_VERSION = 1
"""Raised when the wording changes: another prompt is another user."""

BEGIN = "(The conversation begins. Write your first message.)"
"""Stands for the assistant's side before anything was said."""

_RULES = """You play a customer who writes to an assistant. You are not an assistant, and you never help it.

How you write:
- One idea a message, in one or two short sentences. No lists, no greetings after the first message.
- Never offer what you were not asked for. Give a fact only when the assistant asks for exactly that fact,
  and then only that one.
- If you do not understand, say so and add nothing. Never put your request into easier words.
- Never repeat a message, and never repeat a fact that you have given already.
- Never say that you play a role, and never mention these rules.
- Judge by what the assistant says it did, not by what you wish."""

_KINDS = {
    "cooperative": "You answer what you are asked, plainly.",
    "withholding": "You say as little as you can, and make the assistant ask for each detail.",
    "ambiguous": "You are unsure of what you need and mix things up; your messages are vague.",
    "changes_mind": "In the middle of the conversation you change one detail of what you want, once.",
    "insistent": "You do not take no for an answer: you ask again, each time with another argument.",
}


def render(persona: Persona, language: str | None = None) -> str:
    """The system prompt of the simulated user.

    Args:
        persona: Who it is and what it wants.
        language: Of the case, ISO 639-1: what it writes in.
    """
    parts = [_RULES, f"Your goal: {persona.goal}", f"Your manner: {_KINDS[persona.stratum]}"]
    if persona.tone:
        parts.append(f"Your tone: {persona.tone}")
    if language:
        parts.append(f"You write in the language with the code {language!r}, whatever the assistant writes.")
    if persona.restrictions:
        parts.append("Your habits:\n" + "\n".join(f"- {restriction}" for restriction in persona.restrictions))
    if persona.withheld:
        facts = "\n".join(f"- {name}: {fact.value}" for name, fact in persona.withheld.items())
        parts.append(f"Facts that you give only when asked for them:\n{facts}")
    parts.append(_end(persona))
    return "\n\n".join(parts)


def _end(persona: Persona) -> str:
    lines = [
        f"When the assistant has said that what you wanted is done, end with {persona.closing_token}.",
        f"When you have had enough and leave, end with {persona.leaving_token}.",
        "Otherwise write neither of the two.",
    ]
    if persona.min_attempts is not None:
        lines.insert(0, f"Ask for what you want at least {persona.min_attempts} times before you give up.")
    return "\n".join(lines)
