"""Runs beside their base, from the store: what is read, what is frozen, what is said when it is gone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nightgate.adapters.store.memory import InMemoryStore
from nightgate.errors import InputError, MissingError
from nightgate.rows.keys import baseline_key, summaries_key
from nightgate.steps.bases import choose
from nightgate.steps.comparing import compare_runs, document
from nightgate.steps.gating import gate_run
from nightgate.steps.listing import resolve
from nightgate.steps.promoting import note_rejudged, promote
from nightgate.steps.reading import load_plan
from nightgate.trials import Ending
from pairs import a_run_plan, judge, play, put_run, some

RULE = {"max_drop": "0.03", "alpha": None}


class Counting(InMemoryStore):
    """A store that remembers what was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[str] = []

    def read(self, key: str) -> bytes:
        """Noted by its table."""
        self.reads.append(key.partition("/")[0])
        return super().read(key)


@pytest.fixture
def store() -> Counting:
    return Counting()


def based(store: InMemoryStore, letters: dict[str, str], **more: Any) -> None:
    """A run that is the baseline."""
    play(store, "base", letters, **more)
    promote(store, "base")


def summary(store: InMemoryStore, run_id: str, letters: dict[str, str], **more: Any) -> dict[str, Any]:
    """The summary of a run with the baseline of now."""
    return play(store, run_id, letters, **more).summary.as_dict()


def test_a_run_without_a_baseline_compares_with_nothing(store: Counting) -> None:
    """And says so in the shapes of the contract."""
    found = summary(store, "b", some(2))

    assert (found["baseline"], found["comparison"]) == (None, None)
    assert found["changes"] == {"newly_broken": [], "newly_fixed": [], "not_comparable": []}


def test_a_run_names_its_baseline_what_broke_and_what_was_fixed(store: Counting) -> None:
    """.90 and .90 with two cases that changed sides."""
    based(store, {**some(8, trials=3), "breaks": "PPP", "mends": "FFF"})

    found = summary(store, "b", {**some(8, trials=3), "breaks": "FFF", "mends": "PPP"})

    assert found["baseline"] == "base"
    assert found["changes"]["newly_broken"] == [
        {"case": "breaks", "evaluator": "E", "before": [3, 3], "now": [0, 3]}
    ]
    assert [flip["case"] for flip in found["changes"]["newly_fixed"]] == ["mends"]
    assert found["comparison"]["base"] == "base"


def test_a_regression_names_what_else_is_different(store: Counting) -> None:
    """The model is another one, and so is the agent's fingerprint."""
    based(store, some(40))
    other = {f"c{n}": {"agent_fingerprint": "h"} for n in range(40)}

    found = summary(store, "b", some(20, 20), facts=other, model="scripted:new")["comparison"]

    assert found["verdict"] == "regressed"
    assert [factor["text"] for factor in found["factors"]] == ["model: scripted:agent -> scripted:new"]


def test_a_committed_summary_never_changes_when_the_baseline_does(store: Counting) -> None:
    """The next promotion is about the next run."""
    based(store, some(4))
    summary(store, "b", some(4))
    before = store.read("runs/b/summary.json")

    promote(store, "b")
    gate_run(store, "b")

    assert store.read("runs/b/summary.json") == before


@pytest.mark.parametrize("what", ["plan", "summaries", "document"])
@pytest.mark.parametrize(("rule", "code"), [(None, 0), (RULE, 3)])
def test_a_baseline_that_is_gone_or_damaged_is_said(store: Counting, what: str, rule: Any, code: int) -> None:
    """Never hidden, and never a pass where the suite asks for the rule."""
    based(store, some(20), rule=rule)
    plan = load_plan(store, "base")
    if what == "plan":
        store.delete(["runs/base/plan.json"])
    elif what == "document":
        store.replace(baseline_key("demo"), b"{")
    else:
        import datetime as dt

        store.replace(summaries_key("demo", dt.date.fromisoformat(plan.date), "base"), b"other bytes")

    found = summary(store, "b", some(20), rule=rule)

    assert found["comparison"]["verdict"] == "not comparable"
    assert found["changes"]["not_comparable"][0]["evaluator"] == "*"
    assert found["exit_code"] == code
    assert gate_run(store, "b").exit_code == code


