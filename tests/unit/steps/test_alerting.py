"""One message a night and root, on a change of state only."""

from __future__ import annotations

import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.rows.keys import alert_report_key, alerts_key, report_index_key
from nightgate.steps.alerting import Telling, alert
from nightgate.steps.delivering import Patience
from nightgate.testing import FixedClock, RecordingChannel
from nights import canary, flakiness, green, moment, put_night, red, tell
from rundocs import a_failure, a_row, a_summary, an_evaluator


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def channel() -> RecordingChannel:
    return RecordingChannel()


ERRORS = {
    "planned": 9, "pass": 0, "fail": 0, "measured": 0, "not_applicable": 0, "error": 9, "skipped": 0,
}  # fmt: skip


def titles(channel: RecordingChannel) -> list[str]:
    """What was sent."""
    return [message.title for message in channel.messages]


def regression(store: InMemoryStore, number: int, **more: Any) -> str:
    """A night on which case ``late`` is broken: newly on the first, still on later ones."""
    told = flakiness(broken=["late"]) if number == 1 else flakiness(still=["late"], gate_explained=True)
    return put_night(store, number, red(), flakiness=told, **more)


def test_three_nights_of_a_regression_are_one_opening_and_its_end_one_closing(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """The same bad news every morning is not read any more."""
    for number in (1, 2, 3):
        tell(store, regression(store, number), channel, at=moment(number))
    assert titles(channel) == ["support: gate FAILED, newly broken: late"]

    tell(store, put_night(store, 4, flakiness=flakiness(fixed=["late"])), channel, at=moment(4))
    tell(store, put_night(store, 5, flakiness=flakiness()), channel, at=moment(5))

    assert titles(channel)[1:] == ["support: over: gate passes again, 1 fixed"]


def test_a_message_names_the_page_by_the_stores_own_address(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Of a bucket the s3:// address: whoever may read it knows what to do with that."""
    store.uri = "s3://evals/nightly"
    run_id = regression(store, 1)
    store.replace(report_index_key(run_id), b"")

    tell(store, run_id, channel, at=moment(1))

    assert channel.messages[0].facts["report"] == f"s3://evals/nightly/runs/{run_id}/report/index.html"


def test_a_break_that_its_own_night_could_not_tell_is_told_by_the_next(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """A process that dies after the commit has settled the break: later nights call it known.

    To the book it is, to people it is not, so it excuses no gate.
    """
    regression(store, 1)
    tell(store, regression(store, 2), channel, at=moment(2))
    tell(store, regression(store, 3), channel, at=moment(3))

    assert titles(channel) == ["support: gate FAILED, newly broken: late"]
    assert "since: 2026-11-01" in channel.messages[0].body


def test_a_later_opening_refers_to_what_goes_on(store: InMemoryStore, channel: RecordingChannel) -> None:
    """The old cause is named in a line and not told again."""
    tell(store, regression(store, 1), channel, at=moment(1))
    tell(store, regression(store, 2, canary=canary(alarm=True)), channel, at=moment(2))

    assert titles(channel)[1] == "support: judge drifts, stricter"
    known = next(line for line in channel.messages[1].body.split("\n") if line.startswith("known before: "))
    assert "newly broken late ToolPolicy since 2026-11-01" in known


def test_causes_with_different_roots_are_a_message_each(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Those who mend the agent and those who mend the judge read different messages."""
    summary = red(
        evaluators=[an_evaluator("ToolPolicy", "fail"), an_evaluator("Judge", "inconclusive", error=2)]
    )

    tell(store, put_night(store, 1, summary), channel)

    assert titles(channel) == ["support: gate FAILED: ToolPolicy", "support: coverage hole: Judge"]


def test_a_second_call_for_a_run_sends_nothing(store: InMemoryStore, channel: RecordingChannel) -> None:
    """Flow and command line may both get to the end of a run."""
    run_id = put_night(store, 1, red(), flakiness=flakiness(fixed=["other"]))
    first = tell(store, run_id, channel)
    sent = len(channel.messages)

    again = tell(store, run_id, channel)

    assert (len(first["sent"]), len(channel.messages)) == (2, sent)
    assert again["skipped"] == "this outcome of the run was told before"


def test_a_run_that_is_resumed_to_a_pass_closes_what_it_opened(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Another outcome of the same run is news."""
    tell(store, put_night(store, 1, a_summary(verdict="inconclusive", code=3, complete=False)), channel)
    tell(store, put_night(store, 1, green()), channel)

    assert titles(channel) == ["support: the run did not end", "support: over: inconclusive"]


def test_an_older_run_that_ends_late_neither_opens_nor_closes(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Yesterday's run was resumed after today's was told."""
    tell(store, put_night(store, 3, red()), channel, at=moment(3))
    tell(store, put_night(store, 1, green()), channel, at=moment(3))
    tell(store, put_night(store, 4, green()), channel, at=moment(4))
    sent = len(channel.messages)

    late = tell(store, put_night(store, 2, red()), channel, at=moment(4))

    assert sent == 2
    assert len(channel.messages) == sent
    assert late["skipped"] == "a newer run has been told of"


def test_a_variant_does_not_close_the_nightlys_cause(store: InMemoryStore, channel: RecordingChannel) -> None:
    """Another model that passes says nothing of the one that is live."""
    tell(store, put_night(store, 1, red()), channel, at=moment(1))
    tell(store, put_night(store, 2, green(), model="scripted:other", trigger="manual"), channel, at=moment(2))
    assert len(channel.messages) == 1

    tell(store, put_night(store, 3, green()), channel, at=moment(3))

    assert titles(channel)[1] == "support: over: gate passes again"


def test_a_run_of_scripts_closes_no_case_that_real_models_broke(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """They are two histories; a script that passes is no recovery."""
    live = {"model": "openai:gpt-x"}
    tell(
        store, put_night(store, 1, red(), flakiness=flakiness(broken=["late"]), **live), channel, at=moment(1)
    )
    report = tell(
        store, put_night(store, 2, green(), flakiness=flakiness(), trigger="manual"), channel, at=moment(2)
    )

    assert len(channel.messages) == 1
    assert {cause["kind"] for cause in report["open"]} == {"gate_failed", "newly_broken"}


def test_the_nightlys_failure_is_told_after_a_variants(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """A cause that an experiment left open must not hide the real one."""
    tell(store, put_night(store, 1, red(), model="scripted:other", trigger="manual"), channel, at=moment(1))
    tell(store, put_night(store, 2, red()), channel, at=moment(2))

    assert titles(channel) == ["support: gate FAILED: ToolPolicy"] * 2


def test_a_nightly_that_changes_its_model_drops_the_old_models_causes(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """They could never end: nobody runs that model any more. That is no recovery either."""
    tell(store, put_night(store, 1, red()), channel, at=moment(1))
    report = tell(store, put_night(store, 2, green(), model="scripted:next"), channel, at=moment(2))

    assert len(channel.messages) == 1
    assert report["open"] == []


def test_a_variant_tried_by_hand_names_its_model(store: InMemoryStore, channel: RecordingChannel) -> None:
    """It is told like any run; who reads it sees that it is not the suite's own model."""
    variant = {"model": "scripted:broken", "usual_model": "scripted:agent", "trigger": "manual"}

    tell(store, put_night(store, 1, red(), flakiness=flakiness(broken=["late"]), **variant), channel)

    assert "model scripted:broken, the suite's own is scripted:agent" in channel.messages[0].body


def test_causes_that_a_variant_left_open_by_hand_are_dropped_by_the_suites_own_model(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Else they would stay "known before" for good: nobody runs that model again."""
    tell(store, put_night(store, 1, red(), model="scripted:broken", trigger="manual"), channel, at=moment(1))
    report = tell(store, put_night(store, 2, green()), channel, at=moment(2))

    assert (len(channel.messages), report["open"]) == (1, [])


def test_a_variant_that_a_schedule_runs_names_its_model(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Its failure is not the suite's own model's."""
    tell(store, put_night(store, 1, red(), model="scripted:next", usual_model="scripted:agent"), channel)

    assert "model scripted:next, the suite's own is scripted:agent" in channel.messages[0].body


@pytest.mark.parametrize("gone", ["case", "expectation"])
def test_a_broken_case_that_is_deleted_is_gone_and_not_fixed(
    store: InMemoryStore, channel: RecordingChannel, gone: str
) -> None:
    """Nobody repaired anything."""
    tell(store, regression(store, 1), channel, at=moment(1))
    left = {"case": a_row("other"), "expectation": a_row("late", "CitesSource")}[gone]
    summary = a_summary(left, evaluators=[an_evaluator("ToolPolicy"), an_evaluator("CitesSource")])

    tell(store, put_night(store, 2, summary, flakiness=flakiness()), channel, at=moment(2))

    assert titles(channel)[1] == "support: over: gate passes again, 1 gone from the suite"
    assert "gone from the suite, not repaired: late (ToolPolicy)" in channel.messages[1].body
    assert "fixed" not in channel.messages[1].body


def test_an_evaluator_that_no_case_plans_any_more_is_no_gate_that_passes_again(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """What failed was taken out."""
    tell(store, put_night(store, 1, red()), channel, at=moment(1))
    summary = a_summary(a_row("other", "CitesSource"), evaluators=[an_evaluator("CitesSource")])

    tell(store, put_night(store, 2, summary), channel, at=moment(2))

    assert titles(channel)[1] == "support: over: gate: what failed is gone from the suite"


def test_a_gate_that_fails_by_flaky_cases_alone_is_closed_without_a_word(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """It still fails, and the board says of which: a second message about a coin wakes people for nothing."""
    tell(store, put_night(store, 1, red(), flakiness=flakiness()), channel, at=moment(1))
    tell(store, put_night(store, 2, red(), flakiness=flakiness(gate_explained=True)), channel, at=moment(2))
    tell(store, put_night(store, 3, flakiness=flakiness()), channel, at=moment(3))

    assert len(channel.messages) == 1


def test_one_evaluator_that_passes_again_is_not_the_gate(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """The other one still fails it."""
    both = [an_evaluator(name, "fail", failed_cases=["late"]) for name in ("ToolPolicy", "CitesSource")]
    one = [an_evaluator("ToolPolicy"), both[1]]
    tell(store, put_night(store, 1, red(evaluators=both)), channel, at=moment(1))
    tell(store, put_night(store, 2, red(evaluators=one)), channel, at=moment(2))

    assert titles(channel)[1] == "support: over: ToolPolicy passes, gate still fails"


@pytest.mark.parametrize(
    ("summary", "command"),
    [
        (
            a_summary(verdict="inconclusive", code=3, cells=ERRORS),
            "run cases/support --rerun night-1 --only errors",
        ),
        (
            a_summary(verdict="inconclusive", code=4, complete=False, stopped="budget", budget_usd=2.0),
            "run cases/support --resume night-1 --budget-usd 4",
        ),
    ],
)
def test_the_command_mends_what_was_not_measured(
    store: InMemoryStore, channel: RecordingChannel, summary: Any, command: str
) -> None:
    """Deciding again on the same rows says the same again."""
    tell(store, put_night(store, 1, summary), channel)

    assert f"next: nightgate {command}\n" in channel.messages[0].body


def test_a_part_of_the_cases_run_by_hand_tells_nobody(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Whoever tries one case reads its answer."""
    run_id = put_night(store, 1, red(), filters={"case": ["late"]}, trigger="manual")

    assert tell(store, run_id, channel)["skipped"] is not None
    assert channel.messages == []


def test_a_rerun_of_suspects_tells_nobody(store: InMemoryStore, channel: RecordingChannel) -> None:
    """It is evidence about the run that asked for it."""
    tell(store, put_night(store, 1, red(), run_kind="rerun"), channel)

    assert channel.messages == []


def test_a_steady_two_of_three_case_is_told_at_most_once_in_thirty_nights(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """With a threshold of 1.0 it fails the gate on most nights, and is on the board since the first."""
    draw = random.Random(4)
    failures = 0
    for number in range(1, 31):
        passed = sum(draw.random() < 2 / 3 for _ in range(3))
        failures += passed < 3
        board = [{"case": "late", "evaluator": "ToolPolicy", "passed": 2, "judged": 3, "since_date": None}]
        told = flakiness(flaky=board, gate_explained=passed < 3 and number > 1)
        row = a_row("late", planned=3, passed=passed, failed=3 - passed)
        summary = red(cases=[row]) if passed < 3 else green()
        tell(store, put_night(store, number, summary, flakiness=told), channel, at=moment(number))

    assert failures > 15
    assert len(channel.messages) <= 1


def test_good_news_without_bad_news_before_is_told_once(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """A case that failed for a year works since tonight."""
    run_id = put_night(store, 1, flakiness=flakiness(fixed=["late"]))
    tell(store, run_id, channel)
    tell(store, run_id, channel)

    assert titles(channel) == ["support: over: 1 fixed"]


def test_a_quarantine_that_is_seen_to_ends_without_a_word(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """Its owner did it."""
    row = {
        "case": "late",
        "owner": "ann",
        "reason": "r",
        "until": "2026-11-04",
        "days_left": 2,
        "expired": False,
    }
    tell(store, put_night(store, 1, flakiness=flakiness(quarantined=[row])), channel, at=moment(1))
    report = tell(store, put_night(store, 2, flakiness=flakiness()), channel, at=moment(2))

    assert titles(channel) == ["support: quarantine: late"]
    assert report["open"] == []


def test_a_missing_document_ends_nothing_and_is_said(store: InMemoryStore, channel: RecordingChannel) -> None:
    """A night whose canary did not run is not a night without drift."""
    tell(store, put_night(store, 1, canary=canary(alarm=True), flakiness=flakiness()), channel, at=moment(1))
    report = tell(store, put_night(store, 2), channel, at=moment(2))

    assert len(channel.messages) == 1
    assert report["missing"] == ["flakiness", "canary"]
    assert [cause["kind"] for cause in report["open"]] == ["judge_drift"]


# -- delivery ---------------------------------------------------------------------------------------


def test_a_send_that_fails_once_is_repeated_and_arrives_once(store: InMemoryStore) -> None:
    """A hiccup of the receiver is nobody's concern."""
    channel = RecordingChannel(failures=2)

    report = tell(store, put_night(store, 1, red()), channel)

    assert len(channel.messages) == 1
    assert report["undelivered"] == []


def test_what_nobody_took_is_kept_said_and_sent_by_the_next_run(store: InMemoryStore) -> None:
    """A channel that was down for a night must not swallow the night's message."""
    down = RecordingChannel(failures=None)
    report = tell(store, put_night(store, 1, red(), flakiness=flakiness()), down, at=moment(1))
    assert [(row["channel"], row["attempts"]) for row in report["undelivered"]] == [("default", 3)]
    assert json.loads(store.read(alert_report_key("night-1")))["undelivered"] == report["undelivered"]

    up = RecordingChannel()
    later = tell(store, put_night(store, 2, red(), flakiness=flakiness()), up, at=moment(2))

    assert titles(up) == ["support: gate FAILED: ToolPolicy"]
    assert up.messages[0].facts["run_id"] == "night-1"
    assert later["undelivered"] == []


def test_an_opening_that_nobody_got_is_dropped_when_its_cause_has_ended(store: InMemoryStore) -> None:
    """The closing says all there is to say by then."""
    tell(store, put_night(store, 1, red()), RecordingChannel(failures=None), at=moment(1))

    up = RecordingChannel()
    tell(store, put_night(store, 2, green()), up, at=moment(2))

    assert titles(up) == ["support: over: gate passes again"]


def test_a_message_that_nobody_takes_for_two_weeks_is_given_up(store: InMemoryStore) -> None:
    """A channel that is gone for good must not be asked for ever."""
    down = RecordingChannel(failures=None)
    tell(store, put_night(store, 1, red()), down, at=moment(1))
    tell(store, put_night(store, 16, red()), down, at=moment(16))

    book = json.loads(store.read(alerts_key("support")))
    assert book["outbox"] == []
    assert [row["how"] for row in book["sent"]] == ["given up"]


def test_one_channel_that_fails_keeps_no_other_from_its_message(store: InMemoryStore) -> None:
    """The pager works while the chat is down, and is not paged again when the chat is back."""
    chat, pager = RecordingChannel("chat", failures=None), RecordingChannel("pager")
    tell(store, put_night(store, 1, red()), chat, pager, at=moment(1))
    back = RecordingChannel("chat")

    tell(store, put_night(store, 2, red()), back, pager, at=moment(2))

    assert (len(back.messages), len(pager.messages)) == (1, 1)


def test_a_process_that_died_before_it_sent_leaves_the_message_to_the_next_run(store: InMemoryStore) -> None:
    """The message is in the book before it is sent."""

    def die(_: float) -> None:
        raise KeyboardInterrupt

    put_night(store, 1, red())
    with pytest.raises(KeyboardInterrupt):
        alert(
            store,
            "night-1",
            [RecordingChannel(failures=None)],
            FixedClock(moment(1)),
            Telling(patience=Patience(sleep=die)),
        )
    up = RecordingChannel()

    tell(store, put_night(store, 2, red()), up, at=moment(2))

    assert titles(up) == ["support: gate FAILED: ToolPolicy"]


def test_a_message_that_another_process_is_sending_is_left_to_it(store: InMemoryStore) -> None:
    """Seconds after its start, the other one is probably still trying."""

    def meanwhile(_: float) -> None:
        tell(store, put_night(store, 2, red()), other, at=moment(1))

    other = RecordingChannel()
    put_night(store, 1, red())
    slow = RecordingChannel(failures=1)

    alert(store, "night-1", [slow], FixedClock(moment(1)), Telling(patience=Patience(sleep=meanwhile)))

    assert (titles(slow), other.messages) == (["support: gate FAILED: ToolPolicy"], [])


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_of_many_finishers_one_sends(where: str, tmp_path: Path) -> None:
    """Two workers may finish a run at the same moment."""
    store = InMemoryStore() if where == "memory" else FolderStore(tmp_path)
    put_night(store, 1, red(), flakiness=flakiness(broken=["late"]))
    channel, finishers = RecordingChannel(), 8
    start = threading.Barrier(finishers)

    def finish(_: int) -> None:
        start.wait()
        tell(store, "night-1", channel)

    with ThreadPoolExecutor(finishers) as pool:
        list(pool.map(finish, range(finishers)))

    assert titles(channel) == ["support: gate FAILED, newly broken: late"]


def test_agent_text_and_secrets_stay_out_of_messages_and_books(
    store: InMemoryStore, channel: RecordingChannel
) -> None:
    """What an agent was talked into must not ping a team, and a key must not leave the house."""
    evil = "<script> @channel <!here> https://evil.example/x \x1b[31m\u202e sk-abcdefghijklmn0123456789 "
    reason = evil + "x" * 2_000_000
    case = "case @here <b>"
    summary = red(case, failures=[a_failure(case=case, reason=reason)])
    broken = [{"case": case, "evaluator": "ToolPolicy", "failed": 3, "judged": 3}]

    tell(store, put_night(store, 1, summary, flakiness=flakiness(newly_broken=broken)), channel)

    message = channel.messages[0]
    whole = f"{message.title}\n{message.body}\n{json.dumps(dict(message.facts))}"
    assert len(whole) < 5000
    for gone in ("<script", "@", "<!", "://evil", "\x1b", "\u202e", "sk-abc", "<b>"):
        assert gone not in whole
    assert "sk-abc" not in store.read(alerts_key("support")).decode()
