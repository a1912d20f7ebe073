"""What calls cost, and the cap on it. Money is whole nano-dollars (1e-9 US dollars); unknown is None.

Owns the price table (``prices.yaml``, dated, with sources), a call's exact cost and the run's
budget. Knows no provider's library and no ledger.
"""

from nightgate.prices.budget import Budget, LeasedBudget, Reservation
from nightgate.prices.costs import (
    FREE,
    NANO,
    LongContext,
    Price,
    cost_nanousd,
    estimate_call_nanousd,
    list_and_batch_nanousd,
    scaled,
)
from nightgate.prices.table import PriceTable, is_local, on_loopback

__all__ = [
    "FREE",
    "NANO",
    "Budget",
    "LeasedBudget",
    "LongContext",
    "Price",
    "PriceTable",
    "Reservation",
    "cost_nanousd",
    "estimate_call_nanousd",
    "is_local",
    "list_and_batch_nanousd",
    "on_loopback",
    "scaled",
]
