"""Trials, cells and calls as rows, and rows as trials and cells again.

Owns which fact stands in which column. Knows no file format: rows are mappings here, ``tables``
makes them columns. Imports no pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from sys import intern
from typing import Any

from nightgate.calls import Call, Outcome, Role
from nightgate.errors import DamagedError
from nightgate.rows.jsontext import json_text, json_value
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.talks import Talk
from nightgate.trials import Ending, ToolCall, Trial, TrialKey, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What all rows of a run share."""

    run_id: str
    suite: str
    date: date
    """UTC day of the run's scheduled start."""
    agent_model: str | None = None
    agent_fingerprint: str | None = None
    run_kind: str | None = None
    """run, rerun, sweep, canary..."""
    trigger: str | None = None
    git_sha: str | None = None
    price_table: str | None = None
    """Name or date of the price table that costs were computed with."""
    sweep_id: str | None = None
    source_run: str | None = None
    """In a sweep: the run whose trials were judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """What all rows of a case share."""

    case_id: str
    case_hash: str
    family: str | None = None
    layer: str | None = None
    stage: str | None = None
    language: str | None = None
    tags: Sequence[str] = ()
    blocking: bool = False


Row = dict[str, Any]

_SAME = ("cost_nanousd", "latency_ms", "attempt")


def score_row(
    cell: Cell,
    run: RunFacts,
    case: CaseFacts,
    *,
    threshold: str | None = None,
    evaluator: str | None = None,
    repeat: int | None = None,
    panel: str | None = None,
) -> Row:
    """The row of a cell in the scores table.

    Args:
        cell: With its finding.
        run: Facts of its run.
        case: Facts of its case.
        threshold: Of the evaluator, as text; None for measured ones.
        evaluator: Its own name, where the cell's tells more; None: the cell's.
        repeat: In a sweep: which time the same output is judged; None elsewhere.
        panel: Of a panel's member: the evaluator that it sits on the panel of.
    """
    score = cell.score
    return {
        **_run_row(run),
        **_case_row(case),
        **_origin_row(run),
        "blocking": case.blocking,
        "trial": cell.trial,
        "evaluator": evaluator or score.evaluator,
        "repeat": repeat,
        "panel": panel,
        "source_run": run.source_run,
        "evaluator_version": score.version,
        "threshold": threshold,
        "status": score.status.value,
        "blame": None if score.blame is None else score.blame.value,
        "score": score.score,
        "passed": score.passed,
        "label": score.label,
        "reason": score.reason,
        "details": json_text(score.details) if score.details else None,
        "judge_model": cell.judge_model,
        "judge_fingerprint": cell.judge_fingerprint,
        **_token_row(cell.usage),
        **{name: getattr(cell, name) for name in _SAME},
        "agent_model": run.agent_model,
        "agent_fingerprint": run.agent_fingerprint,
        "reused_from": cell.reused_from,
        "scored_at": cell.scored_at,
    }


def trial_row(trial: Trial, run: RunFacts, case: CaseFacts, *, transcript: str | None = None) -> Row:
    """The row of a trial in the trials table.

    Args:
        trial: Finished, or given up.
        run: Facts of its run.
        case: Facts of its case.
        transcript: Where its messages lie, from ``transcripts.encode_transcripts``.
    """
    return {
        **_run_row(run),
        **_case_row(case),
        **_origin_row(run),
        "trial": trial.key.trial,
        "ending": trial.ending.value,
        **{name: getattr(trial, name) for name in _TRIAL_SAME},
        "tool_calls": json_text([_tool_call_row(call) for call in trial.tool_calls]),
        "final_state": None if trial.final_state is None else json_text(trial.final_state),
        "conversation": None if trial.conversation is None else json_text(trial.conversation.as_dict()),
        "transcript": transcript,
        **_token_row(trial.usage),
        **{name: getattr(trial, name) for name in _SAME},
        "agent_model": run.agent_model,
        "agent_fingerprint": trial.agent_fingerprint or run.agent_fingerprint,
    }


_TRIAL_SAME = (
    "error", "input", "output", "stop_reason", "calls", "turns", "wait_ms", "end_reason", "end_turn",
    "user_turns", "reused_from", "started_at", "ended_at",
)  # fmt: skip


def transcript_row(trial: Trial, run: RunFacts) -> Row:
    """The row of a trial in the transcripts table."""
    return {
        **_run_row(run),
        "case_id": trial.key.case_id,
        "trial": trial.key.trial,
        "attempt": trial.attempt,
        "system_prompt": trial.system_prompt,
        "tools": json_text(trial.tools_offered),
        "messages": json_text(trial.messages),
    }


def call_row(call: Call, run: RunFacts) -> Row:
    """The row of an attempt at a model call in the calls table."""
    return {
        **_run_row(run),
        **{name: getattr(call, name) for name in _CALL_SAME},
        "role": call.role.value,
        "outcome": call.outcome.value,
        **_token_row(call.usage),
        "price_table": run.price_table,
    }


_CALL_SAME = (
    "call_id", "case_id", "trial", "play", "evaluator", "model", "attempt", "error", "stop_reason",
    "system_fingerprint", "cost_nanousd", "list_nanousd", "batch_nanousd", "latency_ms", "first_token_ms",
    "wait_ms", "late", "started_at", "ended_at",
)  # fmt: skip


def trial_from_row(row: Mapping[str, Any], transcript: Mapping[str, Any] | None = None) -> Trial:
    """A stored trial, as evaluators read it: for reuse and for sweeps.

    Args:
        row: Of the trials table.
        transcript: Its row of the transcripts table; without it there are no messages.

    Raises:
        DamagedError: If a value is none that ``trial_row`` writes.
    """
    try:
        return Trial(
            key=TrialKey(
                run_id=row["run_id"], suite=row["suite"], case_id=row["case_id"], trial=row["trial"]
            ),
            ending=Ending(row["ending"]),
            case_hash=row["case_hash"],
            agent_fingerprint=row["agent_fingerprint"] or "",
            **{name: row[name] for name in _TRIAL_SAME if row.get(name) is not None},
            tool_calls=tuple(_tool_call(call) for call in _parsed(row, "tool_calls", [])),
            final_state=_parsed(row, "final_state", None),
            conversation=talk_of(row),
            messages=tuple(_parsed(transcript, "messages", ())),
            tools_offered=_offered(transcript),
            system_prompt=_prompt(transcript),
            usage=_usage(row),
            **{name: row[name] for name in _SAME},
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _unreadable("trial", row, error) from error


def talk_of(row: Mapping[str, Any]) -> Talk | None:
    """The conversation in a row of the trials table; None when the trial is none."""
    text = row.get("conversation")
    return None if text is None else Talk.from_dict(json_value(text))


def _offered(transcript: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """``null`` says that the target shows no agent."""
    text = None if transcript is None else transcript["tools"]
    return () if text is None else _tools(text)


@lru_cache(maxsize=32)
def _tools(text: str) -> tuple[Any, ...] | None:
    """Tools by their text: all trials of a run offer the same, and the schemas are most of what one holds."""
    offered = json_value(text)
    return None if offered is None else tuple(offered)


def _prompt(transcript: Mapping[str, Any] | None) -> str | None:
    """The system prompt, kept once however many trials had it."""
    text: str | None = None if transcript is None else transcript["system_prompt"]
    return None if text is None else intern(text)


def cell_from_row(row: Mapping[str, Any]) -> Cell:
    """A stored cell as another run takes it over: tokens and money stand where it was paid, and are 0 here.

    Raises:
        DamagedError: If a value is none that ``score_row`` writes.
    """
    try:
        return Cell(
            case_id=row["case_id"],
            trial=row["trial"],
            score=Score(
                evaluator=row["evaluator"],
                version=row["evaluator_version"],
                status=Status(row["status"]),
                reason=row["reason"] or "",
                score=row["score"],
                label=row["label"],
                blame=None if row["blame"] is None else Blame(row["blame"]),
                details=_parsed(row, "details", {}),
            ),
            judge_model=row["judge_model"],
            judge_fingerprint=row["judge_fingerprint"],
            **{name: row[name] for name in ("latency_ms", "attempt", "scored_at")},
            reused_from=row.get("reused_from") or row["run_id"],
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _unreadable("score", row, error) from error


def call_from_row(row: Mapping[str, Any]) -> Call:
    """A stored ledger row.

    Raises:
        DamagedError: If a value is none that ``call_row`` writes.
    """
    try:
        return Call(
            run_id=row["run_id"],
            suite=row["suite"],
            role=Role(row["role"]),
            outcome=Outcome(row["outcome"]),
            usage=None if row["tokens_in"] is None else _usage(row),
            **{name: row[name] for name in _CALL_SAME},
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _unreadable("call", row, error) from error


def _run_row(run: RunFacts) -> Row:
    return {"run_id": run.run_id, "suite": run.suite, "date": run.date}


def _case_row(case: CaseFacts) -> Row:
    return {
        "case_id": case.case_id,
        "case_hash": case.case_hash,
        "family": case.family,
        "layer": case.layer,
        "stage": case.stage,
        "language": case.language,
        "tags": list(case.tags),
    }


def _origin_row(run: RunFacts) -> Row:
    return {
        "sweep_id": run.sweep_id,
        "run_kind": run.run_kind,
        "trigger": run.trigger,
        "git_sha": run.git_sha,
        "price_table": run.price_table,
    }


def _token_row(usage: Usage | None) -> Row:
    return {
        "tokens_in": None if usage is None else usage.input,
        "tokens_out": None if usage is None else usage.output,
        "tokens_cache_read": None if usage is None else usage.cache_read,
        "tokens_cache_write": None if usage is None else usage.cache_write,
        "tokens_cache_write_1h": None if usage is None else usage.cache_write_1h,
    }


def _usage(row: Mapping[str, Any]) -> Usage:
    return Usage(
        input=row["tokens_in"] or 0,
        output=row["tokens_out"] or 0,
        cache_read=row["tokens_cache_read"] or 0,
        cache_write=row["tokens_cache_write"] or 0,
        cache_write_1h=row.get("tokens_cache_write_1h") or 0,
    )


_TOOL_CALL_SAME = ("name", "arguments", "result", "status", "call_id")


def _tool_call_row(call: ToolCall) -> Row:
    return {name: getattr(call, name) for name in _TOOL_CALL_SAME}


def _tool_call(data: Mapping[str, Any]) -> ToolCall:
    return ToolCall(**{name: data[name] for name in _TOOL_CALL_SAME if name in data})


def _parsed(row: Mapping[str, Any] | None, name: str, default: Any) -> Any:
    text = None if row is None else row[name]
    return default if text is None else json_value(text)


def _unreadable(what: str, row: Mapping[str, Any], error: Exception) -> DamagedError:
    where = f"run {row.get('run_id')!r}, case {row.get('case_id')!r}, trial {row.get('trial')!r}"
    return DamagedError(f"stored {what} of {where} cannot be read: {type(error).__name__}: {error}")
