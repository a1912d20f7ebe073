"""The scripted model: a Strands model whose answers are data, offline and the same every time.

Owns how a script's steps become a provider's stream. Reads who is asking (role, case, trial,
evaluator) from the current ``Scope`` and keeps its place there, so that one object serves any
number of trials at once. Knows nothing of files, prices or retries: ``cases.scripts`` reads the
script, ``metering`` counts what comes out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NoReturn

from strands.models.model import Model
from strands.tools import convert_pydantic_to_tool_spec
from strands.types.exceptions import ContextWindowOverflowException

from nightgate.adapters.failures import ScriptedFailure
from nightgate.adapters.ratings import Want, own_reply, rating
from nightgate.calls import Outcome, Role, Scope, current_scope
from nightgate.cases.script_steps import ScriptUsage, Step
from nightgate.cases.scripts import Playlist, Script
from nightgate.errors import ModelCallError
from nightgate.evaluators.text import fold, fold_pattern
from nightgate.trials import Usage

_STRUCTURED_OUTPUT = "IMPORTANT: This StructuredOutputTool"
"""How the SDK begins the description of the tool that it adds for typed answers."""

_NOTHING = ScriptUsage()


class ScriptedModel(Model):
    """Plays a script.

    A try that raises, is cut or is cancelled does not advance the script, so a retry meets the
    same step.

    Args:
        script: The replies.
        name: What it is called in specs and messages.
    """

    def __init__(self, script: Script, name: str) -> None:
        self.script = script
        self._name = name
        self.config: dict[str, Any] = {"model_id": f"scripted:{name}"}
        # Without a scope (somebody plays with the model by hand) it is a trial of its own.
        self._alone = Scope(role=Role.AGENT, run_id="", suite="", case_id="*", trial=0)

    def get_config(self) -> dict[str, Any]:
        """Its name as the model's id."""
        return self.config

    def update_config(self, **model_config: Any) -> None:
        """Keep what the SDK wants kept; nothing of it changes an answer."""
        self.config.update(model_config)

    async def structured_output(
        self, output_model: Any, prompt: Any, system_prompt: str | None = None, **_: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The SDK's older path to typed answers: the same step, as an object of ``output_model``."""
        spec = convert_pydantic_to_tool_spec(output_model)
        text = ""
        async for event in self.stream(prompt, [spec], system_prompt):
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            text += delta.get("text", "") or delta.get("toolUse", {}).get("input", "")
            yield event
        yield {"output": output_model.model_validate_json(text)}

    async def stream(  # type: ignore[override]
        self,
        messages: Any,
        tool_specs: Sequence[Mapping[str, Any]] | None = None,
        system_prompt: str | None = None,  # noqa: ARG002
        *,
        tool_choice: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Play the next step of whoever is asking.

        Raises:
            ModelCallError: ``exhausted``: there is no reply, or its steps have run out.
            ScriptedFailure: Where the script says ``raise:``.
            ContextWindowOverflowException: Where it says ``raise: context_overflow``.
        """
        scope = current_scope() or self._alone
        playlist = self._chosen(self._playlist(scope), messages, scope)
        place = scope.cursors.setdefault(id(self), [0, 0])
        step, fails = self._next(playlist, place, scope)
        index, tries = place
        # The place moves before the answer is out, and back if it does not get out: two calls of
        # one trial at the same time (a graph's nodes) then get two steps.
        place[:] = [index, tries + 1] if fails else [index + 1, 0]
        done = fails
        try:
            if step.delay_s:
                await asyncio.sleep(step.delay_s)
            if fails and step.raise_ is not None:
                self._raise(step.raise_)
            blocks = _blocks(step, tool_specs, tool_choice, scope.evaluator, messages)
            yield {"messageStart": {"role": "assistant"}}
            for event in _content(blocks, index):
                yield event
            if fails:  # cut: the stream ends here, without a stop
                return
            done = True
            calls = any(tool is not None for tool, _ in blocks)
            yield {"messageStop": {"stopReason": step.stop or ("tool_use" if calls else "end_turn")}}
            yield {"metadata": _metadata(step)}
        finally:
            if not done and place == [index + 1, 0]:
                place[:] = [index, 0]

    def expected_usage(self, scope: Scope | None) -> Usage | None:
        """Tokens of the next try of whoever is asking, so that a cap can hold its exact cost.

        Returns:
            None where the script does not settle the cost: the try times out, its stream is cut, or
            the cost depends on what the judge is shown.
        """
        asking = scope or self._alone
        try:
            playlist = self._playlist(asking)
        except ModelCallError:
            return Usage()  # it has no reply: nothing will be sent
        ways = [Playlist(steps=(choice,), repeat=True) for choice in playlist.choices] or [playlist]
        costs = [self._expected(way, asking) for way in ways]
        return costs[0] if all(cost == costs[0] for cost in costs) else None

    def _expected(self, playlist: Playlist, scope: Scope) -> Usage | None:
        """Tokens of the next try if ``playlist`` is what plays."""
        try:
            step, fails = self._next(playlist, list(scope.cursors.get(id(self), (0, 0))), scope)
        except ModelCallError:
            return Usage()
        if fails and (step.cut or step.raise_ == Outcome.TIMEOUT.value):
            return None
        counts = _NOTHING if fails else step.usage or _NOTHING
        return Usage(
            input=counts.input,
            output=counts.output,
            cache_read=counts.cache_read,
            cache_write=counts.cache_write,
        )

    def _playlist(self, scope: Scope) -> Playlist:
        """The steps of the scope's trial."""
        playlist = self.script.steps(
            role=scope.role,
            case_id=scope.case_id,
            trial=scope.trial + scope.repeat,
            evaluator=scope.evaluator,
        )
        if playlist is None:
            kind = "judgement" if scope.role is Role.JUDGE else "reply"
            self._exhausted(scope, f"has no {kind} for it, and none under '*'")
        return playlist

    def _chosen(self, playlist: Playlist, messages: Any, scope: Scope) -> Playlist:
        """The playlist itself, or what a ``first_match`` plays for these messages."""
        if not playlist.choices:
            return playlist
        shown = fold(shown_text(messages))
        chosen = playlist.chosen(lambda pattern: fold_pattern(pattern).search(shown) is not None)
        if chosen is None:
            count = len(playlist.choices)
            self._exhausted(scope, f"has {count} first_match entries, and none fits what the judge was shown")
        return chosen

    def _next(self, playlist: Playlist, place: list[int], scope: Scope) -> tuple[Step, bool]:
        """The step whose turn it is, and whether this try of it is one that fails."""
        while True:
            step = playlist.at(place[0]) if playlist.steps else None
            if step is None:
                count = len(playlist.steps)
                steps = "step" if count == 1 else "steps"
                self._exhausted(scope, f"ran out: it has {count} {steps} and was asked once more")
            if step.raise_ is None and not step.cut:
                return step, False
            if step.times is None or place[1] < step.times:
                return step, True
            if _has_answer(step):
                return step, False
            if playlist.repeat:
                self._exhausted(scope, f"has nothing to say after it failed {step.times} times")
            place[:] = [place[0] + 1, 0]

    def _exhausted(self, scope: Scope, what: str) -> NoReturn:
        judged = f", evaluator {scope.evaluator}" if scope.evaluator else ""
        raise ModelCallError(
            Outcome.EXHAUSTED.value,
            f"script {self._name!r}: case {scope.case_id!r}, trial {scope.trial}, {scope.role}{judged}: "
            f"the script {what}. Add steps to scripts/{self._name}.yaml, or a '*' entry",
        )

    def _raise(self, kind: str) -> NoReturn:
        if kind == Outcome.CONTEXT_OVERFLOW.value:
            raise ContextWindowOverflowException(f"script {self._name!r}: {kind}")
        raise ScriptedFailure(kind, f"script {self._name!r}: {kind}")


def shown_text(messages: Any) -> str:
    """All text that a request shows, tool results included; what the model said itself is left out."""
    shown: list[str] = []
    for message in messages:
        if message.get("role") == "assistant":
            continue
        for block in message.get("content", ()):
            for part in (block, *block.get("toolResult", {}).get("content", ())):
                if "text" in part:
                    shown.append(str(part["text"]))
                elif "json" in part:
                    shown.append(_json(part["json"]))
    return "\n".join(shown)


def _has_answer(step: Step) -> bool:
    """Whether there is anything to say once a step's failures are over."""
    return bool(step.call) or any(part is not None for part in (step.say, step.fields, step.raw, step.stop))


def _blocks(
    step: Step,
    tool_specs: Sequence[Mapping[str, Any]] | None,
    tool_choice: Mapping[str, Any] | None,
    evaluator: str | None,
    messages: Any,
) -> list[tuple[str | None, str]]:
    """The message's blocks in order: (tool name or None for text, what it says or is called with)."""
    blocks: list[tuple[str | None, str]] = [(None, text) for text in (step.raw, step.say) if text]
    if step.fields is not None:
        asked = _asked(tool_specs, tool_choice)
        blocks.append(_judgement(step.fields, asked, evaluator, messages))
    for call in step.call:
        arguments = call.arguments
        blocks.append((call.name, arguments if isinstance(arguments, str) else _json(arguments)))
    return blocks


def _judgement(
    fields: Any, asked: Mapping[str, Any] | None, evaluator: str | None, messages: Any
) -> tuple[str | None, str]:
    """A verdict in the form in which the judge was asked for it."""
    if isinstance(fields, str):
        want: Want = "best" if fields == "best" else "worst"
        schema = asked["inputSchema"]["json"] if asked is not None else None
        fields = (
            rating(schema, want) if schema is not None else own_reply(evaluator, shown_text(messages), want)
        )
    return None if asked is None else asked["name"], _json(fields)


def _asked(
    tool_specs: Sequence[Mapping[str, Any]] | None, tool_choice: Mapping[str, Any] | None
) -> Mapping[str, Any] | None:
    """The tool by which the SDK wants a typed answer; None when it wants text."""
    specs = tool_specs or ()
    forced = (tool_choice or {}).get("tool", {}).get("name")
    for spec in specs:
        if spec["name"] == forced or str(spec.get("description", "")).startswith(_STRUCTURED_OUTPUT):
            return spec
    return specs[0] if len(specs) == 1 else None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _content(blocks: Sequence[tuple[str | None, str]], index: int) -> list[dict[str, Any]]:
    """Start, delta and stop of each block. An empty ``say`` is a message without blocks."""
    events: list[dict[str, Any]] = []
    for number, (tool, text) in enumerate(blocks):
        if tool is None:
            start: dict[str, Any] = {}
            delta: dict[str, Any] = {"text": text}
        else:
            start = {"toolUse": {"name": tool, "toolUseId": f"scripted-{index}-{number}"}}
            delta = {"toolUse": {"input": text}}
        events.append({"contentBlockStart": {"start": start}})
        events.append({"contentBlockDelta": {"delta": delta}})
        events.append({"contentBlockStop": {}})
    return events


def _metadata(step: Step) -> dict[str, Any]:
    """Tokens as the script counts them: cached ones beside the input."""
    usage = step.usage or _NOTHING
    return {
        "usage": {
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "totalTokens": usage.input + usage.output + usage.cache_read + usage.cache_write,
            "cacheReadInputTokens": usage.cache_read,
            "cacheWriteInputTokens": usage.cache_write,
        },
        "metrics": {"latencyMs": round(step.delay_s * 1000)},
    }
