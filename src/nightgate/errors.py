"""Every error that nightgate raises on purpose.

    NightgateError
    |-- InputError            exit 2: wrong input or configuration; nothing was spent
    |   |-- cases.SuiteError  all problems of a suite at once
    |   `-- UnpricedError     a budget over a model whose price is unknown
    |-- BudgetError           exit 4: the cap is reached; the rest of the run is skipped
    |-- ModelCallError        a model call that ended badly, after all retries
    |-- AlertError            a channel did not take a message; never changes a verdict
    |-- importers.records.NoContentError     exit 3: a recording without what was said
    |-- cli.trace_to_case.DraftExistsError   exit 1: another draft has the name
    `-- StoreError            the store refused or could not be reached
        |-- ConflictError     a create-only key exists with other content
        |-- MissingError      a key, part or run that is not there
        `-- DamagedError      bytes that differ from their manifest

Owns exit codes of the process. Knows nothing of what raises them.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process answers to the shell (contract, section 5)."""

    OK = 0
    FAILED = 1
    INPUT = 2
    INCONCLUSIVE = 3
    BUDGET = 4
    INTERRUPTED = 130


STOPPED_EXIT: dict[str, ExitCode] = {"budget": ExitCode.BUDGET, "cancelled": ExitCode.INTERRUPTED}
"""What is answered where something stopped early, by why it did."""


class NightgateError(Exception):
    """Root of all errors raised on purpose; the message says where, what and what to do next."""

    exit_code: ExitCode = ExitCode.INCONCLUSIVE


class InputError(NightgateError):
    """The user's input or configuration is wrong; raised before anything is spent."""

    exit_code = ExitCode.INPUT


class UnpricedError(InputError):
    """A budgeted run names a model whose price is unknown: the cap could never bind."""


class BudgetError(NightgateError):
    """The next call could pass the run's cap."""

    exit_code = ExitCode.BUDGET


class ModelCallError(NightgateError):
    """A model call failed for good.

    Attributes:
        kind: One of throttled, server_error, timeout, auth, disconnect, cut, error, exhausted,
            call_cap.
        attempts: How often it was tried.
    """

    def __init__(self, kind: str, message: str, *, attempts: int = 1) -> None:
        super().__init__(message)
        self.kind, self.attempts = kind, attempts


class AlertError(NightgateError):
    """A channel did not take a message, or is out of reach.

    Attributes:
        again: Whether the same message may be taken at another try a moment later.
    """

    def __init__(self, message: str, *, again: bool = True) -> None:
        super().__init__(message)
        self.again = again


class StoreError(NightgateError):
    """The store refused or could not be reached."""


class ConflictError(StoreError):
    """A create-only key already holds other content."""


class MissingError(StoreError):
    """A key, part or run that is not in the store."""

    exit_code = ExitCode.INPUT


class DamagedError(StoreError):
    """Stored bytes differ from what their manifest says."""
