"""A change starts a run once, after it has been quiet, whoever looks and however often."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from nightgate.steps import watchdocs, watching
from nightgate.steps.watching import Event, Seen, Step, Terms
from nightgate.testing import InMemoryStore

START = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
INDEX, OTHER = "source:s3://kb/index.json", "source:notes.md"
QUIET_S, PATIENCE_S = 60.0, 600.0


@dataclass
class World:
    """A suite, its last complete run, the state of its watchers, and a clock that is moved by hand."""

    parts: dict[str, str] = field(default_factory=lambda: {"model": "m", INDEX: "v0", OTHER: "n0"})
    base: dict[str, str] | None = field(default_factory=lambda: {"model": "m", INDEX: "v0", OTHER: "n0"})
    unread: dict[str, str] = field(default_factory=dict)
    now: datetime = START
    store: InMemoryStore = field(default_factory=InMemoryStore)
    runs: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each started run measured."""
    names: int = 0

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def terms(self) -> Terms:
        """Of a look that is made now."""
        self.names += 1
        name = f"run-{self.names}"
        return Terms(
            by=name,
            run_id=name,
            now=self.now,
            planned=self.runs.__contains__,
            quiet_s=QUIET_S,
            patience_s=PATIENCE_S,
        )

    def seen(self) -> Seen:
        """What a look finds."""
        readable = {part: value for part, value in self.parts.items() if part not in self.unread}
        return Seen(parts=readable, unread=self.unread)

    def look(self, event: Event | None = None, *, between: World | None = None, dies: bool = False) -> Step:
        """One look by a watcher; a claimed run is played at once and completes, unless the watcher dies.

        Args:
            event: What somebody says has changed.
            between: Another watcher of the same world looks after this one has read and before it swaps.
            dies: Whether the watcher dies between claim and start.
        """
        terms, crossed, base = self.terms(), between is None, self.base

        def step(line: watchdocs.Line) -> Step:
            nonlocal crossed
            if not crossed:
                crossed = True
                self.look(event)
            if event is not None:
                return watching.hear(line, self.seen(), base, terms, event)
            return watching.look(line, self.seen(), base, terms)

        found = watchdocs.change(self.store, "demo", "suite", step)
        if found.start is not None and not dies:
            assert found.start.run_id not in self.runs
            self.runs[found.start.run_id] = dict(self.parts)
            self.base = dict(self.parts)
        return found


def test_the_first_look_without_a_run_to_compare_with_starts_nothing() -> None:
    """The first run is paid for by a person's word, not by a watcher's."""
    world = World(base=None)

    world.look()
    world.wait(3600)
    world.look()

    assert not world.runs


def test_a_change_while_nobody_watched_is_found_by_the_first_look() -> None:
    """Events can be lost and watchers can be down: the last complete run is what is compared with."""
    world = World()
    world.parts[INDEX] = "v1"

    waits = world.look().waits_s
    world.wait(QUIET_S)
    started = world.look().start

    assert waits == QUIET_S
    assert started is not None
    assert (started.trigger, started.reason) == ("retrieval", "s3://kb/index.json changed")


def test_a_change_that_goes_on_waits_for_its_end() -> None:
    """An index is rewritten object by object; half of one is nothing to measure."""
    world = World()
    world.look()
    for version in range(5):
        world.parts[INDEX] = f"w{version}"
        assert world.look().start is None
        world.wait(QUIET_S - 1)

    world.wait(1)

    assert world.look().start is not None


def test_what_goes_back_to_what_was_measured_starts_nothing() -> None:
    """Also when it stayed away for long enough to be noticed, but its run never completed."""
    world = World()
    world.look()
    world.parts[INDEX] = "v1"
    world.look()
    world.wait(QUIET_S)
    world.look(dies=True)
    world.parts[INDEX] = "v0"
    for _ in range(4):
        world.wait(PATIENCE_S)
        assert world.look().start is None


def test_the_first_by_the_order_names_the_run_and_all_are_in_the_reason() -> None:
    """Whoever reads the report wants to know everything that differs."""
    world = World()
    world.look()
    world.parts |= {INDEX: "v1", "model": "m2", "git_sha": "c" * 40}
    world.look()
    world.wait(QUIET_S)

    started = world.look().start

    assert started is not None
    assert (started.trigger, started.reason) == ("model", "model: m -> m2; s3://kb/index.json changed")


def test_a_source_that_cannot_be_read_is_no_change_and_is_kept_visible() -> None:
    """A bucket that is away for an hour must not cost a night's tokens."""
    world = World()
    world.look()
    world.unread = {INDEX: "no credentials"}
    world.look()
    world.wait(QUIET_S)

    assert world.look().start is None
    assert watchdocs.line_of(world.store, "demo", "suite")["unread"] == {INDEX: "no credentials"}


def test_another_change_is_started_while_one_source_cannot_be_read() -> None:
    """One broken source must not blind the watcher for all else."""
    world = World(unread={INDEX: "no credentials"})
    world.look()
    world.parts[OTHER] = "n1"
    world.look()
    world.wait(QUIET_S)

    started = world.look().start

    assert started is not None
    assert started.reason == "notes.md changed"


def test_a_watcher_that_died_before_the_start_is_noticed_after_the_patience() -> None:
    """The same run id is started again, so that a zombie's start is refused as taken."""
    world = World()
    world.parts[INDEX] = "v1"
    world.look()
    world.wait(QUIET_S)
    dead = world.look(dies=True).start
    world.wait(PATIENCE_S - 1)
    early = world.look().start
    world.wait(1)

    late = world.look().start

    assert early is None
    assert dead is not None
    assert late == dead


