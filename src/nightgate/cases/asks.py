"""Which evaluators a case gets, and why: ``expect``, the persona, suite.yaml; and what each is asked.

Owns the rule that what a case does not ask for is not run. Plans are made of it; it makes none.
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from nightgate.cases.hashing import question_hashes
from nightgate.cases.models import Case, EvaluatorConfig, Suite
from nightgate.cases.names import CODE_THRESHOLD, CRITERION, JUDGE_THRESHOLD, known_evaluator

_NOT_CONFIGURED = EvaluatorConfig()


def asked_by_expect(case: Case) -> tuple[str, ...]:
    """Evaluators that the parts of ``expect`` choose."""
    expect = case.expect
    chosen = {
        "ToolPolicy": expect.tools.asks,
        "ArgumentPolicy": bool(expect.arguments),
        "CitesSource": expect.cites is not None,
        "AnswerPolicy": expect.answer.asks,
        "StateReached": bool(expect.state),
        "SkillPolicy": expect.skills.asks,
        "BlockedAsExpected": expect.blocked is not None,
    }
    criteria = tuple(f"{CRITERION}{criterion.id}" for criterion in expect.judge)
    return tuple(name for name, asked in chosen.items() if asked) + criteria


def asked_by_persona(case: Case) -> tuple[str, ...]:
    """Evaluators of a conversation; with only ``forbidden``, LimitHeld alone decides."""
    persona = case.persona
    if persona is None:
        return ()
    held = ("LimitHeld",) if persona.forbidden is not None else ()
    if persona.limits_only:
        return held
    return (
        "GoalCompletion",
        *held,
        "TurnsToResolve",
        "TurnEfficiency",
        "Elicitation",
        "ReAsks",
        "PerceivedOnly",
    )


def asked_by_suite(suite: Suite, case: Case) -> tuple[str, ...]:
    """Judges and custom evaluators that suite.yaml names; they run wherever they are not narrowed away."""
    names = []
    for name, config in suite.evaluators.items():
        known = None if config.use is not None else known_evaluator(name)
        if known is not None and known.source in ("expect", "persona"):
            continue
        if known is not None and known.source == "named" and case.persona is None:
            continue
        names.append(name)
    return tuple(names)


def evaluators_of(suite: Suite, case: Case, *, live: bool = True) -> tuple[str, ...]:
    """Every evaluator planned on ``case``, each once: by ``expect``, persona, then suite.yaml.

    Args:
        suite: Narrows evaluators by layers, tags and cases.
        case: One of its cases.
        live: False leaves out those with ``when: live``, as a run with a scripted model does.
    """
    asked = (*asked_by_expect(case), *asked_by_persona(case), *asked_by_suite(suite, case))
    return tuple(
        name
        for name in dict.fromkeys(asked)
        if applies(suite.evaluators.get(name, _NOT_CONFIGURED), case, live=live)
    )


def narrowed_away(suite: Suite) -> list[str]:
    """A line for each evaluator that cases ask for in ``expect`` and suite.yaml narrows away from them.

    What they ask for is checked by nobody, which is rarely what was meant.
    """
    found: dict[str, list[str]] = {}
    for case in suite.cases:
        for name in asked_by_expect(case):
            if not applies(suite.evaluators.get(name, _NOT_CONFIGURED), case):
                found.setdefault(name, []).append(case.id)
    return [
        f"{suite.file}: {name} is narrowed away from {len(ids)} of the cases that ask for it in expect, "
        f"such as {ids[0]!r}: nobody checks what they ask for"
        for name, ids in found.items()
    ]


def applies(config: EvaluatorConfig, case: Case, *, live: bool = True) -> bool:
    """Whether ``config`` leaves the evaluator on ``case``."""
    if config.when == "live" and not live:
        return False
    if config.layers is not None and case.layer not in config.layers:
        return False
    if config.tags is not None and not set(config.tags) & set(case.tags):
        return False
    return config.cases is None or any(matches(case.id, pattern) for pattern in config.cases)


def questions_of(suite: Suite, case: Case, names: Collection[str]) -> dict[str, str]:
    """Hash of what each evaluator's finding depends on in the case; see ``question_hashes``.

    Args:
        suite: Says whose code is behind a name: that of its own users may read anything of a case.
        case: One of its cases.
        names: Of the evaluators.
    """
    return question_hashes(case, names, [name for name in names if _reads_expected(suite, name)])


def _reads_expected(suite: Suite, name: str) -> bool:
    config = suite.evaluators.get(name)
    known = None if config is not None and config.use is not None else known_evaluator(name)
    return known is None or known.reads_expected


def matches(case_id: str, pattern: str) -> bool:
    """Whether ``pattern`` means ``case_id``: the verbatim id, else a glob, upper and lower case apart."""
    return case_id == pattern or fnmatchcase(case_id, pattern)


def threshold_of(suite: Suite, name: str, kind: str) -> str | None:
    """The evaluator's threshold as decimal text: suite.yaml's, else the known one's, else its kind's."""
    config = suite.evaluators.get(name)
    if config is not None and config.threshold is not None:
        return config.threshold
    known = None if config is not None and config.use is not None else known_evaluator(name)
    if known is not None:
        return known.default_threshold
    return {"code": CODE_THRESHOLD, "judge": JUDGE_THRESHOLD}.get(kind)
