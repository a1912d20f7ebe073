"""The travel desk: trips, approvals and what was filed, for one traveller's session.

Owns the facts that no model may bend: who is asking comes from the session, a foreign trip cannot
be told from one that does not exist, and an approval is the manager's. Knows no model, no agent and
no skill. Each trial builds its own desk, so that trials cannot see each other's changes.
"""

import threading
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Trip:
    """A booked trip as its traveller may see it."""

    trip_id: str
    traveller: str
    text: str
    """What ``get_trip`` answers."""
    advance_eur: int | None = None
    """Up to how much the manager approved in advance; None: not approved."""


_TRAVELLERS: Final = {"E-07": "employee", "E-12": "external"}

_TRIPS: Final = (
    Trip(
        "T-310",
        "E-07",
        "Lisbon, 3 to 6 March. Purpose: bearing inspection. Out 3 March 07:40 (flight), back 6 March "
        "10:05 (train to Porto) and 16:30 (flight). Changing the train costs 12 EUR.",
    ),
    Trip("T-315", "E-07", "Turin, 16 to 18 February. Purpose: supplier audit. Finished."),
    Trip(
        "T-322",
        "E-07",
        "Osaka, 11 to 20 May. Host: Naniwa Harbour Works. Purpose: survey of two piers. Out 11 May "
        "13:15 (flight), back 20 May 11:00 (flight).",
    ),
    Trip(
        "T-330",
        "E-07",
        "Oslo, 4 to 5 February. Purpose: client meeting. Out with Nordwind 4 February, one checked bag "
        "on all legs; last leg with Fjordfly.",
    ),
    Trip("T-341", "E-07", "Warsaw, 8 to 12 June. Purpose: site meeting. Cash needed on site.", 400),
    Trip("T-342", "E-07", "Turin, 22 to 24 June. Purpose: supplier audit."),
    Trip("T-401", "E-12", "Lisbon, 3 to 6 March. Purpose: bearing inspection, as a contractor."),
)


class Desk:
    """One traveller's session. Methods may be called from several threads at once: tools run in threads."""

    def __init__(self, traveller: str) -> None:
        """Open a desk with the same trips every time.

        Args:
            traveller: Who is signed in, like ``E-07``. Fixed for the life of the desk.

        Raises:
            ValueError: If nobody has that id.
        """
        if traveller not in _TRAVELLERS:
            raise ValueError(f"no traveller {traveller!r}; there are {', '.join(_TRAVELLERS)}")
        self._traveller = traveller
        self._lock = threading.Lock()
        self._trips = {trip.trip_id: trip for trip in _TRIPS}
        self._changes: dict[str, str] = {}
        self._reports: list[dict[str, str]] = []
        self._shown_eur: int | None = None

    @property
    def external(self) -> bool:
        """Whether the traveller works for another company."""
        return _TRAVELLERS[self._traveller] == "external"

    @property
    def approval_seen(self) -> bool:
        """Whether an approval of the manager's has been looked up in this session, and was there."""
        return self._shown_eur is not None

    def trip(self, trip_id: str) -> Trip | None:
        """One of the traveller's own trips.

        Returns:
            The trip; None if it does not exist or belongs to someone else, with no way to tell.
        """
        found = self._trips.get(trip_id.strip().upper())
        return found if found is not None and found.traveller == self._traveller else None

    def approval(self, trip_id: str) -> int | None:
        """Look up the manager's approval of an advance.

        Returns:
            The approved amount in EUR; None if there is no approval or no such trip.
        """
        trip = self.trip(trip_id)
        if trip is None or trip.advance_eur is None:
            return None
        with self._lock:
            self._shown_eur = trip.advance_eur
        return trip.advance_eur

    def file(self, trip_id: str, kind: str, text: str) -> str | None:
        """File a report on one of the traveller's own trips.

        Returns:
            The report's id; None if there is no such trip.
        """
        trip = self.trip(trip_id)
        if trip is None:
            return None
        with self._lock:
            report_id = f"R-{len(self._reports) + 1}"
            self._reports.append({"id": report_id, "trip": trip.trip_id, "kind": kind, "text": text})
        return report_id

    def change(self, trip_id: str, change: str) -> bool:
        """Change one of the traveller's own trips; False if there is no such trip."""
        trip = self.trip(trip_id)
        if trip is None:
            return False
        with self._lock:
            self._changes[trip.trip_id] = change
        return True

    def state(self) -> dict[str, Any]:
        """Everything that a trial can have changed, as a JSON mapping."""
        with self._lock:
            return {
                "reports": [dict(report) for report in self._reports],
                "filed": len(self._reports),
                "changes": dict(self._changes),
            }
