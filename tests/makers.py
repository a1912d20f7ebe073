"""Trials, cases, suites, plans and models for tests: plain functions with defaults that work."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from strands.models.model import Model

from nightgate.adapters.limiter import Limiter
from nightgate.adapters.metering import Meter, MeteredModel, RetryPolicy, Wire
from nightgate.adapters.models import normalise_usage
from nightgate.calls import Call, CallStart, Role, Scope
from nightgate.cases import Case, Expect, Suite
from nightgate.plans import EvaluatorFacts, Plan, PlannedCase, PlannedEvaluator
from nightgate.prices import FREE, Budget, Price
from nightgate.scores import Score, Status
from nightgate.trials import Ending, ToolCall, Trial, TrialKey

AT_ONCE = RetryPolicy(base_s=0.0)
"""Retries without a wait."""


# --- what is judged ---


def a_case(
    case_id: str = "a", *, text: str = "Hi", expect: Mapping[str, Any] | None = None, **more: Any
) -> Case:
    """A case with the ``expect`` block as people write it."""
    return Case(id=case_id, input=text, expect=Expect.model_validate(dict(expect or {})), **more)


def a_suite(*cases: Case, **more: Any) -> Suite:
    """A suite around ``cases``; the models are names only."""
    values: dict[str, Any] = {"suite": "demo", "agent": "m:f", "model": "scripted:agent", "cases": cases}
    return Suite(**values | more)


def a_call(name: str, arguments: Any = None, **more: Any) -> ToolCall:
    """A tool call that succeeded."""
    values: dict[str, Any] = {"result": "ok", "status": "success"}
    return ToolCall(name=name, arguments={} if arguments is None else arguments, **values | more)


def user(text: str) -> dict[str, Any]:
    """A message of the user's."""
    return {"role": "user", "content": [{"text": text}]}


def assistant(*parts: str | tuple[str, str, Any]) -> dict[str, Any]:
    """A message of the model's: texts, and tool uses as (id, name, arguments)."""
    return {
        "role": "assistant",
        "content": [
            {"text": part}
            if isinstance(part, str)
            else {"toolUse": {"toolUseId": part[0], "name": part[1], "input": part[2]}}
            for part in parts
        ],
    }


def results(*answers: tuple[str, str] | tuple[str, str, str]) -> dict[str, Any]:
    """The message with tool results as (id, text) or (id, text, status)."""
    blocks = [
        {"toolUseId": use, "content": [{"text": text}], "status": status[0] if status else "success"}
        for use, text, *status in answers
    ]
    return {"role": "user", "content": [{"toolResult": block} for block in blocks]}


def a_trial(output: str = "", *calls: ToolCall, ending: Ending = Ending.COMPLETED, **more: Any) -> Trial:
    """A finished trial; with messages that say as much, unless others are given."""
    values: dict[str, Any] = {
        "key": TrialKey(run_id="r", suite="demo", case_id="a", trial=0),
        "ending": ending,
        "input": "Hi",
        "output": output,
        "tool_calls": calls,
        "messages": (user("Hi"), assistant(output)),
        "started_at": datetime(2026, 11, 29, 22, 30, tzinfo=UTC),
        "ended_at": datetime(2026, 11, 29, 22, 31, tzinfo=UTC),
    }
    return Trial(**values | more)


def a_score(status: Status = Status.PASS, **more: Any) -> Score:
    """A finding of an evaluator called E."""
    values: dict[str, Any] = {"evaluator": "E", "version": 1, "reason": f"it is {status}"}
    return Score(status=status, **values | more)


def a_planned(
    name: str = "E", *, kind: str = "code", threshold: str | None = "1.0", version: int = 1
) -> PlannedEvaluator:
    """An evaluator as planned."""
    judge = kind == "judge"
    return PlannedEvaluator(
        name=name,
        version=version,
        kind=kind,
        threshold=threshold,
        min_coverage="1.0",
        judge_model="scripted:judge" if judge else None,
        judge_fingerprint="f" * 16 if judge else None,
        config="c" * 16,
    )


def facts(kind: str = "code") -> EvaluatorFacts:
    """What planning knows of an evaluator."""
    return EvaluatorFacts(version=1, kind=kind, fingerprint="f" * 16 if kind == "judge" else None)


# --- a run ---


def a_planned_case(case: Case, *, trials: int = 1, evaluators: Sequence[str] = ("E",)) -> PlannedCase:
    """A case as planned."""
    return PlannedCase(
        case_id=case.id,
        case_hash="h",
        agent_fingerprint="g",
        layer=case.layer,
        stage=case.stage,
        trials=trials,
        evaluators=tuple(evaluators),
    )


def a_plan(*cases: PlannedCase, timeout_s: float = 30.0, limits: Mapping[str, int] | None = None) -> Plan:
    """The plan of a run of suite ``demo``."""
    return Plan(
        run_id="r",
        suite="demo",
        owner=None,
        date="2026-11-29",
        started_at="2026-11-29T22:30:00Z",
        run_kind="run",
        trigger="manual",
        model="scripted:agent",
        judge=None,
        user=None,
        fingerprint="g",
        evaluators=(a_planned(),),
        cases=cases,
        gate={},
        timeout_s=timeout_s,
        limits=dict(limits or {}),
    )


