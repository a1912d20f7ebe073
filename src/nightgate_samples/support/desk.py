"""The support desk: the cases of all customers, and what no model may bend about them.

Owns three rules, whatever the model says: who is asking comes from the session, a foreign case
cannot be told from one that does not exist, and a second resolve changes nothing. Knows no model
and no agent. Each trial builds its own desk, so that trials cannot see each other's changes.
"""

import sqlite3
import threading
from dataclasses import dataclass
from typing import Any, Final

_SCHEMA: Final = """
CREATE TABLE cases (
    case_id TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'resolved')),
    note TEXT NOT NULL,
    resolution TEXT
) STRICT
"""

_CASES: Final = (
    (
        "CS-1001",
        "C-17",
        "Desk lamp arrived with a cracked shade",
        "open",
        "A replacement was handed to the carrier; it has not reported the delivery yet.",
        None,
    ),
    (
        "CS-1002",
        "C-17",
        "Kettle does not switch off",
        "open",
        "In the workshop since 2 June; the thermostat is being replaced.",
        None,
    ),
    (
        "CS-1003",
        "C-17",
        "Invoice without VAT number",
        "open",
        "A corrected invoice was sent on 4 June.",
        None,
    ),
    (
        "CS-1004",
        "C-17",
        "Parcel sent to the old address",
        "resolved",
        "The parcel came back and was sent again.",
        "Delivered to the new address.",
    ),
    (
        "CS-2001",
        "C-22",
        "Two chairs missing from the delivery",
        "open",
        "The carrier is looking for them.",
        None,
    ),
    ("CS-2002", "C-22", "Gift card could not be used", "resolved", "The card was renewed.", "New card sent."),
)


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """A case as its own customer may see it."""

    case_id: str
    subject: str
    status: str
    """``open`` or ``resolved``."""
    note: str
    resolution: str | None
    """How it ended; None while it is open."""


class Desk:
    """One customer's session at the desk, on a database of its own in memory.

    Methods may be called from several threads at once: tools run in threads.
    """

    def __init__(self, customer_id: str) -> None:
        """Open a desk with the same cases every time.

        Args:
            customer_id: Who is signed in, like ``C-17``. Fixed for the life of the desk.
        """
        self._customer_id = customer_id
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        with self._database:
            self._database.execute(_SCHEMA)
            self._database.executemany("INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?)", _CASES)

    def get(self, case_id: str) -> CaseRecord | None:
        """Look up one of the customer's own cases.

        Returns:
            The case; None if it does not exist or belongs to someone else, with no way to tell.
        """
        with self._lock:
            return self._own(case_id)

    def resolve(self, case_id: str, resolution: str) -> CaseRecord | None:
        """Resolve one of the customer's own cases; one that is resolved already stays as it is.

        Args:
            case_id: Like ``CS-1001``; case and surrounding space do not matter.
            resolution: One line on how it ended. Kept only from the first resolve.

        Returns:
            The case as it is now; None if it does not exist or belongs to someone else.
        """
        with self._lock, self._database:
            self._database.execute(
                "UPDATE cases SET status = 'resolved', resolution = ?"
                " WHERE case_id = ? AND customer_id = ? AND status = 'open'",
                (resolution, _normal(case_id), self._customer_id),
            )
            return self._own(case_id)

    def state(self) -> dict[str, Any]:
        """Everything that a trial can have changed, as a JSON mapping.

        Cases of all customers are in it, so that a check can see that a foreign one was left alone.
        ``cases.CS-1001.status`` is a path into it.
        """
        with self._lock:
            rows = self._database.execute(
                "SELECT case_id, customer_id, subject, status, resolution FROM cases ORDER BY case_id"
            ).fetchall()
        names = ("customer_id", "subject", "status", "resolution")
        return {"cases": {row[0]: dict(zip(names, row[1:], strict=True)) for row in rows}}

    def close(self) -> None:
        """Give the database back; closing twice is allowed."""
        with self._lock:
            self._database.close()

    def _own(self, case_id: str) -> CaseRecord | None:
        """Read a case, with the lock held; the query names the customer, so no foreign row leaves it."""
        row = self._database.execute(
            "SELECT case_id, subject, status, note, resolution FROM cases"
            " WHERE case_id = ? AND customer_id = ?",
            (_normal(case_id), self._customer_id),
        ).fetchone()
        return None if row is None else CaseRecord(*row)


def _normal(case_id: str) -> str:
    return case_id.strip().upper()
