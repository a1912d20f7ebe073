"""What a run's calls add up to: money, tokens and waits, by role and by model.

Owns the addition, and what a case, a trial and a verdict came to. An unknown cost stays unknown, with a
lower bound beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nightgate.calls import Call, Outcome, Role
from nightgate.prices import NANO
from nightgate.summaries.waits import Waits
from nightgate.trials import Usage


@dataclass(slots=True)
class _Sum:
    """Nano-dollars of calls, some of which may be unknown."""

    known: int = 0
    priced: int = 0
    unpriced: int = 0

    def add(self, nanousd: int | None) -> None:
        self.priced += nanousd is not None
        self.unpriced += nanousd is None
        self.known += nanousd or 0

    @property
    def usd(self) -> float | None:
        """None once a call is unknown."""
        return None if self.unpriced else self.known / NANO

    @property
    def at_least_usd(self) -> float | None:
        """Of what is known; None when nothing is, of the calls that were made."""
        return None if self.unpriced and not self.priced else self.known / NANO


@dataclass(slots=True)
class ModelCalls:
    """The calls of one model in one role."""

    calls: int = 0
    retries: int = 0
    throttled: int = 0
    unpriced: int = 0
    """Calls of unknown cost."""
    known_nanousd: int = 0
    """Of the others."""
    waits: Waits = field(default_factory=Waits)

    def add(self, call: Call) -> None:
        """Count one attempt."""
        self.calls += 1
        self.retries += call.attempt > 1
        self.throttled += call.outcome is Outcome.THROTTLED
        self.unpriced += call.cost_nanousd is None
        self.known_nanousd += call.cost_nanousd or 0
        if call.ended_at is not None:  # of a call that nobody heard of again, the wait is not known either
            self.waits.add(call.wait_ms / 1000)


@dataclass(slots=True)
class Ledger:
    """What a run's calls add up to, by role."""

    paid: dict[Role, _Sum] = field(default_factory=lambda: {role: _Sum() for role in Role})
    listed: _Sum = field(default_factory=_Sum)
    """Judges' calls at list price, whichever way they went."""
    queued: _Sum = field(default_factory=_Sum)
    """The same in their providers' batch queues."""
    usage: dict[Role, Usage] = field(default_factory=lambda: dict.fromkeys(Role, Usage()))
    calls: int = 0
    retries: int = 0
    late: int = 0
    throttled: int = 0
    wait_ms: float = 0.0
    """Waited for admission and after throttles, all calls together."""
    models: dict[tuple[Role, str], ModelCalls] = field(default_factory=dict)
    """By role and spec text."""

    def add(self, call: Call) -> None:
        """Count one attempt."""
        self.calls += 1
        self.retries += call.attempt > 1
        self.late += call.late
        self.throttled += call.outcome is Outcome.THROTTLED
        self.wait_ms += call.wait_ms
        self.models.setdefault((call.role, call.model), ModelCalls()).add(call)
        self.paid[call.role].add(call.cost_nanousd)
        if call.role is Role.JUDGE:
            self.listed.add(call.list_nanousd)
            self.queued.add(call.batch_nanousd)
        if call.usage is not None:
            self.usage[call.role] = self.usage[call.role] + call.usage

    def counts(self) -> dict[str, int]:
        """Attempts, and how many of them were retries, ended after their trial, or were throttled."""
        return {
            "total": self.calls,
            "retries": self.retries,
            "late": self.late,
            "throttled": self.throttled,
        }

    def queue_wait_s(self) -> dict[str, float] | None:
        """How long calls waited before they were sent, as the JSON summary has it; None without a call."""
        return Waits.of(found.waits for found in self.models.values()).as_dict()

    def cost_usd(self) -> dict[str, Any]:
        """The money of the JSON summary: null where a call's cost is unknown, with a lower bound beside.

        ``judge_list`` and ``judge_batch`` are the judges' calls at list price and in the batch queue;
        the latter is null where a judge has no queue, and where no judge was called.
        """
        unpriced = sum(paid.unpriced for paid in self.paid.values())
        known = sum(paid.known for paid in self.paid.values())
        called = bool(self.queued.priced or self.queued.unpriced)
        return {
            **{role.value: self.paid[role].usd for role in Role},
            "judge_list": self.listed.usd,
            "judge_batch": self.queued.usd if called else None,
            "total": None if unpriced else known / NANO,
            "unpriced_calls": unpriced,
            "at_least": {
                **{role.value: self.paid[role].known / NANO for role in Role},
                "judge_list": self.listed.at_least_usd,
                "judge_batch": self.queued.at_least_usd if called else None,
                "total": known / NANO,
            },
        }

    def tokens(self) -> dict[str, dict[str, int]]:
        """Tokens by role and kind."""
        return {
            role.value: {
                "input": used.input,
                "output": used.output,
                "cache_read": used.cache_read,
                "cache_write": used.cache_write,
            }
            for role, used in self.usage.items()
        }


def cost_per(total_usd: float | None, judged: Mapping[str, int]) -> dict[str, float | None]:
    """What a case, a trial and a verdict came to: all of the money over those that were judged.

    Args:
        total_usd: Of all calls; None when unknown.
        judged: ``cases`` and ``trials`` with a verdict or a figure, and how many ``verdicts`` those are.

    Returns:
        ``case``, ``trial`` and ``verdict`` in US dollars; None when unknown, or when nothing was judged.

    >>> cost_per(0.6, {"cases": 2, "trials": 6, "verdicts": 12})
    {'case': 0.3, 'trial': 0.1, 'verdict': 0.05}
    """
    return {
        one: None if total_usd is None or not judged[many] else round(total_usd / judged[many], 9)
        for one, many in (("case", "cases"), ("trial", "trials"), ("verdict", "verdicts"))
    }
