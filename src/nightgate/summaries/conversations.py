"""What the conversations of a run come to, and how its simulated user behaved.

Owns the counts of endings and the averages over conversations. Turns are averaged over successes
alone, and the number of those stands beside: an average over abandoned conversations says nothing.
What the simulator did wrong is reported here and gates nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate.plans import Plan
from nightgate.prices import NANO
from nightgate.talks import EndReason, Talk
from nightgate.trials import Ending

_METRICS = frozenset({"GoalCompletion", "LimitHeld"})
"""Evaluators that only a persona plans."""
_MOST_NAMED = 20
"""Re-asks that are listed; the rows have them all."""
QUALITY = "TurnQuality"
"""The judge whose figures are shown turn by turn."""
_COUNTED = ("leaks", "regenerations", "repeats", "cuts", "calls")


@dataclass(slots=True)
class Conversations:
    """Counts over the conversations that have a record."""

    endings: Counter[str] = field(default_factory=Counter)
    success_turns: list[int] = field(default_factory=list)
    """User turns of each conversation whose goal was met."""
    efficiencies: list[float] = field(default_factory=list)
    """Of the same conversations."""
    asked: int = 0
    withheld: int = 0
    re_asks: int = 0
    re_asked: list[dict[str, Any]] = field(default_factory=list)
    """The first of them: case, turn, fact."""
    simulator: Counter[str] = field(default_factory=Counter)
    known_nanousd: int = 0
    quality: dict[int, list[float]] = field(default_factory=dict)
    """Turn -> what a judge gave it, in [0, 1]."""
    unpriced: int = 0
    """Conversations whose simulated user cost something unknown."""

    def add(self, case_id: str, ending: Ending, talk: Talk | None) -> None:
        """Count one trial; trials that are no conversations do not count."""
        if talk is None:
            return
        reason = talk.end_reason.value if talk.end_reason is not None else None
        self.endings[reason if ending is Ending.COMPLETED and reason else ending.value] += 1
        if talk.end_reason is EndReason.GOAL_MET and ending is Ending.COMPLETED:
            self.success_turns.append(talk.end_turn)
            self.efficiencies.append(talk.efficiency)
        self.asked += len(talk.asked)
        self.withheld += len(talk.withheld)
        for turn in talk.turns:
            self.re_asks += len(turn.re_asked)
            for fact in turn.re_asked[: _MOST_NAMED - len(self.re_asked)]:
                self.re_asked.append({"case": case_id, "turn": turn.turn, "fact": fact})
        for name in _COUNTED:
            self.simulator[name] += getattr(talk.simulator, name)
        self.simulator["faults"] += len(talk.simulator.faults)
        if talk.simulator.cost_nanousd is None:
            self.unpriced += 1
        else:
            self.known_nanousd += talk.simulator.cost_nanousd

    def add_quality(self, turns: Mapping[str, float]) -> None:
        """Count one judgement of ``TurnQuality``: turn number as text -> quality in [0, 1]."""
        for turn, quality in turns.items():
            self.quality.setdefault(int(turn), []).append(quality)

    def endings_of(self, plan: Plan) -> dict[str, int]:
        """Endings by name, all of a conversation's listed also when 0; empty without conversations."""
        if not conversations_of(plan):
            return {}
        names = [*(reason.value for reason in EndReason), Ending.SIMULATOR_ERROR.value]
        listed = {name: self.endings[name] for name in names}
        return listed | {name: count for name, count in self.endings.items() if name not in listed}

    def as_dict(self, plan: Plan) -> dict[str, Any] | None:
        """The ``conversations`` part of the JSON summary; None when the run plans none."""
        planned = conversations_of(plan)
        if not planned:
            return None
        met = self.success_turns
        satisfied = self.endings[EndReason.USER_SATISFIED.value]
        wanted = sum(case.trials for case in plan.cases if "GoalCompletion" in case.evaluators)
        return {
            "planned": planned,
            "ended": self.endings.total(),
            "goal_planned": wanted,
            "goal_met": len(met),
            "mean_turns": _mean(met),
            "mean_efficiency": _mean(self.efficiencies),
            # A ratio of sums: a persona with one fact weighs less than one with five.
            "elicitation": self.asked / self.withheld if self.withheld else None,
            "perceived_only": satisfied / (len(met) + satisfied) if met or satisfied else None,
            "re_asks": self.re_asks,
            "re_asked": list(self.re_asked),
            "quality_by_turn": {str(turn): _mean(found) for turn, found in sorted(self.quality.items())},
            "simulator": {
                **{name: self.simulator[name] for name in (*_COUNTED, "faults")},
                "cost_usd": None if self.unpriced else self.known_nanousd / NANO,
            },
        }


def _mean(figures: Sequence[float]) -> float | None:
    return math.fsum(figures) / len(figures) if figures else None


def conversations_of(plan: Plan) -> int:
    """How many planned trials are conversations."""
    return sum(case.trials for case in plan.cases if _METRICS.intersection(case.evaluators))
