"""How the batch queue is used: patience, sizes, and where Bedrock's files go.

Owns the ``NIGHTGATE_BATCH_*`` variables. Knows no provider.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from nightgate.errors import InputError

_PREFIX = "NIGHTGATE_BATCH_"
_RESTS = ("live", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
    """Settings of one process."""

    poll_s: float = 15.0
    """Seconds until a job is first looked at; later looks are further apart."""
    poll_cap_s: float = 300.0
    quiet_s: float = 1.0
    """A job is cut when no record has come for so long."""
    minimum: int = 100
    """Fewer records than these are not worth a queue of up to a day: they are sent live."""
    maximum: int | None = None
    """Records of a job at the most; None: the provider's own limit."""
    rest: Literal["live", "error"] = "live"
    """What becomes of a record that its job did not answer."""
    outage_s: float = 3600.0
    """How long a service may be away before its jobs are given up by this process."""
    s3: str | None = None
    """Bedrock: ``s3://bucket/prefix`` for requests and answers."""
    role_arn: str | None = None
    """Bedrock: the service role that reads and writes there."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] | None = None) -> BatchSettings:
        """From ``NIGHTGATE_BATCH_`` POLL_S, QUIET_S, MIN, MAX, REST, S3 and ROLE_ARN.

        Raises:
            InputError: If one of them cannot be.
        """
        found = os.environ if environ is None else environ
        usual = cls()
        poll_s = _number(found, "POLL_S", usual.poll_s)
        rest = found.get(f"{_PREFIX}REST") or usual.rest
        if rest not in _RESTS:
            msg = f"{_PREFIX}REST={rest!r}: write live or error"
            raise InputError(msg)
        maximum = _number(found, "MAX", math.inf)
        settings = cls(
            poll_s=poll_s,
            poll_cap_s=max(poll_s, min(usual.poll_cap_s, 20 * poll_s)),
            quiet_s=_number(found, "QUIET_S", usual.quiet_s),
            minimum=int(_number(found, "MIN", usual.minimum)),
            maximum=None if math.isinf(maximum) else int(maximum),
            rest=cast("Literal['live', 'error']", rest),
            s3=found.get(f"{_PREFIX}S3") or None,
            role_arn=found.get(f"{_PREFIX}ROLE_ARN") or None,
        )
        if settings.maximum is not None and settings.maximum < settings.minimum:
            msg = f"{_PREFIX}MAX={settings.maximum}: must be {_PREFIX}MIN ({settings.minimum}) or more"
            raise InputError(msg)
        return settings


def _number(environ: Mapping[str, str], name: str, usual: float) -> float:
    text = environ.get(f"{_PREFIX}{name}", "")
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0 or math.isinf(value):
        msg = f"{_PREFIX}{name}={text!r}: write a number above 0"
        raise InputError(msg)
    return value
