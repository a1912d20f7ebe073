"""What a run has staged so far: the one accepted record of each trial and cell.

Owns the choice among several records of one trial: the lowest (claim epoch, object name) wins, and
cells count only if they judged that very play. Holds the groups as they are stored (compressed) and
an index into them, so that memory grows by about a kilobyte a trial. Knows no plan and no verdict.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate.calls import Call, CallStart, Role
from nightgate.ports import Store
from nightgate.recorder import staged
from nightgate.rows.groups import decode_group
from nightgate.rows.ledger import merge_calls
from nightgate.rows.records import decode_record, record_head
from nightgate.scores import Cell
from nightgate.trials import Trial

_CACHED_GROUPS = 16

Place = tuple[int, int]
"""(group, line)."""


@dataclass(slots=True)
class Collected:
    """An index of a run's staged records."""

    groups: list[bytes] = field(default_factory=list)
    trials: dict[tuple[str, int], Place] = field(default_factory=dict)
    cells: dict[tuple[str, int, str], Place] = field(default_factory=dict)
    plays: dict[tuple[str, int], int] = field(default_factory=dict)
    """The highest play of each trial that made a call or left a record."""
    accepted: dict[tuple[str, int], int] = field(default_factory=dict)
    """The play of each accepted trial."""
    _cache: OrderedDict[int, list[bytes]] = field(default_factory=OrderedDict)

    def trial(self, case_id: str, number: int) -> Trial:
        """The accepted record of a trial."""
        record = decode_record(self._line(self.trials[case_id, number]))
        assert isinstance(record, Trial)
        return record

    def cell(self, case_id: str, number: int, evaluator: str) -> Cell | None:
        """The accepted finding of a cell, if there is one for the accepted trial."""
        place = self.cells.get((case_id, number, evaluator))
        if place is None:
            return None
        record = decode_record(self._line(place))
        assert isinstance(record, Cell)
        return record

    def calls(self) -> list[Call]:
        """The ledger: every attempt, one row each."""
        return merge_calls(self._call_records())

    def _call_records(self) -> Iterator[Call | CallStart]:
        for number in range(len(self.groups)):
            for line in self._lines(number):
                if line.startswith(b'{"kind":"call'):
                    record = decode_record(line)
                    assert isinstance(record, Call | CallStart)
                    yield record

    def records(self, places: Sequence[Place]) -> list[Any]:
        """The records at these places, in this order; every group is unpacked once."""
        found: list[Any] = [None] * len(places)
        for i in sorted(range(len(places)), key=places.__getitem__):
            found[i] = decode_record(self._line(places[i]))
        return found

    def _line(self, place: Place) -> bytes:
        return self._lines(place[0])[place[1]]

    def _lines(self, number: int) -> list[bytes]:
        if number not in self._cache:
            self._cache[number] = decode_group(self.groups[number])
            if len(self._cache) > _CACHED_GROUPS:
                self._cache.popitem(last=False)
        self._cache.move_to_end(number)
        return self._cache[number]


def collect(store: Store, run_id: str, *, sweep: bool = False) -> Collected:
    """Read all groups that a run has staged.

    Args:
        store: Where it lies.
        run_id: The run.
        sweep: It judges stored trials: no play of its own decides which finding counts.

    Raises:
        DamagedError: If a group is not what was written.
    """
    found = Collected()
    judged: dict[tuple[str, int, str], list[tuple[int, Place]]] = {}
    for number, (_, data) in enumerate(staged(store, run_id)):
        found.groups.append(data)
        for position, line in enumerate(decode_group(data)):
            _index(found, judged, record_head(line), (number, position))
    for key, candidates in judged.items():
        # A cell of a play that lost against another play of the same trial judged something else.
        wanted = found.accepted.get(key[:2])
        place = next((place for attempt, place in candidates if sweep or attempt == wanted), None)
        if place is not None:
            found.cells[key] = place
    return found


def _index(
    found: Collected,
    judged: dict[tuple[str, int, str], list[tuple[int, Place]]],
    head: Mapping[str, Any],
    place: Place,
) -> None:
    """Note where a record lies, from its head alone: bodies are read when they are written out."""
    key = (head["case_id"], head["trial"])
    match head["kind"]:
        case "trial":
            found.plays[key] = max(found.plays.get(key, 0), head["attempt"])
            if key not in found.trials:
                found.trials[key] = place
                found.accepted[key] = head["attempt"]
        case "cell":
            judged.setdefault((*key, head["evaluator"]), []).append((head["attempt"], place))
        case _ if head["role"] == Role.AGENT.value:
            found.plays[key] = max(found.plays.get(key, 0), head["play"])