def test_a_suite_with_the_rule_and_no_baseline_is_warned(store: Counting) -> None:
    """Its first run must be able to pass, or nothing could ever be promoted."""
    found = summary(store, "b", some(20), rule=RULE)

    assert found["verdict"] == "pass"
    assert any("gate.regression has nothing to hold this run against" in text for text in found["warnings"])


def test_nothing_is_curtailed_where_the_rule_holds_a_run_against_its_baseline(store: Counting) -> None:
    """Cells that cannot change a threshold's answer still change how far a run fell."""
    based(store, some(4), rule=RULE)
    plan = a_run_plan("b", some(4), rule=RULE, curtail=True)

    frozen = choose(store, plan, None).freeze(plan)

    assert not frozen.curtail
    assert "nothing is curtailed" in frozen.warnings[-1]
    assert choose(store, replace(plan, gate={}), None).freeze(plan).curtail


def test_a_rerun_is_not_held_against_the_baseline(store: Counting) -> None:
    """It plays what failed, and nothing else."""
    based(store, some(4))

    assert choose(store, a_run_plan("r", some(1), run_kind="rerun"), None).run_id is None


def test_a_named_base_must_be_a_complete_run_of_the_suite(store: Counting) -> None:
    """Told before anything is spent."""
    plan = a_run_plan("b", some(2))
    play(store, "other", some(2), suite="other")
    put_run(store, a_run_plan("open", {"c0": "PP"}), {"c0": "P"})

    with pytest.raises(InputError, match="is of suite 'other'"):
        choose(store, plan, "other")
    with pytest.raises(InputError, match="is open"):
        choose(store, plan, "open")
    with pytest.raises(MissingError, match="no run 'nowhere'"):
        choose(store, plan, "nowhere")


def test_comparing_reads_summaries_and_no_scores(store: Counting) -> None:
    """A year of nights has millions of cells."""
    for name in ("a", "b"):
        play(store, name, some(5))
    store.reads.clear()

    compare_runs(store, "a", ["b"])

    assert set(store.reads) <= {"runs", "manifests", "summaries", "baselines"}


def test_open_runs_other_suites_and_a_run_beside_itself_are_refused(store: Counting) -> None:
    """A comparison of nothing with nothing must not look like one."""
    play(store, "a", some(2))
    play(store, "x", some(2), suite="other")
    put_run(store, a_run_plan("open", {"c0": "PP"}), {"c0": "P"})

    for run_id, why in (("open", "is open"), ("x", "is of suite 'other'"), ("a", "each run once")):
        with pytest.raises(InputError, match=why):
            compare_runs(store, "a", [run_id])


@pytest.mark.parametrize(
    ("now", "code", "answer"),
    [
        (some(40), 0, "yes"),
        (some(0, 40), 0, "no, and it did not get worse"),
        (some(5, 35), 3, "it cannot be told"),
        (some(9), 3, "it cannot be told: the runs are not comparable"),
    ],
)
def test_the_answer_and_its_exit_code(store: Counting, now: dict[str, str], code: int, answer: str) -> None:
    """0 says that nothing got worse, 3 that nobody can say so."""
    before = some(0, 40)
    if answer.startswith("no, and"):
        before, now = some(0, 400), some(0, 400)
    play(store, "a", before)
    play(store, "b", now)

    found = document("demo", compare_runs(store, "a", ["b"]))

    assert (found["exit_code"], found["answer"].startswith(answer)) == (code, True)


def test_of_several_runs_one_that_regressed_decides(store: Counting) -> None:
    """And the correction is for all of them."""
    play(store, "a", some(20, 20))
    play(store, "up", some(40))
    play(store, "down", some(0, 40))

    found = document("demo", compare_runs(store, "a", ["up", "down"]))

    assert (found["exit_code"], found["answer"]) == (1, "yes, of up")
    assert found["runs"][0]["comparison"]["questions"] == 2


