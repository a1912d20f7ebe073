"""Drafts: what a person gets, and that it loads and passes once they confirm it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from confirming import uncommented
from makers import a_call, a_trial
from nightgate.cases import load_suite
from nightgate.cases.scripts import load_script
from nightgate.evaluators.answer import AnswerPolicy
from nightgate.evaluators.arguments import ArgumentPolicy
from nightgate.evaluators.citations import CitesSource
from nightgate.evaluators.tools import ToolPolicy
from nightgate.importers.drafts import WHY, Draft, draft_of, slug
from nightgate.importers.masks import masked
from nightgate.importers.proposals import Surroundings
from nightgate.importers.records import Exchange, Recorded, RecordedCall, Unread
from nightgate.scores import Status

SUITE = """suite: drafted
agent: m:f
model: scripted:replay
"""

ODD = [
    *("no", "007", "1:30", "2026-11-29", "~", "null", "yes", "1.", ".5", "1e3", "0o17", "0x1F", "=", "<<"),
    *(
        "- a",
        "a: b",
        "a # b",
        "# not a remark",
        "## nor this",
        "'",
        '"',
        "\\",
        "{}",
        "[]",
        "&a",
        "*a",
        "!tag",
    ),
    *("%x", "@x", "`x`", "|", ">", "---", "...", "? a", "x\n", "\nx", " x", "x ", "a\n# b", "a\n  b\nc"),
    *(
        "a\n\nb",
        "a\tb",
        "a\r\nb",
        "\u2028",
        "\x85",
        "\ufeff",
        "\x00",
        "\x1b[31m",
        "\x7f",
        "\ufffe",
        "\U0001ffff",
    ),
    *(
        "🧾 \U0001f469\u200d\U0001f467 ok",
        "שלום: עולם",
        "\u202eabc",
        "مرحبا # x",
        "e\u0301",
        "x" * 300,
        "word " * 60,
    ),
    *("a\n" * 30 + "b", "[KB-101]", "say: x\ncall: {a: b}"),
]
TEXT = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec="utf-8"), max_size=40))
SPOKEN = TEXT.filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
CALLS = st.builds(
    RecordedCall,
    name=SPOKEN,
    arguments=st.dictionaries(TEXT, JSON, max_size=3),
    result=st.none() | TEXT,
    status=st.sampled_from(["success", "error", None]),
    said=TEXT,
    step=st.integers(0, 3),
)
TURNS = st.builds(
    Recorded,
    source=st.just({"kind": "otel", "about": "spans", "trace_id": "t1"}),
    input=SPOKEN,
    calls=st.lists(CALLS, max_size=4).map(lambda calls: tuple(sorted(calls, key=lambda call: call.step))),
    output=st.none() | TEXT,
    offered=st.lists(TEXT, max_size=3).map(tuple),
    unread=st.lists(st.builds(Unread, where=TEXT, what=TEXT), max_size=2).map(tuple),
)


def a_turn(**more: Any) -> Recorded:
    values: dict[str, Any] = {
        "source": {"kind": "otel", "about": "spans of a test", "trace_id": "t1"},
        "input": "Is it open?",
        "calls": (
            RecordedCall(
                name="find", arguments={"id": "007", "n": 1.0}, result="free: 12 June", status="success"
            ),
        ),
        "output": "Yes, until 12 June. [KB-101]",
        "offered": ("find", "cancel"),
    }
    return Recorded(**values | more)


def confirmed(draft: Draft, folder: Path) -> Any:
    """The suite after a person took every proposal and saved the replies."""
    (folder / "scripts").mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "draft.yaml").write_text(uncommented(draft.case), encoding="utf-8", newline="")
    (folder / "scripts" / "replay.yaml").write_text(draft.script, encoding="utf-8", newline="")
    return load_suite(folder)


def exactly(value: Any) -> str:
    """JSON text tells 1 from 1.0 and from true."""
    return json.dumps(value)


@given(TURNS)
@example(a_turn(calls=()))
@example(a_turn(output=None))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_confirmed_draft_loads_says_the_same_and_passes_on_what_was_recorded(
    tmp_path: Path, turn: Recorded
) -> None:
    """Quoting, types and proposals at once: whatever was recorded, the round trip is exact."""
    draft = draft_of(masked(turn, ()))
    clean = masked(turn, ())

    suite = confirmed(draft, tmp_path)
    (case,) = suite.cases
    steps = load_script(tmp_path / "scripts" / "replay.yaml").replies[draft.case_id].trials[0].steps

    assert case.input == clean.input
    played = [(call.name, exactly(call.arguments)) for step in steps for call in step.call]
    assert played == [(call.name, exactly(call.arguments)) for call in clean.calls]
    assert steps[-1].say == (clean.output or "")
    trial = a_trial(clean.output or "", *(a_call(call.name, call.arguments) for call in clean.calls))
    asked = [ToolPolicy()]
    asked += [ArgumentPolicy()] if case.expect.arguments else []
    asked += [CitesSource()] if case.expect.cites is not None else []
    asked += [AnswerPolicy()] if case.expect.answer.asks else []
    found = [check.evaluate(trial, case) for check in asked]
    assert [score.status for score in found] == [Status.PASS] * len(found), found


@given(TURNS)
@settings(max_examples=60)
def test_a_draft_is_one_readable_file_with_the_script_behind_it(turn: Recorded) -> None:
    """What is printed can be saved as it is; the remarks of the replies are the script again."""
    draft = draft_of(masked(turn, ()))

    lines = draft.whole.split("\n")

    assert "\n".join(line[4:] for line in lines if line.startswith("##: ")) == "\n".join(
        line for line in draft.script.split("\n") if line
    )
    assert draft.whole.endswith("\n")


def test_nothing_is_expected_before_a_person_says_so(tmp_path: Path) -> None:
    """The proposals are comments: an unconfirmed draft asks for nothing, and the loader says that."""
    draft = draft_of(a_turn())
    (tmp_path / "scripts").mkdir()
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "scripts" / "replay.yaml").write_text(draft.script)
    (tmp_path / "draft.yaml").write_text(draft.case)

    with pytest.raises(Exception, match="asks for nothing"):
        load_suite(tmp_path)


def test_the_case_is_reported_and_does_not_gate(tmp_path: Path) -> None:
    """A draft must not be able to block a release by itself."""
    (case,) = confirmed(draft_of(a_turn()), tmp_path).cases

    assert (case.layer, case.stage, case.why) == ("behavior", "capability", WHY)


def test_proposals_are_what_was_seen(tmp_path: Path) -> None:
    """Tools, exact arguments, citations and what the answer took from the data."""
    (case,) = confirmed(draft_of(a_turn()), tmp_path).cases

    assert case.expect.tools.must_call == ("find",)
    assert case.expect.tools.must_not_call == ("cancel",)
    assert [(entry.tool, exactly(entry.where), entry.match) for entry in case.expect.arguments] == [
        ("find", exactly({"id": "007", "n": 1.0}), "exact")
    ]
    assert case.expect.cites == ("KB-101",)
    assert case.expect.answer.contains == ("12", "June")


def test_without_a_call_no_tool_is_the_proposal(tmp_path: Path) -> None:
    """What answered without a tool is, most often, a refusal or the fault itself."""
    (case,) = confirmed(draft_of(a_turn(calls=(), output="I can't help with that.")), tmp_path).cases

    assert case.expect.tools.must_not_call == ("*",)
    assert case.expect.answer.contains == ("I can't help with that.",)


def test_parallel_calls_are_one_step(tmp_path: Path) -> None:
    """Replayed in two steps, the model would see the first result before its second call."""
    calls = tuple(
        RecordedCall(name=name, arguments={}, step=step) for name, step in (("a", 0), ("b", 0), ("c", 1))
    )

    draft = draft_of(a_turn(calls=calls))
    confirmed(draft, tmp_path)

    steps = load_script(tmp_path / "scripts" / "replay.yaml").replies[draft.case_id].trials[0].steps
    assert [[call.name for call in step.call] for step in steps] == [["a", "b"], ["c"], []]


def test_what_was_said_beside_a_call_is_replayed_with_it(tmp_path: Path) -> None:
    """It is part of the message that the model saw next."""
    call = RecordedCall(name="find", arguments={}, said="Let me look.")

    draft = draft_of(a_turn(calls=(call,)))
    confirmed(draft, tmp_path)

    steps = load_script(tmp_path / "scripts" / "replay.yaml").replies[draft.case_id].trials[0].steps
    assert (steps[0].say, steps[0].call[0].name) == ("Let me look.", "find")


@pytest.mark.parametrize(
    "arguments", ["{broken", [1, 2], 5, {"deep": 1e400}, {"x": {"y": {"z": float("nan")}}}]
)
def test_arguments_that_a_case_cannot_hold_are_told_and_replayed_as_text(
    tmp_path: Path, arguments: Any
) -> None:
    """The call is expected, its arguments are not; nothing is invented for them."""
    call = RecordedCall(name="find", arguments=arguments)

    draft = draft_of(a_turn(calls=(call,)))
    (case,) = confirmed(draft, tmp_path).cases

    assert case.expect.arguments == ()
    assert "arguments" in draft.case
    assert "cannot be expected" in draft.case


def test_equal_calls_are_expected_once(tmp_path: Path) -> None:
    """``1`` and ``1.0`` are equal to the evaluator, so one entry says it."""
    calls = tuple(RecordedCall(name="find", arguments={"n": n}) for n in (1, 1.0, 2))

    (case,) = confirmed(draft_of(a_turn(calls=calls)), tmp_path).cases

    assert [entry.where for entry in case.expect.arguments] == [{"n": 1}, {"n": 2}]


def test_what_could_not_be_read_stands_in_the_draft() -> None:
    """A remark an item, also where its text would break the file."""
    turn = a_turn(unread=(Unread(where="span 7", what="a part of type 'image'\n# expect: x"),))

    assert "## Not in this draft: span 7: a part of type 'image' # expect: x" in draft_of(turn).case


def test_masked_texts_are_told() -> None:
    """Who reads the draft must know that it is not what was said."""
    turn = replace(a_turn(), masked=2)

    assert "## Masked: 2 texts held what looked like a credential" in draft_of(turn).case


def test_suites_tools_with_side_effects_are_proposed_as_forbidden(tmp_path: Path) -> None:
    """Spans seldom say which tools were on offer; the suite does."""
    draft = draft_of(a_turn(offered=()), around=Surroundings(side_effects=("find", "pay")))

    (case,) = confirmed(draft, tmp_path).cases

    assert case.expect.tools.must_not_call == ("pay",)


def test_citations_follow_the_suites_own_pattern(tmp_path: Path) -> None:
    """With another pattern the proposal would fail on the recorded answer."""
    draft = draft_of(a_turn(output="See <a-1> and [KB-101]."), around=Surroundings(citation="<(a-[0-9])>"))

    (case,) = confirmed(draft, tmp_path).cases

    assert case.expect.cites == ("a-1",)


@pytest.mark.parametrize(
    ("text", "name"),
    [("¿Cuál fue el primer?", "cual-fue-el-primer"), ("שלום", ""), ("a/../b", "a-b"), ("x" * 99, "x" * 33)],
)
def test_file_names_are_plain(text: str, name: str) -> None:
    """A user's words never reach the file system as they are."""
    assert slug(text) == name


