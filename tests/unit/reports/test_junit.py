"""JUnit XML: statuses become outcomes that CI counts, and no hole is green."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from nightgate.reports.junit import junit
from nightgate.steps.reporting import broken
from rundocs import a_failure, a_row, a_summary, an_evaluator


def failed(name: str = "ToolPolicy", *cases: str, **more: Any) -> dict[str, Any]:
    """An evaluator that fails at the gate over ``cases``."""
    return an_evaluator(name, "fail", failed_cases=list(cases or ("late",)), **more)


def parsed(*summaries: dict[str, Any]) -> ET.Element:
    return ET.fromstring(junit(summaries))


def the_test(summary: dict[str, Any], name: str = "late") -> ET.Element:
    found = parsed(summary).findall(f".//testcase[@name={name!r}]")
    assert len(found) == 1
    return found[0]


def outcome(test: ET.Element) -> str:
    """The element by which consumers tell a test's outcome."""
    found = [child.tag for child in test if child.tag in ("failure", "error", "skipped")]
    assert len(found) <= 1
    return found[0] if found else "pass"


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"passed": 1}, "pass"),
        ({"planned": 3, "passed": 3}, "pass"),
        ({"measured": 1}, "pass"),
        ({"failed": 1}, "failure"),
        ({"planned": 3, "passed": 2, "failed": 1}, "failure"),
        ({"planned": 3, "failed": 1, "error": 1, "skipped": 1}, "failure"),
        ({"error": 1}, "error"),
        ({"planned": 3, "passed": 2, "error": 1}, "error"),
        ({"planned": 2, "error": 1, "not_applicable": 1}, "error"),
        ({"not_applicable": 1}, "skipped"),
        ({"planned": 3, "passed": 2, "not_applicable": 1}, "skipped"),
        ({"skipped": 1}, "skipped"),
        ({"planned": 3, "passed": 2, "skipped": 1}, "skipped"),
        ({"not_applicable": 1, "failed": 1, "required": 1}, "failure"),
        ({"not_applicable": 1, "allowed": 1}, "skipped"),
        ({"planned": 3, "passed": 2, "not_applicable": 1, "allowed": 1}, "pass"),
    ],
)
def test_statuses_become_the_outcome_that_fits_first(counts: dict[str, Any], expected: str) -> None:
    """Failure, error, skipped, pass; a required finding that did not apply is a failure."""
    summary = a_summary(a_row(**counts), verdict="fail", code=1, evaluators=[failed()])
    assert outcome(the_test(summary)) == expected


def test_trials_are_grouped_under_the_case_with_their_facts() -> None:
    """One test a case and evaluator, found by the case's id and the suite's and evaluator's name."""
    row = a_row(planned=3, passed=3, family="refund-window", language="es")

    test = the_test(a_summary(row))

    assert test.get("classname") == "support.ToolPolicy"
    properties = {p.get("name"): p.get("value") for p in test.findall("properties/property")}
    assert properties == {"layer": "behavior", "family": "refund-window", "language": "es"}
    assert test.findtext("system-out") == "3 of 3 trials passed"


def test_the_message_of_a_failure_holds_expected_observed_and_counts() -> None:
    """CI shows the message first: it must do for someone who has not seen the case."""
    told = a_failure(trial=1, expected="search_kb called", observed="called no tool")
    row = a_row(planned=3, passed=2, failed=1)
    summary = a_summary(row, verdict="fail", code=1, evaluators=[failed()], failures=[told])

    failure = the_test(summary).find("failure")

    assert failure is not None
    assert failure.get("message") == (
        "expected: search_kb called; observed: called no tool; 2 of 3 trials passed"
    )
    assert failure.text == (
        "fail in trial 1: missing search_kb (called: no tool)\n"
        "  expected: search_kb called\n"
        "  observed: called no tool"
    )


def test_without_expected_and_observed_the_message_says_who_and_why() -> None:
    """An agent that ran out of time has no answer to compare."""
    told = a_failure(blame="agent", count=2, trial=1, reason="agent_timeout: no end within 120 s")
    row = a_row(planned=3, passed=1, failed=2)
    summary = a_summary(row, verdict="fail", code=1, evaluators=[failed()], failures=[told])

    failure = the_test(summary).find("failure")

    assert failure is not None
    assert failure.get("type") == "agent"
    assert failure.get("message") == "agent: agent_timeout: no end within 120 s; 1 of 3 trials passed"
    assert (failure.text or "").startswith("fail (agent) x2, first in trial 1: agent_timeout")


def test_an_error_tells_the_error_and_not_what_was_not_applicable_beside_it() -> None:
    """A case may have both; the outcome and its message are about the same trial."""
    told = [
        a_failure("not_applicable", reason="no skill was invoked"),
        a_failure("error", blame="judge", reason="unusable judge reply"),
    ]
    row = a_row(planned=2, error=1, not_applicable=1)
    summary = a_summary(row, verdict="inconclusive", code=3, failures=told)

    error = the_test(summary).find("error")

    assert error is not None
    assert (error.get("type"), error.get("message")) == (
        "judge",
        "judge: unusable judge reply; 0 of 2 trials passed, 1 not applicable, 1 error",
    )
    assert "no skill was invoked" in (error.text or "")


