"""Judges against people, as a document: figures, slices, corrected rates, and the word for each judge.

Owns what is computed from which labels. The formulas are ``stats``', the bar is ``bar``'s. Knows no
files, no rows and no store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from nightgate import stats
from nightgate.calibration.bar import (
    LEAST_LABELS,
    VERSION,
    Found,
    Word,
    figure_dict,
    held_against_the_bar,
)
from nightgate.calibration.corrections import corrected
from nightgate.calibration.evidence import Evidence, JudgeKey, Pair, Pinned, Sample, joined
from nightgate.errors import ExitCode
from nightgate.stats import Agreement, Confusion, Stratum


@dataclass(frozen=True, slots=True)
class Calibration:
    """What ``calibrate`` found."""

    document: Mapping[str, Any]

    @property
    def exit_code(self) -> ExitCode:
        """0 every judge with a threshold meets the bar, 1 one does not, 3 it cannot be told."""
        return ExitCode(self.document["exit_code"])


def calibrated(evidence: Evidence) -> Calibration:
    """Hold the judges of a run, and those of its sweeps, against people's labels."""
    pairs = joined(evidence)
    keys = dict.fromkeys((name, pinned.fingerprint) for name, pinned in evidence.pinned.items())
    keys |= dict.fromkeys(sorted(pairs))
    judges = [_judge(evidence, key, pairs.get(key, [])) for key in keys]
    blocking = [judge for judge in judges if judge["pinned"] and judge["threshold"] is not None]
    words = [judge["word"] for judge in blocking]
    if Word.BELOW in words:
        code = ExitCode.FAILED
    elif words and all(word == Word.MEETS for word in words):
        code = ExitCode.OK
    else:
        code = ExitCode.INCONCLUSIVE
    labels = evidence.labels
    return Calibration(
        {
            "schema": VERSION,
            "suite": evidence.suite,
            "run_id": evidence.run_id,
            "exit_code": int(code),
            "labels": {
                "count": len(labels.labels),
                "unfilled": labels.unfilled,
                "digest": labels.digest,
                "absent_runs": list(evidence.absent),
                "unmet": [asdict(one) for one in evidence.unmet],
                "unread": list(labels.unread),
            },
            "judges": judges,
            "among_judges": list(_among(evidence)),
        }
    )


def _judge(evidence: Evidence, key: JudgeKey, of_any_question: Sequence[Pair]) -> dict[str, Any]:
    evaluator, fingerprint = key
    # What was said to another question is counted, and is in no figure: it is another judge's, as it were.
    pairs = [pair for pair in of_any_question if pair.current]
    elsewhere = sum(not pair.current and pair.label is not None for pair in of_any_question)
    pinned = evidence.pinned.get(evaluator)
    is_pinned = pinned is not None and pinned.fingerprint == fingerprint
    labelled = [pair for pair in pairs if pair.label is not None]
    judged = [pair for pair in labelled if pair.judgement.verdict is not None]
    young = [pair for pair in judged if pair.young]
    # Figures of old labels are shown when there are no others; the bar never counts them.
    drawn = any(pair.label is not None and pair.label.sample is Sample.STRATIFIED for pair in judged)
    runs = {pair.judgement.run_id for pair in labelled}
    base = [pair for pair in pairs if pair.judgement.run_id in runs]
    used = {id(pair) for pair in (young or judged)}
    whole = _Part(base, used, drawn)
    table = Confusion.of(_both(young))
    found = held_against_the_bar(whole.figures if young else _NOTHING, table.passes, table.fails)
    slices = list(_slices(base, used, drawn, counts=bool(young)))
    bad = [f"{one['by']} {one['value']}: {one['why']}" for one in slices if one["word"] == Word.BELOW]
    if bad and found.word is not Word.BELOW:
        found = Found(Word.BELOW, "; ".join(bad))
    elif judged and not young:
        found = Found(
            Word.TOO_FEW, f"all {len(judged)} labels are older than this judge or its question, or undated"
        )
    elif elsewhere and not judged:
        found = Found(
            Word.NO_LABELS, f"all {elsewhere} labels are of another question: the criterion was edited"
        )
    known = [pair.judgement.judge_model for pair in of_any_question]
    model = known[0] if known else pinned.judge_model if pinned is not None else ""
    return {
        "evaluator": evaluator,
        "judge_model": model,
        "judge_fingerprint": fingerprint,
        "pinned": is_pinned,
        "threshold": pinned.threshold if pinned is not None else None,
        "criteria": sorted(_criteria(pinned, pairs)),
        "word": found.word.value,
        "why": found.why,
        "labels": {
            "passes": table.passes,
            "fails": table.fails,
            "older": len(judged) - len(young),
            "other_question": elsewhere,
            "not_judged": len(labelled) - len(judged),
            "missing_passes": max(0, LEAST_LABELS - table.passes),
            "missing_fails": max(0, LEAST_LABELS - table.fails),
            "dated_by_file": sum(_by_file(pair) for pair in young),
        },
        "of_old_labels": bool(judged) and not young,
        "weighted": drawn,
        **whole.as_dict(),
        "slices": slices,
        "corrected": corrected(evidence, evaluator, pairs, whole.figures),
        "repeats": _repeats(evidence, key),
    }


