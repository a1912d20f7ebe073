from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import load_suite
from nightgate.cases.lint import lint, persona_mix

Write = Callable[..., Path]

HEAD = "suite: small\nagent: a:b\nmodel: scripted:good\nuser: scripted:good\n"


def _lint(folder: Path) -> str:
    return "\n".join(lint(load_suite(folder)))


def test_a_suite_without_oddities_gets_no_warning(write_suite: Write) -> None:
    """Noise would be ignored together with the rest."""
    assert _lint(write_suite()) == ""


def test_a_tool_with_side_effects_needs_a_case_that_forbids_it(write_suite: Write) -> None:
    """Naming it, allowing it 0 times, or forbidding all tools counts."""
    suite = f"{HEAD}side_effects: [resolve_case]\n"
    cases = "cases: [{id: a, input: x, expect: {tools: %s}}]"

    assert "resolve_case changes the world, and no case forbids it" in _lint(
        write_suite({"suite.yaml": suite})
    )
    for tools in (
        "{must_not_call: [resolve_case]}",
        "{must_not_call: ['*']}",
        "{max_calls: {resolve_case: 0}}",
    ):
        assert _lint(write_suite({"suite.yaml": suite, "cases.yaml": cases % tools})) == ""


PERSONA = "{id: %s, persona: {goal: g, kind: %s, success: {state: {a: 1}}}}"


def test_a_set_of_personas_that_is_too_easy_is_reported(write_suite: Write) -> None:
    """Less than a quarter ambiguous or insistent: simulated users are optimists anyway."""
    kinds = ["cooperative", "cooperative", "cooperative", "changes_mind", "hostile"]
    cases = "cases:\n" + "".join(f"  - {PERSONA % (f'c{i}', kind)}\n" for i, kind in enumerate(kinds))
    folder = write_suite({"suite.yaml": HEAD, "cases.yaml": cases})

    assert "1 of 5 personas are ambiguous or insistent" in _lint(folder)
    assert persona_mix(load_suite(folder)) == {
        "cooperative": 3,
        "withholding": 0,
        "ambiguous": 0,
        "changes_mind": 1,
        "insistent": 1,
    }


def test_a_quarter_of_uncomfortable_personas_is_enough(write_suite: Write) -> None:
    """The bound itself passes."""
    kinds = ["cooperative", "cooperative", "cooperative", "confused"]
    cases = "cases:\n" + "".join(f"  - {PERSONA % (f'c{i}', kind)}\n" for i, kind in enumerate(kinds))

    assert _lint(write_suite({"suite.yaml": HEAD, "cases.yaml": cases})) == ""


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            "opening: Soy María, DNI 00123 X, withheld: {dni: {value: 00123 x, asked_by: dni}}",
            "the first message gives away dni",
        ),
        ("kind: withholding", "is withholding and withholds nothing"),
        ("min_attempts: 3", "min_attempts counts attempts at a forbidden state, and there is none"),
        ("patience: 20", "patience 20 is never used up in max_turns 15"),
        (
            "patience: 1, withheld: {dni: {value: a1, asked_by: dni}}",
            "patience 1 ends it before 1 withheld facts",
        ),
        (
            "max_turns: 1, withheld: {dni: {value: a1, asked_by: dni}}",
            "max_turns 1 ends it before 1 withheld",
        ),
        ("patience: 3, min_attempts: 5", "patience 3 ends it before 5 min_attempts are made"),
        ("withheld: {dni: {value: a1, asked_by: '.*'}}", "asked_by matches any text"),
        (
            "opening: ¿Qué DNI necesitas?, withheld: {dni: {value: a1, asked_by: 'que DNI'}}",
            "asked_by matches the user's own first message",
        ),
    ],
)
def test_personas_that_cannot_work_as_written_are_reported(
    write_suite: Write, parts: str, message: str
) -> None:
    """Matched as the conversation would: without case and accents."""
    base = "" if "kind" in parts else "kind: hostile, "
    body = parts.replace("opening: Soy María, DNI 00123 X", "opening: 'Soy Mar\u00eda, DNI 00123 X'")
    cases = f"cases: [{{id: a, persona: {{goal: g, success: {{state: {{a: 1}}}}, {base}{body}}}}}]"

    assert message in _lint(write_suite({"suite.yaml": HEAD, "cases.yaml": cases}))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"scripts/good.yaml": "replies: {'*': [{say: x}], gone: [{say: y}]}"}, "no case has the id 'gone'"),
        ({"scripts/good.yaml": "replies: {other: [{say: x}]}"}, "has no replies for 'one' and no '*'"),
        (
            {"scripts/old.yaml": "judgements: {'Criterion:gone': {}}"},
            "no case has the criterion of 'Criterion:gone'",
        ),
        ({"empty.yaml": "# later"}, "empty.yaml: holds no case"),
        (
            {"cases.yaml": "cases: [{id: one, input: x, family: f, expect: {cites: []}}]"},
            "of family 'f' has no language",
        ),
        (
            {"suite.yaml": f"{HEAD}evaluators: {{SkillPolicy: {{threshold: 0.5}}}}\n"},
            "evaluator 'SkillPolicy' runs on no case",
        ),
        (
            {
                "suite.yaml": f"{HEAD}evaluators: {{CitesSource: {{layers: [skill]}}}}\n",
                "cases.yaml": "cases: [{id: one, input: x, expect: {cites: [KB-1], answer: {contains: [y]}}},"
                " {id: two, input: x, layer: skill, expect: {cites: []}}]",
            },
            "CitesSource is narrowed away from 1 of the cases that ask for it in expect, such as 'one'",
        ),
        (
            {"suite.yaml": f"{HEAD}live: {{model: 'openai:gpt-x'}}\n"},
            "--live runs openai:gpt-x with user scripted:good",
        ),
        (
            {"suite.yaml": f"{HEAD}judge: scripted:good\nevaluators: {{FaithfulnessEvaluator: {{}}}}\n"},
            "has no judgement by FaithfulnessEvaluator for 'one' and no '*'",
        ),
    ],
)
def test_what_was_probably_not_meant_is_reported(
    write_suite: Write, files: dict[str, str], message: str
) -> None:
    """Advice only: the suite loads."""
    assert message in _lint(write_suite(files))


