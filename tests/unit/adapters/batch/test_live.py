"""A kill repeats what was under way: so there may never be more of it than was asked for."""

from __future__ import annotations

import asyncio

from makers import a_scope
from nightgate.adapters.batch.live import LivePlaces
from nightgate.calls import Role, Scope


def a_judgement() -> Scope:
    """The scope of one judgement."""
    return a_scope(role=Role.JUDGE)


async def entered(places: LivePlaces, scope: Scope) -> bool:
    """Whether a place is there at once."""
    turn = asyncio.ensure_future(places.enter(scope))
    for _ in range(5):
        await asyncio.sleep(0)
    done = turn.done()
    turn.cancel()
    return done


async def test_a_place_is_held_after_the_call_until_the_finding_is_made() -> None:
    """An answer whose finding is not written yet is asked again after a kill: it is still under way."""
    places, first, second = LivePlaces(1), a_judgement(), a_judgement()
    await places.enter(first)
    before = await entered(places, second)
    first.close()

    assert (before, await entered(places, second)) == (False, True)


async def test_the_calls_of_one_judgement_share_its_place() -> None:
    """Else judgements that ask twice at once would wait for each other for ever."""
    places, one = LivePlaces(1), a_judgement()
    await places.enter(one)

    assert await entered(places, one)


async def test_a_judgement_that_ends_while_it_waits_takes_no_place() -> None:
    """A deadline or a stop ends it; the place goes to the next."""
    places, first, gone, third = LivePlaces(1), a_judgement(), a_judgement(), a_judgement()
    await places.enter(first)
    await entered(places, gone)
    gone.close()
    first.close()

    assert await entered(places, third)


async def test_a_closed_scope_needs_no_place() -> None:
    """What comes after its end is refused by the meter; it must not hold anything that nobody lets go."""
    places, late = LivePlaces(1), a_judgement()
    late.close()
    await places.enter(late)

    assert await entered(places, a_judgement())
