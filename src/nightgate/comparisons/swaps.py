"""What a search for the cause of a fall may swap between two runs, and what it may not.

Owns which cases fell, which differing parts are settings of a run (model, simulated user, limits, deadline,
judge), and what to do about the others. Unlike a comparison it takes a fall under another judge for a fall:
that the judge may be the cause is the question. Knows no store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nightgate.comparisons.factors import Factor, factors
from nightgate.comparisons.pairing import Flip, pair
from nightgate.comparisons.sides import Side
from nightgate.plans import Plan

MODEL, USER, LIMITS, TIMEOUT, JUDGE = "model", "user", "limits", "timeout", "judge"
"""Factors that a run takes as a setting."""
_SHORT = 12
_NAMED = 5

Pair = tuple[str, str]
"""Case id and evaluator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A setting that differs between the runs, and the broken cells that it may have moved."""

    factor: str
    before: str
    now: str
    pairs: tuple[Pair, ...]

    @property
    def text(self) -> str:
        """What changed, for people."""
        return f"{self.factor}: {self.before} -> {self.now}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A part that differs and is not swapped."""

    part: str
    text: str
    advice: str
    """How to find out about it all the same."""

    def as_dict(self) -> dict[str, str]:
        """Its entry in the document."""
        return {"part": self.part, "text": self.text, "advice": self.advice}


def fallen(before: Side, now: Side) -> tuple[Flip, ...]:
    """What passed for the most part before and does not now, over unchanged cases, whoever judged it."""
    found = []
    for case_id, case in now.cases.items():
        was = before.cases.get(case_id)
        if was is None or was.case_hash != case.case_hash:
            continue
        for name in now.evaluators:
            a, b = before.counts.get((case_id, name)), now.counts.get((case_id, name))
            if name not in before.evaluators or a is None or b is None:
                continue
            if b.decided and a.mostly_passes and not b.mostly_passes:
                found.append(Flip(case_id, name, a, b))
    return tuple(found)


def bench(plan: Plan) -> tuple[str | None, tuple[str, ...]]:
    """Who judges a run: the rule of its panel (None: a single judge), and the judges' specs."""
    if plan.panel:
        return str(plan.panel["rule"]), tuple(plan.panel["judges"])
    return None, () if plan.judge is None else (plan.judge,)


def swaps(before: Side, now: Side, broken: Sequence[Flip], talking: Collection[str]) -> tuple[Swap, ...]:
    """The settings that differ, in the order in which they are tried.

    Args:
        before: The good run.
        now: The bad one.
        broken: From ``fallen``.
        talking: Ids of the cases that are conversations.
    """
    a, b = before.plan, now.plan
    every = tuple((flip.case, flip.evaluator) for flip in broken)
    spoken = tuple(found for found in every if found[0] in talking)
    told = (
        (MODEL, a.model, b.model, every),
        (USER, a.user, b.user, spoken),
        (LIMITS, limits_text(a.limits), limits_text(b.limits), every),
        (TIMEOUT, f"{a.timeout_s:g} s", f"{b.timeout_s:g} s", every),
        (JUDGE, *_judges(a, b), tuple(_judged_anew(before, now, every))),
    )
    return tuple(
        Swap(factor=factor, before=x, now=y, pairs=pairs)
        for factor, x, y, pairs in told
        if x is not None and y is not None and x != y and pairs
    )


def _judges(a: Plan, b: Plan) -> tuple[str | None, str | None]:
    return (None, None) if bench(a) == bench(b) else (a.judge, b.judge)


def _judged_anew(before: Side, now: Side, pairs: Sequence[Pair]) -> Iterator[Pair]:
    for case_id, name in pairs:
        was, is_ = before.evaluators[name], now.evaluators[name]
        if is_.kind == "judge" and was.judge_fingerprint != is_.judge_fingerprint:
            yield case_id, name


def limits_text(limits: Mapping[str, int]) -> str:
    """Limits as people read them.

    >>> limits_text({"turns": 3, "output_tokens": 100}), limits_text({})
    ('output_tokens 100, turns 3', 'none')
    """
    return ", ".join(f"{name} {cap}" for name, cap in sorted(limits.items())) or "none"


def fixed(before: Side, now: Side, found: Sequence[Swap]) -> tuple[Fixed, ...]:
    """What differs and is not swapped, each with what to do about it.

    Args:
        before: The good run.
        now: The bad one.
        found: What is swapped, from ``swaps``.
    """
    swapped = {swap.factor for swap in found}
    told = [
        Fixed(part=factor.part, text=factor.text, advice=_advice(factor, before.plan, now.plan))
        for factor in factors(before, now)
        if not (factor.part in swapped and _is_setting(factor, before.plan, now.plan))
    ]
    return (*told, *_edited(before, now))


def _is_setting(factor: Factor, a: Plan, b: Plan) -> bool:
    """Whether the part differs by its setting, not by what lies behind the same setting."""
    if factor.part == JUDGE:
        return bench(a) != bench(b)
    return factor.part == LIMITS or factor.before != factor.now


def _advice(factor: Factor, a: Plan, b: Plan) -> str:
    part = factor.part.partition(":")[0]
    if part in ("model", "user") and getattr(a, part) == getattr(b, part):
        return f"put the script back as it was for {a.run_id} and run the broken cases again"
    if part == USER:
        return "no broken case is a conversation of both runs: it moved none of them"
    if part == JUDGE and bench(a) != bench(b):
        return "no broken case is judged by it: it moved none of them"
    if part in (JUDGE, "version"):
        return (
            f"judge the stored trials of {a.run_id} as it is now: `nightgate sweep {a.run_id}`; "
            "what fails there as well fell by it"
        )
    if part == "source":
        return f"put it back as it was for {a.run_id} and run the broken cases again"
    if part == "nightgate":
        return f"install nightgate {factor.before or 'as it was'} and run the broken cases again"
    at = f" ({a.git_sha[:_SHORT]})" if a.git_sha else ""
    return f"check out the revision of {a.run_id}{at} and run the broken cases there with {b.model}"


def _edited(before: Side, now: Side) -> Iterator[Fixed]:
    changed = pair(before, now).changed
    if not changed:
        return
    named = ", ".join(changed[:_NAMED]) + (
        f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
    )
    yield Fixed(
        part="cases",
        text=f"case text edited: {named}",
        advice="an edited case is another case: put the old text back and run it again",
    )
