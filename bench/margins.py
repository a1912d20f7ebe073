"""What a suite's size is worth: margins of error, and where the noise of a pass rate comes from.

    uv run python bench/margins.py

A simulated suite with a known split: cases differ in how hard they are (sample), one case comes out
differently each time (agent), and a judge contradicts itself on the same output (judge). The product's
own estimators have to find the split again. Prints JSON; the tables of docs/statistics.md are made from it.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from typing import Any

from nightgate import stats
from nightgate.stats.power import LEAST_CASES_FOR_A_CLAIM

RATE, SIZES, TRIALS = 0.9, (7, 20, 50, 100, 200), (1, 3, 5)
FLICKER = 0.03
"""How often a judge says something else about the same output when it is asked again."""


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suites", type=int, default=400)
    args = parser.parse_args()
    found = {"margins": _margins(args.suites), "split": _split(args.suites)}
    print(json.dumps(found, indent=1))


def _case(coin: random.Random) -> float:
    """A case's pass rate: mean .9, half of a trial's variance between cases."""
    return coin.betavariate(0.9, 0.1)


def _margins(suites: int) -> list[dict[str, Any]]:
    """Half the width of the interval beside a rate of about .9, its coverage, and what can be seen."""
    found = []
    for cases in SIZES:
        for trials in TRIALS:
            coin, halves, held = random.Random(cases * 10 + trials), [], 0
            for _ in range(suites):
                counts = [
                    (sum(coin.random() < rate for _ in range(trials)), trials)
                    for rate in (_case(coin) for _ in range(cases))
                ]
                low, high = stats.clustered_interval(counts) or (0.0, 1.0)
                halves.append((high - low) / 2)
                held += low <= RATE <= high
            seen = stats.visible_change(RATE, 0.5, cases=cases, trials=trials)
            found.append(
                {
                    "cases": cases,
                    "trials": trials,
                    "margin": round(statistics.median(halves), 3),
                    "covered": round(held / suites, 3),
                    "visible_change": round(seen, 3) if cases >= LEAST_CASES_FOR_A_CLAIM else None,
                }
            )
    return found


def _split(suites: int) -> dict[str, Any]:
    """Standard error of a rate from 50 cases x 3 trials, and its three parts, planted and found again."""
    cases, trials, coin = 50, 3, random.Random(5)
    planted_sample = statistics.pvariance([_case(coin) for _ in range(200_000)])
    found: list[tuple[float, float, float]] = []
    rates: list[float] = []
    for _ in range(suites):
        counts, flips = [], 0
        for rate in (_case(coin) for _ in range(cases)):
            passed = 0
            for _ in range(trials):
                truth = coin.random() < rate
                first, again = (truth is not (coin.random() < FLICKER / 2) for _ in range(2))
                passed += first
                flips += first is not again
            counts.append((passed, trials))
        parts = stats.variance_parts(counts)
        assert parts is not None
        # Two looks at one output differ by twice the variance that the judge adds.
        judge = flips / (cases * trials) / 2
        found.append((parts.between, max(0.0, parts.within - judge), judge))
        rates.append(sum(passed for passed, _ in counts) / (cases * trials))
    sample, agent, judge = (statistics.mean(values) for values in zip(*found, strict=True))
    whole = sample + (agent + judge) / trials
    return {
        "cases": cases,
        "trials": trials,
        "planted_sample_variance": round(planted_sample * (1 - FLICKER) ** 2, 4),
        "sample_variance": round(sample, 4),
        "agent_variance": round(agent, 4),
        "judge_variance": round(judge, 4),
        "share_of_the_error": {
            "sample": round(sample / whole, 2),
            "agent": round(agent / trials / whole, 2),
            "judge": round(judge / trials / whole, 2),
        },
        "standard_error": round((whole / cases) ** 0.5, 4),
        "standard_error_seen": round(statistics.stdev(rates), 4),
    }


if __name__ == "__main__":
    main()
