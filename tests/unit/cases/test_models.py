from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from nightgate.cases import Case, EvaluatorConfig, Quarantine, Suite
from nightgate.cases.binding import bind
from nightgate.cases.documents import parse_yaml
from nightgate.cases.models import GateConfig

HERE = Path("x.yaml")


def _case(text: str) -> Case:
    case, problems = bind(Case, parse_yaml(text, HERE), HERE)
    assert not problems
    return case


def _problems(text: str, model: type = Case) -> list[str]:
    _, problems = bind(model, parse_yaml(text, HERE), HERE)
    return [str(problem) for problem in problems]


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_text_is_an_id_and_stays_verbatim(case_id: str) -> None:
    """`a/b`, `../esc`, right-to-left text and white space are ids like any other."""
    assert Case(id=case_id, input="x").id == case_id


def test_an_empty_id_is_refused() -> None:
    """Nothing could name the case in a report."""
    assert _problems('{id: "", input: x}') == ["x.yaml:1: id: must not be empty"]


def test_text_fields_take_the_source_of_a_plain_scalar() -> None:
    """Norwegian, an order number, a time and a date, all written without quotes."""
    case = _case("{id: 007, language: no, input: 1:30, tags: [2026-11-29, true, ~], expected_output: 1.0}")

    assert (case.id, case.language, case.input, case.expected_output) == ("007", "no", "1:30", "1.0")
    assert case.tags == ("2026-11-29", "true", "~")


def test_free_values_follow_the_core_schema() -> None:
    """`where: {all_history: true, limit: 5}` compares with JSON arguments."""
    case = _case(
        "{id: a, input: x, context: {a: no, b: 007, c: true, d: ~, e: 1.5, f: '5', g: [0x1F, 1:30]}}"
    )

    assert case.context == {"a": "no", "b": 7, "c": True, "d": None, "e": 1.5, "f": "5", "g": [31, "1:30"]}


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e999"])
def test_numbers_that_json_cannot_carry_are_refused_in_free_values(value: str) -> None:
    """A comparison with NaN is never true, and no row could store it."""
    found = _problems(f"{{id: a, input: x, expect: {{state: {{total: {value}}}}}}}")

    assert len(found) == 1
    assert "numbers must be finite" in found[0]


def test_no_citations_allowed_differs_from_citations_not_asked() -> None:
    """`cites: []` plans CitesSource, an absent key does not."""
    assert _case("{id: a, input: x, expect: {cites: []}}").expect.cites == ()
    assert _case("{id: a, input: x}").expect.cites is None


def test_a_key_with_nothing_behind_it_is_refused_where_absent_means_something_else() -> None:
    """`cites:` could mean either of the two."""
    assert _problems("id: a\ninput: x\nexpect:\n  cites:\n") == [
        "x.yaml:4: expect.cites: must be a list, not nothing; leave the key out if nothing is meant"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{id: a, input: x, blocking: yes}", "blocking: must be true or false, not text 'yes'"),
        ("{id: a, input: x, trials: 3.0}", "trials: must be a whole number, not 3.0"),
        ("{id: a, input: x, trials: '3'}", "trials: must be a whole number, not text '3'"),
        ("{id: a, input: x, trials: true}", "trials: must be a whole number, not true"),
        ("{id: a, input: x, trials: 0}", "trials: must be greater than or equal to 1, not 0"),
        ("{id: a, input: x, trials: 99999}", "trials: must be less than or equal to 10000, not 99999"),
        ("{id: a, input: x, trials: }", "trials: nothing is written here"),
        ("{id: a, input: [KB-101]}", "input: must be text, not a list; quote it if text is meant"),
        ("{id: a, input: x, tags: refund}", "tags: must be a list, not refund"),
        ("{id: a, input: x, layer: behaviour}", "did you mean 'behavior'?"),
        ("{id: a, input: x, expect: {tols: {}}}", "unknown key 'tols' in expect; did you mean 'tools'?"),
        ("{id: a, inptu: x}", "unknown key 'inptu'; did you mean 'input'?"),
        (
            "{id: a, input: x, expect: {tools: {must_cal: [a]}}}",
            "'must_cal' in expect.tools; did you mean 'must_call'?",
        ),
        ("{input: x}", "key 'id' is missing"),
        ("{id: a}", "needs an input, or a persona that talks"),
        ("{id: a, input: ' '}", "needs an input, or a persona that talks"),
        (
            "{id: a, input: x, expect: {answer: {matches: ['(']}}}",
            "expect.answer.matches[0]: '(' is no regular",
        ),
        (
            "{id: a, input: x, expect: {answer: {contains: ['']}}}",
            "expect.answer.contains[0]: must not be blank",
        ),
        ("{id: a, input: x, expect: {answer: {language: english}}}", "is no language code"),
        (
            "{id: a, input: x, expect: {arguments: [{tool: t}]}}",
            "key 'where' is missing in expect.arguments[0]",
        ),
        (
            "{id: a, input: x, expect: {tools: {must_call: [a], must_not_call: ['*']}}}",
            "'a' must be called and must not",
        ),
        ("{id: a, input: x, expect: {tools: {must_call: [a], max_calls: {a: 0}}}}", "may be called 0 times"),
        (
            "{id: a, input: x, expect: {skills: {loaded: [a], not_loaded: [a]}}}",
            "skill 'a' must be loaded and",
        ),
        (
            "{id: a, input: x, expect: {judge: [{id: j, criterion: c}, {id: j, criterion: d}]}}",
            "judge id 'j' is there twice",
        ),
        ("{id: a, input: x, require: [T], may_skip: [T]}", "'T' is under require and under may_skip"),
        (
            "{id: a, input: x, blocking: true, quarantine: {owner: o, reason: r, until: 2026-12-01}}",
            "blocking and in quarantine",
        ),
        (
            "{id: a, input: x, blocking: true, stage: capability}",
            "is blocking in stage capability, which never",
        ),
        ("{id: a, input: x, quarantine: {owner: o, reason: r, until: soon}}", "must be a date such as"),
        ("[a]", "must be a mapping, not a list"),
    ],
)
def test_wrong_parts_of_a_case_are_named(text: str, message: str) -> None:
    """Each says where, what is wrong and what to do."""
    found = _problems(text)

    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    "written",
    [
        *("20261201", "'20261201'", "2026-W49-2", "2026-335", "2026-12-1", "26-12-01", "2026-11-31"),
        *("2026-12-01T00:00:00", "2026-12-01Z", "1796083200", "~", "'２０２６-12-01'"),
    ],
)
def test_a_day_is_written_in_one_form(written: str) -> None:
    """Quarantines end on it: a number is a time stamp to some and a day to others."""
    case = f"id: a\ninput: x\nquarantine:\n  owner: o\n  reason: r\n  until: {written}\n"

    (found,) = _problems(case)

    assert found.startswith("x.yaml:6: quarantine.until: ")
    assert "must be a date such as 2026-11-29" in found


