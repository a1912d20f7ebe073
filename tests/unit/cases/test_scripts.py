from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.cases import Choice, Playlist, Script, SuiteError, load_script

CONTRACT = """\
replies:                       # by case id; "*" is the default
  refund-out-of-window:
    - call: {search_kb: {query: refund 45 days}}        # a list of such mappings: parallel calls
    - say: Not as a refund, but for store credit. [KB-101]
  coin-flip:
    trials:                    # trial i plays entry i modulo the length
      - [{say: yes}]
      - [{say: no}]
judgements:                    # for judges: by evaluator, then case id or "*"
  CorrectnessEvaluator:
    "*": {fields: {score: 1.0, reasoning: yes}}
  "Criterion:same-language":
    coin-flip: {raw: "not json"}             # judgements take `trials:` and all step options too
"""


def _load(tmp_path: Path, text: str) -> Script:
    file = tmp_path / "good.yaml"
    file.write_text(dedent(text), encoding="utf-8")
    return load_script(file)


def _problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        _load(tmp_path, text)
    return [f"{problem.line}: {problem.message}" for problem in raised.value.problems]


def test_the_script_of_the_contract_loads(tmp_path: Path) -> None:
    """`say: yes` is the text yes."""
    script = _load(tmp_path, CONTRACT)

    refund = script.steps(role="agent", case_id="refund-out-of-window", trial=0)
    assert refund.steps[0].call[0].name == "search_kb"
    assert refund.steps[0].call[0].arguments == {"query": "refund 45 days"}
    assert refund.steps[1].say == "Not as a refund, but for store credit. [KB-101]"
    judgement = script.steps(role="judge", case_id="any", trial=5, evaluator="CorrectnessEvaluator")
    assert judgement.steps[0].fields == {"score": 1.0, "reasoning": "yes"}
    raw = script.steps(role="judge", case_id="coin-flip", trial=0, evaluator="Criterion:same-language")
    assert raw.steps[0].raw == "not json"
    assert script.name == "good"
    assert script.case_ids == {"refund-out-of-window", "coin-flip"}


@pytest.mark.parametrize(("trial", "said"), [(0, "yes"), (1, "no"), (2, "yes"), (7, "no")])
def test_trial_i_plays_entry_i_modulo_the_length(tmp_path: Path, trial: int, said: str) -> None:
    """A coin that falls the same way every night."""
    script = _load(tmp_path, CONTRACT)

    assert script.steps(role="agent", case_id="coin-flip", trial=trial).steps[0].say == said


def test_agent_and_simulated_user_share_replies_and_judges_have_their_own(tmp_path: Path) -> None:
    """One file may carry all three roles."""
    script = _load(tmp_path, "replies: {'*': [{say: hi}]}\njudgements: {J: {'*': {fields: best}}}\n")

    assert script.steps(role="user", case_id="a", trial=0).steps[0].say == "hi"
    assert script.steps(role="judge", case_id="a", trial=0, evaluator="J").steps[0].fields == "best"
    assert script.steps(role="judge", case_id="a", trial=0, evaluator="K") is None
    assert script.steps(role="judge", case_id="a", trial=0) is None


def test_a_case_without_an_entry_gets_the_default_or_nothing(tmp_path: Path) -> None:
    """Nothing is an error of the run, so it must not look like an empty script."""
    with_default = _load(tmp_path, "replies: {'*': [{say: d}], a: [{say: a}]}")
    without = _load(tmp_path, "replies: {a: [{say: a}]}")

    assert with_default.steps(role="agent", case_id="a", trial=0).steps[0].say == "a"
    assert with_default.steps(role="agent", case_id="b", trial=0).steps[0].say == "d"
    assert without.steps(role="agent", case_id="b", trial=0) is None


def test_a_judgement_written_as_one_mapping_answers_every_call(tmp_path: Path) -> None:
    """A list runs out, as replies do."""
    script = _load(
        tmp_path,
        """
        judgements:
          One: {"*": {fields: best}}
          Listed: {"*": [{fields: best}]}
          Trials: {"*": {trials: [{fields: best}, [{raw: a}, {raw: b}]]}}
        """,
    )

    one, listed, first, second = (
        script.steps(role="judge", case_id="x", trial=trial, evaluator=name)
        for name, trial in (("One", 0), ("Listed", 0), ("Trials", 0), ("Trials", 1))
    )

    assert one.at(0) is one.at(9)
    assert listed.at(1) is None
    assert first.repeat
    assert [second.at(i).raw for i in range(2)] == ["a", "b"]
    assert second.at(2) is None


