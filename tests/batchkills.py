"""A batched sweep killed at each step of its jobs, for any provider's stand-in.

Owns the steps at which it is killed, and what must hold afterwards: rows as of a sweep that nobody
killed, each record seen once, a ledger that is the provider's bill.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from batch_standin import Faults, Provider
from sweepdrill import CRITERIA, Bench, Killer

CASES, REPEATS = 60, 2
RECORDS = CASES * len(CRITERIA) * REPEATS
QUICK = {
    "NIGHTGATE_BATCH_POLL_S": "0.05",
    "NIGHTGATE_BATCH_QUIET_S": "0.2",
    "NIGHTGATE_BATCH_MIN": "100",
    "NIGHTGATE_BATCH_MAX": "120",
}
FLAGS = ("--batch", "--repeat", str(REPEATS))
TWO_JOBS = Faults(late={1: 4})
"""The second one takes longer, so that findings of the first are there before it is over."""


@dataclass
class Place:
    """A provider with what its undisturbed sweep left behind, before any kill."""

    provider: Provider
    base: Path
    folder: Path
    env: dict[str, str]
    spec: str
    undisturbed: list[dict[str, Any]]

    def bench(self, name: str) -> Bench:
        """A fresh store; the provider has forgotten everything, and makes no mistakes."""
        provider = self.provider
        provider.jobs.clear()
        provider.records.clear()
        provider.bodies.clear()
        provider.live, provider.faults = 0, TWO_JOBS
        return Bench(base=self.base, store=self.folder / name, judges=[self.spec], env=self.env, flags=FLAGS)


def placed(provider: Provider, base: Path, folder: Path, env: dict[str, str], spec: str) -> Place:
    """The sweep that nobody kills."""
    place = Place(provider, base, folder, env, spec, [])
    bench = place.bench("undisturbed")
    bench.ran(bench.start("s"))
    place.undisturbed = bench.findings("s")
    assert len(place.undisturbed) == RECORDS
    assert (len(provider.jobs), provider.live) == (2, 0)
    return place


def check(place: Place, bench: Bench, run: str) -> None:
    """Rows as of the undisturbed sweep, every record seen once, and the ledger is the provider's bill."""
    provider = place.provider
    assert bench.findings(run) == place.undisturbed
    assert set(provider.records.values()) == {1}
    assert (len(provider.records), provider.live) == (RECORDS, 0)
    ledger = bench.rows("calls", run)
    assert Counter(call["call_id"] for call in ledger) == Counter(
        f"batch-{name}" for name in provider.records
    )
    assert {(call["role"], call["outcome"]) for call in ledger} == {("judge", "ok")}
    assert None not in {call["cost_nanousd"] for call in ledger}


STEPS = {
    "before-submit": Killer("upload"),
    "before-the-second-submit": Killer("upload", 2),
    "submit-lost": Killer("submit", lost=True),
    "submit-arrived": Killer("submit"),
    "after-submit": Killer("submitted"),
    "after-the-second-submit": Killer("submitted", 2),
    "polling": Killer("look", 3),
    "reading": Killer("read"),
    "polling-after-reading": Killer("look", 2, after="read"),
    "reading-the-second-job": Killer("read", 2),
}
"""Where a sweep is killed: what the provider is about to do, and for which time."""


def again(killer: Killer) -> Killer:
    """The same, with its counts at 0."""
    return Killer(killer.moment, killer.nth, killer.lost, killer.after)


def killed_once(place: Place, when: str, killer: Killer) -> None:
    """A sweep that is killed there, and goes on."""
    bench = place.bench(when)
    again(killer).kill(place.provider, bench.start("s"), bench.env)
    bench.ran(bench.resume("s"))
    check(place, bench, "s")


def killed_at_every_step(place: Place) -> None:
    """Five kills, each of the process that went on after the one before."""
    bench = place.bench("over-and-over")
    steps = [
        Killer("upload"),
        Killer("submit", lost=True),
        Killer("submitted"),
        Killer("look"),
        Killer("read"),
    ]
    for number, killer in enumerate(steps):
        killer.kill(place.provider, bench.resume("s") if number else bench.start("s"), bench.env)
    bench.ran(bench.resume("s"))
    check(place, bench, "s")
