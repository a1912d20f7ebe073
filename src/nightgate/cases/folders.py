"""Where suites lie: a folder with suite.yaml is one.

Owns nothing else. Reads no suite.
"""

from __future__ import annotations

from pathlib import Path

from nightgate.errors import InputError


def suites_under(folder: Path) -> list[Path]:
    """Folders with a suite.yaml, by name; the folder itself counts when it is a suite.

    Raises:
        InputError: If there is none.
    """
    if (folder / "suite.yaml").is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob("*/suite.yaml")) if folder.is_dir() else []
    if not found:
        msg = f"{folder}: no suite here; a suite is a folder with suite.yaml"
        raise InputError(msg)
    return found
