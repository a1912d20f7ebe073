"""The night that never ran: a suite without a complete run that is young enough.

Owns how old is too old. A run that does not happen can tell nobody, so something else has to look.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta

from nightgate.localdates import AHEAD
from nightgate.messages import Cause, Kind, Setting
from nightgate.ports import AlertChannel, Clock, Store
from nightgate.rows.keys import manifest_key, manifest_prefix, parse_manifest_key
from nightgate.rows.manifests import Manifest
from nightgate.steps import alertbook, outbox
from nightgate.steps.alerting import Telling, flagged, send_taken, utc_now
from nightgate.steps.reading import load_plan


def overdue(store: Store, suite: str, now: datetime, hours: float) -> Cause | None:
    """The cause that stands for a night that never ran; None where a complete run is young enough.

    Args:
        store: Where runs lie.
        suite: The suite's id.
        now: Aware.
        hours: The age that a complete run may have, counted from its scheduled start: hours that pass,
            whatever the clocks on the wall are set to.
    """
    newest = last_complete(store, suite, now + AHEAD)
    if newest is not None and now - newest <= timedelta(hours=hours):
        return None
    last = (
        f"the last one started at {newest:%Y-%m-%d %H:%M} UTC"
        if newest is not None
        else "there is none at all"
    )
    return Cause(
        kind=Kind.NO_COMPLETE_RUN,
        text=f"no complete run for {hours:g} hours: {last}",
        since=newest.date().isoformat() if newest is not None else None,
    )


def last_complete(store: Store, suite: str, until: datetime | None = None) -> datetime | None:
    """When the newest complete run of a suite started, filtered ones left out; None where there is none.

    Args:
        store: Where runs lie.
        suite: The suite's id.
        until: Later starts are those of a machine whose clock is wrong; they would be young for ever.
    """
    found = [address for key in store.find(manifest_prefix(suite)) if (address := parse_manifest_key(key))]
    newest: datetime | None = None
    for address in sorted(found, key=lambda a: (a.date, a.run_id), reverse=True):
        if newest is not None and address.date < newest.date():
            break
        manifest = Manifest.from_json(store.read(manifest_key(*address)))
        if (
            manifest.run_kind != "run"
            or manifest.started_at is None
            or (until is not None and manifest.started_at > until)
            or load_plan(store, address.run_id).filters
        ):
            continue
        newest = manifest.started_at if newest is None else max(newest, manifest.started_at)
    return newest


def alert_overdue(
    store: Store,
    suite: str,
    hours: float,
    channels: Sequence[AlertChannel],
    clock: Clock,
    *,
    owner: str | None = None,
    path: str | None = None,
    telling: Telling | None = None,
) -> Cause | None:
    """Tell once that a suite has had no complete run; the next complete one ends it.

    Args:
        store: Where runs lie.
        suite: The suite's id.
        hours: As for ``overdue``.
        channels: All that are told.
        clock: Says now.
        owner: The suite's.
        path: The suite's folder, for the command to go on with.
        telling: Links, commands, patience.

    Returns:
        The cause, whether it was told now or before; None where all is well.
    """
    telling = telling or Telling()
    now = utc_now(clock)
    cause = overdue(store, suite, now, hours)
    if cause is None:
        return None
    setting = Setting(
        suite=suite,
        run_id=None,
        date=now.date().isoformat(),
        owner=owner,
        command=flagged(f"nightgate run {shlex.quote(path or suite)}", telling),
    )
    names = [channel.name for channel in channels]

    def look(book: outbox.Book) -> outbox.Step:
        return outbox.take(alertbook.post_alone(book, cause, setting, now, names), now)

    step = alertbook.change(store, suite, look)
    send_taken(store, suite, step, channels, clock, telling.patience)
    return cause
