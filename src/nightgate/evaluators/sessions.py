"""A trial's message log as a Strands Evals ``Session``, and as the plain list beside it.

Owns the translation that spares us a span exporter: shared exporters mix parallel trials in
silence, and the agent's own message list loses what its window drops. One trace a user turn, with
the tool executions and the agent invocation that the turn caused. A session cannot say that a call
has no outcome, the list can. Imports strands_evals when used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from nightgate.evaluators.loads import outcome_of, skill_of
from nightgate.evaluators.values import parsed
from nightgate.trials import Trial

_TICK = timedelta(microseconds=1)
_Call = tuple[int, Mapping[str, Any], Any, Mapping[str, Any] | None]
"""Number of its message, tool use, arguments as sent, result."""


def session(trial: Trial) -> Any:
    """The ``strands_evals.types.trace.Session`` of a trial; no traces when nothing was said."""
    from strands_evals.types.trace import Session, Trace

    key = trial.key
    session_id = f"{key.run_id}/{key.suite}/{key.case_id}/{key.trial}"
    calls = iter(_calls(trial))
    traces = [
        Trace(
            spans=_spans(trial, turn, calls, session_id, number),
            trace_id=f"{session_id}/{number}",
            session_id=session_id,
        )
        for number, turn in enumerate(_turns(trial.messages))
    ]
    return Session(traces=traces, session_id=session_id)


def _turns(messages: tuple[Mapping[str, Any], ...]) -> Iterator[list[Mapping[str, Any]]]:
    """Cut the log where the user speaks; tool results travel in user messages too, but say nothing."""
    turn: list[Mapping[str, Any]] = []
    for message in messages:
        speaks = message["role"] == "user" and any("text" in block for block in message["content"])
        if speaks and turn:
            yield turn
            turn = []
        turn.append(message)
    if turn:
        yield turn


def _spans(
    trial: Trial, turn: list[Mapping[str, Any]], calls: Iterator[_Call], session_id: str, number: int
) -> list[Any]:
    from strands_evals.types.trace import (
        AgentInvocationSpan,
        InferenceSpan,
        SpanInfo,
        ToolCall,
        ToolExecutionSpan,
        ToolResult,
    )

    began = trial.started_at or datetime.fromtimestamp(0, UTC)
    ended = trial.ended_at or began

    def info(name: str, parent: str | None, order: int | None = None) -> SpanInfo:
        # Judges of a tool call see the calls that ended before it began: each message of calls gets
        # a tick of its own. The log knows the order, not the moments.
        start = began if order is None else began + _TICK * (2 * order)
        return SpanInfo(
            trace_id=f"{session_id}/{number}",
            span_id=f"{number}-{name}",
            session_id=session_id,
            parent_span_id=parent,
            start_time=start,
            end_time=ended if order is None else start + _TICK,
        )

    agent = f"{number}-agent"
    spans: list[Any] = [InferenceSpan(span_info=info("model", agent), messages=_messages(turn))]
    uses = sum("toolUse" in block for message in turn for block in message["content"])
    for index, (order, use, arguments, answer) in enumerate(islice(calls, uses)):
        text = tool_text(answer) if answer else ""
        failed = answer is None or _failed(use, arguments, answer)
        call_id = use["toolUseId"]
        spans.append(
            ToolExecutionSpan(
                span_info=info(f"tool-{index}", agent, order),
                tool_call=ToolCall(name=use["name"], arguments=_arguments(arguments), tool_call_id=call_id),
                tool_result=ToolResult(
                    content=text, error=(text or "no result") if failed else None, tool_call_id=call_id
                ),
            )
        )
    spans.append(
        AgentInvocationSpan(
            span_info=info("agent", None),
            user_prompt=_said(turn, "user", first=True),
            agent_response=_said(turn, "assistant", first=False),
            available_tools=_offered(trial),
            system_prompt=trial.system_prompt,
        )
    )
    return spans


def _offered(trial: Trial) -> list[Any]:
    from strands_evals.types.trace import ToolConfig

    return [
        ToolConfig(
            name=tool["name"],
            description=tool.get("description"),
            parameters=tool.get("inputSchema", {}).get("json"),
        )
        for tool in trial.tools_offered or ()
    ]


def unanswered(trial: Trial) -> bool:
    """Whether the log ends before some call of its got a result, as it does when a person is asked."""
    return any(answer is None for _, _, answer in exchanges(trial.messages))


def message_list(trial: Trial) -> list[dict[str, Any]]:
    """The log as a list of messages, the system prompt first: texts, tool uses and tool results.

    Their extractors take a list as well, and read a call without a result as one whose outcome
    nobody recorded; in a session the same call is a failed one. Calls get ids of their own, since
    some servers give every call the same id.
    """
    found: list[dict[str, Any]] = []
    if trial.system_prompt is not None:
        found.append({"role": "system", "content": [{"text": trial.system_prompt}]})
    calls = iter(enumerate(_calls(trial)))
    waiting: dict[str, list[tuple[str, Mapping[str, Any], Any]]] = {}
    for message in trial.messages:
        content: list[dict[str, Any]] = []
        for block in message["content"]:
            if "text" in block:
                content.append({"text": block["text"]})
            elif "toolUse" in block:
                number, (_, use, arguments, _) = next(calls)
                call_id = f"call-{number}"
                waiting.setdefault(use["toolUseId"], []).append((call_id, use, arguments))
                sent = {"toolUseId": call_id, "name": use["name"], "input": _arguments(arguments)}
                content.append({"toolUse": sent})
            elif "toolResult" in block and waiting.get(block["toolResult"]["toolUseId"]):
                result = block["toolResult"]
                call_id, use, arguments = waiting[result["toolUseId"]].pop(0)
                answer = {
                    "toolUseId": call_id,
                    "status": "error" if _failed(use, arguments, result) else "success",
                    "content": [{"text": tool_text(result)}],
                }
                content.append({"toolResult": answer})
        if content:
            found.append({"role": message["role"], "content": content})
    return found


def _failed(use: Mapping[str, Any], arguments: Any, answer: Mapping[str, Any]) -> bool:
    """Whether a call failed: also a load of a skill whose failure calls itself a success.

    Their extractor knows the refusals of a few tools; the words of all others it takes for the skill's
    instructions, and its evaluators would contradict ours on the same trial.
    """
    status = answer.get("status")
    skill = skill_of(use["name"], parsed(arguments))
    if status == "error" or skill is None:
        return bool(status == "error")
    return not outcome_of(use["name"], skill, tool_text(answer), status).loaded


def exchanges(
    messages: Iterable[Mapping[str, Any]],
) -> list[tuple[int, Mapping[str, Any], Mapping[str, Any] | None]]:
    """The tool uses of a log in order: number of their message, use, and the result that came back.

    A result belongs to the first use of its id that waits for one: some servers give every call the
    same id.
    """
    found: list[tuple[int, Mapping[str, Any], Mapping[str, Any] | None]] = []
    waiting: dict[str, list[int]] = {}
    for order, message in enumerate(messages):
        for block in message["content"]:
            if "toolUse" in block:
                waiting.setdefault(block["toolUse"]["toolUseId"], []).append(len(found))
                found.append((order, block["toolUse"], None))
            elif "toolResult" in block and waiting.get(block["toolResult"]["toolUseId"]):
                place = waiting[block["toolResult"]["toolUseId"]].pop(0)
                found[place] = (*found[place][:2], block["toolResult"])
    return found


def _calls(trial: Trial) -> list[_Call]:
    """The same with the arguments as the model sent them, which the log may have lost."""
    found = exchanges(trial.messages)
    sent = [call.arguments for call in trial.tool_calls]
    if len(sent) != len(found):
        sent = [use["input"] for _, use, _ in found]
    return [
        (order, use, arguments, answer) for (order, use, answer), arguments in zip(found, sent, strict=True)
    ]


def _messages(turn: list[Mapping[str, Any]]) -> list[Any]:
    from strands_evals.types.trace import (
        AssistantMessage,
        TextContent,
        ToolCallContent,
        ToolResultContent,
        UserMessage,
    )

    found: list[Any] = []
    for message in turn:
        content: list[Any] = []
        for block in message["content"]:
            if "text" in block:
                content.append(TextContent(text=block["text"]))
            elif "toolUse" in block:
                use = block["toolUse"]
                content.append(
                    ToolCallContent(
                        name=use["name"], arguments=_arguments(use["input"]), tool_call_id=use["toolUseId"]
                    )
                )
            elif "toolResult" in block:
                result = block["toolResult"]
                content.append(ToolResultContent(content=tool_text(result), tool_call_id=result["toolUseId"]))
        if content:
            kind = UserMessage if message["role"] == "user" else AssistantMessage
            found.append(kind(content=content))
    return found


def tool_text(result: Mapping[str, Any]) -> str:
    """The text of a tool result: its text blocks and its JSON blocks, a line each."""
    lines: list[str] = []
    for part in result.get("content", ()):
        if "text" in part:
            lines.append(part["text"])
        elif "json" in part:
            lines.append(json.dumps(part["json"], ensure_ascii=False, default=str))
    return "\n".join(lines)


def _arguments(value: Any) -> dict[str, Any]:
    """Strands wants an object; anything else travels under one key, so that a judge still sees it."""
    arguments = parsed(value)
    return arguments if isinstance(arguments, dict) else {"arguments": arguments}


def _said(turn: list[Mapping[str, Any]], role: str, *, first: bool) -> str:
    texts = [
        "\n".join(block["text"] for block in message["content"] if "text" in block)
        for message in turn
        if message["role"] == role
    ]
    spoken = [text for text in texts if text] if first else texts
    return spoken[0 if first else -1] if spoken else ""
