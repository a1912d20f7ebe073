"""The page of a case: all trials, all findings, its nights, and the way back to it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from hostile import CASES, a_hostile_score, a_hostile_trial
from makers import a_score
from nightgate.cli.parser import build_parser
from nightgate.plans import Plan
from nightgate.reports.pages.casepage import case_file, case_pages, glance, rerun_command
from nightgate.reports.pages.values import PlayedCase, RunFacts
from nightgate.reports.pages.visible import visible
from nightgate.scores import Blame, Cell, Score, Status
from nightgate.trials import Ending, TrialKey
from pagereader import Page
from playedruns import a_played, a_run_plan
from rundocs import a_row, a_summary


def a_played_case(plan: Plan, *scores: Score | None, **more: Any) -> PlayedCase:
    """The plan's first case with a finding a trial; None: that trial has none yet."""
    case = plan.cases[0]
    name = case.evaluators[0]
    values: dict[str, Any] = {
        "case": replace(case, trials=len(scores)),
        "trials": {
            number: a_played(TrialKey(run_id="r", suite="demo", case_id=case.case_id, trial=number))
            for number, score in enumerate(scores)
            if score is not None
        },
        "cells": {
            (number, name): Cell(case_id=case.case_id, trial=number, score=replace(score, evaluator=name))
            for number, score in enumerate(scores)
            if score is not None
        },
    }
    return PlayedCase(**values | more)


def facts_of(plan: Plan, **more: Any) -> RunFacts:
    """A run with one row."""
    return RunFacts(plan=plan, summary=a_summary(a_row(plan.cases[0].case_id, passed=1, planned=2)), **more)


def test_the_same_reason_is_told_once_with_its_trials() -> None:
    """Five trials that fail alike are one thing to read."""
    plan = a_run_plan(["late"])
    failed = a_score(Status.FAIL, reason="never searched")

    text = page_of(plan, a_played_case(plan, failed, a_score(), failed)).text

    assert text.count("never searched") == 1
    assert "✗ fail trials 0, 2" in text


def page_of(plan: Plan, played: PlayedCase, **more: Any) -> Page:
    """The case's page, read."""
    return Page(case_pages(facts_of(plan, **more), played, {"ToolPolicy": 0})[0][1])


def test_an_error_says_whose_it_is_and_a_hole_is_no_pass() -> None:
    """Status words are the contract's, blame beside them."""
    plan = a_run_plan(["late"])
    broken = a_score(Status.ERROR, blame=Blame.JUDGE, reason="no JSON")

    text = page_of(plan, a_played_case(plan, broken, None)).text

    assert "! error trial 0, blame judge" in text
    assert "○ skipped" in text
    assert "○ not_run Nothing is stored of it." in text


def test_the_counts_are_the_summarys() -> None:
    """Marked, so that a program can hold them against summary.json."""
    plan = a_run_plan(["late"])

    figures = page_of(plan, a_played_case(plan, a_score(), a_score(Status.FAIL))).figures

    assert figures["/cases/0/passed"] == {"1"}
    assert figures["/cases/0/planned"] == {"2"}


def test_a_trial_shows_calls_with_arguments_and_answers() -> None:
    """What the agent did is on the page, not in a database."""
    plan = a_run_plan(["late"])

    text = page_of(plan, a_played_case(plan, a_score())).text

    assert 'tool call search success { "query": "late" } answer found KB-101' in text
    assert "You are the desk of a shop." in text
    assert "2 model calls · 940 tokens · agent $0.0015" in text


def test_the_nights_of_a_case_have_holes_and_marks() -> None:
    """A night without a figure is an empty field, and a change of the judge is named where it happened."""
    plan = a_run_plan(["late"])
    nights = [
        {"run_id": name, "date": f"2026-11-2{n}", "model": "m", "changed": changed}
        for n, (name, changed) in enumerate([("n0", []), ("n1", ["model"]), ("demo-1", [])])
    ]
    entry = {
        "evaluator": "ToolPolicy",
        "nights": {"passed": [3, None, 1], "judged": [3, None, 3]},
        "changes": [{"night": 2, "what": "judge"}],
    }

    text = page_of(plan, a_played_case(plan, a_score()), nights=nights, history={"late": [entry]}).text

    assert "11-20 11-21model changed 11-22 this run" in text
    assert "3/3 not judged ✗ 1/3judge changed" in text


@pytest.mark.parametrize("case_id", CASES)
def test_the_command_plays_this_very_case(case_id: str) -> None:
    """Whatever its id is made of; bash reads it back in the tests of ``shell_word``."""
    plan = a_run_plan([case_id], judge="scripted:judge")

    command = rerun_command(facts_of(plan, store_flag="s3://bucket/evals"), case_id, 3)

    if "$'" not in command:
        args = build_parser().parse_args(shlex.split(command)[1:])
        assert (args.case, args.trials, args.model) == ([case_id], 3, "scripted:agent")
        assert (args.judge, args.store, args.suites) == (
            "scripted:judge",
            "s3://bucket/evals",
            ["cases/demo"],
        )
    assert visible(command) == command


def test_file_names_are_of_hex_digits_and_all_different() -> None:
    """Ids may be paths, devices of Windows, or differ by case alone, which some disks do not see."""
    names = [case_file(case_id) for case_id in CASES]

    assert len({name.lower() for name in names}) == len(CASES)
    assert all(
        name.removeprefix("case-").removesuffix(".html").isalnum() and len(name) == 30 for name in names
    )


@pytest.mark.parametrize("case_id", CASES)
def test_hostile_texts_are_texts(case_id: str) -> None:
    """Nothing of them becomes an element, a link or a handler; a line of 2 MB lies beside the page."""
    plan = a_run_plan([case_id], trials=2)
    key = TrialKey(run_id="r", suite="demo", case_id=case_id, trial=0)
    score = a_hostile_score(case_id, 0, "ToolPolicy")
    played = a_played_case(plan, score, trials={0: a_hostile_trial(key)})

    (name, data), *others = case_pages(facts_of(plan), played, {"ToolPolicy": 0})
    page = Page(data)

    assert name == case_file(case_id)
    assert not {"script", "img", "iframe", "form", "textarea"} & set(page.tags)
    assert page.handlers == []
    assert page.unbalanced == []
    assert {link.partition("#")[0] for link in page.links} == {"", "index.html", *(n for n, _ in others)}
    assert not {"\x1b", "\u202e", "\u2066", "\x00", "\x9b"} & set(data.decode())
    assert len(data) < 100_000
    assert [len(text) > 2_000_000 for _, text in others] == [True]


def test_a_glance_has_a_status_for_every_trial() -> None:
    """The run's page shows them without reading rows again."""
    plan = a_run_plan(["late"])
    slow = replace(a_played(TrialKey(run_id="r", suite="demo", case_id="late", trial=0)), latency_ms=9_000.0)

    found = glance(a_played_case(plan, a_score(), None, trials={0: slow}))

    assert found.statuses == {"ToolPolicy": ["pass", "skipped"]}
    assert found.took == [(0, Ending.COMPLETED.value, 9_000.0, 3.0)]
