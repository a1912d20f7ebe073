"""All models of a run: built once, metered, one limiter for each provider's model."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent

from live.openai_standin import Refuse, Say, Standin, openai_standin
from makers import Journal, a_meter, a_scope, in_folder
from nightgate.adapters.hub import ModelHub, model_identity, split_own
from nightgate.adapters.models import parse_spec
from nightgate.calls import Role, scoped
from nightgate.errors import InputError, ModelCallError
from nightgate.prices import PriceTable

SCRIPT = """
replies: {"*": [{say: from the script, usage: {input: 3, output: 4}}]}
judgements: {E: {"*": {raw: '{"verdict": "yes"}'}}}
"""


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "base.yaml").write_text(SCRIPT, encoding="utf-8")
    return folder


@pytest.fixture
def standin() -> Iterator[Standin]:
    with openai_standin() as made:
        yield made


def a_hub(
    folder: Path = Path(), *, in_flight: int = 10, journal: Journal | None = None, workers: int = 1
) -> ModelHub:
    meter = a_meter(journal=journal if journal is not None else Journal())
    return ModelHub(
        meter, PriceTable.load(), [folder], in_flight=in_flight, now=time.monotonic, workers=workers
    )


async def test_a_model_is_built_once_for_a_role(scripts: Path) -> None:
    """An agent must be built around the very object; a judge has its own parameters."""
    hub = a_hub(scripts)
    agent = hub.build("scripted:base", Role.AGENT)
    assert hub.build("scripted:base", Role.AGENT) is agent
    assert hub.build("scripted:base", Role.JUDGE) is not agent


async def test_agent_and_judge_of_one_model_share_its_limit(scripts: Path) -> None:
    """The provider counts both."""
    hub = a_hub(scripts)
    agent, judge = hub.build("scripted:base", Role.AGENT), hub.judge("scripted:base").model
    assert agent._limiter is judge._limiter


async def test_how_hard_a_model_may_be_driven_is_ours_and_not_sent(standin: Standin) -> None:
    """``max_in_flight`` and ``rpm`` are no parameters of the provider's."""
    spec = standin.plays("m", Say(), options="&max_in_flight=3&rpm=6000&temperature=0.5")
    model = a_hub().build(spec, Role.AGENT)
    assert model._limiter.most == 3
    with scoped(a_scope()):
        async for _ in model.stream([{"role": "user", "content": [{"text": "hi"}]}]):
            pass
    (request,) = standin.requests
    assert request.body["temperature"] == 0.5
    assert not {"max_in_flight", "rpm"} & set(request.body)
    assert "rpm" not in model.wire.spec


@pytest.mark.parametrize(
    ("wishes", "most"), [(["", "2"], 2), (["2", ""], 2), (["2", "3"], 2), (["", ""], 20), (["50", ""], 50)]
)
async def test_the_tighter_of_two_wishes_for_one_model_holds(wishes: list[str], most: int) -> None:
    """Whoever is built first; a wish may also be wider than the run's own limit."""
    hub = a_hub(in_flight=10)
    for wish, role in zip(wishes, (Role.AGENT, Role.JUDGE), strict=True):
        more = f"&max_in_flight={wish}" if wish else ""
        model = hub.build(f"openai:m?base_url=http://127.0.0.1:9/v1{more}", role)
    assert model._limiter.most == most


@pytest.mark.parametrize("option", ["max_in_flight=0", "rpm=-1", "rpm=fast", "max_in_flight=true"])
def test_a_drive_that_is_no_number_is_refused(option: str) -> None:
    """Before anything is spent."""
    with pytest.raises(InputError, match="must be a number above 0"):
        split_own(parse_spec(f"openai:m?{option}"))


async def test_a_judge_is_asked_in_text_and_answers_in_text(scripts: Path) -> None:
    """One call, on the ledger of whoever judges."""
    journal = Journal()
    judge = a_hub(scripts, journal=journal).judge("scripted:base")
    with scoped(a_scope(Role.JUDGE, evaluator="E")):
        assert await judge.ask("You judge.", "Is it?") == '{"verdict": "yes"}'
    (call,) = journal.ends
    assert (call.role, call.evaluator, call.model, call.cost_nanousd) == (Role.JUDGE, "E", "scripted:base", 0)


async def test_a_scripts_text_is_part_of_its_identity(scripts: Path) -> None:
    """Another script under the same name is another model: a baseline must not cross it."""
    before = model_identity("scripted:base", [scripts])
    (scripts / "base.yaml").write_text(SCRIPT.replace("from", "by"), encoding="utf-8")
    assert model_identity("scripted:base", [scripts]) != before
    assert a_hub(scripts).judge("scripted:base").fingerprint == model_identity("scripted:base", [scripts])


