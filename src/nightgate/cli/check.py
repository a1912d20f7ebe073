"""``nightgate check SUITE...``: validate, print the planned grid and a cost; import no user code."""

from __future__ import annotations

import argparse
import datetime as dt
from typing import Any

from nightgate.cli.output import people, write_json
from nightgate.errors import ExitCode, InputError


def run(args: argparse.Namespace) -> int:
    """Print one block a suite; all problems of all suites before exit 2."""
    from nightgate.cases import load_suite

    suites, problems = [], []
    for path in args.suites:
        try:
            suites.append(load_suite(path))
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))
    out = people(args.json)
    documents = [_document(suite, live=args.live, trials=args.trials) for suite in suites]
    for document in documents:
        print(_text(document), file=out)
    write_json(documents[0] if len(documents) == 1 else {"schema": 1, "suites": documents}, args.json)
    return ExitCode.OK


def _document(suite: Any, *, live: bool, trials: int | None) -> dict[str, Any]:
    from nightgate.cases.lint import lint, persona_mix
    from nightgate.estimates import expected_calls, guess_cost
    from nightgate.plans import guess_facts, plan_cases, plan_evaluators
    from nightgate.prices import PriceTable

    used = suite.live if live else None
    model = (used and used.model) or suite.model
    judge = (used and used.judge) or suite.judge
    suite = suite.model_copy(
        update={"model": model, "judge": judge, "trials": (used and used.trials) or suite.trials}
    )
    cases = plan_cases(suite, live=not model.startswith("scripted:"), trials=trials, fingerprints={})
    names = {name for case in cases for name in case.evaluators}
    evaluators = plan_evaluators(
        suite, cases, judge=judge, facts={name: guess_facts(suite, name) for name in names}
    )
    return {
        "schema": 1,
        "suite": suite.suite,
        "model": model,
        "judge": judge,
        "cases": len(cases),
        "trials": sum(case.trials for case in cases),
        "cells": sum(case.trials * len(case.evaluators) for case in cases),
        "evaluators": [
            {
                "name": planned.name,
                "kind": planned.kind,
                "threshold": planned.threshold,
                "cells": sum(case.trials for case in cases if planned.name in case.evaluators),
            }
            for planned in evaluators
        ],
        "personas": persona_mix(suite) if any(case.persona for case in suite.cases) else {},
        "calls": expected_calls(suite, cases, evaluators),
        "cost_usd": guess_cost(suite, cases, evaluators, PriceTable.load()),
        "warnings": lint(suite, today=dt.datetime.now(dt.UTC).date()),
    }


def _text(document: dict[str, Any]) -> str:
    lines = [
        f"{document['suite']}: {document['cases']} cases, {document['trials']} trials, "
        f"{document['cells']} cells "
        f"({document['model']}" + (f", judge {document['judge']})" if document["judge"] else ")")
    ]
    for row in document["evaluators"]:
        wanted = f"wanted {row['threshold']}" if row["threshold"] is not None else "measured"
        lines.append(f"  {row['name']:32} {row['kind']:7} {row['cells']:6} cells  {wanted}")
    if document["personas"]:
        lines.append(
            "  personas: " + ", ".join(f"{kind} {count}" for kind, count in document["personas"].items())
        )
    cost = document["cost_usd"]
    shown = "unknown (a model without a price)" if cost["total"] is None else f"about ${cost['total']:.4f}"
    calls = document["calls"]["total"]
    lines.append(f"  cost: {shown}, a guess from text length; about {calls} model calls")
    lines += [f"  warning: {warning}" for warning in document["warnings"]]
    return "\n".join(lines)
