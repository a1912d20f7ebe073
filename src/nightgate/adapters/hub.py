"""All models of a run: built once, metered, with one limiter for each provider's model.

Owns the wiring of spec -> provider's model -> ``MeteredModel``. Knows nothing of trials.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nightgate.adapters.limiter import Limiter
from nightgate.adapters.metering import Meter, MeteredModel, RetryPolicy, Wire
from nightgate.adapters.models import (
    ModelSpec,
    build_model,
    canonical,
    check_credentials,
    close_model,
    is_local,
    normalise_usage,
    parse_spec,
    provided,
    usage_kind,
)
from nightgate.adapters.pace import FLOOR_PER_S
from nightgate.calls import Role, Scope
from nightgate.errors import InputError
from nightgate.prices import Price, PriceTable
from nightgate.trials import Usage

if TYPE_CHECKING:
    from nightgate.adapters.batch.model import BatchModel
    from nightgate.adapters.batch.queues import BatchQueues

_OWN_OPTIONS = ("max_in_flight", "rpm", "tpm")
"""Options of a spec that are ours: how hard this model may be driven."""
_LOCAL_FLOOR_PER_S = 5.0
_LOCAL_POLICY = RetryPolicy(base_s=0.02, cap_s=0.5)
"""A script or a server on this machine recovers in milliseconds."""


@dataclass(frozen=True, slots=True)
class Drive:
    """How hard a model may be driven; None where nobody said.

    Attributes:
        in_flight: Calls in flight.
        rpm: Calls started in a minute.
        tpm: Tokens in a minute, in and out, without what came from a cache.
    """

    in_flight: int | None = None
    rpm: float | None = None
    tpm: float | None = None

    def tightened(self, other: Drive) -> Drive:
        """The lower of each."""
        return Drive(*(_lower(mine, its) for mine, its in zip(astuple(self), astuple(other), strict=True)))

    def part(self, workers: int) -> Drive:
        """An equal share of it, at least one call in flight."""
        return Drive(
            None if self.in_flight is None else max(1, self.in_flight // workers),
            None if self.rpm is None else self.rpm / workers,
            None if self.tpm is None else self.tpm / workers,
        )


def _lower(one: Any, other: Any) -> Any:
    return min((value for value in (one, other) if value is not None), default=None)


class ModelHub:
    """Builds and keeps the metered models of one run.

    Args:
        meter: What they share.
        prices: The price table.
        script_dirs: Where scripted models are looked up.
        in_flight: Calls in flight to one model in one role at the most, unless its spec says otherwise.
        now: Monotonic seconds.
        workers: How many processes drive the models together: what a spec allows is shared by them.
        leasable: Whether somebody leases shares to them, so that one may also have none for a while.
    """

    def __init__(
        self,
        meter: Meter,
        prices: PriceTable,
        script_dirs: Sequence[Path],
        *,
        in_flight: int,
        now: Any,
        workers: int = 1,
        leasable: bool = False,
    ) -> None:
        self._workers = workers
        self._meter, self._prices = meter, prices
        self._dirs, self._in_flight, self._now = tuple(script_dirs), in_flight, now
        self._models: dict[tuple[str, Role], MeteredModel] = {}
        self._limiters: dict[str, Limiter] = {}
        self._leasable = leasable
        self._roles: dict[str, set[Role]] = {}
        self.told: dict[str, Drive] = {}
        """How hard each model may be driven by all together, where its specs say so."""
        self.queues: BatchQueues | None = None
        """Where judges' calls wait for a batch; None: all calls are live."""

    def build(self, spec: str, role: Role) -> MeteredModel:
        """The metered model of a spec for a role.

        Raises:
            InputError: If the spec cannot be built.
        """
        known = self._models.get((spec, role))
        if known is not None:
            return known
        parsed, drive = split_own(parse_spec(spec))
        if not self._leasable and drive.in_flight is not None and drive.in_flight < self._workers:
            msg = (
                f"model {spec}: max_in_flight={drive.in_flight:g} cannot be shared by {self._workers} workers"
            )
            raise InputError(f"{msg}: ask for fewer")
        inner = build_model(parsed, script_dirs=self._dirs, role=role)
        kind = usage_kind(parsed, inner)
        local = parsed.scheme == "scripted" or is_local(parsed)
        wire = Wire(
            spec=canonical(parsed),
            price=self._prices.price(spec, script=getattr(inner, "script", None)),
            normalise=lambda raw: normalise_usage(raw, kind, parsed.options.get("cache_ttl")),
            policy=_LOCAL_POLICY if local else RetryPolicy(),
            problem=check_credentials(parsed),
            timeout_s=float(parsed.options.get("timeout_s") or 120.0) * 2,
        )
        name = provided(parsed)
        limiter = self._limiters.setdefault(
            name,
            Limiter(
                self._in_flight,
                None,
                self._now,
                adapts=parsed.scheme != "scripted",
                floor_per_s=_LOCAL_FLOOR_PER_S if local else FLOOR_PER_S,
            ),
        )
        # Agent and judge may be one model under two wishes: the provider counts both, the tighter holds.
        self.told[name] = told = self.told.get(name, Drive()).tightened(drive)
        self._roles.setdefault(name, set()).add(role)
        self.drive(name, told.part(self._workers))
        model = MeteredModel(inner, wire, self._meter, limiter, role)
        self._models[spec, role] = model
        return model

    def drive(self, model: str, share: Drive) -> None:
        """Set how hard this process drives a model from now on.

        Args:
            model: As in ``told``: the provider's model, however it is asked.
            share: This process's part of what is allowed.
        """
        # Judges never wait for agents: each role has its calls in flight, unless somebody said how many.
        untold = self._in_flight * len(self._roles[model])
        most = untold if share.in_flight is None else int(share.in_flight)
        self._limiters[model].drive(most, share.rpm, share.tpm)

    def wanted(self, model: str) -> bool:
        """Whether calls of a model wait for more than this process may do."""
        return self._limiters[model].wanted

    def judge(self, spec: str) -> MeteredJudge:
        """The pinned judge."""
        model: MeteredModel | BatchModel = self.build(spec, Role.JUDGE)
        if self.queues is not None:
            parsed, _ = split_own(parse_spec(spec))
            model = self.queues.model(parsed, self.build(spec, Role.JUDGE), self._meter)
        return MeteredJudge(model, model_identity(spec, self._dirs))

    def user(self, spec: str) -> MeteredUser:
        """The simulated user."""
        return MeteredUser(self.build(spec, Role.USER))

    def priced(self, spec: str, role: Role) -> bool:
        """Whether a call of this model has a known price."""
        return self.build(spec, role).wire.price is not None

    def foresee(self, spec: str, scope: Scope) -> tuple[Price | None, Usage | None]:
        """Price of a call of this model, and its tokens where the model knows them before, as a script."""
        model = self.build(spec, scope.role)
        foretell: Callable[[Scope], Usage | None] | None = getattr(model.inner, "expected_usage", None)
        return model.wire.price, None if foretell is None else foretell(scope)

    async def settle(self) -> None:
        """Wait for calls whose trial is over."""
        await self._meter.settle()

    async def close(self) -> None:
        """Close the providers' clients on the loop that they belong to; a client of the user's is theirs."""
        if self.queues is not None:
            await self.queues.close()
        for model in self._models.values():
            if not model.wire.spec.startswith("import:"):
                await close_model(model.inner)


