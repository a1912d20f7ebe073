"""What the pipeline needs from the outside, as protocols; adapters fill them.

Owns the seams: the agent under test, the models, the store, the alert channels and the clock. Knows no
adapter. Each port has one contract test that every one of its adapters passes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, runtime_checkable

from nightgate.calls import Role
from nightgate.cases import Case
from nightgate.scores import Score
from nightgate.trials import Trial


@dataclass(slots=True)
class Target:
    """What a factory returns when the agent alone does not say it all.

    Attributes:
        agent: A ``strands.Agent``, or anything with ``invoke_async`` (a graph, a swarm).
        state: Returns the world after the play as a JSON mapping; sync or async.
        close: Releases what the factory opened; sync or async, called once.
    """

    agent: Any
    state: Callable[[], Mapping[str, Any] | Awaitable[Mapping[str, Any]]] | None = None
    close: Callable[[], Awaitable[None] | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One turn of the agent."""

    text: str
    stop_reason: str | None


class AgentUnderTest(Protocol):
    """A fresh agent for one trial."""

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        """Deep copies of all messages so far, in order."""

    @property
    def tools(self) -> Sequence[Mapping[str, Any]] | None:
        """Name, description and input schema of each tool that the agent offers its model.

        None when the target, or a part of it, shows no agent: what that calls cannot be recorded either.
        """

    @property
    def offered(self) -> Sequence[Mapping[str, Any]]:
        """The same of what can be seen, also where parts are hidden: it defines the target."""

    @property
    def skills(self) -> Sequence[Mapping[str, str]]:
        """Name, description and instructions of each skill on offer: they define the agent too."""

    @property
    def system_prompt(self) -> str | None:
        """The instructions as the model sees them; None when the target does not show them."""

    @property
    def single(self) -> bool:
        """False for graph-like targets, whose model cannot be looked at."""

    async def say(self, text: str, limits: Mapping[str, int]) -> Answer:
        """Hand the agent a user message and wait for its answer."""

    async def state(self) -> Mapping[str, Any] | None:
        """The world as the target shows it, None when it shows none."""

    async def close(self) -> None:
        """Release what the factory opened; never raises."""


class AgentFactory(Protocol):
    """Builds one agent a trial."""

    async def build(self, model: Any, case: Case) -> AgentUnderTest:
        """A new agent around ``model``.

        Raises:
            InputError: If the factory hands out an object twice or the agent uses another model.
        """


class JudgeModel(Protocol):
    """A judge's model: text in, text out, and the object itself for evaluators that bring a loop."""

    @property
    def spec(self) -> str:
        """The spec text, without credentials."""

    @property
    def fingerprint(self) -> str:
        """Digest of what makes this judge's model what it is."""

    @property
    def model(self) -> Any:
        """The metered Strands model."""

    async def ask(self, system: str, prompt: str) -> str:
        """One call; returns the reply's text as it came."""


class UserModel(Protocol):
    """The simulated user's model: what was said so far in, its next message out."""

    @property
    def spec(self) -> str:
        """The spec text, without credentials."""

    async def say(self, system: str, messages: Sequence[Mapping[str, Any]]) -> str:
        """One call; returns the reply's text as it came.

        Raises:
            ModelCallError: After all retries.
            BudgetError: Before a call that could pass the cap.
        """


class Models(Protocol):
    """All models of a run, metered: one ledger, one retry policy, one budget."""

    def build(self, spec: str, role: Role) -> Any:
        """The metered Strands model for a spec text (the same object for the same spec and role)."""

    def judge(self, spec: str) -> JudgeModel:
        """The same, with the judge's fingerprint."""

    def user(self, spec: str) -> UserModel:
        """The simulated user of a spec."""

    async def settle(self) -> None:
        """Wait (bounded) for calls whose trial is over, so that what they cost is known."""


class Store(Protocol):
    """Immutable objects under keys; a folder or an S3 prefix. Keys are relative, with ``/``.

    All methods block; async callers run them in threads.
    """

    uri: str

    def create(self, key: str, data: bytes) -> None:
        """Put once. The same content again is success.

        Raises:
            ConflictError: If the key holds other content.
            StoreError: If the store refused or was out of reach.
        """

    def replace(self, key: str, data: bytes) -> None:
        """Put, whatever was there; readers see the old bytes or the new ones, never a mixture."""

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        """Put if the key still holds ``before``; of many who read the same, one wins.

        None stands for a key that is not there. A key that is swapped is never replaced: ``replace``
        does not look.

        Raises:
            ConflictError: If it holds anything else than ``before`` or ``data``.
        """

    def read(self, key: str) -> bytes:
        """All bytes of a key.

        Raises:
            MissingError: If there is none.
        """

    def find(self, prefix: str) -> list[str]:
        """All keys that start with ``prefix``, sorted; never from a cache."""

    def children(self, prefix: str) -> list[str]:
        """What starts with ``prefix``, cut after the first ``/`` behind it, each once and sorted.

        Keys that lie there stand as they are, all that lies deeper as one name with its closing ``/``. Costs
        as much as the names that come back, however much lies below them: whoever needs run ids asks for the
        children of ``runs/``, because each run may hold thousands of pages. Some S3 servers keep such a name
        for a while after its last key is gone.
        """

    def delete(self, keys: Iterable[str]) -> None:
        """Remove keys; those that are gone already are no error. Never used on committed parts."""


@runtime_checkable
class Evaluator(Protocol):
    """One check. ``evaluate`` may be sync or async."""

    @property
    def name(self) -> str:
        """Its name in rows, unless the suite gives it another."""

    @property
    def version(self) -> int:
        """Raised whenever the same trial could get another status."""

    def evaluate(self, trial: Trial, case: Case) -> Score | list[Score] | Awaitable[Score | list[Score]]:
        """Judge one trial."""


class AlertChannel(Protocol):
    """Somewhere that people read. Blocking; callers bound the time and repeat what failed."""

    @property
    def name(self) -> str:
        """What suites call it."""

    @property
    def target(self) -> str:
        """Where it leads, in words, without secrets."""

    @property
    def patience_s(self) -> float:
        """Seconds that one try may take; after them it is left behind."""

    def send(self, title: str, body: str, facts: Mapping[str, Any]) -> None:
        """Deliver one message.

        Args:
            title: One line.
            body: Plain text, a few lines; neither holds markup, mentions or foreign links.
            facts: The same for machines: ``id`` (the same at each try), suite, run_id, kind, causes.

        Raises:
            AlertError: If it was not taken, with ``again`` where another try may help.
        """

    def check(self) -> str:
        """Look whether the target is in reach, and send nothing.

        Returns:
            What was found, in a line.

        Raises:
            AlertError: If it is out of reach or refused.
        """


class Clock(Protocol):
    """Time, so that tests can hold it."""

    def now(self) -> datetime:
        """Now, in UTC with zone."""
