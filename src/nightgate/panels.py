"""Several judges for one verdict: a panel's columns in a plan, and its verdict from its members'.

Owns which columns a panel takes (one a member, and its own) and the rules by which a cell of its own
follows from those of its members. Such a cell is found by nobody: it is reckoned from findings that
are stored beside it, so it costs nothing and comes out the same whenever it is reckoned again. Knows
no model, no store and no gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from nightgate.cases import Panel, panel_text
from nightgate.plans import Plan, PlannedCase, PlannedEvaluator, digest
from nightgate.scores import Blame, Cell, Score, Status

_VERDICTS = (Status.PASS, Status.FAIL, Status.MEASURED, Status.NOT_APPLICABLE)
"""What a member may say; everything else says nothing and could still become any of these."""
_MOST_REASON = 200
"""Characters of a member's reason in the panel's; its own row has all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jury:
    """The members of a panel, for all evaluators that it judges."""

    rule: str
    """majority or all."""
    judges: tuple[str, ...]
    """Specs, in the order of the suite."""
    fingerprints: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    """By evaluator, in the order of ``judges``; missing where no judge was built."""

    @classmethod
    def unmet(cls, panel: Panel) -> Jury:
        """The members of a panel whose models nobody has built, as ``check`` plans with them."""
        return cls(rule=panel.rule, judges=panel.judges)

    @property
    def text(self) -> str:
        """What stands where a single judge's spec would."""
        return panel_text(self.rule, self.judges)


def member_name(evaluator: str, judge: str) -> str:
    """The column of one member."""
    return f"{evaluator} @ {judge}"


def panel_fingerprint(rule: str, members: Sequence[str | None]) -> str | None:
    """Over the rule and its members' fingerprints in any order; None where one is unknown."""
    if None in members:
        return None
    return digest({"rule": rule, "members": sorted(member for member in members if member is not None)})


def seated(
    jury: Jury, cases: Collection[PlannedCase], evaluators: Collection[PlannedEvaluator]
) -> tuple[tuple[PlannedCase, ...], tuple[PlannedEvaluator, ...]]:
    """A plan's cases and evaluators with each judge's column made a panel's, its members before it.

    Args:
        jury: The panel.
        cases: As planned for one judge.
        evaluators: Likewise.
    """
    columns: dict[str, tuple[PlannedEvaluator, ...]] = {}
    for planned in evaluators:
        columns[planned.name] = _columns(jury, planned) if planned.kind == "judge" else (planned,)
    return (
        tuple(
            replace(
                case, evaluators=tuple(column.name for name in case.evaluators for column in columns[name])
            )
            for case in cases
        ),
        tuple(column for found in columns.values() for column in found),
    )


def _columns(jury: Jury, planned: PlannedEvaluator) -> tuple[PlannedEvaluator, ...]:
    prints = jury.fingerprints.get(planned.name, (None,) * len(jury.judges))
    members = tuple(
        replace(
            planned,
            name=member_name(planned.name, judge),
            base=planned.name,
            judge_model=judge,
            judge_fingerprint=known,
        )
        for judge, known in zip(jury.judges, prints, strict=True)
    )
    return convened(planned, members, jury.rule)


def convened(
    planned: PlannedEvaluator, members: Sequence[PlannedEvaluator], rule: str
) -> tuple[PlannedEvaluator, ...]:
    """Members, and after them their panel's column.

    Args:
        planned: The evaluator under the name of the panel's column.
        members: Its columns, one a judge.
        rule: majority or all.
    """
    return (
        *(replace(member, panel=planned.name) for member in members),
        replace(
            planned,
            judge_model=panel_text(rule, [member.judge_model or "" for member in members]),
            judge_fingerprint=panel_fingerprint(rule, [member.judge_fingerprint for member in members]),
            rule=rule,
            members=tuple(member.name for member in members),
        ),
    )


def ruling(rule: str, said: Sequence[Status]) -> Status | None:
    """The verdict that stands whatever a member without one might still say; None: it is undecided.

    A member without a verdict (error, skipped) could yet say anything. One that finds the evaluator not
    applicable has voted, for that.

    Args:
        rule: ``majority``: what more than half of all members say. ``all``: a fail once one member
            fails it, else what all of them say.
        said: The status of each member's cell.

    >>> ruling("majority", [Status.PASS, Status.ERROR, Status.PASS]).value
    'pass'
    >>> ruling("majority", [Status.PASS, Status.ERROR, Status.FAIL]) is None
    True
    >>> ruling("all", [Status.FAIL, Status.ERROR, Status.PASS]).value
    'fail'
    """
    counts = Counter(said)
    if rule == "all":
        if counts[Status.FAIL]:
            return Status.FAIL
        return next((status for status in _VERDICTS if counts[status] == len(said)), None)
    return next((status for status in _VERDICTS if 2 * counts[status] > len(said)), None)


