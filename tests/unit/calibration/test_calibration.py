"""Which label meets which judgement, what a judge comes to, and whom it lets block."""

from __future__ import annotations

import doctest
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from nightgate.calibration import (
    Asked,
    Evidence,
    Judgement,
    Label,
    Labels,
    Pinned,
    Sample,
    Word,
    bar,
    calibrated,
    may_block,
)
from nightgate.calibration.bar import held_against_the_bar
from nightgate.calibration.evidence import joined
from nightgate.errors import ExitCode
from nightgate.stats import Confusion, agreement_of

START = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)


def a_judgement(case: str = "a", verdict: bool | None = True, **more: Any) -> Judgement:
    """What judge ``f`` said of trial 0 in run ``r``."""
    values: dict[str, Any] = {"run_id": "r", "trial": 0, "evaluator": "E", "fingerprint": "f"}
    return Judgement(case_id=case, verdict=verdict, **values | more)


def a_label(case: str = "a", passed: bool = True, **more: Any) -> Label:
    """What a person said of trial 0 in run ``r``."""
    values: dict[str, Any] = {"run_id": "r", "trial": 0, "evaluator": "E"}
    return Label(case_id=case, passed=passed, **values | more)


def evidence(judgements: Iterable[Judgement], labels: Iterable[Label] = (), **more: Any) -> Evidence:
    """Run ``r`` with judge ``f``, pinned at a threshold."""
    values: dict[str, Any] = {
        "pinned": {"E": Pinned(threshold="0.85", fingerprint="f", judge_model="scripted:judge")},
        "own": {("r", "E"): "f"},
        "since": {"f": START},
    }
    judgements, labels = tuple(judgements), Labels(labels=tuple(labels))
    return Evidence(suite="demo", run_id="r", judgements=judgements, labels=labels, **values | more)


def judged(tp: int, fn: int, fp: int, tn: int, **more: Any) -> tuple[list[Judgement], list[Label]]:
    """So many labelled cells, one a case."""
    pairs = [(True, True)] * tp + [(True, False)] * fn + [(False, True)] * fp + [(False, False)] * tn
    start = more.pop("start", 0)
    names = [f"c{start + number}" for number in range(len(pairs))]
    return (
        [a_judgement(name, said, **more) for name, (_, said) in zip(names, pairs, strict=True)],
        [a_label(name, truth) for name, (truth, _) in zip(names, pairs, strict=True)],
    )


def young(label: Label, judgement: Judgement, **more: Any) -> bool:
    """Whether the label of the one cell counts."""
    ((pairs),) = joined(evidence([judgement], [label], **more)).values()
    return pairs[0].young


# -- labels and judgements --------------------------------------------------------------------------


def test_a_label_of_any_run_is_about_the_run_that_is_looked_at() -> None:
    """Every night of one case is the same evidence many times."""
    found = joined(evidence([a_judgement(), a_judgement(run_id="q")], [a_label(run_id=None)]))

    assert [pair.label is not None for pair in found["E", "f"]] == [True, False]


def test_the_most_particular_label_counts() -> None:
    """It may be a random one, and it has its own age."""
    exact = a_label(sample=Sample.RANDOM)

    found = joined(evidence([a_judgement()], [a_label(run_id=None, trial=None), exact]))

    assert found["E", "f"][0].label is exact


def test_the_first_repeat_is_the_verdict() -> None:
    """Ten looks at one output are not ten outputs."""
    found = joined(evidence([a_judgement(verdict=False, repeat=1), a_judgement(verdict=True)], [a_label()]))

    assert [pair.judgement.verdict for pair in found["E", "f"]] == [True]


def test_a_label_of_a_run_that_this_judge_judged_came_after_it() -> None:
    """It needs no date."""
    assert young(a_label(), a_judgement())


def test_a_label_of_a_run_that_another_judge_judged_needs_a_date() -> None:
    """It may have been given before this judge was thought of, whenever its file was copied."""
    other = {"own": {("r", "E"): "old"}}

    assert not young(a_label(file_written_at=datetime.max.replace(tzinfo=UTC)), a_judgement(), **other)
    assert young(a_label(labelled_at=START), a_judgement(), **other)
    assert not young(a_label(labelled_at=START.replace(hour=1)), a_judgement(), **other)


