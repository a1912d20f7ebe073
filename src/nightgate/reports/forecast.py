"""What a run would do, for people: counts, reasons, dollars, and what the figures rest on.

Owns the wording. Reads the document of ``steps.forecasting``; knows no store and no plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nightgate.reports.text import plain

_ROLES = ("agent", "judge", "user")
_MOST_NAME = 80
_TASKS = {"agent": "trial", "user": "trial", "judge": "judgement"}


def render(document: Mapping[str, Any]) -> str:
    """The whole text, without a line end at its end."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    trials, cells = document["trials"], document["cells"]
    models = [
        plain(document["model"]),
        *(f"{role} {plain(document[role])}" for role in ("judge", "user") if document[role]),
    ]
    grid = f"{_count(trials['planned'], 'trial')}, {_count(cells['planned'], 'cell')}"
    yield f"{document['suite']}: {grid} ({', '.join(models)})"
    source = document["against"]
    yield f"  against {source}, as --reuse would take" if source else "  against nothing: no run is stored"
    yield f"  trials  {trials['reused']} reused, {trials['run']} to run"
    judged = f"{cells['rejudged']} judged again, {cells['judged']} judged anew"
    yield f"  cells   {cells['reused']} reused, {judged}"
    yield from _reasons(document["reasons"])
    yield from _cost(document)
    yield from _assumptions(document)
    yield from (f"  warning: {plain(warning)}" for warning in document["warnings"])


def _reasons(reasons: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    heads = {"trials": "why trials run", "cells": "why cells are judged again"}
    for of, head in heads.items():
        found = [reason for reason in reasons if reason["of"] == of]
        if found:
            several = " (a trial may have several reasons)" if of == "trials" and len(found) > 1 else ""
            yield f"  {head}{several}:"
        for reason in found:
            names = ", ".join(plain(name, _MOST_NAME) for name in reason["cases"])
            more = reason["case_count"] - len(reason["cases"])
            rest = f" and {more} more" if more else ""
            yield f"    {reason['count']:5}  {plain(reason['text'])}: {names}{rest}"


def _cost(document: Mapping[str, Any]) -> Iterator[str]:
    cost = document["cost_usd"]
    shown = [role for role in _ROLES if cost[role]["calls"]]
    if not shown:
        yield "  cost    nothing: no call would be made"
        return
    yield f"  {'cost':8}{'calls':>8}{'tokens in':>12}{'out':>10}{'list':>22}{'batch':>12}"
    for role in shown:
        row = cost[role]
        tokens = row["tokens"]
        inputs = tokens["input"] + tokens["cache_read"] + tokens["cache_write"]
        yield (
            f"  {role:8}{row['calls']:8.0f}{inputs:12,}{tokens['output']:10,}{_list(row):>22}"
            f"{_dollars(row['batch']):>12}"
        )
    total = cost["total"]
    yield f"  {'total':8}{total['calls']:8.0f}{'':22}{_list(total):>22}{_dollars(total['batch']):>12}"
    if any(cost[role]["batch"] is not None for role in shown):
        yield "  batch: the same tokens in the provider's batch queue; only judges can wait for it"


def _list(row: Mapping[str, Any]) -> str:
    known = row["list"]
    return _dollars(known) if known is not None else f"unknown, >= {_dollars(row['at_least'])}"


def _dollars(amount: float | None) -> str:
    """Four decimals, more where they would hide the amount.

    >>> _dollars(1.25), _dollars(0.00000312), _dollars(0.0), _dollars(None)
    ('$1.2500', '$0.0000031', '$0.0000', '-')
    """
    if amount is None:
        return "-"
    for digits in range(4, 10):
        if amount == 0 or round(amount, digits) >= 10.0 ** (1 - digits):
            return f"${amount:.{digits}f}"
    return f"${amount:.9f}"


def _assumptions(document: Mapping[str, Any]) -> Iterator[str]:
    if document["assumptions"]:
        yield f"  assumed, with the prices of table {plain(document['price_table'])}:"
    for line in document["assumptions"]:
        name = line["role"] + (f" {plain(line['evaluator'])}" if line["evaluator"] else "")
        tokens = line["tokens_a_call"]
        inputs = tokens["input"] + tokens["cache_read"] + tokens["cache_write"]
        task = _TASKS[line["role"]]
        size = f"each {inputs:,.0f} tokens in and {tokens['output']:,.0f} out"
        work = f"{_count(line['tasks'], task)} of {_count(line['calls_each'], 'call')}"
        yield f"    {name}: {work}, {size}; {_basis(line, task, document)}"


def _basis(line: Mapping[str, Any], task: str, document: Mapping[str, Any]) -> str:
    guess = "guessed from the length of texts"
    if line["guessed"] == line["tasks"]:
        return guess
    runs = line["runs"]
    own = document["model" if line["role"] == "agent" else line["role"]]
    others = sorted({plain(run["model"]) for run in runs if run["model"] != own})
    named = ", ".join(run["run_id"] for run in runs)
    of_model = f" with {', '.join(others)}" if others else ""
    partly = f", {line['guessed']} of them {guess}" if line["guessed"] else ""
    return f"as {_count(line['observed'], task)} of {named}{of_model}{partly}"


def _count(number: float, noun: str) -> str:
    shown = f"{number:,}" if isinstance(number, int) else f"{number:g}"
    return f"{shown} {noun}" if number == 1 else f"{shown} {noun}s"
