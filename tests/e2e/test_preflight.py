"""A store or a spool that cannot be used is told before a model is called, by everything that starts a run.

The models count their calls themselves: what a ledger says would be our word for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drill_lab import a_case, write_suite

from disks import disk
from nightgate.errors import InputError
from nightgate.requests import RunRequest
from nightgate.wiring.drains import drain
from nightgate.wiring.fleets import plan_fleet
from s3_relay import Faults, s3_relay
from servers import S3Server
from shell import Ran, nightgate

JUDGED = {"cites": ["KB-1"], "judge": [{"id": "tone", "criterion": "Is it friendly?"}]}


@dataclass
class Place:
    """A store and a spool that work, until ``spoil`` is called.

    Attributes:
        folder: For all else.
        store: Its address.
        spool: The spool.
        told: What a person has to read afterwards.
        spoil: Makes it unusable.
        env: By which commands find it.
    """

    folder: Path
    store: str
    spool: Path
    told: tuple[str, ...] = ()
    spoil: Callable[[], object] = lambda: None
    env: dict[str, str] = field(default_factory=dict)

    @property
    def calls(self) -> int:
        """Model calls so far, by what the models say."""
        counted = self.folder / "calls"
        return counted.read_text().count("\n") if counted.exists() else 0

    @property
    def suite(self) -> Path:
        """Two cases for models that count."""
        suite = self.folder / "suites" / "counted"
        if not suite.exists():
            models = {"model": "import:counted_models:talker", "judge": "import:counted_models:one"}
            write_suite(suite, [a_case(name, expect=JUDGED) for name in "ab"], suite="counted", **models)
        return suite

    def __call__(self, *args: str | Path) -> Ran:
        """A command that uses both."""
        where = ("--store", self.store, "--spool", self.spool)
        return nightgate(*args, *where, cwd=self.folder, env=self.environ)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of commands."""
        return {**self.env, "COUNTED_CALLS": str(self.folder / "calls")}

    def request(self, **more: object) -> RunRequest:
        """The same as a request."""
        return RunRequest.make(self.suite, {"store": self.store, "spool": str(self.spool), **more}, {})


@contextlib.contextmanager
def in_s3(server: S3Server, folder: Path, kind: str) -> Iterator[Place]:
    """A bucket behind a relay."""
    bucket, faults = server.bucket(), Faults(client=server.client())

    def remove() -> None:
        for entry in server.client().list_objects_v2(Bucket=bucket).get("Contents", ()):
            server.client().delete_object(Bucket=bucket, Key=entry["Key"])
        server.client().delete_bucket(Bucket=bucket)

    with s3_relay(server.endpoint, faults=faults) as endpoint:
        place = Place(folder, f"s3://{bucket}/evals", folder / "spool")
        place.env = {**server.env, "AWS_ENDPOINT_URL": endpoint}
        place.spoil, told = {
            "no-bucket": (remove, f"there is no bucket '{bucket}'; create it"),
            "wrong-credentials": (
                lambda: place.env.update(AWS_SECRET_ACCESS_KEY="wrong"),
                "the server refused the credentials (SignatureDoesNotMatch); check AWS_ACCESS_KEY_ID",
            ),
            "expired": (
                lambda: setattr(faults, "refuse", "ExpiredToken"),
                "the credentials have expired (ExpiredToken); get fresh ones",
            ),
            "unconditional": (
                lambda: setattr(faults, "unconditional", True),
                "the server ignores If-None-Match: *",
            ),
            "away": (lambda: setattr(faults, "away", True), "out of reach after 3 tries"),
        }[kind]
        place.told = (told,)
        yield place


@contextlib.contextmanager
def on_disk(folder: Path, kind: str) -> Iterator[Place]:
    """A folder store and a spool, one of them on a disk of its own."""
    with disk(folder / "disk") as small:
        what, _, which = kind.partition("-")
        (small.path / "in").mkdir()
        store = small.path / "in" if which == "store" else folder / "store"
        spool = small.path / "in" if which == "spool" else folder / "spool"
        full = "No space left on device: 0.0 MB free, and a run needs 4 MB at least; free some space"
        told = {"full": full, "protected": "Read-only file system: a run could write nothing there"}[what]
        spoil = {"full": small.fill, "protected": small.protect}[what]
        flag = {"store": "with --store or NIGHTGATE_STORE", "spool": "with --spool or NIGHTGATE_SPOOL"}[which]
        yield Place(folder, str(store), spool, (told, flag), spoil)


