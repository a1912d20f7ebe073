"""How long many conversations at once take, beside the least that they could take.

    uv run python bench/conversations.py --conversations 40 --turns 10 --latency-ms 200

Simulated user and agent answer from scripts after a fixed delay, so the ideal is the delay times the
calls of one conversation. Prints JSON: seconds and ratios of each repetition;
``talk`` ends with the last conversation, ``play`` with the committed rows, ``whole`` holds the planning too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from nightgate.requests import RunRequest
from nightgate.wiring import Progress, run_request
from talks import write_talks


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=40)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--latency-ms", type=float, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps([asyncio.run(_once(args)) for _ in range(args.repeat)], indent=1))


async def _once(args: argparse.Namespace) -> dict[str, Any]:
    delay_s = args.latency_ms / 1000
    steps = [{"say": f"word {n}", "delay_s": delay_s} for n in range(args.turns)]
    persona = {
        "goal": "g",
        "opening": "Hello.",
        "max_turns": args.turns,
        "success": {"state": {"slot": "never"}},
    }
    with tempfile.TemporaryDirectory() as folder:
        scripts = {name: {"replies": {"*": steps}} for name in ("agent", "user", "judge")}
        suite = write_talks(Path(folder) / "talks", persona, cases=args.conversations, scripts=scripts)
        request = RunRequest.make(
            suite, {"store": str(Path(folder) / "store"), "concurrency": args.conversations}
        )
        began = planned = talked = time.perf_counter()

        def on_plan(_: Any) -> None:
            nonlocal planned
            planned = time.perf_counter()

        def on_trial(_: Any) -> None:
            nonlocal talked
            talked = time.perf_counter()

        finished = await run_request(request, Progress(on_plan=on_plan, on_trial=on_trial))
        ended = time.perf_counter()
    ideal_s = (2 * args.turns - 1) * delay_s
    ends = finished.summary.as_dict()["endings"]["turn_limit"]
    return {
        "ideal_s": ideal_s,
        "talk_s": round(talked - planned, 3),
        "play_s": round(ended - planned, 3),
        "whole_s": round(ended - began, 3),
        "talk_ratio": round((talked - planned) / ideal_s, 3),
        "play_ratio": round((ended - planned) / ideal_s, 3),
        "whole_ratio": round((ended - began) / ideal_s, 3),
        "ended_as_planned": ends == args.conversations,
    }


if __name__ == "__main__":
    main()
