from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nightgate.cases import SuiteError, load_suite
from nightgate.errors import ExitCode

Write = Callable[..., Path]

CONTRACT_SUITE = """\
suite: support                                   # [a-z0-9-], unique
owner: support-team                              # named in alerts
agent: nightgate_samples.support:build           # module:factory, section 3
model: scripted:good                             # default model under test, section 4
judge: scripted:good                             # the pinned judge
user: scripted:good
trials: 1
live:
  {model: openai-responses:gpt-6-luna, judge: openai-responses:gpt-6.1-terra,
   user: openai-responses:gpt-6-luna, trials: 3}
side_effects: [resolve_case]
timeout_s: 120
limits: {turns: 20, output_tokens: 4000, total_tokens: 60000}
budget_usd: 2.00
fingerprint: [s3://bucket/kb/manifest.json]
evaluators:
  ToolPolicy: {threshold: 1.0}
  CitesSource: {threshold: 1.0}
  CorrectnessEvaluator: {threshold: 0.85, when: live}
  TerseAnswer: {use: "our_checks:TerseAnswer", threshold: 0.9, params: {max_words: 60}, layers: [behavior]}
gate: {min_coverage: 1.0, max_error_share: 0.0, policy: point, on_inconclusive: block}
alerts: [default]
"""
CONTRACT_CASE = """\
cases:
  - id: refund-out-of-window
    layer: behavior
    stage: regression
    family: refund-window
    language: en
    tags: [refund]
    blocking: false
    why: An upgraded model once promised refunds within 60 days.
    input: It arrived 45 days ago. Am I still in time for a refund?
    expected_output: Not as a refund; store credit between day 30 and 90. [KB-101]
    context: {customer_id: C-17}
    trials: 3
    require: [CorrectnessEvaluator]
    expect:
      tools: {must_call: [search_kb], must_not_call: [resolve_case], max_calls: {search_kb: 3}}
      arguments:
        - {tool: search_announcements, where: {sort_order: asc}, match: subset}
      cites: [KB-101]
      answer:
        {contains: [store credit], contains_any: [], not_contains: [],
         matches: [], not_matches: [], language: en}
      state: {"cases.CS-1001.status": open}
      skills: {loaded: [refund-policy], not_loaded: []}
      judge:
        - {id: same-language, criterion: Is the answer in the language of the question?}
      blocked: false
"""


SUITE_KEY = "suite: small\nagent: a:b\nmodel: scripted:good\npath: x\n"
CASE_KEY = "cases:\n  - {id: a, input: x, expect: {cites: []}, path: y}\n"


def _problems(folder: Path) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        load_suite(folder)
    return [
        f"{problem.path.relative_to(folder)}:{problem.line}: {problem.message}"
        for problem in raised.value.problems
    ]


def test_the_suite_and_case_of_the_contract_load(write_suite: Write) -> None:
    """The documented example is the first thing that people copy."""
    suite = load_suite(write_suite({"suite.yaml": CONTRACT_SUITE, "cases.yaml": CONTRACT_CASE}))

    case = suite.cases[0]
    assert (suite.suite, suite.owner, suite.timeout_s) == ("support", "support-team", 120.0)
    assert suite.evaluators["CorrectnessEvaluator"].threshold == "0.85"
    assert suite.live.trials == 3
    assert case.expect.tools.max_calls == {"search_kb": 3}
    assert case.expect.arguments[0].where == {"sort_order": "asc"}
    assert case.expect.state == {"cases.CS-1001.status": "open"}
    assert case.expect.judge[0].id == "same-language"
    assert case.expect.blocked is False


def test_a_suite_is_named_by_its_folder_or_its_file(write_suite: Write) -> None:
    """Both are natural on a command line."""
    folder = write_suite()

    assert load_suite(folder) == load_suite(folder / "suite.yaml") == load_suite(str(folder))
    assert load_suite(folder).path == folder


