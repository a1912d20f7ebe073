"""Who judges a run: one model or a panel, built without a call; and judges that may not judge it.

Owns which judge's evaluators stand behind which planned column of a run, and which may not gate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nightgate.calibration import may_block
from nightgate.cases import Suite, criterion_hashes, evaluators_of
from nightgate.cases.kinship import kinship
from nightgate.errors import InputError
from nightgate.evaluators import registry
from nightgate.evaluators.registry import Registered
from nightgate.panels import Jury, member_name, panel_fingerprint
from nightgate.ports import Store
from nightgate.requests import RunRequest
from nightgate.steps import calibrating, planning

REFUSE = "refuse"


def seat_judges(
    suite: Suite, names: Sequence[str], hub: Any, folders: Sequence[Path]
) -> tuple[dict[str, Registered], Jury | None]:
    """Build the evaluators of a run with the suite's judge, or with each judge of its panel.

    Args:
        suite: Resolved.
        names: Evaluators that some case plans.
        hub: Builds models.
        folders: Where modules named by ``use:`` are looked up first.

    Returns:
        Evaluators by planned column, and the panel; None where one judge is enough.

    Raises:
        InputError: If one cannot be built, or two members are one and the same judge.
    """
    if suite.panel is None:
        judge = hub.judge(suite.judge) if suite.judge is not None else None
        return registry.build(suite, names, judge, folders), None
    judges = [hub.judge(spec) for spec in suite.panel.judges]
    specs = tuple(judge.spec for judge in judges)
    twice = next((spec for i, spec in enumerate(specs) if spec in specs[:i]), None)
    if twice is not None:
        msg = f"{suite.file}: judge: {twice!r} sits on the panel twice; each judge has one vote"
        raise InputError(msg)
    first = registry.build(suite, names, judges[0], folders)
    asking = [name for name, registered in first.items() if registered.facts.kind == "judge"]
    built = [first, *(registry.build(suite, asking, judge, folders) for judge in judges[1:])]
    fingerprints = {name: tuple(each[name].facts.fingerprint for each in built) for name in asking}
    found = dict(first)
    for name in asking:
        whole = panel_fingerprint(suite.panel.rule, fingerprints[name])
        found[name] = replace(first[name], facts=replace(first[name].facts, fingerprint=whole))
        found |= {member_name(name, spec): each[name] for spec, each in zip(specs, built, strict=True)}
    return found, Jury(rule=suite.panel.rule, judges=specs, fingerprints=fingerprints)


def refuse_related(request: RunRequest, suite: Suite, agent: str, judges: Collection[str]) -> None:
    """Refuse judges that are the model under test or of its family, where that is the setting.

    Args:
        request: Its own setting comes before the suite's.
        suite: With ``gate.related_judges``.
        agent: Spec of the model whose answers are judged.
        judges: Specs of the judges that would be asked.

    Raises:
        InputError: Naming both models; nothing is spent.
    """
    if (request.related_judges or suite.gate.related_judges) != REFUSE:
        return
    found = [(judge, why) for judge in dict.fromkeys(judges) if (why := kinship(agent, judge)) is not None]
    if found:
        told = "; ".join(f"judge {judge!r} of agent {agent!r}: {why}" for judge, why in found)
        msg = f"{suite.file}: {told}. Pin another judge, or let it pass with --related-judges warn"
        raise InputError(msg)


def advisory(suite: Suite, store: Store, evaluators: Mapping[str, Registered], *, live: bool) -> list[str]:
    """Judge evaluators that may not gate, where the suite lets only calibrated judges do so.

    Args:
        suite: Resolved.
        store: Where the last calibration lies.
        evaluators: Built, by planned column; a panel's members have no say of their own.
        live: Whether ``when: live`` evaluators take part.
    """
    if suite.gate.judges != "calibrated":
        return []
    facts = {name: evaluators[name].facts for name in planning.planned_names(suite, live=live)}
    judges = {name: known.fingerprint for name, known in facts.items() if known.kind == "judge"}
    criteria: dict[str, set[str]] = {}
    for case in suite.cases:
        for name, text in criterion_hashes(case, evaluators_of(suite, case, live=live)).items():
            criteria.setdefault(name, set()).add(text)
    return sorted(set(judges) - may_block(calibrating.kept(store, suite.suite), judges, criteria))
