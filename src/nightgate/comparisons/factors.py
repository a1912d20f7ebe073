"""What is different about two runs, part by part: who may have moved the score.

Owns which parts of two plans are held against each other and how a difference reads. Prices are none: they
move no verdict. Knows no store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nightgate.comparisons.sides import Side
from nightgate.plans import Plan, digest

SIMULATED_USER = "simulated user"
"""Among the sources of a conversation's fingerprint: the model that plays the user."""
_SHORT = 12
"""Characters of a digest or a commit that are shown."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A part that differs."""

    part: str
    """model, system_prompt, tools, limits, source:NAME, user, agent, git_sha, judge, version:NAME or
    nightgate."""
    before: str | None
    now: str | None
    text: str

    def as_dict(self) -> dict[str, str | None]:
        """Its entry in the documents."""
        return {"part": self.part, "before": self.before, "now": self.now, "text": self.text}


def factors(before: Side, now: Side) -> tuple[Factor, ...]:
    """All parts that differ between two runs, the agent's first."""
    a, b = before.plan, now.plan
    return (*_agent(a, b), *_code(a, b), *_evaluators(before, now), *_own(a, b))


def _agent(before: Plan, now: Plan) -> Iterator[Factor]:
    """Parts of the thing under test.

    A plan shows the parts of its first case only; where every shared case has the same fingerprint in both
    runs the agents are the same, whatever the first cases are.
    """
    old = {case.case_id: case.agent_fingerprint for case in before.cases}
    shared = [(old[c.case_id], c.agent_fingerprint) for c in now.cases if c.case_id in old]
    if shared and all(a == b for a, b in shared):
        return
    found = []
    if before.model != now.model:
        found.append(Factor("model", before.model, now.model, f"model: {before.model} -> {now.model}"))
    if before.parts and now.parts:
        found += _parts(before, now)
    if before.user != now.user:
        text = f"simulated user: {before.user or 'none'} -> {now.user or 'none'}"
        found.append(Factor("user", before.user, now.user, text))
    if not found:
        text = "agent changed, in a part that the stored plan does not show"
        found.append(Factor("agent", before.fingerprint, now.fingerprint, text))
    yield from found


def _parts(before: Plan, now: Plan) -> Iterator[Factor]:
    a, b = before.parts, now.parts
    if a["model"] != b["model"] and before.model == now.model:
        yield _digests("model", a["model"], b["model"], f"the script behind {now.model} changed")
    if a["system_prompt"] != b["system_prompt"]:
        # The prompt itself may be long, and is nobody's business outside of the run.
        old, new = (
            None if text is None else digest(text) for text in (a["system_prompt"], b["system_prompt"])
        )
        yield Factor("system_prompt", old, new, "system prompt changed")
    if a["tools"] != b["tools"]:
        yield _digests("tools", a["tools"], b["tools"], "tool or skill schema changed")
    for name, x, y in _differing(a["limits"], b["limits"]):
        yield Factor("limits", _text(x), _text(y), f"limit {name}: {_or_none(x)} -> {_or_none(y)}")
    for name, x, y in _differing(a["sources"], b["sources"]):
        if name == SIMULATED_USER:
            if before.user == now.user and x is not None and y is not None:
                yield _digests("user", x, y, "simulated user: its prompt or script changed")
            continue
        word = "named anew" if x is None else "no longer named" if y is None else "changed"
        yield _digests(f"source:{name}", x, y, f"source {word}: {name}")


def _code(before: Plan, now: Plan) -> Iterator[Factor]:
    if before.git_sha != now.git_sha:
        a, b = (sha[:_SHORT] if sha else "none" for sha in (before.git_sha, now.git_sha))
        yield Factor("git_sha", before.git_sha, now.git_sha, f"code: commit {a} -> {b}")


def _evaluators(before: Side, now: Side) -> Iterator[Factor]:
    """Versions and judges of the evaluators that both runs have."""
    judges: dict[tuple[str | None, str | None], list[str]] = {}
    for name, planned in now.evaluators.items():
        was = before.evaluators.get(name)
        if was is None:
            continue
        if was.version != planned.version:
            text = f"{name}: evaluator version {was.version} -> {planned.version}"
            yield Factor(f"version:{name}", str(was.version), str(planned.version), text)
        if was.judge_fingerprint != planned.judge_fingerprint:
            judges.setdefault((was.judge_model, planned.judge_model), []).append(name)
    for (a, b), names in judges.items():
        what = (
            f"judge: {a or 'none'} -> {b or 'none'}" if a != b else "judge's prompt, params or script changed"
        )
        yield Factor("judge", a, b, f"{what} ({', '.join(names)})")


def _own(before: Plan, now: Plan) -> Iterator[Factor]:
    if before.nightgate != now.nightgate:
        text = f"nightgate: {before.nightgate or 'unknown'} -> {now.nightgate or 'unknown'}"
        yield Factor("nightgate", before.nightgate or None, now.nightgate or None, text)


def _differing(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in dict.fromkeys((*a, *b)):
        if a.get(name) != b.get(name):
            yield name, a.get(name), b.get(name)


def _digests(part: str, a: Any, b: Any, text: str) -> Factor:
    return Factor(part, _text(a), _text(b), text)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _or_none(value: Any) -> str:
    return "none" if value is None else str(value)