@pytest.mark.parametrize("case_id", ["../esc", "a/b", "con:1", "שלום", "X" * 300, "*", " "])
def test_an_odd_id_stays_verbatim_and_its_file_name_is_safe(tmp_path: Path, case_id: str) -> None:
    """``--case`` may name any id."""
    draft = draft_of(a_turn(), case_id=case_id)

    (case,) = confirmed(draft, tmp_path).cases

    assert case.id == case_id
    assert draft.name.replace("-", "").isalnum()
    assert draft.name.isascii()
    assert len(draft.name) <= 80


def test_two_traces_with_the_same_question_get_two_ids() -> None:
    """The second draft must not take the first one's place."""
    other = a_turn(source={"kind": "otel", "about": "spans", "trace_id": "t2"})

    assert draft_of(a_turn()).case_id != draft_of(other).case_id
    assert draft_of(a_turn()).case_id == draft_of(a_turn()).case_id


def test_an_id_is_short_and_cut_at_a_word() -> None:
    """It is typed after ``--case`` and stands in every table."""
    draft = draft_of(a_turn(input="What is the cheapest storage class for logs that nobody reads?"))

    assert re.fullmatch(r"what-is-the-cheapest-storage-[0-9a-f]{6}", draft.case_id)
    assert len(draft.case_id) <= 40


