"""CitesSource: sources named in the answer, as sets."""

import pytest

from makers import a_case, a_trial
from nightgate.errors import InputError
from nightgate.evaluators.citations import CitesSource
from nightgate.scores import Status


@pytest.mark.parametrize(
    ("answer", "want", "status"),
    [
        ("Credit. [KB-101]", ["KB-101"], Status.PASS),
        ("[KB-2] and [KB-1], again [KB-2]", ["KB-1", "KB-2"], Status.PASS),
        ("Credit.", ["KB-101"], Status.FAIL),
        ("[KB-101] [KB-102]", ["KB-101"], Status.FAIL),
        ("[KB-101]", ["KB-101", "KB-102"], Status.FAIL),
        ("No source.", [], Status.PASS),
        ("[KB-101]", [], Status.FAIL),
        ("KB-101", ["KB-101"], Status.FAIL),
        ("[kb-101]", ["KB-101"], Status.FAIL),
        ("[AWS2-9X]", ["AWS2-9X"], Status.PASS),
        ("[1] [note] [KB-] [-1]", [], Status.PASS),
    ],
)
def test_exactly_the_expected_sources_are_cited(answer: str, want: list[str], status: Status) -> None:
    """One too many misleads as one too few does; repeats and order say nothing."""
    assert CitesSource().evaluate(a_trial(answer), a_case(expect={"cites": want})).status is status


def test_the_reason_names_both_sets() -> None:
    """The reviewer sees what was cited without opening the transcript."""
    score = CitesSource().evaluate(a_trial("[KB-2] [KB-1]"), a_case(expect={"cites": []}))
    assert score.reason == "cited KB-1, KB-2, expected nothing"


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [(r"doc:(\w+)", "see doc:x1"), (r"(?<=doc:)\w+", "see doc:x1"), (r"<(\w+)>|doc:(\w+)", "see doc:x1")],
)
def test_a_pattern_of_the_suites_own(pattern: str, answer: str) -> None:
    """The id is the first group that matched, else the whole match; an unmatched group is no source."""
    score = CitesSource(pattern=pattern).evaluate(a_trial(answer), a_case(expect={"cites": ["x1"]}))
    assert score.status is Status.PASS


def test_a_broken_pattern_is_refused_before_anything_is_spent() -> None:
    """It would raise on every trial of the night."""
    with pytest.raises(InputError, match=r"params\.pattern '\('"):
        CitesSource(pattern="(")


@pytest.mark.parametrize(
    ("answer", "cites", "expected", "observed"),
    [
        ("[KB-9] [KB-2]", ["KB-1", "KB-2"], "exactly KB-1, KB-2 cited", "KB-2, KB-9 cited"),
        ("none", ["KB-1"], "exactly KB-1 cited", "nothing cited"),
        ("[KB-9]", [], "nothing cited", "KB-9 cited"),
    ],
)
def test_a_fail_says_what_was_expected_and_what_was_observed(
    answer: str, cites: list[str], expected: str, observed: str
) -> None:
    """Both sets in full: they are compared as sets."""
    score = CitesSource().evaluate(a_trial(answer), a_case(expect={"cites": cites}))
    assert score.details == {"expected": expected, "observed": observed}


def test_a_pass_has_no_difference_to_show() -> None:
    """Nothing differs."""
    assert CitesSource().evaluate(a_trial("[KB-1]"), a_case(expect={"cites": ["KB-1"]})).details == {}
