"""What calls took before, and what the calls of a run to come are expected to cost.

Owns the arithmetic from ledgers to an expected bill: calls are grouped by what they were made for (a
trial of a case, a judgement of an evaluator), averaged, priced at today's list price call by call, and
multiplied by what is going to be played. Knows no store and no suite: rows and guesses are handed in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from nightgate.calls import Outcome, Role
from nightgate.prices import FREE, Price, list_and_batch_nanousd
from nightgate.scores import Status
from nightgate.trials import Ending, Usage

_BROKEN = frozenset({Ending.INFRA_ERROR, Ending.SIMULATOR_ERROR, Ending.CANCELLED, Ending.NOT_RUN})
_UNJUDGED = frozenset({Status.ERROR, Status.SKIPPED})
TOKEN_KINDS = ("input", "output", "cache_read", "cache_write")
_COLUMNS = ("tokens_in", "tokens_out", "tokens_cache_read", "tokens_cache_write")
_HOUR = "tokens_cache_write_1h"

TRIAL_COLUMNS = ("case_id", "trial", "ending", "reused_from")
SCORE_COLUMNS = ("case_id", "trial", "evaluator", "status", "judge_model", "panel")
CALL_COLUMNS = ("role", "case_id", "trial", "play", "evaluator", "model", "outcome", *_COLUMNS, _HOUR)
"""What is read of each table."""

Prices: TypeAlias = Mapping[str, Price | None]
"""List price by role; by planned name too where one of several judges has a price of its own."""


def price_of(prices: Prices, role: Role, evaluator: str | None) -> Price | None:
    """The list price of the calls made for a task; None: unknown."""
    return prices[evaluator] if evaluator is not None and evaluator in prices else prices.get(role)


class Task(NamedTuple):
    """What calls are made for: one trial, or one judgement of it."""

    role: Role
    case_id: str
    evaluator: str | None = None
    """Set for judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """The calls of so many equal tasks, together."""

    tasks: int = 0
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    nanousd: int = 0
    """At list price, of the calls whose tokens and price are known."""
    batch_nanousd: int = 0
    """Of the same calls in the provider's batch queue, where it has one."""
    unmetered: int = 0
    """Calls whose cost nobody can tell although their model has a price: answered without token counts,
    or with tokens of a kind that has no known rate."""

    def __add__(self, other: Took) -> Took:
        return Took(
            tasks=self.tasks + other.tasks,
            calls=self.calls + other.calls,
            usage=self.usage + other.usage,
            nanousd=self.nanousd + other.nanousd,
            batch_nanousd=self.batch_nanousd + other.batch_nanousd,
            unmetered=self.unmetered + other.unmetered,
        )


def took(calls: Collection[Usage | None], price: Price | None) -> Took:
    """The calls of one task.

    Args:
        calls: Tokens of each; None: it was answered and nobody counted.
        price: List price; None: unknown.
    """
    known = [usage for usage in calls if usage is not None]
    priced = [list_and_batch_nanousd(usage, price) for usage in known]
    told = [(listed, queued) for listed, queued in priced if listed is not None]
    metered = len(known) if price is None else len(told)
    return Took(
        tasks=1,
        calls=len(calls),
        usage=sum(known, Usage()),
        nanousd=sum(listed for listed, _ in told),
        batch_nanousd=sum(queued or 0 for _, queued in told),
        unmetered=len(calls) - metered if price is not FREE else 0,
    )


