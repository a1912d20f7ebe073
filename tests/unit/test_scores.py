"""Scores: which figures may stand beside which status, and how findings fold into one."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makers import a_score
from nightgate.scores import Blame, Score, Status, fold

JUDGED = [Status.PASS, Status.FAIL]
UNJUDGED = [Status.NOT_APPLICABLE, Status.ERROR, Status.SKIPPED]


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("figure", [math.nan, math.inf, -math.inf])
def test_no_status_carries_a_figure_that_is_none(status: Status, figure: float) -> None:
    """NaN turns the mean of a whole run into NaN."""
    with pytest.raises(ValueError, match="no finite number"):
        a_score(status, score=figure)


@pytest.mark.parametrize("status", UNJUDGED)
def test_what_was_not_judged_has_no_figure(status: Status) -> None:
    """A placeholder 0.0 is stored as null."""
    assert a_score(status).score is None
    with pytest.raises(ValueError, match="carries no figure"):
        a_score(status, score=0.0)


@pytest.mark.parametrize("status", JUDGED)
@pytest.mark.parametrize("figure", [-0.01, 1.01, 5])
def test_a_judged_score_lies_in_its_range(status: Status, figure: float) -> None:
    """A rubric judge may write any number."""
    with pytest.raises(ValueError, match="outside"):
        a_score(status, score=figure)


def test_a_measured_figure_has_its_own_scale() -> None:
    """Turns, seconds, tokens."""
    assert a_score(Status.MEASURED, score=17.5).score == 17.5


@pytest.mark.parametrize("wrong", [{"status": "passed"}, {"status": None}, {"reason": None}, {"reason": 5}])
def test_a_score_of_the_wrong_kind_is_refused_where_it_is_made(wrong: dict[str, Any]) -> None:
    """Later it would break the writing of rows, and with it the run."""
    with pytest.raises(TypeError, match="must be a Status"):
        a_score(**{"status": Status.PASS} | wrong)


def test_passed_is_null_unless_judged() -> None:
    """Null is not false: a hole is no failure."""
    assert {status: a_score(status).passed for status in Status} == {
        Status.PASS: True,
        Status.FAIL: False,
        Status.MEASURED: None,
        Status.NOT_APPLICABLE: None,
        Status.ERROR: None,
        Status.SKIPPED: None,
    }


FINDINGS = st.lists(
    st.sampled_from(Status).flatmap(
        lambda status: st.builds(
            a_score,
            st.just(status),
            score=st.none() | st.floats(0, 1) if status in (*JUDGED, Status.MEASURED) else st.none(),
        )
    ),
    min_size=2,
    max_size=6,
)
ORDER = (Status.ERROR, Status.FAIL, Status.PASS, Status.MEASURED, Status.NOT_APPLICABLE, Status.SKIPPED)


@given(FINDINGS)
def test_the_gravest_finding_decides(findings: list[Any]) -> None:
    """Any error is error, else any fail is fail, else any pass is pass."""
    there = {finding.status for finding in findings}
    folded = fold("E", 1, findings)
    assert folded.status is next(status for status in ORDER if status in there)
    assert len(folded.details["parts"]) == len(findings)


@given(FINDINGS)
def test_the_folded_score_is_the_mean_of_the_judged_ones(findings: list[Any]) -> None:
    """What was not applicable or measured is no part of it; without a judged one there is none."""
    figures = [f.score for f in findings if f.status.judged and f.score is not None]
    folded = fold("E", 1, findings)
    if folded.status.judged:
        expected = math.fsum(figures) / len(figures) if figures else None
        assert folded.score == expected
    elif folded.status is not Status.MEASURED:
        assert folded.score is None


def test_one_finding_stays_as_it_is() -> None:
    """There is nothing to fold."""
    finding = a_score(Status.FAIL, score=0.25, details={"raw": "x"})
    assert fold("E", 1, [finding]) is finding


def test_a_folded_error_keeps_the_raw_reply() -> None:
    """The one that broke has to be seen among those that did not."""
    broken = a_score(Status.ERROR, blame=Blame.JUDGE, details={"raw": "score=nan"})
    folded = fold("E", 1, [a_score(Status.PASS, score=1.0), broken])
    assert (folded.status, folded.blame, folded.reason) == (Status.ERROR, Blame.JUDGE, "it is error")
    assert folded.details["parts"][1]["details"] == {"raw": "score=nan"}
    assert "details" not in folded.details["parts"][0]


@pytest.mark.parametrize(
    ("trajectory", "status", "blame"),
    [(True, Status.NOT_APPLICABLE, None), (False, Status.ERROR, Blame.EVALUATOR)],
)
def test_no_findings(trajectory: bool, status: Status, blame: Blame | None) -> None:
    """Nothing to judge where there was something to look at, broken where there was not."""
    folded = fold("E", 3, [], trajectory=trajectory)
    assert (folded.status, folded.blame, folded.evaluator, folded.version) == (status, blame, "E", 3)


def test_a_status_may_be_written_as_its_text() -> None:
    """People who write an evaluator write ``"pass"``, and give the first arguments by position."""
    assert Score("E", 1, "pass", "because").status is Status.PASS  # type: ignore[arg-type]
