from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import SuiteError, load_suite

Write = Callable[..., Path]

HEAD = "suite: small\nagent: a:b\nmodel: scripted:good\n"
CASE = "cases:\n  - {id: refund, input: x, tags: [money], expect: {cites: []}%s}\n"


def _problems(folder: Path) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load_suite(folder)
    return [f"{problem.path.name}:{problem.line}: {problem.message}" for problem in raised.value.problems]


@pytest.mark.parametrize(
    ("evaluators", "message"),
    [
        ("{ToolPolcy: {}}", "unknown evaluator 'ToolPolcy'; did you mean 'ToolPolicy'?"),
        ("{toolpolicy: {}}", "did you mean 'ToolPolicy'?"),
        ("{CorrectnessEvalautor: {}}", "did you mean 'CorrectnessEvaluator'?"),
        ("{Zzz: {}}", "unknown evaluator 'Zzz'; a custom one needs use: module:Class"),
        ("{'Criterion:nowhere': {}}", "no case has the judge criterion of 'Criterion:nowhere'"),
        ("{ToolPolicy: {use: 'x:Y'}}", "is built in; give the class under use: a name of its own"),
        ("{CitesSource: {params: {patern: x}}}", "has no parameter 'patern'; did you mean 'pattern'?"),
        ("{CitesSource: {params: {pattern: '('}}}", "'(' is no regular expression"),
        ("{ToolPolicy: {params: {x: 1}}}", "has no parameter 'x'; it takes none"),
        ("{ToolCalled: {}}", "evaluator 'ToolCalled' needs params: {tool_name: ...}"),
        ("{CitesSource: {cases: [refnd]}}", "no case is meant by 'refnd'; did you mean 'refund'?"),
        ("{CitesSource: {tags: [mony]}}", "no case has the tag 'mony'; did you mean 'money'?"),
    ],
)
def test_evaluators_that_cannot_be_meant_are_refused_at_their_line(
    write_suite: Write, evaluators: str, message: str
) -> None:
    """A misspelt evaluator would gate nothing."""
    folder = write_suite({"suite.yaml": f"{HEAD}evaluators: {evaluators}\n", "cases.yaml": CASE % ""})

    (problem,) = _problems(folder)

    assert problem.startswith("suite.yaml:4: ")
    assert message in problem


def test_custom_evaluators_are_taken_by_their_word(write_suite: Write) -> None:
    """Check imports no user code."""
    text = f"{HEAD}evaluators: {{Mine: {{use: 'mine:Mine', params: {{anything: 1}}}}}}\n"

    assert load_suite(write_suite({"suite.yaml": text})).evaluators["Mine"].use == "mine:Mine"


@pytest.mark.parametrize(
    "more",
    [
        ", require: [CitesSorce]",
        ", may_skip: [CitesSorce]",
    ],
)
def test_require_and_may_skip_name_evaluators_that_run_on_the_case(write_suite: Write, more: str) -> None:
    """A required evaluator that is never planned would protect nothing."""
    (problem,) = _problems(write_suite({"cases.yaml": CASE % more}))

    assert "names 'CitesSorce', which does not run on it; did you mean 'CitesSource'?" in problem
    assert problem.startswith("cases.yaml:2: ")


def test_a_required_evaluator_that_is_narrowed_away_is_refused(write_suite: Write) -> None:
    """Known by name is not enough."""
    suite = f"{HEAD}judge: scripted:good\nevaluators: {{FaithfulnessEvaluator: {{layers: [quality]}}}}\n"
    folder = write_suite({"suite.yaml": suite, "cases.yaml": CASE % ", require: [FaithfulnessEvaluator]"})

    (problem,) = _problems(folder)

    assert "require names 'FaithfulnessEvaluator', which does not run on it" in problem


@pytest.mark.parametrize(
    "expect", ["{}", "{tools: {}, answer: {contains: [], exact: true}, state: {}, judge: []}"]
)
def test_a_case_that_asks_for_nothing_is_refused(write_suite: Write, expect: str) -> None:
    """It would pass for ever."""
    (problem,) = _problems(
        write_suite({"cases.yaml": f"cases:\n  - {{id: a, input: x, expect: {expect}}}\n"})
    )

    assert problem.startswith("cases.yaml:2: case 'a' asks for nothing; add expect")


