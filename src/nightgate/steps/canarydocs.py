"""What a night's canaries came to: ``runs/<run_id>/canary.json``.

Owns the document's shape and words. Everything in it comes from the canary run's plan, its stored
verdicts and the reference that it was planned with, so that it can be made again at any time.
Knows no adapter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.canaries import (
    FIRST_PLANTED,
    PLAIN,
    Flips,
    Judge,
    Looks,
    Reference,
    attack_of,
    base_rate,
    direction_of,
    is_alarm,
    p_value,
)
from nightgate.canaries.drift import BASE_RATE
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.ports import Store
from nightgate.rows import keys
from nightgate.scores import Status
from nightgate.stats.paired import holm
from nightgate.steps.collecting import collect
from nightgate.steps.nightdocs import keep_canary
from nightgate.steps.reading import manifest_of, rows_of
from nightgate.steps.rowing import labels_of

SCHEMA = 1
_MOST_FLIPPED = 50
_HELD = frozenset({Status.PASS, Status.FAIL, Status.NOT_APPLICABLE, Status.MEASURED})
"""A judge that cannot tell has looked, and let nothing pass."""

Cell = tuple[str, int, str]
"""Case, planned number, planned evaluator."""


def keep(store: Store, document: Mapping[str, Any]) -> None:
    """Store the document under the night that it is about; one of a newer nightgate is left (an error)."""
    data = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode() + b"\n"
    keep_canary(store, document["run_id"], data)


def statuses(store: Store, plan: Plan) -> dict[Cell, Status]:
    """What the judges found so far, of an open or a committed canary run."""
    manifest = manifest_of(store, plan)
    if manifest is None:
        found = collect(store, plan.run_id, sweep=True)
        cells = {key: found.cell(*key) for key in found.cells}
        return {key: cell.score.status for key, cell in cells.items() if cell is not None}
    labels = labels_of(plan)
    columns = ("case_id", "trial", "evaluator", "judge_fingerprint", "repeat", "status")
    return {
        (
            row["case_id"],
            row["trial"],
            labels[row["evaluator"], row["judge_fingerprint"], row["repeat"] or 0],
        ): Status(row["status"])
        for row in rows_of(store, manifest, keys.SCORES, columns)
    }


def judge_of(planned: PlannedEvaluator) -> Judge:
    """What verdicts of an evaluator can be held against: its own, by the same judge and version."""
    return Judge(planned.evaluator, planned.version, planned.judge_fingerprint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one evaluator found over the frozen trials."""

    planned: PlannedEvaluator
    cells: int
    now: Mapping[tuple[str, int], bool]
    """Tonight's verdicts by (case, trial)."""
    before: Mapping[tuple[str, int], bool]
    base: float

    @property
    def flips(self) -> Flips:
        """Verdicts that could be compared."""
        return Flips.of(self.before, self.now)

    @property
    def first_looks(self) -> int:
        """Verdicts that have none to be held against."""
        return len(self.now.keys() - self.before.keys())


def judged_by(plan: Plan, reference: Reference, found: Mapping[Cell, Status]) -> list[Judged]:
    """The frozen trials' verdicts by evaluator, in the plan's order."""
    result = []
    for planned in plan.evaluators:
        frozen = [
            (case.case_id, number)
            for case, number, name in plan.cells()
            if name == planned.name and number < FIRST_PLANTED
        ]
        now = {
            (case, number): status is Status.PASS
            for case, number in frozen
            if (status := found.get((case, number, planned.name))) is not None and status.judged
        }
        judge = judge_of(planned)
        nights = [night for run, night in reference.nights.get(judge, {}).items() if run != plan.run_id]
        result.append(
            Judged(
                planned=planned,
                cells=len(frozen),
                now=now,
                before=reference.looks.get(judge, {}),
                base=base_rate(nights),
            )
        )
    return result


def looks_of(judged: list[Judged]) -> Looks:
    """Tonight's verdicts, as a reference keeps them."""
    return {judge_of(one.planned): one.now for one in judged}


def document(
    plan: Plan,
    reference: Reference,
    found: Mapping[Cell, Status],
    *,
    complete: bool,
    stopped: str | None,
    cost_usd: float | None,
) -> dict[str, Any]:
    """The result of a canary run.

    Args:
        plan: Its plan.
        reference: The one that the plan names.
        found: As ``statuses`` gives it.
        complete: Whether it is committed.
        stopped: budget or cancelled, where it stopped early.
        cost_usd: What it cost; None when unknown.

    Returns:
        The document; ``alarm`` is ``drift`` or an attack that passed. Without an alarm of drift there
        is no direction.
    """
    judged = judged_by(plan, reference, found)
    total = sum((one.flips for one in judged), Flips())
    evaluators = _evaluators(judged)
    weights = sum(one.flips.judged for one in judged)
    base = sum(one.base * one.flips.judged for one in judged) / weights if weights else BASE_RATE
    p = p_value(total, base)
    overall = is_alarm(p)
    drift = overall or any(entry["alarm"] for entry in evaluators)
    loud = [one.flips for one, entry in zip(judged, evaluators, strict=True) if overall or entry["alarm"]]
    body: dict[str, Any] = {
        **_head(plan, reference),
        "complete": complete,
        "stopped": None if complete else stopped or "open",
        "judged": total.judged,
        "flips": total.flips,
        "to_pass": total.to_pass,
        "to_fail": total.to_fail,
        "base_rate": base,
        "p": p,
        "alarm": drift,
        "drift": drift,
        "direction": direction_of(sum(loud, Flips())) if drift else None,
        "text": "",
        "unjudged": sum(one.cells - len(one.now) for one in judged),
        "first_looks": sum(one.first_looks for one in judged),
        "attacks": _attacks(plan, found),
        "evaluators": evaluators,
        "flipped": _flipped(judged),
        "left_out": dict(plan.sweep["left_out"]),
        "frozen": list(reference.why) if reference.run_id == plan.source else [],
        "cost_usd": cost_usd,
    }
    body["alarm"] = drift or bool(body["attacks"]["passed"])
    body["text"] = "; ".join(_said(body))
    return body


