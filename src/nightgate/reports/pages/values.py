"""What the pages of a run are made of: stored documents, and trials and findings case by case.

Owns the shape that whoever gathers fills and whoever renders reads. Knows no store and no markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate.plans import Plan, PlannedCase
from nightgate.scores import Cell
from nightgate.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """A run as its documents tell it."""

    plan: Plan
    summary: Mapping[str, Any]
    """``summary.json``, as it is stored."""
    flakiness: Mapping[str, Any] | None = None
    """``flakiness.json``; None where the night was not settled."""
    canary: Mapping[str, Any] | None = None
    """``canary.json``; None where no canaries were judged."""
    models: Sequence[Mapping[str, Any]] = ()
    """The ledger by role and model."""
    nights: Sequence[Mapping[str, Any]] = ()
    """Nights of the suite, oldest first, as ``steps.histories.history`` tells them."""
    history: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Case id -> one entry an evaluator, with counts for each of ``nights``."""
    troubles: Sequence[str] = ()
    """What could not be read beside the run itself."""
    store_flag: str | None = None
    """The store as commands have to name it; None: they need not."""
    notice: str | None = None
    """Said at the top of every page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCase:
    """A case with what was stored of its trials."""

    case: PlannedCase
    trials: Mapping[int, Trial]
    """By number; a planned one that is not here was not played."""
    cells: Mapping[tuple[int, str], Cell]
    """By trial and evaluator; a planned one that is not here has no row yet."""
    judge_nanousd: Mapping[int, int | None] = field(default_factory=dict)
    """Trial -> what judging it cost; None where a part of it is unknown."""
    troubles: Sequence[str] = ()
    """What of it could not be read."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its planned trials."""
        return self.case.numbers or tuple(range(self.case.trials))