def test_a_failure_beyond_those_that_the_summary_tells_is_still_a_failure() -> None:
    """A summary tells 200 reasons; the rows have them all."""
    summary = a_summary(a_row(failed=1), verdict="fail", code=1, evaluators=[failed()])
    failure = the_test(summary).find("failure")
    assert failure is not None
    assert failure.get("message") == "0 of 1 trials passed"


def test_a_measured_case_passes_and_tells_the_figure() -> None:
    """A metric without a threshold cannot fail."""
    metric = an_evaluator("Length", None, measured=9, judged=0, mean_score=0.83)
    summary = a_summary(a_row(evaluator="Length", measured=1), evaluators=[metric])
    test = the_test(summary)
    assert outcome(test) == "pass"
    assert test.findtext("system-out") == "1 of 1 trials measured (no threshold; mean over all cases 0.83)"


def test_a_failure_within_the_threshold_does_not_turn_ci_red() -> None:
    """18 of 21 at 0.85 exits 0; reporters go red over any failure, so it stands in system-out."""
    rows = [a_row(f"c{n}") for n in range(18)] + [a_row(f"c{n}", failed=1) for n in range(18, 21)]
    evaluator = an_evaluator(threshold="0.85", planned=21, passed=18, failed_cases=["c18", "c19", "c20"])
    told = a_failure(case="c18", expected="search_kb called", observed="called no tool")
    summary = a_summary(*rows, evaluators=[evaluator], failures=[told])

    suite = parsed(summary).find("testsuite")

    assert suite is not None
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    out = the_test(summary, "c18").findtext("system-out") or ""
    assert "0 of 1 trials passed" in out
    assert "tolerated: the gate passes (18 of 21 passed, wanted 0.85)" in out
    assert "observed: called no tool" in out


@pytest.mark.parametrize("verdict", ["fail", None])
def test_a_failed_capability_case_does_not_turn_ci_red(verdict: str | None) -> None:
    """It is reported and does not gate, whatever the regression cases do."""
    evaluator = an_evaluator(verdict=verdict, failed_cases=["other"] if verdict else ["late"])
    test = the_test(a_summary(a_row(failed=1), evaluators=[evaluator]))
    assert outcome(test) == "pass"
    assert "does not gate" in (test.findtext("system-out") or "")


def test_a_hole_beside_a_tolerated_failure_is_still_a_hole() -> None:
    """What the gate lets through is the failure, not the error."""
    evaluator = an_evaluator(failed_cases=["late"])
    row = a_row(planned=2, failed=1, error=1)
    test = the_test(a_summary(row, evaluators=[evaluator], verdict="inconclusive", code=3))
    assert outcome(test) == "error"
    assert "tolerated" in (test[-1].text or "")


def test_an_error_that_the_gate_lets_through_is_skipped_and_not_red() -> None:
    """Within ``max_error_share`` the command exits with 0; reporters go red over any error."""
    told = a_failure("error", blame="infra", reason="throttled after 6 tries")
    test = the_test(a_summary(a_row(planned=3, passed=2, error=1), failures=[told]))
    assert outcome(test) == "skipped"
    assert "throttled after 6 tries" in (test[-1].text or "")


def test_a_case_in_quarantine_says_so_with_owner_and_day() -> None:
    """It stays in view: whoever reads CI's page sees who has to repair it, and until when."""
    kept_out = {
        "case": "late",
        "owner": "support-team",
        "reason": "flaky since the new index",
        "until": "2026-12-13",
        "days_left": 14,
        "expired": False,
    }
    test = the_test(a_summary(a_row(failed=1), quarantined=[kept_out]))
    properties = {p.get("name"): p.get("value") for p in test.findall("properties/property")}
    assert (
        properties["quarantine"] == "does not gate until 2026-12-13, support-team: flaky since the new index"
    )


@pytest.mark.parametrize(
    ("verdict", "code", "expected"),
    [
        ("pass", 0, "pass"),
        ("fail", 1, "failure"),
        ("inconclusive", 3, "error"),
        ("inconclusive", 4, "error"),
        ("inconclusive", 130, "error"),
        ("inconclusive", 0, "skipped"),
    ],
)
def test_the_verdict_is_a_test_of_its_own(verdict: str, code: int, expected: str) -> None:
    """It carries the run's failure; an inconclusive run that the suite lets through is no pass."""
    test = the_test(a_summary(a_row(), verdict=verdict, code=code), "verdict")
    assert test.get("classname") == "support.gate"
    assert outcome(test) == expected


