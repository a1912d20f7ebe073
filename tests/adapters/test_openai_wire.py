"""What a provider's misbehaviour becomes: the real client against a real, faulty server on loopback.

Each test runs a whole one-case suite and reads its stored rows, so it proves the chain from a byte on
the wire to the trial's ending, the cell's blame and the ledger.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from live.onecase import Ran, run_one, write_suite
from live.openai_standin import Cut, Garbage, Late, Page, Refuse, Say, Standin, Step, openai_standin
from live.readers import outcomes, rows
from nightgate import run_suite
from nightgate.adapters.models import build_model, parse_spec
from nightgate.adapters.pace import Pace
from nightgate.adapters.replies import Reply
from nightgate.calls import Role
from nightgate.trials import Usage
from nightgate.wiring import Progress
from servers import free_ports
from shell import nightgate

pytestmark = pytest.mark.server

TRIES = 6
"""Of one call to a model on this machine, the first included."""
FAST = {"Retry-After": "0"}


@pytest.fixture(scope="module")
def server() -> Iterator[Standin]:
    with openai_standin() as standin:
        yield standin


@pytest.fixture
def standin(server: Standin, monkeypatch: pytest.MonkeyPatch) -> Standin:
    """The stand-in, with nothing in the environment that would change a run.

    Nobody waits after a throttle but for what it asked: how it slows later calls down is not the wire's.
    """
    monkeypatch.setattr(Pace, "throttled", lambda *_: None)
    for name in [name for name in os.environ if name.startswith(("NIGHTGATE_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    server.requests.clear()
    return server


async def played(standin: Standin, folder: Path, *steps: Step, options: str = "", **suite: Any) -> Ran:
    """Run it with an agent's model that plays ``steps``."""
    return await run_one(folder, standin.plays("agent", *steps, options=options), **suite)


# --- what goes well


async def test_tokens_latencies_and_stop_reach_the_ledger(standin: Standin, tmp_path: Path) -> None:
    """Cached tokens are inside the input on this wire and beside it in the rows."""
    ran = await played(standin, tmp_path, Say(text="ok then", usage=(12, 5), cached=4))

    (call,) = ran.calls
    assert ran.ending == "completed"
    assert (call["outcome"], call["stop_reason"], call["attempt"], call["late"]) == (
        "ok",
        "end_turn",
        1,
        False,
    )
    tokens = [call[f"tokens_{kind}"] for kind in ("in", "out", "cache_read", "cache_write")]
    assert tokens == [8, 5, 4, 0]
    assert 0 < call["first_token_ms"] <= call["latency_ms"]
    assert call["cost_nanousd"] == 0


async def test_a_placeholder_key_is_sent_where_loopback_needs_none(standin: Standin, tmp_path: Path) -> None:
    """The client insists on a key; the server on this machine does not."""
    await played(standin, tmp_path, Say())

    assert standin.requests[0].headers["Authorization"] == "Bearer placeholder"


async def test_tool_calls_on_the_wire_are_played(standin: Standin, tmp_path: Path) -> None:
    """Arguments arrive in pieces beside an empty one, as providers send them."""
    asks = Say(text="", calls=[("search_kb", '{"query": "refund"}')])
    ran = await played(standin, tmp_path, asks, Say(text="ok [KB-101]"))

    (trial,) = ran.trials
    (tool,) = json.loads(trial["tool_calls"])
    assert (tool["name"], tool["arguments"], tool["status"]) == ("search_kb", {"query": "refund"}, "success")
    assert (trial["ending"], trial["calls"], trial["tokens_in"], trial["tokens_out"]) == (
        "completed",
        2,
        24,
        10,
    )


async def test_arguments_that_are_no_json_are_kept_as_they_came(standin: Standin, tmp_path: Path) -> None:
    """The SDK would make them an empty object, and a check would judge what nobody wrote."""
    asks = Say(text="", calls=[("search_kb", '{"query": refund')])
    ran = await played(standin, tmp_path, asks, Say())

    (tool,) = json.loads(ran.trials[0]["tool_calls"])
    assert tool["arguments"] == '{"query": refund'


async def test_tokens_that_nobody_reported_are_unknown_not_zero(standin: Standin, tmp_path: Path) -> None:
    """Some servers leave the usage out."""
    ran = await played(standin, tmp_path, Say(usage=None))

    assert ran.ending == "completed"
    assert ran.calls[0]["tokens_in"] is None
    assert ran.calls[0]["tokens_out"] is None


# --- faults that pass


