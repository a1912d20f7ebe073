"""Objects that a suite names: ``module:attribute``.

Owns where such a module is looked up: the suite's folder, then the working folder, then the
environment. Knows nothing of what the object is for.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nightgate.errors import InputError


def load_object(path: str, folders: Iterable[Path], *, what: str) -> Any:
    """The object named ``module:attribute``.

    Args:
        path: As written in the suite.
        folders: Looked up first, in this order.
        what: The suite's key, for the message.

    Raises:
        InputError: If the module or the attribute cannot be had; says which and why.
    """
    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not attribute:
        msg = f"{what}: {path!r} names no object: write module:attribute, as in my_agents.support:build"
        raise InputError(msg)
    for folder in reversed([str(folder.resolve()) for folder in folders]):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # a user's module may raise anything while it is imported
        msg = f"{what}: {path!r} cannot be imported: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            msg = f"{what}: module {module_name} has no {attribute!r}"
            raise InputError(msg)
        found = getattr(found, name)
    return found