def derived(planned: PlannedEvaluator, members: Sequence[Cell]) -> Cell:
    """The panel's cell of a trial.

    Its score is the figure on which the verdict hangs: the middle one of a majority (with an odd number
    of members it lies on the verdict's side of any cut), the lowest one where all must pass. Both stand
    on the scale of one judge, which a share of members would not.

    Args:
        planned: The panel's column.
        members: The cells of its members, in their order.

    Raises:
        ValueError: If a member's cell is missing: nothing may be reckoned without it.
    """
    if tuple(cell.score.evaluator for cell in members) != planned.members:
        msg = f"{planned.name}: its members are {planned.members}, not those of the cells given"
        raise ValueError(msg)
    rule = planned.rule or ""
    status = ruling(rule, [cell.score.status for cell in members])
    first = members[0]
    return Cell(
        case_id=first.case_id,
        trial=first.trial,
        score=_of_one_mind(planned, members) or _score(planned, rule, status, members),
        judge_model=planned.judge_model,
        judge_fingerprint=planned.judge_fingerprint,
        attempt=max(cell.attempt for cell in members),
        # New as soon as one of its members is.
        reused_from=first.reused_from if all(cell.reused_from for cell in members) else None,
        scored_at=max((cell.scored_at for cell in members if cell.scored_at is not None), default=None),
    )


def recounted(
    plan: Plan, cells: Iterable[tuple[PlannedCase, str, Cell]]
) -> Iterator[tuple[PlannedCase, str, Cell]]:
    """The same cells, with panels' verdicts reckoned again from the findings beside them.

    Of several records of a cell one is accepted, and it need not be the one that a worker saw when it
    made the panel's: rows that are stored side by side have to agree.

    Args:
        plan: The run's.
        cells: With their planned case and column; a panel's after its members'.
    """
    panels = {planned.name: planned for planned in plan.evaluators if planned.members}
    seats = {name for panel in panels.values() for name in panel.members}
    votes: dict[tuple[str, int, str], Cell] = {}
    for case, name, cell in cells:
        found = cell
        if name in panels:
            keys = [(cell.case_id, cell.trial, member) for member in panels[name].members]
            if all(key in votes for key in keys):
                found = derived(panels[name], [votes.pop(key) for key in keys])
        elif name in seats:
            votes[cell.case_id, cell.trial, name] = cell
        yield case, name, found


def _of_one_mind(planned: PlannedEvaluator, members: Sequence[Cell]) -> Score | None:
    """What the trial decided before any judge was asked is no matter of votes: it is said as it was."""
    first = members[0].score
    same = all(
        (cell.score.status, cell.score.blame, cell.score.reason) == (first.status, first.blame, first.reason)
        for cell in members
    )
    if first.blame is None or not same:
        return None
    return replace(first, evaluator=planned.name, version=planned.version)


def _score(planned: PlannedEvaluator, rule: str, status: Status | None, members: Sequence[Cell]) -> Score:
    votes = Counter(cell.score.status for cell in members)
    told = " | ".join(
        f"{cell.judge_model}: {cell.score.status.value} ({_short(cell.score.reason)})" for cell in members
    )
    counted = ", ".join(f"{count} {each.value}" for each, count in votes.items())
    details = {"panel": {"rule": rule, "members": [_member(cell) for cell in members]}}
    if status is None:
        why, blame = _undecided(members)
        return Score(
            evaluator=planned.name,
            version=planned.version,
            status=why,
            blame=blame,
            reason=f"undecided by {rule} of {len(members)} judges: {counted}. {told}",
            details=details,
        )
    return Score(
        evaluator=planned.name,
        version=planned.version,
        status=status,
        reason=f"{rule} of {len(members)} judges: {counted}. {told}",
        score=None if status is Status.NOT_APPLICABLE else _figure(rule, members),
        label=_label(members),
        details=details,
    )


def _short(reason: str) -> str:
    return " ".join(reason.split())[:_MOST_REASON]


def _undecided(members: Sequence[Cell]) -> tuple[Status, Blame | None]:
    """Why there is no verdict: the first member that broke, or that was not asked; else they differ."""
    for status in (Status.ERROR, Status.SKIPPED):
        found = next((cell.score for cell in members if cell.score.status is status), None)
        if found is not None:
            return status, found.blame
    return Status.ERROR, Blame.JUDGE


def _figure(rule: str, members: Sequence[Cell]) -> float | None:
    figures = [cell.score.score for cell in members if cell.score.score is not None]
    if not figures:
        return None
    return min(figures) if rule == "all" else float(median(figures))


def _label(members: Sequence[Cell]) -> str | None:
    """What more than half of them call it."""
    label, count = Counter(cell.score.label for cell in members).most_common(1)[0]
    return label if 2 * count > len(members) else None


def _member(cell: Cell) -> dict[str, Any]:
    score = cell.score
    return {
        "evaluator": score.evaluator,
        "judge": cell.judge_model,
        "status": score.status.value,
        "blame": None if score.blame is None else score.blame.value,
        "score": score.score,
        "label": score.label,
    }
