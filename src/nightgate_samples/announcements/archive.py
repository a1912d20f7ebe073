"""The archive: every announcement in an embedded database, and the search over it.

Owns the store and what a search means: which words match, how far back it looks, in which order it
answers. Knows no model and no agent, and guesses nothing: the direction comes from whoever asks.

The database is built once a process and kept as its bytes. Each archive opens a copy of them,
read-only: nothing is generated for a trial, and no trial can disturb another.
"""

import functools
import re
import sqlite3
import threading
from dataclasses import dataclass
from typing import Final, Literal, get_args

from nightgate_samples.announcements.catalogue import Service
from nightgate_samples.announcements.generate import Announcement, announcements, plain

SortOrder = Literal["asc", "desc"]
"""``asc`` is oldest first, ``desc`` is newest first."""

HISTORY_YEARS: Final = 3
"""How many calendar years a search without ``all_history`` looks at, the newest one included."""
MAX_LIMIT: Final = 50

_SCHEMA: Final = """
CREATE TABLE announcements (
    id TEXT PRIMARY KEY,
    date TEXT NOT NULL UNIQUE,
    year INTEGER NOT NULL,
    service TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    url TEXT NOT NULL UNIQUE,
    words TEXT NOT NULL
) STRICT
"""
_COLUMNS: Final = "id, date, service, title, body, url"
_WORD: Final = re.compile(r"[^\W_]+")
_SHORTEST_PLURAL: Final = 4


@dataclass(frozen=True, slots=True)
class Record:
    """One announcement as the archive gives it out."""

    id: str
    date: str
    """ISO 8601, like ``2004-05-11``."""
    service: str
    title: str
    body: str
    url: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, and what of it is shown."""

    records: tuple[Record, ...]
    """In the order that was asked for, at most ``limit`` of them."""
    total: int
    """How many match; ``records`` may be fewer."""
    first_year: int
    last_year: int
    """The years that were searched, both included."""


class Archive:
    """All announcements, to be read.

    Methods may be called from several threads at once: tools run in threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.deserialize(_image())
        self._database.execute("PRAGMA query_only = ON")
        self.first_year, self.last_year = self._database.execute(
            "SELECT min(year), max(year) FROM announcements"
        ).fetchone()

    def search(
        self,
        query: str = "",
        *,
        sort_order: SortOrder,
        service: Service | None = None,
        year: int | None = None,
        all_history: bool = False,
        limit: int = 10,
    ) -> Found:
        """Find the announcements in which every word of ``query`` begins a word.

        Args:
            query: Words in any case, with or without accents; none at all fits everything.
            sort_order: ``asc`` for oldest first, ``desc`` for newest first. Has no default.
            service: Only announcements of this service.
            year: Only this calendar year, however long ago; ``all_history`` is then of no account.
            all_history: True looks at all years. False looks at the newest ``HISTORY_YEARS``
                calendar years of the archive, not of the clock: the same search finds the same
                announcements next year.
            limit: At most so many are shown, 1 to ``MAX_LIMIT``.

        Raises:
            ValueError: If ``sort_order`` or ``limit`` is none of these.
        """
        if sort_order not in get_args(SortOrder):
            raise ValueError(f"sort_order is {sort_order!r}: give asc (oldest first) or desc (newest first)")
        if not 1 <= limit <= MAX_LIMIT:
            raise ValueError(f"limit is {limit}: give 1 to {MAX_LIMIT}")
        first, last = self._years(year, all_history=all_history)
        wheres = ["year BETWEEN ? AND ?"]
        values: list[str | int] = [first, last]
        if service is not None:
            wheres.append("service = ?")
            values.append(service)
        for term in _terms(query):
            wheres.append("instr(words, ' ' || ?) > 0")
            values.append(term)
        # Only the clauses above and a checked direction enter the text; what was asked is bound.
        where = " AND ".join(wheres)
        with self._lock:
            (total,) = self._database.execute(
                f"SELECT count(*) FROM announcements WHERE {where}",  # noqa: S608
                values,
            ).fetchone()
            rows = self._database.execute(
                f"SELECT {_COLUMNS} FROM announcements WHERE {where} ORDER BY date {sort_order} LIMIT ?",  # noqa: S608
                [*values, limit],
            ).fetchall()
        return Found(tuple(Record(*row) for row in rows), total, first, last)

    def get(self, announcement_id: str) -> Record | None:
        """Look up one announcement by its id, however it is capitalised; None if there is none."""
        with self._lock:
            row = self._database.execute(
                f"SELECT {_COLUMNS} FROM announcements WHERE id = ?",  # noqa: S608 - a constant of ours
                (announcement_id.strip().upper(),),
            ).fetchone()
        return None if row is None else Record(*row)

    def close(self) -> None:
        """Give the copy back; closing twice is allowed."""
        with self._lock:
            self._database.close()

    def _years(self, year: int | None, *, all_history: bool) -> tuple[int, int]:
        if year is not None:
            return year, year
        return self.first_year if all_history else self.last_year - HISTORY_YEARS + 1, self.last_year


@functools.cache
def _image() -> bytes:
    """The database as bytes; built by the first archive of a process."""
    database = sqlite3.connect(":memory:")
    with database:
        database.execute(_SCHEMA)
        database.executemany(
            "INSERT INTO announcements VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                # ISO dates as text sort as dates do.
                (a.id, a.date.isoformat(), a.date.year, a.service, a.title, a.body, a.url, _index(a))
                for a in announcements()
            ),
        )
    image = database.serialize()
    database.close()
    return image


def _index(announcement: Announcement) -> str:
    """Its words with a blank before each, so that a term is found at the beginning of a word only."""
    return "".join(f" {word}" for word in _words(f"{announcement.title} {announcement.body}"))


def _words(text: str) -> list[str]:
    return _WORD.findall(plain(text))


def _terms(query: str) -> list[str]:
    """The words to look for; a plural finds the singular, the reverse comes with word beginnings."""
    return [
        word[:-1] if len(word) >= _SHORTEST_PLURAL and word.endswith("s") else word for word in _words(query)
    ]