def test_a_run_of_skipped_tests_is_not_green() -> None:
    """Reporters show skipped as harmless: the verdict's test errs, with the causes."""
    finding = {
        "evaluator": "SkillSelection",
        "text": "SkillSelection: inconclusive, not measured, 0 of 9 judged",
    }
    summary = a_summary(
        a_row(not_applicable=1, evaluator="SkillSelection"),
        verdict="inconclusive",
        code=3,
        evaluators=[an_evaluator("SkillSelection", "inconclusive")],
        findings=[finding],
    )

    suite = parsed(summary).find("testsuite")
    error = the_test(summary, "verdict").find("error")

    assert suite is not None
    assert (suite.get("skipped"), suite.get("errors")) == ("1", "1")
    assert error is not None
    assert error.get("message") == f"inconclusive: {finding['text']}"
    assert error.text == finding["text"]


def test_coverage_stands_in_the_properties_and_beside_the_verdict() -> None:
    """A pass rate without it hides what was not judged."""
    holes = [
        {"status": "not_applicable", "blame": None, "count": 3, "reason": "no skill invoked", "cases": ["a"]},
        {"status": "error", "blame": "judge", "count": 1, "reason": "no JSON", "cases": ["b"]},
    ]
    evaluator = an_evaluator(planned=9, judged=5, passed=5, not_applicable=3, error=1, holes=holes)
    summary = a_summary(a_row(), evaluators=[evaluator])
    line = "judged 5 of 9: 3 not applicable (no skill invoked), 1 error (judge: no JSON)"

    suite = parsed(summary).find("testsuite")

    assert suite is not None
    properties = {p.get("name"): p.get("value") for p in suite.findall("properties/property")}
    assert properties == {"verdict": "pass", "exit_code": "0", "coverage.ToolPolicy": line}
    assert f"ToolPolicy: {line}" in (the_test(summary, "verdict").findtext("system-out") or "")


def test_attributes_count_what_is_there() -> None:
    """Consumers read either the attributes or the elements: both say the same."""
    one = a_summary(
        a_row("a", failed=1),
        a_row("b", error=1),
        a_row("c", not_applicable=1),
        a_row("d"),
        verdict="fail",
        code=1,
        evaluators=[failed("ToolPolicy", "a")],
    )
    root = parsed(one, a_summary(a_row("e")))

    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
        counts = [len(suite.findall(f".//{tag}")) for suite in root]
        assert [suite.get(name) for suite in root] == [str(count) for count in counts]
        assert root.get(name) == str(sum(counts))
    assert [suite.get("skipped") for suite in root] == ["1", "0"]
    assert root[0].get("tests") == "5"


def test_times_are_in_the_form_that_schemas_ask_for() -> None:
    """UTC without a zone, seconds with a point; what is not known is left out, not 0."""
    suite, unknown = parsed(a_summary(), a_summary(wall_s=None))
    assert (suite.get("timestamp"), suite.get("time")) == ("2026-11-29T22:30:00", "3.100")
    assert unknown.get("time") is None


def test_a_run_that_left_no_summary_is_an_error_with_its_cause() -> None:
    """The nightly goes on with the other suites; this one must not vanish from the file."""
    test = the_test(broken("cases/support", None, "the worker died"), "verdict")
    assert outcome(test) == "error"
    assert "the worker died" in (test[0].text or "")


@pytest.mark.parametrize("case", ["حالة الاسترداد", "réfund 🧾", "a/b <c> & \"d\" 'e'", "%2F ]]>", "x" * 300])
def test_ids_are_verbatim(case: str) -> None:
    """Whoever looks for the case finds it by its id."""
    summary = a_summary(a_row(case))
    names = [test.get("name") for test in parsed(summary).iter("testcase")]
    assert names == [case, "verdict"]


def test_characters_that_xml_cannot_hold_are_replaced() -> None:
    """One of them would make the whole file unreadable."""
    bad = "\x00\x08\x0b\x1b\ufffe\ud800"
    told = a_failure(case=f"id{bad}", reason=f"said {bad}", expected=f"want {bad}", observed="\x1b[31mred")
    row = a_row(f"id{bad}", failed=1, family=f"f{bad}")
    evaluator = failed("ToolPolicy", f"id{bad}")
    summary = a_summary(row, verdict="fail", code=1, evaluators=[evaluator], failures=[told])

    text = junit([summary])

    assert not set(bad) & set(text)
    failure = ET.fromstring(text.encode("utf-8")).find(".//failure")
    assert failure is not None
    assert "observed: red" in (failure.get("message") or "")


def test_reasons_are_cut() -> None:
    """A megabyte of answer belongs into the rows; uploads and viewers have limits."""
    told = a_failure(reason="x" * 1_000_000, expected="y" * 1_000_000, observed="z" * 1_000_000)
    summary = a_summary(
        a_row(failed=1),
        verdict="fail",
        code=1,
        evaluators=[failed()],
        failures=[told],
        findings=[{"evaluator": "ToolPolicy", "text": "w" * 1_000_000}],
    )
    assert len(junit([summary])) < 20_000


def test_no_run_at_all_is_a_document_too() -> None:
    """Consumers parse it before they look into it."""
    assert parsed().get("tests") == "0"
