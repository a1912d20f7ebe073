"""Which suspect is played next, until each is decided or the night's share is used up.

Owns the order of a night's reruns. Knows no agent: whoever plays them reports what was found.
"""

from __future__ import annotations

from collections.abc import Mapping

from nightgate.flakiness import rules
from nightgate.flakiness.folding import Tonight
from nightgate.flakiness.nights import Pair
from nightgate.flakiness.rules import SequentialTest


class Reruns:
    """The reruns of one night.

    Args:
        tonight: What looks changed.
        share: Trials that may be played in all; the night's own share unless given.
    """

    def __init__(self, tonight: Tonight, share: int | None = None) -> None:
        self._suspicions = tonight.suspicions
        self._tests: dict[Pair, SequentialTest] = tonight.tests()
        self.left = rules.allowance(tonight.night.planned_trials) if share is None else share
        """Trials that may still be played."""

    @property
    def asked(self) -> dict[str, tuple[str, ...]]:
        """Case -> evaluators that are suspect there, the strongest suspicion first."""
        order = sorted(self._tests, key=lambda pair: -self._tests[pair].score / self._tests[pair].rates.hit)
        found: dict[str, list[str]] = {}
        for case, evaluator in order:
            found.setdefault(case, []).append(evaluator)
        return {case: tuple(evaluators) for case, evaluators in found.items()}

    def next_cases(self) -> list[str]:
        """Cases of which one trial each is played next; empty when all is decided or used up."""
        tests = [(case, test) for (case, _), test in self._tests.items()]
        return [str(case) for case in rules.side_by_side(tests, self.left)]

    def add(self, case: str, passed: Mapping[str, bool | None]) -> None:
        """Take note of a trial.

        Args:
            case: The case that was played.
            passed: By evaluator; None or missing where there is no finding, which is no evidence.
        """
        self.left -= 1
        for pair, test in self._tests.items():
            if pair[0] == case:
                outcome = passed.get(pair[1])
                wanted = self._suspicions[pair].recovering
                test.add(hit=None if outcome is None else outcome is wanted)
