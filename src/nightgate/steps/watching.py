"""When a change starts a run: what was seen of a suite, held against its last complete run.

Owns the rules. A change counts once it has been the same for the quiet time, because an index is rewritten
object by object; it is started once, by whoever claims it first; what the last complete run measured already
is no change, and neither is what cannot be read. Works on a line of ``watchdocs``; looks at nothing itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from nightgate.steps.watchdocs import CLAIMED, GIVEN_UP, STARTED, Line
from nightgate.steps.watchparts import AGENT, TRIGGERS, is_source, moved, source_part, trigger_of, words

QUIET_S = 60.0
"""Seconds for which a change has to stay the same before it is started."""
PATIENCE_S = 600.0
"""Seconds after which a claim without a run is taken over: its watcher died, or the start was refused."""
MOST_TRIES = 3
EVENT_HOURS = 24.0
"""For so long an event without an id is the same as an earlier one that says the same of the same thing."""
_KEPT_STARTS, _KEPT_EVENTS = 50, 200
_REASON_CHARS = 400

Parts = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at a suite."""

    parts: Parts
    unread: Parts = field(default_factory=dict)
    """What could not be read, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Under which a watcher looks."""

    by: str
    """This watcher, for people."""
    run_id: str
    """Of the run, if this look starts one."""
    now: datetime
    """Aware."""
    planned: Callable[[str], bool]
    """Whether a run of that id has a plan in the store."""
    quiet_s: float = QUIET_S
    patience_s: float = PATIENCE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What somebody says has changed."""

    trigger: str
    resource: str = ""
    reason: str = ""
    id: str = ""
    """Given by the caller; the same id twice is the same event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that is this watcher's to start."""

    run_id: str
    trigger: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What a look came to."""

    start: Start | None = None
    waits_s: float | None = None
    """Seconds until a change that is seen has been the same for long enough; None: there is none."""
    said: tuple[str, ...] = ()
    """Lines for people."""


def look(line: Line, seen: Seen, base: Parts | None, terms: Terms) -> Step:
    """Take a look into a suite's line, and claim the run of a change that is due.

    Args:
        line: Changed in place.
        seen: What was found.
        base: What the last complete run measured; None: there is none.
        terms: Who looks, and when.
    """
    now = _filled(line, seen, base)
    line["unread"] = dict(seen.unread)
    settled, pending = line["settled"], line["pending"]
    if settled is None and not moved(now, None, base):
        # Without a run to compare with there is no change: the first run is for a person to pay for.
        said = "the first look: noted, nothing to compare with" if base is None else "nothing changed"
        _settle(line, now, seen, terms)
        return Step(said=(said,))
    if settled is not None and now == settled["parts"] and set(settled["guessed"]) <= _guessed(now, seen):
        line["pending"] = None
        return _newest_claim(line, now, base, terms)
    known = _known(line)
    if pending is None or now != pending["parts"]:
        pending = line["pending"] = {"parts": dict(now), "since": terms.now.isoformat()}
    waited_s = _age_s(pending["since"], terms.now)
    if waited_s < 0:  # written by a clock that runs ahead
        pending["since"], waited_s = terms.now.isoformat(), 0.0
    if waited_s < terms.quiet_s:
        what = words(moved(now, known, base), now, known, base) or "something that starts no run changed"
        waits_s = terms.quiet_s - waited_s
        return Step(waits_s=waits_s, said=(f"{what}: waits for {waits_s:.0f} s without a further change",))
    _settle(line, now, seen, terms)
    found = moved(now, known, base)
    if not found:
        return Step(said=("back at what was measured, or new to the fingerprint: nothing to start",))
    first = min((trigger_of(part) for part in found), key=TRIGGERS.index)
    return _claimed(line, first, found, words(found, now, known, base), terms)


def hear(line: Line, seen: Seen, base: Parts | None, terms: Terms, event: Event) -> Step:
    """Take an event into a suite's line, and claim its run at once unless it is started already.

    What the event names is believed where a look cannot see it. A declared source can be seen: its digest
    decides whether it has changed. Arguments as ``look``'s.
    """
    now = _filled(line, seen, base)
    line["unread"] = dict(seen.unread)
    known = _known(line)
    found = moved(now, known, base)
    part = source_part(event.resource)
    if part in {**(base or {}), **(known or {})} and part in now and part not in {*seen.unread, *found}:
        return Step(said=(f"{event.resource} is as it was at the last look: nothing to start",))
    event_id = event.id or _derived(event, now)
    before = _heard(line, event, event_id, terms) or _covered(line, event, now, terms)
    if before is not None:
        return Step(said=(f"this change has started run {before} already",))
    _settle(line, now, seen, terms)
    shown = [one for one in found if one != part]
    what = event.reason or f"{event.resource or f'the {event.trigger}'} changed"
    if event.resource and event.resource not in what:
        what = f"{what} ({event.resource})"
    also = words(shown, now, known, base)
    parts = ([part] if part in found else []) + shown
    step = _claimed(line, event.trigger, parts, f"{what}; {also}" if also else what, terms, asked=event_id)
    heard = {"id": event_id, "at": terms.now.isoformat(), "run_id": terms.run_id}
    line["events"] = [*line["events"], heard][-_KEPT_EVENTS:]
    return step


def begun(line: Line, run_id: str) -> None:
    """Note that a claimed run was started."""
    for start in line["starts"]:
        if start["run_id"] == run_id:
            start["stage"] = STARTED


def _filled(line: Line, seen: Seen, base: Parts | None) -> dict[str, str]:
    """What was seen, and for what could not be read what it was when all was quiet: that is no change."""
    found = dict(seen.parts)
    for part in _missing(seen):
        found.pop(part, None)
        for known in ((line["settled"] or {}).get("parts", {}), base or {}):
            if part in known:
                found[part] = known[part]
                break
    return found


def _missing(seen: Seen) -> list[str]:
    """Parts that this look does not know: the whole is over the sources as well."""
    whole = [AGENT] if any(is_source(part) for part in seen.unread) else []
    return [*seen.unread, *whole]


def _guessed(now: Parts, seen: Seen) -> set[str]:
    """Parts of which what stands here is what was known before."""
    return {part for part in _missing(seen) if part in now}


def _known(line: Line) -> Parts | None:
    """What was there when the suite was last found quiet, as far as it was read then."""
    settled = line["settled"]
    if settled is None:
        return None
    return {part: value for part, value in settled["parts"].items() if part not in settled["guessed"]}


def _settle(line: Line, now: Parts, seen: Seen, terms: Terms) -> None:
    number = line["settled"]["number"] + 1 if line["settled"] is not None else 0
    guessed = sorted(_guessed(now, seen))
    line["settled"] = {
        "parts": dict(now),
        "guessed": guessed,
        "at": terms.now.isoformat(),
        "number": number,
    }
    line["pending"] = None


def _claimed(
    line: Line, trigger: str, parts: Sequence[str], reason: str, terms: Terms, asked: str | None = None
) -> Step:
    reason = " ".join(reason.split())
    reason = reason if len(reason) <= _REASON_CHARS else f"{reason[: _REASON_CHARS - 1]}…"
    entry = {
        "number": line["settled"]["number"],
        "trigger": trigger,
        "parts": list(parts),
        "reason": reason,
        "run_id": terms.run_id,
        "asked": asked,
        "by": terms.by,
        "claimed_at": terms.now.isoformat(),
        "tries": 1,
        "stage": CLAIMED,
    }
    line["starts"] = [*line["starts"], entry][-_KEPT_STARTS:]
    return Step(start=_start(entry), said=(f"starts run {terms.run_id} because {reason}",))


def _newest_claim(line: Line, now: Parts, base: Parts | None, terms: Terms) -> Step:
    """Nothing changed since: has the newest change its run? Taken over where nobody started it."""
    entry = line["starts"][-1] if line["starts"] else None
    if entry is None or entry["stage"] == GIVEN_UP or not _stands(entry, line, now, base):
        return Step(said=("nothing changed",))
    run_id = entry["run_id"]
    if terms.planned(run_id):
        entry["stage"] = STARTED
        return Step(said=("nothing changed",))
    age_s = _age_s(entry["claimed_at"], terms.now)
    if entry["stage"] == STARTED:
        return Step(said=(f"nothing changed; run {run_id} was handed over and has not begun yet",))
    if 0 <= age_s < terms.patience_s:
        return Step(said=(f"run {run_id} is being started by {entry['by']}",))
    if entry["tries"] >= MOST_TRIES:
        entry["stage"] = GIVEN_UP
        return Step(said=(f"run {run_id} was tried {MOST_TRIES} times and never began: given up",))
    entry |= {"by": terms.by, "claimed_at": terms.now.isoformat(), "tries": entry["tries"] + 1}
    said = f"run {run_id} was claimed and never began: started again because {entry['reason']}"
    return Step(start=_start(entry), said=(said,))


def _stands(entry: Mapping[str, Any], line: Line, now: Parts, base: Parts | None) -> bool:
    """Whether what a claim is about is still there and not measured otherwise."""
    if not entry["parts"]:
        return bool(entry["number"] == line["settled"]["number"])
    return any(now.get(part) != (base or {}).get(part) for part in entry["parts"])


def _start(entry: Mapping[str, Any]) -> Start:
    return Start(run_id=entry["run_id"], trigger=entry["trigger"], reason=entry["reason"])


def _derived(event: Event, now: Parts) -> str:
    """The id of an event that has none: what it says, of what is there."""
    told = [event.trigger, event.resource, event.reason, sorted(now.items())]
    return f"derived-{hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]}"


def _heard(line: Line, event: Event, event_id: str, terms: Terms) -> str | None:
    """The run of the same event."""
    for known in line["events"]:
        if known["id"] == event_id and (event.id or _is_recent(known["at"], terms.now)):
            return str(known["run_id"])
    return None


def _covered(line: Line, event: Event, now: Parts, terms: Terms) -> str | None:
    """The run of the same change, started by a look or by an event that left no id of its own."""
    last, settled = line["starts"][-1] if line["starts"] else None, line["settled"]
    if last is None or settled is None or now != settled["parts"] or last["number"] != settled["number"]:
        return None
    if last["asked"] is not None or not _is_recent(last["claimed_at"], terms.now):
        return None
    covers = {trigger_of(part) for part in last["parts"]} | {last["trigger"]}
    return str(last["run_id"]) if event.trigger in covers else None


def _is_recent(at: str, now: datetime) -> bool:
    return abs(now - datetime.fromisoformat(at)) < timedelta(hours=EVENT_HOURS)


def _age_s(at: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(at)).total_seconds()
