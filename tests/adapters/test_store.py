"""The contract of ``ports.Store``, kept by every adapter; S3 against a real server."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from nightgate.adapters.store import open_store
from nightgate.adapters.store.folder import FolderStore
from nightgate.adapters.store.s3 import S3Store
from nightgate.errors import ConflictError, InputError, MissingError, StoreError
from nightgate.ports import Store
from servers import S3Server, free_ports

KEY = "scores/support/2026-11-29/r-1/part-00.parquet"
BAD_KEYS = [
    *("", "/", "/etc/passwd", "../x", "a/../b", "a//b", "a/", ".x", "a/.x"),
    *("a\\b", "a b", "é", "a\0b", "x" * 950),
]


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "store")


# -- every store ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"\0\xff\n", b"x" * 6_000_000], ids=["empty", "binary", "large"])
def test_what_was_created_is_read(store: Store, data: bytes) -> None:
    """Byte for byte, whatever its size."""
    store.create(KEY, data)

    assert store.read(KEY) == data


def test_the_same_content_again_is_success(store: Store) -> None:
    """A retry after a lost answer, or a second finisher with the same rows."""
    store.create(KEY, b"rows")

    store.create(KEY, b"rows")

    assert store.read(KEY) == b"rows"


def test_other_content_is_a_conflict_and_changes_nothing(store: Store) -> None:
    """A committed run never changes."""
    store.create(KEY, b"rows")

    with pytest.raises(ConflictError, match=r"exists with other content"):
        store.create(KEY, b"rowz")
    assert store.read(KEY) == b"rows"


def test_of_many_writers_one_wins_and_all_others_know(store: Store) -> None:
    """Claims of shards rest on this: two owners would pay for the same trials twice."""
    writers = 8
    start = threading.Barrier(writers)

    def write(number: int) -> int | None:
        start.wait()
        try:
            store.create("runs/r-1/claim", b"owner %d" % number)
        except ConflictError:
            return None
        return number

    with ThreadPoolExecutor(writers) as pool:
        winners = [number for number in pool.map(write, range(writers)) if number is not None]

    assert len(winners) == 1
    assert store.read("runs/r-1/claim") == b"owner %d" % winners[0]


def test_a_swap_takes_the_place_of_what_was_read(store: Store) -> None:
    """None stands for a key that is not there yet."""
    store.swap("alerts/support.json", b"first", None)
    store.swap("alerts/support.json", b"second", b"first")

    assert store.read("alerts/support.json") == b"second"


@pytest.mark.parametrize("before", [None, b"older"], ids=["none", "other"])
def test_a_swap_of_what_has_changed_is_a_conflict(store: Store, before: bytes | None) -> None:
    """Whoever decided on old content has to decide again."""
    store.swap("alerts/support.json", b"newer", None)

    with pytest.raises(ConflictError, match="meanwhile"):
        store.swap("alerts/support.json", b"mine", before)
    assert store.read("alerts/support.json") == b"newer"


def test_a_swap_of_a_key_that_is_gone_is_a_conflict(store: Store) -> None:
    """It was read, so it was there."""
    with pytest.raises(ConflictError):
        store.swap("alerts/support.json", b"mine", b"older")
    assert store.find("alerts/") == []


def test_a_swap_that_was_carried_out_already_is_success(store: Store) -> None:
    """The answer was lost, and the request came twice."""
    store.swap("alerts/support.json", b"first", None)
    store.swap("alerts/support.json", b"second", b"first")

    store.swap("alerts/support.json", b"second", b"first")

    assert store.read("alerts/support.json") == b"second"


def test_of_many_swaps_of_the_same_content_one_wins(store: Store) -> None:
    """Two finishers that both win would both send."""
    store.swap("alerts/support.json", b"open", None)
    writers = 8
    start = threading.Barrier(writers)

    def swap(number: int) -> bool:
        start.wait()
        try:
            store.swap("alerts/support.json", b"owner %d" % number, b"open")
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(writers) as pool:
        assert sum(pool.map(swap, range(writers))) == 1


def test_replace_takes_the_place_of_whatever_was_there(store: Store) -> None:
    """The summary of an open run is written again and again."""
    store.replace("runs/r-1/summary.json", b"first")
    store.replace("runs/r-1/summary.json", b"second")

    assert store.read("runs/r-1/summary.json") == b"second"


def test_readers_see_old_or_new_bytes_and_never_a_mixture(store: Store) -> None:
    """A report is read while the run goes on."""
    versions = [bytes([65 + n]) * 200_000 for n in range(8)]
    store.replace("runs/r-1/summary.json", versions[0])
    done = threading.Event()

    def write() -> None:
        for version in versions:
            store.replace("runs/r-1/summary.json", version)
        done.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        seen = {store.read("runs/r-1/summary.json")}
        while not done.is_set() and not writing.done():
            seen.add(store.read("runs/r-1/summary.json"))
        writing.result()

    assert seen <= set(versions)


def test_a_missing_key_is_missing(store: Store) -> None:
    """An open run has no manifest; that is no fault of the store."""
    store.create(KEY, b"rows")

    for key in ("manifests/support/2026-11-29/r-1.json", "scores", "scores/support", f"{KEY}/below"):
        with pytest.raises(MissingError):
            store.read(key)


def test_find_gives_all_keys_that_start_so_sorted(store: Store) -> None:
    """A prefix need not be a folder; what it matches does not hang on the order of writing."""
    keys = ["scores/b/x", "scores/a/2", "scores/a/10", "scores/a-b/1", "scores/a", "scorez/1", "trials/a/1"]
    for key in keys:
        if key != "scores/a":
            store.create(key, b"")

    assert store.find("scores/a") == ["scores/a-b/1", "scores/a/10", "scores/a/2"]
    assert store.find("scores/a/") == ["scores/a/10", "scores/a/2"]
    assert store.find("sc") == ["scores/a-b/1", "scores/a/10", "scores/a/2", "scores/b/x", "scorez/1"]
    assert store.find("") == sorted(set(keys) - {"scores/a"})
    assert store.find("nothing/here") == []


def test_children_are_cut_after_the_next_slash(store: Store) -> None:
    """Keys as they are, all that lies deeper as one name; what starts alike is not mixed up."""
    for key in (
        "runs/a/plan.json",
        "runs/a/report/1.html",
        "runs/a/report/2.html",
        "runs/a-b/x",
        "runs/a.json",
    ):
        store.create(key, b"")

    assert store.children("") == ["runs/"]
    assert store.children("runs/") == ["runs/a-b/", "runs/a.json", "runs/a/"]
    assert store.children("runs/a") == ["runs/a-b/", "runs/a.json", "runs/a/"]
    assert store.children("runs/a/") == ["runs/a/plan.json", "runs/a/report/"]
    assert store.children("runs/a/plan.json") == ["runs/a/plan.json"]
    assert store.children("runs/a/report") == ["runs/a/report/"]
    assert store.children("run") == ["runs/"]
    assert store.children("nothing/here/") == []


@pytest.mark.parametrize("store", ["memory", "folder"], indirect=True)
def test_what_lost_its_last_key_is_no_child_any_more(store: Store) -> None:
    """A listing shows what is there, as ``find`` does. S3 servers on file systems forget a while later."""
    store.create("runs/a/report/1.html", b"")
    store.create("runs/b/plan.json", b"")
    assert store.children("runs/") == ["runs/a/", "runs/b/"]

    store.delete(["runs/a/report/1.html"])

    assert store.children("runs/") == ["runs/b/"]


def test_find_sees_what_was_written_and_removed_since_it_looked(store: Store) -> None:
    """A cached listing hides the groups of another worker."""
    store.create("staging/r-1/1", b"")
    assert store.find("staging/r-1/") == ["staging/r-1/1"]
    store.create("staging/r-1/2", b"")
    assert store.find("staging/r-1/") == ["staging/r-1/1", "staging/r-1/2"]
    store.delete(["staging/r-1/1"])
    assert store.find("staging/r-1/") == ["staging/r-1/2"]


def test_deleted_keys_are_gone_and_may_be_deleted_again(store: Store) -> None:
    """Two finishers clear the staging area of one run."""
    store.create("staging/r-1/1", b"")
    store.create("staging/r-1/2", b"")

    store.delete(["staging/r-1/1", "staging/r-1/none"])
    store.delete(["staging/r-1/1"])
    store.delete([])

    assert store.find("staging/") == ["staging/r-1/2"]
    with pytest.raises(MissingError):
        store.read("staging/r-1/1")


def test_a_deleted_key_can_be_created_again(store: Store) -> None:
    """Also right after its folder became empty."""
    for content in (b"1", b"2"):
        store.create("staging/r-1/1", content)
        store.delete(["staging/r-1/1"])

    assert store.find("") == []


@pytest.mark.parametrize("key", BAD_KEYS)
def test_no_key_leaves_its_store(store: Store, key: str) -> None:
    """Whatever a caller builds, nothing outside is read, written or removed."""
    calls: list[Callable[[], Any]] = [
        lambda: store.create(key, b""),
        lambda: store.replace(key, b""),
        lambda: store.read(key),
        lambda: store.delete([key]),
    ]
    for call in calls:
        with pytest.raises(StoreError):
            call()


@pytest.mark.parametrize("prefix", ["/", "../", "a/../", "a//b", ".x", "a/.", "*"])
def test_no_prefix_looks_outside(store: Store, prefix: str) -> None:
    """A listing of the parent folder would show other people's runs."""
    for look in (store.find, store.children):
        with pytest.raises(StoreError):
            look(prefix)


