"""Who judges, as people write it: one spec, or a panel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nightgate.cases import Panel, Suite, SuiteError, load_suite

Write = Callable[..., Path]

HEAD = "suite: small\nagent: a:b\nmodel: scripted:good\n"
CASE = "cases:\n  - {id: a, input: x, expect: {judge: [{id: x, criterion: Is it?}]}}\n"


def written(write_suite: Write, judge: str, more: str = "") -> Path:
    """A suite with this under ``judge``, and three scripts."""
    scripts = {f"scripts/{name}.yaml": "judgements: {}\n" for name in ("a", "b", "c")}
    settings = f"{HEAD}judge: {judge}\n{more}"
    return write_suite({"suite.yaml": settings, "cases.yaml": CASE, **scripts})


def problem(folder: Path) -> str:
    """The only one."""
    with pytest.raises(SuiteError) as raised:
        load_suite(folder)
    (found,) = raised.value.problems
    return f"{found.path.name}:{found.line}: {found.message}"


def test_a_spec_is_one_judge(write_suite: Write) -> None:
    """As it always was."""
    suite = load_suite(written(write_suite, "scripted:a"))

    assert (suite.judge, suite.panel, suite.judges) == ("scripted:a", None, ("scripted:a",))
    assert suite.judge_text == "scripted:a"


def test_a_mapping_is_a_panel(write_suite: Write) -> None:
    """The same key, because it answers the same question."""
    suite = load_suite(written(write_suite, "{panel: [scripted:a, scripted:b, scripted:c], rule: majority}"))

    assert (suite.judge, suite.judges) == (None, ("scripted:a", "scripted:b", "scripted:c"))
    assert suite.panel is not None
    assert suite.panel.rule == "majority"
    assert suite.judge_text == "majority of scripted:a, scripted:b, scripted:c"


def test_live_may_have_a_panel_of_its_own(write_suite: Write) -> None:
    """A script judges by day, three models by night."""
    live = "live: {model: scripted:good, judge: {panel: [scripted:b, scripted:c], rule: all}}\n"

    suite = load_suite(written(write_suite, "scripted:a", live))

    assert (suite.judges, suite.live.judges) == (("scripted:a",), ("scripted:b", "scripted:c"))


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("{panel: [scripted:a, scripted:b], rule: majority}", "judge: has 2 judges, which can tie"),
        ("{panel: [scripted:a], rule: all}", "judge: needs at least 2 judges under panel"),
        ("{panel: [scripted:a, scripted:a], rule: all}", "judge: names 'scripted:a' twice under panel"),
        (
            "{panel: [scripted:a, scripted:b], rule: al}",
            "must be one of majority, all, not 'al'; did you mean",
        ),
        (
            "{panel: [scripted:a, scripted:b], rule: majority, tie: undecided}",
            "unknown key 'tie' in judge; did you mean 'ties'?",
        ),
        ("{panel: [scripted:a, scripted:b], rule: all, ties: undecided}", "judge: says ties, and rule: all"),
        ("{panel: [scripted:a, nope], rule: all}", "judge.panel[1]: 'nope' names no model"),
        ("{panel: [scripted:a, scripted:d], rule: all}", "judge.panel[1]: there is no scripts/d.yaml"),
        ("{panel: [scripted:a, scripted:b]}", "key 'rule' is missing in judge"),
        ("[scripted:a]", "judge: must be text, not a list"),
        ("", "judge: nothing is written here"),
    ],
)
def test_what_is_no_panel_is_told_at_its_line(write_suite: Write, judge: str, message: str) -> None:
    """Before anything is spent; one slip is one problem."""
    found = problem(written(write_suite, judge))

    assert found.startswith("suite.yaml:4: ")
    assert message in found


def test_a_live_member_that_is_not_there_is_told_where_it_stands(write_suite: Write) -> None:
    """With the key's own path, since the line is the suite's."""
    live = "live: {model: scripted:good, judge: {panel: [scripted:b, scripted:x], rule: all}}\n"

    found = problem(written(write_suite, "scripted:a", live))

    assert found.startswith("suite.yaml:5: live.judge.panel[1]: there is no scripts/x.yaml")


def test_an_even_panel_may_say_that_its_ties_stay_undecided(write_suite: Write) -> None:
    """Said, it is a decision; unsaid, it would be a surprise in the first night that ties."""
    suite = load_suite(
        written(write_suite, "{panel: [scripted:a, scripted:b], rule: majority, ties: undecided}")
    )

    assert suite.panel is not None
    assert suite.panel.ties == "undecided"


def test_a_suite_made_in_code_takes_a_panel_too() -> None:
    """Under the same name as in a file."""
    panel = Panel.of("all", ["scripted:a", "scripted:b"])

    suite = Suite(suite="s", agent="a:b", model="scripted:x", judge=panel)

    assert (suite.panel, suite.judge) == (panel, None)
