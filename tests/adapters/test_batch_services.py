"""Both providers' queues through their real clients: submitted, found again, looked at, read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from batch_double import a_record
from batch_standin import Faults, Provider, bedrock_batches, openai_batches
from nightgate.adapters.batch.bedrock import BedrockBatches
from nightgate.adapters.batch.openai import OpenAIBatches
from nightgate.adapters.batch.records import Found, Record
from nightgate.adapters.batch.service import BatchService, Standing
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.models import build_model, parse_spec
from nightgate.calls import Role
from servers import S3Server, environment

pytestmark = pytest.mark.server

NAME = "nightgate-0123456789abcdef0123456789abcdef01234567"
COUNT = 120
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass
class Held:
    """A service with the provider behind it."""

    service: BatchService
    provider: Provider

    def records(self) -> list[Record]:
        """Questions as the service renders them."""
        made = []
        for number in range(COUNT):
            messages = [{"role": "user", "content": [{"text": f"question {number}"}]}]
            rendered = self.service.render(messages, None, "You judge.", {})
            assert rendered is not None
            record = a_record(number)
            record.body = rendered.body
            made.append(record)
        return made

    async def submitted(self, records: list[Record]) -> str:
        """The id of a job of them."""
        return await self.service.submit(NAME, b"".join(self.service.line(one) + b"\n" for one in records))

    async def over(self, job_id: str) -> Standing:
        """Its last standing."""
        while not (standing := await self.service.standing(job_id)).over:
            pass
        return standing

    async def found(self, job_id: str, standing: Standing) -> dict[str, Found]:
        """Its results by record."""
        lines = [line async for line in self.service.results(job_id, standing)]
        return {one.record_id: one for line in lines if (one := self.service.read(line)) is not None}


@pytest.fixture(params=["openai", "openai-responses", "bedrock"])
async def held(request: pytest.FixtureRequest) -> AsyncIterator[Held]:
    """Each service in turn."""
    if request.param == "bedrock":
        s3: S3Server = request.getfixturevalue("s3_process")
        with (
            bedrock_batches(s3.client()) as bedrock,
            environment(**s3.env, AWS_ENDPOINT_URL_BEDROCK=bedrock.url),
        ):
            spec = parse_spec(bedrock.spec())
            place = BatchSettings(
                s3=f"s3://{s3.bucket('service')}/x", role_arn="arn:aws:iam::123456789012:role/b"
            )
            queue = BedrockBatches(build_model(spec, role=Role.JUDGE), spec, place)
            yield Held(queue, bedrock)
            await queue.close()
        return
    with openai_batches() as openai:
        model: Any = build_model(
            parse_spec(f"{request.param}:gpt-x?base_url={openai.url}/v1"), role=Role.JUDGE
        )
        service = OpenAIBatches(model, model.client_args, responses=request.param == "openai-responses")
        yield Held(service, openai)
        await service.close()


async def test_every_answer_comes_back_under_its_record(held: Held) -> None:
    """In whatever order the lines are."""
    records = held.records()
    job_id = await held.submitted(records)
    standing = await held.over(job_id)
    found = await held.found(job_id, standing)

    assert (standing.ran, standing.whole) == (True, True)
    assert list(found) != [record.id for record in records]
    assert set(found) == {record.id for record in records}
    for record in records:
        body = found[record.id].body
        assert body is not None
        events = held.service.events(record, body)
        texts = [e["contentBlockDelta"]["delta"]["text"] for e in events if "contentBlockDelta" in e]
        assert json.loads("".join(texts))["verdict"] in ("yes", "no")
        assert events[-1]["metadata"]["usage"]["inputTokens"] == 1000


async def test_a_job_is_found_by_its_name_and_no_other_is(held: Held) -> None:
    """By whoever has lost its id."""
    assert await held.service.find(NAME, LONG_AGO) is None
    job_id = await held.submitted(held.records())

    assert await held.service.find(NAME, LONG_AGO) == job_id
    assert await held.service.find(NAME.replace("0", "f"), LONG_AGO) is None


@pytest.mark.parametrize("end", ["failed", "expired", "stopped"])
async def test_a_job_that_ends_badly_says_so(held: Held, end: str) -> None:
    """In the provider's word; what it did answer can be read."""
    held.provider.faults = Faults(ends={0: end})
    job_id = await held.submitted(held.records())
    standing = await held.over(job_id)
    found = await held.found(job_id, standing)

    assert not standing.whole
    assert standing.word.lower() in (end, "cancelled")
    assert all(one.body is not None or one.lost is not None for one in found.values())
    assert sum(one.body is not None for one in found.values()) < COUNT


async def test_lost_and_broken_lines_are_told_apart(held: Held) -> None:
    """An error has a word, a broken line may have none at all."""
    held.provider.faults = Faults(malformed=0.2, missing=0.2, error=0.2)
    records = held.records()
    job_id = await held.submitted(records)
    found = await held.found(job_id, await held.over(job_id))

    fates = {record.id: held.provider.fate(record.id, record.body) for record in records}
    assert {fates[name] for name, one in found.items() if one.lost is not None} == {"error"}
    assert {fates[record.id] for record in records if record.id not in found} == {"missing", "malformed"}
