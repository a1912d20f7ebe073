"""The calendar of the simulated month, and what it does to scripts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from nightgate.calls import Role
from nightgate.cases.scripts import Playlist, Script, load_script
from nightgate.errors import InputError
from nightgate.wiring.months import STORIES, Month, Story

CASES = Path(__file__).parents[3] / "cases"
NOW = datetime(2026, 11, 30, 14, 5, tzinfo=UTC)
MONTH = Month.before(NOW)
SUPPORT = STORIES[0]


def script(name: str = "baseline", story: Story = SUPPORT) -> Script:
    return load_script(CASES / story.suite / "scripts" / f"{name}.yaml")


def drawn(month: Month, night: int) -> Script:
    return month.script(SUPPORT, night, Role.AGENT, "scripted:baseline", script())


def steady(playlist: Playlist) -> bool:
    return bool(playlist.steps[0].call)


def test_the_model_changes_on_night_12_of_30() -> None:
    """That is what the month is known for; the other events keep away from it."""
    models = [MONTH.model(SUPPORT, night) for night in range(1, 31)]

    assert models == ["scripted:baseline"] * 11 + ["scripted:upgraded"] * 19
    assert (MONTH.outage_night, MONTH.judge_night) == (18, 24)


@pytest.mark.parametrize("nights", range(10, 61))
def test_a_month_of_any_length_has_all_events_on_nights_of_their_own(nights: int) -> None:
    """There are nights before the change to compare with, and nights after the last event."""
    month = Month.before(NOW, nights=nights)

    assert 3 < month.model_night < month.outage_night < month.judge_night < nights


@pytest.mark.parametrize("nights", [-1, 0, 9, 366])
def test_a_month_that_cannot_show_its_events_is_refused(nights: int) -> None:
    """In a few nights nothing is told from chance."""
    with pytest.raises(InputError, match=f"--nights {nights}"):
        Month.before(NOW, nights=nights)


def test_all_nights_are_over() -> None:
    """A night to come would be the newest run for ever."""
    starts = [MONTH.start(night) for night in range(1, 31)]

    assert starts[-1] == datetime(2026, 11, 29, 2, 30, tzinfo=UTC)
    assert len({start.date() for start in starts}) == 30
    assert starts == sorted(starts)


@pytest.mark.parametrize("seed", range(5))
def test_the_flaky_case_fails_now_and_then_and_never_mostly(seed: int) -> None:
    """About one trial in five, on nights that the seed chooses."""
    month = Month.before(NOW, seed=seed)
    trials = [
        steady(playlist)
        for night in range(1, 31)
        if night != month.outage_night
        for playlist in drawn(month, night).replies["refund-in-window"].trials
    ]

    assert len(trials) == 87
    assert 5 <= trials.count(False) <= 35


def test_the_seed_decides() -> None:
    """The same luck twice, and other luck with another seed."""
    other = Month.before(NOW, seed=1)

    assert [drawn(MONTH, night) for night in range(1, 31)] == [drawn(MONTH, night) for night in range(1, 31)]
    assert any(drawn(MONTH, night) != drawn(other, night) for night in range(1, 31))


def test_a_usual_night_changes_no_other_case() -> None:
    """What is said and called is the script's; only tokens are added."""
    written, played = script(), drawn(MONTH, 3)

    assert set(played.replies) == set(written.replies)
    for case in set(written.replies) - {"refund-in-window"}:
        pairs = zip(played.replies[case].trials[0].steps, written.replies[case].trials[0].steps, strict=True)
        assert all((mine.say, mine.call) == (its.say, its.call) for mine, its in pairs)


def test_in_the_outage_only_some_cases_are_answered() -> None:
    """All others end as the provider's fault, whatever the agent would have said."""
    played = drawn(MONTH, MONTH.outage_night)

    down = {case for case, found in played.replies.items() if found.trials[0].steps[0].raise_}
    assert down == set(played.replies) - set(SUPPORT.answered)
    assert down


@pytest.mark.parametrize("role", list(Role))
def test_every_step_has_tokens_and_a_price(role: Role) -> None:
    """Cost over the nights is a page of its own; a step without tokens would be free."""
    written = script("judge" if role is Role.JUDGE else "baseline")
    played = MONTH.script(SUPPORT, 3, role, "scripted:any", written)

    groups = [*played.replies.values(), *(r for by in played.judgements.values() for r in by.values())]
    steps = [s for g in groups for p in g.trials for s in (*p.steps, *p.choices)]
    assert steps
    assert all(step.usage is not None and step.usage.input > 0 < step.usage.output for step in steps)
    assert played.price.input > 0


def test_the_new_model_is_the_cheaper_one() -> None:
    """Why anybody changes a model that passes."""
    old, new = (
        MONTH.script(SUPPORT, 3, Role.AGENT, spec, script()).price for spec in (SUPPORT.before, SUPPORT.after)
    )

    assert new.input < old.input


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.suite)
def test_what_the_story_names_is_in_its_suite(story: Story) -> None:
    """A case that was renamed would leave a month in which nothing happens."""
    before, after = (script(spec.partition(":")[2], story) for spec in (story.before, story.after))

    named = {*story.worse, *story.answered, *([story.flaky] if story.flaky else [])}
    assert named <= before.case_ids
    assert {case for case in before.case_ids if before.replies[case] != after.replies[case]} == set(
        story.worse
    )


def test_the_events_are_told_in_their_order() -> None:
    """They are the captions of the pages."""
    told = [(event.night, event.suite, event.what) for event in MONTH.events()]

    assert told == [
        (1, "support", "flaky"),
        (12, "support", "model"),
        (12, "appointments", "model"),
        (18, "support", "outage"),
        (18, "appointments", "outage"),
        (24, "support", "judge"),
    ]