def test_a_label_of_any_run_is_as_old_as_its_file() -> None:
    """Nothing else is known of it."""
    assert young(a_label(run_id=None, file_written_at=START), a_judgement())
    assert not young(a_label(run_id=None, file_written_at=START.replace(year=2025)), a_judgement())


# -- the bar ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (Confusion(tp=45, fn=5, fp=10, tn=40), Word.MEETS),
        (Confusion(tp=40, fn=10, fp=10, tn=40), Word.MEETS),  # 80% is 80%
        (Confusion(tp=39, fn=11, fp=5, tn=45), Word.BELOW),
        (Confusion(tp=45, fn=5, fp=11, tn=39), Word.BELOW),
        (Confusion(tp=49, fn=0, fp=0, tn=50), Word.TOO_FEW),
        (Confusion(tp=20, fn=0, fp=19, tn=1), Word.BELOW),  # as blind as that shows early
        (Confusion(tp=4, fn=1, fp=1, tn=4), Word.TOO_FEW),
        (Confusion(tp=60), Word.TOO_FEW),
        (Confusion(), Word.NO_LABELS),
    ],
)
def test_the_bar(table: Confusion, word: Word) -> None:
    """50 of each, kappa's lower end .4, sensitivity and specificity .8."""
    assert held_against_the_bar(agreement_of(table), table.passes, table.fails).word is word


def test_a_judge_that_is_blind_in_one_slice_is_below_the_bar() -> None:
    """A prompt had a specificity of .04 in one domain and a kappa of .78 in another."""
    good, good_labels = judged(50, 2, 2, 60, layer="quality")
    blind, blind_labels = judged(10, 0, 9, 1, layer="parameter", start=200)

    (judge,) = calibrated(evidence(good + blind, good_labels + blind_labels)).document["judges"]

    assert judge["word"] == Word.BELOW
    assert judge["why"].startswith("layer parameter: specificity")


@pytest.mark.parametrize(
    ("table", "code"),
    [((50, 2, 2, 60), ExitCode.OK), ((60, 0, 60, 0), ExitCode.FAILED), ((4, 0, 0, 4), ExitCode.INCONCLUSIVE)],
)
def test_exit_codes(table: tuple[int, int, int, int], code: ExitCode) -> None:
    """0 all meet it, 1 one does not, 3 nobody can tell."""
    assert calibrated(evidence(*judged(*table))).exit_code is code


def test_a_judge_without_a_threshold_decides_nothing() -> None:
    """It would not block anyway."""
    pinned = {"E": Pinned(threshold=None, fingerprint="f")}

    assert calibrated(evidence(*judged(60, 0, 60, 0), pinned=pinned)).exit_code is ExitCode.INCONCLUSIVE


def test_only_the_very_judge_that_met_the_bar_may_block() -> None:
    """A new prompt is a new judge."""
    document = calibrated(evidence(*judged(50, 2, 2, 60))).document

    assert may_block(document, {"E": "f", "Other": "f"}, {}) == {"E"}
    assert may_block(document, {"E": "g"}, {}) == frozenset()
    assert may_block(None, {"E": "f"}, {}) == frozenset()
    assert may_block({**document, "schema": 2}, {"E": "f"}, {}) == frozenset()
    assert doctest.testmod(bar).failed == 0


def test_cells_without_a_verdict_are_counted_apart() -> None:
    """A judge that broke has neither agreed nor disagreed."""
    (judge,) = calibrated(evidence([a_judgement(verdict=None)], [a_label()])).document["judges"]

    assert judge["labels"]["not_judged"] == 1
    assert sum(judge["counts"].values()) == 0


# -- corrected rates --------------------------------------------------------------------------------


