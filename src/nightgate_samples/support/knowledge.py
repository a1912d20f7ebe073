"""The shop's knowledge base: a few fixed articles and the search over them.

Owns what an article is and how one is found. Knows no model, no agent and no customer. The
articles are data in ``articles.json``, never text that a model made up during the run, so that a
failed trial points at the agent.

The search counts terms instead of asking SQLite's FTS5. FTS5 is an option of the SQLite build, so
a fallback beside it would rank differently on some machines; and its ranking moves for every
article when one article is added. Counted terms give the same hits everywhere.
"""

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_TITLE_WEIGHT: Final = 3
_SHORTEST_PLURAL: Final = 4
_STOP_WORDS: Final = frozenset(
    # One text: seventy quoted words would be harder to read and to extend.
    """
    about after am an and any are as at be been by can could did do does for from get had has have how if
    in into is it its just like me my need no not of on or our please so some still than that the their
    them there they this to too up us was we were what when where which who why will with would you your
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Article:
    """One article, cited by the model as ``[id]``."""

    id: str
    title: str
    body: str


class KnowledgeBase:
    """Articles and a search over them that gives the same hits for the same words, everywhere."""

    def __init__(self, articles: Iterable[Article]) -> None:
        """Index ``articles``; the caller's order does not matter.

        Raises:
            ValueError: If two articles share an id.
        """
        self.articles = tuple(sorted(articles, key=lambda article: article.id))
        ids = [article.id for article in self.articles]
        if len(set(ids)) < len(ids):
            twice = sorted({article_id for article_id in ids if ids.count(article_id) > 1})
            raise ValueError(
                f"Knowledge base: article ids used twice: {', '.join(twice)}. Renumber one of each."
            )
        self._words = [(_words(article.title), _words(article.body)) for article in self.articles]

    def search(self, query: str, limit: int = 3) -> tuple[Article, ...]:
        """Find the articles that share the most terms with ``query``.

        A term matches at the start of a word, so that "refund" finds "refunds". A term found in the
        title counts three times; equal counts are ordered by id.

        Args:
            query: Free text in any case, with or without accents.
            limit: At most so many articles.

        Returns:
            Best first; empty if no term occurs anywhere.
        """
        terms = _terms(query)
        counted = [
            (_TITLE_WEIGHT * _hits(terms, title) + _hits(terms, body), article)
            for article, (title, body) in zip(self.articles, self._words, strict=True)
        ]
        found = sorted(
            ((count, article) for count, article in counted if count > 0),
            key=lambda pair: (-pair[0], pair[1].id),
        )
        return tuple(article for _, article in found[:limit])


def bundled() -> KnowledgeBase:
    """Read the articles that are shipped with the package."""
    text = resources.files(__package__).joinpath("articles.json").read_text(encoding="utf-8")
    return KnowledgeBase(Article(**entry) for entry in json.loads(text))


def _words(text: str) -> list[str]:
    """Split ``text`` into words without case and accents."""
    folded = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(char for char in folded if not unicodedata.combining(char)))


def _terms(query: str) -> list[str]:
    """Keep what is worth looking for: no filler words, no single letters, no plural s."""
    kept = (word for word in _words(query) if word not in _STOP_WORDS and len(word) > 1)
    return list(dict.fromkeys(_without_plural_s(word) for word in kept))


def _without_plural_s(word: str) -> str:
    """Let a plural in the question find the singular in an article.

    The reverse comes for free, because terms match the beginnings of words.
    """
    return word[:-1] if len(word) >= _SHORTEST_PLURAL and word.endswith("s") else word


def _hits(terms: list[str], words: list[str]) -> int:
    return sum(any(word.startswith(term) for word in words) for term in terms)
