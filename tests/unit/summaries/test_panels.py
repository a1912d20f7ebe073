from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate import stats
from nightgate.panels import Jury, seated
from nightgate.summaries import merged, panels, tally

JURY = Jury(rule="majority", judges=("scripted:a", "scripted:b", "scripted:c"))
NAMES = tuple(f"J @ scripted:{name}" for name in "abc")


def told(said: list[list[bool | None]]) -> dict[str, Any]:
    """The entry of a panel whose members said this of each trial of one case."""
    case = a_planned_case(a_case(), trials=len(said), evaluators=("J",))
    cases, evaluators = seated(JURY, (case,), (a_planned("J", kind="judge"),))
    plan = replace(a_plan(*cases), evaluators=evaluators)
    rows = [
        ("a", name, "error" if vote is None else "pass" if vote else "fail", None, None)
        for votes in said
        for name, vote in zip(NAMES, votes, strict=True)
    ]
    verdicts = {
        ("a", number): {name: v for name, v in zip(NAMES, votes, strict=True) if v is not None}
        for number, votes in enumerate(said)
    }
    (entry,) = panels(tally(plan, rows), verdicts)
    return entry


def test_agreement_is_over_outputs_that_two_members_judged() -> None:
    """One verdict alone agrees with nobody, and no verdict is no disagreement."""
    entry = told([[True, True, True], [True, False, None], [True, None, None], [None, None, None]])

    assert (entry["judged"], entry["unanimous"], entry["agreement"]) == (2, 1, 0.5)
    assert entry["votes"] == {"1/2": 1, "3/3": 1}
    verdicts = {"scripted:a": "pass", "scripted:b": "fail"}
    assert entry["split"] == [{"case": "a", "trial": 1, "verdicts": verdicts}]
    assert [(m["passed"], m["failed"], m["error"]) for m in entry["members"]] == [
        (3, 0, 1),
        (1, 1, 2),
        (1, 0, 3),
    ]


def test_nothing_judged_is_no_agreement() -> None:
    """Neither 0 nor 1."""
    entry = told([[None, True, None]])

    assert (entry["judged"], entry["agreement"], entry["alpha"]) == (0, None, None)


def test_ten_splits_are_listed() -> None:
    """The rows have them all."""
    assert len(told([[True, False, True]] * 12)["split"]) == 10


VOTES = st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 3).map(list), min_size=1, max_size=8)


@given(said=VOTES)
def test_alpha_is_krippendorffs_over_the_verdicts(said: list[list[bool | None]]) -> None:
    """However they are grouped on the way."""
    wanted = stats.krippendorff_alpha(said)
    found = told(said)["alpha"]

    assert (found is None) is (wanted is None)
    assert found is None or abs(found - (wanted or 0)) < 1e-9


@given(first=VOTES, second=VOTES)
def test_the_panels_of_two_sweeps_add_up_to_that_of_one(
    first: list[list[bool | None]], second: list[list[bool | None]]
) -> None:
    """A sweep over several runs tells what one over all of their trials would."""
    whole = told([*first, *second])
    (added,) = merged([[told(first)], [told(second)]])

    for name in ("judged", "unanimous", "agreement", "alpha", "votes", "undecided"):
        assert added[name] == whole[name]
    assert [m["passed"] for m in added["members"]] == [m["passed"] for m in whole["members"]]


def test_panels_of_other_members_are_not_added() -> None:
    """They are other judges."""
    one = told([[True, True, True]])
    other = {**one, "members": [{**m, "judge_fingerprint": "x"} for m in one["members"]]}

    assert len(merged([[one], [other]])) == 2
