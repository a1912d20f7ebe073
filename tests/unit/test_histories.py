"""From ledgers to an expected bill: what counts, what does not, and what is not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from makers import a_price
from nightgate.calls import Role
from nightgate.histories import History, Task, Took, expect, tasks_of_run, took
from nightgate.prices import FREE, LongContext, Price, cost_nanousd
from nightgate.trials import Usage

PRICE = a_price(input="1", output="2", cache_read="0.1", cache_write="1.25")
PRICES: Mapping[Role, Price | None] = dict.fromkeys(Role, PRICE)
AGENT = Task(Role.AGENT, "a")
JUDGE = Task(Role.JUDGE, "a", "J")


def a_trial_row(number: int = 0, **more: Any) -> dict[str, Any]:
    """A completed trial of case ``a``."""
    return {"case_id": "a", "trial": number, "ending": "completed", "reused_from": None} | more


def a_score_row(number: int = 0, **more: Any) -> dict[str, Any]:
    """A finding of ``J``."""
    judge = {"judge_model": "judge", "panel": None}
    return {"case_id": "a", "trial": number, "evaluator": "J", "status": "pass"} | judge | more


def a_call_row(tokens: int | None = 100, number: int = 0, **more: Any) -> dict[str, Any]:
    """An agent's call that read ``tokens`` and wrote a tenth."""
    counts = dict.fromkeys(("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write"))
    if tokens is not None:
        counts |= {
            "tokens_in": tokens,
            "tokens_out": tokens // 10,
            "tokens_cache_read": 0,
            "tokens_cache_write": 0,
        }
    row = {"role": "agent", "case_id": "a", "trial": number, "play": 1, "evaluator": None, "outcome": "ok"}
    return row | {"model": "judge" if more.get("role") == "judge" else "agent"} | counts | more


def of_run(
    trials: list[dict[str, Any]], calls: list[dict[str, Any]], scores: list[dict[str, Any]] | None = None
) -> dict[Task, Took]:
    """What a run's tasks took."""
    return tasks_of_run(trials, scores or [], calls, PRICES)


def of_history(tasks: Mapping[Task, Took], *more: Mapping[Task, Took]) -> History:
    """A history of runs, newest first."""
    history = History()
    for number, found in enumerate((tasks, *more)):
        for role in Role:
            history.add(f"run-{number}", role, "m", found)
    return history


def no_guess(task: Task) -> tuple[Usage, ...]:
    """There must be no need of one."""
    raise AssertionError(task)


def test_a_task_is_the_mean_over_its_trials() -> None:
    """Two trials of one and three calls are two of two."""
    tasks = of_run(
        [a_trial_row(0), a_trial_row(1)], [a_call_row(100), *(a_call_row(300, 1) for _ in range(3))]
    )

    (line,) = expect(Counter({AGENT: 4}), of_history(tasks), no_guess, PRICES).lines

    assert line.calls == 8
    assert line.tokens["input"] == 2000
    assert line.nanousd == 2 * (1000 * 1000 + 100 * 2000)
    assert (line.known, line.guessed, line.observed) == (True, 0, 2)


def test_trials_that_were_taken_over_or_broke_tell_nothing() -> None:
    """Their calls are another run's, or those of a provider that was down."""
    trials = [a_trial_row(0), a_trial_row(1, reused_from="x"), a_trial_row(2, ending="infra_error")]

    tasks = of_run(trials, [a_call_row(100), a_call_row(5000, 2)])

    assert tasks[AGENT].tasks == 1
    assert tasks[AGENT].usage.input == 100


def test_findings_that_were_taken_over_with_their_trial_tell_nothing() -> None:
    """One that was judged again has calls of its own."""
    trials = [a_trial_row(0, reused_from="x"), a_trial_row(1, reused_from="x")]
    asked = a_call_row(500, 1, role="judge", evaluator="J")

    tasks = of_run(trials, [asked], [a_score_row(0), a_score_row(1)])

    assert (tasks[JUDGE].tasks, tasks[JUDGE].calls) == (1, 1)


def test_a_judge_that_was_not_asked_counts_as_a_judgement_without_calls() -> None:
    """Where one answer in two leaves nothing to judge, half as many calls are expected."""
    asked = a_call_row(500, 0, role="judge", evaluator="J")

    tasks = of_run([a_trial_row(0), a_trial_row(1)], [asked], [a_score_row(0), a_score_row(1, status="fail")])

    assert (tasks[JUDGE].tasks, tasks[JUDGE].calls) == (2, 1)