class MeteredJudge:
    """A metered model that is asked one question at a time."""

    def __init__(self, model: MeteredModel | BatchModel, fingerprint: str) -> None:
        self._model, self._fingerprint = model, fingerprint

    @property
    def spec(self) -> str:
        """The spec text, without credentials."""
        return self._model.wire.spec

    @property
    def fingerprint(self) -> str:
        """Digest of the spec, and of the script behind a scripted one."""
        return self._fingerprint

    @property
    def model(self) -> Any:
        """The metered Strands model."""
        return self._model

    async def ask(self, system: str, prompt: str) -> str:
        """One call; the reply's text as it came."""
        return await _text(self._model, system, [{"role": "user", "content": [{"text": prompt}]}])


class MeteredUser:
    """A metered model that plays a user."""

    def __init__(self, model: MeteredModel) -> None:
        self._model = model

    @property
    def spec(self) -> str:
        """The spec text, without credentials."""
        return self._model.wire.spec

    async def say(self, system: str, messages: Sequence[Mapping[str, Any]]) -> str:
        """One call; the reply's text as it came."""
        return await _text(self._model, system, list(messages))


async def _text(model: MeteredModel | BatchModel, system: str, messages: list[Any]) -> str:
    pieces: list[str] = []
    async for event in model.stream(messages, None, system):
        if isinstance(event, dict) and "contentBlockDelta" in event:
            piece = event["contentBlockDelta"].get("delta", {}).get("text")
            if isinstance(piece, str):
                pieces.append(piece)
    return "".join(pieces)


def split_own(spec: ModelSpec) -> tuple[ModelSpec, Drive]:
    """The spec as its provider sees it, and how hard it may be driven, which is ours.

    Raises:
        InputError: If one of ours is no positive number.
    """
    own = {name: spec.options[name] for name in _OWN_OPTIONS if name in spec.options}
    for name, value in own.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            msg = f"model {spec}: {name}={value!r} must be a number above 0"
            raise InputError(msg)
    rest = {name: value for name, value in spec.options.items() if name not in own}
    in_flight = own.get("max_in_flight")
    whole = None if in_flight is None else max(1, int(in_flight))
    return ModelSpec(spec.scheme, spec.id, rest), Drive(whole, own.get("rpm"), own.get("tpm"))


def model_identity(spec: str, script_dirs: Sequence[Path]) -> str:
    """What makes a model what it is: its spec, and for a scripted one the script's own text."""
    parsed, _ = split_own(parse_spec(spec))
    identity: list[Any] = [canonical(parsed)]
    if parsed.scheme == "scripted":
        for folder in script_dirs:
            path = folder / f"{parsed.id}.yaml"
            if path.is_file():
                identity.append(hashlib.sha256(path.read_bytes()).hexdigest())
                break
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
