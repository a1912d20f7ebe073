"""The bars of the detector on the mixed suite, through the product: stored summaries in, states out.

``bench/detector.py`` says the same from larger samples; the seeds here are fixed.
"""

from __future__ import annotations

import pytest

from simulated import MIXED, Simulation

NIGHTS = 30
FULL_BASELINE = 23
PASTS, BRANCHES = 4, 20


@pytest.fixture(scope="module")
def quiet() -> list[Simulation]:
    """Mixed suites in which nothing changes."""
    suites = [Simulation(dict(MIXED), seed) for seed in range(6)]
    for suite in suites:
        for _ in range(NIGHTS):
            suite.night()
    return suites


def test_a_suite_in_which_nothing_changes_is_quiet(quiet: list[Simulation]) -> None:
    """At most 0.10 false alerts a night; thresholds on single nights have 1.7 and more."""
    assert sum(len(suite.broke()) for suite in quiet) <= 0.10 * NIGHTS * len(quiet)


def test_reruns_stay_a_small_part_of_the_trials(quiet: list[Simulation]) -> None:
    """At most 12% extra."""
    assert sum(suite.extra for suite in quiet) <= 0.12 * 300 * NIGHTS * len(quiet)


def test_what_broke_once_is_not_told_again_until_it_recovered(quiet: list[Simulation]) -> None:
    """One opening message, one closing one."""
    for suite in quiet:
        ill: set[str] = set()
        for document in suite.documents:
            told = {entry["case"] for entry in document["newly_broken"]}
            fixed = {entry["case"] for entry in document["newly_fixed"]}
            assert not told & ill
            assert fixed <= ill
            ill = (ill | told) - fixed


def test_lost_calls_raise_no_alarm() -> None:
    """One call in ten ends in an infrastructure error: no more false alerts than without."""
    suites = [Simulation(dict(MIXED), seed) for seed in range(3)]
    for suite in suites:
        for _ in range(NIGHTS):
            suite.night(errors=0.1)

    assert sum(len(suite.broke()) for suite in suites) <= 0.10 * NIGHTS * len(suites)


def test_a_drop_to_60_percent_is_found_in_time() -> None:
    """At least 55% the same night, at least 88% within two nights."""
    delays: list[int | None] = []
    for seed in range(PASTS):
        past = Simulation({"falling": 0.98, **{c: r for c, r in MIXED.items() if c != "steady-00"}}, seed)
        for _ in range(FULL_BASELINE):
            past.night()
        for branch in range(BRANCHES):
            future = past.branch(100 * (seed + 1) + branch)
            future.rates["falling"] = 0.60
            nights = (future.night() for _ in range(3))
            told = ("falling" in [e["case"] for e in night["newly_broken"]] for night in nights)
            delays.append(next((delay for delay, broke in enumerate(told) if broke), None))

    assert sum(delay == 0 for delay in delays) >= 0.55 * len(delays)
    assert sum(delay is not None for delay in delays) >= 0.88 * len(delays)


def test_a_case_that_breaks_for_good_is_told_the_same_night() -> None:
    """From .98 to .20 on the fifteenth night of a suite of 20 cases: at least 95 of 100."""
    told = 0
    for seed in range(5):
        past = Simulation({f"case-{n:02d}": 0.98 for n in range(20)}, seed)
        for _ in range(14):
            past.night()
        for branch in range(20):
            future = past.branch(100 * (seed + 1) + branch)
            future.rates["case-00"] = 0.20
            told += "case-00" in [entry["case"] for entry in future.night()["newly_broken"]]

    assert told >= 95


def test_a_steady_two_of_three_alerts_at_most_once() -> None:
    """It is flaky, and known to be."""
    suite = Simulation({"coin": 2 / 3, **{f"case-{n:02d}": 0.99 for n in range(19)}}, 7)
    for _ in range(NIGHTS):
        suite.night()

    assert sum(case == "coin" for _, case in suite.broke()) <= 1
    assert "coin" in [entry["case"] for entry in suite.documents[-1]["flaky"]]


def test_the_next_night_repeats_nothing_and_recovery_closes_once() -> None:
    """A break on the fifteenth night, mended on the twentieth."""
    suite = Simulation({f"case-{n:02d}": 0.99 for n in range(20)}, 3)
    for night in range(25):
        suite.rates["case-00"] = 0.0 if 15 <= night < 20 else 0.99
        suite.night()

    opened = [n for n, d in enumerate(suite.documents) if "case-00" in [e["case"] for e in d["newly_broken"]]]
    closed = [n for n, d in enumerate(suite.documents) if "case-00" in [e["case"] for e in d["newly_fixed"]]]
    assert (opened, closed) == ([15], [20])