def test_cases_come_by_file_name_then_position(write_suite: Write) -> None:
    """Whatever order the file system lists them in, and whichever format a file has."""
    case = '{"id": "%s", "input": "x", "expect": {"cites": []}}'
    yaml = (
        "cases:\n  - {id: %s, input: x, expect: {cites: []}}\n  - {id: %s, input: x, expect: {cites: []}}\n"
    )
    folder = write_suite(
        {
            "cases.yaml": None,
            "c.yaml": yaml % ("z", "a"),
            "b.jsonl": f"{case % 'm'}\n\n{case % 'k'}\n",
            "a.yaml": yaml % ("y", "x"),
        }
    )

    suite = load_suite(folder)

    assert [case.id for case in suite.cases] == ["y", "x", "m", "k", "z", "a"]
    assert [(case.path.name, case.line) for case in suite.cases] == [
        ("a.yaml", 2),
        ("a.yaml", 3),
        ("b.jsonl", 1),
        ("b.jsonl", 3),
        ("c.yaml", 2),
        ("c.yaml", 3),
    ]


def test_only_the_top_level_holds_cases(write_suite: Write) -> None:
    """scripts, labels and transcripts are other things."""
    folder = write_suite({"labels/x.jsonl": "{}", "transcripts/t.yaml": "a: b", ".hidden.yaml": "x: y"})

    assert len(load_suite(folder).cases) == 1


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "cases:\n", "cases: []\n"])
def test_an_empty_case_file_is_a_suite_without_cases(write_suite: Write, text: str) -> None:
    """Nothing measured is the gate's verdict to give, not an error of the file."""
    assert load_suite(write_suite({"cases.yaml": text})).cases == ()


def test_all_problems_of_all_files_are_listed_at_once(write_suite: Write) -> None:
    """Repairing one at a time would take a run each."""
    folder = write_suite(
        {
            "suite.yaml": "suite: small\nagent: a:b\nmodel: scripted:good\nownr: me\ntrials: many\n",
            "cases.yaml": "cases:\n  - id: a\n    inptu: x\n  - {id: b, input: x, expect: {tols: {}}}\n",
            "broken.yaml": "cases:\n  - id: c\n   input: x\n",
            "lines.jsonl": '{"id": "d"\n{"id": "a", "input": "x"}\n',
            "scripts/good.yaml": "replies:\n  '*': [{sya: hi}]\n",
        }
    )

    found = _problems(folder)

    assert [problem.partition(": ")[0] for problem in found] == [
        "broken.yaml:3",
        "cases.yaml:2",
        "cases.yaml:3",
        "cases.yaml:4",
        "lines.jsonl:1",
        "lines.jsonl:2",
        "lines.jsonl:2",
        "scripts/good.yaml:2",
        "suite.yaml:4",
        "suite.yaml:5",
    ]
    text = "\n".join(found)
    assert "unknown key 'ownr'; did you mean 'owner'?" in text
    assert "case 'a': unknown key 'inptu'; did you mean 'input'?" in text
    assert "case 'b': unknown key 'tols' in expect; did you mean 'tools'?" in text
    assert "lines.jsonl:2: id 'a' is there twice" in text
    assert "replies.*[0]: unknown key 'sya'; did you mean 'say'?" in text
    assert "cases.yaml:2: case 'a' asks for nothing" in text
    assert "case 'b' asks for nothing" not in text


MANY_SUITE = """\
suite: small
agent: a:b
model: scripted:good
colour: blue
evaluators:
  ToolPolicyy: {threshold: 1.0}
"""
MANY_CASES = """\
cases:
  - {id: requires, input: x, require: [Nope], expect: {cites: []}}
  - {id: nothing, input: x}
  - id: repeated
    input: x
    why: one
    why: two
    expect: {cites: []}
  - {id: requires, input: x, expect: {cites: []}}
  - {id: misspelt, inputt: x, expect: {cites: []}}
"""