def test_the_draft_says_that_its_stage_never_gates() -> None:
    """A run of such cases alone is inconclusive, which surprises whoever confirmed one."""
    assert "## stage: capability is reported and never gates" in draft_of(a_turn()).case


@pytest.mark.parametrize(("context", "said"), [({}, False), ({"customer": 7}, False), (None, True)])
def test_a_context_is_asked_for_only_where_nothing_tells_whether_there_is_one(
    context: dict[str, Any] | None, said: bool
) -> None:
    """A case without one has nothing to copy, and one that is known is in the draft."""
    source = {"kind": "trial", "about": "trial 0", "case_id": "a"}

    case = draft_of(a_turn(source=source, context=context)).case

    assert ("if the case has a context, copy it" in case) is said


def test_a_masked_argument_is_not_expected(tmp_path: Path) -> None:
    """The agent sends the value, never the mask: an exact match would fail on every real answer."""
    arguments = {
        "user": "bob",
        "auth": {"kind": "basic", "password": "hunter2hunter2"},
        "old": ["hunter2hunter2"],
    }
    turn = masked(a_turn(calls=(RecordedCall(name="login", arguments=arguments),)), ())

    draft = draft_of(turn)
    (case,) = confirmed(draft, tmp_path).cases

    (entry,) = case.expect.arguments
    assert (entry.where, entry.match) == ({"user": "bob", "auth": {"kind": "basic"}}, "subset")
    assert "## call 1: masked, so not expected: 'auth.password', 'old'; the rest" in draft.case


