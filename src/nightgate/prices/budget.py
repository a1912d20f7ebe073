"""The cap of a run: money is reserved before a call and settled after it.

Owns the promise that no call starts which could pass the cap; what a call costs beyond its own
estimate is the only way over it, and then nothing more starts. Knows nothing of calls and models, and not
where several processes keep the cap that they share. Imports the standard library only.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from nightgate.errors import BudgetError
from nightgate.prices.costs import NANO


@dataclass(slots=True, eq=False)
class Reservation:
    """Money held for one call in flight."""

    nanousd: int
    open: bool = field(default=True)
    """False once it was settled or cancelled; a second time changes nothing."""


class Budget:
    """Reserve, settle, cancel; safe from any thread.

    Args:
        cap_nanousd: Most that may be spent; None: no cap; 0: no call may be made, free ones included.

    Raises:
        ValueError: If the cap is negative.
    """

    def __init__(self, cap_nanousd: int | None) -> None:
        if cap_nanousd is not None and cap_nanousd < 0:
            raise ValueError(f"a cap of {cap_nanousd} nano-dollars is negative")
        self.cap_nanousd = cap_nanousd
        self._lock = threading.Lock()
        self._spent = 0
        self._reserved = 0
        self._refused = 0
        self._unknown = 0

    @property
    def spent_nanousd(self) -> int:
        """Settled so far; calls of unknown cost count with their estimate."""
        return self._spent

    @property
    def reserved_nanousd(self) -> int:
        """Held for calls in flight."""
        return self._reserved

    @property
    def unknown(self) -> int:
        """Calls that were settled without a known cost: ``spent_nanousd`` is then a guess."""
        return self._unknown

    @property
    def refused(self) -> int:
        """Calls that were not let through."""
        return self._refused

    @property
    def exhausted(self) -> bool:
        """Whether the cap stopped something: a call was refused, or none is allowed at all."""
        return self._refused > 0 or self.cap_nanousd == 0

    @property
    def _limit(self) -> int | None:
        """What may be spent here."""
        return self.cap_nanousd

    async def admit(self, estimate_nanousd: int) -> None:
        """See to it that there is room for a call about to start, where room can be had."""

    def withdraw(self, estimate_nanousd: int) -> None:
        """Forget a call that was admitted and is not made."""

    def reserve(self, estimate_nanousd: int) -> Reservation:
        """Hold money for a call about to start.

        Args:
            estimate_nanousd: The most that it is expected to cost; 0 for a free one.

        Raises:
            BudgetError: If spent, held and this together would pass the cap.
        """
        estimate = max(0, estimate_nanousd)
        with self._lock:
            cap, limit = self.cap_nanousd, self._limit
            taken = self._spent + self._reserved
            if cap is not None and limit is not None and (cap == 0 or taken + estimate > limit):
                self._refused += 1
                raise BudgetError(self._why(cap, estimate))
            self._reserved += estimate
        return Reservation(estimate)

    def settle(self, reservation: Reservation, actual_nanousd: int | None) -> None:
        """Book what the call cost.

        Args:
            reservation: As ``reserve`` gave it.
            actual_nanousd: The call's cost; None when nobody knows: its estimate then stands.
        """
        with self._lock:
            if not self._close(reservation):
                return
            if actual_nanousd is None:
                self._unknown += 1
                self._spent += reservation.nanousd
            else:
                self._spent += max(0, actual_nanousd)

    def cancel(self, reservation: Reservation) -> None:
        """Give back what was held: the call was never sent."""
        with self._lock:
            self._close(reservation)

    def add_spent(self, nanousd: int) -> None:
        """Book money that was spent before this process, when a run is resumed."""
        with self._lock:
            self._spent += max(0, nanousd)

    def _close(self, reservation: Reservation) -> bool:
        if not reservation.open:
            return False
        reservation.open = False
        self._reserved -= reservation.nanousd
        return True

    def _why(self, cap: int, estimate: int) -> str:
        if cap == 0:
            return "the budget is 0 US dollars: no model call may be made"
        return (
            f"the budget of {_usd(cap)} US dollars is reached: {_usd(self._spent)} spent, "
            f"{_usd(self._reserved)} held for calls in flight, the next call may cost {_usd(estimate)}"
        )


class LeasedBudget(Budget):
    """A share of a cap that several processes keep together: more is leased when it runs short.

    What was spent before this process is the lender's to know: ``add_spent`` changes nothing here.

    Args:
        cap_nanousd: The whole cap, for what people are told.
        lease: Given what is missing, returns what was lent, in nano-dollars; 0: there is not so much left.
            Blocking, called in a thread, one at a time.
    """

    def __init__(self, cap_nanousd: int, lease: Callable[[int], int]) -> None:
        super().__init__(cap_nanousd)
        self._lease = lease
        self._granted = 0
        self._admitted = 0
        """Of calls that were admitted and hold nothing yet."""
        self._asking = threading.Lock()

    @property
    def _limit(self) -> int | None:
        return self._granted

    async def admit(self, estimate_nanousd: int) -> None:
        """Lease what the call needs beyond what is left here, if it can be had."""
        estimate = max(0, estimate_nanousd)
        # Many are admitted before the first of them reserves: each has to be leased for.
        with self._lock:
            self._admitted += estimate
        try:
            if self._missing(self._admitted) > 0:
                await asyncio.to_thread(self._top_up, estimate)
        except BaseException:
            self.withdraw(estimate)
            raise

    def withdraw(self, estimate_nanousd: int) -> None:
        """Forget a call that was admitted and is not made."""
        with self._lock:
            self._admitted = max(0, self._admitted - max(0, estimate_nanousd))

    def reserve(self, estimate_nanousd: int) -> Reservation:
        """As ``Budget.reserve``, of a call that was admitted."""
        self.withdraw(estimate_nanousd)
        return super().reserve(estimate_nanousd)

    def forget(self) -> None:
        """Give up what is leased and free: somebody took this process for dead, and lent it to others."""
        with self._lock:
            self._granted = min(self._granted, self._spent + self._reserved)

    def _top_up(self, estimate: int) -> None:
        with self._asking:
            if (missing := self._missing(self._admitted)) > 0:
                lent = self._lease(missing)
                # Not for all of them any more: perhaps for this one.
                if not lent and 0 < (alone := self._missing(estimate)) < missing:
                    lent = self._lease(alone)
                self._granted += lent

    def _missing(self, wanted: int) -> int:
        return self._spent + self._reserved + wanted - self._granted

    def add_spent(self, nanousd: int) -> None:
        """Nothing: see above."""

    def _why(self, cap: int, estimate: int) -> str:
        return (
            f"the budget of {_usd(cap)} US dollars is reached: this worker spent {_usd(self._spent)} of it, "
            f"the next call may cost {_usd(estimate)}, and the rest is spent or held by other workers"
        )


def _usd(nanousd: int) -> str:
    """Dollars with up to six decimals, without an exponent.

    >>> _usd(2_000_000_000), _usd(1_500)
    ('2.00', '0.000002')
    """
    text = f"{nanousd / NANO:.6f}".rstrip("0")
    whole, _, cents = text.partition(".")
    return f"{whole}.{cents:0<2}"