def test_mistakes_of_every_kind_are_listed_in_one_round_each_once(write_suite: Write) -> None:
    """A mistake of one kind hides none of another, and none is told twice."""
    folder = write_suite({"suite.yaml": MANY_SUITE, "cases.yaml": MANY_CASES})

    assert [problem.partition("; ")[0] for problem in _problems(folder)] == [
        "cases.yaml:2: case 'requires': require names 'Nope', which does not run on it",
        "cases.yaml:3: case 'nothing' asks for nothing",
        "cases.yaml:7: key 'why' is there twice, first on line 6",
        f"cases.yaml:9: id 'requires' is there twice, first in {folder}/cases.yaml:2",
        "cases.yaml:10: case 'misspelt': unknown key 'inputt'",
        "suite.yaml:4: unknown key 'colour'",
        "suite.yaml:6: unknown evaluator 'ToolPolicyy'",
    ]


def test_a_repeated_key_hides_nothing_else_of_its_line_of_jsonl(write_suite: Write) -> None:
    """Exporters write such lines."""
    line = '{"id": "one", "input": "x", "input": "y", "layr": "quality", "expect": {"cites": []}}'

    found = [
        problem.removeprefix("more.jsonl:1: ") for problem in _problems(write_suite({"more.jsonl": line}))
    ]

    assert sorted(problem.partition(";")[0].partition(",")[0] for problem in found) == [
        "case 'one': unknown key 'layr'",
        "id 'one' is there twice",
        "key 'input' is there twice",
    ]


def test_the_error_prints_one_line_a_problem_and_exits_with_2(write_suite: Write) -> None:
    """Editors and CI jump to `path:line`."""
    folder = write_suite({"suite.yaml": "suite: small\nagent: a:b\nmodel: scripted:good\nownr: me\n"})

    with pytest.raises(SuiteError) as raised:
        load_suite(folder)

    assert str(raised.value) == f"{folder}/suite.yaml:4: unknown key 'ownr'; did you mean 'owner'?"
    assert raised.value.exit_code is ExitCode.INPUT


@pytest.mark.parametrize(("first", "second"), [("refund", "refund"), ("r\u00e9fund", "re\u0301fund")])
def test_ids_that_are_equal_after_nfc_are_refused_with_both_positions(
    write_suite: Write, first: str, second: str
) -> None:
    """One row set would overwrite the other; on screen the two look the same."""
    case = "{id: %s, input: x, expect: {cites: []}}"
    folder = write_suite(
        {"cases.yaml": f"cases:\n  - {case % first}\n", "more.yaml": f"cases:\n\n  - {case % second}\n"}
    )

    (problem,) = _problems(folder)

    assert problem.startswith("more.yaml:3: id ")
    assert f"first in {folder}/cases.yaml:2" in problem


def test_ids_that_differ_in_case_only_are_two_cases(write_suite: Write) -> None:
    """NFC folds no case."""
    case = "{id: %s, input: x, expect: {cites: []}}"

    suite = load_suite(write_suite({"cases.yaml": f"cases:\n  - {case % 'A'}\n  - {case % 'a'}\n"}))

    assert [case.id for case in suite.cases] == ["A", "a"]


@pytest.mark.parametrize(("name", "text"), [("suite.yaml", SUITE_KEY), ("cases.yaml", CASE_KEY)])
def test_what_the_loader_fills_in_is_no_key_of_a_file(write_suite: Write, name: str, text: str) -> None:
    """A case cannot claim to stand elsewhere."""
    (problem,) = _problems(write_suite({name: text}))

    assert f"{name}:4: " in problem or f"{name}:2: " in problem
    assert "unknown key 'path'" in problem


ODD_IDS = [
    "a/b",
    "../esc",
    "con:1",
    "x" * 300,
    "r\u00e9fund \U0001f9fe",
    "\u0645\u0631\u062d\u0628\u0627",
    "%2F",
    "no",
    "007",
    "\u202eabc",
]


