"""A store says what it would do to two writers, before there are two."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nightgate.adapters.store.probing import UnsafeStoreError, probe
from nightgate.adapters.store.s3 import S3Store
from nightgate.errors import StoreError
from nightgate.ports import Store
from s3_relay import Faults, s3_relay
from servers import S3Server

KEY = "staging/r/000000-look.jsonl.zst"


@pytest.fixture
def faulty(s3: S3Server, s3_uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[S3Store, Faults]]:
    """A store behind a relay, and the relay's faults."""
    faults = Faults(client=s3.client())
    with s3_relay(s3.endpoint, faults=faults) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        yield S3Store(s3_uri), faults


def test_a_store_that_keeps_its_promises_is_taken(store: Store) -> None:
    """What it holds afterwards is what was asked for."""
    probe(store, KEY, data=b"data", other=b"other")

    assert store.find("") == [KEY]
    assert store.read(KEY) == b"data"


@pytest.mark.server
def test_a_store_that_overwrites_without_a_word_is_refused(faulty: tuple[S3Store, Faults]) -> None:
    """It answers 200 to a put that it had to refuse, as older servers do."""
    store, faults = faulty
    faults.unconditional = True

    with pytest.raises(UnsafeStoreError, match=r"ignores If-None-Match: \*: .* use a server with"):
        probe(store, KEY, data=b"data", other=b"other")
    assert store.read(KEY) == b"data"


@pytest.mark.server
def test_a_store_that_swaps_without_looking_is_refused(
    faulty: tuple[S3Store, Faults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers know the one header and not the other: claims are renewed by the other."""
    store, faults = faulty
    create = store.create

    def conditional(key: str, data: bytes) -> None:
        faults.unconditional = False
        try:
            create(key, data)
        finally:
            faults.unconditional = True

    monkeypatch.setattr(store, "create", conditional)

    with pytest.raises(UnsafeStoreError, match="ignores If-Match"):
        probe(store, KEY, data=b"data", other=b"other")


@pytest.mark.server
@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("ExpiredToken", r"the credentials have expired \(ExpiredToken\); get fresh ones"),
        ("RequestTimeTooSkewed", r"this machine's clock is 20 min behind the server's; .* set the clock"),
        ("AccessDenied", r"access denied \(AccessDenied\); the role needs s3:GetObject"),
    ],
)
def test_a_refusal_says_what_to_do(faulty: tuple[S3Store, Faults], code: str, told: str) -> None:
    """Three ways of 403, and three people who can help."""
    store, faults = faulty
    faults.refuse, faults.ahead_s = code, 1200

    with pytest.raises(StoreError, match=told):
        probe(store, KEY, data=b"data", other=b"other")


@pytest.mark.server
@pytest.mark.parametrize("ahead_s", [-400, 0, 400])
def test_the_servers_clock_is_heard_with_each_answer(faulty: tuple[S3Store, Faults], ahead_s: int) -> None:
    """No request of its own, and both ways."""
    store, faults = faulty
    faults.ahead_s = ahead_s
    assert store.clock.skew_s is None

    store.find("")

    assert store.clock.skew_s == pytest.approx(-ahead_s, abs=3)
