"""``python -m nightgate.cli``."""

from nightgate.cli import entry

entry()
