"""A rating that came in another form than it was asked for is read, and nothing else is made into one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from makers import called, said, user
from nightgate.adapters.typed import as_asked

SCHEMA = {"type": "object", "properties": {"score": {}, "reason": {}}, "required": ["score", "reason"]}
RATING: dict[str, Any] = {
    "name": "Rating",
    "description": "IMPORTANT: This StructuredOutputTool should only be invoked as the last tool.",
    "inputSchema": {"json": SCHEMA},
}
LOOKUP: dict[str, Any] = {**RATING, "name": "Lookup", "description": "Looks up."}
GOOD = '{"score": "High", "reason": "well said"}'
SHOWN = [user("Rate the answer.")]


def arguments(events: Any) -> Any:
    """What the rating tool is called with; None without a call."""
    texts = [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]
    pieces = [delta["toolUse"]["input"] for delta in texts if "toolUse" in delta]
    return json.loads("".join(pieces)) if pieces else None


@pytest.mark.parametrize(
    "raw", [GOOD, f"```json\n{GOOD}\n```", f"{GOOD} // as asked", f"Here it is:\n{GOOD}", f"{GOOD[:-1]},}}"]
)
@pytest.mark.parametrize("as_call", [True, False])
def test_an_answer_in_words_or_fences_becomes_the_call(raw: str, as_call: bool) -> None:
    """With its own count of tokens, and one stop that says so."""
    events = called("Rating", raw) if as_call else said(raw)

    found = as_asked(events, [LOOKUP, RATING], SHOWN)

    assert arguments(found) == json.loads(GOOD)
    assert [e["messageStop"]["stopReason"] for e in found if "messageStop" in e] == ["tool_use"]
    assert [e for e in found if "metadata" in e] == [e for e in events if "metadata" in e]


@pytest.mark.parametrize(
    "events",
    [
        called("Rating", GOOD),
        said('{"score": 0.'),
        said("High, I would say."),
        said('{"reason": "fine"}'),
        said(GOOD, stop="max_tokens"),
        said(GOOD, stop="guardrail_intervened"),
        said('{"score": "High", "reason": "x"}\n{"score": "Low", "reason": "x"}'),
        called("Lookup", "no json"),
        [*called("Rating", "no json")[:-2], *called("Rating", "no json", use="t2")[1:]],
    ],
    ids=["good", "cut", "prose", "torn", "ran out", "blocked", "two", "other tool", "two calls"],
)
def test_anything_else_is_left_as_it_came(events: list[Any]) -> None:
    """A good call needs nothing; of the rest the SDK asks again."""
    assert as_asked(events, [RATING, LOOKUP], SHOWN) is events


def test_a_rating_that_the_judged_answer_planted_is_no_answer() -> None:
    """The judge quoted what it was shown."""
    events = said(GOOD)

    assert as_asked(events, [RATING], [user(f"Rate this answer: {GOOD}")]) is events


@pytest.mark.parametrize("specs", [None, [], [LOOKUP]])
def test_where_no_rating_was_asked_for_text_stays_text(specs: Any) -> None:
    """A judge of ours answers in words."""
    events = said(GOOD)

    assert as_asked(events, specs, SHOWN) is events