def test_a_day_from_code_is_a_date_or_the_same_text() -> None:
    """A number or a moment in time would be rounded to a day that nobody wrote."""
    day = dt.date(2026, 12, 1)
    for value in (day, "2026-12-01"):
        assert Quarantine(owner="o", reason="r", until=value).until == day
    for wrong in (20261201, dt.datetime(2026, 12, 1, 12, tzinfo=dt.UTC)):
        with pytest.raises(ValidationError, match="must be a date such as"):
            Quarantine(owner="o", reason="r", until=wrong)


def test_every_problem_of_a_case_comes_with_its_own_line() -> None:
    """One run of check is enough to repair a file."""
    found = _problems("id: a\ninput: x\nlayr: behavior\ntrials: many\nexpect:\n  tools:\n    must_cal: [a]\n")

    assert sorted(problem.split(": ")[0] for problem in found) == ["x.yaml:3", "x.yaml:4", "x.yaml:7"]


def test_rules_of_a_record_are_looked_at_beside_wrong_fields() -> None:
    """A wrong field used to hide that the case could not be played at all."""
    found = _problems(
        "{id: a, layr: x, blocking: true, quarantine: {owner: o, reason: r, until: 2026-12-01}, "
        "expect: {tols: {}, tools: {must_call: [b], must_not_call: [b]}}}"
    )

    assert [problem.removeprefix("x.yaml:1: ").partition(";")[0] for problem in found] == [
        "expect.tools: 'b' must be called and must not be called",
        "unknown key 'tols' in expect",
        "unknown key 'layr'",
        "needs an input, or a persona that talks",
        "is blocking and in quarantine",
    ]


def test_every_rule_that_a_record_breaks_is_told() -> None:
    """Not only the first."""
    assert len(_problems("{id: a, require: [T], may_skip: [T], blocking: true, stage: capability}")) == 3


def test_a_case_made_in_code_keeps_the_rules_too() -> None:
    """Python code passes through the same checks as files."""
    with pytest.raises(ValidationError, match="is blocking in stage capability"):
        Case(id="a", input="x", blocking=True, stage="capability")


def test_a_case_with_a_persona_is_in_the_conversation_layer_unless_it_says_otherwise() -> None:
    """The layer of all other cases is behavior."""
    persona = "persona: {goal: g, success: {state: {a: b}}}"

    assert _case(f"{{id: a, {persona}}}").layer == "conversation"
    assert _case(f"{{id: a, layer: quality, {persona}}}").layer == "quality"
    assert _case("{id: a, input: x}").layer == "behavior"


def test_a_case_is_frozen() -> None:
    """Its hash would no longer be its own."""
    with pytest.raises(ValidationError):
        Case(id="a", input="x").id = "b"


@pytest.mark.parametrize("written", ["1.0", "0.85", "1", ".5", "0.999999999999999999999"])
def test_thresholds_keep_the_text_that_was_written(written: str) -> None:
    """They are compared as decimals; a float would move 0.85."""
    config, _ = bind(EvaluatorConfig, parse_yaml(f"threshold: {written}", HERE), HERE)

    assert config.threshold == written