def a_scope(role: Role = Role.AGENT, **more: Any) -> Scope:
    """The scope of trial 0 of case ``a``."""
    values: dict[str, Any] = {"run_id": "r", "suite": "demo", "case_id": "a", "trial": 0}
    return Scope(role=role, **values | more)


class Clock:
    """Seconds that pass only when a test says so."""

    now = 0.0

    def monotonic(self) -> float:
        """As ``time.monotonic``."""
        return self.now


def a_clock(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> Clock:
    """Stop the time of these modules."""
    clock = Clock()
    for module in modules:
        monkeypatch.setattr(module, "time", clock)
    return clock


# --- models ---


def said(
    text: str = "ok", *, stop: str = "end_turn", usage: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """A provider's stream that says ``text``."""
    return _stream([({}, {"text": text})], stop, usage)


def called(
    name: str, arguments: Any = None, *, use: str = "t1", usage: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """A provider's stream that calls a tool; argument text is sent as it is."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    start = {"toolUse": {"name": name, "toolUseId": use}}
    return _stream([(start, {"toolUse": {"input": raw}})], "tool_use", usage)


def _stream(
    blocks: Iterable[tuple[dict[str, Any], dict[str, Any]]], stop: str, usage: Mapping[str, int] | None
) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for start, delta in blocks:
        events += [
            {"contentBlockStart": {"start": start}},
            {"contentBlockDelta": {"delta": delta}},
            {"contentBlockStop": {}},
        ]
    counts = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15} | dict(usage or {})
    return [
        *events,
        {"messageStop": {"stopReason": stop}},
        {"metadata": {"usage": counts, "metrics": {"latencyMs": 0}}},
    ]


class TinyModel(Model):
    """A model that answers with what ``reply`` makes of the messages: events, or an error to raise.

    Args:
        reply: Gets the messages and the number of the call, from 0; sync or async; may raise.
    """

    def __init__(self, reply: Callable[[Any, int], Any]) -> None:
        self.reply = reply
        self.calls = 0
        self.config: dict[str, Any] = {"model_id": "tiny"}

    def update_config(self, **model_config: Any) -> None:
        self.config.update(model_config)

    def get_config(self) -> dict[str, Any]:
        return self.config

    async def structured_output(
        self, output_model: Any, prompt: Any, *_: Any, **__: Any
    ) -> AsyncGenerator[Any, None]:
        for event in await self._events(prompt):
            yield event
        yield {"output": output_model()}

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncGenerator[Any, None]:
        for event in await self._events(messages):
            if isinstance(event, BaseException):
                raise event
            yield event

    async def _events(self, messages: Any) -> list[Any]:
        number, self.calls = self.calls, self.calls + 1
        found = self.reply(messages, number)
        return found if isinstance(found, list) else await found


def in_turn(*replies: Any) -> TinyModel:
    """A model that plays its replies one after the other: events, or an exception to raise."""

    def reply(_: Any, number: int) -> list[Any]:
        found = replies[number]
        if isinstance(found, BaseException):
            raise found
        return list(found)

    return TinyModel(reply)


class Journal(list[Any]):
    """What the meter wrote, in order."""

    def __call__(self, record: CallStart | Call) -> None:
        self.append(record)

    @property
    def ends(self) -> list[Call]:
        """The attempts that ended."""
        return [record for record in self if isinstance(record, Call)]

    @property
    def outcomes(self) -> list[str]:
        """How the attempts ended."""
        return [call.outcome.value for call in self.ends]


def a_price(**rates: str) -> Price:
    """Dollars a million tokens; kinds that are not named cost nothing."""
    kinds = {"input": "0", "output": "0", "cache_read": "0", "cache_write": "0"} | rates
    return Price(**{kind: Decimal(rate) for kind, rate in kinds.items()})


def a_meter(**more: Any) -> Meter:
    """A meter on the running loop, with a ``Journal`` and no cap."""
    values: dict[str, Any] = {"budget": Budget(None), "journal": Journal()}
    return Meter(**values | more)


def metered(
    inner: Any,
    meter: Meter | None = None,
    *,
    limiter: Limiter | None = None,
    role: Role = Role.AGENT,
    price: Price | None = FREE,
    policy: RetryPolicy = AT_ONCE,
    **wire: Any,
) -> MeteredModel:
    """``inner`` behind a meter, with retries that do not wait."""
    found = Wire(
        spec="tiny:model",
        price=price,
        normalise=lambda raw: normalise_usage(raw, "beside"),
        policy=policy,
        **wire,
    )
    return MeteredModel(inner, found, meter or a_meter(), limiter or a_limiter(), role)


def a_limiter(
    most: int = 100, per_minute: float | None = None, now: Callable[[], float] | None = None
) -> Limiter:
    """A limiter."""
    return Limiter(most, per_minute, now or time.monotonic)


class RepliesJudge:
    """A judge that answers with texts, one after the other; the last one for ever."""

    spec = "scripted:judge"
    fingerprint = "f" * 16

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.prompts: list[str] = []

    @property
    def model(self) -> Any:
        """Nothing that could be called."""
        return in_turn()

    async def ask(self, system: str, prompt: str) -> str:
        """The next reply."""
        self.prompts.append(prompt)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def in_folder(folder: Path, **modules: str) -> Path:
    """Write modules into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder
