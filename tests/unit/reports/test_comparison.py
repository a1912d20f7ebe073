"""A run beside its base for people: what matters is named, and nothing floods a screen."""

from __future__ import annotations

from nightgate.comparisons import Outcome, factors
from nightgate.reports import comparison
from nightgate.reports.comparison import render
from nightgate.reports.terminal import render as terminal
from nightgate.steps.comparing import document
from pairs import a_side, beside, judge, some
from rundocs import a_summary


def outcome(before: dict[str, str], after: dict[str, str], **more: object) -> Outcome:
    """Two runs beside each other; ``more`` changes the later one."""
    base, now = a_side("base", before), a_side("night", after, **more)
    return Outcome(base="base", comparison=beside(base, now), factors=factors(base, now))


def told(found: Outcome) -> list[str]:
    """The lines of a run's end."""
    summary = {"comparison": found.as_dict(), "changes": found.changes()}
    flips = (line for lines in comparison.changed(summary).values() for line in lines)
    return [*comparison.beside(summary), *flips]


def test_a_run_without_a_base_says_nothing_of_one() -> None:
    """Older documents have no such key at all."""
    for summary in ({}, {"comparison": None}):
        assert list(comparison.beside(summary)) == []
        assert comparison.changed(summary) == {}


def test_a_regression_is_told_with_cases_and_causes() -> None:
    """What fell, by how much, which cases, and what is different."""
    lines = told(outcome(some(30), {**some(30), **{f"c{n}": "F" for n in range(9)}}, nightgate="2"))

    assert lines[0].startswith("baseline: regressed against base: E 100% -> 70%, by -30.0 points [")
    assert lines[1] == "changed since: nightgate: unknown -> 2"
    assert lines[2] == "newly broken: c0 (E) 1/1 -> 0/1"
    assert lines[-1] == "newly broken: c8 (E) 1/1 -> 0/1"


def test_what_cannot_be_compared_is_told_once_a_reason() -> None:
    """All judges of a suite change together."""
    judges = {name: judge("1" * 16, name) for name in ("A", "B")}
    base = a_side("base", some(20), evaluators=[*judges.values()])
    now = a_side("night", some(20), evaluators=[judge(name="A"), judge(name="B")])

    lines = told(Outcome(base="base", comparison=beside(base, now)))

    reason = "A, B: judge changed (its prompt, params or script); run `nightgate sweep baseline`"
    assert lines == [f"baseline: not comparable against base: {reason}"]


def test_a_base_that_is_gone_is_told() -> None:
    """Silence would read as: nothing changed."""
    lines = told(Outcome(base="base", trouble="baseline base cannot be read: it is gone"))

    assert lines == ["baseline: baseline base cannot be read: it is gone"]


def test_cases_that_were_added_removed_or_edited_are_named() -> None:
    """One line each, with all of their cases."""
    found = outcome(
        {**some(2), "old": "P", "same": "P"}, {**some(2), "new": "P", "same": "P"}, hashes={"same": "x"}
    )

    lines = told(found)

    for what in ("same: edited since base", "new: added since base", "old: removed since base"):
        assert f"not comparable: {what}" in lines


def test_ids_of_cases_cannot_move_the_cursor() -> None:
    """They are any text."""
    lines = told(outcome({"\x1b[2Jcase": "P"}, {"\x1b[2Jcase": "F"}))

    assert not any("\x1b" in line for line in lines)


def test_the_lines_stand_in_a_runs_end() -> None:
    """Between the reasons and the flaky cases."""
    found = outcome(some(30), some(20, 10))

    text = terminal(a_summary(comparison=found.as_dict(), changes=found.changes(), baseline="base"))

    assert "baseline: regressed against base" in text


def test_several_runs_say_how_many_questions_were_asked() -> None:
    """A p-value without that is worth nothing."""
    one = outcome(some(30), some(30))

    text = render(document("demo", [one, one]))

    assert "questions: 2 runs x their evaluators at the gate" in text
    assert text.splitlines()[-1] == "may I say it improved? of none of them"
