"""Prefect's environment for a run from the command line: patient with its start, silent to the world.

Owns the settings that must be there before Prefect is imported. Values that somebody set stay.
"""

from __future__ import annotations

import os

_SETTINGS = {
    # The embedded server needs 11-22 s on a small machine; its own limit is 20.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
    "PREFECT_CLI_PROMPT": "false",
}


def quiet_prefect() -> None:
    """Set what is not set."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
