"""Texts that try to be more than text, for everything that shows what agents, judges and case files say."""

from __future__ import annotations

from dataclasses import replace

from makers import a_call, assistant, results, user
from nightgate.ports import Store
from nightgate.scores import Score, Status
from nightgate.trials import Trial, TrialKey
from playedruns import a_played, a_run_plan, put_run

SCRIPT = "<script>document.title='pwned'</script>"
IMAGE = '"><img src=x onerror="document.title=1"> <svg/onload=alert(1)>'
LINK = "[see](javascript:alert(1)) javascript:alert(1) <a href='javascript:alert(1)'>x</a>"
BIDI = "refund \u202eEVITAGEN\u202c granted \u2066x\u2069"
ANSI = "\x1b[2J\x1b[31mred\x1b[0m \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 \x9b31m\x00\x7f"
FAMILY = "👨‍👩‍👧‍👦"
ARABIC = "مرحبا بك في المتجر"
TEMPLATE = "{{ 7 * 7 }} {% raw %} </style></title></pre></textarea><!-- ]]>"
LONG = "x" * 2_000_000
"""A line of 2 MB."""
EVERYTHING = f"{SCRIPT}\n{IMAGE}\n{LINK}\n{BIDI}\n{ANSI}\n{FAMILY}\n{ARABIC}\n{TEMPLATE}"

CASES = (
    "../../../etc/passwd",
    "CON",
    "con",
    "a/b\\c",
    SCRIPT,
    "name-" * 80,
    BIDI,
    "'; rm -rf / #",
    f"familia {FAMILY}",
    "line\nbreak",
)
"""Ids that are no file names, that differ by case alone, and that would like to be markup."""


def a_hostile_trial(key: TrialKey) -> Trial:
    """Every text that an agent, a tool or a user leaves behind is hostile."""
    return replace(
        a_played(key),
        input=EVERYTHING,
        output=EVERYTHING,
        error=ANSI,
        system_prompt=EVERYTHING,
        tools_offered=({"name": SCRIPT, "description": IMAGE},),
        tool_calls=(a_call(SCRIPT, {IMAGE: LINK}, result=EVERYTHING, call_id="t1"),),
        messages=(
            user(EVERYTHING),
            assistant(LONG, ("t1", SCRIPT, {IMAGE: LINK})),
            results(("t1", EVERYTHING, BIDI)),
            {"role": SCRIPT, "content": [{SCRIPT: IMAGE}, None, 7, "plain"]},
            assistant(EVERYTHING),
        ),
        final_state={SCRIPT: EVERYTHING},
    )


def a_hostile_score(case: str, trial: int, evaluator: str) -> Score:
    """A judge that repeats what it was told to say."""
    failed = trial % 2 == 0
    return Score(
        evaluator=evaluator,
        version=1,
        status=Status.FAIL if failed else Status.PASS,
        reason=f"{EVERYTHING} {case}",
        label=IMAGE,
        score=0.0 if failed else 1.0,
        details={SCRIPT: LINK, "expected": IMAGE, "observed": EVERYTHING},
    )


def put_hostile_run(store: Store) -> str:
    """A run in which every text is hostile; returns its id."""
    plan = a_run_plan(CASES, ("ToolPolicy", "Criterion:<b>Judge"), trials=2, model=f"import:{SCRIPT}")
    cases = tuple(
        replace(
            case, family=SCRIPT if n < 3 else f"{BIDI}/~", language=IMAGE if n % 2 else "en", tags=(LINK,)
        )
        for n, case in enumerate(plan.cases)
    )
    plan = replace(
        plan, cases=cases, owner=SCRIPT, warnings=(EVERYTHING,), reason=LINK, suite_path=f"a b/{BIDI}"
    )
    put_run(store, plan, trial=a_hostile_trial, score=a_hostile_score)
    return plan.run_id