# -- addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["", " ", "gs://bucket/x", "memory://x", "http://x/y", "s3://", "s3:///x"])
def test_an_address_that_is_no_store_is_wrong_input(uri: str) -> None:
    """Exit 2, before anything is spent."""
    with pytest.raises(InputError, match=r"s3://bucket/prefix"):
        open_store(uri)


def test_opening_a_store_touches_nothing(tmp_path: Path) -> None:
    """``check`` and ``plan`` may name a store that is not there yet."""
    open_store("s3://no-such-bucket/evals")
    store = open_store(str(tmp_path / "store"))

    assert store.find("") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("uri", ["s3://bucket/a/b/", "s3://bucket/a/b"])
def test_an_s3_address_is_written_one_way(uri: str) -> None:
    """It stands in messages and is compared."""
    assert open_store(uri).uri == "s3://bucket/a/b"


def test_stores_travel_to_other_processes(tmp_path: Path) -> None:
    """As their address; clients and locks stay behind."""
    for store in (open_store(str(tmp_path)), open_store("s3://bucket/a")):
        assert pickle.loads(pickle.dumps(store)).uri == store.uri


# -- the folder -------------------------------------------------------------------------------------


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.rglob("*") if path.is_file())


def test_a_writer_that_was_killed_leaves_nothing_that_is_seen(folder: FolderStore) -> None:
    """What it left is a temporary name that no listing and no Parquet reader looks at."""
    folder.create(KEY, b"rows")
    (folder.root / KEY).with_name(".part-01.parquet.c0ffee").write_bytes(b"ro")

    assert folder.find("") == [KEY]


