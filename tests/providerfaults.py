"""What befalls requests to a provider: refusals, storms, slow streams, hangs.

Owns the record of a request, the faults, and which requests they strike. The wire is ``live.wires``'.
Imports nothing of nightgate.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from live.openai_standin import Refuse, Say
from live.wires import Step, Wire

_EVER_S = 3600.0


@dataclass(slots=True, kw_only=True)
class Request:
    """One request and what became of it.

    Attributes:
        number: From 1, in order of arrival.
        at: When it came, in monotonic seconds of this machine.
        model: As asked for.
        headers: As sent.
        prompt: Text of the last message of a user in it.
        status: Of the answer; None until it has ended, and for one that never began.
        delivered: Whether the answer was written to its end while the client was there.
        ended_at: When that was, or when the client left.
    """

    number: int
    at: float
    model: str
    headers: Mapping[str, str]
    prompt: str
    status: int | None = None
    delivered: bool = False
    ended_at: float | None = None

    @property
    def id(self) -> str:
        """Its ``x-request-id``; also the system fingerprint of an answer, and in the text of a refusal."""
        return f"req-{self.number:06d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(abc.ABC):
    """Something that befalls requests.

    Attributes:
        where: Only those whose last message of a user contains it.
        times: So many of them and no more; None: all.
        for_s: So many seconds from the first one on; None: for ever.
        after: So many of them are spared at the start.
    """

    where: str = ""
    times: int | None = None
    for_s: float | None = None
    after: int = 0

    @abc.abstractmethod
    def step(self, request: Request, answer: Say) -> Step:
        """What such a request gets instead of its answer."""

    @property
    def refuses(self) -> bool:
        """Whether it is no answer at all, and counts for no limit."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm(Fault):
    """Refused with 429, whatever the rate.

    Attributes:
        retry_after_s: What the refusal asks to wait; None: it does not say.
    """

    retry_after_s: float | None = None

    def step(self, request: Request, answer: Say) -> Step:
        """A refusal."""
        return throttle(request, self.retry_after_s)

    @property
    def refuses(self) -> bool:
        """It does."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Fault):
    """A word at a time.

    Attributes:
        every_s: Seconds before each word.
    """

    every_s: float

    def step(self, request: Request, answer: Say) -> Step:
        """The same answer, slowly."""
        return replace(answer, every_s=self.every_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang(Fault):
    """No answer, and no end of it.

    Attributes:
        begun: It hangs in mid-stream, after a first word.
    """

    begun: bool = False

    def step(self, request: Request, answer: Say) -> Step:
        """Silence."""
        return _Silent(self.begun)


def throttle(request: Request, retry_after_s: float | None) -> Step:
    """Too many requests for now."""
    return Refuse(
        status=429,
        code="rate_limit_exceeded",
        kind="requests",
        message=f"Rate limit reached for {request.model} on requests per second. ({request.id})",
        headers={} if retry_after_s is None else {"Retry-After": f"{retry_after_s:g}"},
    )


def exhaust(request: Request) -> Step:
    """Too many requests for the day."""
    return Refuse(
        status=429,
        code="insufficient_quota",
        kind="insufficient_quota",
        message="You exceeded your current quota, please check your plan and billing details. "
        f"({request.id})",
    )


class Struck:
    """A fault, and how often it struck."""

    def __init__(self, kind: Fault) -> None:
        self.kind, self._met, self._since = kind, 0, math.inf

    def strikes(self, request: Request) -> bool:
        """Whether this request is one of its own."""
        kind = self.kind
        if kind.where not in request.prompt:
            return False
        self._met += 1
        met = self._met - kind.after
        if met < 1:
            return False
        self._since = min(self._since, request.at)
        in_time = kind.for_s is None or request.at < self._since + kind.for_s
        return in_time and (kind.times is None or met <= kind.times)


@dataclass(frozen=True, slots=True)
class After:
    """A step, some time later."""

    latency_s: float
    then: Step

    def play(self, wire: Wire) -> None:
        """Wait, then answer."""
        wire.stay(self.latency_s)
        self.then.play(wire)


@dataclass(frozen=True, slots=True)
class _Silent:
    """Nothing, or a first word and then nothing, until the client leaves."""

    begun: bool

    def play(self, wire: Wire) -> None:
        if self.begun:
            wire.begin()
            wire.choice({"content": "I was about to"})
        wire.stay(_EVER_S)
