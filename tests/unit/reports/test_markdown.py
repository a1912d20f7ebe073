"""Markdown for GitHub: the verdict in words, what it rests on, and nothing that an agent could inject."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nightgate.reports.markdown import code, markdown
from nightgate.steps.reporting import broken
from rundocs import a_failure, a_row, a_summary, an_evaluator

HOSTILE = (
    "**bold** ![x](https://evil/x.png) [link](javascript:1) <img src=x> <!-- @admin #12 | a \\| b ``` `x` \n"
    "# head\n- item\n| a | b |\n\x1b[31m\u202egpj.exe\u2066 $`x`$ :boom: https://evil"
)


def shown(*summaries: dict[str, Any], **more: Any) -> str:
    return markdown(summaries, suites=["cases/support"] * len(summaries), **more)


def failing(**more: Any) -> dict[str, Any]:
    """A run in which one case of ToolPolicy failed."""
    told = a_failure(expected="search_kb called", observed="called no tool")
    values: dict[str, Any] = {
        "evaluators": [
            an_evaluator(
                verdict="fail",
                passed=8,
                failed=1,
                pass_rate=8 / 9,
                interval=[0.5, 0.98],
                failed_cases=["late"],
            )
        ],
        "failures": [told],
        "findings": [{"evaluator": "ToolPolicy", "text": "ToolPolicy: 89% < 100%, failed [late]"}],
    }
    return a_summary(a_row(failed=1, language="en"), verdict="fail", code=1, **values | more)


def outside_code(text: str) -> str:
    """What GitHub would read as markup: the text without its code spans."""
    return re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)


@pytest.mark.parametrize(
    ("verdict", "code_", "word"),
    [("pass", 0, "PASS"), ("fail", 1, "FAIL"), ("inconclusive", 3, "INCONCLUSIVE")],
)
def test_the_first_line_says_the_verdict_in_a_word(verdict: str, code_: int, word: str) -> None:
    """A sign alone is lost on screen readers and in mails."""
    first = shown(a_summary(verdict=verdict, code=code_)).splitlines()[0]
    assert first.startswith("## ")
    assert first.endswith(f"{word}: `support`")


def test_a_rate_stands_beside_what_it_rests_on() -> None:
    """Rate, interval, judged of planned, what is wanted, and the verdict."""
    assert "| `ToolPolicy` | 89% | 50% to 98% | 9/9 | `1.0` | ❌ fail |" in shown(failing()).splitlines()


def test_an_evaluator_that_judged_nothing_reads_not_measured() -> None:
    """Not 0%, not 100% and not blank."""
    entry = an_evaluator(
        "Selection",
        "inconclusive",
        passed=0,
        judged=0,
        not_applicable=9,
        pass_rate=None,
        interval=None,
        mean_score=None,
        holes=[
            {
                "status": "not_applicable",
                "blame": None,
                "count": 9,
                "reason": "no skill invoked",
                "cases": ["late"],
            }
        ],
    )

    text = shown(a_summary(verdict="inconclusive", code=3, evaluators=[entry]))

    assert "| `Selection` | not measured | – | 0/9 | `1.0` | ⚠️ inconclusive |" in text
    assert "### Not judged" in text
    assert "- `Selection`: judged 0 of 9: 9 not applicable (`no skill invoked`); among them `late`" in text


def test_a_metric_without_a_threshold_shows_its_mean() -> None:
    """It is reported and gates nothing."""
    metric = an_evaluator(
        "Length", None, judged=0, measured=9, pass_rate=None, interval=None, mean_score=0.25
    )
    text = shown(a_summary(evaluators=[metric]))
    assert "| `Length` | mean 0.25 | – | 9/9 | – | reported |" in text
    assert "Not judged" not in text


def test_a_failing_case_shows_expected_and_observed() -> None:
    """For someone who has never seen the case."""
    assert (
        "- `late` (behavior, `en`) `ToolPolicy`: 0 of 1 trial passed\n"
        "  - expected: `search_kb called`\n"
        "  - observed: `called no tool`\n"
    ) in shown(failing())


def test_without_them_the_reason_stands_there_with_who_is_to_blame() -> None:
    """An agent that ran out of time has no answer to compare."""
    text = shown(failing(failures=[a_failure(blame="agent", reason="agent_timeout: no end within 120 s")]))
    assert "  - reason (agent): `agent_timeout: no end within 120 s`" in text


def test_failures_that_decide_come_before_those_that_do_not() -> None:
    """A capability case may fail every night."""
    rows = [a_row("dream", failed=1), a_row("late", failed=1)]
    lines = shown(failing(cases=rows)).splitlines()
    failed = [line for line in lines if "trial passed" in line]
    assert failed == [
        "- `late` (behavior) `ToolPolicy`: 0 of 1 trial passed",
        "- `dream` (behavior) `ToolPolicy`: 0 of 1 trial passed (does not gate)",
    ]


def test_cases_in_quarantine_stay_in_view() -> None:
    """With owner, reason and the days that are left; what is over gates, and is told among the warnings."""
    row = {"case": "late", "owner": "us", "reason": "see *12*", "until": "2026-12-13"}
    kept = [row | {"days_left": 14, "expired": False}, row | {"case": "o", "days_left": -1, "expired": True}]
    text = shown(a_summary(a_row(failed=1), quarantined=kept))

    assert "0 of 1 trial passed (in quarantine)" in text
    section = text.split("### In quarantine")[1].split("Cost:")[0]
    assert section.strip() == "- `late`: does not gate until 2026-12-13 (14 days left), `us`: `see *12*`"


def test_a_failure_within_the_threshold_is_listed_and_said_to_be() -> None:
    """The gate passes, and the case is worth a look."""
    entry = an_evaluator(threshold="0.85", passed=8, failed=1, failed_cases=["late"])
    text = shown(a_summary(a_row(failed=1), evaluators=[entry]))
    assert "0 of 1 trial passed (the gate passes all the same)" in text


def test_families_that_differ_by_language_are_named_with_what_failed() -> None:
    """Also when they fail in both, of other causes; one that is the same everywhere is not."""

    def row(outcome: str, *failed: tuple[str, str]) -> dict[str, Any]:
        found = [{"case": "c", "layer": layer, "evaluator": evaluator} for layer, evaluator in failed]
        return {
            "outcome": outcome,
            "cases": ["c"],
            "planned": 1,
            "passed": 0,
            "failed": len(failed),
            "open": 0,
            "failed_by": found,
        }

    text = shown(
        a_summary(
            family_details={
                "oldest": {"en": row("pass"), "es": row("fail", ("parameter", "ArgumentPolicy"))},
                "first": {
                    "en": row("fail", ("behavior", "ToolPolicy")),
                    "es": row("fail", ("parameter", "ArgumentPolicy")),
                },
                "same": {"en": row("pass"), "es": row("pass")},
            }
        )
    )

    assert "- `oldest`: `en` `pass`, `es` `fail (parameter: ArgumentPolicy)`" in text
    assert "- `first`: `en` `fail (behavior: ToolPolicy)`, `es` `fail (parameter: ArgumentPolicy)`" in text
    assert "`same`" not in text


def test_both_coverages_of_skills_are_shown_where_a_run_asks_about_skills() -> None:
    """Expected loads, and invocations with enough evidence."""
    skills = {
        "expected_loads": {"planned": 7, "observed": 5, "coverage": 5 / 7},
        "invocations": {"seen": 8, "judgeable": 6, "coverage": 0.75, "outcomes": {"loaded": 6, "no_body": 2}},
    }
    text = shown(a_summary(skills=skills))
    assert "- expected loads observed: 5 of 7, 71%" in text
    assert "- invocations with enough evidence to judge: 6 of 8, 75% (6 loaded, 2 no body)" in text
    assert "Skills" not in shown(a_summary())


def test_flaky_cases_cost_and_the_next_command_close_it() -> None:
    """What a person wants to know next."""
    flaky = [{"case": "late", "evaluator": "ToolPolicy", "passed": 2, "judged": 3}]
    text = shown(failing(flaky=flaky), store="s3://evals/nightly")
    assert "- `late` `ToolPolicy`: 2 of 3 passed" in text
    command = "nightgate run cases/support --case late --trials 3 --model scripted:agent"
    assert text.splitlines()[-3:] == [
        "Cost: `agent $0.5000, judge $0.2500, total $0.7500 (12 calls)`",
        "",
        f"Next: `{command} --store s3://evals/nightly`",
    ]


def test_several_runs_have_one_line_over_all() -> None:
    """The worst verdict, and how many of each; then every run."""
    text = shown(a_summary(), failing(), a_summary(suite="skills", verdict="inconclusive", code=3))
    assert text.splitlines()[0] == "# ❌ FAIL: 3 suites, 1 pass, 1 fail, 1 inconclusive"
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## ✅ PASS: `support`",
        "## ❌ FAIL: `support`",
        "## ⚠️ INCONCLUSIVE: `skills`",
    ]


def test_a_run_that_left_no_summary_is_told_with_its_cause() -> None:
    """It has no figures, and is no reason to fall over."""
    text = shown(broken("cases/support", None, "the worker died"))
    assert text == "## ⚠️ INCONCLUSIVE: `support`\n\n- `the run left no summary: the worker died`\n"


@pytest.mark.parametrize(
    ("stopped", "words"), [("budget", "stopped by the budget"), ("cancelled", "interrupted")]
)
def test_a_run_that_was_stopped_says_so(stopped: str, words: str) -> None:
    """Its verdict is about a part of the plan."""
    summary = a_summary(verdict="inconclusive", code=4, stopped=stopped, complete=False, budget_usd=1.0)
    text = shown(summary)
    assert text.splitlines()[0].endswith(f", {words}")
    assert "--resume support-1" in text.splitlines()[-1]


def everywhere(text: str) -> dict[str, Any]:
    """A run in which ``text`` stands wherever an agent, a judge or a case file can put it."""
    told = a_failure(case=text, evaluator=text, reason=text, expected=text, observed=text, blame="agent")
    hole = {"status": "error", "blame": "judge", "count": 1, "reason": text, "cases": [text]}
    failed_by = [{"case": text, "layer": "behavior", "evaluator": text}]
    row = {
        "outcome": "fail",
        "cases": [text],
        "planned": 1,
        "passed": 0,
        "failed": 1,
        "open": 0,
        "failed_by": failed_by,
    }
    return a_summary(
        a_row(text, text, failed=1, family=text, language=text),
        verdict="fail",
        code=1,
        model=text,
        judge=text,
        evaluators=[
            an_evaluator(text, "fail", kind="judge", judged=8, error=1, failed_cases=[text], holes=[hole])
        ],
        failures=[told],
        findings=[{"evaluator": text, "text": text}],
        flaky=[{"case": text, "evaluator": text, "passed": 1, "judged": 2}],
        family_details={text: {text: row, "en": {**row, "outcome": "pass", "failed_by": []}}},
    )


def test_no_text_of_an_agent_becomes_markup() -> None:
    """No image, link, mention, HTML, heading or cell of its making; nothing that turns text round."""
    text = shown(everywhere(HOSTILE))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    bare = outside_code(text)
    for mark in ("](", "![", "<", "@", "#12", "https", "**", "`", "$", "evil", "# head", "- item"):
        assert mark not in bare
    rows = [line for line in bare.splitlines() if line.startswith("|")]
    assert [line.count("|") for line in rows] == [7, 7, 7]


@given(st.one_of(st.just(HOSTILE), st.text(alphabet="`|\\\\ab \n<@*[]()!#$", min_size=1, max_size=16)))
def test_a_parser_of_markdown_finds_only_our_own_structure(text: str) -> None:
    """Runs of ticks decide where a code span ends, bars where a cell does: asked of another's parser."""
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(shown(everywhere(text)))
    inline = [child for token in tokens for child in token.children or ()]

    assert {token.type for token in inline} <= {"text", "code_inline", "softbreak"}
    assert {token.type for token in tokens if token.nesting == 0} == {"inline"}
    assert [token.type for token in tokens].count("td_open") == 6
    ours = "".join(token.content for token in inline if token.type == "text")
    assert not set("`<@*[#$") & set(ours)


