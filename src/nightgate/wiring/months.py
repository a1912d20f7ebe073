"""The simulated month: what happens on which night, and what it does to what models say.

Owns the calendar, the chance of the flaky case and the made-up tokens and prices. A script says the same
every night, and another text would be another model; so what differs from night to night under one name is
drawn here, on the script as it was read, and the files stay as they are. Knows no store and plays nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TypeVar

from nightgate.calls import Role
from nightgate.cases import canonical_json
from nightgate.cases.script_steps import ScriptPrice, ScriptUsage, Step
from nightgate.cases.scripts import Playlist, Replies, Script
from nightgate.errors import InputError

S = TypeVar("S", bound=Step)

NIGHTS = 30
LEAST_NIGHTS = 10
MOST_NIGHTS = 365
_START = timedelta(hours=2, minutes=30)
"""After midnight, UTC."""
_UNSTEADY = 0.2
"""Chance of a trial of the flaky case to answer from memory."""
_DOWN = "server_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the month does to one suite."""

    suite: str
    trials: int
    before: str
    """The model until the change."""
    after: str
    worse: tuple[str, ...]
    """Cases that the new model breaks."""
    judge: str
    other_judge: str | None = None
    """Judges from the judge change on; None: the judge stays."""
    flaky: str | None = None
    """A case that some trials get wrong, whichever the model."""
    answered: tuple[str, ...] = ()
    """Cases that the provider still answered on the night of the outage."""


STORIES = (
    Story(
        suite="support",
        trials=3,
        before="scripted:baseline",
        after="scripted:upgraded",
        worse=("refund-out-of-window", "no-resolve-unconfirmed"),
        judge="scripted:judge",
        other_judge="scripted:strict-judge",
        flaky="refund-in-window",
        answered=("report-repair", "no-foreign-case"),
    ),
    Story(
        suite="appointments",
        trials=1,
        before="scripted:baseline",
        after="scripted:yields",
        worse=("undue-discount-en", "undue-discount-es"),
        judge="scripted:judge",
    ),
)

