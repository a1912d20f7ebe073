"""Whether what a store holds was played by nobody: the word that a simulated month leaves for its readers.

Owns the document ``demo.json``, and the sentence that commands and pages say because of it. The runs of such
a month have the trigger ``simulated`` besides, in their plans, summaries and rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nightgate.cases import canonical_json
from nightgate.errors import MissingError
from nightgate.ports import Store
from nightgate.rows.keys import demo_key
from nightgate.version import VERSION

NOTICE = (
    "Simulated data: `nightgate demo` made these nights from scripts. "
    "No model was called, and the dollars are made up."
)


def mark_simulated(store: Store, facts: Mapping[str, Any]) -> None:
    """Say in a store that its nights are simulated; put before the first of them.

    Args:
        store: A new one.
        facts: How they were made, as JSON.

    Raises:
        ConflictError: If a demo began this store already.
    """
    document = {"schema": 1, "simulated": True, "nightgate": VERSION, "notice": NOTICE, **facts}
    store.create(demo_key(), canonical_json(document))


def is_simulated(store: Store) -> bool:
    """Whether `nightgate demo` began this store.

    Raises:
        StoreError: If it cannot be read.
    """
    try:
        store.read(demo_key())
    except MissingError:
        return False
    return True


def notice_of(store: Store) -> str | None:
    """What has to be said beside everything that is shown of a store; None where nothing has.

    Raises:
        StoreError: If it cannot be read.
    """
    return NOTICE if is_simulated(store) else None
