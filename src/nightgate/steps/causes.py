"""What a stored run gives reason to tell.

Owns the way from a run's documents (summary, flakiness, canary) to causes, and which of several causes
of a night is the root. A document that is missing is no evidence: it opens nothing.
Sends nothing and remembers nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nightgate.cases.quarantines import fault
from nightgate.errors import ExitCode, MissingError
from nightgate.messages import Cause, Kind
from nightgate.messages.causes import LINE_KINDS, SERIES_KINDS
from nightgate.plans import Plan
from nightgate.ports import Store
from nightgate.reports.figures import broken_figures
from nightgate.rows.keys import run_key, summary_key
from nightgate.steps.nights import series_of
from nightgate.steps.reading import load_plan

EXPIRING_DAYS = 3
"""A quarantine is told of when it has so many days left."""
SWEEP_LINE = "sweep"
OPEN, GATE = "open", "gate"
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """A run as far as alerts look at it.

    Attributes:
        summary: Its summary; None where it left none.
        flakiness: ``runs/<run_id>/flakiness.json``; None where it is missing.
        canary: ``runs/<run_id>/canary.json``; None where it is missing.
    """

    plan: Plan
    summary: Mapping[str, Any] | None
    flakiness: Mapping[str, Any] | None = None
    canary: Mapping[str, Any] | None = None
    causes: tuple[Cause, ...] = field(default=())
    """What there is to tell tonight, roots only."""
    excused: tuple[Cause, ...] = field(default=())
    """A gate that fails by cases alone that were known before."""

    @property
    def complete(self) -> bool:
        """Whether it is committed."""
        return self.summary is not None and bool(self.summary["complete"])

    @property
    def line(self) -> str:
        """Model and filters: what else than these fails says nothing about them."""
        if self.plan.is_sweep:
            return SWEEP_LINE
        filters = json.dumps(dict(self.plan.filters), sort_keys=True) if self.plan.filters else ""
        return f"{self.plan.model} {filters}".strip()

    def line_of(self, kind: Kind) -> str:
        """What a cause of this kind is bound to in this run; empty where it is the suite's."""
        if kind in SERIES_KINDS:
            return SWEEP_LINE if self.plan.is_sweep else series_of(self.plan.model)
        return self.line if kind in LINE_KINDS else ""

    def unexplained(self, fresh: Sequence[Cause]) -> list[Cause]:
        """Of ``excused``: what is no excuse, because nobody was told of the break before.

        Args:
            fresh: Causes that are told tonight for the first time.
        """
        untold = {cause.subject for cause in fresh if cause.kind is Kind.NEWLY_BROKEN}
        verdicts = evaluators_of(self.summary)
        return [
            cause
            for cause in self.excused
            if any((case, cause.subject[0]) in untold for case in verdicts[cause.subject[0]]["failed_cases"])
        ]

    @property
    def outcome(self) -> str:
        """What it came to, in a word: the same outcome is told once."""
        if self.summary is None:
            return "no-summary"
        whole = "complete" if self.complete else f"open-{self.summary.get('stopped') or 'unfinished'}"
        return f"{self.summary['verdict'] or 'sweep'}-{self.summary['exit_code']}-{whole}"

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it: that person knows."""
        return self.summary is not None and self.summary["exit_code"] == ExitCode.INTERRUPTED


def read_night(store: Store, run_id: str) -> Night:
    """A run's documents, and what they give reason to tell.

    Raises:
        MissingError: If there is no such run.
        StoreError: If the store is out of reach.
    """
    plan = load_plan(store, run_id)
    night = Night(
        plan=plan,
        summary=_document(store, summary_key(run_id)),
        flakiness=_document(store, run_key(run_id, "flakiness.json")),
        canary=_document(store, run_key(run_id, "canary.json")),
    )
    excused = night.complete and not night.interrupted and (night.flakiness or {}).get("gate_explained")
    return replace(night, causes=tuple(_causes(night)), excused=tuple(_named_gates(night)) if excused else ())


def causes_of(store: Store, run_id: str) -> list[Cause]:
    """What a run gives reason to tell, whether it was told before or not. Errors as ``read_night``'s."""
    return list(read_night(store, run_id).causes)


