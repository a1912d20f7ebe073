"""The first step: from a suite and a request to a frozen, stored plan.

Owns what is checked before anything is spent: evaluators that can be built, an agent around the
given model, prices under a budget. ``probing`` looks at the agents. Knows no adapter.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from nightgate import logs
from nightgate.cases import Live, Panel, Suite, evaluators_of, select
from nightgate.cases.judges import Judged
from nightgate.errors import ConflictError, InputError
from nightgate.estimates import expected_calls
from nightgate.evaluators.registry import Registered
from nightgate.grids import plan_cases, plan_evaluators
from nightgate.localdates import start_given
from nightgate.panels import Jury, seated
from nightgate.plans import (
    Fingerprint,
    Plan,
    PlannedCase,
    PlannedEvaluator,
    digest,
    new_run_id,
    utc_date,
)
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.rows.keys import checked_id, plan_key, run_prefix, selection_key
from nightgate.rows.redaction import redact_text, redact_texts
from nightgate.version import VERSION


def resolve(suite: Suite, request: RunRequest) -> Suite:
    """The suite as this run means it: filtered, with the request's models and trials in place.

    Raises:
        InputError: If a filter matches nothing.
    """
    live = suite.live if request.live else None
    if live is not None and live.model is None and request.model is None:
        msg = f"{suite.file}: --live needs `live: {{model: ...}}` in the suite, or --model"
        raise InputError(msg)
    judged = _judged(suite, live, request)
    usual = (live and live.model) or suite.model
    changes = {
        "model": request.model or usual,
        "usual_model": usual if request.model not in (None, usual) else None,
        "judge": judged.judge,
        "panel": judged.panel,
        "user": request.user or (live and live.user) or suite.user,
        "trials": request.trials or (live and live.trials) or suite.trials,
    }
    chosen = select(
        suite, case_globs=request.case, tags=request.tag, layers=request.layer, stages=request.stage
    )
    return chosen.model_copy(update=changes)


def _judged(suite: Suite, live: Live | None, request: RunRequest) -> Judged:
    """One judge or a panel: the request's, else the live one, else the suite's."""
    if request.judge is not None:
        # As it is written: whoever builds the model, or checks the flags, refuses it in a line.
        return Judged().model_copy(update={"judge": request.judge})
    if request.panel is not None:
        return Judged.model_validate({"judge": Panel.of(request.panel, request.judges)})
    return live if live is not None and live.judges else suite


def with_live_evaluators(suite: Suite, request: RunRequest) -> bool:
    """Whether ``when: live`` evaluators take part: a live model, or a judge named by hand."""
    return request.judge is not None or not suite.model.startswith("scripted:")


def planned_names(suite: Suite, *, live: bool) -> tuple[str, ...]:
    """All evaluators that some case of the run plans."""
    names = dict.fromkeys(name for case in suite.cases for name in evaluators_of(suite, case, live=live))
    return tuple(names)


def make_plan(
    suite: Suite,
    request: RunRequest,
    *,
    agents: Mapping[str, Fingerprint],
    evaluators: Mapping[str, Registered],
    jury: Jury | None = None,
    price_table: str,
    live: bool,
    now: datetime,
    warnings: Sequence[str] = (),
    advisory: Sequence[str] = (),
) -> Plan:
    """The plan of a run; nothing is stored yet.

    Args:
        suite: Resolved.
        request: What was asked for.
        agents: Fingerprint of the agent by case id.
        evaluators: Built evaluators by name.
        jury: The panel that judges; None where one judge does.
        price_table: Version of the price table.
        live: Whether ``when: live`` evaluators take part.
        now: The run's scheduled start, where the request names none.
        warnings: What probably was not meant.
        advisory: Judge evaluators that may not gate.
    """
    started = _started(request, now)
    fingerprints = _digests(agents)
    cases = plan_cases(
        suite, live=live, trials=request.trials, fingerprints=fingerprints, day=utc_date(started)
    )
    facts = {name: registered.facts for name, registered in evaluators.items()}
    planned = plan_evaluators(suite, cases, judge=suite.judge, facts=facts)
    if jury is not None:
        cases, planned = seated(jury, cases, planned)
    return Plan(
        **_identity(suite, request, started),
        **_asked(request, suite),
        frozen_at=_in_utc(now),
        owner=suite.owner or None,
        run_kind="run",
        model=suite.model,
        usual_model=suite.usual_model,
        **_judged_by(suite, jury),
        user=suite.user,
        fingerprint=digest(sorted(set(fingerprints.values()))),
        evaluators=planned,
        expected_calls=expected_calls(suite, cases, planned),
        cases=cases,
        gate=suite.gate.model_dump(mode="json"),
        timeout_s=suite.timeout_s,
        limits=limits_of(suite),
        parts=next(map(asdict, agents.values()), {}),
        price_table=price_table,
        git_sha=git_sha(suite),
        nightgate=VERSION,
        advisory=tuple(name for name in advisory if any(name == e.name for e in planned)),
        warnings=tuple(redact_texts(list(warnings))),
        live=live,
    )


def _started(request: RunRequest, now: datetime) -> datetime:
    if request.scheduled is not None and request.rerun is None:  # reruns of a night have a start of their own
        return start_given(request.scheduled)
    return now.astimezone(UTC)


def _digests(agents: Mapping[str, Fingerprint]) -> dict[str, str]:
    """The digest of each case's agent; most cases share one, and each is digested once."""
    known = {key: found.digest for key, found in {id(found): found for found in agents.values()}.items()}
    return {case_id: known[id(fingerprint)] for case_id, fingerprint in agents.items()}


