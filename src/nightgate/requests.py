"""What somebody asked for: one run, in words that travel through a command line, Prefect or Python.

Owns the fields of a request and their defaults from ``NIGHTGATE_*``. Every value is text or a plain
number, because requests travel as flow parameters. Knows no suite and no store.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from nightgate.errors import InputError
from nightgate.localdates import DEFAULT_ZONE, start_given, zone_named

DEFAULT_STORE = "./.nightgate"
DEFAULT_CONCURRENCY = 10
MANUAL, NIGHTLY, SIMULATED = "manual", "nightly", "simulated"
"""Triggers: who started a run; the last one, that it is a night of `nightgate demo`."""
SUSPECTS = "suspects"
"""What ``only`` is in the reruns of a night, which nobody asks for by hand."""
_PREFIX = "NIGHTGATE_"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run of one suite."""

    suite: str
    """Path of the suite's folder."""
    store: str = DEFAULT_STORE
    live: bool = False
    model: str | None = None
    judge: str | None = None
    user: str | None = None
    trials: int | None = None
    case: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    layer: tuple[str, ...] = ()
    stage: tuple[str, ...] = ()
    run_id: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    judge_concurrency: int = DEFAULT_CONCURRENCY
    budget_usd: str | None = None
    """Decimal text; None leaves it to the suite."""
    seed: int = 0
    resume: str | None = None
    reuse: str | None = None
    """A committed run, or ``latest``: its trials that are the same are taken over."""
    baseline: str | None = None
    """The run that this one is compared with; None: the suite's baseline."""
    rerun: str | None = None
    """A committed run whose failed and errored cells are played again, as a new run."""
    only: str | None = None
    """Of a rerun: ``failed`` or ``errors`` alone; ``suspects`` for what looks changed in a night."""
    prices: str | None = None
    allow_unpriced: bool = False
    alerts: bool = True
    report: bool = True
    """Whether the run's pages are written to the store."""
    once: bool = False
    """At most one run of the suite for each local date of the scheduled start."""
    timezone: str | None = None
    """IANA name of the zone whose dates ``once`` means; None: UTC."""
    scheduled: str | None = None
    """The scheduled start, ISO 8601 with offset; None: when it is planned."""
    night: bool = False
    """Whether suspects are rerun and canaries judged once the gate has decided."""
    trigger: str = MANUAL
    reason: str | None = None
    """What changed, where a change starts the run: "started because ..."."""
    curtail: bool = False
    """Leave out what cannot change the gate's verdict any more."""
    sweep: str | None = None
    """A judge sweep: the run whose stored trials are judged."""
    selection: tuple[str, ...] = ()
    """A judge sweep over several runs: their ids and words, ``suite:SUITE`` for all of a suite."""
    since: str | None = None
    """First UTC day of the runs that ``suite:SUITE`` means, YYYY-MM-DD."""
    until: str | None = None
    """Last one, included."""
    status: tuple[str, ...] = ()
    """Of a sweep: only trials in which a stored finding has one of these statuses."""
    of: tuple[str, ...] = ()
    """The evaluators whose stored findings ``status`` means; none: those that are swept."""
    sweep_id: str | None = None
    """Of a sweep that is a part of one over several runs: that one's id."""
    judges: tuple[str, ...] = ()
    panel: str | None = None
    """The rule by which ``judges`` are one panel: majority or all; None: each judges for itself."""
    related_judges: str | None = None
    """``warn`` or ``refuse`` a judge that is the model under test or its kin; None leaves it to the suite."""
    evaluators: tuple[str, ...] = ()
    repeat: int = 1
    """How often each judge looks at the same output."""
    batch: bool = False
    """Whether a sweep's judges wait for the providers' batch queues, at their price."""
    drainers: int = 0
    """Workers of a fleet that share the run's shards; 0: this process plays them all."""
    spool: str | None = None
    """Folder of the journals on this machine; None: beside the store, or ./.nightgate/spool."""

    @classmethod
    def make(
        cls, suite: str | Path, values: Mapping[str, Any], environ: Mapping[str, str] | None = None
    ) -> RunRequest:
        """A request from what was given, with ``NIGHTGATE_*`` for what was not.

        Args:
            suite: Path of the suite.
            values: Given values by field; None means not given.
            environ: Defaults to the process's.

        Raises:
            InputError: If a value is of the wrong kind.
        """
        given = {name: value for name, value in values.items() if value is not None}
        merged = {**_from_environ(os.environ if environ is None else environ), **given}
        request = cls(suite=str(suite), **merged)
        for name in ("concurrency", "judge_concurrency", "trials", "repeat"):
            number = getattr(request, name)
            if number is not None and number < 1:
                msg = f"--{name.replace('_', '-')} {number}: must be at least 1"
                raise InputError(msg)
        if request.drainers < 0:
            msg = f"--drainers {request.drainers}: must be 0 or more"
            raise InputError(msg)
        if request.drainers and request.batch:
            msg = "--batch waits in one process: leave --drainers out"
            raise InputError(msg)
        request.budget_nanousd(None)
        if request.only is not None and request.rerun is None:
            msg = f"--only {request.only} goes with --rerun RUN"
            raise InputError(msg)
        if request.rerun is not None and (request.reuse is not None or request.resume is not None):
            msg = "--rerun plays anew: drop --reuse and --resume"
            raise InputError(msg)
        for name, known in _WORDS.items():
            word = getattr(request, name)
            if word is not None and word not in known:
                msg = f"--{name.replace('_', '-')} {word}: must be one of {', '.join(known)}"
                raise InputError(msg)
        _check_once(request, given)
        return request

    def budget_nanousd(self, suite_usd: Decimal | str | None) -> int | None:
        """The run's cap in nano-dollars: the request's, else the suite's, else none.

        Raises:
            InputError: If the text is no amount of money.
        """
        text = self.budget_usd if self.budget_usd is not None else suite_usd
        if text is None:
            return None
        try:
            amount = Decimal(str(text))
        except InvalidOperation as error:
            msg = f"--budget-usd {text!r}: write a decimal number of US dollars, as in 2.50"
            raise InputError(msg) from error
        if not amount.is_finite() or amount < 0:
            msg = f"--budget-usd {text!r}: must be 0 or more"
            raise InputError(msg)
        return int(amount * 1_000_000_000)

    def parameters(self) -> dict[str, Any]:
        """As flow parameters: plain JSON."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}

    @classmethod
    def of_parameters(cls, data: Mapping[str, Any]) -> RunRequest:
        """A request from flow parameters.

        Those of a deployment are what somebody wrote there, and text where a trigger filled them in: numbers
        and truth values may be text, lists are split at commas, empty text is not given, and what is not
        there comes from ``NIGHTGATE_*``.

        Raises:
            InputError: If a parameter is unknown or of the wrong kind.
        """
        known = {f.name for f in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            msg = f"unknown run parameters: {', '.join(unknown)}; known are {', '.join(sorted(known))}"
            raise InputError(msg)
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        if known <= set(data):
            return cls(**values)
        values = {k: _typed(k, v) for k, v in data.items() if v not in ("", None)}
        if "suite" not in values:
            msg = "run parameters: name the suite's folder as `suite`"
            raise InputError(msg)
        return cls.make(values.pop("suite"), values)

    def named(self, run_id: str) -> RunRequest:
        """The same request with its run id fixed."""
        return replace(self, run_id=run_id)

    @property
    def spool_folder(self) -> Path:
        """Where journals of unfinished work lie on this machine."""
        if self.spool is not None:
            return Path(self.spool)
        if "://" in self.store:
            return Path(DEFAULT_STORE) / "spool"
        return Path(self.store) / "spool"


_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _typed(name: str, value: Any) -> Any:
    """A parameter as the field wants it."""
    if isinstance(value, list):
        return tuple(value)
    kind = {field.name: field.type for field in fields(RunRequest)}[name]
    if not isinstance(value, str):
        return str(value) if kind == "str | None" else value
    if kind == "bool":
        if value.lower() not in (*_TRUE, *_FALSE):
            msg = f"run parameter {name}={value!r}: write true or false"
            raise InputError(msg)
        return value.lower() in _TRUE
    if kind in ("int", "int | None"):
        try:
            return int(value)
        except ValueError as error:
            msg = f"run parameter {name}={value!r}: write a whole number"
            raise InputError(msg) from error
    if kind == "tuple[str, ...]":
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _check_once(request: RunRequest, given: Mapping[str, Any]) -> None:
    """Check what only ``once`` gives a meaning.

    Raises:
        InputError: If it is missing, or does not go with the rest.
    """
    if not request.once:
        lost = next((name for name in ("timezone", "scheduled") if name in given), None)
        if lost is not None:
            msg = f"--{lost} goes with --once"
            raise InputError(msg)
        return
    taken = next((name for name in ("run_id", "resume", "rerun") if getattr(request, name) is not None), None)
    if taken is not None:
        msg = f"--once finds its run by the date: drop --{taken.replace('_', '-')}"
        raise InputError(msg)
    zone_named(request.timezone or DEFAULT_ZONE)
    if request.scheduled is not None:
        start_given(request.scheduled)


def default_store(environ: Mapping[str, str] | None = None) -> str:
    """The store when none is named: ``NIGHTGATE_STORE``, else a folder here."""
    return (os.environ if environ is None else environ).get(f"{_PREFIX}STORE") or DEFAULT_STORE


_TEXTS = (
    "store", "model", "judge", "user", "prices", "trigger", "spool", "budget_usd",
    "run_id", "resume", "reuse", "baseline", "related_judges", "timezone",
)  # fmt: skip
_WORDS = {
    "panel": ("majority", "all"),
    "related_judges": ("warn", "refuse"),
    "only": ("failed", "errors", SUSPECTS),
}
"""Texts of which only some mean anything."""
_NUMBERS = ("trials", "concurrency", "judge_concurrency", "seed", "drainers")
_FLAGS = ("live", "allow_unpriced", "alerts", "report", "curtail")
_LISTS = ("case", "tag", "layer", "stage")


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    """Settings that the environment gives; empty text means not given."""
    found: dict[str, Any] = {}
    for name in (*_TEXTS, *_NUMBERS, *_FLAGS, *_LISTS):
        text = environ.get(f"{_PREFIX}{name.upper()}", "")
        if not text:
            continue
        if name in _NUMBERS:
            try:
                found[name] = int(text)
            except ValueError as error:
                msg = f"{_PREFIX}{name.upper()}={text!r}: write a whole number"
                raise InputError(msg) from error
        elif name in _FLAGS:
            if text.lower() not in (*_TRUE, *_FALSE):
                msg = f"{_PREFIX}{name.upper()}={text!r}: write true or false"
                raise InputError(msg)
            found[name] = text.lower() in _TRUE
        elif name in _LISTS:
            found[name] = tuple(part.strip() for part in text.split(",") if part.strip())
        else:
            found[name] = text
    return found
