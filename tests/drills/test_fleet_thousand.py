"""A thousand trials through Prefect, 20 kills at random on the way: the run is as if nothing had happened.

The provider keeps its own count of what it was asked, and names each answer: what the ledger says is held
against that. ``DRILL_SEED=N`` plays the kills of an earlier drill again; its line of figures says which.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fleetruns import Fleet, Run, until
from fleetservers import fleet_servers
from providers import Provider, Request, provider
from shell import DRILLS

pytestmark = [pytest.mark.server, pytest.mark.fleet]

CASES, TRIALS = 100, 10
TOTAL = CASES * TRIALS
WORKERS = ("w1", "w2", "w3")
SLOTS, LATENCY_S = 4, 1.0
KILLS = 20
STALL_S = 400.0
"""Longer than a parent waits for a worker that was killed before it came to hold a shard."""
OWN = ("run_id", "started_at", "wall_s", "queue_wait_s", "calls", "tokens", "cost_usd", "cost_per")
"""Of a summary: ids, times, attempts, tokens and cost."""
SUITE = """\
suite: thousand
owner: drill
agent: plain_agent:build
model: openai:drill
timeout_s: 60
evaluators:
  CitesSource: {threshold: 1.0}
  AnswerPolicy: {threshold: 0.4}
"""


@dataclass
class Reaper:
    """Kills what belongs to a run, and starts it again as whoever looks after it would.

    Attributes:
        run: As its latest parent has it.
        counted: What was asked of the provider.
        dice: Decide on the victims.
        kills: How many of which kind.
        in_flight: Requests on their way at a kill, of all workers.
    """

    run: Run
    counted: Provider
    dice: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    in_flight: list[int] = field(default_factory=list)

    def kill(self) -> None:
        """One of those that are there, whatever it does at this moment."""
        fleet = self.run.fleet
        victim = self.dice.choice(("parent", *WORKERS))
        alone = self.dice.random() < 1 / 3
        self.in_flight.append(sum(request.ended_at is None for request in list(self.counted.requests)))
        if victim == "parent":
            self.run.kill_parent()
            self.run = fleet.start(self.run.request)
            self.kills["parent"] += 1
        elif alone and fleet.kill_played(victim):  # out of memory, say; its worker tells Prefect
            self.kills["played"] += 1
        else:
            fleet.kill(victim)
            fleet.work(victim)
            self.kills["worker"] += 1

    @property
    def most_repeated(self) -> int:
        """Calls that can have been in flight in what was killed."""
        return SLOTS * (self.kills["worker"] + self.kills["played"])


@pytest.fixture(scope="module")
def counted() -> Iterator[Provider]:
    """A provider that counts."""
    with provider(latency_s=LATENCY_S) as found:
        yield found


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Three workers on servers of their own."""
    with fleet_servers() as servers:
        made = Fleet(servers, tmp_path_factory.mktemp("thousand"), DRILLS)
        try:
            made.deploy()
            for name in WORKERS:
                made.work(name)
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cases that tell themselves apart in what a provider sees; about a third of the answers fail."""
    folder = tmp_path_factory.mktemp("suite") / "thousand"
    folder.mkdir()
    (folder / "suite.yaml").write_text(SUITE)
    expect = {"cites": ["KB-1"], "answer": {"not_contains": ["Gladly"]}}
    cases = ({"id": f"q-{n:03d}", "input": prompt_of(f"q-{n:03d}"), "expect": expect} for n in range(CASES))
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    return folder


def prompt_of(case_id: str) -> str:
    """What a case asks; no other does."""
    return f"Question {case_id}: may I return this?"


def start(fleet: Fleet, suite: Path, counted: Provider, store: str, run_id: str, slots: int) -> Run:
    """A run of three workers."""
    model = f"openai:drill?base_url={counted.base_url}"
    values = {"trials": TRIALS, "concurrency": slots, "drainers": len(WORKERS), "model": model}
    return fleet.start(fleet.request(suite, run_id, store, **values))


def check_ledger(calls: Sequence[dict[str, Any]], asked: Sequence[Request], most: int) -> dict[str, int]:
    """Each request has its row, and few rows have no request.

    Answers carry their request's id into the ledger. Rows without an answer are told apart by the case
    alone: a case must have one for each of its requests that no row names.

    Args:
        calls: The ledger.
        asked: What the provider counted.
        most: Calls that were in flight at the kills.

    Returns:
        Figures for people.
    """
    named = {call["system_fingerprint"] for call in calls if call["system_fingerprint"] is not None}
    unheard = [call for call in calls if call["system_fingerprint"] is None]
    unnamed = Counter(request.prompt for request in asked if request.id not in named)
    unknown = Counter(prompt_of(call["case_id"]) for call in unheard)

    assert named <= {request.id for request in asked}
    assert {call["outcome"] for call in unheard} <= {"unknown"}
    assert unnamed <= unknown  # every request has a row
    never_sent = (unknown - unnamed).total()
    assert never_sent <= most
    assert len({call["call_id"] for call in calls}) == len(calls) == len(asked) + never_sent
    assert len(calls) - TOTAL <= most
    return {
        "requests": len(asked),
        "undelivered": sum(not request.delivered for request in asked),
        "ledger_rows": len(calls),
        "unknown_rows": len(unheard),
        "never_arrived": never_sent,
        "repeated": len(calls) - TOTAL,
        "most_repeated": most,
    }


def stated(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without what is a play's own."""
    return {key: value for key, value in summary.items() if key not in OWN}


def test_a_thousand_trials_outlive_twenty_kills(fleet: Fleet, suite: Path, counted: Provider) -> None:
    """Workers, what they play, and the parent; each is started again at once, nobody repairs anything."""
    seed = int(os.environ.get("DRILL_SEED") or random.SystemRandom().randrange(10**6))
    dice, store = random.Random(seed), f"s3://{fleet.servers.s3.bucket()}/evals"
    whole = start(fleet, suite, counted, store, "whole", 2 * SLOTS)
    unharmed = whole.end(STALL_S)
    assert unharmed["state"] == "Completed", unharmed

    first, began = len(counted.requests), time.monotonic()

    def answered(least: int) -> bool:
        return sum(request.delivered for request in counted.requests[first:]) >= least

    reaper = Reaper(start(fleet, suite, counted, store, "killed", SLOTS), counted, dice)
    for when in sorted(dice.sample(range(TOTAL - 60), KILLS)):
        until(partial(answered, when), STALL_S, f"{when} answers")
        time.sleep(dice.uniform(0, LATENCY_S))  # a kill at any moment has no event to wait for
        reaper.kill()
    said = reaper.run.end(STALL_S)
    took_s = time.monotonic() - began

    told = {"seed": seed, "seconds": round(took_s), "kills": reaper.kills, "in_flight": reaper.in_flight}
    sys.stdout.write(f"{json.dumps(told)}\n")
    found = check_ledger(reaper.run.ledger(), counted.requests[first:], reaper.most_repeated)
    sys.stdout.write(f"{json.dumps(found)}\n")
    assert said["state"] == "Completed", said
    assert stated(said["summary"]) == stated(unharmed["summary"])
    for table, rows in (("trials", TOTAL), ("scores", 2 * TOTAL)):
        mine = reaper.run.rows(table)
        assert mine == whole.rows(table)
        assert (mine.total(), max(mine.values())) == (rows, 1)
