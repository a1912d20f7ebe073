"""Where a run's pages can be opened, for messages and links.

Owns the meaning of the address under which reports are served. Looks at nothing: whether a page is there is
for others to say.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from nightgate.rows.keys import report_index_key

_OPENED = ("http", "https", "s3")
"""Schemes of a link that somebody may click on."""


def served_at(base: str, run_id: str, suite: str, key: str | None = None) -> str:
    """The address of a run's pages under ``base``: ``{run_id}`` and ``{suite}`` filled in, else a path added.

    Args:
        base: Where reports are served.
        run_id: The run.
        suite: Its suite.
        key: What is added, if it is not the run's first page.
    """
    if "{run_id}" in base or "{suite}" in base:
        return base.replace("{run_id}", run_id).replace("{suite}", suite)
    return f"{base.rstrip('/')}/{key or report_index_key(run_id)}"


def link_to(store_uri: str, run_id: str, suite: str, base: str | None) -> str | None:
    """A link to a run's pages; None where nobody else could open it.

    A name and a password in the address are left out.

    Args:
        store_uri: The run's store.
        run_id: The run.
        suite: Its suite.
        base: Where reports are served, if they are.

    >>> link_to("s3://evals/nightly", "r-1", "support", None)
    's3://evals/nightly/runs/r-1/report/index.html'
    >>> link_to("/srv/store", "r-1", "support", "https://me:secret@evals.example/{suite}/{run_id}")
    'https://evals.example/support/r-1'
    >>> link_to("/srv/store", "r-1", "support", None) is None
    True
    """
    address = served_at(base or store_uri, run_id, suite)
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme not in _OPENED or not parts.netloc:
        return None
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
