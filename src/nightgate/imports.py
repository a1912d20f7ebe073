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

_SUITE_FOLDERS: set[str] = set()
"""Folders that modules were looked up in; what was imported from one of them may be another suite's."""


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
    folders = list(folders)
    for folder in reversed([str(folder.resolve()) for folder in folders]):
        if folder in sys.path:
            sys.path.remove(folder)
        sys.path.insert(0, folder)
    _forget_namesakes([str(folder.resolve()) for folder in folders])
    importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may raise anything while it is imported
        msg = f"{what}: {path!r} cannot be imported: {type(error).__name__}: {error}"
        raise InputError(msg) from error
    for name in attribute.split("."):
        if not hasattr(found, name):
            msg = f"{what}: module {module_name} has no {attribute!r}"
            raise InputError(msg)
        found = getattr(found, name)
    return found


def _forget_namesakes(folders: list[str]) -> None:
    """Drop imported modules of another suite whose names these folders use too (``agent``, ``tools``)."""
    seen: set[str] = set()
    for folder in folders:
        own = {path.stem for path in Path(folder).glob("*.py")}
        own |= {path.parent.name for path in Path(folder).glob("*/__init__.py")}
        for name in own - seen:
            file = Path(getattr(sys.modules.get(name), "__file__", None) or "")
            home = str(file.parent.parent if file.name == "__init__.py" else file.parent)
            if home in _SUITE_FOLDERS and home != folder:
                for known in [known for known in sys.modules if known.partition(".")[0] == name]:
                    del sys.modules[known]
        seen |= own
    _SUITE_FOLDERS.update(folders)