def test_all_step_options_are_read(tmp_path: Path) -> None:
    """What the scripted model needs to play every fault of a provider."""
    script = _load(
        tmp_path,
        """
        replies:
          "*":
            - {raise: throttled, times: 30, say: later}
            - {cut: true}
            - {say: "", usage: {input: 10, output: 20, cache_read: 5, cache_write: 1},
               delay_s: 0.5, stop: max_tokens}
            - call: [{a: {x: no, n: 007}}, {b: "{broken"}, {c: {}, d: plain text}, {e: }]
        price: {input: 0.10, output: 0.5}
        """,
    )
    raised, cut, empty, calls = script.steps(role="agent", case_id="a", trial=0).steps

    assert (raised.raise_, raised.times, raised.say) == ("throttled", 30, "later")
    assert cut.cut
    assert (empty.say, empty.stop, empty.delay_s) == ("", "max_tokens", 0.5)
    assert empty.usage.model_dump() == {"input": 10, "output": 20, "cache_read": 5, "cache_write": 1}
    assert [(call.name, call.arguments) for call in calls.call] == [
        ("a", {"x": "no", "n": 7}),
        ("b", "{broken"),
        ("c", {}),
        ("d", "plain text"),
        ("e", {}),
    ]
    assert (script.price.input, script.price.output, script.price.cache_read) == (
        Decimal("0.10"),
        Decimal("0.5"),
        0,
    )


def test_the_default_price_is_known_and_nothing(tmp_path: Path) -> None:
    """Unknown would make a budgeted run refuse to start."""
    assert _load(tmp_path, "replies: {}").price.input == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{sya: x}", "unknown key 'sya'; did you mean 'say'?"),
        ("{}", "does nothing: give say, call"),
        ("{delay_s: 1}", "does nothing"),
        ("{say: x, times: 2}", "times counts how often raise or cut happens"),
        ("{raise: throtled}", "did you mean 'throttled'?"),
        ("{raise: timeout, cut: true}", "cut and raise are two endings"),
        ("{fields: best, raw: x}", "fields and raw are two replies"),
        ("{fields: bst}", "fields: must be best, worst or a mapping, not 'bst'"),
        ("{say: }", "say: nothing is written here"),
        ("{say: [KB-101]}", "say: must be text, not a list; quote it"),
        ("{call: search}", "call: must be {tool: {argument: value}}"),
        ("{call: {}}", "call: names no tool"),
        ("{call: {t: [1]}}", "call[0].arguments: must be a mapping, or text"),
        ("{call: {t: {a: .nan}}}", "numbers must be finite"),
        (
            "{say: x, stop: end}",
            "stop: must be one of max_tokens, guardrail_intervened, content_filtered, not 'end'",
        ),
        ("{say: x, delay_s: -1}", "delay_s: must be greater than or equal to 0"),
        ("{say: x, usage: {inptu: 1}}", "unknown key 'inptu' in usage; did you mean 'input'?"),
        ("text", "must be a mapping, not text 'text'"),
    ],
)
def test_wrong_steps_are_named_with_their_place(tmp_path: Path, step: str, message: str) -> None:
    """A script is read long before it is played."""
    (problem,) = _problems(tmp_path, f"replies:\n  a:\n    - {step}\n")

    assert problem.startswith("3: replies.a[0]: ")
    assert message in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1: is empty; a script needs replies or judgements"),
        ("price: {input: 1}", "1: needs replies or judgements"),
        ("reples: {}", "1: unknown key 'reples'; did you mean 'replies'?"),
        ("replies: {a: {say: x}}", "replies.a: must be a list of steps"),
        ("replies: {a: {trials: []}}", "replies.a.trials: must be a list with one entry a trial"),
        ("replies: {a: {trials: [[{say: x}]], delay_s: 1}}", "unknown key 'delay_s' beside trials"),
        ("replies: []", "replies: must be a mapping, not a list"),
        ("judgements: {J: {a: text}}", "judgements.J.a: must be a step or a list of steps"),
        ("replies: {}\nprice: {inptu: 1}", "2: price: unknown key 'inptu'; did you mean 'input'?"),
        ("replies: {}\nprice: {input: -1}", "price: input: must be a decimal number"),
    ],
)
def test_wrong_shapes_of_a_script_are_named(tmp_path: Path, text: str, message: str) -> None:
    """All of them are listed, each with its line."""
    found = _problems(tmp_path, text)

    assert any(message in problem for problem in found), found


def test_all_problems_of_a_script_are_listed_at_once(tmp_path: Path) -> None:
    """One read is enough to repair it."""
    assert len(_problems(tmp_path, "replies:\n  a: [{sya: 1}, {say: x, times: 1}]\n  b: text\n")) == 3


# --- judgements that depend on what the judge is shown ---

