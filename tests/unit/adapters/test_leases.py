"""Leases of global limits, against the stand-in; the drills hold the same contract to a real server."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasecontract import CONTRACT
from limitserver import LimitServer
from nightgate.adapters.leases import LEASE_S, GlobalLimit, examine_limits, limit_name
from nightgate.adapters.prefect_api import PrefectApi, PrefectApiError


@pytest.mark.parametrize("check", CONTRACT, ids=lambda check: check.__name__)
def test_the_stand_in_keeps_the_contract(check: Callable[[PrefectApi], None]) -> None:
    """Else what the shares' tests show would be worth nothing."""
    check(LimitServer())


def test_a_lease_that_nobody_renews_comes_back() -> None:
    """Its holder was killed."""
    api = LimitServer()
    limit = GlobalLimit(api, "x", 1)
    dead = limit.take(1)
    assert dead is not None
    assert limit.take(1) is None
    api.now += LEASE_S + 1
    assert limit.take(1) is not None
    assert not limit.renew(dead)


def test_a_server_that_is_away_is_an_error_of_its_own() -> None:
    """Nothing free, and nobody there, are two things."""
    api = LimitServer()
    api.away = True
    with pytest.raises(PrefectApiError):
        GlobalLimit(api, "x", 1).take(1)


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_two_models_never_share_a_limits_name(one: str, other: str) -> None:
    """A server takes no ``/%&><`` in names, and nobody reads long ones."""
    first, second = limit_name(one, "calls"), limit_name(other, "calls")
    assert (first == second) == (one == other)
    assert not set("/%&><") & set(first)
    assert len(first) < 200


def told(api: LimitServer) -> list[tuple[str, bool]]:
    """What ``doctor`` says of the limits."""
    return [(finding.text, finding.ok) for finding in examine_limits(api)]


def test_doctor_tells_what_is_held_of_each_limit() -> None:
    """While workers run that is as it should be."""
    api = LimitServer(busy=1)
    GlobalLimit(api, limit_name("openai:m", "calls in flight"), 5).take(3)
    assert told(api) == [("openai:m, calls in flight: 3 of 5 held", True)]


def test_doctor_names_what_is_held_though_nobody_runs() -> None:
    """A broker lost the lease of a worker that died: it would be held for ever."""
    api = LimitServer()
    GlobalLimit(api, limit_name("openai:m", "calls in flight"), 5).take(3)
    ((text, ok),) = told(api)
    assert not ok
    assert "prefect gcl update 'nightgate: openai:m, calls in flight' --active-slots 0" in text


def test_doctor_says_who_puts_limits_up_where_there_are_none() -> None:
    """Nobody has to make them by hand."""
    ((text, ok),) = told(LimitServer())
    assert ok
    assert "max_in_flight" in text


def test_doctor_tells_that_a_server_is_away() -> None:
    """And does not take it for one without limits."""
    ((_, ok),) = told(LimitServer(away=True))
    assert not ok
