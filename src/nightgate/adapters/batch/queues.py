"""Which judges have a batch queue, and the queue of each.

Owns the choice of the provider's service for a spec, and what is refused before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nightgate.adapters.batch.accounts import Accounts
from nightgate.adapters.batch.engine import Engine
from nightgate.adapters.batch.live import LivePlaces
from nightgate.adapters.batch.model import BatchModel
from nightgate.adapters.batch.service import BatchService
from nightgate.adapters.batch.settings import BatchSettings
from nightgate.adapters.meter import Meter
from nightgate.adapters.metering import MeteredModel
from nightgate.adapters.models import ModelSpec
from nightgate.errors import InputError
from nightgate.ports import Store
from nightgate.prices import FREE

_OPENAI = {"openai": False, "openai-responses": True}
_QUEUED = frozenset({"bedrock", *_OPENAI})


class BatchQueues:
    """The queues of a run's judges.

    Args:
        store: Where the state of jobs lies.
        settings: Sizes and patience.
        live: Judgements whose calls may go live at a time.
        owner: Under which run's id the jobs are kept; None: under that of the judgements themselves.
    """

    def __init__(self, store: Store, settings: BatchSettings, *, live: int, owner: str | None = None) -> None:
        self._store, self._settings, self._owner = store, settings, owner
        self.told: Callable[[str], None] = lambda _: None
        """Takes lines for people who wait: which jobs there are, and how they ended."""
        self._places = LivePlaces(live)
        self._engines: dict[str, Engine] = {}
        self._models: dict[str, BatchModel] = {}

    def model(self, spec: ModelSpec, live: MeteredModel, meter: Meter) -> BatchModel:
        """A judge's model with its queue in front.

        Args:
            spec: As its provider sees it.
            live: The metered model.
            meter: The run's.

        Raises:
            InputError: If the provider has no queue, or nobody knows what it costs.
        """
        text = live.wire.spec
        known = self._models.get(text)
        if known is not None:
            return known
        if spec.scheme not in _QUEUED:
            have = "bedrock:, openai: and openai-responses: have one"
            msg = f"--batch: judge {text!r} has no batch queue; {have}"
            raise InputError(msg)
        price = live.wire.price
        if price is not None and price is not FREE and price.batch_factor is None:
            msg = (
                f"--batch: nobody has said what the batch queue of judge {text!r} costs: add "
                "`batch: {factor: 0.5, ...}` to its line with --prices FILE, or leave --batch out"
            )
            raise InputError(msg)
        service = self._service(spec, live)
        accounts = Accounts(meter, live.wire)
        engine = Engine(service, accounts, self._store, text, self._settings, self._tell, self._owner)
        self._engines[text] = engine
        model = self._models[text] = BatchModel(live, service, engine, meter, self._places)
        return model

    async def close(self) -> None:
        """Let go of all jobs."""
        for engine in self._engines.values():
            await engine.close()

    def _tell(self, line: str) -> None:
        self.told(line)

    def _service(self, spec: ModelSpec, live: MeteredModel) -> BatchService:
        inner: Any = live.inner
        if spec.scheme in _OPENAI:
            from nightgate.adapters.batch.openai import OpenAIBatches

            arguments = {**inner.client_args}
            if live.wire.problem:
                arguments.setdefault("api_key", "none")  # every call ends as ``auth`` before it is sent
            return OpenAIBatches(inner, arguments, responses=_OPENAI[spec.scheme])
        from nightgate.adapters.batch.bedrock import BedrockBatches

        return BedrockBatches(inner, spec, self._settings)
