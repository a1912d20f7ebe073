"""The sample appointments agent: finds, moves and cancels appointments, and may apply discounts.

Owns the one name that ``cases/appointments/suite.yaml`` points at. ``calendar`` holds the facts that
no model may bend, ``agent`` the instructions and the six tools.
"""

from nightgate_samples.appointments.agent import build

__all__ = ["build"]