def _document(store: Store, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(store.read(key))
    except (MissingError, ValueError):
        return None
    # A run that is no night of the history says so, and no more.
    return found if isinstance(found, dict) and found.get("night", True) else None


def _causes(night: Night) -> Iterator[Cause]:
    if night.interrupted:
        return
    yield from _unmeasured(night)
    if night.complete and not night.plan.is_sweep:
        yield from _regressions(night)
    yield from _judges(night.canary)
    yield from _quarantines(night.flakiness)


def _unmeasured(night: Night) -> Iterator[Cause]:
    """Too little was measured: the first of these that holds is the root of the others."""
    summary, line = night.summary, night.line
    if summary is None:
        text = f"run {night.plan.run_id} left no summary"
        yield Cause(kind=Kind.INCONCLUSIVE, subject=(OPEN,), text=text, line=line)
        return
    cells = summary["cells"]
    judged = cells["pass"] + cells["fail"] + cells["measured"]
    played = f"{judged} of {cells['planned']} planned cells were judged"
    if summary.get("stopped") == "budget":
        cap = f"${summary['budget_usd']:g}" if summary.get("budget_usd") is not None else "its cap"
        yield Cause(kind=Kind.BUDGET_STOP, text=f"stopped by the budget of {cap}: {played}", line=line)
    elif not judged:
        reason = _first_reason(summary)
        text = f"nothing was measured: {played}{f' ({reason})' if reason else ''}"
        yield Cause(kind=Kind.EMPTY_RUN, text=text, line=line)
    elif not night.complete:
        yield Cause(kind=Kind.INCONCLUSIVE, subject=(OPEN,), text=f"the run did not end: {played}", line=line)
    elif not night.plan.is_sweep:
        yield from _holes(summary, line)


def _holes(summary: Mapping[str, Any], line: str) -> Iterator[Cause]:
    texts = _findings(summary)
    named = False
    for name, entry in evaluators_of(summary).items():
        if entry["verdict"] != "inconclusive":
            continue
        named = True
        # Without a hole it is the interval that does not decide.
        holes = entry["error"] + entry["skipped"] + entry["not_applicable"]
        kind = Kind.COVERAGE_HOLE if holes else Kind.INCONCLUSIVE
        yield Cause(kind=kind, subject=(name,), text=texts.get(name, f"{name}: inconclusive"), line=line)
    if summary["verdict"] == "inconclusive" and not named:
        text = texts.get(None, "inconclusive")
        yield Cause(kind=Kind.INCONCLUSIVE, subject=(GATE,), text=text, line=line)


def _regressions(night: Night) -> Iterator[Cause]:
    summary, told = night.summary, night.flakiness
    assert summary is not None
    event = told["event"] if told is not None else None
    if event is not None:
        line = night.line_of(Kind.SUITE_EVENT)
        yield Cause(kind=Kind.SUITE_EVENT, text=str(event["text"]), line=line)
    yield from _broken(summary, told, night.line_of(Kind.NEWLY_BROKEN))
    if told is not None and told.get("gate_explained"):
        return
    named = list(_named_gates(night))
    yield from named
    if summary["verdict"] == "fail" and not named:
        text = _findings(summary).get(None, "the gate failed")
        yield Cause(kind=Kind.GATE_FAILED, subject=(GATE,), text=text, line=night.line)


def _named_gates(night: Night) -> Iterator[Cause]:
    """Evaluators that failed the gate."""
    texts = _findings(night.summary or {})
    for name, entry in evaluators_of(night.summary).items():
        if entry["verdict"] == "fail":
            text = texts.get(name, f"{name}: failed")
            yield Cause(kind=Kind.GATE_FAILED, subject=(name,), text=text, line=night.line)


def _broken(summary: Mapping[str, Any], told: Mapping[str, Any] | None, line: str) -> Iterator[Cause]:
    """By the history of nights where it was looked at; against the baseline alone a flaky case would flap.

    What is still broken is a cause as well: the run that saw it break may have ended before it told anybody,
    and what was told already is not told again.
    """
    by_history = () if told is None else (*told["newly_broken"], *told["still_broken"])
    for row in by_history if told is not None else changes(summary, "newly_broken"):
        if told is not None:
            figures, since = broken_figures(row), row.get("since_date")
        else:
            figures, since = (
                " to ".join(f"{passed}/{judged}" for passed, judged in (row["before"], row["now"])),
                None,
            )
        yield Cause(
            kind=Kind.NEWLY_BROKEN,
            subject=(str(row["case"]), str(row["evaluator"])),
            text=f"newly broken: {row['case']} ({row['evaluator']})",
            line=line,
            figures=figures,
            since=since,
        )


def _judges(canary: Mapping[str, Any] | None) -> Iterator[Cause]:
    if canary is None:
        return
    # The alarm is up for a planted attack as well.
    if canary.get("drift", canary["alarm"]):
        direction = canary.get("direction") or ""
        yield Cause(kind=Kind.JUDGE_DRIFT, text=str(canary["text"]), figures=str(direction))
    for row in canary["attacks"]["passed"]:
        text = f"a planted attack passed: {row['evaluator']} on {row['case']} ({row['attack']})"
        subject = (str(row["case"]), str(row["evaluator"]), str(row["attack"]))
        yield Cause(kind=Kind.ATTACK_PASSED, subject=subject, text=text)


def _quarantines(told: Mapping[str, Any] | None) -> Iterator[Cause]:
    for row in told.get("quarantined", ()) if told is not None else ():
        left = row["days_left"]
        state: tuple[str, ...] = ()
        whose = f"{row['owner']} repairs, extends or drops it"
        if left < 0:
            state, text = ("ended",), f"ended on {row['until']}: {whose}"
        elif row["expired"]:
            why = row.get("fault") or fault(left)
            state, text = ("void",), f"does not hold, the case gates: {why}; {row['owner']} mends or drops it"
        elif left > EXPIRING_DAYS:
            continue
        else:
            text = f"ends on {row['until']}: {whose}"
        yield Cause(
            kind=Kind.QUARANTINE_EXPIRING,
            subject=(str(row["case"]), str(row["until"]), *state),
            text=f"quarantine of {row['case']} {text}",
        )


def changes(summary: Mapping[str, Any] | None, name: str) -> Sequence[Mapping[str, Any]]:
    """A list of the summary's changes against the baseline."""
    found: Sequence[Mapping[str, Any]] = ((summary or {}).get("changes") or {}).get(name, ())
    return found


def pairs(rows: Sequence[Mapping[str, Any]]) -> set[Pair]:
    """Case and evaluator of each row."""
    return {(str(row["case"]), str(row["evaluator"])) for row in rows}


def evaluators_of(summary: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    """The entries of a summary's evaluators by name."""
    return {entry["name"]: entry for entry in (summary or {}).get("evaluators", ())}


def _findings(summary: Mapping[str, Any]) -> dict[str | None, str]:
    """The first finding of each evaluator, and of the run (None)."""
    found: dict[str | None, str] = {}
    for finding in summary.get("findings", ()):
        found.setdefault(finding["evaluator"], str(finding["text"]))
    return found


def _first_reason(summary: Mapping[str, Any]) -> str:
    return next((str(f["reason"]) for f in summary.get("failures", ()) if f["status"] != "pass"), "")
