"""The end of a run on a terminal: one screen, whatever the run came to, and the next command at its foot."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shell import Ran, nightgate

CASES, TRIALS = 50, 3
CRITERIA = tuple(f"criterion-{letter}" for letter in "abc")
LONG = "the answer promises what the handbook does not have, and names no source for any of it. " * 4


def a_listed_case(number: int) -> dict[str, Any]:
    """Every fifth is a conversation, two are in quarantine, every ninth is a capability."""
    case: dict[str, Any] = {
        "id": f"case-{number:02d}",
        "input": f"question {number}",
        "context": {"customer_id": "C-17"},
        "family": f"family-{number // 2}",
        "language": "en" if number % 2 else "es",
        "expect": {
            "answer": {"contains": ["yes"]},
            "tools": {"must_not_call": ["resolve_case"]},
            "cites": ["KB-101"],
            "judge": [{"id": name, "criterion": f"Is {name} met?"} for name in CRITERIA],
        },
    }
    if number % 5 == 0:
        case |= {"layer": "conversation", "persona": {
            "goal": "Have case CS-1001 resolved.", "kind": "cooperative", "patience": 3, "max_turns": 2,
            "success": {"state": {"cases.CS-1001.status": "resolved"}},
        }}  # fmt: skip
    if number in (3, 11):
        until = f"{datetime.now(UTC) + timedelta(days=10):%Y-%m-%d}"
        case["quarantine"] = {"owner": "ana", "reason": LONG, "until": until}
    if number % 9 == 4:
        case["stage"] = "capability"
    return case


def good() -> dict[str, Any]:
    """A model that does as it should."""
    return {"replies": {"*": [{"say": "yes [KB-101]"}] * 3}}


def bad() -> dict[str, Any]:
    """One that fails, errs, is cut off, and is right every other time, each of it in many cases."""
    wrong = [{"say": f"no, question: {LONG}"}] * 3
    right = [{"say": "yes [KB-101]"}] * 3
    plays: list[Any] = [
        wrong,
        {"trials": [right, wrong, right]},
        [{"raise": "auth"}],
        [{"say": "y", "stop": "max_tokens"}],
    ]
    return {"replies": {f"case-{n:02d}": plays[n % 4] for n in range(CASES)}}


def judge(*, grumbles: bool) -> dict[str, Any]:
    """A judge; one that grumbles finds something else in each case, and cannot be read in some."""
    said: dict[str, Any] = {}
    for number, name in enumerate(CRITERIA):
        found: dict[str, Any] = {"*": {"fields": {"verdict": "yes", "reason": "fine"}}}
        if grumbles:
            for n in range(number, CASES, 4):
                reason = f"\x1b[2J{name} of {n}: {LONG}"
                found[f"case-{n:02d}"] = {"fields": {"verdict": "no", "reason": reason}}
            for n in range(number + 1, CASES, 11):
                found[f"case-{n:02d}"] = {"raw": f"no JSON {n}"}
            found[f"case-{number + 1:02d}"] = {"fields": {"verdict": "cannot_tell", "reason": f"dark {name}"}}
        said[f"Criterion:{name}"] = found
    return {"judgements": said}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The worst end that makes sense: a bad model after a baseline of a good one."""
    home = tmp_path_factory.mktemp("screen")
    suite = home / "crowded"
    (suite / "scripts").mkdir(parents=True)
    (suite / "suite.yaml").write_text(
        "suite: crowded\nowner: us\nagent: nightgate_samples.support:build\nmodel: scripted:good\n"
        "judge: {panel: [scripted:kind, scripted:strict, scripted:severe], rule: majority}\n"
        f"user: scripted:user\ntrials: {TRIALS}\n"
    )
    (suite / "cases.yaml").write_text(json.dumps({"cases": [a_listed_case(n) for n in range(CASES)]}))
    scripts = {
        "good": good(),
        "bad": bad(),
        "kind": judge(grumbles=False),
        "strict": judge(grumbles=True),
        "severe": judge(grumbles=True),
        "user": {"replies": {"*": [{"say": "so?"}] * 3}},
    }
    for name, script in scripts.items():
        (suite / "scripts" / f"{name}.yaml").write_text(json.dumps(script))
    store = home / "store"
    run = ("run", suite, "--store", store, "--no-report")
    before = nightgate(*run, "--run-id", "before", "--judge", "scripted:kind")
    assert before.code == 1, before.err  # nobody met the goal of the conversations
    promoted = nightgate("promote", "before", "--store", store, "--force", "--why", "a base")
    assert promoted.code == 0, promoted.err
    return nightgate(*run, "--run-id", "after", "--model", "scripted:bad")


def test_a_crowded_suite_ends_on_one_screen(ended: Ran) -> None:
    """What scrolls away is not read: 50 cases, each of which has something to tell."""
    assert ended.code == 1, ended.err
    assert len(ended.out.splitlines()) <= 40


def test_it_ends_with_the_next_command(ended: Ran) -> None:
    """Whoever looks at the foot of the screen knows what to type."""
    last = ended.out.splitlines()[-1]

    assert last.startswith("next: nightgate run ")
    assert " --case case-00 --trials 3 --model scripted:bad --store " in last


PARTS = (
    "FAIL  crowded  (scripted:bad, judge ",
    "  ToolPolicy  ",
    "ToolPolicy: ",
    "  fail x3 case-00 ",
    "baseline: ",
    "changed since: ",
    "newly broken: ",
    "FLAKY 2/3 ",
    "QUARANTINE case-03: ",
    "families: ",
    "family family-0: ",
    "conversations: ",
    "panel ",
    "cost: ",
    "all of it: nightgate report after --out DIR --store ",
)


@pytest.mark.parametrize("part", PARTS)
def test_no_part_is_pushed_off_it(ended: Ran, part: str) -> None:
    """A hundred reasons are cut before a quarantine is lost."""
    assert any(line.startswith(part) for line in ended.out.splitlines()), ended.out


def test_what_judges_say_moves_no_cursor(ended: Ran) -> None:
    """A judge that repeats an agent's escape sequence would clear the screen."""
    assert "\x1b" not in ended.out + ended.err
    assert "criterion-a of 0" in ended.out
