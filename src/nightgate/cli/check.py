"""``nightgate check SUITE...``: validate, print the planned grid and a cost; import no user code."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Collection
from pathlib import Path
from typing import Any

from nightgate.cli.output import counted, people, write_json
from nightgate.errors import ExitCode, InputError
from nightgate.plaintext import harmless
from nightgate.requests import RunRequest

_FLAGS = ("live", "model", "judge", "user", "trials", "case", "tag", "layer", "stage", "prices")


def run(args: argparse.Namespace) -> int:
    """Print one block a suite; all problems of all suites before exit 2."""
    documents, problems = [], []
    for path in args.suites:
        try:
            documents.append(_document(_request(args, path)))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(dict.fromkeys(problems)))
    out = people(args.json)
    for document in documents:
        print(harmless(_text(document)), file=out)
    write_json(documents[0] if len(documents) == 1 else {"schema": 1, "suites": documents}, args.json)
    return ExitCode.OK


def _request(args: argparse.Namespace, suite: str) -> RunRequest:
    """The run that these flags would start."""
    given = {name: getattr(args, name) for name in _FLAGS}
    return RunRequest.make(suite, {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()})


def _document(request: RunRequest) -> dict[str, Any]:
    from nightgate.cases import load_suite
    from nightgate.cases.lint import lint, persona_mix
    from nightgate.estimates import expected_calls, guess_cost, guess_facts
    from nightgate.grids import plan_cases, plan_evaluators
    from nightgate.panels import Jury, seated
    from nightgate.prices import PriceTable
    from nightgate.steps.planning import planned_names, resolve, with_live_evaluators

    loaded = load_suite(request.suite)
    suite = resolve(loaded, request)
    _check_models(suite)
    live = with_live_evaluators(suite, request)
    cases = plan_cases(suite, live=live, trials=request.trials, fingerprints={})
    facts = {name: guess_facts(suite, name) for name in planned_names(suite, live=live)}
    evaluators = plan_evaluators(suite, cases, judge=suite.judge_text, facts=facts)
    if suite.panel is not None:
        cases, evaluators = seated(Jury.unmet(suite.panel), cases, evaluators)
    prices = PriceTable.load(Path(request.prices) if request.prices else None)
    personas = any(case.persona for case in suite.cases)
    return {
        "schema": 1,
        "suite": suite.suite,
        "model": suite.model,
        "judge": suite.judge_text if _is_judged(suite, evaluators) else None,
        "user": suite.user if personas else None,
        "cases": len(cases),
        "trials": sum(case.trials for case in cases),
        "cells": sum(case.trials * len(case.evaluators) for case in cases),
        "evaluators": [
            {
                "name": planned.name,
                "kind": planned.kind,
                "threshold": planned.threshold,
                "panel": planned.panel,
                "cells": sum(case.trials for case in cases if planned.name in case.evaluators),
            }
            for planned in evaluators
        ],
        "personas": persona_mix(suite) if personas else {},
        "calls": expected_calls(suite, cases, evaluators),
        "cost_usd": guess_cost(suite, cases, evaluators, prices),
        "warnings": lint(loaded, today=dt.datetime.now(dt.UTC).date(), played=suite, live=live),
    }


def _is_judged(suite: Any, evaluators: Collection[Any]) -> bool:
    """Whether a planned cell may call the judge; what a custom class calls is not known here."""
    own = {name for name, config in suite.evaluators.items() if config.use is not None}
    return any(planned.kind == "judge" or planned.name in own for planned in evaluators)


def _check_models(suite: Any) -> None:
    """Check the models that this plan names: those of the flags have been seen by nobody yet.

    Raises:
        InputError: If one is no model spec, or a script that is not there.
    """
    from nightgate.cases.loading import script_files
    from nightgate.cases.problems import did_you_mean
    from nightgate.cases.specs import parse_spec

    scripts = [file.stem for file in script_files(suite.path)]
    for role, text in (
        ("model", suite.model),
        *(("judge", spec) for spec in suite.judges),
        ("user", suite.user),
    ):
        if text is None:
            continue
        try:
            spec = parse_spec(text)
        except ValueError as error:
            msg = f"--{role}: {error}"
            raise InputError(msg) from error
        if spec.scripted and spec.name not in scripts:
            hint = did_you_mean(spec.name, scripts) or "; write it"
            msg = f"{suite.file}: --{role} {text}: there is no scripts/{spec.name}.yaml{hint}"
            raise InputError(msg)


def _dollars(cost: dict[str, Any]) -> str:
    """At list price, by role, with the batch price where a role's provider has a queue."""
    if cost["total"] == 0:
        return "about $0.0000"
    roles = []
    for role in ("agent", "judge", "user"):
        if cost[role] is None or cost[role]:
            listed = "unknown" if cost[role] is None else f"${cost[role]:.4f}"
            queued = cost["batch"][role]
            roles.append(f"{role} {listed}" + ("" if queued is None else f" or ${queued:.4f} by batch"))
    if cost["total"] is not None:
        return f"about ${cost['total']:.4f} at list price ({', '.join(roles)})"
    return f"unknown, at least ${cost['at_least']:.4f} (a model without a price: {', '.join(roles)})"


def _text(document: dict[str, Any]) -> str:
    models = [
        document["model"],
        *(f"{role} {document[role]}" for role in ("judge", "user") if document[role]),
    ]
    planned = ", ".join(counted(document[f"{thing}s"], thing) for thing in ("case", "trial", "cell"))
    lines = [f"{document['suite']}: {planned} ({', '.join(models)})"]
    rows = document["evaluators"]
    width = max([32, *(len(row["name"]) for row in rows)])
    for row in rows:
        wanted = f"wanted {row['threshold']}" if row["threshold"] is not None else "measured"
        wanted = f"votes in {row['panel']}" if row["panel"] is not None else wanted
        cells = "cell " if row["cells"] == 1 else "cells"
        lines.append(f"  {row['name']:{width}} {row['kind']:7} {row['cells']:6} {cells}  {wanted}")
    if document["personas"]:
        lines.append(
            "  personas: " + ", ".join(f"{kind} {count}" for kind, count in document["personas"].items())
        )
    calls = counted(document["calls"]["total"], "model call")
    lines.append(f"  cost: {_dollars(document['cost_usd'])}, a guess from text length; about {calls}")
    if document["cost_usd"]["total"] != 0:
        assumed = document["cost_usd"]["assumed"].items()
        lines.append(
            "  assumed: " + ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in assumed)
        )
    lines += [f"  warning: {warning}" for warning in document["warnings"]]
    return "\n".join(lines)