PASSING: Mapping[str, tuple[Step, str]] = {
    "throttled": (Refuse(status=429, code="rate_limit_exceeded", headers=FAST), "throttled"),
    "server-error": (Refuse(status=500), "server_error"),
    "overloaded": (Refuse(status=503), "server_error"),
    "gateway-timeout": (Refuse(status=504), "timeout"),
    "cut-in-good-order": (Cut(), "cut"),
    "cut-in-mid-chunk": (Cut(abrupt=True), "disconnect"),
    "error-inside-the-stream": (
        Garbage(data='{"error": {"message": "overloaded", "code": "server_error"}}'),
        "server_error",
    ),
    "a-page-instead-of-a-stream": (Page(), "cut"),
}


@pytest.mark.parametrize(("fault", "outcome"), PASSING.values(), ids=PASSING)
async def test_a_fault_that_passes_is_tried_again_and_stays_in_the_ledger(
    standin: Standin, tmp_path: Path, fault: Step, outcome: str
) -> None:
    """The trial is whole, the failed attempt is not forgotten, and no half answer leaks into the next."""
    ran = await played(standin, tmp_path, fault, Say(text="ok whole"))

    assert (ran.ending, ran.status) == ("completed", ("pass", None))
    assert ran.trials[0]["output"] == "ok whole"
    assert outcomes(ran.calls) == [outcome, "ok"]
    assert [call["attempt"] for call in ran.calls] == [1, 2]
    assert ran.calls[0]["error"]


@pytest.mark.parametrize(("fault", "outcome"), PASSING.values(), ids=PASSING)
async def test_a_fault_that_stays_is_nobodys_verdict(
    standin: Standin, tmp_path: Path, fault: Step, outcome: str
) -> None:
    """All tries, and then an error of the infrastructure: inconclusive, never a failure of the agent."""
    ran = await played(standin, tmp_path, fault)

    assert (ran.ending, ran.status) == ("infra_error", ("error", "infra"))
    assert outcomes(ran.calls) == [outcome] * TRIES
    assert standin.asked("agent") == TRIES
    assert (ran.summary["verdict"], ran.summary["exit_code"]) == ("inconclusive", 3)


async def test_a_retry_waits_as_long_as_the_provider_asked(standin: Standin, tmp_path: Path) -> None:
    """Our own back-off on this machine would be milliseconds; the wait is not working time."""
    refusal = Refuse(status=429, code="rate_limit_exceeded", headers={"Retry-After": "1"})
    ran = await played(standin, tmp_path, refusal, Say())

    assert outcomes(ran.calls) == ["throttled", "ok"]
    assert ran.calls[1]["wait_ms"] >= 1000
    assert ran.trials[0]["wait_ms"] >= 1000


async def test_a_retry_repeats_the_call_and_not_the_trial(standin: Standin, tmp_path: Path) -> None:
    """A tool that was played must not be played again: it may have closed a case."""
    asks = Say(text="", calls=[("search_kb", '{"query": "refund"}')])
    ran = await played(standin, tmp_path, asks, Refuse(status=500), Cut(), Say(text="ok"))

    assert ran.ending == "completed"
    assert outcomes(ran.calls) == ["ok", "server_error", "cut", "ok"]
    assert len(json.loads(ran.trials[0]["tool_calls"])) == 1
    assert ran.trials[0]["calls"] == 2


async def test_attempts_refused_before_a_token_cost_nothing_and_cut_ones_are_unknown(
    standin: Standin, tmp_path: Path
) -> None:
    """A refusal has no tokens; of a broken stream nobody told us how many there were."""
    ran = await played(standin, tmp_path, Refuse(status=500), Cut(), Say())

    assert [call["tokens_in"] for call in ran.calls] == [0, None, 12]


@pytest.mark.parametrize("headers_first", [True, False], ids=["after-the-headers", "before-the-headers"])
async def test_a_silent_provider_times_out_and_is_tried_again(
    standin: Standin, tmp_path: Path, headers_first: bool
) -> None:
    """``timeout_s`` of the spec is the longest silence, wherever it falls."""
    never = threading.Event()
    slow = Late(until=never, headers_first=headers_first)
    ran = await played(standin, tmp_path, slow, Say(), options="&timeout_s=0.5")
    never.set()

    assert ran.ending == "completed"
    assert outcomes(ran.calls)[0] == "timeout"
    assert outcomes(ran.calls)[-1] == "ok"


