"""The starter's files as texts: templates with a suite's names filled in.

Owns the placeholders and the names. The agent's template is no ``.py`` file: it imports what this
package must not, and is code only where it is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from importlib import resources

_MOST = 64
"""Characters of a suite id."""
_TEMPLATES = ("answers.yaml", "refusals.yaml", "scripts/baseline.yaml", "scripts/broken.yaml")
SUITE_FILE = "suite.yaml"
SCHEMA_FILE = "schema.json"


def suite_id(name: str, taken: Collection[str] = ()) -> str:
    """The suite id for a folder's name: a-z, 0-9 and -, at most 64, a letter first.

    Args:
        name: Any text.
        taken: Ids of neighbours; one night refuses two suites of one id, so a number is added.

    >>> suite_id("Support Bot (v2)"), suite_id("Crème_brûlée"), suite_id("2026"), suite_id("予約")
    ('support-bot-v2', 'creme-brulee', 'suite-2026', 'my-suite')
    >>> suite_id("desk", taken={"desk", "desk-2"})
    'desk-3'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "my-suite"
    # A YAML reader other than ours sees a number in 2026, and Python no module in 2026_factory.
    base = (base if base[0].isalpha() else f"suite-{base}")[:_MOST].rstrip("-")
    found, number = base, 1
    while found in taken:
        number += 1
        found = f"{base[: _MOST - 1 - len(str(number))].rstrip('-')}-{number}"
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """One starter suite."""

    suite: str
    """Its id."""
    folder: str
    """How its folder is written in a command, quoted for a shell."""
    schema: str | None
    """Text of the JSON Schema for editors; None where the folder above has it."""

    @property
    def module(self) -> str:
        """The agent's module, named after the suite.

        Two starters in one night must not meet in one ``agent.py``, and a package of the user's that
        is named like the suite must not be hidden.
        """
        return f"{self.suite.replace('-', '_')}_factory"

    def files(self) -> dict[str, str]:
        """Text by path in the suite's folder.

        ``suite.yaml`` comes last: until it is there, the folder is no suite.
        """
        found = {name: self._filled(name) for name in _TEMPLATES}
        found[f"{self.module}.py"] = self._filled("factory.py.txt")
        if self.schema is not None:
            found[SCHEMA_FILE] = self.schema
        found[SUITE_FILE] = self._filled(SUITE_FILE)
        return found

    def _filled(self, name: str) -> str:
        text = resources.files(__package__).joinpath("files", *name.split("/")).read_text(encoding="utf-8")
        above = name.count("/") + (self.schema is None)
        values = {
            "__SUITE__": self.suite,
            "__MODULE__": self.module,
            "__FOLDER__": self.folder,
            "__SCHEMA__": "../" * above + SCHEMA_FILE,
        }
        # In one pass: a folder may be named like a placeholder.
        return re.sub("|".join(values), lambda found: values[found[0]], text)
