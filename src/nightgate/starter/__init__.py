"""What `nightgate init` and `nightgate demo` write: suites, as files to copy.

Owns the starter's texts, the names made from a folder's name, the demo's suites, and how files get onto the
disk: all of them or none. Knows neither the format of a suite nor the command line. Imports the standard
library only.
"""

from nightgate.starter.placing import place
from nightgate.starter.samples import SAMPLES, sample_files
from nightgate.starter.texts import SCHEMA_FILE, Starter, suite_id

__all__ = ["SAMPLES", "SCHEMA_FILE", "Starter", "place", "sample_files", "suite_id"]