async def test_nobody_listening_is_a_disconnect(standin: Standin, tmp_path: Path) -> None:
    """The likeliest fault of all on a developer's machine."""
    (port,) = free_ports(1)
    ran = await run_one(tmp_path, f"openai:agent?base_url=http://127.0.0.1:{port}/v1")

    assert (ran.ending, ran.status) == ("infra_error", ("error", "infra"))
    assert outcomes(ran.calls) == ["disconnect"] * TRIES


# --- faults that do not pass by waiting


FINAL: Mapping[str, tuple[Step, str]] = {
    "malformed-json": (Garbage(), "error"),
    "no-such-model": (Refuse(status=404, code="model_not_found"), "error"),
    "bad-request": (Refuse(status=400, code="invalid_value"), "error"),
    "wrong-key": (Refuse(status=401, code="invalid_api_key"), "auth"),
    "spent-quota": (Refuse(status=429, code="insufficient_quota"), "auth"),
}


@pytest.mark.parametrize(("fault", "outcome"), FINAL.values(), ids=FINAL)
async def test_a_fault_that_waiting_does_not_cure_is_not_repeated(
    standin: Standin, tmp_path: Path, fault: Step, outcome: str
) -> None:
    """One request: a second could only repeat the mistake for money."""
    ran = await played(standin, tmp_path, fault)

    assert (ran.ending, ran.status) == ("infra_error", ("error", "infra"))
    assert outcomes(ran.calls) == [outcome]
    assert standin.asked("agent") == 1


async def test_an_overflowing_context_is_the_agents_own_fault(standin: Standin, tmp_path: Path) -> None:
    """It sent too much; the provider is well."""
    overflow = Refuse(
        status=400, code="context_length_exceeded", message="maximum context length is 8 tokens"
    )
    ran = await played(standin, tmp_path, overflow)

    assert (ran.ending, ran.status) == ("agent_error", ("fail", "agent"))
    assert set(outcomes(ran.calls)) == {"context_overflow"}
    assert ran.summary["exit_code"] == 1


@pytest.mark.parametrize(
    ("finish", "ending", "stop"),
    [("length", "agent_truncated", "max_tokens"), ("content_filter", "agent_blocked", "content_filtered")],
)
async def test_a_stop_before_the_end_is_the_agents_own_fault(
    standin: Standin, tmp_path: Path, finish: str, ending: str, stop: str
) -> None:
    """The text would pass; it is not judged, because it is no finished answer."""
    ran = await played(standin, tmp_path, Say(text="ok and", finish=finish))

    assert (ran.ending, ran.status) == (ending, ("fail", "agent"))
    assert ran.calls[0]["stop_reason"] == ran.trials[0]["stop_reason"] == stop
    assert ran.calls[0]["tokens_out"] == 5


# --- deadlines


async def test_an_answer_after_the_deadline_is_dropped_but_booked(standin: Standin, tmp_path: Path) -> None:
    """The trial timed out; its call was paid for all the same, and the ledger says that it was late."""
    over = threading.Event()
    progress = Progress(on_trial=lambda _: over.set())
    ran = await played(standin, tmp_path, Late(until=over), timeout_s=1.0, progress=progress)

    (call,) = ran.calls
    assert (ran.ending, ran.status) == ("agent_timeout", ("fail", "agent"))
    assert ran.trials[0]["output"] == ""
    assert (call["outcome"], call["late"], call["tokens_in"], call["tokens_out"]) == ("ok", True, 12, 5)


async def test_a_fault_after_the_deadline_is_not_tried_again(standin: Standin, tmp_path: Path) -> None:
    """Nobody waits for the answer any more."""
    over = threading.Event()
    progress = Progress(on_trial=lambda _: over.set())
    late = Late(until=over, then=Refuse(status=503), headers_first=False)
    ran = await played(standin, tmp_path, late, Say(), timeout_s=1.0, progress=progress)

    assert ran.ending == "agent_timeout"
    assert [(call["outcome"], call["late"]) for call in ran.calls] == [("server_error", True)]
    assert standin.asked("agent") == 1


async def test_the_providers_system_fingerprint_stands_in_the_ledger(
    standin: Standin, tmp_path: Path
) -> None:
    """The SDK drops it; a change of it is the only sign that the model behind a name was exchanged."""
    ran = await played(standin, tmp_path, Say(fingerprint="fp_1"))
    silent = await played(standin, tmp_path / "silent", Say())

    assert [call["system_fingerprint"] for call in ran.calls] == ["fp_1"]
    assert [call["system_fingerprint"] for call in silent.calls] == [None]
    assert ran.ending == silent.ending == "completed"