CHOOSING = """\
judgements:
  J:
    a: {first_match: [{sees: newest, fields: worst}, {sees: "oldest|first", raw: x}, {fields: best}]}
    b: {trials: [{first_match: [{sees: x, raw: y}]}, {fields: best}]}
"""


def _judged(script: Script, case_id: str, trial: int = 0) -> Playlist:
    playlist = script.steps(role="judge", case_id=case_id, trial=trial, evaluator="J")
    assert playlist is not None
    return playlist


@pytest.mark.parametrize(
    ("shown", "played"), [("the newest first", 0), ("the first", 1), ("none", 2), ("newest, oldest", 0)]
)
def test_the_first_entry_whose_pattern_is_found_plays(tmp_path: Path, shown: str, played: int) -> None:
    """A judge's script that tells good answers from bad ones serves every script of the agent."""
    playlist = _judged(_load(tmp_path, CHOOSING), "a")

    chosen = playlist.chosen(lambda pattern: re.search(pattern, shown) is not None)

    assert chosen is not None
    assert chosen.at(0) is chosen.at(9) is playlist.choices[played]


def test_an_entry_of_trials_may_look_and_nothing_plays_when_none_fits(tmp_path: Path) -> None:
    """None is for the player to report; nothing is made up."""
    script = _load(tmp_path, CHOOSING)

    assert _judged(script, "b", 0).chosen(lambda _: False) is None
    assert _judged(script, "b", 1).chosen(lambda _: False) is _judged(script, "b", 1)


@given(st.lists(st.booleans(), max_size=6))
def test_what_plays_is_the_first_that_fits_and_the_last_without_a_pattern(fits: list[bool]) -> None:
    """For any outcome of the patterns."""
    choices = [Choice(sees=str(i), say=str(i)) for i in range(len(fits))]
    playlist = Playlist(steps=(), choices=(*choices, Choice(say="else")))

    chosen = playlist.chosen(lambda pattern: fits[int(pattern)])

    assert chosen is not None
    assert chosen.steps[0].say == (str(fits.index(True)) if True in fits else "else")


@pytest.mark.parametrize(
    ("judgement", "message"),
    [
        ("{first_match: []}", "3: judgements.J.a.first_match: must be a list such as"),
        ("{first_match: {sees: x, raw: y}}", "3: judgements.J.a.first_match: must be a list such as"),
        ("{first_match: [{sees: '(', raw: y}]}", "first_match[0]: sees: '(' is no regular expression"),
        ("{first_match: [{sees: ' ', raw: y}]}", "first_match[0]: sees: must not be blank"),
        ("{first_match: [{sees: , raw: y}]}", "first_match[0]: sees: nothing is written here"),
        ("{first_match: [{sees: x}]}", "first_match[0]: does nothing"),
        ("{first_match: [{seees: x, raw: y}]}", "unknown key 'seees'; did you mean 'sees'?"),
        ("{first_match: [{raw: x}, {sees: x, raw: y}]}", "first_match[0]: without sees it always fits"),
        ("{first_match: [text]}", "first_match[0]: must be a mapping, not text 'text'"),
        ("{first_match: [{raw: y}], delay_s: 1}", "unknown key 'delay_s' beside first_match"),
        ("{sees: x, raw: y}", "judgements.J.a: sees has no effect here; a judgement that depends on"),
        ("[{sees: x, raw: y}]", "judgements.J.a[0]: sees has no effect here"),
        ("[{first_match: [{raw: y}]}]", "judgements.J.a[0]: first_match has no effect here"),
        ("{trials: [{first_match: []}]}", "judgements.J.a.trials[0].first_match: must be a list"),
    ],
)
def test_wrong_forms_of_first_match_are_named(tmp_path: Path, judgement: str, message: str) -> None:
    """One problem each, with its place."""
    (problem,) = _problems(tmp_path, f"judgements:\n  J:\n    a: {judgement}\n")

    assert message in problem
    assert problem.startswith("3: ")


@pytest.mark.parametrize("replies", ["{first_match: [{say: x}]}", "[{sees: x, say: y}]"])
def test_replies_do_not_look(tmp_path: Path, replies: str) -> None:
    """What an agent says is decided by the script alone, so that a run is the same every time."""
    (problem,) = _problems(tmp_path, f"replies:\n  a: {replies}\n")

    assert "must be a list of steps" in problem or "sees has no effect here" in problem


def test_an_entry_without_a_pattern_before_others_is_found_at_its_own_line(tmp_path: Path) -> None:
    """The entries after it would never play."""
    text = "judgements:\n  J:\n    a:\n      first_match:\n        - raw: x\n        - {sees: x, raw: y}\n"

    (problem,) = _problems(tmp_path, text)

    assert problem.startswith("5: ")