def test_a_folder_with_nothing_that_is_seen_is_no_child(folder: FolderStore) -> None:
    """A killed writer leaves a folder, perhaps with a temporary name in it; S3 has no such thing."""
    folder.create("runs/a/plan.json", b"")
    (folder.root / "runs/b/report").mkdir(parents=True)
    (folder.root / "runs/b/report/.index.html.c0ffee").write_bytes(b"")

    assert folder.children("runs/") == ["runs/a/"]


def test_neither_children_nor_a_key_cost_what_lies_below(
    folder: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A year of nights has a hundred thousand pages, and a run is looked up by its plan."""
    for number in range(30):
        folder.create(f"runs/a/report/{number}.html", b"")
    folder.create("runs/a/plan.json", b"")
    real, seen = os.scandir, []

    @contextlib.contextmanager
    def watched(path: Any) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(path) as entries:
            yield (seen.append(entry.name) or entry for entry in entries)  # type: ignore[func-returns-value]

    monkeypatch.setattr(os, "scandir", watched)

    assert folder.children("runs/") == ["runs/a/"]
    assert folder.find("runs/a/plan.json") == ["runs/a/plan.json"]
    assert len(seen) <= 6


def test_no_temporary_file_stays_behind(folder: FolderStore) -> None:
    """Neither after success nor after a conflict."""
    folder.create(KEY, b"rows")
    folder.replace(KEY, b"rowz")
    with pytest.raises(ConflictError):
        folder.create(KEY, b"others")

    assert files(folder.root) == ["part-00.parquet"]


def test_an_exception_while_writing_leaves_no_object(
    folder: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is noticed before the content has its name."""

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StoreError, match="No space left on device; check"):
        folder.create(KEY, b"rows")
    assert files(folder.root) == []