def test_an_evaluator_of_the_suite_is_enough_to_ask_for(write_suite: Write) -> None:
    """Also one that only live runs play."""
    suite = f"{HEAD}judge: scripted:good\nevaluators: {{HelpfulnessEvaluator: {{when: live}}}}\n"

    assert load_suite(write_suite({"suite.yaml": suite, "cases.yaml": "cases: [{id: a, input: x}]"})).cases


@pytest.mark.parametrize(
    ("evaluators", "expect"),
    [
        ("{FaithfulnessEvaluator: {}}", "{cites: []}"),
        ("{FaithfulnessEvaluator: {when: live}}", "{cites: []}"),
        ("{}", "{judge: [{id: j, criterion: Is it polite?}]}"),
    ],
)
def test_a_judge_evaluator_needs_a_pinned_judge(write_suite: Write, evaluators: str, expect: str) -> None:
    """Without a pin every judge of the library falls back to one model in silence."""
    folder = write_suite(
        {
            "suite.yaml": f"{HEAD}evaluators: {evaluators}\n",
            "cases.yaml": f"cases: [{{id: a, input: x, expect: {expect}}}]",
        }
    )

    (problem,) = _problems(folder)

    assert "judge is missing" in problem


def test_a_persona_needs_a_simulated_user(write_suite: Write) -> None:
    """Somebody has to talk."""
    folder = write_suite({"cases.yaml": "cases: [{id: a, persona: {goal: g, success: {state: {a: b}}}}]"})

    (problem,) = _problems(folder)

    assert "user is missing: case 'a' has a persona" in problem


@pytest.mark.parametrize(
    "line", ["model: scripted:goood", "judge: scripted:goood", "live: {model: scripted:goood}"]
)
def test_a_script_that_is_not_there_is_named_with_the_nearest(write_suite: Write, line: str) -> None:
    """It would surface in the first trial otherwise."""
    head = HEAD if not line.startswith("model") else "suite: small\nagent: a:b\n"

    (problem,) = _problems(write_suite({"suite.yaml": head + line + "\n"}))

    assert "there is no scripts/goood.yaml; did you mean 'good'?" in problem


def test_judgements_of_an_unknown_evaluator_are_refused(write_suite: Write) -> None:
    """The real evaluator would find its script exhausted."""
    script = "judgements:\n  CorrectnesEvaluator: {'*': {fields: best}}\n"

    (problem,) = _problems(write_suite({"scripts/judge.yaml": script}))

    assert problem.startswith("judge.yaml:2: judgements of the unknown evaluator 'CorrectnesEvaluator'")
    assert problem.endswith("did you mean 'CorrectnessEvaluator'?")


def test_a_script_of_cases_that_are_gone_still_loads(write_suite: Write) -> None:
    """A removed case leaves its replies behind; that is worth a warning only."""
    assert load_suite(write_suite({"scripts/good.yaml": "replies: {'*': [{say: x}], gone: [{say: y}]}"}))