async def test_calls_side_by_side_keep_their_own_fingerprints(standin: Standin) -> None:
    """One model object serves all calls of a run."""
    both = threading.Barrier(2)

    class Meeting:
        """Answers once the other call is there too."""

        def __init__(self, name: str) -> None:
            self.then = Say(text=name, fingerprint=f"fp_{name}")

        def play(self, wire: Any) -> None:
            both.wait(timeout=30)
            self.then.play(wire)

    spec = standin.plays("shared", Meeting("a"), Meeting("b"))
    model = build_model(parse_spec(spec), script_dirs=(), role=Role.JUDGE)

    async def heard() -> tuple[str, str]:
        reply = Reply(lambda _: Usage())
        async for event in model.stream([{"role": "user", "content": [{"text": "hi"}]}]):
            reply.take(event, 0.0)
        return reply.text, str(reply.system_fingerprint)

    found = await asyncio.gather(heard(), heard())
    await model.aclose()

    assert sorted(found) == [("a", "fp_a"), ("b", "fp_b")]


# --- judges


CRITERION = "judge: [{id: polite, criterion: Is it polite?}]"
HELPFUL = "evaluators: {HelpfulnessEvaluator: {threshold: 0.5}}\n"


async def judged(standin: Standin, folder: Path, *steps: Step, **suite: Any) -> Ran:
    """Run a suite with one judge's cell, whose judge plays ``steps``."""
    judge = standin.plays("judge", *steps)
    return await run_one(
        folder, standin.plays("agent", Say()), judge=judge, **({"expect": CRITERION} | suite)
    )


async def test_a_judge_that_never_fills_its_form_ends_after_two_tries(
    standin: Standin, tmp_path: Path
) -> None:
    """Left alone it would ask hundreds of times for one row; every call of it is in the ledger."""
    invalid = Say(text="", calls=[("HelpfulnessRating", '{"score": "rather nice"}')])
    ran = await judged(standin, tmp_path, invalid, evaluators=HELPFUL, expect="")

    assert ran.ending == "completed"
    assert ran.status == ("error", "judge")
    assert len(ran.judge_calls) == standin.asked("judge") == 2
    assert "rating" in ran.scores[0]["reason"]
    assert json.loads(ran.scores[0]["details"]) == {"raw": '{"score": "rather nice"}'}
    assert ran.scores[0]["tokens_in"] == 12 * 2
    assert ran.summary["exit_code"] == 3


async def test_a_judge_that_talks_instead_of_rating_is_an_error_of_its_own(
    standin: Standin, tmp_path: Path
) -> None:
    """No form, no verdict: never a pass by accident."""
    ran = await judged(standin, tmp_path, Say(text="Very helpful"), evaluators=HELPFUL, expect="")

    assert ran.status == ("error", "judge")
    assert ran.scores[0]["score"] is None
    assert len(ran.judge_calls) == standin.asked("judge")


async def test_a_judge_that_is_cut_short_is_an_error_of_its_own(standin: Standin, tmp_path: Path) -> None:
    """A rating that ran into max_tokens is half a rating."""
    half = Say(text="", calls=[("HelpfulnessRating", '{"score": "Very')], finish="length")
    ran = await judged(standin, tmp_path, half, evaluators=HELPFUL, expect="")

    assert ran.status == ("error", "judge")
    assert ran.scores[0]["score"] is None


async def test_an_unusable_criterion_reply_keeps_its_raw_text(standin: Standin, tmp_path: Path) -> None:
    """Whoever looks at the row sees what the judge said, and that it was asked twice."""
    ran = await judged(standin, tmp_path, Say(text="yes, I think so"))

    assert ran.status == ("error", "judge")
    assert json.loads(ran.scores[0]["details"])["raw"] == "yes, I think so"
    assert len(ran.judge_calls) == 2


async def test_a_usable_reply_at_the_second_asking_counts(standin: Standin, tmp_path: Path) -> None:
    """Small judges stumble."""
    ran = await judged(standin, tmp_path, Say(text="hm"), Say(text='{"verdict": "no", "reason": "curt"}'))

    assert ran.status == ("fail", None)
    assert (ran.scores[0]["label"], ran.scores[0]["reason"]) == ("no", "curt")


async def test_a_judge_that_is_down_is_blamed_on_the_infrastructure_and_reruns_no_agent(
    standin: Standin, tmp_path: Path
) -> None:
    """The agent's money is not spent again for the judge's provider."""
    ran = await judged(standin, tmp_path, Refuse(status=503))

    assert ran.status == ("error", "infra")
    assert outcomes(ran.judge_calls) == ["server_error"] * TRIES
    assert standin.asked("agent") == 1