def _head(plan: Plan, reference: Reference) -> dict[str, Any]:
    """What was held against what."""
    sources = list(dict.fromkeys(plan.sweep["sources"].values()))
    return {
        "schema": SCHEMA,
        "run_id": plan.source,
        "suite": plan.suite,
        "canary_run": plan.run_id,
        "reference_run": next(iter(sources), None),
        "reference_runs": sources,
        "reference": reference.number,
        "frozen_at": reference.frozen_at,
    }


def not_judged(run_id: str, suite: str, why: str) -> dict[str, Any]:
    """The document of a night whose canaries no judge saw."""
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "suite": suite,
        "canary_run": None,
        "reference_run": None,
        "reference_runs": [],
        "reference": None,
        "frozen_at": None,
        "complete": False,
        "stopped": None,
        "judged": 0,
        "flips": 0,
        "to_pass": 0,
        "to_fail": 0,
        "base_rate": BASE_RATE,
        "p": None,
        "alarm": False,
        "drift": False,
        "direction": None,
        "text": f"not judged: {why}",
        "unjudged": 0,
        "first_looks": 0,
        "attacks": {"planted": 0, "judged": 0, "passed": []},
        "evaluators": [],
        "flipped": [],
        "left_out": {},
        "frozen": [],
        "cost_usd": None,
    }


def _evaluators(judged: list[Judged]) -> list[dict[str, Any]]:
    """An entry each; as many tests as evaluators, so their alarms are Holm's."""
    ps = [p_value(one.flips, one.base) for one in judged]
    entries = []
    for one, p, adjusted in zip(judged, ps, holm(ps), strict=True):
        flips, alarm = one.flips, is_alarm(adjusted)
        entries.append(
            {
                "name": one.planned.name,
                "version": one.planned.version,
                "judge_model": one.planned.judge_model,
                "judge_fingerprint": one.planned.judge_fingerprint,
                "judged": flips.judged,
                "flips": flips.flips,
                "to_pass": flips.to_pass,
                "to_fail": flips.to_fail,
                "base_rate": one.base,
                "p": p,
                "alarm": alarm,
                "direction": direction_of(flips) if alarm else None,
                "unjudged": one.cells - len(one.now),
                "first_looks": one.first_looks,
            }
        )
    return entries


def _attacks(plan: Plan, found: Mapping[Cell, Status]) -> dict[str, Any]:
    blind = set(plan.sweep["blind"])
    cells = [
        (case.case_id, number, name)
        for case, number, name in plan.cells()
        if number > FIRST_PLANTED and name not in blind
    ]
    passed = []
    for case, number, name in cells:
        if found.get((case, number, name)) is Status.PASS:
            plain = found.get((case, FIRST_PLANTED, name))
            passed.append(
                {
                    "case": case,
                    "evaluator": name,
                    "attack": attack_of(number),
                    PLAIN: plain.value if plain is not None else None,
                }
            )
    judged = sum(found.get(cell) in _HELD for cell in cells)
    return {"planted": len(cells), "judged": judged, "passed": passed}


def _flipped(judged: list[Judged]) -> list[dict[str, Any]]:
    flipped = [
        {
            "case": case,
            "trial": trial,
            "evaluator": one.planned.name,
            "before": "pass" if one.before[case, trial] else "fail",
            "now": "pass" if passed else "fail",
        }
        for one in judged
        for (case, trial), passed in sorted(one.now.items())
        if one.before.get((case, trial), passed) != passed
    ]
    return flipped[:_MOST_FLIPPED]


def _said(body: Mapping[str, Any]) -> Iterator[str]:
    """The document in words, the alarm first."""
    compared = f"{body['flips']} of {body['judged']} verdicts flipped"
    split = f"{body['to_pass']} to pass, {body['to_fail']} to fail"
    if body["drift"]:
        names = [entry["name"] for entry in body["evaluators"] if entry["alarm"]]
        where = f" ({', '.join(names)})" if names else ""
        way = {"both": "in both directions"}.get(body["direction"], body["direction"])
        rate = f"{body['base_rate']:.1%}"
        yield f"the judge drifted, {way}{where}: {compared} ({split}) against a base rate of {rate}"
    elif body["judged"]:
        yield f"{compared} ({split}), no drift" if body["flips"] else f"{compared}, no drift"
    passed = body["attacks"]["passed"]
    if passed:
        first = passed[0]
        more = f" and {len(passed) - 1} more" if len(passed) > 1 else ""
        yield f"an attack passed: {first['attack']} on case {first['case']!r} by {first['evaluator']}{more}"
    elif body["attacks"]["judged"]:
        yield f"no attack passed of {body['attacks']['judged']}"
    holes = body["attacks"]["planted"] - body["attacks"]["judged"]
    if holes:
        yield f"{holes} of {body['attacks']['planted']} attacks not judged"
    if body["first_looks"]:
        yield (
            f"{body['first_looks']} verdicts are a judge's first look: nothing to hold them against, and "
            "drift cannot be told across judges"
        )
    if body["unjudged"]:
        yield f"{body['unjudged']} frozen verdicts missing"
    if not body["complete"]:
        why = {"budget": "the budget stopped them", "cancelled": "they were interrupted"}
        yield why.get(body["stopped"], "not all of them are judged yet")
