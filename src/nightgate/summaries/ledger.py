"""What a run's calls add up to: money and tokens by role.

Owns the addition. An unknown cost stays unknown, with a lower bound beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nightgate.calls import Role
from nightgate.trials import Usage

NANO = 1_000_000_000


@dataclass(slots=True)
class Ledger:
    """What a run's calls add up to, by role."""

    known_nanousd: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(Role, 0))
    unpriced: dict[Role, int] = field(default_factory=lambda: dict.fromkeys(Role, 0))
    usage: dict[Role, Usage] = field(default_factory=lambda: dict.fromkeys(Role, Usage()))
    calls: int = 0
    retries: int = 0
    late: int = 0

    def add(
        self, role: Role, cost_nanousd: int | None, usage: Usage | None, *, attempt: int, late: bool
    ) -> None:
        """Count one attempt."""
        self.calls += 1
        self.retries += attempt > 1
        self.late += late
        if cost_nanousd is None:
            self.unpriced[role] += 1
        else:
            self.known_nanousd[role] += cost_nanousd
        if usage is not None:
            self.usage[role] = self.usage[role] + usage

    def counts(self) -> dict[str, int]:
        """Attempts, those of them that were retries, and those that ended after their trial."""
        return {"total": self.calls, "retries": self.retries, "late": self.late}

    def cost_usd(self) -> dict[str, Any]:
        """The money of the JSON summary: null where a call's cost is unknown, with a lower bound beside."""
        roles = {
            role.value: None if self.unpriced[role] else self.known_nanousd[role] / NANO for role in Role
        }
        unpriced = sum(self.unpriced.values())
        known = sum(self.known_nanousd.values())
        return {
            **roles,
            "total": None if unpriced else known / NANO,
            "unpriced_calls": unpriced,
            "at_least": {
                **{role.value: self.known_nanousd[role] / NANO for role in Role},
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