S3_KINDS = [
    pytest.param(kind, marks=pytest.mark.server)
    for kind in ("no-bucket", "wrong-credentials", "expired", "unconditional", "away")
]
DISK_KINDS = ["full-spool", "protected-spool", "full-store", "protected-store"]
SOME = [pytest.param("unconditional", marks=pytest.mark.server), "full-spool"]
"""Where the look is the same one: a fault of each place."""


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A store and a spool with a fault to come."""
    if request.param in DISK_KINDS:
        with on_disk(tmp_path, request.param) as made:
            yield made
        return
    with in_s3(request.getfixturevalue("s3_process"), tmp_path, request.param) as made:
        yield made


def refused(ran: Ran, place: Place) -> None:
    """Exit 2, the cause, what to do, and not a call."""
    assert ran.code == 2, ran.err
    assert all(told in ran.err for told in place.told)
    assert "Nothing was spent. `nightgate doctor --store" in ran.err
    assert "Traceback" not in ran.err
    assert place.calls == 0


@pytest.mark.parametrize("place", [*S3_KINDS, *DISK_KINDS], indirect=True)
def test_a_run_is_refused_before_a_model_is_called(place: Place) -> None:
    """And the look at the places alone says the same, with exit 1."""
    place.spoil()

    ran, looked = place("run", place.suite), place("doctor")

    refused(ran, place)
    assert looked.code == 1
    assert all(told in looked.out for told in place.told)
    assert "FAIL  " in looked.out


@pytest.mark.parametrize("place", SOME, indirect=True)
def test_a_resume_is_refused_before_a_model_is_called(place: Place) -> None:
    """What was spent before is safe, and nothing more is."""
    opened = place("run", place.suite, "--run-id", "open", "--budget-usd", "0")
    assert (opened.code, place.calls) == (4, 0)
    place.spoil()

    refused(place("run", place.suite, "--resume", "open", "--budget-usd", "1", "--allow-unpriced"), place)


@pytest.mark.parametrize("place", SOME, indirect=True)
def test_several_suites_are_refused_before_the_first(place: Place) -> None:
    """All are checked before one starts."""
    other = write_suite(place.folder / "suites" / "other", [a_case("c")], suite="other")
    place.spoil()

    refused(place("run", other, place.suite), place)


@pytest.mark.parametrize("place", SOME, indirect=True)
@pytest.mark.parametrize("once", [False, True], ids=["plain", "once"])
def test_a_night_is_refused_before_a_model_is_called(place: Place, *, once: bool) -> None:
    """Before Prefect's server is started, too."""
    folder = place.suite.parent
    place.spoil()

    refused(place("nightly", folder, *(["--once"] if once else [])), place)


@pytest.mark.parametrize("place", SOME, indirect=True)
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_a_sweep_is_refused_before_a_judge_is_called(place: Place, *, several: bool) -> None:
    """Of one run, and of all of a suite."""
    asked = ["--judge", "import:counted_models:two", "--evaluator", "Criterion:tone"]
    for name in ("base", "other")[: 1 + several]:
        assert place("run", place.suite, "--run-id", name).code == 0
    (place.folder / "calls").unlink()
    place.spoil()

    refused(place("sweep", *(["suite:counted"] if several else ["base"]), *asked), place)


@pytest.mark.parametrize("place", [*S3_KINDS, "full-spool"], indirect=True)
async def test_a_fleets_parent_is_refused_before_workers_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them would have to find out by itself."""
    place.spoil()
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(InputError) as told:
        await plan_fleet(place.request(run_id="fleet", drainers=2))

    assert all(text in str(told.value) for text in place.told)
    assert place.calls == 0


@pytest.mark.parametrize("place", [*S3_KINDS, "full-spool"], indirect=True)
async def test_a_worker_is_refused_before_it_claims_a_shard(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine is another one, with credentials and a disk of its own."""
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)
    planned = await plan_fleet(place.request(run_id="fleet", drainers=2))
    place.spoil()
    for name, value in place.environ.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(InputError) as told:
        await drain(RunRequest.of_parameters(planned["request"]), "fleet", "one")

    assert all(text in str(told.value) for text in place.told)
    assert place.calls == 0
