"""A judge's figures as lines."""

from __future__ import annotations

from nightgate.calibration import Evidence, Judgement, Label, Labels, Pinned, Unmet, calibrated
from nightgate.reports.calibration import render

FIGURES = (
    "  agreement 100% [0.21, 1.00], kappa undefined (one side says one thing only), "
    "sensitivity 100% [0.21, 1.00], specificity unknown"
)


def rendered(evaluator: str = "E", unmet: int = 0, unread: tuple[str, ...] = ()) -> str:
    """One labelled pass that the judge passed, one cell that it passed and nobody labelled."""
    judgements = [
        Judgement(run_id="r", case_id=case, trial=0, evaluator=evaluator, fingerprint="f", verdict=True)
        for case in "ab"
    ]
    label = Label(run_id="r", case_id="a", trial=0, evaluator=evaluator, passed=True)
    return render(
        calibrated(
            Evidence(
                suite="demo",
                run_id="r",
                labels=Labels(labels=(label,), unfilled=3, unread=unread),
                judgements=judgements,
                pinned={evaluator: Pinned(threshold="0.85", fingerprint="f")},
                own={("r", evaluator): "f"},
                absent=["gone"],
                unmet=[Unmet("people.csv", n + 2, "run r has no case") for n in range(unmet)],
            )
        ).document
    )


def test_what_is_missing_is_said() -> None:
    """The next step of whoever reads it."""
    assert rendered().splitlines() == [
        "judges of demo, run r: 1 labels, 3 rows not filled in",
        "labels of runs that the store does not have complete are left out: gone",
        "TOO FEW LABELS  E by unknown [f]: 1 passes and 0 fails labelled, wanted 50 of each",
        "  passes: judged right 1, missed 0; fails: judged right 0, missed 0",
        FIGURES,
        "  missing before it may block: labels of 49 passes and 50 fails",
        "  pass rate by this judge 100%, of 2 judged cells",
        "  not corrected: sensitivity or specificity is unknown: passes and fails have to be labelled",
    ]


def test_names_cannot_move_the_cursor() -> None:
    """They come from a suite's files."""
    assert "\x1b" not in rendered("E\x1b[2J")


def test_labels_that_count_nowhere_are_told_with_their_place() -> None:
    """The first few of them, and how many there are."""
    lines = rendered(unmet=7, unread=("labels/more.txt",)).splitlines()

    start = lines.index("7 labels meet no judgement and are not counted:")
    assert lines[start - 1] == "1 files are not read (labels stand in .csv or .jsonl): labels/more.txt"
    assert lines[start + 1] == "  people.csv:2: run r has no case"
    assert lines[start + 6] == "  and 2 more"