@pytest.mark.parametrize(
    ("suite", "case", "message"),
    [
        ("evaluators: {CitesSource: {cases: [b]}}", "id: b, expect: {cites: []}", "needs an input"),
        ("", "id: b, input: x, expect: {tols: {}}", "unknown key 'tols'"),
        ("", "id: b, input: x, expect: {zzz: {}}", "unknown key 'zzz'"),
        ("", "id: b, input: x, expct: {cites: []}", "unknown key 'expct'"),
        ("", "id: b, input: x, expect: {}, expect: {cites: []}", "key 'expect' is there twice"),
        ("", "id: b, input: x, require: [CitesSource], expect: {cites: 5}", "expect.cites: must be a list"),
        (
            "user: scripted:good",
            "id: b, persona: {goal: g, succes: {state: {a: b}}}",
            "'succes' in persona; did you mean 'success'?",
        ),
        (
            "evaluators: {CitesSource: {tags: [t]}}",
            "id: b, input: x, tags: 5, expect: {cites: []}",
            "tags: must be a list",
        ),
        (
            "evaluators: {'Criterion:c': {}}",
            "id: b, input: x, expect: {cites: [], judge: 5}",
            "expect.judge: must be a list",
        ),
        ("evaluaters: {Mine: {use: 'a:B'}}", "id: b, input: x, require: [Mine]", "unknown key 'evaluaters'"),
        ("evaluators: {Mine: 5}", "id: b, input: x, require: [Mine]", "evaluators.Mine: must be a mapping"),
        ("evaluators: {Mine: {usee: 'a:B'}}", "id: b, input: x, require: [Mine]", "unknown key 'usee'"),
        (
            "evaluators: {Mine: {use: 'a:B', layers: [behaviour]}}",
            "id: b, input: x, require: [Mine]",
            "did you mean 'behavior'?",
        ),
        (
            "judge: scripted:good\nevaluators: {CorrectnesEvaluator: {}}",
            "id: b, input: x, require: [CorrectnessEvaluator]",
            "unknown evaluator 'CorrectnesEvaluator'",
        ),
        (
            "jugde: scripted:good\nevaluators: {CorrectnessEvaluator: {}}",
            "id: b, input: x",
            "unknown key 'jugde'",
        ),
        ("usr: scripted:good", "id: b, persona: {goal: g, success: {state: {a: b}}}", "unknown key 'usr'"),
    ],
)
def test_one_slip_is_one_problem(write_suite: Write, suite: str, case: str, message: str) -> None:
    """What follows from it would send people to lines that are right."""
    folder = write_suite({"suite.yaml": f"{HEAD}{suite}\n", "cases.yaml": f"cases: [{{{case}}}]"})

    (problem,) = _problems(folder)

    assert message in problem


@pytest.mark.parametrize(
    ("suite", "case", "messages"),
    [
        ("model: nonsense", "require: [Nope], expect: {cites: []}", ["names no model", "names 'Nope'"]),
        ("judge: scripted:goood", "layr: x, expect: {cites: []}", ["no scripts/goood", "unknown key 'layr'"]),
        ("", "layr: x, require: [Nope], expect: {cites: []}", ["unknown key 'layr'", "names 'Nope'"]),
        ("", "layr: x, expect: {judge: [{id: j, criterion: c}]}", ["'layr'", "judge is missing"]),
        ("", "layr: x, persona: {goal: g, success: {state: {a: b}}}", ["'layr'", "user is missing"]),
        ("", "id: c, expect: {cites: []}, require: [Nope]", ["key 'id' is there twice", "names 'Nope'"]),
        (
            "evaluators: {CitesSource: {cases: [c], tags: [t]}}",
            "trials: 0, expect: {cites: []}",
            ["no case is meant by 'c'", "no case has the tag 't'", "trials: must be greater"],
        ),
    ],
)
def test_checks_across_files_look_at_what_is_right(
    write_suite: Write, suite: str, case: str, messages: list[str]
) -> None:
    """A mistake of one record hides none that others make together."""
    head = HEAD if not suite.startswith("model") else "suite: small\nagent: a:b\n"
    folder = write_suite(
        {"suite.yaml": f"{head}{suite}\n", "cases.yaml": f"cases: [{{id: b, input: x, {case}}}]"}
    )

    found = _problems(folder)

    assert len(found) == len(messages)
    assert all(any(message in problem for problem in found) for message in messages), found


def test_a_script_with_a_wrong_step_has_its_evaluators_checked_too(write_suite: Write) -> None:
    """Both are repaired in one round."""
    script = "judgements:\n  CorrectnesEvaluator: {'*': {fields: best}}\nreplies: {'*': [{sya: x}]}\n"

    found = _problems(write_suite({"scripts/judge.yaml": script}))

    assert [problem.partition(": ")[0] for problem in found] == ["judge.yaml:2", "judge.yaml:3"]


def test_cases_that_nobody_could_read_are_not_told_missing(write_suite: Write) -> None:
    """The evaluator is narrowed to one of them."""
    folder = write_suite(
        {
            "suite.yaml": f"{HEAD}evaluators: {{CitesSource: {{cases: [b], tags: [t]}}}}\n",
            "more.jsonl": '{"id": "b", "tags": ["t"]',
        }
    )

    (problem,) = _problems(folder)

    assert problem.startswith("more.jsonl:1: is no JSON")
