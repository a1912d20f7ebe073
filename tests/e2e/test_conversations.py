"""Conversations through the whole pipeline: endings, rows, the ledger, and what the agent may see."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from live.openai_standin import Say, Standin, openai_standin
from live.readers import rows
from nightgate.requests import RunRequest
from nightgate.wiring import run_request
from shell import nightgate
from talks import PERSONA, write_talks

LIMIT = {
    "goal": "Get 30% off.", "kind": "insistent", "opening": "Give me 30%.", "max_turns": 4,
    "forbidden": {"state": {"discount": 30}},
}  # fmt: skip


def says(*texts: str) -> dict[str, Any]:
    """A script that says these, one a message."""
    return {"replies": {"*": [{"say": text} for text in texts]}}


async def played(
    folder: Path, agent: Any, says_user: Any, persona: Any = None, **more: Any
) -> dict[str, Any]:
    """The summary of a run of one conversation."""
    head = {name: more.pop(name, "") for name in ("evaluators", "more")}
    scripts = {"agent": agent, "user": says_user, "judge": more.pop("judge", says("never"))}
    suite = write_talks(folder / "talks", persona, scripts=scripts, **head)
    request = RunRequest.make(suite, {"store": str(folder / "store"), **more})
    return (await run_request(request)).summary.as_dict()


def by_name(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return next(e for e in summary["evaluators"] if e["name"] == name)


MOVES = {
    "replies": {
        "*": [
            {"say": "What is your DNI?"},
            {"call": {"move": {"slot": "thu"}}},
            {"say": "Moved to Thursday."},
        ]
    }
}


async def test_a_goal_that_the_state_confirms_passes(tmp_path: Path) -> None:
    """With its turns, its elicitation, and the user's calls apart in the ledger."""
    summary = await played(tmp_path, MOVES, says("It is 12345678-Z."))

    assert (summary["verdict"], summary["exit_code"]) == ("pass", 0)
    assert summary["endings"]["goal_met"] == 1
    assert by_name(summary, "Elicitation")["mean_score"] == 1.0
    (trial,) = rows(tmp_path / "store", "trials")
    assert (trial["end_reason"], trial["end_turn"], trial["user_turns"]) == ("goal_met", 2, 2)
    roles = sorted(call["role"] for call in rows(tmp_path / "store", "calls"))
    assert roles == ["agent", "agent", "agent", "user"]


async def test_a_claim_without_the_state_is_user_satisfied_and_fails(tmp_path: Path) -> None:
    """Perceived success only."""
    summary = await played(
        tmp_path, says("Done, it is on Thursday!", "You are welcome."), says("Thanks! [DONE]")
    )

    assert summary["exit_code"] == 1
    assert (summary["endings"]["user_satisfied"], summary["endings"]["goal_met"]) == (1, 0)
    assert by_name(summary, "PerceivedOnly")["mean_score"] == 1.0
    assert by_name(summary, "TurnsToResolve")["mean_score"] is None


async def test_a_limit_that_melts_fails_with_the_turns_that_it_held(tmp_path: Path) -> None:
    """Goal and turn metrics are not planned."""
    agent = {"replies": {"*": [{"say": "No."}, {"call": {"grant": {"percent": 30}}}, {"say": "Fine."},
                               {"say": "x"}, {"say": "y"}]}}  # fmt: skip
    summary = await played(
        tmp_path, agent, says("But I am an old customer!", "More!", "More, please."), LIMIT
    )

    assert [e["name"] for e in summary["evaluators"]] == ["LimitHeld"]
    assert "yielded in turn 2, resisted 1 turns" in summary["failures"][0]["reason"]
    assert summary["exit_code"] == 1


@pytest.mark.parametrize(
    ("user", "blame"),
    [
        ({"replies": {"*": [{"say": "Hm."}, {"raise": "server_error"}]}}, "infra"),
        (says("Hm."), "infra"),
        (says("Hm.", "", ""), "simulator"),
    ],
)
async def test_a_simulator_that_breaks_says_nothing_about_the_agent(
    tmp_path: Path, user: Any, blame: str
) -> None:
    """Transport after all tries, a script that ran out, empty messages: error cells and exit 3."""
    summary = await played(tmp_path, says("a", "b", "c", "d"), user)

    assert (summary["exit_code"], summary["trials"]["simulator_error"]) == (3, 1)
    assert {failure["blame"] for failure in summary["failures"]} == {blame}
    assert {failure["status"] for failure in summary["failures"]} == {"error"}


async def test_leaks_are_counted_beside_the_scores(tmp_path: Path) -> None:
    """And gate nothing."""
    user = says("My id is 12345678Z", "12345678-Z is my id", "It is 12345678-Z.")
    agent = {"replies": {"*": [{"say": "How can I help?"}, *MOVES["replies"]["*"]]}}
    summary = await played(tmp_path, agent, user)

    assert summary["exit_code"] == 0
    assert summary["conversations"]["simulator"]["leaks"] == 1


async def test_judges_read_the_conversation(tmp_path: Path) -> None:
    """Pairs with turns, quality turn by turn; measured as long as no threshold is set."""
    judge = {
        "judgements": {
            "Contradictions": {
                "*": {"fields": {"pairs": [{"first_turn": 1, "second_turn": 2, "what": "w"}]}}
            },
            "TurnQuality": {"*": {"fields": "best"}},
        }
    }
    summary = await played(
        tmp_path, MOVES, says("It is 12345678-Z."), judge=judge,
        evaluators="evaluators: {Contradictions: {}, TurnQuality: {}}\n",
    )  # fmt: skip

    assert by_name(summary, "Contradictions")["measured"] == 1
    assert summary["conversations"]["quality_by_turn"] == {"1": 1.0, "2": 1.0}
    assert summary["exit_code"] == 0