@pytest.mark.parametrize("case", ["حالة الاسترداد", "réfund 🧾", "日本語", "x\ud800y"])
def test_ids_of_any_script_are_shown(case: str) -> None:
    """Only what cannot be written at all is replaced."""
    text = shown(failing(cases=[a_row(case, failed=1)], failures=[]))
    assert f"`{case.encode('utf-8', 'replace').decode()}`" in text
    text.encode("utf-8")


def test_an_empty_text_is_no_empty_span() -> None:
    """Two ticks in a row would open one that never ends."""
    assert code("") == "(empty)"
    assert code("\x1b[0m \u202e") == "(empty)"


@pytest.mark.parametrize("wide", ["x", "🧾", "`"])
def test_the_size_is_bounded(wide: str) -> None:
    """GitHub drops a summary above 1 MiB whole, and another step's may stand before it."""
    big = everywhere(wide * 5_000)
    many = {
        **big,
        "evaluators": big["evaluators"] * 100,
        "cases": big["cases"] * 100,
        "findings": big["findings"] * 100,
        "flaky": big["flaky"] * 100,
    }
    assert len(shown(many).encode()) <= 256 * 1024


def test_runs_that_do_not_fit_are_cut_to_their_verdicts_and_then_counted() -> None:
    """None of them vanishes."""
    text = shown(*[failing()] * 50, limit=4_000)

    assert len(text.encode()) <= 4_000
    named = len(re.findall("^## ", text, re.MULTILINE))
    assert 0 < text.count("### Failed") < named < 50
    assert text.endswith(f"And {50 - named} runs more, for which there is no room here.\n")


@given(st.integers(min_value=0, max_value=3_000))
def test_no_limit_is_passed(limit: int) -> None:
    """The file may be nearly full."""
    assert len(shown(failing(), failing(), limit=limit).encode()) <= limit


def test_what_started_a_run_by_itself_is_said_and_is_no_markup() -> None:
    """The reason may come from an event that anybody posted."""
    told = shown(failing(reason=HOSTILE))

    assert "Started because" in told
    assert "<img" not in MarkdownIt().render(told)
    assert "Started because" not in shown(failing())
