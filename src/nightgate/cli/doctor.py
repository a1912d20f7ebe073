"""``nightgate doctor``: what is reachable, before a night depends on it. Calls no model."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from nightgate.cli.output import people, write_json
from nightgate.cli.stores import store_of
from nightgate.errors import ExitCode, NightgateError


def run(args: argparse.Namespace) -> int:
    """Print one line a finding; 0 when all is well, 1 when something is not."""
    from nightgate.reports.text import plain

    found = [*_store(args), *_prefect(), *(line for suite in args.suites for line in _suite(suite))]
    for line in found:
        print(
            f"{'ok  ' if line['ok'] else 'FAIL'}  {line['what']}: {plain(line['text'])}",
            file=people(args.json),
        )
    write_json({"schema": 1, "findings": found}, args.json)
    return ExitCode.OK if all(line["ok"] for line in found) else ExitCode.FAILED


def _line(what: str, text: str, *, ok: bool) -> dict[str, Any]:
    return {"what": what, "ok": ok, "text": text}


def _store(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Write, read, list and remove one object."""
    import secrets

    try:
        store = store_of(args)
        key = f"staging/doctor/{secrets.token_hex(8)}"
        store.create(key, b"doctor")
        whole = store.read(key) == b"doctor" and key in store.find("staging/doctor/")
        store.delete([key])
    except NightgateError as error:
        yield _line("store", str(error), ok=False)
        return
    yield _line(
        "store", f"{store.uri}: written, read, listed, removed" if whole else "reads differ", ok=whole
    )


def _prefect() -> Iterator[dict[str, Any]]:
    """Ask a configured API for its health; without one the embedded server is used."""
    from urllib.error import URLError
    from urllib.request import urlopen

    url = os.environ.get("PREFECT_API_URL")
    if not url:
        yield _line("prefect", "no PREFECT_API_URL: `nightly` starts Prefect's embedded server", ok=True)
        return
    if not url.startswith(("http://", "https://")):
        yield _line("prefect", f"PREFECT_API_URL {url!r} is no http(s) address", ok=False)
        return
    try:
        with urlopen(f"{url.rstrip('/')}/health", timeout=5) as answer:  # noqa: S310 - http(s) only, checked above
            yield _line("prefect", f"{url}: {answer.status}", ok=answer.status == 200)  # noqa: PLR2004
    except (URLError, OSError) as error:
        yield _line("prefect", f"{url}: {error}", ok=False)


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
    specs = [suite.model, suite.judge, suite.user, suite.live.model, suite.live.judge, suite.live.user]
    for spec in dict.fromkeys(spec for spec in specs if spec is not None):
        problem = check_credentials(parse_spec(spec))
        priced = spec.startswith("scripted:") or prices.price(spec) is not None
        price = "price known" if priced else "price unknown (--prices FILE)"
        yield _line(f"model {spec}", problem or f"credentials in place, {price}", ok=problem is None)