def test_ids_that_are_no_file_names_load_verbatim(write_suite: Write) -> None:
    """Ids are text; only stores have to care."""
    lines = "\n".join(json.dumps({"id": odd, "input": "x", "expect": {"cites": []}}) for odd in ODD_IDS)

    suite = load_suite(write_suite({"cases.yaml": None, "cases.jsonl": lines}))

    assert [case.id for case in suite.cases] == ODD_IDS


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(case_id=st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_id_round_trips_verbatim_through_both_formats(write_suite: Write, case_id: str) -> None:
    """YAML through JSON's escapes, JSONL as it is."""
    line = json.dumps({"id": case_id, "input": "x", "expect": {"cites": []}})
    in_yaml = load_suite(write_suite({"cases.yaml": f"cases:\n  - {line}\n"}))
    in_jsonl = load_suite(write_suite({"cases.yaml": "", "cases.jsonl": line}))
    (in_yaml.path / "cases.jsonl").unlink()

    assert [case.id for case in (*in_yaml.cases, *in_jsonl.cases)] == [case_id, case_id]


def test_a_folder_without_suite_yaml_is_refused(write_suite: Write) -> None:
    """With the misspelt file named, if there is one."""
    folder = write_suite({"suite.yaml": None, "suit.yaml": "cases: []"})

    assert "suite.yaml:0: is missing; every suite has one; did you mean 'suit.yaml'?" in _problems(folder)


def test_a_folder_of_suites_names_them_and_the_command_that_runs_all(write_suite: Write) -> None:
    """A newcomer gives `run` the folder that `nightly` takes."""
    folder = write_suite().parent

    with pytest.raises(SuiteError) as raised:
        load_suite(folder)

    assert str(raised.value) == (
        f"{folder}/suite.yaml: is missing; every suite has one. The suites in it are small; "
        f"`nightgate nightly {folder}` runs all of them"
    )


def test_a_path_that_does_not_exist_has_no_line(write_suite: Write) -> None:
    """An editor that jumps to line 1 of it finds nothing."""
    folder = write_suite()

    with pytest.raises(SuiteError) as raised:
        load_suite(folder.parent / "smal")

    assert str(raised.value) == f"{folder.parent / 'smal'}: does not exist; did you mean 'small'?"


def test_a_folder_that_does_not_exist_is_refused_with_the_nearest_suite(write_suite: Write) -> None:
    """A typo on the command line."""
    folder = write_suite()

    with pytest.raises(SuiteError, match=r"does not exist; did you mean 'small'\?"):
        load_suite(folder.parent / "smal")


@pytest.mark.parametrize("name", ["more.yml", "MORE.YAML", "more.JSONL"])
def test_case_files_under_almost_the_right_name_are_not_dropped_in_silence(
    write_suite: Write, name: str
) -> None:
    """Cases that nobody reads would look like cases that pass."""
    (problem,) = _problems(write_suite({name: ""}))

    assert "is not read under this name; rename it to" in problem


def test_a_case_file_with_other_keys_is_refused(write_suite: Write) -> None:
    """`case:` would otherwise be an empty file."""
    (problem,) = _problems(write_suite({"more.yaml": "case:\n  - id: a\n"}))

    assert problem == "more.yaml:1: unknown key 'case'; did you mean 'cases'?"


@pytest.mark.parametrize("text", ["{}", "cases: {a: b}", "- id: a", "cases: text"])
def test_a_case_file_without_a_list_is_refused(write_suite: Write, text: str) -> None:
    """The one shape is cases: [...]."""
    assert _problems(write_suite({"more.yaml": text}))


def test_the_sample_suites_load() -> None:
    """They are what people read first."""
    samples = Path(__file__).parents[3] / "cases"

    for file in sorted(samples.glob("*/suite.yaml")):
        assert load_suite(file).cases, file