def tasks_of_run(
    trials: Iterable[Mapping[str, Any]],
    scores: Iterable[Mapping[str, Any]],
    calls: Iterable[Mapping[str, Any]],
    prices: Prices,
) -> dict[Task, Took]:
    """What the tasks of one run took. Those that were taken over, or broke, tell nothing and are left out.

    Args:
        trials: Rows of the trials table, at least ``TRIAL_COLUMNS``.
        scores: Rows of the scores table, at least ``SCORE_COLUMNS``.
        calls: Rows of the ledger, at least ``CALL_COLUMNS``.
        prices: Today's list prices.
    """
    made = _calls_by_play(calls)
    played: dict[tuple[str, int], bool] = {}
    found: dict[Task, Took] = defaultdict(Took)
    for row in trials:
        key = row["case_id"], row["trial"]
        played[key] = row["reused_from"] is None
        if not played[key] or Ending(row["ending"]) in _BROKEN:
            continue
        for role in (Role.AGENT, Role.USER):
            task = Task(role, row["case_id"])
            found[task] += took(made.get((task, row["trial"]), ()), prices.get(role))
    panels: set[str] = set()
    for row in scores:
        task = Task(Role.JUDGE, row["case_id"], row["evaluator"])
        asked = made.get((task, row["trial"]))
        if row["panel"] is not None:
            # The ledger knows a member by its evaluator's own name and its model.
            panels.add(row["panel"])
            asked = made.get(
                (task._replace(evaluator=f"{row['panel']} @ {row['judge_model']}"), row["trial"])
            )
        # Of a trial that was taken over, a cell without calls was taken over as well.
        if Status(row["status"]) in _UNJUDGED or (
            asked is None and not played.get((row["case_id"], row["trial"]))
        ):
            continue
        found[task] += took(asked or (), price_of(prices, Role.JUDGE, task.evaluator))
    # A panel's own column asks nobody: its members' calls are theirs.
    return {t: seen for t, seen in found.items() if t.role is not Role.JUDGE or t.evaluator not in panels}


def _calls_by_play(calls: Iterable[Mapping[str, Any]]) -> dict[tuple[Task, int], list[Usage | None]]:
    """Tokens of the calls of each task's last play: what was interrupted is not made again.

    A judge's calls stand under its evaluator, and once more under evaluator and model.
    """
    plays: dict[tuple[Task, int], tuple[int, list[Usage | None]]] = {}
    for row in calls:
        counts = [row[column] for column in _COLUMNS]
        counted = counts[0] is not None
        if not counted and row["outcome"] != Outcome.OK:
            continue  # refused or broken: what it took was told by nobody
        kinds = {kind: count or 0 for kind, count in zip(TOKEN_KINDS, counts, strict=True)}
        usage = Usage(**kinds, cache_write_1h=row.get(_HOUR) or 0) if counted else None
        if usage is not None and not usage.total and row["outcome"] != Outcome.OK:
            continue  # refused before a token flowed
        names = [row["evaluator"]]
        names += [f"{row['evaluator']} @ {row['model']}"] if row["evaluator"] is not None else []
        for name in names:
            task = Task(Role(row["role"]), row["case_id"], name)
            play = row["play"] or 1
            last, listed = plays.get((task, row["trial"]), (play, []))
            if play > last:
                last, listed = play, []
            if play == last:
                listed.append(usage)
            plays[task, row["trial"]] = last, listed
    return {key: listed for key, (_, listed) in plays.items()}


