"""The commit: all or nothing visible, the same from any finisher, never changed afterwards."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from makers import a_case, a_plan, a_planned_case, a_score, a_trial
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import DamagedError, StoreError
from nightgate.plans import Plan
from nightgate.rows.groups import encode_group
from nightgate.rows.keys import plan_key, staging_key
from nightgate.rows.records import encode_record
from nightgate.scores import Cell, Status
from nightgate.steps.finishing import finish_run
from nightgate.steps.gating import gate_run


class FailingStore(InMemoryStore):
    """A store that fails at the n-th put of a run's rows."""

    def __init__(self, fail_at: int) -> None:
        super().__init__()
        self.fail_at = fail_at

    def create(self, key: str, data: bytes) -> None:
        """Counts down on rows."""
        if not key.startswith(("staging/", "runs/")):
            self.fail_at -= 1
            if self.fail_at == 0:
                msg = "the machine died here"
                raise StoreError(msg)
        super().create(key, data)


def a_run(store: InMemoryStore, *, trials: int = 3, without: int = 0, status: Status = Status.PASS) -> Plan:
    """A planned run with its staged records, the last ``without`` trials missing."""
    plan = a_plan(a_planned_case(a_case("a"), trials=trials))
    store.create(plan_key("r"), plan.to_json())
    lines = []
    for number in range(trials - without):
        trial = a_trial(f"answer {number}")
        lines.append(encode_record(replace(trial, key=replace(trial.key, trial=number))))
        score = a_score(status, score=1.0 if status is Status.PASS else None)
        lines.append(encode_record(Cell(case_id="a", trial=number, score=score)))
    store.create(staging_key("r", "000001-w-000000.jsonl.zst"), encode_group(lines))
    return plan


def committed(store: InMemoryStore) -> dict[str, bytes]:
    """All objects that readers see."""
    prefixes = ("scores/", "trials/", "calls/", "transcripts/", "summaries/", "manifests/")
    return {key: store.read(key) for prefix in prefixes for key in store.find(prefix)}


def test_a_whole_run_is_committed_and_its_staging_cleared() -> None:
    """From here only stored rows are read."""
    store = InMemoryStore()
    a_run(store)

    finished = finish_run(store, "r")

    assert finished.summary.complete
    assert len(store.find("manifests/")) == 1
    assert store.find("staging/") == []


def test_a_run_with_a_hole_gets_no_manifest() -> None:
    """Its summary says what is missing; nobody can take it for whole."""
    store = InMemoryStore()
    a_run(store, without=1)

    summary = finish_run(store, "r", stopped="cancelled").summary.as_dict()

    assert committed(store) == {}
    assert (summary["complete"], summary["exit_code"], summary["verdict"]) == (False, 130, "inconclusive")
    assert (summary["cells"]["pass"], summary["cells"]["skipped"]) == (2, 1)
    assert (summary["trials"]["completed"], summary["trials"]["not_run"]) == (2, 1)


@pytest.mark.parametrize("fail_at", [1, 2, 3, 4, 5])
def test_a_finisher_that_dies_anywhere_leaves_an_open_run_that_another_finishes(fail_at: int) -> None:
    """No object is ever half there, and the second finisher writes the very same ones."""
    whole = InMemoryStore()
    a_run(whole)
    finish_run(whole, "r")
    store = FailingStore(fail_at)
    a_run(store)
    failed = False
    try:
        finish_run(store, "r")
    except StoreError:
        failed = True
    manifests_after_the_crash = store.find("manifests/")

    finish_run(store, "r")

    assert failed is (fail_at <= 5 and len(committed(whole)) >= fail_at)
    assert not failed or manifests_after_the_crash == []
    assert committed(store) == committed(whole)


def test_finishing_twice_gives_the_same_summary() -> None:
    """The second time it is read from the rows."""
    store = InMemoryStore()
    a_run(store, status=Status.FAIL)
    first = finish_run(store, "r").summary.as_dict()

    second = finish_run(store, "r").summary.as_dict()

    assert json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def test_the_gate_reads_what_the_finisher_wrote() -> None:
    """The same verdict from the rows alone."""
    store = InMemoryStore()
    a_run(store, status=Status.FAIL)
    finished = finish_run(store, "r")

    assert gate_run(store, "r") == finished.decision


def test_the_gate_answers_inconclusive_on_an_open_run() -> None:
    """Whatever has been measured so far."""
    store = InMemoryStore()
    a_run(store, without=1)

    assert gate_run(store, "r").exit_code == 3


def test_a_part_that_was_changed_is_refused() -> None:
    """Rows under a verdict must be the rows that were committed."""
    store = InMemoryStore()
    a_run(store)
    finish_run(store, "r")
    key = store.find("scores/")[0]
    store.replace(key, store.read(key)[:-1] + b"x")

    with pytest.raises(DamagedError):
        gate_run(store, "r")


def test_a_part_that_is_gone_is_refused() -> None:
    """Missing rows must not shrink a denominator."""
    store = InMemoryStore()
    a_run(store)
    finish_run(store, "r")
    store.delete(store.find("scores/"))

    with pytest.raises(DamagedError, match="gone"):
        gate_run(store, "r")
