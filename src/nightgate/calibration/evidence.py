"""What people said beside what judges said: labels, judgements, and which meets which.

Owns when a label is about a judgement and when it is young enough for its judge. Knows no files, no
rows and no store: both sides are handed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

JudgeKey = tuple[str, str]
"""Evaluator and judge fingerprint."""
CellKey = tuple[str, str, int]
"""Run, case and trial."""


class Sample(StrEnum):
    """How the rows of a label file were drawn from a run."""

    RANDOM = "random"
    """Each judged cell was as likely as any other: what a prediction-powered mean needs."""
    STRATIFIED = "stratified"
    """Apart for what the run's judge passed and failed: weighted back by the sizes of the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a person says of one trial, or of many."""

    run_id: str | None
    """None: any run."""
    case_id: str
    trial: int | None
    """None: all trials."""
    evaluator: str
    passed: bool
    labelled_at: datetime | None = None
    sample: Sample | None = None
    file: str = ""
    line: int = 1
    file_written_at: datetime | None = None
    """When its file was last written: all that is known of an undated label of any run."""

    @property
    def general(self) -> bool:
        """Whether it can be about more than one trial."""
        return self.run_id is None or self.trial is None

    def meets(self, other: Label) -> bool:
        """Whether some trial could be under both."""
        runs = self.run_id is None or other.run_id is None or self.run_id == other.run_id
        return runs and (self.trial is None or other.trial is None or self.trial == other.trial)


@dataclass(frozen=True, slots=True)
class Unmet:
    """A label that is about nothing that a judge has seen."""

    file: str
    line: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a suite's ``labels`` folder holds."""

    labels: tuple[Label, ...] = ()
    unfilled: int = 0
    """Rows without a label yet."""
    incomplete: frozenset[str] = frozenset()
    """Files with such rows: no longer the sample that was drawn."""
    digest: str = ""
    """Of all files, sixteen hex digits."""
    unread: tuple[str, ...] = ()
    """Files beside them that are taken for notes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an evaluator was asked of a case, as the plan shows it; empty where it does not."""

    question: str = ""
    """Hash of all that its finding depends on in the case."""
    criterion: str = ""
    """Hash of its criterion's text alone; empty for judges that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a judge said of a trial."""

    run_id: str
    """The run that the trial is of, also where a sweep judged it."""
    case_id: str
    trial: int
    evaluator: str
    fingerprint: str
    judge_model: str = ""
    repeat: int = 0
    verdict: bool | None = None
    """True is a pass; None: it gave no verdict."""
    asked: Asked = Asked()
    panel: bool = False
    """Whether it is a panel's: made of its members' verdicts, and no rater beside them."""
    layer: str | None = None
    language: str | None = None
    tags: tuple[str, ...] = ()

    @property
    def cell(self) -> CellKey:
        """Whose trial it is."""
        return self.run_id, self.case_id, self.trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """A judge of the run that is looked at: the one that would block."""

    threshold: str | None
    fingerprint: str
    judge_model: str = ""
    criteria: frozenset[str] = frozenset()
    """Hashes of the criteria that the run asks it by, over all cases; none for judges without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that a calibration is computed from."""

    suite: str
    run_id: str
    """The run whose pass rates are corrected, and that labels of any run are held against."""
    labels: Labels
    judgements: Sequence[Judgement]
    pinned: Mapping[str, Pinned]
    """By evaluator."""
    own: Mapping[tuple[str, str], str]
    """(Run, evaluator) -> fingerprint of the judge that the run itself had."""
    asked: Mapping[tuple[str, str, str], Asked] = field(default_factory=dict)
    """(Run, case, evaluator) -> what the run itself asked."""
    since: Mapping[str, datetime] = field(default_factory=dict)
    """Fingerprint -> when the first run or sweep with it started."""
    asked_since: Mapping[tuple[str, str, str], datetime] = field(default_factory=dict)
    """(Case, evaluator, question) -> when the first run or sweep that asked it started."""
    faults: Mapping[str, int] = field(default_factory=dict)
    """Evaluator -> cells of the run that failed by the agent's own fault, unseen by any judge."""
    absent: Sequence[str] = ()
    """Runs that labels name and the store does not have, or has open."""
    unmet: Sequence[Unmet] = ()

    def is_current(self, judgement: Judgement) -> bool:
        """Whether a judge was asked by the criterion of the run that is looked at.

        Of a case that the run does not have it is enough that the run asks others by that criterion.
        """
        case, evaluator, by = judgement.case_id, judgement.evaluator, judgement.asked.criterion
        now = self.asked.get((self.run_id, case, evaluator))
        if now is not None:
            return by == now.criterion
        pinned = self.pinned.get(evaluator)
        return pinned is None or not pinned.criteria or by in pinned.criteria

    def asked_by_run(self, judgement: Judgement) -> str:
        """The question that the run of the judged trial asked itself; a sweep may have asked another."""
        return self.asked.get((judgement.run_id, judgement.case_id, judgement.evaluator), Asked()).question


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A judgement with the label of its cell, if it has one."""

    judgement: Judgement
    label: Label | None
    young: bool
    """Whether the label is known to be younger than the judge's fingerprint."""
    own_verdict: bool | None
    """What the run's own judge said: labels may have been drawn by it."""
    is_own: bool
    current: bool = True
    """Whether its judge was asked what the run that is looked at asks."""