@pytest.fixture
def no_hard_links(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some network and FUSE file systems have none."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    return


@pytest.mark.usefixtures("no_hard_links")
def test_create_only_holds_without_hard_links(folder: FolderStore) -> None:
    """The promise does not hang on the file system."""
    test_of_many_writers_one_wins_and_all_others_know(folder)
    test_the_same_content_again_is_success(folder)
    with pytest.raises(ConflictError):
        folder.create(KEY, b"others")

    assert folder.find("") == ["runs/r-1/claim", KEY]


def test_folders_that_deletion_empties_are_removed(folder: FolderStore) -> None:
    """Years of nights would leave thousands of them."""
    folder.create("staging/r-1/1", b"")
    folder.create("scores/a", b"")

    folder.delete(["staging/r-1/1"])

    assert [path.name for path in folder.root.iterdir()] == ["scores"]


def test_creating_survives_a_neighbour_that_removes_the_folder(folder: FolderStore) -> None:
    """One worker stages while another clears what was committed."""
    rounds = 200

    def churn(name: str) -> None:
        for _ in range(rounds):
            folder.create(f"staging/r-1/{name}", b"")
            folder.delete([f"staging/r-1/{name}"])

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(churn, str(n)) for n in range(4)]:
            done.result()

    assert folder.find("") == []


def test_a_root_that_is_a_file_is_explained(tmp_path: Path) -> None:
    """``--store results.json`` is a likely slip."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(StoreError, match=r"file: scores/.*check the folder's rights"):
        FolderStore(tmp_path / "file").create(KEY, b"rows")


# -- S3 ---------------------------------------------------------------------------------------------


@pytest.mark.server
def test_stores_below_two_prefixes_of_a_bucket_do_not_meet(s3: S3Server) -> None:
    """Staging and production may share a bucket; ``a`` is no prefix of ``ab`` here."""
    bucket = s3.bucket()
    stores = [open_store(f"s3://{bucket}{prefix}") for prefix in ("/a", "/ab", "")]
    for store in stores[:2]:
        store.create(KEY, store.uri.encode())

    assert [store.read(KEY).decode() for store in stores[:2]] == [store.uri for store in stores[:2]]
    assert stores[0].find("") == [KEY]
    assert stores[2].find("") == [f"a/{KEY}", f"ab/{KEY}"]


@pytest.mark.server
def test_a_page_in_a_bucket_is_shown_and_not_saved(s3: S3Server) -> None:
    """A browser that is told nothing of an object saves it instead of opening it."""
    store = S3Store(f"s3://{s3.bucket()}/evals")
    kinds = {"index.html": "text/html; charset=utf-8", "case-1-1.txt": "text/plain; charset=utf-8"}
    for name in kinds:
        store.replace(f"runs/r/report/{name}", b"x")

    found = {
        name: store.client.head_object(Bucket=store.bucket, Key=f"evals/runs/r/report/{name}")["ContentType"]
        for name in kinds
    }

    assert found == kinds


@pytest.mark.server
def test_more_keys_than_a_page_are_found_and_deleted(s3_uri: str) -> None:
    """S3 answers and takes at most 1,000 at a time."""
    store = open_store(s3_uri)
    keys = [f"staging/r-1/{number:05}" for number in range(1003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.create(key, b""), keys))

    assert store.find("staging/") == keys
    store.delete(keys)
    assert store.find("staging/") == []


@pytest.mark.server
def test_children_are_asked_for_a_page_of_names_at_a_time(s3_uri: str) -> None:
    """However much lies below them: the server cuts, and sends no key of it."""
    store = S3Store(s3_uri)
    keys = [f"runs/{run:04}/{name}" for run in range(1003) for name in ("plan.json", "report/index.html")]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: store.create(key, b""), keys))
    asked = answer(store.client, "ListObjectsV2", 500, "none", times=0)

    found = store.children("runs/")

    assert found == [f"runs/{run:04}/" for run in range(1003)]
    assert len(asked) == 2


@pytest.mark.server
def test_a_missing_bucket_is_named(s3: S3Server) -> None:
    """It is a configuration fault, not a missing run."""
    store = open_store("s3://no-such-bucket/evals")
    calls: list[Callable[[], Any]] = [
        lambda: store.create(KEY, b""),
        lambda: store.replace(KEY, b""),
        lambda: store.read(KEY),
        lambda: store.find(""),
        lambda: store.children(""),
        lambda: store.delete([KEY]),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="no bucket 'no-such-bucket'; create it") as caught:
            call()
        assert not isinstance(caught.value, MissingError)


@pytest.mark.server
@pytest.mark.parametrize(
    ("name", "code"),
    [("AWS_SECRET_ACCESS_KEY", "SignatureDoesNotMatch"), ("AWS_ACCESS_KEY_ID", "InvalidAccessKeyId")],
)
def test_wrong_credentials_say_where_to_look(
    s3_uri: str, monkeypatch: pytest.MonkeyPatch, name: str, code: str
) -> None:
    """And the credentials themselves are not in the message."""
    monkeypatch.setenv(name, "wrong-value-of-it")

    with pytest.raises(
        StoreError, match=rf"refused the credentials \({code}\); check AWS_ACCESS_KEY_ID"
    ) as caught:
        open_store(s3_uri).read(KEY)
    assert "wrong-value-of-it" not in str(caught.value)


def test_missing_credentials_say_where_to_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The night's job has no role yet."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_REGION", "us-east-1")

    with pytest.raises(StoreError, match=r"no usable AWS credentials .*check AWS_ACCESS_KEY_ID"):
        open_store("s3://bucket/evals").find("")


def test_a_server_out_of_reach_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on with its spool; the message is what the log keeps."""
    (port,) = free_ports(1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "y")

    with pytest.raises(
        StoreError, match=r"out of reach after 3 tries .*check the network and AWS_ENDPOINT_URL"
    ):
        open_store("s3://bucket/evals").create(KEY, b"rows")


