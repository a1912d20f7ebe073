"""Which store and which run a command means."""

from __future__ import annotations

import argparse

from nightgate.adapters.store import open_store
from nightgate.ports import Store
from nightgate.requests import default_store


def store_of(args: argparse.Namespace) -> Store:
    """The store that was named, or the default one."""
    return open_store(args.store or default_store())
