"""A worker of a fleet as a process of its own, for drills: reads what to do from its arguments.

python tests/drainer.py '{"suite": ...}' RUN OWNER PATIENCE_S
"""

from __future__ import annotations

import asyncio
import json
import sys

from nightgate.requests import RunRequest
from nightgate.wiring.drains import drain


def main() -> None:
    """Drain, and print what was done."""
    asked, run_id, owner, patience_s = sys.argv[1:5]
    request = RunRequest.of_parameters(json.loads(asked))
    done = asyncio.run(drain(request, run_id, owner, patience_s=float(patience_s)))
    sys.stdout.write(json.dumps(done.as_dict()))


if __name__ == "__main__":
    main()