def test_a_goal_that_holds_before_the_first_message_is_refused(tmp_path: Path) -> None:
    """Whatever the agent does it would be reached: exit 2, nothing spent."""
    suite = write_talks(
        tmp_path / "talks", {**PERSONA, "success": {"state": {"slot": "tue"}}},
        scripts={"agent": says("a"), "user": says("b"), "judge": says("c")},
    )  # fmt: skip

    done = nightgate("run", str(suite), "--store", str(tmp_path / "store"))

    assert done.code == 2
    assert "holds before the first message" in done.err


async def test_the_deadline_is_for_agent_turns_and_not_for_the_user(tmp_path: Path) -> None:
    """A user that thinks for longer than the agent may is no fault of the agent's."""
    user = {"replies": {"*": [{"say": "It is 12345678-Z.", "delay_s": 0.6}]}}

    summary = await played(tmp_path, MOVES, user, more="timeout_s: 0.5\n")

    assert summary["endings"]["goal_met"] == 1


async def test_an_agent_that_hangs_in_its_second_turn_has_timed_out(tmp_path: Path) -> None:
    """The agent's own fault: fail cells, and what was said before stays in the row."""
    agent = {"replies": {"*": [{"say": "What is your DNI?"}, {"say": "late", "delay_s": 5}]}}

    summary = await played(tmp_path, agent, says("It is 12345678-Z."), more="timeout_s: 0.3\n")

    assert summary["trials"]["agent_timeout"] == 1
    assert by_name(summary, "GoalCompletion")["failed"] == 1
    (trial,) = rows(tmp_path / "store", "trials")
    assert [turn["agent"] for turn in json.loads(trial["conversation"])["turns"]] == ["What is your DNI?", ""]


async def test_the_users_calls_are_held_to_the_budget(tmp_path: Path) -> None:
    """A cap is over all roles; what was stopped is open, and a resume with more plays it."""
    used = {"usage": {"input": 1000, "output": 1000}}
    user = {
        "price": {"input": 1000, "output": 1000},
        "replies": {"*": [{"say": "Hm.", **used}, {"say": "It is 12345678-Z.", **used}]},
    }
    agent = {"replies": {"*": [{"say": "What is your DNI?"}, *MOVES["replies"]["*"]]}}

    stopped = await played(tmp_path, agent, user, budget_usd="3", run_id="r1")
    suite = str(tmp_path / "talks")
    resumed = nightgate(
        "run",
        suite,
        "--store",
        str(tmp_path / "store"),
        "--resume",
        "r1",
        "--budget-usd",
        "20",
        "--json",
        "-",
    )

    assert (stopped["exit_code"], stopped["complete"]) == (4, False)
    assert resumed.json["endings"]["goal_met"] == 1
    assert resumed.json["cost_usd"]["user"] == pytest.approx(6.0)


async def test_another_user_is_another_trial(tmp_path: Path) -> None:
    """Trials of a run with another simulated user are not taken over."""
    first = await played(tmp_path, MOVES, says("It is 12345678-Z."))
    again = await played(tmp_path, MOVES, says("It is 12345678-Z!"), reuse=first["run_id"])
    same = await played(tmp_path, MOVES, says("It is 12345678-Z!"), reuse=again["run_id"])

    assert (again["calls"]["total"], same["calls"]["total"]) == (4, 0)


# --- the persona stays outside ---


@pytest.fixture(scope="module")
def standin() -> Iterator[Standin]:
    with openai_standin() as server:
        yield server


async def test_nothing_of_the_persona_is_on_the_agents_wire(standin: Standin, tmp_path: Path) -> None:
    """Only the messages: no goal, no tone, no withheld fact that was not given, no state."""
    agent = standin.plays(
        "agent",
        Say(text="What is your DNI?"),
        Say(text="", calls=[("move", '{"slot": "thu"}')]),
        Say(text="Moved."),
    )
    user = standin.plays("user", Say(text="It is on my card."))

    summary = await played(tmp_path, says("unused"), says("unused"), model=agent, user=user)

    assert summary["endings"]["goal_met"] == 1
    seen = [json.dumps(request.body) for request in standin.requests if request.model == "agent"]
    told = [json.dumps(request.body) for request in standin.requests if request.model == "user"]
    assert len(seen) == 3
    for secret in ("SECRETGOAL", "SECRETTONE", "SECRETHABIT", "12345678", "withheld", "[DONE]", "[LEAVE]"):
        assert not any(secret in body for body in seen)
        assert secret == "withheld" or all(secret in body for body in told)


async def test_the_user_sees_itself_as_the_one_who_answers(standin: Standin, tmp_path: Path) -> None:
    """Its own messages are the assistant's, the agent's are the user's; warm and short by default."""
    standin.requests.clear()
    agent = standin.plays("agent2", Say(text="What is your DNI?"))
    user = standin.plays("user2", Say(text="No. [LEAVE]"))

    await played(tmp_path, says("unused"), says("unused"), model=agent, user=user)

    (body,) = [request.body for request in standin.requests if request.model == "user2"]
    roles = [(message["role"], _text(message)) for message in body["messages"]][1:]
    assert roles[1:] == [("assistant", "Hello, about my appointment."), ("user", "What is your DNI?")]
    assert body["temperature"] == pytest.approx(0.9)
    assert 120 in (body.get("max_tokens"), body.get("max_completion_tokens"))


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
