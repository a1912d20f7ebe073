"""Accounts: reasons are kept once, bounded and without secrets."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.scores import Status
from nightgate.steps.accounts import Account

KEY = "sk-proj-" + "a1B2" * 10


def an_account(*cells: tuple[Status, str, dict[str, Any]], evaluator: str = "E") -> Account:
    """An account of cells of one case, given as (status, reason, details)."""
    account = Account()
    for trial, (status, reason, details) in enumerate(cells):
        account.add_cell(
            "a", evaluator, status, blame=None, score=None, trial=trial, reason=reason, details=details
        )
    return account


@pytest.mark.parametrize("status", [Status.FAIL, Status.ERROR, Status.NOT_APPLICABLE, Status.SKIPPED])
def test_whatever_did_not_pass_keeps_a_reason(status: Status) -> None:
    """The first one, with how often there was one."""
    (told,) = an_account((status, "first", {}), (status, "second", {})).failures

    assert (told["status"], told["reason"], told["count"], told["trial"]) == (status.value, "first", 2, 0)


def test_expected_and_observed_travel_with_the_reason() -> None:
    """Whoever reads a CI report has not seen the case."""
    details = {"expected": "calls search", "observed": "called no tool"}

    (told,) = an_account((Status.FAIL, "missing search", details)).failures

    assert (told["expected"], told["observed"]) == ("calls search", "called no tool")


def test_details_of_other_evaluators_may_be_anything() -> None:
    """A user's evaluator owns its details."""
    (told,) = an_account((Status.FAIL, "bad", {"expected": 3, "observed": ["x"], "skills": 1})).failures

    assert (told["expected"], told["observed"]) == (None, None)


def test_no_text_carries_a_secret() -> None:
    """Reasons quote answers, and answers quote what they were told."""
    details = {"expected": f"not {KEY}", "observed": f"said {KEY}"}
    account = an_account((Status.ERROR, f"refused {KEY}", details))

    assert KEY not in str(account.failures)
    assert KEY not in str(account.holes_of("E", None))


def test_reading_the_failures_changes_nothing() -> None:
    """What one reader does to them must not reach the next."""
    account = an_account((Status.FAIL, "bad", {}))
    account.failures[0]["reason"] = "good"

    assert account.failures[0]["reason"] == "bad"


def test_skill_evidence_is_read_of_skill_policy_alone() -> None:
    """And of passes too: what was seen is seen."""
    found = {"expected": ["v"], "observed": ["v"], "invocations": []}

    assert an_account((Status.PASS, "ok", {"skills": found}), evaluator="SkillPolicy").skills.observed == 1
    assert an_account((Status.PASS, "ok", {"skills": found})).skills.observed == 0
