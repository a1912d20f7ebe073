"""The store goes away, the credentials expire, the disk fills up: what is finished stays, and is told.

Each drill ends with the figures of a run that nothing happened to. A relay before a real S3 server has the
faults; they begin with a staged group, not at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from disks import Disk, disk
from s3_relay import Faults, s3_relay
from servers import S3Server
from shell import DRILLS, Ran, nightgate, start, wait_for_trials
from warm import Child

SUITE = DRILLS / "slow"
TRIALS = 20
SAME = ("verdict", "exit_code", "cells", "trials", "layers", "families", "flaky", "findings", "evaluators")
MONEY = ("tokens", "cost_usd")
"""The same too where nothing had to be played again."""


@dataclass
class Lab:
    """A bucket behind a relay, and the commands that are run against it.

    Attributes:
        folder: Commands are run in it.
        uri: The store.
        server: The real one.
        faults: Of the relay.
        env: By which commands find the relay.
        at: What happens when so many groups were staged.
        staged: Groups so far.
    """

    folder: Path
    uri: str
    server: S3Server
    faults: Faults = field(default_factory=Faults)
    env: dict[str, str] = field(default_factory=dict)
    at: dict[int, Any] = field(default_factory=dict)
    staged: int = 0

    @property
    def bucket(self) -> str:
        """Its name."""
        return self.uri.removeprefix("s3://").partition("/")[0]

    @property
    def spool(self) -> Path:
        """Where journals lie."""
        return self.folder / "spool"

    def heard(self, event: str) -> None:
        """A group is about to be staged."""
        if event == "staged":
            self.staged += 1
            self.at.pop(self.staged, lambda: None)()

    def __call__(self, *args: str | Path, spool: Path | None = None) -> Ran:
        """A command against the store through the relay."""
        where = ("--store", self.uri, "--spool", spool or self.spool)
        return nightgate(*args, *where, cwd=self.folder, env=self.env)

    def run(self, *flags: str | Path, spool: Path | None = None) -> Ran:
        """The run that the drills are about, two trials at a time."""
        return self(
            *("run", SUITE, "--run-id", "drill", "--concurrency", "2", "--json", "-", *flags), spool=spool
        )


LOOK = 3
"""Groups that are put by the look at the store before the run; those of the run follow."""


@pytest.fixture
def lab(s3_process: S3Server, tmp_path: Path) -> Iterator[Lab]:
    """An empty bucket behind a relay without faults."""
    made = Lab(tmp_path, f"s3://{s3_process.bucket()}/evals", s3_process)
    with s3_relay(s3_process.endpoint, made.heard, made.faults) as endpoint:
        made.env = {**s3_process.env, "AWS_ENDPOINT_URL": endpoint}
        yield made


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The summary of a run that nothing happened to."""
    store = tmp_path_factory.mktemp("unharmed")
    return nightgate("run", SUITE, "--store", store, "--json", "-").json


def same(summary: Mapping[str, Any], other: Mapping[str, Any], *, money: bool = True) -> bool:
    """Whether two runs came to the same."""
    names = SAME + (MONEY if money else ())
    assert {name: summary[name] for name in names} == {name: other[name] for name in names}
    return True


@pytest.mark.server
def test_a_store_that_comes_back_leaves_no_trace(lab: Lab, unharmed: Mapping[str, Any]) -> None:
    """Trials go to the spool and on; the next second after the outage brings them up."""
    lab.faults.until = 4
    lab.at[LOOK + 2] = lambda: setattr(lab.faults, "away", True)

    ran = lab.run()

    assert ran.code == 0, ran.err
    assert lab.faults.hit == 4
    assert same(ran.json, unharmed)
    assert not lab.spool.exists() or not list(lab.spool.iterdir())


@pytest.mark.server
def test_a_store_that_stays_away_is_brought_up_later(lab: Lab, unharmed: Mapping[str, Any]) -> None:
    """All twenty trials are played and paid for; publishing them costs nothing and the gate says the same."""
    lab.at[LOOK + 2] = lambda: setattr(lab.faults, "away", True)
    ran = lab.run()
    assert ran.code == 3
    assert f"nightgate publish drill --store {lab.uri}" in ran.err
    too_early = lab("publish", "drill")
    assert (too_early.code, "out of reach" in too_early.err) == (3, True)

    lab.faults.away = False
    looked = lab("doctor")
    published = lab("publish", "drill", "--json", "-")

    assert looked.code == 0
    assert f"nightgate publish drill --store {lab.uri} --spool {lab.spool}" in looked.out
    assert published.code == 0, published.err
    assert same(published.json, unharmed)
    gate = nightgate("gate", "drill", "--store", lab.uri, env=lab.env)
    assert gate.code == unharmed["exit_code"]
    assert not list(lab.spool.iterdir())