def test_cells_that_failed_by_the_agents_fault_stay_failed() -> None:
    """No judge saw them: they are fails for sure, and the rest is corrected."""
    judgements, labels = judged(50, 2, 2, 60)

    plain = calibrated(evidence(judgements, labels)).document["judges"][0]["corrected"]
    halved = calibrated(evidence(judgements, labels, faults={"E": 114})).document["judges"][0]["corrected"]

    assert halved["rate"] == pytest.approx(plain["rate"] / 2)
    assert halved["rogan_gladen"]["value"] == pytest.approx(plain["rogan_gladen"]["value"] / 2)


def test_trials_of_one_case_do_not_narrow_the_correction_as_cases_do() -> None:
    """Seven cases a hundred times are seven cases."""
    judgements, labels = judged(50, 2, 2, 60)
    apart = [a_judgement(f"x{n}", n % 2 == 0) for n in range(100)]
    alike = [a_judgement(f"x{n % 4}", n % 2 == 0, trial=n) for n in range(100)]

    widths = []
    for more in (apart, alike):
        found = calibrated(evidence(judgements + more, labels)).document["judges"][0]["corrected"]
        low, high = found["rogan_gladen"]["interval"]
        widths.append(high - low)

    assert widths[0] < widths[1]


def test_labels_drawn_by_the_verdict_are_weighted() -> None:
    """10 of 900 passed and 10 of 100 failed cells were looked at."""
    cells = [a_judgement(f"c{n}", n < 900) for n in range(1000)]
    labels = [a_label(f"c{n}", n < 895, sample=Sample.STRATIFIED) for n in range(890, 910)]

    (judge,) = calibrated(evidence(cells, labels)).document["judges"]

    assert judge["weighted"] is True
    assert judge["counts"] == {"tp": 5, "fn": 0, "fp": 5, "tn": 10}
    assert judge["specificity"]["value"] == pytest.approx(100 / 550)


# -- among judges -----------------------------------------------------------------------------------


def test_a_judge_that_flickers_is_told_from_judges_that_disagree() -> None:
    """The one is noise, the other a question of the rubric."""
    judgements = [
        *(a_judgement(case, True) for case in "abcd"),
        *(a_judgement(case, case != "a", repeat=1) for case in "abcd"),
        *(a_judgement(case, case in "ab", fingerprint="g") for case in "abcd"),
    ]

    document = calibrated(evidence(judgements)).document

    own = next(judge for judge in document["judges"] if judge["judge_fingerprint"] == "f")
    assert (own["repeats"]["cells"], own["repeats"]["flickering"]) == (4, 1)
    (among,) = document["among_judges"]
    assert (among["cells"], among["apart"]) == (4, 2)


def test_repeats_of_two_sweeps_count_once() -> None:
    """The second one took them from the first: they agree because they are the same."""
    twice = [a_judgement(repeat=1), a_judgement(repeat=1)]

    (judge,) = calibrated(evidence(twice)).document["judges"]

    assert judge["repeats"]["cells"] == 0


def test_a_judge_of_another_run_alone_is_listed() -> None:
    """What was judged is shown, whoever judges now."""
    pinned = {"E": Pinned(threshold="0.85", fingerprint="new")}

    found = calibrated(evidence([a_judgement()], [a_label()], pinned=pinned)).document

    assert [(judge["judge_fingerprint"], judge["pinned"]) for judge in found["judges"]] == [
        ("new", True),
        ("f", False),
    ]


# -- edited questions ---------------------------------------------------------------------------------

OLD, NEW = Asked("q-old", "kind?"), Asked("q-new", "short?")


def asked_anew(**more: Any) -> dict[str, Any]:
    """Run ``r`` asks the new question of case ``a``; run ``before`` asked the old one."""
    pinned = Pinned(threshold="0.85", fingerprint="f", criteria=frozenset({"short?"}))
    values: dict[str, Any] = {
        "pinned": {"E": pinned},
        "own": {("r", "E"): "f", ("before", "E"): "f"},
        "asked": {("r", "a", "E"): NEW, ("before", "a", "E"): OLD},
    }
    return values | more