_PRICES: Mapping[str, ScriptPrice] = {
    "scripted:baseline": ScriptPrice(input=Decimal("2.00"), output=Decimal("8.00")),
    # Why anybody changed the model.
    "scripted:upgraded": ScriptPrice(input=Decimal("0.50"), output=Decimal("2.00")),
    "scripted:yields": ScriptPrice(input=Decimal("0.50"), output=Decimal("2.00")),
}
_PRICE = ScriptPrice(input=Decimal("1.00"), output=Decimal("4.00"))
"""Of judges and simulated users."""
_PROMPT_TOKENS = {Role.AGENT: 700, Role.USER: 350, Role.JUDGE: 1400}
_GROWTH_TOKENS = 120
"""What a call adds to the prompt of the next one."""
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in the month."""

    night: int
    """From 1."""
    suite: str
    what: str
    """model, outage, judge or flaky; the last one from its night on."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The calendar of a month that is over.

    Attributes:
        nights: How many; its events keep their places in a shorter one. Under 20 ``appointments`` has too few
            trials before the change for the flake board to call it a break.
        seed: Another one draws another flaky case's luck, and nothing else.
        end: Midnight, UTC, after the last night.
    """

    nights: int
    seed: int
    end: datetime

    @classmethod
    def before(cls, now: datetime, *, nights: int = NIGHTS, seed: int = 0) -> Month:
        """The month whose last night was yesterday's.

        Raises:
            InputError: If so many nights cannot show all events, or nobody would wait for them.
        """
        if not LEAST_NIGHTS <= nights <= MOST_NIGHTS:
            msg = f"--nights {nights}: must be {LEAST_NIGHTS} to {MOST_NIGHTS}"
            raise InputError(msg)
        midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return cls(nights=nights, seed=seed, end=midnight)

    @property
    def model_night(self) -> int:
        """The first night of the new model: 12 of 30."""
        return self.nights * 12 // NIGHTS

    @property
    def outage_night(self) -> int:
        """The night on which the provider was down: 18 of 30."""
        return self.nights * 18 // NIGHTS

    @property
    def judge_night(self) -> int:
        """The first night of the new judge: 24 of 30."""
        return self.nights * 24 // NIGHTS

    def start(self, night: int) -> datetime:
        """The scheduled start of a night, from 1."""
        return self.end - timedelta(days=self.nights - night + 1) + _START

    def model(self, story: Story, night: int) -> str:
        """The spec of the model under test."""
        return story.before if night < self.model_night else story.after

    def judge(self, story: Story, night: int) -> str:
        """The spec of the judge."""
        changed = night >= self.judge_night and story.other_judge is not None
        return story.other_judge if changed and story.other_judge else story.judge

    def events(self) -> Iterator[Event]:
        """All that happened, by night."""
        found = [event for story in STORIES for event in self._events(story)]
        return iter(sorted(found, key=lambda event: event.night))

    def _events(self, story: Story) -> Iterator[Event]:
        def event(night: int, what: str, text: str) -> Event:
            return Event(night=night, suite=story.suite, what=what, text=text)

        if story.flaky is not None:
            yield event(
                1, "flaky", f"{story.flaky} is flaky all month: it fails now and then, and is not broken"
            )
        text = f"model {story.before} -> {story.after}: {', '.join(story.worse)} break"
        yield event(self.model_night, "model", text)
        left = f"all but {', '.join(story.answered)}" if story.answered else "every trial"
        yield event(self.outage_night, "outage", f"the provider is down: {left} ends in an error")
        if story.other_judge is not None:
            text = f"judge {story.judge} -> {story.other_judge}: scores move, the agent is the same"
            yield event(self.judge_night, "judge", text)

    def script(self, story: Story, night: int, role: Role, spec: str, written: Script) -> Script:
        """A model's script as it plays on one night.

        Args:
            story: Whose.
            night: From 1.
            role: Whose part it speaks.
            spec: The model's.
            written: As its file has it.
        """
        played = written
        if role is Role.AGENT:
            played = self._unsteady(story, night, played)
            if night == self.outage_night:
                played = _down(story, played)
        return _counted(replace(played, price=_PRICES.get(spec, _PRICE)), role)

    def _unsteady(self, story: Story, night: int, script: Script) -> Script:
        """The flaky case answers from memory in some trials: right words, and nothing looked up."""
        if story.flaky is None:
            return script
        luck = random.Random(f"{self.seed}/{story.suite}/{night}")  # noqa: S311 - a simulation
        steady = script.replies[story.flaky].of_trial(0)
        memory = replace(steady, steps=tuple(step for step in steady.steps if not step.call))
        drawn = [memory if luck.random() < _UNSTEADY else steady for _ in range(story.trials)]
        return replace(script, replies={**script.replies, story.flaky: Replies(trials=tuple(drawn))})


def _down(story: Story, script: Script) -> Script:
    """No answer but to a few cases."""
    nothing = Replies(trials=(Playlist(steps=(Step.model_validate({"raise": _DOWN}),)),))
    replies = {case: found if case in story.answered else nothing for case, found in script.replies.items()}
    return replace(script, replies=replies)


def _counted(script: Script, role: Role) -> Script:
    """A script whose steps say how many tokens they took."""

    def counted(replies: Replies) -> Replies:
        return Replies(trials=tuple(_counted_steps(playlist, role) for playlist in replies.trials))

    return replace(
        script,
        replies={case: counted(found) for case, found in script.replies.items()},
        judgements={
            name: {case: counted(found) for case, found in by_case.items()}
            for name, by_case in script.judgements.items()
        },
    )


def _counted_steps(playlist: Playlist, role: Role) -> Playlist:
    steps = tuple(_used(step, role, index) for index, step in enumerate(playlist.steps))
    return replace(playlist, steps=steps, choices=tuple(_used(each, role, 0) for each in playlist.choices))


def _used(step: S, role: Role, index: int) -> S:
    return step.model_copy(update={"usage": _usage(role, index, step)})


def _usage(role: Role, index: int, step: Step) -> ScriptUsage:
    said = (step.say or "", *(canonical_json(call.arguments).decode() for call in step.call))
    given = canonical_json(step.fields).decode() if step.fields is not None else ""
    output = sum(map(len, (*said, given))) // _CHARACTERS_A_TOKEN
    return ScriptUsage(input=_PROMPT_TOKENS[role] + index * _GROWTH_TOKENS, output=max(1, output))
