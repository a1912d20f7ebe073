"""Working time: what counts, what does not, and what becomes of the work at the deadline."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from makers import a_clock, a_scope
from nightgate import deadlines
from nightgate.deadlines import DeadlineError, SelfCancelledError, contained, within


async def test_work_in_time_gives_its_result() -> None:
    """Nothing is closed, nothing cancelled."""
    scope = a_scope()

    async def work() -> str:
        return "done"

    assert await within(asyncio.create_task(work()), 5.0, scope) == "done"
    assert not scope.closed


async def test_the_works_own_error_comes_through() -> None:
    """Whoever asked types it."""

    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await within(asyncio.create_task(work()), 5.0, a_scope())


async def stubborn(on_cancel: Callable[[], object]) -> asyncio.Task[Any]:
    """Work that has begun, never ends, and does something of its own when it is cancelled."""
    begun = asyncio.Event()

    async def work() -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return on_cancel()

    task = asyncio.create_task(work())
    await begun.wait()
    return task


async def test_at_the_deadline_the_work_is_cancelled_and_the_scope_closed() -> None:
    """What its calls still bring is late: paid, and dropped."""
    scope, cancelled = a_scope(), asyncio.Event()
    with pytest.raises(DeadlineError):
        await within(await stubborn(cancelled.set), 0.01, scope)
    assert cancelled.is_set()
    assert scope.closed


async def test_waiting_is_no_working_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate limit may hold a trial for minutes; it is not the agent's slowness."""
    scope, clock = a_scope(), a_clock(monkeypatch, deadlines)

    async def work() -> str:
        scope.waiting, scope.waiting_since = 1, clock.now
        clock.now += 1000.0
        await asyncio.sleep(0.1)  # the deadline is looked at meanwhile
        scope.waiting, scope.waited_s = 0, 1000.0
        await asyncio.sleep(0.1)  # and afterwards
        return "done"

    assert await within(asyncio.create_task(work()), 0.05, scope) == "done"


async def test_time_waited_before_is_not_given_twice() -> None:
    """The second turn of a conversation has its own deadline."""
    scope = a_scope(waited_s=3600.0)
    with pytest.raises(DeadlineError):
        await within(asyncio.create_task(asyncio.Event().wait()), 0.01, scope)


async def test_an_answer_after_the_deadline_is_dropped() -> None:
    """Code that swallows its cancellation and answers all the same is too late."""
    with pytest.raises(DeadlineError):
        await within(await stubborn(lambda: "late"), 0.01, a_scope())


async def test_an_error_after_the_deadline_leaves_no_noise(caplog: pytest.LogCaptureFixture) -> None:
    """The user's log would say that a task's exception was never retrieved."""

    def raises() -> None:
        raise ValueError("on the way out")

    with pytest.raises(DeadlineError):
        await within(await stubborn(raises), 0.01, a_scope())
    assert not caplog.records


async def test_cancelling_the_caller_cancels_the_work() -> None:
    """A stop of the run leaves nothing running."""
    scope, begun = a_scope(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    inner = asyncio.create_task(work())
    outer = asyncio.create_task(within(inner, 60.0, scope))
    await begun.wait()
    outer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outer
    assert inner.cancelled()
    assert scope.closed


async def test_work_that_cancels_itself_is_an_error_and_no_stop() -> None:
    """Client libraries do it. Passed on, it ended a worker in silence, and its trials were never played."""

    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(SelfCancelledError):
        await within(asyncio.create_task(work()), 5.0, a_scope())


@pytest.mark.parametrize("asked", [SystemExit(0), SystemExit("bye"), KeyboardInterrupt()])
def test_user_code_does_not_end_the_process(asked: BaseException) -> None:
    """With sys.exit(0) out of an evaluator a night would end green."""
    with pytest.raises(RuntimeError, match="only nightgate ends its process"), contained():
        raise asked
