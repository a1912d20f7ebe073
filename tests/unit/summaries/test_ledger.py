"""Money and tokens: unknown is not free."""

from __future__ import annotations

from nightgate.calls import Role
from nightgate.summaries import Ledger
from nightgate.trials import Usage


def test_an_unknown_cost_makes_the_total_unknown_with_a_lower_bound() -> None:
    """Unknown is not free."""
    ledger = Ledger()
    ledger.add(Role.AGENT, 2_000_000_000, Usage(input=10), attempt=1, late=False)
    ledger.add(Role.JUDGE, None, Usage(input=5), attempt=2, late=False)

    cost = ledger.cost_usd()

    assert (cost["agent"], cost["judge"], cost["user"], cost["total"]) == (2.0, None, 0.0, None)
    assert (cost["unpriced_calls"], cost["at_least"]["total"]) == (1, 2.0)
    assert (ledger.calls, ledger.retries) == (2, 1)


def test_tokens_keep_their_four_kinds_apart() -> None:
    """Cached tokens are neither dropped nor counted twice."""
    ledger = Ledger()
    ledger.add(Role.AGENT, 0, Usage(input=5, cache_read=5, output=20), attempt=1, late=False)
    ledger.add(Role.AGENT, 0, Usage(input=10, cache_read=5, output=20), attempt=1, late=False)

    assert ledger.tokens()["agent"] == {"input": 15, "output": 40, "cache_read": 10, "cache_write": 0}