def answer(client: Any, operation: str, status: int, code: str, times: int) -> list[int]:
    """Let the first ``times`` requests of an operation be answered by us instead of the server."""
    from botocore.awsrequest import AWSResponse

    asked: list[int] = []

    class Raw:
        def stream(self) -> Iterator[bytes]:
            yield f"<Error><Code>{code}</Code><Message>as asked</Message></Error>".encode()

    def before_send(request: Any, **_: Any) -> Any:
        asked.append(status)
        return AWSResponse(request.url, status, {}, Raw()) if len(asked) <= times else None

    client.meta.events.register(f"before-send.s3.{operation}", before_send)
    return asked


@pytest.mark.server
def test_a_put_that_meets_another_one_is_tried_again(s3_uri: str) -> None:
    """409 says that the outcome of the other put is not known yet."""
    store = S3Store(s3_uri)
    asked = answer(store.client, "PutObject", 409, "ConditionalRequestConflict", times=3)

    store.create(KEY, b"rows")

    assert len(asked) == 4
    assert store.read(KEY) == b"rows"


@pytest.mark.server
def test_a_put_that_keeps_meeting_others_gives_up(s3_uri: str) -> None:
    """Bounded: the caller has a spool."""
    store = S3Store(s3_uri)
    asked = answer(store.client, "PutObject", 409, "ConditionalRequestConflict", times=1000)

    with pytest.raises(StoreError, match="ConditionalRequestConflict"):
        store.create(KEY, b"rows")
    assert len(asked) == 6


@pytest.mark.server
def test_a_server_error_is_tried_three_times(s3_uri: str) -> None:
    """One layer retries, and its bound is ours."""
    store = S3Store(s3_uri)
    asked = answer(store.client, "GetObject", 503, "SlowDown", times=1000)

    with pytest.raises(StoreError, match="SlowDown"):
        store.read(KEY)
    assert len(asked) == 3


@pytest.mark.server
def test_a_server_without_conditional_puts_is_refused(s3_uri: str) -> None:
    """Without them two writers would both believe that they own a shard."""
    store = S3Store(s3_uri)
    answer(store.client, "PutObject", 501, "NotImplemented", times=1000)

    with pytest.raises(StoreError, match="cannot put conditionally"):
        store.create(KEY, b"rows")


@pytest.mark.server
def test_a_denied_request_names_the_rights_that_are_needed(s3_uri: str) -> None:
    """The role exists but lacks a statement."""
    store = S3Store(s3_uri)
    answer(store.client, "GetObject", 403, "AccessDenied", times=1000)

    with pytest.raises(StoreError, match=r"access denied \(AccessDenied\); the role needs s3:GetObject"):
        store.read(KEY)
