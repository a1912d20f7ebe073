"""Holding the simulated user to its rules: tokens, length, leaks, repeats.

Owns what happens to a draft before the agent gets it. The model is asked to keep the rules and not
trusted to: what breaks one is taken out or asked for again, and counted. Knows no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nightgate.cases import Persona
from nightgate.conversations.facts import holds, redact, same_words

MOST_SENTENCES = 2
_SENTENCE = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+|\n+")  # noqa: RUF100
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[^\W\d]|\d{1,2}|Sr|Sra|Dr|Dra|Mr|Mrs|Ms|No|Nr|St|ca|approx|etc|p\.ej|e\.g|i\.e)\.$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message of the simulator, as the harness sees it."""

    text: str
    """Without tokens, at most two sentences."""
    closing: bool = False
    leaving: bool = False
    cut: bool = False
    leaked: tuple[str, ...] = ()
    """Withheld facts in it that nobody asked for."""
    repeated: bool = False
    """The user has said exactly this before."""

    @property
    def usable(self) -> bool:
        """Whether it may be delivered as it is."""
        return not self.leaked and not self.repeated


@dataclass(slots=True)
class Listener:
    """What has been said so far, as far as the rules need it."""

    persona: Persona
    asked: set[str] = field(default_factory=set)
    """Facts that the agent has asked for."""
    given: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)
    """Messages of the user, as ``same_words`` has them."""

    def read(self, raw: str) -> Draft:
        """Look at a draft.

        Args:
            raw: As the simulator wrote it.
        """
        text, closing = _without(raw, self.persona.closing_token)
        text, leaving = _without(text, self.persona.leaving_token)
        short = "".join(sentences(text)[:MOST_SENTENCES]).strip()
        return Draft(
            text=short,
            closing=closing,
            leaving=leaving,
            cut=short != text,
            leaked=tuple(self._leaks(short)),
            repeated=bool(short) and not closing and not leaving and same_words(short) in self.said,
        )

    def _leaks(self, text: str) -> Iterable[str]:
        for name, fact in self.persona.withheld.items():
            if name not in self.asked and name not in self.given and holds(text, fact.value):
                yield name

    def redacted(self, draft: Draft) -> str:
        """The draft's text without what it leaks."""
        text = draft.text
        for name in draft.leaked:
            text = redact(text, self.persona.withheld[name].value)
        return text

    def without_repeats(self, text: str, wanted: Iterable[str]) -> tuple[str, bool]:
        """``text`` without sentences that only say again what was given; and whether any went.

        Args:
            text: Ready to be delivered.
            wanted: Facts that the agent's last turn asked for: these may be said again.
        """
        known = [self.persona.withheld[name].value for name in self.given - set(wanted)]
        parts = sentences(text)
        kept = [part for part in parts if not any(holds(part, value) for value in known)]
        if len(kept) == len(parts):
            return text, False
        return ("".join(kept).strip(), True) if kept else (text, True)

    def deliver(self, text: str) -> list[str]:
        """Note that the user said ``text``; the facts that it gave for the first time."""
        self.said.add(same_words(text))
        new = [
            name
            for name, fact in self.persona.withheld.items()
            if name not in self.given and holds(text, fact.value)
        ]
        self.given.update(new)
        return new


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, with the blanks behind them; put together they are ``text``.

    >>> sentences("Sr. Gil here. It is the 3. of May! Ok?")
    ['Sr. Gil here. ', 'It is the 3. of May! ', 'Ok?']
    """
    parts: list[str] = []
    start = 0
    for match in _SENTENCE.finditer(text):
        if "\n" not in match[0] and _ABBREVIATED.search(text[start : match.start()]):
            continue
        parts.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        parts.append(text[start:])
    return parts


def reminder(draft: Draft, withheld: Mapping[str, object]) -> str:
    """What the simulator is told when it has to write a message again."""
    if draft.leaked:
        names = ", ".join(name for name in withheld if name in draft.leaked)
        return f"Your last draft gave away {names}, and nobody asked for it. Write it again without that."
    return "You have said exactly this before. Write something else, or leave."


def _without(text: str, token: str) -> tuple[str, bool]:
    """``text`` without ``token``, and whether it was there; what is glued to it stays."""
    if token not in text:
        return text.strip(), False
    return " ".join(part.strip() for part in text.split(token) if part.strip()), True