def joined(evidence: Evidence) -> dict[JudgeKey, list[Pair]]:
    """One judgement of each cell by each judge, with its label; in the order of the judgements.

    What the run that is looked at asks comes before another question, a verdict before none, and then
    the first look at an output before later ones.
    """
    about: dict[tuple[str, str], list[Label]] = {}
    for one in evidence.labels.labels:
        about.setdefault((one.evaluator, one.case_id), []).append(one)
    said: dict[tuple[JudgeKey, CellKey], dict[str, Judgement]] = {}
    """By question."""
    for judgement in evidence.judgements:
        answers = said.setdefault(((judgement.evaluator, judgement.fingerprint), judgement.cell), {})
        there = answers.setdefault(judgement.asked.question, judgement)
        if _rank(judgement) < _rank(there):
            answers[judgement.asked.question] = judgement
    found: dict[JudgeKey, list[Pair]] = {}
    for (judge, cell), answers in said.items():
        judgement = min(answers.values(), key=lambda one: not evidence.is_current(one))
        own = evidence.own.get((judgement.run_id, judgement.evaluator))
        own_question = evidence.asked_by_run(judgement)
        own_answers = said.get(((judgement.evaluator, own), cell), {}) if own is not None else {}
        base = own_answers.get(own_question)
        is_own = own == judgement.fingerprint and judgement.asked.question == own_question
        known = about.get((judgement.evaluator, judgement.case_id), ())
        label = _label_of(judgement, known, evidence.run_id)
        found.setdefault(judge, []).append(
            Pair(
                judgement=judgement,
                label=label,
                young=label is not None and _young(label, judgement, evidence, is_own=is_own),
                own_verdict=base.verdict if base is not None else None,
                is_own=is_own,
                current=evidence.is_current(judgement),
            )
        )
    return found


def _rank(judgement: Judgement) -> tuple[bool, int]:
    return judgement.verdict is None, judgement.repeat


def _label_of(judgement: Judgement, labels: Iterable[Label], run_id: str) -> Label | None:
    """The most particular label of a cell; those of any run are about the run that is looked at."""
    found = [
        label
        for label in labels
        if label.trial in (None, judgement.trial)
        and judgement.run_id == (run_id if label.run_id is None else label.run_id)
    ]
    return max(found, key=lambda one: (one.run_id is not None, one.trial is not None), default=None)


def _young(label: Label, judgement: Judgement, evidence: Evidence, *, is_own: bool) -> bool:
    """Whether the label was given when this judge, and the question to it, were there already.

    A label of a run that this judge judged itself, by the same question, came after that run. Without a
    date of its own a label of any run is as old as its file.
    """
    if label.labelled_at is None and label.run_id is not None:
        return is_own
    given, start = label.labelled_at or label.file_written_at, evidence.since.get(judgement.fingerprint)
    if given is None or start is None:
        return False
    question = judgement.case_id, judgement.evaluator, judgement.asked.question
    return given >= max(start, evidence.asked_since.get(question, start))
