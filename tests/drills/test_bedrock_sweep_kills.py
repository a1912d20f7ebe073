"""Kill -9 of a sweep through Bedrock's queue: jobs are found by name and token, files lie in a bucket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from batch_standin import bedrock_batches
from batchkills import CASES, QUICK, STEPS, Place, killed_at_every_step, killed_once, placed
from s3_relay import s3_relay
from servers import S3Server
from sweepdrill import Killer, write_base

pytestmark = pytest.mark.server

HALF = {"half-way-through-the-answers": Killer("half")}


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory: pytest.TempPathFactory, s3_process: S3Server) -> Iterator[Place]:
    """Bedrock's files pass a relay, which sees them being put and read."""
    folder = tmp_path_factory.mktemp("bedrock")
    with bedrock_batches(s3_process.client()) as provider, contextlib.ExitStack() as stack:

        def on(moment: str) -> None:
            provider.on(moment)  # whoever listens by then

        relay = stack.enter_context(s3_relay(s3_process.endpoint, on))
        env = {
            **QUICK,
            **s3_process.env,
            "AWS_ENDPOINT_URL": relay,
            "AWS_ENDPOINT_URL_BEDROCK": provider.url,
            "NIGHTGATE_BATCH_S3": f"s3://{s3_process.bucket('kills')}/judges",
            "NIGHTGATE_BATCH_ROLE_ARN": "arn:aws:iam::123456789012:role/batch",
        }
        base = write_base(folder / "base", CASES)
        yield placed(provider, base, folder, env, provider.spec("acme.judge"))


@pytest.mark.parametrize("when", [*STEPS, *HALF])
def test_a_killed_sweep_pays_each_record_once(bedrock: Place, when: str) -> None:
    """At each step of a job's life."""
    killed_once(bedrock, when, (STEPS | HALF)[when])


def test_a_sweep_killed_at_every_step_in_turn_pays_each_record_once(bedrock: Place) -> None:
    """Whoever goes on is killed as well."""
    killed_at_every_step(bedrock)