def test_a_verdict_comes_before_none() -> None:
    """The run's judge was throttled, a sweep with the same judge was not; also between repeats."""
    broken, swept = a_judgement(verdict=None), a_judgement(verdict=False)
    late = a_judgement("b", verdict=True, repeat=1)

    found = joined(evidence([broken, a_judgement("b", verdict=None), swept, late], [a_label()]))["E", "f"]

    assert [pair.judgement.verdict for pair in found] == [False, True]
    assert found[0].own_verdict is False


def test_what_was_said_to_another_question_is_in_no_figure() -> None:
    """The criterion was edited between two runs: the same judge, and another question to it."""
    judgements, labels = judged(60, 0, 0, 60, run_id="before", asked=OLD)
    labels = [a_label(one.case_id, one.passed, run_id="before") for one in labels]
    asked = {("before", one.case_id, "E"): OLD for one in judgements}
    asked |= {("r", one.case_id, "E"): NEW for one in judgements}

    document = calibrated(evidence(judgements, labels, **asked_anew(asked=asked))).document

    (judge,) = document["judges"]
    assert (judge["word"], judge["labels"]["other_question"]) == (Word.NO_LABELS, 120)
    assert judge["why"] == "all 120 labels are of another question: the criterion was edited"
    assert set(judge["counts"].values()) == {0}
    assert judge["of_old_labels"] is False


def test_a_sweep_by_todays_question_is_not_taken_for_the_old_one() -> None:
    """Its verdicts were dropped as duplicates of the run's."""
    old = a_judgement(run_id="before", asked=OLD, verdict=False)
    new = a_judgement(run_id="before", asked=NEW, verdict=True)

    (pair,) = joined(evidence([old, new], [a_label(run_id="before")], **asked_anew()))["E", "f"]

    assert (pair.judgement.verdict, pair.current) == (True, True)
    assert (pair.own_verdict, pair.is_own) == (False, False)


def test_an_undated_label_is_about_what_its_run_asked() -> None:
    """Somebody answered the old question: a date after the new one says that they looked again."""
    swept = a_judgement(run_id="before", asked=NEW)
    since = {("a", "E", "q-new"): START}
    label = {"run_id": "before"}

    assert not young(a_label(**label), swept, **asked_anew())
    assert not young(
        a_label(**label, labelled_at=START.replace(hour=23, minute=0)),
        swept,
        **asked_anew(asked_since={("a", "E", "q-new"): START.replace(hour=23, minute=1)}),
    )
    assert young(a_label(**label, labelled_at=START), swept, **asked_anew(asked_since=since))


def test_a_case_that_the_run_lacks_counts_where_others_are_asked_the_same() -> None:
    """Cases come and go; a judge is calibrated for the text."""
    same, other = a_judgement("gone", asked=Asked("x", "short?")), a_judgement("gone", asked=OLD)
    found = evidence([], **asked_anew())

    assert (found.is_current(same), found.is_current(other)) == (True, False)


def test_repeats_of_two_questions_are_not_one_judges_flicker() -> None:
    """It was asked something else the second time."""
    looks = [a_judgement(asked=OLD), a_judgement(asked=NEW, verdict=False, repeat=1)]

    (judge,) = calibrated(evidence(looks, **asked_anew())).document["judges"]

    assert judge["repeats"]["cells"] == 0


def test_only_criteria_that_were_calibrated_let_a_judge_block() -> None:
    """Its fingerprint is the same: the criterion's text stands in the case."""
    judgements, labels = judged(60, 0, 0, 60, asked=NEW)
    asked = {("r", one.case_id, "E"): NEW for one in judgements}
    document = calibrated(evidence(judgements, labels, **asked_anew(asked=asked))).document

    assert may_block(document, {"E": "f"}, {"E": {"short?"}}) == {"E"}
    assert may_block(document, {"E": "f"}, {"E": {"short?", "kind?"}}) == frozenset()
    before = {**document, "judges": [{**document["judges"][0]}]}
    del before["judges"][0]["criteria"]
    assert may_block(before, {"E": "f"}, {"E": {"short?"}}) == frozenset()
