"""Case and Suite: what people write, checked and frozen; attributes are named as the keys.

Owns the keys of ``suite.yaml`` and of a case, their defaults and the checks that one record can make
on its own. Checks across records are in ``checks``, reading in ``loading``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from nightgate.cases.expect import Expect
from nightgate.cases.fields import (
    CHOICE,
    Breach,
    Day,
    Factory,
    Flag,
    Id,
    JsonObject,
    Money,
    Name,
    Names,
    Record,
    Seconds,
    Share,
    Spec,
    Text,
    Trials,
    Whole,
)
from nightgate.cases.judges import Judged
from nightgate.cases.nodes import Plain
from nightgate.cases.persona import Persona

_SUITE_ID = re.compile(r"[0-9a-z-]{1,64}")

Layer = Literal["behavior", "parameter", "quality", "conversation", "skill"]
Stage = Literal["regression", "capability"]


def _suite_id(value: str) -> str:
    if not _SUITE_ID.fullmatch(value):
        raise ValueError(f"{value!r} must be 1 to 64 characters of a-z, 0-9 and -")
    return value


def _above_zero(value: str) -> str:
    if not value.strip("0."):
        raise ValueError("must be above 0")
    return value


class Quarantine(Record):
    """A case that is known to be unreliable: reported, kept out of the gate until a day."""

    owner: Name
    reason: Name
    until: Day


class Case(Record):
    """One thing the business needs: what comes in, what must happen, what must not."""

    id: Id
    """Any text, unique in the suite after NFC; verbatim."""
    layer: Annotated[Layer, CHOICE] = "behavior"
    stage: Annotated[Stage, CHOICE] = "regression"
    """``regression`` gates; ``capability`` is reported only."""
    family: Name | None = None
    """Same intent in several languages or wordings."""
    language: Name | None = None
    tags: Names = ()
    blocking: Flag = False
    """One failed trial fails the gate, whatever the threshold."""
    why: Text = ""
    input: Text | None = None
    """The user's message; only a case with a persona may leave it out."""
    expected_output: Text | None = None
    context: JsonObject = Field(default_factory=dict)
    """Handed to the factory, never to the model by itself."""
    trials: Trials | None = None
    """Overrides the suite's."""
    require: Names = ()
    """Evaluators for which not applicable counts as a failure."""
    may_skip: Names = ()
    """Evaluators for which not applicable is no hole."""
    canary: Flag = False
    quarantine: Quarantine | None = None
    expect: Expect = Field(default_factory=Expect)
    persona: Persona | None = None
    path: Path = Field(default=Path(), exclude=True)
    """File that it was read from; filled by the loader."""
    line: int = Field(default=0, exclude=True)
    """Its first line there, from 1; 0 if it was made in code."""

    @model_validator(mode="before")
    @classmethod
    def _conversation_layer(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "persona" in data and "layer" not in data:
            return {**data, "layer": "conversation"}
        return data

    def breaches(self) -> Iterator[Breach]:
        """Parts that are missing or contradict each other."""
        if self.persona is None and not (self.input or "").strip():
            yield Breach("needs an input, or a persona that talks", lacks=("input", "persona"))
        if self.blocking and self.quarantine is not None:
            yield Breach("is blocking and in quarantine; a case cannot decide alone and not count at all")
        if self.blocking and self.stage == "capability":
            yield Breach(
                "is blocking in stage capability, which never gates; "
                "write stage: regression, or leave blocking out"
            )
        for name in dict.fromkeys(self.require):
            if name in self.may_skip:
                yield Breach(f"{name!r} is under require and under may_skip; keep one")

    @property
    def first_message(self) -> str | None:
        """What the user says first; None leaves it to the simulated user."""
        if self.persona is not None and self.persona.opening is not None:
            return self.persona.opening
        return self.input

    @property
    def where(self) -> str:
        """``path:line``, for messages."""
        return f"{self.path}:{self.line}"


class EvaluatorConfig(Record):
    """What suite.yaml says about one evaluator; absent parts keep the evaluator's own defaults."""

    threshold: Share | None = None
    """Decimal text in [0, 1], compared exactly; None leaves it to the evaluator's kind."""
    use: Factory | None = None
    """``module:Class`` of a custom evaluator."""
    when: Annotated[Literal["live"], CHOICE] | None = None
    """``live`` leaves it out of runs with a scripted model, unless a judge is named on the command line."""
    params: JsonObject = Field(default_factory=dict)
    """Keyword arguments of the class."""
    layers: Annotated[tuple[Annotated[Layer, CHOICE], ...], Field(min_length=1)] | None = None
    tags: Annotated[Names, Field(min_length=1)] | None = None
    """Cases with at least one of these tags."""
    cases: Annotated[Names, Field(min_length=1)] | None = None
    """Case ids, or globs of them."""
    min_coverage: Share | None = None
    """Overrides the gate's."""


class Live(Judged):
    """What ``--live`` uses instead."""

    model: Spec | None = None
    user: Spec | None = None
    trials: Trials | None = None


class Limits(Record):
    """Hard stops of one trial (of one agent turn in a conversation); None: no limit."""

    turns: Whole | None = None
    output_tokens: Whole | None = None
    total_tokens: Whole | None = None


class Regression(Record):
    """How much worse than the baseline is too much; one of the two has to be written."""

    max_drop: Share | None = None
    """The largest drop of a pass rate that is allowed, a share: 0.03 is 3 points."""
    alpha: Annotated[Share, AfterValidator(_above_zero)] | None = None
    """A drop of any size fails that chance alone would make at most this often."""

    def breaches(self) -> Iterator[Breach]:
        """A rule that says nothing."""
        if self.max_drop is None and self.alpha is None:
            yield Breach(
                "says neither max_drop nor alpha; write what is too much, as in {max_drop: 0.03}, "
                "or leave regression out",
                lacks=("max_drop", "alpha"),
            )


class GateConfig(Record):
    """How verdicts are reached; shares are decimal text."""

    min_coverage: Share = "1.0"
    max_error_share: Share = "0.0"
    policy: Annotated[Literal["point", "confident"], CHOICE] = "point"
    on_inconclusive: Annotated[Literal["block", "allow"], CHOICE] = "block"
    judges: Annotated[Literal["any", "calibrated"], CHOICE] = "any"
    related_judges: Annotated[Literal["warn", "refuse"], CHOICE] = "warn"
    """What becomes of a judge that is the model under test, or of its family."""
    regression: Regression | None = None


class Suite(Judged):
    """A folder of cases with the agent, models, evaluators and gate that they run under."""

    suite: Annotated[Name, AfterValidator(_suite_id)]
    owner: Text = ""
    """Named in alerts."""
    agent: Factory
    model: Spec
    user: Spec | None = None
    trials: Trials = 1
    live: Live = Field(default_factory=Live)
    side_effects: Names = ()
    """Tools that change the world."""
    timeout_s: Seconds = 120.0
    """Working time of one trial in seconds; waiting for a rate limit does not count."""
    limits: Limits = Field(default_factory=Limits)
    budget_usd: Money | None = None
    """Hard cap of a run in US dollars; None: no cap; 0: nothing may be spent."""
    fingerprint: Names = ()
    """What else defines the thing under test: files, S3 objects, ``bedrock-kb:ID/SOURCE``."""
    evaluators: Mapping[str, EvaluatorConfig] = Field(default_factory=dict)
    gate: GateConfig = Field(default_factory=GateConfig)
    alerts: Names = ()
    path: Path = Field(default=Path(), exclude=True)
    """The suite's folder; filled by the loader."""
    cases: tuple[Case, ...] = ()
    """In suite order: files by name, then position; filled by the loader."""
    usual_model: str | None = Field(default=None, exclude=True)
    """Of a suite that was resolved for a run with another model: its own."""

    @model_validator(mode="before")
    @classmethod
    def _bare_evaluators(cls, data: Any) -> Any:
        """``CitesSource:`` with nothing behind it names the evaluator and leaves all to its defaults."""
        if not isinstance(data, Mapping) or not isinstance(data.get("evaluators"), Mapping):
            return data
        configs = {
            name: {} if config is None or (isinstance(config, Plain) and config.core is None) else config
            for name, config in data["evaluators"].items()
        }
        return {**data, "evaluators": configs}

    @property
    def file(self) -> Path:
        """Its suite.yaml."""
        return self.path / "suite.yaml"

    def trials_of(self, case: Case) -> int:
        """Planned trials of ``case`` when nothing on the command line says otherwise."""
        return case.trials if case.trials is not None else self.trials


LOADER_FILLED: Mapping[type[Record], frozenset[str]] = {
    Suite: frozenset({"path", "cases", "usual_model"}),
    Case: frozenset({"path", "line"}),
}
"""Attributes that are no keys of a file."""