def _criteria(pinned: Pinned | None, pairs: Iterable[Pair]) -> frozenset[str]:
    """The criteria that the figures are about; a run that does not pin the judge asks by none of its own."""
    if pinned is not None:
        return pinned.criteria
    return frozenset(pair.judgement.asked.criterion for pair in pairs) - {""}


def _by_file(pair: Pair) -> bool:
    return pair.label is not None and pair.label.labelled_at is None and pair.label.run_id is None


def _both(pairs: Iterable[Pair]) -> Iterator[tuple[bool, bool]]:
    """(Label, verdict) of pairs that have both."""
    for pair in pairs:
        if pair.label is not None and pair.judgement.verdict is not None:
            yield pair.label.passed, pair.judgement.verdict


_NOTHING = stats.agreement_of(Confusion())


@dataclass(frozen=True, slots=True)
class _Part:
    """Cells of a judge, of which some labels are used."""

    pairs: Sequence[Pair]
    used: frozenset[int] | set[int]
    drawn: bool
    """Whether labels were drawn by the run's own verdicts, so that they have to be weighted."""

    @property
    def table(self) -> Confusion:
        return Confusion.of(_both(pair for pair in self.pairs if id(pair) in self.used))

    @property
    def figures(self) -> Agreement:
        if not self.drawn:
            return stats.agreement_of(self.table)
        groups: dict[tuple[bool | None, bool], list[Pair]] = defaultdict(list)
        for pair in self.pairs:
            if pair.judgement.verdict is not None:
                groups[pair.own_verdict, pair.is_own].append(pair)
        return stats.post_stratified(
            [
                Stratum(
                    size=len(group),
                    table=_Part(group, self.used, drawn=False).table,
                    verdict=verdict if is_own else None,
                )
                for (verdict, is_own), group in groups.items()
            ]
        )

    def as_dict(self) -> dict[str, Any]:
        """Counts as they were labelled, and the figures."""
        table, figures = self.table, self.figures
        return {
            "counts": {"tp": table.tp, "fn": table.fn, "fp": table.fp, "tn": table.tn},
            "agreement": figure_dict(figures.agreement),
            "kappa": figure_dict(figures.kappa),
            "sensitivity": figure_dict(figures.sensitivity),
            "specificity": figure_dict(figures.specificity),
        }


def _slices(pairs: Sequence[Pair], used: set[int], drawn: bool, *, counts: bool) -> Iterator[dict[str, Any]]:
    """Figures by layer, language and tag, where there is more than one and somebody labelled it."""
    for by in ("layer", "language", "tag"):
        groups: dict[str, list[Pair]] = defaultdict(list)
        for pair in pairs:
            for value in _values(pair, by):
                groups[value].append(pair)
        if len(groups) == 1 and len(next(iter(groups.values()))) == len(pairs):
            continue  # the same as the whole
        for value, group in sorted(groups.items()):
            part = _Part(group, used, drawn)
            table = part.table
            if not table.n:
                continue
            found = (
                held_against_the_bar(part.figures, table.passes, table.fails)
                if counts
                else Found(Word.TOO_FEW, "the labels are older than this judge, or undated")
            )
            yield {
                "by": by,
                "value": value,
                "word": found.word.value,
                "why": found.why,
                "passes": table.passes,
                "fails": table.fails,
                **part.as_dict(),
            }


def _values(pair: Pair, by: str) -> tuple[str, ...]:
    judgement = pair.judgement
    if by == "tag":
        return judgement.tags
    value = judgement.layer if by == "layer" else judgement.language
    return () if value is None else (value,)


def _repeats(evidence: Evidence, key: JudgeKey) -> dict[str, Any]:
    """How far a judge agrees with itself on the same output."""
    ratings: dict[Any, dict[int, bool]] = defaultdict(dict)
    for one in evidence.judgements:
        if (one.evaluator, one.fingerprint) == key and one.verdict is not None and evidence.is_current(one):
            ratings[one.cell, one.asked].setdefault(one.repeat, one.verdict)
    units = [tuple(by_repeat.values()) for by_repeat in ratings.values() if len(by_repeat) > 1]
    return {
        "cells": len(units),
        "flickering": sum(len(set(unit)) > 1 for unit in units),
        "alpha": stats.krippendorff_alpha(units),
    }


def _among(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Krippendorff's alpha among the judges of an evaluator, where there are several."""
    ordered = sorted(evidence.judgements, key=lambda one: (one.evaluator, one.repeat))
    for evaluator, group in groupby(ordered, key=lambda one: one.evaluator):
        ratings: dict[Any, dict[str, bool]] = defaultdict(dict)
        models: Counter[tuple[str, str]] = Counter()
        for one in group:
            if one.verdict is not None and not one.panel and evidence.is_current(one):
                ratings[one.cell, one.asked].setdefault(one.fingerprint, one.verdict)
                models[one.fingerprint, one.judge_model] += 1
        units = [tuple(by_judge.values()) for by_judge in ratings.values() if len(by_judge) > 1]
        if units:
            yield {
                "evaluator": evaluator,
                "judges": [{"judge_fingerprint": f, "judge_model": m} for f, m in sorted(models)],
                "cells": len(units),
                "apart": sum(len(set(unit)) > 1 for unit in units),
                "alpha": stats.krippendorff_alpha(units),
            }