def _judged_by(suite: Suite, jury: Jury | None) -> dict[str, Any]:
    """One judge or a panel, as the plan keeps it."""
    if jury is None:
        return {"judge": suite.judge_text, "panel": {}}
    return {"judge": jury.text, "panel": {"rule": jury.rule, "judges": list(jury.judges)}}


def _asked(request: RunRequest, suite: Suite) -> dict[str, Any]:
    """What the request says of how the run is played, as the plan keeps it."""
    return {
        "trigger": request.trigger,
        "reason": request.reason and redact_text(request.reason),
        "budget_nanousd": request.budget_nanousd(suite.budget_usd),
        "allow_unpriced": request.allow_unpriced,
        "filters": {name: list(getattr(request, name)) for name in _FILTERS if getattr(request, name)},
        "seed": request.seed,
        "suite_path": request.suite,
        "curtail": request.curtail,
        "as_live": bool(request.live),
        "alerts": tuple(suite.alerts),
        "night": request.night,
    }


def _identity(suite: Suite, request: RunRequest, started: datetime) -> dict[str, Any]:
    """Which run it is, and when."""
    return {
        "run_id": checked_id(request.run_id or new_run_id(suite.suite, started, secrets.token_hex(3))),
        "suite": suite.suite,
        "date": utc_date(started).isoformat(),
        "started_at": _in_utc(started),
    }


def _in_utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_FILTERS = ("case", "tag", "layer", "stage")


def limits_of(suite: Suite) -> dict[str, int]:
    """The caps that the suite sets."""
    return {name: cap for name, cap in suite.limits.model_dump().items() if cap is not None}


def store_plan(store: Store, plan: Plan) -> None:
    """Freeze the plan.

    Raises:
        InputError: If the run id is taken by another plan.
    """
    key = plan_key(plan.run_id)
    taken = InputError(
        f"run id {plan.run_id!r} is taken by another run in {store.uri}: choose another --run-id, "
        f"or go on with that run by --resume {plan.run_id}"
    )
    # The same plan again is no conflict to the store, and would still be paid for once more.
    if {key, selection_key(plan.run_id)} & set(store.children(run_prefix(plan.run_id))):
        raise taken
    try:
        store.create(key, plan.to_json())
    except ConflictError as error:
        raise taken from error
    size = {"cases": len(plan.cases), "trials": plan.trial_count, "cells": plan.cell_count}
    counts = ", ".join(f"{count} {name}" for name, count in size.items())
    about = {"run": plan.run_id, "suite": plan.suite, "trigger": plan.trigger, "model": plan.model}
    logs.info(
        "runs", f"run {plan.run_id} planned: {counts}", judge=plan.judge, user=plan.user, **about, **size
    )


