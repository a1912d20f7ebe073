"""Kill -9 of a live sweep: only what was in flight is asked again, and every call is on the ledger."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from batch_standin import JsonObject, OpenAI, openai_batches
from sweepdrill import CRITERIA, Bench, Killer, write_base

pytestmark = pytest.mark.server

CASES, IN_FLIGHT = 30, 4
MODELS = ("gpt-judge-one", "gpt-judge-two")
CELLS = CASES * len(CRITERIA) * len(MODELS)
FLAGS = ("--judge-concurrency", str(IN_FLIGHT))

Cell = tuple[str, str, str]
"""Case, evaluator and model."""


@dataclass
class Bill:
    """The provider's own: calls of each cell, as it was asked."""

    calls: Counter[Cell] = field(default_factory=Counter)

    def __call__(self, body: JsonObject) -> None:
        told = json.dumps(body["messages"])
        number = re.search(r"question (\d+)\.", told)
        assert number is not None
        (name,) = [name for name, text in CRITERIA.items() if text in told]
        self.calls[f"c{number[1]}", name, body["model"]] += 1


@dataclass
class Place:
    """A provider with what its undisturbed sweep left behind."""

    provider: OpenAI
    base: Path
    folder: Path
    undisturbed: list[dict[str, Any]]

    def bench(self, name: str) -> tuple[Bench, Bill]:
        """A fresh store and an empty bill."""
        bill = Bill()
        self.provider.answer = bill
        judges = [self.provider.spec(model) for model in MODELS]
        store = self.folder / name
        return Bench(base=self.base, store=store, judges=judges, env={}, flags=FLAGS), bill


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("live-kills")
    with openai_batches() as provider:
        found = Place(provider, write_base(folder / "base", CASES), folder, [])
        bench, bill = found.bench("undisturbed")
        bench.ran(bench.start("s"))
        found.undisturbed = bench.findings("s")
        assert set(bill.calls.values()) == {1}
        assert len(bill.calls) == len(found.undisturbed) == CELLS
        yield found


def check(place: Place, bench: Bench, bill: Bill, kills: int) -> None:
    """What no kill may change, and what it may cost."""
    assert bench.findings("s") == place.undisturbed
    assert set(bill.calls) == {cell for cell, _ in _cells(bench.rows("scores", "s")).items()}
    assert bill.calls.total() - CELLS <= kills * IN_FLIGHT
    ledger = bench.rows("calls", "s")
    on_ledger = _cells(ledger)
    assert all(on_ledger[cell] >= asked for cell, asked in bill.calls.items())
    assert on_ledger.total() - bill.calls.total() <= kills * IN_FLIGHT
    ended = _cells([call for call in ledger if call["outcome"] == "ok"])
    assert all(ended[cell] <= asked for cell, asked in bill.calls.items())
    cut_off = [call for call in ledger if call["outcome"] != "ok"]
    assert len(cut_off) <= kills * IN_FLIGHT
    assert {(call["outcome"], call["cost_nanousd"]) for call in cut_off} <= {("unknown", None)}


def _cells(rows: list[dict[str, Any]]) -> Counter[Cell]:
    """How often each cell is in rows of scores or calls."""
    found: Counter[Cell] = Counter()
    for row in rows:
        model = re.search(r"gpt-judge-\w+", row.get("judge_model") or row["model"])
        assert model is not None
        found[row["case_id"], row["evaluator"], model[0]] += 1
    return found


@pytest.mark.parametrize("nth", [1, CELLS // 2, CELLS])
def test_a_killed_live_sweep_asks_again_only_what_was_in_flight(place: Place, nth: int) -> None:
    """At its first call, in the middle and at the last one."""
    bench, bill = place.bench(f"kill-{nth}")

    Killer("live", nth).kill(place.provider, bench.start("s"), bench.env)
    bench.ran(bench.resume("s"))

    check(place, bench, bill, kills=1)


def test_a_live_sweep_killed_over_and_over_ends_all_the_same(place: Place) -> None:
    """Four kills, the first call of a resume among them."""
    bench, bill = place.bench("over-and-over")

    Killer("live", 20).kill(place.provider, bench.start("s"), bench.env)
    for nth in (1, 30, 5):
        Killer("live", nth).kill(place.provider, bench.resume("s"), bench.env)
    bench.ran(bench.resume("s"))

    check(place, bench, bill, kills=4)


def test_a_call_that_never_arrived_is_on_the_ledger_as_unknown(place: Place) -> None:
    """The process died between writing the call down and the provider's hearing of it."""
    bench, bill = place.bench("never-arrived")

    Killer("live", 10, lost=True).kill(place.provider, bench.start("s"), bench.env)
    bench.ran(bench.resume("s"))

    check(place, bench, bill, kills=1)
    ledger = bench.rows("calls", "s")
    assert len(ledger) > bill.calls.total()
    assert "unknown" in {call["outcome"] for call in ledger}