def test_how_hard_a_model_is_driven_makes_it_no_other() -> None:
    """A tighter limit tonight must not end the trend."""
    assert model_identity("openai:m?rpm=60", []) == model_identity("openai:m", [])
    assert model_identity("openai:m?temperature=1", []) != model_identity("openai:m", [])


async def test_known_and_unknown_prices(scripts: Path) -> None:
    """A script is free; a model of nobody's table is not free but unknown."""
    hub = a_hub(scripts)
    assert hub.priced("scripted:base", Role.AGENT)
    assert not hub.priced("openai:nobody-knows-it", Role.AGENT)


async def test_an_unknown_script_is_refused(scripts: Path) -> None:
    """With the nearest name."""
    with pytest.raises(InputError, match="did you mean 'base'"):
        a_hub(scripts).build("scripted:bass", Role.AGENT)


async def test_missing_credentials_are_found_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call ends as auth: the run is inconclusive, and says which variable to set."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judge = a_hub().judge("openai:gpt-6")
    with scoped(a_scope(Role.JUDGE)), pytest.raises(ModelCallError, match=r"auth: .*OPENAI_API_KEY"):
        await judge.ask("s", "p")


@pytest.mark.server
async def test_a_sync_judge_over_http_keeps_the_client_on_the_home_loop(standin: Standin) -> None:
    """Three loops of its own, one connection pool."""
    hub = a_hub()
    model = hub.judge(standin.plays("m", Say(text="fine indeed"))).model

    def sync_judge() -> list[str]:
        return [str(Agent(model=model, callback_handler=None)("?")).strip() for _ in range(3)]

    with scoped(a_scope(Role.JUDGE, evaluator="E")):
        assert await asyncio.to_thread(sync_judge) == ["fine indeed"] * 3
    assert list(model.inner._clients._built) == [asyncio.get_running_loop()]
    await hub.close()


@pytest.mark.server
def test_two_runs_after_each_other_over_http(standin: Standin) -> None:
    """Once "event loop is closed" came from the first run's client. Each has and closes its own."""
    spec = standin.plays("m", Say(text="fine indeed"))

    async def run() -> str:
        hub = a_hub()
        with scoped(a_scope(Role.JUDGE)):
            answer = await hub.judge(spec).ask("s", "p")
        await hub.close()
        return answer

    assert [asyncio.run(run()) for _ in range(2)] == ["fine indeed"] * 2


@pytest.mark.server
async def test_a_throttled_request_is_sent_as_often_as_our_policy_says(standin: Standin) -> None:
    """Client and SDK retry nothing: one layer does."""
    model = a_hub().build(standin.plays("m", Refuse(status=429, code="rate_limit_exceeded")), Role.AGENT)
    agent = Agent(model=model, callback_handler=None)
    with scoped(a_scope()) as scope, pytest.raises(Exception, match="throttled after 6 tries"):
        await agent.invoke_async("hi")
    assert standin.asked("m") == 6
    assert [call.attempt for call in scope.calls] == [1, 2, 3, 4, 5, 6]


async def test_the_users_own_model_is_not_closed_behind_a_run(tmp_path: Path) -> None:
    """Its factory may hold the client for the next one."""
    in_folder(
        tmp_path,
        ng_mine=(
            "from makers import TinyModel, said\n"
            "CLOSED = []\n"
            "class Mine(TinyModel):\n"
            "    def close(self): CLOSED.append(1)\n"
            "def build(): return Mine(lambda *_: said('mine'))\n"
        ),
    )
    hub = a_hub(tmp_path / "scripts")
    model: Any = hub.build("import:ng_mine:build", Role.AGENT)
    await hub.close()
    import ng_mine

    assert isinstance(model.inner, ng_mine.Mine)
    assert ng_mine.CLOSED == []


async def test_workers_share_what_a_model_may_be_driven_to() -> None:
    """The provider counts them together."""
    hub = a_hub(workers=4)
    limiter = hub.build(
        "openai:m?base_url=http://127.0.0.1:9/v1&max_in_flight=9&rpm=1200", Role.AGENT
    )._limiter

    assert (limiter.most, limiter.per_s) == (2, 5.0)


async def test_workers_without_a_limit_drive_a_model_as_hard_as_each_is_asked_to() -> None:
    """``--concurrency`` is each worker's."""
    hub = a_hub(workers=4)

    assert hub.build("openai:m?base_url=http://127.0.0.1:9/v1", Role.AGENT)._limiter.most == 10


async def test_a_limit_that_leaves_a_worker_without_a_call_is_refused() -> None:
    """It could never play anything."""
    hub = a_hub(workers=4)
    with pytest.raises(InputError, match="max_in_flight=3 cannot be shared by 4 workers"):
        hub.build("openai:m?base_url=http://127.0.0.1:9/v1&max_in_flight=3", Role.AGENT)