@pytest.mark.server
def test_expired_credentials_stop_no_run(lab: Lab, unharmed: Mapping[str, Any]) -> None:
    """An hour's token in a night of three: the trials wait for somebody who signs in."""
    lab.at[LOOK + 2] = lambda: setattr(lab.faults, "refuse", "ExpiredToken")
    ran = lab.run()
    assert ran.code == 3
    assert "the credentials have expired (ExpiredToken); get fresh ones" in ran.err
    assert "nightgate publish drill" in ran.err

    lab.faults.refuse = None
    published = lab("publish", "drill", "--json", "-")

    assert published.code == 0, published.err
    assert same(published.json, unharmed)


def emptied(lab: Lab) -> None:
    """Remove the bucket with all that is in it."""
    client = lab.server.client()
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=lab.bucket):
        for entry in page.get("Contents", ()):
            client.delete_object(Bucket=lab.bucket, Key=entry["Key"])
    client.delete_bucket(Bucket=lab.bucket)


@pytest.mark.server
@pytest.mark.parametrize("at_once", [False, True], ids=["later", "at-once"])
def test_a_bucket_that_was_removed_is_filled_again(
    lab: Lab, unharmed: Mapping[str, Any], *, at_once: bool
) -> None:
    """The journal holds all trials, and the plan lies beside it: the store's copy of both is gone."""

    def remove() -> None:
        emptied(lab)
        if at_once:
            lab.server.client().create_bucket(Bucket=lab.bucket)

    lab.at[LOOK + 2] = remove
    ran = lab.run()
    assert ran.code == 3
    assert ("no run 'drill'" if at_once else f"there is no bucket {lab.bucket!r}") in ran.err
    assert "nightgate publish drill" in ran.err

    if not at_once:
        lab.server.client().create_bucket(Bucket=lab.bucket)
    published = lab("publish", "drill", "--json", "-")

    assert published.code == 0, published.err
    assert same(published.json, unharmed)
    assert not list(lab.spool.iterdir())


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Disk]:
    """A disk of 8 MB."""
    with disk(tmp_path / "disk") as mounted:
        yield mounted


@pytest.mark.server
def test_a_full_spool_stops_the_run_and_keeps_what_is_finished(
    lab: Lab, small: Disk, unharmed: Mapping[str, Any]
) -> None:
    """The store is there, so all that was finished is in it, and the summary says what is missing."""
    lab.at[LOOK + 1] = small.fill
    spool = small.path / "spool"

    ran = lab.run(spool=spool)

    assert ran.code == 3, ran.err
    assert "No space left on device" in ran.err
    assert "All that was paid for before is safe" in ran.err
    assert "--resume drill" in ran.err
    trials = ran.json["trials"]
    assert (ran.json["complete"], ran.json["exit_code"]) == (False, 3)
    assert 0 < trials["completed"] < TRIALS
    assert trials["agent_error"] == trials["infra_error"] == 0
    assert (ran.json["cells"]["error"], ran.json["cells"]["fail"]) == (0, 0)

    small.empty()
    resumed = lab(*("run", SUITE, "--resume", "drill", "--json", "-"), spool=spool)

    assert resumed.code == 0, resumed.err
    assert same(resumed.json, unharmed, money=False)
    assert resumed.json["tokens"]["agent"]["input"] <= unharmed["tokens"]["agent"]["input"] + 2 * 300


def test_a_disk_that_is_full_for_store_and_spool_loses_nothing(
    small: Disk, unharmed: Mapping[str, Any]
) -> None:
    """A folder store has its spool beside it: then the journal is all there is."""
    store = small.path / "store"
    with started("run", SUITE, "--store", store, "--run-id", "drill", "--concurrency", "2") as process:
        wait_for_trials(store, "drill", 4)
        small.fill()
        _, err = process.communicate(timeout=60)

    assert process.returncode == 3, err
    assert "No space left on device" in err
    assert "Traceback" not in err

    small.empty()
    resumed = nightgate("run", SUITE, "--store", store, "--resume", "drill", "--json", "-")

    assert resumed.code == 0, resumed.err
    assert same(resumed.json, unharmed, money=False)


@contextlib.contextmanager
def started(*args: str | Path) -> Iterator[Child]:
    """A command in a process of its own, which does not outlive the block."""
    process = start(*args)
    try:
        yield process
    finally:
        process.forget()