def test_arguments_that_are_masked_altogether_are_not_expected(tmp_path: Path) -> None:
    """``where: {}`` would hold for any call."""
    turn = masked(a_turn(calls=(RecordedCall(name="login", arguments={"password": "hunter2hunter2"}),)), ())

    (case,) = confirmed(draft_of(turn), tmp_path).cases

    assert (case.expect.tools.must_call, case.expect.arguments) == (("login",), ())


def test_a_mask_is_never_a_word_that_the_answer_must_contain(tmp_path: Path) -> None:
    """It stands in data and answer alike, and in no real answer."""
    call = RecordedCall(
        name="login", arguments={"password": "hunter2hunter2"}, result="hunter2hunter2 is set"
    )
    turn = masked(a_turn(calls=(call,), output="hunter2hunter2 works."), ())

    (case,) = confirmed(draft_of(turn), tmp_path).cases

    assert not case.expect.answer.asks


def a_conversation() -> Recorded:
    calls = tuple(RecordedCall(name=name, arguments={}, step=step) for step, name in enumerate("abc"))
    exchanges = (
        Exchange(user="Cancel it.", agent="Which one?", calls=1),
        Exchange(user="The 7th.", agent="Done.", calls=2),
    )
    return a_turn(input="Cancel it.", calls=calls, output="Done.", exchanges=exchanges)


def test_a_conversation_becomes_a_persona_that_opens_like_the_user(tmp_path: Path) -> None:
    """One message of a conversation is no single question; its goal is for a person to say."""
    draft = draft_of(a_conversation())
    confirmed_suite = SUITE + "user: scripted:user\n"
    (tmp_path / "scripts").mkdir()
    (tmp_path / "suite.yaml").write_text(confirmed_suite)
    (tmp_path / "draft.yaml").write_text(uncommented(draft.case))
    for name in ("replay", "user"):
        (tmp_path / "scripts" / f"{name}.yaml").write_text(draft.script)

    (case,) = load_suite(tmp_path).cases

    assert case.persona is not None
    assert (case.layer, case.input, case.persona.opening) == ("conversation", None, "Cancel it.")
    assert "##   2. The 7th." in draft.case
    assert case.expect.tools.must_call == ("a", "b", "c")
    assert (case.expect.arguments, case.expect.answer.asks) == ((), False)


def test_replies_of_a_conversation_come_in_its_turns(tmp_path: Path) -> None:
    """A script without the answers in between would answer the first message with the last word."""
    draft = draft_of(a_conversation())
    (tmp_path / "replay.yaml").write_text(draft.script)

    steps = load_script(tmp_path / "replay.yaml").replies[draft.case_id].trials[0].steps

    assert [[call.name for call in step.call] or step.say for step in steps] == [
        ["a"],
        "Which one?",
        ["b"],
        ["c"],
        "Done.",
    ]


def test_an_unanswered_turn_says_so(tmp_path: Path) -> None:
    """The script still has a last step, or the replay would end in an error."""
    draft = draft_of(a_turn(output=None))
    (case,) = confirmed(draft, tmp_path).cases

    assert "No final answer was recorded" in draft.script
    assert not case.expect.answer.asks