def refuse_mixing(stored: Plan, fresh: Plan) -> None:
    """Refuse to go on with a run whose configuration has changed.

    Raises:
        InputError: Naming what differs.
    """
    differs: list[str] = []
    cases = {case.case_id: case for case in fresh.cases}
    for case in stored.cases:
        now = cases.get(case.case_id)
        if now is None:
            differs.append(f"case {case.case_id!r} is gone")
        elif now.case_hash != case.case_hash:
            differs.append(f"case {case.case_id!r} was edited")
        elif now.evaluators != case.evaluators:
            differs.append(f"case {case.case_id!r} plans other cells")
        elif (reader := _reads_another(case, now)) is not None:
            differs.append(f"case {case.case_id!r} has another expected output, which {reader} reads")
    before = {e.name: e for e in stored.evaluators}
    for evaluator in fresh.evaluators:
        old = before.get(evaluator.name)
        if old is not None and _judges_otherwise(old, evaluator):
            differs.append(f"evaluator {evaluator.name} changed")
    if stored.fingerprint != fresh.fingerprint:
        keys = [key for key in stored.parts if stored.parts[key] != fresh.parts.get(key)]
        differs.append(f"the agent changed ({', '.join(keys) or 'fingerprint'})")
    if differs:
        shown = "; ".join(differs[:5]) + (f"; and {len(differs) - 5} more" if len(differs) > 5 else "")  # noqa: PLR2004
        msg = f"run {stored.run_id} cannot be resumed, its configuration changed: {shown}. Start a new run."
        raise InputError(msg)


def _judges_otherwise(stored: PlannedEvaluator, now: PlannedEvaluator) -> bool:
    """Whether version, judge, class or params differ; plans of earlier versions do not show the last two."""
    identity = (stored.version, stored.judge_fingerprint)
    return identity != (now.version, now.judge_fingerprint) or stored.config not in (None, now.config)


def _reads_another(stored: PlannedCase, now: PlannedCase) -> str | None:
    """The first evaluator that would read something else in a case whose hash is the same."""
    both = (name for name in stored.questions if name in now.questions)
    return next((name for name in both if stored.questions[name] != now.questions[name]), None)


def kept_cap(stored: Plan, request: RunRequest) -> str | None:
    """The cap of a run that is taken up, in US dollars: the one given now, else that of its first start."""
    if request.budget_usd is not None or stored.budget_nanousd is None:
        return request.budget_usd
    return str(Decimal(stored.budget_nanousd) / 1_000_000_000)


def resumed(stored: Plan, request: RunRequest) -> RunRequest:
    """The request under which a run is resumed: the first start's models, filters and cap are kept."""
    filters: dict[str, Any] = {name: tuple(values) for name, values in stored.filters.items()}
    return replace(
        request,
        run_id=stored.run_id,
        model=request.model or stored.model,
        judge=request.judge or (None if stored.panel else stored.judge),
        judges=tuple(stored.panel.get("judges", ())),
        panel=stored.panel.get("rule"),
        user=request.user or stored.user,
        budget_usd=kept_cap(stored, request),
        allow_unpriced=request.allow_unpriced or stored.allow_unpriced,
        curtail=stored.curtail,
        **filters,
    )


def git_sha(suite: Suite) -> str | None:
    """The commit of the suite's folder, where it lies in a work tree and git is there."""
    try:
        found = subprocess.run(  # noqa: S603 - fixed words and a path
            ["git", "-C", str(suite.path), "rev-parse", "HEAD"],  # noqa: S607 - git of the user's own PATH
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