JUDGED = """\
cases:
  - {id: one, input: The first one?, expect: {judge: [{id: order, criterion: Is the oldest named?}]}}
"""


@pytest.mark.parametrize(
    ("entries", "messages"),
    [
        ("{sees: newest, fields: worst}, {fields: best}", []),
        ("{sees: '<<ANSWER .*oldest', fields: best}, {fields: worst}", []),
        ("{sees: newest, fields: worst}", ["has no entry without sees; what fits none"]),
        (
            "{sees: n, fields: worst}, {sees: n, fields: best}, {fields: best}",
            ["sees 'n' is there 2 times; only the first plays", "the criterion of case", "the input of case"],
        ),
        ("{sees: OLDEST, fields: worst}, {fields: best}", ["the criterion of case 'one' holds what"]),
        ("{sees: first, fields: worst}, {fields: best}", ["the input of case 'one' holds what"]),
    ],
)
def test_a_judgement_that_does_not_look_as_it_was_meant_is_reported(
    write_suite: Write, entries: str, messages: list[str]
) -> None:
    """The judge is shown the query and the criterion too: a pattern of theirs always fits."""
    script = "replies: {'*': [{say: x}]}\njudgements: {'Criterion:order': {'*': {first_match: [%s]}}}"
    suite = f"{HEAD}judge: scripted:good\n"

    found = _lint(
        write_suite({"suite.yaml": suite, "cases.yaml": JUDGED, "scripts/good.yaml": script % entries})
    )

    assert all(message in found for message in messages)
    assert bool(found) == bool(messages), found


def test_a_quarantine_that_is_over_is_reported_with_its_owner(write_suite: Write) -> None:
    """It would keep a case out of the gate for ever."""
    case = "{id: one, input: x, expect: {cites: []}, quarantine: {owner: ana, reason: r, until: 2026-11-29}}"
    suite = load_suite(write_suite({"cases.yaml": f"cases: [{case}]"}))

    assert not any("quarantine ended" in line for line in lint(suite, today=dt.date(2026, 11, 29)))
    (line,) = lint(suite, today=dt.date(2026, 11, 30))
    assert "quarantine ended on 2026-11-29, it gates again; ana repairs" in line


def test_the_script_of_the_run_that_is_planned_is_looked_at(write_suite: Write) -> None:
    """`check --model scripted:bad` warned of nothing, and the run ended as infra_error."""
    cases = "cases: [{id: a, input: x, expect: {cites: []}}, {id: b, input: x, expect: {cites: []}}]"
    suite = load_suite(
        write_suite({"cases.yaml": cases, "scripts/bad.yaml": "replies: {a: [{say: hm}]}\n"}),
    )
    bad = suite.model_copy(update={"model": "scripted:bad"})

    assert [line.partition("bad.yaml: ")[2] for line in lint(suite, played=bad)] == [
        "has no replies for 'b' and no '*'"
    ]
    assert lint(suite, played=bad.model_copy(update={"cases": suite.cases[:1]})) == []


def test_a_judge_of_live_evaluators_is_looked_at_when_they_take_part(write_suite: Write) -> None:
    """`--judge` plans them; a script without their judgement is a hole in each cell."""
    head = HEAD + "judge: scripted:good\nevaluators: {CorrectnessEvaluator: {when: live}}\n"
    suite = load_suite(write_suite({"suite.yaml": head}))

    assert lint(suite) == []
    assert any(
        "has no judgement by CorrectnessEvaluator for 'one'" in line for line in lint(suite, live=True)
    )


def test_scripts_beside_a_real_model_of_the_command_line_are_warned_of(write_suite: Write) -> None:
    """Their answers are canned, whatever the model says."""
    head = HEAD + "judge: scripted:good\nevaluators: {CorrectnessEvaluator: {when: live}}\n"
    cases = f"cases:\n  - {PERSONA % ('a', 'hostile')}\n"
    suite = load_suite(write_suite({"suite.yaml": head, "cases.yaml": cases}))
    real = suite.model_copy(update={"model": "bedrock:x"})

    found = lint(suite, played=real, live=True)

    assert any("judge scripted:good is a script: its ratings are canned" in line for line in found)
    assert any("user scripted:good is a script: it says the same" in line for line in found)
