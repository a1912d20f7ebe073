"""What is wrong with AWS credentials is said, not thrown: no call is made, nothing is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from live.onecase import run_one
from live.readers import outcomes
from live.servers import NO_AWS
from nightgate.errors import InputError

MODEL = "bedrock:us.amazon.nova-micro-v1:0"
_VARIABLES = ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's AWS set-up."""
    for name in (*_VARIABLES, "AWS_BEARER_TOKEN_BEDROCK", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in NO_AWS.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("given", "says"),
    [({}, "no AWS credentials"), ({"AWS_ACCESS_KEY_ID": "AKIDOFATEST"}, "missing: AWS_SECRET_ACCESS_KEY")],
    ids=["none", "half"],
)
async def test_missing_credentials_are_errors_of_the_infrastructure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, str], says: str
) -> None:
    """A secret that a CI job forgot once ended in a traceback without a row."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    ran = await run_one(tmp_path, MODEL)

    assert (ran.ending, ran.status, ran.summary["exit_code"]) == ("infra_error", ("error", "infra"), 3)
    assert outcomes(ran.calls) == ["auth"]
    assert says in ran.calls[0]["error"]


async def test_an_unknown_profile_is_wrong_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell what it would have been; nothing is planned."""
    monkeypatch.setenv("AWS_PROFILE", "nope")

    with pytest.raises(InputError, match=r"profile \(nope\) could not be found"):
        await run_one(tmp_path, MODEL)


@pytest.mark.parametrize("model", [MODEL, "bedrock:somebody.elses-v1:0"], ids=["priced", "unpriced"])
async def test_a_call_that_was_never_sent_costs_nothing_whatever_its_price(
    tmp_path: Path, model: str
) -> None:
    """Its cost is known; counted as unknown it would hide the cost of the whole run."""
    ran = await run_one(tmp_path, model)

    assert [call["cost_nanousd"] for call in ran.calls] == [0]
    assert (ran.summary["cost_usd"]["total"], ran.summary["cost_usd"]["unpriced_calls"]) == (0.0, 0)
