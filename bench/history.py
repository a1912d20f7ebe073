"""How long ``history`` and ``flaky`` take over a year of nights on a real S3 server on loopback.

    uv run python bench/history.py --nights 365 --cases 300 --evaluators 5

Puts the nights as finished runs leave them, then runs the commands as a shell does: the first time with
nothing compacted, and again. Prints JSON, in seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from nightgate.adapters.store import open_store
from nightgate.ports import Store
from nightgate.steps import flaky
from nightgate.testing import InMemoryStore
from servers import environment, s3_server
from storednights import Outcome, put_night

TRIALS = 3


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--evaluators", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(json.dumps(_measure(args), indent=1))


def _measure(args: argparse.Namespace) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        s3_server(Path(folder)) as server,
        environment(**server.env),
    ):
        uri = f"s3://{server.bucket()}/history"
        store = open_store(uri)
        began = time.perf_counter()
        with ThreadPoolExecutor(8) as threads:
            list(
                threads.map(lambda night: _put(store, night, args.cases, args.evaluators), range(args.nights))
            )
        found: dict[str, Any] = {
            "nights": args.nights,
            "rows_a_night": args.cases * args.evaluators,
            "put_s": round(time.perf_counter() - began, 1),
        }
        history = ["history", "demo", "--nights", str(args.nights), "--store", uri]
        found["flaky_unsettled_s"] = _timed(["flaky", "demo", "--store", uri])
        found["history_first_s"] = _timed(history)
        found["history_s"] = _median(history, args.repeat)
        began = time.perf_counter()
        flaky.settle(store, _id(store))
        found["settle_all_s"] = round(time.perf_counter() - began, 2)
        found["flaky_s"] = _median(["flaky", "demo", "--store", uri], args.repeat)
        return found


def _put(store: Store, night: int, cases: int, evaluators: int) -> None:
    """One night, encoded aside and then copied: what is measured is the reading."""
    coin = random.Random(night)
    found = {}
    for case in range(cases):
        for number in range(evaluators):
            failed = sum(coin.random() < 0.03 for _ in range(TRIALS))
            found[f"case-{case:04d}", f"Evaluator{number}"] = Outcome(TRIALS - failed, failed, TRIALS)
    aside = InMemoryStore()
    put_night(aside, night, found)
    for key in aside.find(""):
        store.create(key, aside.read(key))


def _id(store: Store) -> str:
    return store.find("manifests/demo/")[-1].rsplit("/", 1)[-1].removesuffix(".json")


def _median(command: list[str], times: int) -> float:
    return round(statistics.median(_timed(command) for _ in range(times)), 2)


def _timed(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "nightgate.cli", *command], check=True, stdout=subprocess.DEVNULL)
    return round(time.perf_counter() - began, 2)


if __name__ == "__main__":
    main()
