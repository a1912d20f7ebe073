"""``nightgate doctor``: what is reachable, before a night depends on it. Calls no model."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode, InputError, NightgateError

if TYPE_CHECKING:  # wiring is heavy, and `--help` needs none of it
    from nightgate.wiring.readiness import Place


def run(args: argparse.Namespace) -> int:
    """Print one line a finding; 0 when all is well, 1 when something is not, 3 when a run is overdue."""
    from nightgate.reports.text import plain

    hours = _hours(args)
    found = [
        *(_line(one.what, one.text, ok=one.ok, warn=one.warn) for one in _places(args)),
        *_prefect(args.pool),
        *(line for suite in args.suites for line in _suite(suite)),
        *_channels(args.suites),
    ]
    late = [line for suite in args.suites for line in _age(args, suite, hours)] if hours is not None else []
    found += late
    for line in found:
        print(
            f"{_mark(line)}  {line['what']}: {plain(line['text'])}",
            file=people(args.json),
        )
    write_json({"schema": 1, "findings": found}, args.json)
    if not all(line["ok"] for line in late):
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK if all(line["ok"] for line in found) else ExitCode.FAILED


def _mark(line: dict[str, Any]) -> str:
    return "FAIL" if not line["ok"] else "warn" if line["warn"] else "ok  "


def _hours(args: argparse.Namespace) -> float | None:
    """The age that ``--since`` allows, in hours.

    Raises:
        InputError: If it is no age, or no suite is named for it.
    """
    if args.since is None:
        if args.alert:
            msg = "--alert tells of a suite without a complete run: give --since, as in --since 26h"
            raise InputError(msg)
        return None
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)([mhd])", args.since)
    if found is None or not float(found[1]):
        msg = f"--since {args.since!r}: write an age, as in 26h, 2d or 90m"
        raise InputError(msg)
    if not args.suites:
        msg = "--since: name the suites whose runs are due, as in `doctor cases/support --since 26h`"
        raise InputError(msg)
    return float(found[1]) * _UNIT_HOURS[found[2]]


_UNIT_HOURS = {"m": 1 / 60, "h": 1.0, "d": 24.0}


def _channels(suites: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Look at the targets of the suites' channels, or of all that are configured; sends nothing."""
    from nightgate.cases import load_suite
    from nightgate.wiring.alerts import looked_at

    wanted: dict[str, str] = {}
    for path in suites:
        try:
            suite = load_suite(path)
        except NightgateError:
            continue  # told where its models are looked at
        wanted |= {name: str(suite.file) for name in suite.alerts if name not in wanted}
    rows = [row for name, where in wanted.items() for row in looked_at([name], where)]
    for row in rows if suites else looked_at(None, "doctor"):
        yield _line(f"alerts {row['channel']}", f"{row['target']}: {row['text']}", ok=row["ok"])


def _age(args: argparse.Namespace, path: str, hours: float) -> Iterator[dict[str, Any]]:
    """Whether a suite has had a complete run; with ``--alert`` its channels are told when it has not."""
    import asyncio

    from nightgate.requests import RunRequest
    from nightgate.wiring.alerts import tell_overdue

    try:
        request = RunRequest.make(path, {"store": args.store})
        cause = asyncio.run(tell_overdue(request, hours, tell=args.alert))
    except NightgateError as error:
        yield _line(f"runs of {path}", str(error), ok=False)
        return
    text = cause.text if cause is not None else f"a complete run within {args.since}"
    yield _line(f"runs of {path}", text, ok=cause is None)


def _line(what: str, text: str, *, ok: bool, warn: bool = False) -> dict[str, Any]:
    """A finding; a warning is one that works now and may not for long, and changes no exit code."""
    return {"what": what, "ok": ok, "warn": warn, "text": text}


def _places(args: argparse.Namespace) -> list[Place]:
    """What a run writes to: the store, and the spool of this machine."""
    from nightgate.requests import RunRequest
    from nightgate.wiring.readiness import places

    # Looked up as the run looks it up, settings of the environment included.
    request = RunRequest.make("", {"store": args.store, "spool": args.spool})
    return places(request, store_of(args), named=args.spool)


def _prefect(pool: str | None) -> Iterator[dict[str, Any]]:
    """Look at a configured server; without one the embedded server is used."""
    from nightgate.adapters.leases import examine_limits
    from nightgate.adapters.prefect_api import PrefectApi, PrefectApiError, examine

    url = os.environ.get("PREFECT_API_URL")
    if not url:
        yield _line("prefect", "no PREFECT_API_URL: `nightly` starts Prefect's embedded server", ok=True)
        return
    try:
        api = PrefectApi(url)
    except PrefectApiError as error:
        yield _line("prefect", str(error), ok=False)
        return
    findings = list(examine(api, pool=pool))
    if findings[0].ok:  # else nobody answers
        findings += examine_limits(api)
    for found in findings:
        yield _line(found.what, found.text, ok=found.ok)


def _suite(path: str) -> Iterator[dict[str, Any]]:
    """Credentials and prices of a suite's models, its live ones included."""
    from nightgate.adapters.models import check_credentials, parse_spec
    from nightgate.cases import load_suite
    from nightgate.prices import PriceTable

    try:
        suite = load_suite(path)
    except NightgateError as error:
        yield _line("suite", str(error), ok=False)
        return
    prices = PriceTable.load()
    live = suite.live
    specs = [suite.model, *suite.judges, suite.user, live.model, *live.judges, live.user]
    for spec in dict.fromkeys(spec for spec in specs if spec is not None):
        problem = check_credentials(parse_spec(spec))
        priced = spec.startswith("scripted:") or prices.price(spec) is not None
        price = "price known" if priced else "price unknown (--prices FILE)"
        yield _line(f"model {spec}", problem or f"credentials in place, {price}", ok=problem is None)
