"""How far the members of a panel agree: what its verdicts rest on.

Owns the ``panels`` part of a summary. Only what judges said counts here: a member without a verdict,
and a trial that the agent's own fault decided, tell nothing of agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from nightgate import stats
from nightgate.plans import Plan, PlannedEvaluator
from nightgate.summaries.tallies import Tallies

MOST_SPLIT = 10
"""Outputs on which a panel differed that are listed; the rows have them all."""

Verdicts = Mapping[tuple[str, int], Mapping[str, bool]]
"""(case id, trial) -> column -> passed."""


def panels(tallies: Tallies, verdicts: Verdicts) -> list[dict[str, Any]]:
    """One entry a panel's column.

    Args:
        tallies: Counts of all columns, members included.
        verdicts: What the members said.

    Returns:
        ``judged`` outputs on which at least two members gave a verdict, ``unanimous`` ones of them,
        their share as ``agreement``, Krippendorff's ``alpha`` (null where chance explains everything),
        ``votes`` (passes of verdicts, as ``2/3``, -> outputs), and the first outputs on which they split.
    """
    plan = tallies.plan
    return [_panel(plan, planned, tallies, verdicts) for planned in plan.evaluators if planned.members]


def _panel(plan: Plan, planned: PlannedEvaluator, tallies: Tallies, verdicts: Verdicts) -> dict[str, Any]:
    votes: Counter[tuple[int, int]] = Counter()
    split: list[dict[str, Any]] = []
    models = {name: plan.evaluator(name).judge_model or name for name in planned.members}
    for case, number in plan.trials():
        said = verdicts.get((case.case_id, number), {})
        own = {name: said[name] for name in planned.members if name in said}
        if len(own) < 2:  # noqa: PLR2004 - one alone agrees with nobody
            continue
        passes = sum(own.values())
        votes[passes, len(own)] += 1
        if 0 < passes < len(own) and len(split) < MOST_SPLIT:
            told = {models[name]: "pass" if passed else "fail" for name, passed in own.items()}
            split.append({"case": case.case_id, "trial": number, "verdicts": told})
    return {
        "evaluator": planned.name,
        "rule": planned.rule,
        "members": [_member(plan.evaluator(name), tallies) for name in planned.members],
        "undecided": tallies.of(planned.name).error + tallies.of(planned.name).skipped,
        **_agreement(votes),
        "split": split,
    }


def _member(planned: PlannedEvaluator, tallies: Tallies) -> dict[str, Any]:
    counts = tallies.of(planned.name).counts()
    return {
        "name": planned.name,
        "judge": planned.judge_model,
        "judge_fingerprint": planned.judge_fingerprint,
        **counts,
    }


def _agreement(votes: Mapping[tuple[int, int], int]) -> dict[str, Any]:
    judged = sum(votes.values())
    unanimous = sum(count for (passes, of), count in votes.items() if passes in (0, of))
    units = [
        (True,) * passes + (False,) * (of - passes)
        for (passes, of), count in votes.items()
        for _ in range(count)
    ]
    return {
        "judged": judged,
        "unanimous": unanimous,
        "agreement": unanimous / judged if judged else None,
        "alpha": stats.krippendorff_alpha(units),
        "votes": {f"{passes}/{of}": votes[passes, of] for passes, of in sorted(votes)},
    }


def merged(documents: Iterable[Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """The ``panels`` of several sweeps as one, by suite, evaluator, rule and members.

    Args:
        documents: The ``panels`` of each, with the ``suite`` where there are several.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    votes: dict[tuple[Any, ...], Counter[tuple[int, int]]] = {}
    for entry in (entry for document in documents for entry in document):
        members = (member["judge_fingerprint"] for member in entry["members"])
        key = (entry.get("suite"), entry["evaluator"], entry["rule"], *members)
        for shown, count in entry["votes"].items():
            passes, of = map(int, shown.split("/"))
            votes.setdefault(key, Counter())[passes, of] += count
        known = found.get(key)
        if known is None:
            found[key] = {**entry, "members": [dict(member) for member in entry["members"]]}
            continue
        known["undecided"] += entry["undecided"]
        known["split"] = [*known["split"], *entry["split"]][:MOST_SPLIT]
        for member, other in zip(known["members"], entry["members"], strict=True):
            member |= {name: member[name] + value for name, value in other.items() if isinstance(value, int)}
    return [{**entry, **_agreement(votes.get(key, Counter()))} for key, entry in found.items()]
