"""Records of a run under way: one finished trial, cell or call as one line of JSON.

Owns the line format of the journal and of staged groups. Knows no file and no store. A line's
identity stands first, then one raw tab (legal white space between JSON tokens), then the body:
``redaction`` rewrites only what follows the tab, so that ids stay verbatim.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from datetime import datetime
from sys import intern
from typing import Any, TypeAlias

from nightgate.calls import Call, CallStart, Outcome, Role
from nightgate.errors import DamagedError
from nightgate.rows.jsontext import json_text, json_value
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.talks import Talk
from nightgate.trials import Ending, ToolCall, Trial, TrialKey, Usage

Record: TypeAlias = Trial | Cell | Call | CallStart

_SEPARATOR = ',\t"body":'
_KEY = ("run_id", "suite", "case_id", "trial")
_TRIAL_HEAD = ("case_hash", "agent_fingerprint", "attempt", "reused_from")
_TRIAL_BODY = (
    "input", "output", "error", "stop_reason", "messages", "tools_offered", "system_prompt", "final_state",
    "cost_nanousd", "calls", "turns", "latency_ms", "wait_ms", "end_reason", "end_turn", "user_turns",
    "conversation",
)  # fmt: skip
_CELL_HEAD = ("case_id", "trial", "judge_fingerprint", "attempt")
_CELL_BODY = ("judge_model", "cost_nanousd", "latency_ms", "reused_from")
_SCORE_HEAD = ("evaluator", "version")
_SCORE_BODY = ("reason", "score", "label", "details")
_START_HEAD = ("call_id", "run_id", "suite", "case_id", "trial", "evaluator", "attempt", "play")
_CALL_BODY = (
    "model", "error", "stop_reason", "system_fingerprint", "cost_nanousd", "list_nanousd", "batch_nanousd",
    "latency_ms", "first_token_ms", "wait_ms", "late",
)  # fmt: skip
_COMMON = {"run_id", "suite", "case_id", "evaluator", "model", "stop_reason", "system_fingerprint"}


def encode_record(record: Record) -> bytes:
    """One line of UTF-8 JSON without a line break."""
    if isinstance(record, Trial):
        head, body = _trial_parts(record)
    elif isinstance(record, Cell):
        head, body = _cell_parts(record)
    else:
        head, body = _call_parts(record)
    return f"{json_text(head)[:-1]}{_SEPARATOR}{json_text(body)}}}".encode()


def decode_record(line: bytes) -> Record:
    """The record behind a line.

    Fields that a newer version added are ignored; those that an older one lacks get their defaults.

    Raises:
        DamagedError: If the line is cut, no JSON, or of an unknown kind.
    """
    try:
        data = json_value(line.decode())
        return _DECODERS[data["kind"]](data, data["body"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        shown = line[:80].decode("utf-8", "replace")
        msg = f"no record in the line that starts {shown!r}: {type(error).__name__}: {error}"
        raise DamagedError(msg) from error


def record_head(line: bytes) -> dict[str, Any]:
    """A record's identity (kind, case, trial, evaluator, attempt...), without reading its body.

    Raises:
        DamagedError: If the line does not start like a record.
    """
    head, tab, _ = line.partition(b"\t")
    found: dict[str, Any] = {}
    if tab:
        with contextlib.suppress(ValueError):
            found = json_value(f"{head[:-1].decode()}}}")
    if found.get("kind") not in _DECODERS:
        msg = f"no record in the line that starts {line[:40]!r}"
        raise DamagedError(msg)
    return found


def record_kind(line: bytes) -> str:
    """``trial``, ``cell``, ``call`` or ``call_start``, without reading the rest of the line.

    Raises:
        DamagedError: If the line does not start like a record.
    """
    for kind in _DECODERS:
        if line.startswith(f'{{"kind":"{kind}",'.encode()):
            return kind
    msg = f"no record in the line that starts {line[:40]!r}"
    raise DamagedError(msg)


def _pick(source: object, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def _known(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def _shared(data: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """As ``_known``; texts that thousands of calls have in common are kept once."""
    found = _known(data, names)
    for name in _COMMON & found.keys():
        if type(found[name]) is str:
            found[name] = intern(found[name])
    return found


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _tokens(usage: Usage | None) -> list[int] | None:
    if usage is None:
        return None
    hour = [usage.cache_write_1h] if usage.cache_write_1h else []
    return [usage.input, usage.output, usage.cache_read, usage.cache_write, *hour]


def _usage(tokens: list[int]) -> Usage:
    return Usage(
        input=tokens[0],
        output=tokens[1],
        cache_read=tokens[2],
        cache_write=tokens[3],
        cache_write_1h=sum(tokens[4:5]),
    )


def _trial_parts(trial: Trial) -> tuple[dict[str, Any], dict[str, Any]]:
    head = {
        "kind": "trial",
        **_pick(trial.key, _KEY),
        "ending": trial.ending.value,
        **_pick(trial, _TRIAL_HEAD),
    }
    body = _pick(trial, _TRIAL_BODY)
    body["tool_calls"] = [
        [call.name, call.arguments, call.result, call.status, call.call_id] for call in trial.tool_calls
    ]
    body["usage"] = _tokens(trial.usage)
    body["started_at"], body["ended_at"] = _iso(trial.started_at), _iso(trial.ended_at)
    return head, body


def _trial(head: Mapping[str, Any], body: Mapping[str, Any]) -> Trial:
    rest = _known(body, _TRIAL_BODY)
    if rest.get("conversation") is not None:
        rest["conversation"] = Talk.from_dict(rest["conversation"])
    rest["messages"] = tuple(rest.get("messages", ()))
    offered = rest.get("tools_offered", ())
    rest["tools_offered"] = None if offered is None else tuple(offered)
    return Trial(
        key=TrialKey(**_known(head, _KEY)),
        ending=Ending(head["ending"]),
        **_known(head, _TRIAL_HEAD),
        **rest,
        tool_calls=tuple(
            ToolCall(name=name, arguments=arguments, result=result, status=status, call_id=call_id)
            for name, arguments, result, status, call_id in body["tool_calls"]
        ),
        usage=_usage(body["usage"]),
        started_at=_moment(body.get("started_at")),
        ended_at=_moment(body.get("ended_at")),
    )


def _cell_parts(cell: Cell) -> tuple[dict[str, Any], dict[str, Any]]:
    score = cell.score
    head = {
        "kind": "cell",
        **_pick(cell, _CELL_HEAD),
        **_pick(score, _SCORE_HEAD),
        "status": score.status.value,
    }
    head["blame"] = None if score.blame is None else score.blame.value
    body = {**_pick(cell, _CELL_BODY), **_pick(score, _SCORE_BODY)}
    body["usage"], body["scored_at"] = _tokens(cell.usage), _iso(cell.scored_at)
    return head, body


def _cell(head: Mapping[str, Any], body: Mapping[str, Any]) -> Cell:
    blame = head.get("blame")
    return Cell(
        **_known(head, _CELL_HEAD),
        **_known(body, _CELL_BODY),
        score=Score(
            **_known(head, _SCORE_HEAD),
            **_known(body, _SCORE_BODY),
            status=Status(head["status"]),
            blame=None if blame is None else Blame(blame),
        ),
        usage=_usage(body["usage"]),
        scored_at=_moment(body.get("scored_at")),
    )


def _call_parts(call: Call | CallStart) -> tuple[dict[str, Any], dict[str, Any]]:
    head = {"kind": "call_start", **_pick(call, _START_HEAD), "role": call.role.value}
    if isinstance(call, CallStart):
        return head, {"model": call.model, "started_at": _iso(call.started_at)}
    head |= {"kind": "call", "outcome": call.outcome.value}
    body = _pick(call, _CALL_BODY)
    body["usage"] = _tokens(call.usage)
    body["started_at"], body["ended_at"] = _iso(call.started_at), _iso(call.ended_at)
    return head, body


def _call_start(head: Mapping[str, Any], body: Mapping[str, Any]) -> CallStart:
    return CallStart(
        **_shared(head, _START_HEAD),
        role=Role(head["role"]),
        model=body["model"],
        started_at=_moment(body.get("started_at")),
    )


def _call(head: Mapping[str, Any], body: Mapping[str, Any]) -> Call:
    usage = body.get("usage")
    return Call(
        **_shared(head, _START_HEAD),
        **_shared(body, _CALL_BODY),
        role=Role(head["role"]),
        outcome=Outcome(head["outcome"]),
        usage=None if usage is None else _usage(usage),
        started_at=_moment(body.get("started_at")),
        ended_at=_moment(body.get("ended_at")),
    )


_DECODERS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Record]] = {
    "trial": _trial,
    "cell": _cell,
    "call": _call,
    "call_start": _call_start,
}
