"""A look at the agents before anything is spent: what defines them, and what does not fit the cases.

Owns the probe: the factory is called once a case, with a model that refuses to be called, and the
agent is closed again. Knows no adapter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from nightgate.cases import Case, Persona, Suite
from nightgate.cases.asks import narrowed_away
from nightgate.cases.kinship import kinship
from nightgate.cases.problems import did_you_mean
from nightgate.conversations.loop import reached
from nightgate.errors import InputError
from nightgate.plans import Fingerprint, digest
from nightgate.ports import AgentFactory
from nightgate.rows.jsontext import json_text
from nightgate.rows.redaction import redact_text
from nightgate.steps.planning import limits_of

Tools: TypeAlias = Mapping[str, frozenset[str] | None]
"""Tool name -> names of its arguments; None where it takes any."""


async def fingerprints(
    suite: Suite,
    factory: AgentFactory,
    refusing: Any,
    identity: str,
    sources: Mapping[str, str],
    users: Mapping[str, str],
) -> tuple[dict[str, Fingerprint], dict[str, Tools | None]]:
    """What defines the agent of each case, by building it once around a model that refuses calls.

    Args:
        suite: Resolved.
        factory: Builds agents.
        refusing: The model that refuses calls.
        identity: Of the model under test.
        sources: Digests of what the suite's ``fingerprint:`` names.
        users: What defines the simulated user: part of a conversation's trial as much as the agent.

    Returns:
        Fingerprints and the tools on offer (None: a part of the target shows no agent), by case id.

    Raises:
        InputError: If the factory raises, hands out an object twice, or uses another model.
    """
    found: dict[str, Fingerprint] = {}
    offered: dict[str, Tools | None] = {}
    # Without secrets: the plan is stored, and a rotated key is no other agent. Most cases share the texts.
    known: dict[tuple[str | None, str, bool], Fingerprint] = {}
    limits = limits_of(suite)
    for case in suite.cases:
        target = await _built(factory, refusing, case, suite)
        try:
            tools = target.tools
            talks = case.persona is not None
            shown = target.system_prompt, json_text([*target.offered, *target.skills]), talks
            offered[case.id] = None if tools is None else {tool["name"]: _arguments(tool) for tool in tools}
            if shown not in known:
                known[shown] = Fingerprint(
                    model=identity,
                    system_prompt=shown[0] and redact_text(shown[0]),
                    tools=digest(redact_text(shown[1], json_text=True)),
                    limits=limits,
                    sources={**sources, **users} if talks else sources,
                )
            found[case.id] = known[shown]
            if case.persona is not None:
                _check_state(suite, case, case.persona, await target.state())
        finally:
            await target.close()
    return found, offered


def _check_state(suite: Suite, case: Case, persona: Persona, state: Mapping[str, Any] | None) -> None:
    """A conversation is decided by state, so the target has to show one that is not there yet."""
    where = f"{case.where}: case {case.id!r}"
    if state is None:
        msg = (
            f"{where} has a persona, and {suite.agent} shows no state to verify its goal by: "
            "return nightgate.Target(agent, state=...)"
        )
        raise InputError(msg)
    for name, goal in (("success", persona.success), ("forbidden", persona.forbidden)):
        if reached(state, goal):
            msg = (
                f"{where}: persona.{name}.state holds before the first message: whatever the agent does, it "
                "is reached. Name a state that only the conversation can bring about"
            )
            raise InputError(msg)


def warnings(suite: Suite, tools: Mapping[str, Tools | None], *, live: bool) -> list[str]:
    """What probably was not meant, seen once the agents are there.

    Args:
        suite: Resolved.
        tools: The tools that the agent of each case offers; None where it shows no agent.
        live: Whether ``when: live`` evaluators take part.
    """
    found: list[str] = []
    for case in suite.cases:
        expect, offered = case.expect, tools.get(case.id) or {}
        asked = [*expect.tools.must_call, *expect.tools.must_not_call, *expect.tools.max_calls]
        asked += [entry.tool for entry in expect.arguments]
        found += [
            f"{case.where}: case {case.id!r} names the tool {name!r}, which the agent does not offer"
            f"{did_you_mean(name, sorted(offered))}"
            for name in dict.fromkeys(asked)
            if name != "*" and offered and name not in offered
        ]
        found += _unknown_arguments(case, offered)
    found += narrowed_away(suite)
    blind = [case.id for case in suite.cases if tools.get(case.id, {}) is None]
    if blind:
        found.append(
            f"the target of {suite.agent}, or a part of it, shows no agent (case {blind[0]!r}): its calls "
            "cannot be recorded, so checks of tools, arguments and skills will be errors. Return a strands "
            "Agent, or a graph of them"
        )
    judges = suite.judges if live else ()
    found += [
        f"judge {judge} is a script: its ratings are canned, whatever {suite.model} answers"
        for judge in judges
        if judge.startswith("scripted:") and not suite.model.startswith("scripted:")
    ]
    related = (kinship(suite.model, judge) for judge in judges)
    found += [f"{suite.file}: {why}. Pin another judge, or calibrate this one" for why in related if why]
    return found


def _unknown_arguments(case: Case, offered: Tools) -> Iterator[str]:
    """Arguments that a tool does not take: an entry with one can never match."""
    for entry in case.expect.arguments:
        takes = offered.get(entry.tool)
        for name in entry.where if takes else ():
            if takes and name not in takes:
                yield (
                    f"{case.where}: case {case.id!r} wants the argument {name!r} of {entry.tool}, which the "
                    f"tool does not take{did_you_mean(name, sorted(takes))}"
                )


def _arguments(tool: Mapping[str, Any]) -> frozenset[str] | None:
    schema = tool.get("inputSchema", {}).get("json")
    if not isinstance(schema, Mapping) or schema.get("additionalProperties"):
        return None
    return frozenset(schema.get("properties") or ())


async def _built(factory: AgentFactory, refusing: Any, case: Case, suite: Suite) -> Any:
    try:
        return await factory.build(refusing, case)
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # the user's factory; it may raise anything
        why = f"{type(error).__name__}: {error}"
        msg = f"{suite.file}: agent {suite.agent} failed to build for case {case.id!r}: {why}"
        raise InputError(msg) from error
