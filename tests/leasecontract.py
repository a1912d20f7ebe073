"""What leases of a limit must do, whoever keeps the limits."""

from __future__ import annotations

from nightgate.adapters.leases import GlobalLimit, limit_name, limits_of
from nightgate.adapters.prefect_api import PrefectApi

MODEL = "openai:m?base_url=http://127.0.0.1:9/v1&x=<50%>"
"""Its name holds all that a server may refuse in one."""


def leases_add_up_to_the_limit(api: PrefectApi) -> None:
    """Two holders share it; what is given back is there for the other."""
    mine, other = (GlobalLimit(api, limit_name(MODEL, "adds up"), 5) for _ in range(2))
    first, second = mine.take(3), other.take(3)
    assert first is not None
    assert first.slots == 3
    assert second is not None
    assert second.slots == 2
    assert mine.take(1) is None
    mine.give_back(first)
    again = other.take(9)
    assert again is not None
    assert again.slots == 3


def a_lease_that_is_gone_is_not_renewed(api: PrefectApi) -> None:
    """Its holder learns of it, and giving it back once more changes nothing."""
    limit = GlobalLimit(api, limit_name(MODEL, "gone"), 2)
    lease = limit.take(2)
    assert lease is not None
    assert limit.renew(lease)
    limit.give_back(lease)
    assert not limit.renew(lease)
    limit.give_back(lease)
    again = limit.take(2)
    assert again is not None
    assert again.slots == 2


def a_limit_follows_what_the_models_spec_says(api: PrefectApi) -> None:
    """Whoever asks last."""
    name = limit_name(MODEL, "follows")
    GlobalLimit(api, name, 2).take(2)
    lease = GlobalLimit(api, name, 7).take(9)
    assert lease is not None
    assert lease.slots == 5
    assert [row["limit"] for row in limits_of(api) if row["name"] == name] == [7]


CONTRACT = (
    leases_add_up_to_the_limit,
    a_lease_that_is_gone_is_not_renewed,
    a_limit_follows_what_the_models_spec_says,
)
