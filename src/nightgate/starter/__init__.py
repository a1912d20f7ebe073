"""What `nightgate init` writes: a suite of seven cases, as files to copy.

Owns the starter's texts, the names made from a folder's name, and how files get onto the disk: all of
them or none. Knows neither the format of a suite nor the command line. Imports the standard library only.
"""

from nightgate.starter.placing import place
from nightgate.starter.texts import SCHEMA_FILE, Starter, suite_id

__all__ = ["SCHEMA_FILE", "Starter", "place", "suite_id"]
