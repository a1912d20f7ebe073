"""What defines a suite's thing under test and its judges, part by part: compared, named, sorted by trigger.

Owns the names of the parts, which of them differ, and how a difference reads. Reads plans; what no plan knows
(a model's life at its provider) comes from outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from nightgate.errors import InputError
from nightgate.plans import Plan, digest
from nightgate.ports import Store
from nightgate.rows.keys import manifest_key, manifest_prefix, parse_manifest_key
from nightgate.rows.manifests import Manifest
from nightgate.steps.changes import SIMULATED_USER
from nightgate.steps.reading import load_plan

TRIGGERS = ("model", "retrieval", "prompt", "tools", "code", "judge")
"""What a run is started by: of several parts that changed the first names it."""
AGENT = "agent"
"""Over the agents of all cases: tells that one changed in a part that no other part shows."""
_SOURCE, _LIFECYCLE = "source:", "lifecycle:"
_TRIGGER_OF = {
    "model": "model",
    "identity": "model",
    "lifecycle": "model",
    "source": "retrieval",
    "system_prompt": "prompt",
    "tools": "tools",
    "limits": "code",
    AGENT: "code",
    "git_sha": "code",
    "user": "judge",
    "judge": "judge",
    "version": "judge",
}
_OF_AGENT = ("model", "identity", "system_prompt", "tools", "limits", "user")
_SHORT = 12
"""Characters of a commit that are shown."""

Parts = Mapping[str, str]


def trigger_of(part: str) -> str:
    """What a change of this part starts a run as."""
    return _TRIGGER_OF[part.partition(":")[0]]


def source_part(source: str) -> str:
    """The part that stands for an entry of ``fingerprint:``."""
    return f"{_SOURCE}{source}"


def is_source(part: str) -> bool:
    """Whether a part stands for an entry of ``fingerprint:``."""
    return part.startswith(_SOURCE)


def lifecycle_part(model: str) -> str:
    """The part that stands for a model's life at its provider."""
    return f"{_LIFECYCLE}{model}"


def parts_of(plan: Plan) -> dict[str, str]:
    """The parts that a plan knows; texts that may be long or private are digested."""
    first = plan.parts
    found = {"model": plan.model, AGENT: plan.fingerprint}
    if first:
        sources = dict(first["sources"])
        user = sources.pop(SIMULATED_USER, None)
        found |= {
            "identity": str(first["model"]),
            "system_prompt": digest(first["system_prompt"]),
            "tools": str(first["tools"]),
            "limits": ", ".join(f"{name} {cap}" for name, cap in sorted(first["limits"].items())) or "none",
            **{source_part(name): str(value) for name, value in sources.items()},
        }
        found |= {"user": str(user)} if user is not None else {}
    if plan.git_sha is not None:
        found["git_sha"] = plan.git_sha
    for planned in plan.evaluators:
        found[f"version:{planned.name}"] = str(planned.version)
        if planned.judge_fingerprint is not None:
            found["judge"] = plan.judge or "none"
            found[f"judge:{planned.name}"] = planned.judge_fingerprint
    return found


def moved(now: Parts, settled: Parts | None, base: Parts | None) -> list[str]:
    """The parts that changed and that the last complete run did not measure as they are now.

    Args:
        now: What is there.
        settled: What was there when a look last found it quiet; None: nobody looked.
        base: What the last complete run measured; None: there is none.
    """
    before = {**(base or {}), **(settled or {})}
    found = [
        part
        for part, value in now.items()
        if part in before and before[part] != value and (base or {}).get(part) != value
    ]
    # The whole differs with each of its parts; alone it says that none of them shows the change.
    if AGENT in found and (_agents(now) != _agents(settled if settled is not None else base or {})):
        found.remove(AGENT)
    return found


def _agents(parts: Parts) -> dict[str, str]:
    return {p: value for p, value in parts.items() if p in _OF_AGENT or p.startswith(_SOURCE)}


def words(parts: Collection[str], now: Parts, settled: Parts | None, base: Parts | None) -> str:
    """What changed, in one line, in the order of the triggers."""
    before = {**(base or {}), **(settled or {})}
    shown = sorted(parts, key=lambda part: TRIGGERS.index(trigger_of(part)))
    return "; ".join(_word(part, before[part], now[part]) for part in _telling(shown))


def _telling(parts: Sequence[str]) -> Iterator[str]:
    """Without those that follow from another one."""
    for part in parts:
        follows = (part == "identity" and "model" in parts) or (part[:6] == "judge:" and "judge" in parts)
        if not follows:
            yield part


def _word(part: str, before: str, now: str) -> str:
    kind, _, name = part.partition(":")
    told = {
        "model": f"model: {before} -> {now}",
        "identity": "the model's script or options changed",
        "lifecycle": f"{name} is {now} at its provider, was {before}",
        "source": f"{name} changed",
        "system_prompt": "system prompt changed",
        "tools": "tool or skill schema changed",
        "limits": f"limits: {before} -> {now}",
        AGENT: "the agent changed, in a part that the first case does not show",
        "git_sha": f"code: commit {before[:_SHORT]} -> {now[:_SHORT]}",
        "user": "the simulated user changed",
        "judge": f"judge of {name} changed" if name else f"judge: {before} -> {now}",
        "version": f"{name}: evaluator version {before} -> {now}",
    }
    return told[kind]


def checked_trigger(text: str) -> str:
    """Return ``text`` if it is a trigger.

    Raises:
        InputError: If it is none.
    """
    if text not in TRIGGERS:
        msg = f"{text!r} is no kind of change: write one of {', '.join(TRIGGERS)}"
        raise InputError(msg)
    return text


def last_complete(store: Store, suite: str, *, live: bool) -> Plan | None:
    """The plan of the newest complete run of the whole suite, with its own models or with its live ones.

    Raises:
        DamagedError: If a manifest or a plan is none.
        StoreError: If the store is out of reach.
    """
    found = [address for key in store.find(manifest_prefix(suite)) if (address := parse_manifest_key(key))]
    newest: Plan | None = None
    for address in sorted(found, reverse=True, key=lambda address: (address.date, address.run_id)):
        if newest is not None and address.date.isoformat() < newest.date:
            break
        if Manifest.from_json(store.read(manifest_key(*address))).run_kind != "run":
            continue
        plan = load_plan(store, address.run_id)
        if plan.filters or plan.as_live != live:
            continue
        newest = plan if newest is None or newest.started_at < plan.started_at else newest
    return newest
