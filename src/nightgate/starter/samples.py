"""The suites of the simulated month, as files to copy.

Owns which of them there are and where they lie in the package. They are those of ``cases/``, so that they can
be run and changed by whoever has nothing but the package, and one judge more. Imports the standard library
only.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable

SAMPLES = ("support", "appointments")
"""Their folders' names, which are their ids."""
_LAST = "suite.yaml"


def sample_files(suite: str) -> dict[str, str]:
    """Text by path in the suite's folder; ``suite.yaml`` comes last: until it is there, it is no suite."""
    found = dict(_texts(resources.files(__package__).joinpath("suites", suite), ""))
    return {name: found[name] for name in sorted(found, key=lambda name: (name == _LAST, name))}


def _texts(folder: Traversable, above: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir():
            yield from _texts(entry, f"{name}/")
        elif entry.name.endswith(".yaml"):
            yield name, entry.read_text(encoding="utf-8")
