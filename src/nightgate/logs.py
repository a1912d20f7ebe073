"""What happens in a run, line by line, for machines that read logs: JSON on stderr, where that is asked for.

Owns the settings ``NIGHTGATE_LOG`` and ``NIGHTGATE_LOG_LEVEL``, the shape of a line, and that none of them
carries a secret or a control character. Lines go through the standard library's loggers ``nightgate.*``, so
that other handlers may hear them too. What happened is said by whoever did it. Nothing is imported that
``--help`` could not afford.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from nightgate.calls import Call, Scope, current_scope
from nightgate.errors import InputError
from nightgate.plaintext import plain
from nightgate.rows.redaction import credentials, may_hold_secret, redact_texts

SETTING, LEVEL = "NIGHTGATE_LOG", "NIGHTGATE_LOG_LEVEL"
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_TREE = "nightgate"
_MOST_TEXT = 2000
"""Characters of one text in a line: providers answer with whole pages."""
_ABOUT: ContextVar[Mapping[str, Any]] = ContextVar("nightgate_log_about", default=MappingProxyType({}))
_SILENT: ContextVar[bool] = ContextVar("nightgate_log_silent", default=False)


def set_up() -> None:
    """Write lines from here on, or no longer, as the environment says. Safe to call again.

    Raises:
        InputError: If a setting has a value that means nothing.
    """
    form, level = os.environ.get(SETTING, ""), os.environ.get(LEVEL, "") or "info"
    if form not in ("", "json"):
        msg = f"{SETTING}={form!r}: write json, or nothing"
        raise InputError(msg)
    if level.lower() not in _LEVELS:
        msg = f"{LEVEL}={level!r}: write one of {', '.join(_LEVELS)}"
        raise InputError(msg)
    tree = logging.getLogger(_TREE)
    ours = _handler()
    if form:
        if ours is None:
            tree.addHandler(_Lines())
        tree.setLevel(_LEVELS[level.lower()])
        # Prefect's root handler would write every warning once more.
        tree.propagate = False
    elif ours is not None:
        tree.removeHandler(ours)
        tree.setLevel(logging.NOTSET)
        tree.propagate = True


@contextlib.contextmanager
def about(**facts: Any) -> Iterator[None]:
    """Put facts (``run``, ``suite``, ``shard``, ...) on every line from inside, also of tasks made there."""
    token = _ABOUT.set({**_ABOUT.get(), **facts})
    try:
        yield
    finally:
        _ABOUT.reset(token)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Say nothing inside: what is tried there is no run of anybody's."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def debug(area: str, message: str, **facts: Any) -> bool:
    """As ``info``, where every trial or call would be one line too many."""
    return _tell(logging.DEBUG, area, message, facts)


def info(area: str, message: str, **facts: Any) -> bool:
    """Write a line of the logger ``nightgate.<area>``.

    Args:
        area: What part of a run it is about.
        message: For people, whole without the facts.
        **facts: For machines; None and "" are left out.

    Returns:
        Whether anybody hears such lines.
    """
    return _tell(logging.INFO, area, message, facts)


def warn(area: str, message: str, **facts: Any) -> bool:
    """As ``info``, for what somebody should look at."""
    return _tell(logging.WARNING, area, message, facts)


def extra(**facts: Any) -> dict[str, Any]:
    """Facts for a record that goes through ``logging`` itself, as its ``extra``."""
    return {"nightgate_facts": facts}


def retried(call: Call, delay_s: float) -> None:
    """An attempt at a call failed and is made again."""
    again = f"{call.model}: {call.outcome.value}, attempt {call.attempt + 1} in {delay_s:.1f} s"
    info("calls", again, delay_s=round(delay_s, 3), **_facts_of(call))


def gave_up(call: Call) -> None:
    """A call failed for good."""
    last = f"{call.model}: {call.outcome.value}, given up after attempt {call.attempt}"
    warn("calls", last, **_facts_of(call))


def _facts_of(call: Call) -> dict[str, Any]:
    return {
        "run": call.run_id,
        "suite": call.suite,
        "case": call.case_id,
        "trial": call.trial if call.case_id else None,
        "role": call.role.value,
        "model": call.model,
        "evaluator": call.evaluator,
        "call": call.call_id,
        "attempt": call.attempt,
        "outcome": call.outcome.value,
        "error": call.error,
        "latency_s": None if call.latency_ms is None else round(call.latency_ms / 1000, 3),
        "wait_s": round(call.wait_ms / 1000, 3),
    }


def _tell(level: int, area: str, message: str, facts: Mapping[str, Any]) -> bool:
    # Without a handler of ours, warnings would fall through to Python's handler of last resort.
    if _SILENT.get() or _handler() is None:
        return False
    logger = logging.getLogger(f"{_TREE}.{area}")
    if logger.isEnabledFor(level):
        # Clean before anybody else's handler sees it.
        (clean,) = _cleaned([message])
        logger.log(level, "%s", clean, extra=extra(**facts))
    return True


def _handler() -> _Lines | None:
    return next((one for one in logging.getLogger(_TREE).handlers if isinstance(one, _Lines)), None)


class _Lines(logging.Handler):
    """One line of JSON a record, on what ``sys.stderr`` is at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write it; where nobody reads any more, or a record cannot be told, the run goes on."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            sys.stderr.write(f"{line(record)}\n")
            sys.stderr.flush()


def line(record: logging.LogRecord) -> str:
    """A record as one line of ASCII JSON, whatever is in it."""
    scope = current_scope()
    facts = {
        "message": record.getMessage(),
        **_ABOUT.get(),
        **({} if scope is None else _facts_of_scope(scope)),
        **getattr(record, "nightgate_facts", {}),
    }
    if record.exc_info and record.exc_info[0] is not None:
        facts["exception"] = logging.Formatter().formatException(record.exc_info)
    told = {name: _value(value) for name, value in facts.items() if value not in (None, "")}
    texts = [name for name, value in told.items() if isinstance(value, str)]
    told.update(zip(texts, _cleaned([told[name] for name in texts]), strict=True))
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    document = {
        "ts": at.replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        **told,
    }
    # ASCII: a terminal of another encoding would write escapes of its own, which are no JSON.
    return json.dumps(document, ensure_ascii=True, allow_nan=False)


def _facts_of_scope(scope: Scope) -> dict[str, Any]:
    return {
        "run": scope.run_id,
        "suite": scope.suite,
        "case": scope.case_id,
        "trial": scope.trial if scope.case_id else None,
    }


def _value(value: Any) -> Any:
    """What JSON can hold; anything else as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else str(value)


def _cleaned(texts: list[str]) -> list[str]:
    """Each text as one plain line without secrets, of characters that UTF-8 can hold."""
    lines = [plain(text) for text in texts]
    literals = credentials()
    try:
        suspicious = may_hold_secret("\n".join(lines).encode(), literals)
    except UnicodeEncodeError:
        suspicious = True  # lone surrogates, which the redaction replaces
    # Cut last: half a secret would no longer be known for one.
    return [
        plain(text, _MOST_TEXT) for text in (redact_texts(lines, literals=literals) if suspicious else lines)
    ]
