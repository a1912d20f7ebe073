"""People's own patterns, run so that one of them cannot hang a run.

Owns the deadline of a search. Python's ``re`` cannot be interrupted: a pattern such as ``(a+)+$`` on a
plain sentence blocks the process, and no deadline of a trial fires. The ``regex`` package takes the
same patterns and a timeout.
"""

from __future__ import annotations

import functools
from typing import Any

SEARCH_S = 2.0
"""Far more than any sane pattern needs on a 2 MB text."""


class SlowPatternError(ValueError):
    """A pattern that did not come to an end."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(
            f"pattern /{pattern}/ did not come to an end within {SEARCH_S:g} s: it tries too many ways to "
            "match. Avoid a repeat inside a repeat, such as (a+)+"
        )


class Pattern:
    """A compiled pattern with a deadline.

    Args:
        source: As people write it; what ``re`` takes.
        ignore_case: Whether upper and lower case are the same.

    Raises:
        re.error: If it does not compile.
    """

    def __init__(self, source: str, *, ignore_case: bool = False) -> None:
        self.pattern = source
        self._compiled = _compiled(source, ignore_case=ignore_case)

    def search(self, text: str) -> Any:
        """The first match, or None.

        Raises:
            SlowPatternError: If the search does not come to an end.
        """
        try:
            return self._compiled.search(text, timeout=SEARCH_S)
        except TimeoutError as error:
            raise SlowPatternError(self.pattern) from error

    def matches(self, text: str) -> list[Any]:
        """All matches, in their order.

        Raises:
            SlowPatternError: If the search does not come to an end.
        """
        try:
            return list(self._compiled.finditer(text, timeout=SEARCH_S))
        except TimeoutError as error:
            raise SlowPatternError(self.pattern) from error


@functools.lru_cache(maxsize=1024)
def _compiled(source: str, *, ignore_case: bool) -> Any:
    import re

    import regex

    re.compile(source)  # a pattern that only one of the two takes would mean another thing elsewhere
    try:
        return regex.compile(source, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise re.error(str(error), source) from error
