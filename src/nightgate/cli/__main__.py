"""``python -m nightgate.cli``."""

import sys

from nightgate.cli import main

sys.exit(main())