async def test_a_judge_out_of_time_is_no_verdict_and_its_late_call_is_booked(
    standin: Standin, tmp_path: Path
) -> None:
    """The answer that came too late would have been a pass."""
    over = threading.Event()
    late = Late(until=over, then=Say(text='{"verdict": "yes", "reason": "kind"}'))
    ran = await judged(
        standin, tmp_path, late, timeout_s=1.0, progress=Progress(on_cell=lambda _: over.set())
    )

    (call,) = ran.judge_calls
    assert ran.status == ("error", "infra")
    assert "1 s of working time" in ran.scores[0]["reason"]
    assert (call["outcome"], call["late"], call["tokens_out"]) == ("ok", True, 5)


# --- keys


@pytest.mark.parametrize(("key", "asked", "outcome"), [("", 0, "auth"), ("sk-of-a-test", 1, "error")])
def test_a_missing_key_is_found_without_asking_anybody(
    standin: Standin, tmp_path: Path, key: str, asked: int, outcome: str
) -> None:
    """The stand-in is the proxy of a host that does not exist, so it would see any request.

    With a key it sees one: the proof that without a key there was none.
    """
    env = {"OPENAI_API_KEY": key, "HTTP_PROXY": standin.url.removesuffix("/v1"), "NO_PROXY": ""}
    env |= {name.lower(): value for name, value in env.items()}
    ran = nightgate(
        *("run", write_suite(tmp_path / "wire"), "--store", tmp_path / "store", "--json", "-"),
        *("--model", "openai:elsewhere?base_url=http://models.nightgate.invalid/v1"),
        env=env,
    )

    assert ran.code == 3, ran.err
    assert standin.asked("elsewhere") == asked
    (call,) = rows(tmp_path / "store", "calls")
    assert (call["outcome"], call["cost_nanousd"]) == (outcome, 0)
    (trial,) = rows(tmp_path / "store", "trials")
    assert trial["ending"] == "infra_error"
    assert ("OPENAI_API_KEY" in trial["error"]) is not bool(key)


async def test_a_judges_fingerprints_stand_in_the_summary(standin: Standin, tmp_path: Path) -> None:
    """What a baseline is held against, since no plan can know it."""
    verdict = Say(text='{"verdict": "yes", "reason": "polite"}', fingerprint="fp_1")

    ran = await judged(standin, tmp_path, verdict)

    ((spec, values),) = ran.summary["judge_system_fingerprints"].items()
    assert (spec.partition("?")[0], values) == ("openai:judge", ["fp_1"])
    assert not [warning for warning in ran.summary["warnings"] if "set-ups" in warning]


async def test_a_judge_that_changes_its_set_up_within_a_run_is_told(standin: Standin, tmp_path: Path) -> None:
    """Half of the night was judged by another model, under the same name."""
    said = {"text": '{"verdict": "yes", "reason": "polite"}'}
    two = "judge: [{id: polite, criterion: Is it polite?}, {id: short, criterion: Is it short?}]"
    replies = Say(fingerprint="fp_1", **said), Say(fingerprint="fp_2", **said)

    ran = await judged(standin, tmp_path, *replies, expect=two)

    assert list(ran.summary["judge_system_fingerprints"].values()) == [["fp_1", "fp_2"]]
    (told,) = [warning for warning in ran.summary["warnings"] if "set-ups" in warning]
    assert "openai:judge" in told
    assert "fp_1, fp_2" in told


async def test_another_set_up_than_the_baselines_is_told(standin: Standin, tmp_path: Path) -> None:
    """Name, options and prompt are the same; only the provider's word says that the judge is not."""
    suite = write_suite(tmp_path / "wire", expect=CRITERION)
    said = {"text": '{"verdict": "yes", "reason": "polite"}'}
    agent = standin.plays("agent", Say())

    async def night(run_id: str, fingerprint: str, **more: Any) -> list[str]:
        judge = standin.plays("judge", Say(fingerprint=fingerprint, **said))
        models = {"model": agent, "judge": judge}
        done = await run_suite(suite, store=tmp_path / "store", run_id=run_id, **models, **more)
        return [warning for warning in done.as_dict()["warnings"] if "answers with" in warning]

    await night("a", "fp_1")
    same = await night("b", "fp_1", baseline="a")
    (told,) = await night("c", "fp_2", baseline="a")

    assert same == []
    assert "answers with fp_2, before it was fp_1" in told
