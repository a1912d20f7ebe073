"""A store under an S3 prefix (AWS or any server that honours ``If-None-Match: *``).

Owns the S3 client: conditional puts for commits, listings that are never cached, the retries of
storage calls, and messages that say what to do. Credentials, region and endpoint come from the
usual variables and chains (``AWS_ENDPOINT_URL``, ``AWS_ENDPOINT_URL_S3``), never from us.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from nightgate.adapters.store.checks import checked_key, checked_prefix, settle_conflict, swap_conflict
from nightgate.adapters.store.clocks import ServerClock
from nightgate.errors import ConflictError, InputError, MissingError, StoreError

_CONNECT_TIMEOUT_S, _READ_TIMEOUT_S = 5, 30
_ATTEMPTS = 3
"""Tries of one storage call, all in botocore; nothing above repeats them but what follows."""
_RACE_TRIES, _RACE_PAUSE_S = 6, 0.05
"""409: another put of the same key is under way; its end is a matter of milliseconds."""
_CONNECTIONS = 32
_OVERTAKEN = frozenset({404, 409, 412})
"""Gone, being put, or changed since it was read."""
_DELETE_BATCH = 1000

_CREDENTIAL_CODES = frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"})
_EXPIRED_CODES = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"}
)
_CREDENTIAL_HINT = (
    "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), AWS_PROFILE or the role"
)


_KINDS = {"html": "text/html; charset=utf-8", "txt": "text/plain; charset=utf-8"}


def _kind(key: str) -> dict[str, str]:
    """What a browser is told of an object; it would save a page that says nothing, instead of showing it."""
    kind = _KINDS.get(key.rpartition(".")[2])
    return {} if kind is None else {"ContentType": kind}


_NO_ETAG = '"00000000000000000000000000000000"'


class S3Store:
    """Keys below ``s3://bucket/prefix``. Safe for many threads; pickled as its address.

    Args:
        uri: ``s3://bucket`` or ``s3://bucket/prefix``.

    Raises:
        InputError: If the address has no bucket or a prefix that is none.
    """

    def __init__(self, uri: str) -> None:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        self.bucket = bucket
        self.prefix = prefix.strip("/")
        self.uri = f"s3://{bucket}/{self.prefix}".rstrip("/")
        if not uri.startswith("s3://") or not bucket or "?" in uri or "//" in self.prefix:
            msg = f"store {uri!r}: use s3://bucket/prefix"
            raise InputError(msg)
        self._client: Any = None
        self.clock = ServerClock()
        """The server's, by its last answer."""
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"S3Store({self.uri!r})"

    def __reduce__(self) -> tuple[type[S3Store], tuple[str]]:
        return S3Store, (self.uri,)

    def create(self, key: str, data: bytes) -> None:
        """Put once, with one conditional request; the same content again is success.

        Raises:
            ConflictError: If the key holds other content.
            StoreError: If the bucket is missing, the credentials are wrong, or the server is out
                of reach.
        """
        for last in (*[False] * (_RACE_TRIES - 1), True):
            status = self._put_if_absent(key, data, give_up=last)
            if status == "done":
                return
            if status == "exists":
                settle_conflict(self.uri, key, data, self.read(key))
                return
            time.sleep(random.uniform(0, _RACE_PAUSE_S))  # noqa: S311 - jitter, no secret

    def replace(self, key: str, data: bytes) -> None:
        """Put, whatever was there.

        Raises:
            StoreError: As for ``create``.
        """
        with self._said(key):
            self.client.put_object(Bucket=self.bucket, Key=self._full(key), Body=data, **_kind(key))

    def swap(self, key: str, data: bytes, before: bytes | None) -> None:
        """Put if the key still holds ``before``; None: if there is none.

        Raises:
            ConflictError: If it holds something else.
            StoreError: As for ``create``.
        """
        if before is None:
            try:
                self.create(key, data)
            except ConflictError:
                raise swap_conflict(self.uri, key) from None
            return
        from botocore.exceptions import ClientError

        found, etag = self._read_tagged(key)
        if found == before:
            with self._said(key):
                try:
                    self.client.put_object(Bucket=self.bucket, Key=self._full(key), Body=data, IfMatch=etag)
                except ClientError as error:
                    if _http_status(error) not in _OVERTAKEN:
                        raise
                    # A repeated put may have met the own first one.
                    found = self._read_tagged(key)[0]
                else:
                    return
        if found != data:
            raise swap_conflict(self.uri, key)

    def read(self, key: str) -> bytes:
        """All bytes of a key.

        Raises:
            MissingError: If there is none.
            StoreError: As for ``create``.
        """
        from botocore.exceptions import HTTPClientError, IncompleteReadError, ResponseStreamingError

        for last in (*[False] * (_ATTEMPTS - 1), True):
            with self._said(key):
                body = self.client.get_object(Bucket=self.bucket, Key=self._full(key))["Body"]
                try:
                    data: bytes = body.read()
                except (HTTPClientError, IncompleteReadError, ResponseStreamingError):
                    # The answer had begun, so botocore no longer repeats it.
                    if last:
                        raise
                    continue
                return data
        raise AssertionError  # the loop returns or raises

    def find(self, prefix: str) -> list[str]:
        """All keys that start with ``prefix``, sorted; asked of the server each time.

        Raises:
            StoreError: As for ``create``.
        """
        return sorted(self._listed(prefix))

    def children(self, prefix: str) -> list[str]:
        """What starts with ``prefix``, cut after the first ``/`` behind it, each once and sorted.

        The server cuts: 1,000 names an answer, whatever lies below them.

        Raises:
            StoreError: As for ``create``.
        """
        return sorted(set(self._listed(prefix, Delimiter="/")))

    def _listed(self, prefix: str, **options: str) -> Iterator[str]:
        base = f"{self.prefix}/" if self.prefix else ""
        with self._said(prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=base + checked_prefix(prefix), **options
            )
            for page in pages:
                keys = (entry["Key"][len(base) :] for entry in page.get("Contents", ()))
                yield from (key for key in keys if not key.endswith("/"))  # a console's mark of a folder
                yield from (entry["Prefix"][len(base) :] for entry in page.get("CommonPrefixes", ()))

    def delete(self, keys: Iterable[str]) -> None:
        """Remove keys; those that are gone already are no error.

        Raises:
            StoreError: As for ``create``, or if the server kept some.
        """
        pending = iter(keys)
        while batch := [{"Key": self._full(key)} for key in islice(pending, _DELETE_BATCH)]:
            with self._said("delete"):
                answer = self.client.delete_objects(
                    Bucket=self.bucket, Delete={"Objects": batch, "Quiet": True}
                )
            refused = [e for e in answer.get("Errors", ()) if e.get("Code") != "NoSuchKey"]
            if refused:
                first = refused[0]
                msg = (
                    f"{self.uri}: {len(refused)} keys were not deleted,"
                    f" first {first.get('Key')}: {first.get('Code')}"
                )
                raise StoreError(msg)

    def swaps_blindly(self, key: str, data: bytes) -> bool:
        """Whether the server takes a put on the condition that ``key`` holds something that it never held.

        Args:
            key: One that is there.
            data: What it holds; put again, so nothing changes either way.

        Raises:
            StoreError: As for ``create``.
        """
        from botocore.exceptions import ClientError

        with self._said(key):
            try:
                self.client.put_object(Bucket=self.bucket, Key=self._full(key), Body=data, IfMatch=_NO_ETAG)
            except ClientError as error:
                if _http_status(error) not in _OVERTAKEN:
                    raise
                return False
        return True

    def _read_tagged(self, key: str) -> tuple[bytes | None, str]:
        """Content and entity tag; (None, "") where there is none."""
        try:
            with self._said(key):
                answer = self.client.get_object(Bucket=self.bucket, Key=self._full(key))
                return answer["Body"].read(), str(answer["ETag"])
        except MissingError:
            return None, ""

    @property
    def client(self) -> Any:
        """The boto3 client, made on first use and shared by all threads."""
        with self._lock:
            if self._client is None:
                with self._said("client"):
                    self._client = _make_client()
                    self._client.meta.events.register("after-call.s3", self.clock.hear)
            return self._client

    def _full(self, key: str) -> str:
        return f"{self.prefix}/{checked_key(key)}" if self.prefix else checked_key(key)

    def _put_if_absent(self, key: str, data: bytes, *, give_up: bool) -> str:
        from botocore.exceptions import ClientError

        with self._said(key):
            try:
                self.client.put_object(Bucket=self.bucket, Key=self._full(key), Body=data, IfNoneMatch="*")
            except ClientError as error:
                status = _http_status(error)
                if status == 412:  # noqa: PLR2004 - precondition failed: the key is there
                    return "exists"
                if status == 409 and not give_up:  # noqa: PLR2004 - conflict with a put under way
                    return "race"
                raise
        return "done"

    @contextlib.contextmanager
    def _said(self, key: str) -> Iterator[None]:
        """Turn what botocore says into an error that says what to do."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            raise self._refusal(key, error) from error
        except BotoCoreError as error:
            raise self._failure(key, error) from error

    def _refusal(self, key: str, error: Any) -> StoreError:
        details = error.response.get("Error", {})
        code, status = str(details.get("Code", "")), _http_status(error)
        if code == "NoSuchKey" or (status == 404 and code != "NoSuchBucket"):  # noqa: PLR2004 - not found
            return MissingError(f"{self.uri}: no {key}")
        if code == "NoSuchBucket":
            return StoreError(
                f"{self.uri}: there is no bucket {self.bucket!r};"
                " create it or correct --store / NIGHTGATE_STORE"
            )
        if code == "RequestTimeTooSkewed":
            return StoreError(f"{self.uri}: request refused ({code}): {self.clock.in_words()}")
        if code in _EXPIRED_CODES:
            return StoreError(
                f"{self.uri}: the credentials have expired ({code}); get fresh ones (sign in again, or a new"
                " AWS_SESSION_TOKEN); a profile or a role renews them by itself"
            )
        if code in _CREDENTIAL_CODES:
            return StoreError(f"{self.uri}: the server refused the credentials ({code}); {_CREDENTIAL_HINT}")
        if status == 403:  # noqa: PLR2004 - forbidden
            return StoreError(
                f"{self.uri}: {key}: access denied ({code}); the role needs s3:GetObject, s3:PutObject,"
                " s3:DeleteObject and s3:ListBucket on this prefix"
            )
        if code == "NotImplemented":
            return StoreError(
                f"{self.uri}: the server cannot put conditionally (If-None-Match),"
                " so commits would not be safe; use another S3 server or a folder"
            )
        return StoreError(f"{self.uri}: {key}: {code or status}: {details.get('Message', error)}")

    def _failure(self, key: str, error: Exception) -> StoreError:
        from botocore import exceptions as b

        if isinstance(error, b.NoCredentialsError | b.PartialCredentialsError | b.CredentialRetrievalError):
            return StoreError(f"{self.uri}: no usable AWS credentials ({error}); {_CREDENTIAL_HINT}")
        if isinstance(error, b.NoRegionError):
            return StoreError(f"{self.uri}: no AWS region; set AWS_REGION")
        if isinstance(error, b.ProfileNotFound):
            return StoreError(f"{self.uri}: {error}; correct AWS_PROFILE")
        return StoreError(
            f"{self.uri}: {key}: the server is out of reach after {_ATTEMPTS} tries ({error});"
            " check the network and AWS_ENDPOINT_URL"
        )


def _http_status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _make_client() -> Any:
    import boto3
    from botocore.config import Config

    session = boto3.session.Session()
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    config = Config(
        retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        connect_timeout=_CONNECT_TIMEOUT_S,
        read_timeout=_READ_TIMEOUT_S,
        max_pool_connections=_CONNECTIONS,
        # Servers other than AWS rarely answer to bucket names in the host name.
        s3={"addressing_style": "path"} if endpoint else None,
    )
    region = session.region_name or ("us-east-1" if endpoint else None)
    return session.client("s3", config=config, endpoint_url=endpoint, region_name=region)
