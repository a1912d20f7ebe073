"""A gate's decision as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from nightgate.gates import Decision, Verdict
from nightgate.reports.text import plain


def render(decision: Decision) -> str:
    """Verdict, then one line an evaluator."""
    return "\n".join(_lines(decision))


def _lines(decision: Decision) -> Iterator[str]:
    yield f"{decision.verdict.value.upper()}  {decision.run_id}"
    for evaluator in decision.evaluators:
        tally = evaluator.tally
        judged = f" (judged {tally.judged} of {tally.planned})" if tally.judged < tally.planned else ""
        if evaluator.text is not None:
            # An inconclusive line says of itself what was not judged.
            yield plain(evaluator.text) + (judged if evaluator.verdict is Verdict.FAIL else "")
        elif evaluator.verdict is not None:
            yield (
                f"{plain(evaluator.name)}: {tally.passed} of {tally.planned} passed{judged}, "
                f"wanted {evaluator.threshold}"
            )
        else:
            yield f"{plain(evaluator.name)}: reported, does not gate"
    yield from (plain(reason) for reason in decision.reasons)