def test_only_the_last_play_counts() -> None:
    """What was interrupted is not going to be made again."""
    tasks = of_run([a_trial_row()], [a_call_row(9000, play=1), a_call_row(100, play=2)])

    assert tasks[AGENT].usage.input == 100


def test_an_attempt_that_was_refused_is_no_call() -> None:
    """Nobody bills it, and the next night need not meet it."""
    refused = [a_call_row(0, outcome="throttled"), a_call_row(None, outcome="unknown")]

    tasks = of_run([a_trial_row()], [*refused, a_call_row(100)])

    assert (tasks[AGENT].calls, tasks[AGENT].unmetered) == (1, 0)


def test_an_answer_without_token_counts_makes_the_cost_unknown() -> None:
    """What is known of it is a lower bound."""
    tasks = of_run([a_trial_row()], [a_call_row(100), a_call_row(None)])

    (line,) = expect(Counter({AGENT: 1}), of_history(tasks), no_guess, PRICES).lines

    assert (line.calls, line.known) == (2, False)
    assert line.nanousd > 0


def test_nobody_counts_the_tokens_of_a_free_model() -> None:
    """They cost nothing however many they are."""
    assert took([None, Usage(input=5)], FREE).unmetered == 0


def test_the_newest_run_tells_and_older_ones_fill_in() -> None:
    """A case that was not in the newest run is not a new one."""
    new = {AGENT: took([Usage(input=10)], PRICE)}
    old = {AGENT: took([Usage(input=99)], PRICE), Task(Role.AGENT, "b"): took([Usage(input=70)], PRICE)}
    history = of_history(new, old)

    lines = expect(Counter({AGENT: 1, Task(Role.AGENT, "b"): 1}), history, no_guess, PRICES).lines

    assert lines[0].tokens["input"] == 80
    assert list(history.runs(Role.AGENT)) == ["run-0", "run-1"]


def test_a_new_case_takes_what_all_cases_took() -> None:
    """It is told by the history of its evaluator, not by another's."""
    tasks = of_run([a_trial_row(0), a_trial_row(1)], [a_call_row(100, 0), a_call_row(300, 1)])
    new = Task(Role.AGENT, "new")

    (line,) = expect(Counter({new: 1}), of_history(tasks), no_guess, PRICES).lines

    assert line.tokens["input"] == 200
    assert line.guessed == 0


def test_without_history_the_calls_are_guessed_and_counted_as_that() -> None:
    """A guess must not look like a measurement."""
    work = Counter({JUDGE: 3, AGENT: 2})

    bill = expect(
        work, of_history({AGENT: took([Usage(input=10)], PRICE)}), lambda _: [Usage(input=7)], PRICES
    )

    assert [(line.role, line.guessed, line.tokens["input"]) for line in bill.lines] == [
        (Role.AGENT, 0, 20),
        (Role.JUDGE, 3, 21),
    ]


def test_an_unknown_price_is_unknown_unless_no_call_is_made() -> None:
    """Null is not 0."""
    work = Counter({AGENT: 1, JUDGE: 1})
    tasks = {AGENT: took([Usage(input=10)], None), JUDGE: took([], None)}

    agent, judge = expect(work, of_history(tasks), no_guess, {}).lines

    assert (agent.known, agent.nanousd) == (False, 0)
    assert judge.known


def test_long_prompts_are_priced_call_by_call() -> None:
    """A mean of tokens would hide the dear ones."""
    zero = PRICE.cache_read * 0
    long = LongContext(above=1000, input=PRICE.input * 2, output=zero, cache_read=zero, cache_write=zero)
    price = Price(input=PRICE.input, output=zero, cache_read=zero, cache_write=zero, long=long)

    found = took([Usage(input=100), Usage(input=2000)], price)

    assert found.nanousd == 100 * 1000 + 2000 * 2000


USAGES = st.builds(Usage, input=st.integers(0, 10_000), output=st.integers(0, 1000))


@given(st.lists(st.lists(USAGES, max_size=4), min_size=1, max_size=6))
def test_a_run_like_the_last_one_costs_what_the_last_one_cost(trials: list[list[Usage]]) -> None:
    """Exactly: sums of fractions, no float in between."""
    rows = [
        a_call_row(0, number, tokens_in=usage.input, tokens_out=usage.output)
        for number, calls in enumerate(trials)
        for usage in calls
    ]
    tasks = of_run([a_trial_row(number) for number in range(len(trials))], rows)

    (line,) = expect(Counter({AGENT: len(trials)}), of_history(tasks), no_guess, PRICES).lines

    assert line.nanousd == Fraction(sum(cost_nanousd(usage, PRICE) for calls in trials for usage in calls))
    assert line.calls == sum(map(len, trials))