# --- judged again ---


def rejudged(store: InMemoryStore, letters: dict[str, str], fingerprint: str) -> None:
    """A sweep of the baseline by another judge, noted."""
    planned = replace(judge(fingerprint), base="E")
    plan = a_run_plan("sweep", letters, evaluators=[planned], run_kind="sweep", source="base")
    put_run(store, plan, letters)
    note_rejudged(store, "demo", "base", "sweep", (planned,))


def test_a_new_judge_is_comparable_once_it_has_judged_the_baseline_again(store: Counting) -> None:
    """Before: not comparable, and the command. After: its own findings count for both."""
    based(store, some(20), evaluators=[judge("1" * 16)])
    before = summary(store, "b", some(18, 2), evaluators=[judge("2" * 16)])["comparison"]
    rejudged(store, some(19, 1), "2" * 16)

    after = summary(store, "c", some(18, 2), evaluators=[judge("2" * 16)])["comparison"]

    assert before["verdict"] == "not comparable"
    assert "run `nightgate sweep baseline`" in before["text"]
    assert (after["evaluators"][0]["before"], after["evaluators"][0]["now"]) == (0.95, 0.9)
    assert not any(factor["part"] == "judge" for factor in after["factors"])


def test_a_run_by_the_old_judge_is_still_compared_with_the_old_findings(store: Counting) -> None:
    """Whoever goes back to it gets what it said then."""
    based(store, some(20), evaluators=[judge("1" * 16)])
    rejudged(store, some(19, 1), "2" * 16)

    found = summary(store, "c", some(20), evaluators=[judge("1" * 16)])["comparison"]

    assert found["evaluators"][0]["before"] == 1.0


def test_a_trial_that_no_judge_had_to_see_keeps_its_finding(store: Counting) -> None:
    """A timeout failed by the agent's own fault: a sweep leaves it out, and it is no hole."""
    letters = {**some(20), "slow": "F"}
    plan = a_run_plan("base", letters, evaluators=[judge("1" * 16)])
    put_run(store, plan, letters, endings={"slow": Ending.AGENT_TIMEOUT})
    promote(store, "base")
    rejudged(store, some(20), "2" * 16)

    found = summary(store, "c", letters, evaluators=[judge("2" * 16)])["comparison"]

    assert found["evaluators"][0]["cases"] == 21
    assert found["evaluators"][0]["change"] == 0.0


def test_gating_again_takes_the_sweeps_of_its_own_day(store: Counting) -> None:
    """A sweep that came later does not change what was decided."""
    based(store, some(20), evaluators=[judge("1" * 16)], rule=RULE)
    first = play(store, "b", some(20), evaluators=[judge("2" * 16)], rule=RULE).decision
    rejudged(store, some(20), "2" * 16)

    assert first.exit_code == 3
    assert gate_run(store, "b") == first
    assert play(store, "c", some(20), evaluators=[judge("2" * 16)], rule=RULE).decision.exit_code == 0


# --- words for runs ---


def test_baseline_is_a_word_for_a_run(store: Counting) -> None:
    """Of the suite that is meant, else of the only one."""
    based(store, some(2))

    assert resolve(store, "baseline") == resolve(store, "baseline:demo") == "base"
    assert resolve(store, "baseline", "demo") == "base"


def test_a_bare_baseline_among_several_suites_is_refused_with_the_list(store: Counting) -> None:
    """Guessing would compare runs of different suites."""
    based(store, some(2))
    play(store, "x", some(2), suite="other")

    with pytest.raises(InputError, match=r"2 suites, say whose: baseline:demo"):
        resolve(store, "baseline")


def test_a_suite_without_a_baseline_says_how_to_get_one(store: Counting) -> None:
    """Exit 2, nothing spent."""
    play(store, "a", some(2))

    with pytest.raises(InputError, match=r"has no baseline.*nightgate promote RUN"):
        resolve(store, "baseline:demo")