def test_a_start_that_never_works_is_given_up_and_said() -> None:
    """Three tries; then the nightly has to do."""
    world = World()
    world.parts[INDEX] = "v1"
    world.look()
    world.wait(QUIET_S)
    tries = 0
    for _ in range(10):
        tries += world.look(dies=True).start is not None
        world.wait(PATIENCE_S)

    assert tries == watching.MOST_TRIES
    assert watchdocs.line_of(world.store, "demo", "suite")["starts"][-1]["stage"] == watchdocs.GIVEN_UP


def test_a_clock_that_ran_ahead_does_not_hold_a_change_for_ever() -> None:
    """Watchers on several machines share the state, not the clock."""
    world = World()
    world.parts[INDEX] = "v1"
    world.wait(365 * 86400)
    world.look()
    world.now = START
    world.look()
    world.wait(QUIET_S)

    assert world.look().start is not None


def test_an_event_starts_at_once_and_the_look_after_it_nothing() -> None:
    """Both ways lead to the same state: one change, one run."""
    world = World()
    world.look()
    world.parts[INDEX] = "v1"

    started = world.look(Event(trigger="retrieval", resource="s3://kb/index.json")).start
    world.wait(QUIET_S)
    again = world.look().start

    assert started is not None
    assert (started.trigger, started.reason) == ("retrieval", "s3://kb/index.json changed")
    assert again is None


def test_an_event_after_the_look_that_started_its_change_starts_nothing() -> None:
    """EventBridge may be slower than the watcher."""
    world = World()
    world.look()
    world.parts[INDEX] = "v1"
    world.look()
    world.wait(QUIET_S)
    world.look()

    found = world.look(Event(trigger="retrieval", resource="s3://kb/index.json", id="e-1"))

    assert found.start is None
    assert len(world.runs) == 1


def test_an_event_about_what_no_look_can_see_is_believed_once() -> None:
    """A provider that swaps the weights behind an alias leaves every fingerprint as it was."""
    world = World()
    world.look()
    event = Event(trigger="model", resource="alias-x", reason="weights of 2026-11-29")

    first, second = world.look(event), world.look(event)
    world.wait(watching.EVENT_HOURS * 3600)
    next_day = world.look(event)

    assert first.start is not None
    assert first.start.reason == "weights of 2026-11-29 (alias-x)"
    assert second.start is None
    assert next_day.start is not None


def test_events_with_ids_of_their_own_are_told_apart_by_them() -> None:
    """Two deploys within a day say the same words."""
    world = World()
    world.look()
    event = Event(trigger="prompt", reason="deployed", id="deploy-7")

    found = [world.look(one).start for one in (event, event, replace(event, id="deploy-8"), event)]

    assert [start is not None for start in found] == [True, False, True, False]


LOOK = ("look", "")
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("look"), st.just("")),
        st.tuples(st.just("race"), st.just("")),
        st.tuples(st.just("die"), st.just("")),
        st.tuples(st.just("event"), st.sampled_from(["e-1", "e-2"])),
        st.tuples(st.just(INDEX), st.sampled_from(["v0", "v1", "v2"])),
        st.tuples(st.just(OTHER), st.sampled_from(["n0", "n1"])),
        st.tuples(st.just("wait"), st.sampled_from(["1", "30", "61", "700"])),
        st.tuples(st.just("away"), st.sampled_from(["", "no credentials"])),
    ),
    max_size=40,
)


def carried_out(world: World, name: str, value: str) -> None:
    """One operation."""
    if name in (INDEX, OTHER):
        world.parts[name] = value
    elif name == "wait":
        world.wait(float(value))
    elif name == "away":
        world.unread = {INDEX: value} if value else {}
    elif name == "event":
        world.look(
            Event(trigger="retrieval", resource="s3://kb/index.json", id=value) if not world.unread else None
        )
    else:
        world.look(between=world if name == "race" else None, dies=name == "die")


@settings(max_examples=300)
@given(OPERATIONS)
# The index went back to what it was while nobody could read it: nothing to start.
@example([(INDEX, "v1"), LOOK, (INDEX, "v0"), ("wait", "61"), ("away", "no credentials"), LOOK])
# A run measured an index that no look could read, and the index went back after it: that is a change.
@example(
    [(INDEX, "v1"), (OTHER, "n1"), ("away", "no credentials"), LOOK, ("wait", "61"), LOOK, (INDEX, "v0")]
)
@example([LOOK, (INDEX, "v1"), LOOK, ("wait", "61"), ("race", "")])
def test_any_order_of_looks_changes_and_deaths_starts_one_run_a_change(
    operations: list[tuple[str, str]],
) -> None:
    """No run measures what the run before it measured, and at the end nothing that changed is unmeasured."""
    world = World()
    begun = dict(world.parts)
    for operation in operations:
        carried_out(world, *operation)
    world.unread = {}
    for _ in range(4):
        world.look()
        world.wait(PATIENCE_S)

    assert all(before != after for before, after in pairwise([begun, *world.runs.values()]))
    stages = [start["stage"] for start in watchdocs.line_of(world.store, "demo", "suite")["starts"][-1:]]
    assert world.base == world.parts or stages == [watchdocs.GIVEN_UP]