@pytest.mark.parametrize(
    "written", ["85", "1.01", "-0.1", "85%", "0,85", ".nan", ".inf", "high", "true", "1e-1", ""]
)
def test_what_is_no_share_is_no_threshold(written: str) -> None:
    """A gate at 85 would never pass; one at NaN would never fail."""
    found = _problems(f"threshold: {written}", EvaluatorConfig)

    assert len(found) == 1
    assert "threshold: must" in found[0]


def test_an_empty_narrowing_is_refused() -> None:
    """`layers: []` could mean everywhere or nowhere."""
    assert "must not be empty" in _problems("layers: []", EvaluatorConfig)[0]


def test_a_list_with_one_wrong_item_is_one_problem() -> None:
    """Not also a list that is too short."""
    assert len(_problems("layers: [behaviour]", EvaluatorConfig)) == 1


def test_a_case_survives_pickling() -> None:
    """Worker processes are spawned."""
    case = _case("{id: a, input: x, context: {a: [1]}, persona: {goal: g, success: {state: {a: 1}}}}")

    assert pickle.loads(pickle.dumps(case)) == case


def test_defaults_of_a_suite_are_those_of_the_contract() -> None:
    """What is not written must not surprise."""
    suite = Suite(suite="s", agent="a:b", model="scripted:x")

    assert (suite.trials, suite.budget_usd, suite.judge, suite.cases) == (1, None, None, ())
    assert (suite.gate.min_coverage, suite.gate.max_error_share) == ("1.0", "0.0")
    assert (suite.gate.policy, suite.gate.on_inconclusive, suite.gate.judges) == ("point", "block", "any")


def test_a_budget_is_exact_and_zero_is_a_budget() -> None:
    """0 means that nothing may be spent, absent that there is no cap."""
    text = "{suite: s, agent: 'a:b', model: 'scripted:x', budget_usd: %s}"
    zero, _ = bind(Suite, parse_yaml(text % "0", HERE), HERE)
    cents, _ = bind(Suite, parse_yaml(text % "0.10", HERE), HERE)

    assert zero.budget_usd == Decimal(0)
    assert cents.budget_usd == Decimal("0.10")
    assert "budget_usd" in _problems(text % "", Suite)[0]
    assert "budget_usd" in _problems(text % "-1", Suite)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("suite: Support", "must be 1 to 64 characters of a-z, 0-9 and -"),
        ("suite: " + "x" * 65, "must be 1 to 64 characters"),
        ("agent: my_agents.support", "agent: must be module:name"),
        ("model: gpt-x", "names no model"),
        ("model: opnai:gpt-x", "did you mean 'openai'?"),
        ("timeout_s: .inf", "timeout_s: must be a finite number"),
        ("timeout_s: 0", "timeout_s: must be greater than 0"),
        ("limits: {turn: 3}", "unknown key 'turn' in limits; did you mean 'turns'?"),
        ("gate: {policy: confidnt}", "did you mean 'confident'?"),
        ("gate: {regression: {alpha: 0}}", "gate.regression.alpha: must be above 0"),
        (
            "evaluators: {ToolPolicy: {treshold: 1.0}}",
            "'treshold' in evaluators.ToolPolicy; did you mean 'threshold'?",
        ),
        ("evaluators: {ToolPolicy: {threshold: 85}}", "evaluators.ToolPolicy.threshold: must lie in [0, 1]"),
        ("cases: []", "unknown key 'cases'"),
        ("live: {modle: scripted:x}", "unknown key 'modle' in live; did you mean 'model'?"),
    ],
)
def test_wrong_parts_of_a_suite_are_named(text: str, message: str) -> None:
    """The nearest known name is part of the message."""
    whole = {"suite": "s", "agent": "'a:b'", "model": "'scripted:x'"}
    key = text.partition(":")[0]
    lines = [f"{name}: {value}" for name, value in whole.items() if name != key]
    tree = parse_yaml("\n".join([*lines, text]), HERE)

    _, problems = bind(Suite, tree, HERE, forbidden={"path", "cases"}, filled={"cases": ()})

    assert any(message in str(problem) for problem in problems), problems


def test_an_evaluator_with_nothing_behind_it_takes_its_defaults() -> None:
    """`CitesSource:` is how one writes a judge without options."""
    suite, problems = bind(
        Suite,
        parse_yaml("suite: s\nagent: a:b\nmodel: scripted:x\nevaluators:\n  CitesSource:\n", HERE),
        HERE,
    )

    assert not problems
    assert suite.evaluators == {"CitesSource": EvaluatorConfig()}


def test_trials_of_a_case_override_those_of_the_suite() -> None:
    """Per case, never per evaluator."""
    suite = Suite(suite="s", agent="a:b", model="scripted:x", trials=3)

    assert suite.trials_of(Case(id="a", input="x")) == 3
    assert suite.trials_of(Case(id="a", input="x", trials=1)) == 1


@pytest.mark.parametrize("rule", ["{}", "{max_drop: 0.03}", "{alpha: 0.05}"])
def test_a_regression_rule_that_says_nothing_is_refused(rule: str) -> None:
    """It looked like a rule."""
    found = _problems(f"regression: {rule}", GateConfig)

    assert [problem for problem in found if "neither max_drop nor alpha" in problem] == found
    assert bool(found) is (rule == "{}")
