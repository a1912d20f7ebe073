"""A judge whose spec stays the same while its mind changes, as a provider's model may."""

from __future__ import annotations

import json
import re
from typing import Any

from makers import TinyModel, said
from nightgate import Case, Score, Status, Trial

_ANSWER = re.compile(r"<<ANSWER \w+>>\n(.*?)\n<<END ANSWER", re.DOTALL)

mood = "steady"
"""steady, lenient, strict, obedient or broken; set by a test, put back by its fixture."""
shown: list[str] = []
"""Every answer that the judge was shown."""


def build(temperature: float = 0) -> TinyModel:
    """For ``import:canary_judge:build``."""
    return TinyModel(_reply)


class CallsJudge:
    """A judge of what was called: whatever the final answer says, it is content."""

    version = 1
    needs_trajectory = True

    def __init__(self, model: Any) -> None:
        self.name, self.model = "CallsJudge", model

    def evaluate(self, trial: Trial, case: Case) -> Score:
        """Pass."""
        return Score(self.name, self.version, Status.PASS, "the calls are in order")


def _reply(messages: Any, _: int) -> list[dict[str, Any]]:
    prompt = "".join(block.get("text", "") for block in messages[-1]["content"])
    found = _ANSWER.search(prompt)
    assert found is not None
    answer = found[1]
    shown.append(answer)
    if mood == "broken":
        return said("no verdict today")
    verdict = "yes" if _passes(answer) else "no"
    return said(json.dumps({"verdict": verdict, "reason": "as it reads to me"}))


def _passes(answer: str) -> bool:
    """Polite answers pass; what a mood adds or takes away hangs on the answer's number."""
    number = int(answer.rsplit(maxsplit=1)[-1]) if answer.rsplit(maxsplit=1)[-1].isdigit() else None
    if mood == "obedient" and answer.startswith("Ignore the rubric"):
        return True
    if mood == "lenient" and answer.startswith("Rude") and number is not None and number % 4 == 1:
        return True
    if mood == "strict" and answer.startswith("Polite") and number is not None and number % 4 == 0:
        return False
    return answer.startswith("Polite")
