"""Events for changes: what a deploy pipeline posts so that the affected suite is run at once."""

from __future__ import annotations

from typing import Any

from prefect.events import Event, Resource
from prefect.events.clients import get_events_client

from nightgate.errors import NightgateError


async def post(trigger: str, suite: str, payload: dict[str, Any]) -> str:
    """Post ``nightgate.<trigger>.changed`` and wait until the server has it.

    ``emit_event`` hands an event to a thread and never says that it was lost; here somebody waits for it.

    Args:
        trigger: What changed.
        suite: Whose; in the resource's id, for automations to match.
        payload: ``suite``, ``kind``, ``resource``, ``reason`` and ``id``, all texts.

    Returns:
        The event's id.

    Raises:
        NightgateError: If the server did not take it.
    """
    event = Event(
        event=f"nightgate.{trigger}.changed",
        resource=Resource({"prefect.resource.id": f"nightgate.suite.{suite}"}),
        payload=payload,
    )
    try:
        async with get_events_client(checkpoint_every=1, reconnection_attempts=2) as client:
            await client.emit(event)
    except Exception as error:
        msg = f"the event was not taken: {type(error).__name__}: {error}. Is PREFECT_API_URL right?"
        raise NightgateError(msg) from error
    return str(event.id)