class History:
    """What tasks took, by the newest run that played them."""

    def __init__(self) -> None:
        self._cases: dict[Task, Took] = {}
        self._means: dict[tuple[Role, str | None], Took] = defaultdict(Took)
        self._runs: dict[Role, dict[str, str]] = defaultdict(dict)

    def add(self, run_id: str, role: Role, model: str | None, tasks: Mapping[Task, Took]) -> None:
        """Take what is not known yet from a run; the run that tells most is added first.

        Args:
            run_id: The run.
            role: Only its tasks are taken.
            model: Spec of that role's model in the run.
            tasks: Of the run.
        """
        for task, seen in tasks.items():
            if task.role is role and task not in self._cases:
                self._cases[task] = seen
                self._means[role, task.evaluator] += seen
                self._runs[role][run_id] = model or ""

    def covers(self, tasks: Iterable[Task]) -> bool:
        """Whether each of them was played before."""
        return all(task in self._cases for task in tasks)

    def of(self, task: Task) -> Took | None:
        """What the same case took, else all cases together; None: nothing like it was ever played."""
        found = self._cases.get(task)
        return found if found is not None else self._means.get((task.role, task.evaluator))

    def size(self, role: Role, evaluator: str | None) -> int:
        """How many such tasks are known."""
        return self._means[role, evaluator].tasks if (role, evaluator) in self._means else 0

    def runs(self, role: Role) -> Mapping[str, str]:
        """Run id -> model spec, of the runs that a role's figures come from."""
        return self._runs.get(role, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The expected calls of a role, or of one judge evaluator."""

    role: Role
    evaluator: str | None
    tasks: int
    """Trials to play, or judgements to make."""
    guessed: int
    """Of them, those whose calls are guessed from the length of texts."""
    observed: int
    """Tasks of earlier runs that the rest was measured on."""
    calls: Fraction
    tokens: Mapping[str, Fraction]
    """By kind."""
    nanousd: Fraction
    """At list price; of what is known."""
    batch_nanousd: Fraction
    """The same calls in the provider's batch queue; 0 where it has none."""
    known: bool
    """Whether that is all of it."""
    price: Price | None = None
    """None: unknown."""

    @property
    def batch_factor(self) -> Decimal | None:
        """What the provider's batch queue charges over list price; None: it has none."""
        return None if self.price is None else self.price.batch_factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a run is expected to cost."""

    lines: tuple[Line, ...]
    prices: Prices

    def of(self, role: Role) -> tuple[Line, ...]:
        """The lines of a role."""
        return tuple(line for line in self.lines if line.role is role)

    def batch_factor(self, role: Role) -> Decimal | None:
        """What the batch queue charges over list price; None: there is none, or its judges differ."""
        found = {line.batch_factor for line in self.of(role)}
        if not found:
            price = self.prices.get(role)
            return None if price is None else price.batch_factor
        return found.pop() if len(found) == 1 else None


def expect(
    work: Counter[Task],
    history: History,
    guess: Callable[[Task], Collection[Usage]],
    prices: Prices,
) -> Bill:
    """The expected bill of a run.

    Args:
        work: How often each task is going to be done.
        history: What such tasks took before.
        guess: Tokens of each call of one task, where nothing was played before.
        prices: List prices; None: unknown.
    """
    groups: dict[tuple[Role, str | None], Counter[Task]] = defaultdict(Counter)
    for task, times in work.items():
        if times:
            groups[task.role, task.evaluator][task] += times
    order = list(Role)
    lines = [
        _line(role, evaluator, tasks, history, guess, price_of(prices, role, evaluator))
        for (role, evaluator), tasks in groups.items()
    ]
    return Bill(lines=tuple(sorted(lines, key=lambda line: order.index(line.role))), prices=prices)


def _line(
    role: Role,
    evaluator: str | None,
    work: Counter[Task],
    history: History,
    guess: Callable[[Task], Collection[Usage]],
    price: Price | None,
) -> Line:
    calls, nanousd, queued, guessed, unmetered = Fraction(0), Fraction(0), Fraction(0), 0, False
    tokens = dict.fromkeys(TOKEN_KINDS, Fraction(0))
    sources: dict[int, int] = {}
    for task, times in work.items():
        seen = history.of(task)
        if seen is None:
            seen = took(guess(task), price)
            guessed += times
        else:
            sources[id(seen)] = seen.tasks
        share = Fraction(times, seen.tasks)
        calls += share * seen.calls
        nanousd += share * seen.nanousd
        queued += share * seen.batch_nanousd
        unmetered |= bool(seen.unmetered)
        for kind in TOKEN_KINDS:
            tokens[kind] += share * getattr(seen.usage, kind)
    return Line(
        role=role,
        evaluator=evaluator,
        tasks=work.total(),
        guessed=guessed,
        observed=min(sum(sources.values()), history.size(role, evaluator)),
        calls=calls,
        tokens=tokens,
        nanousd=nanousd,
        batch_nanousd=queued,
        known=(price is not None and not unmetered) or not calls,
        price=price,
    )
