from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.rows.records import Record, encode_record
from nightgate.rows.redaction import (
    MASK,
    credentials,
    may_hold_secret,
    redact,
    redact_lines,
    redact_text,
    secrets_in,
)
from rowgen import RECORDS

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7x/3\nq8Zk+Lw==\n-----END RSA PRIVATE KEY-----"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"

SECRETS = [
    ("AKIAIOSFODNN7EXAMPLE", MASK),
    ("ASIAIOSFODNN7EXAMPLE,", f"{MASK},"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", f"aws_secret_access_key = {MASK}"),
    ("sk-proj-aB3dE6gH9jK2mN5pQ8", MASK),
    ("sk-ant-api03-aB3dE6gH9jK2mN5pQ8-xyz", MASK),
    ("Authorization: Bearer aB3dE6gH9jK2", f"Authorization: Bearer {MASK}"),
    ("authorization: Basic dXNlcjpwYXNz", f"authorization: Basic {MASK}"),
    ("sent with bearer aB3dE6gH9jK2", f"sent with bearer {MASK}"),
    ("xoxb-123456789012-abcdefGHIJKL", MASK),
    ("https://hooks.slack.com/services/T0/B0/aB3dE6gH9jK2", f"https://hooks.slack.com/services/{MASK}"),
    ("ghp_aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA3bC6", MASK),
    ("github_pat_11ABCDEFG0aB3dE6gH9jK2_mN5pQ8rS1tU4vW7", MASK),
    (PEM, f"-----BEGIN RSA PRIVATE KEY-----{MASK}"),
    (PEM[:55] + " (cut)", f"-----BEGIN RSA PRIVATE KEY-----{MASK} (cut)"),
    (f"session {JWT} ended", f"session {MASK} ended"),
    ("api_key=aB3dE6gH9", f"api_key={MASK}"),
    ("x-api-key: aB3dE6gH9", f"x-api-key: {MASK}"),
    ("password: 'hunter2'", f"password: '{MASK}'"),
    ('{"client_secret": "correct-horse"}', f'{{"client_secret": "{MASK}"}}'),
    ('{"access_token":"aB3dE6gH9jK2"}', f'{{"access_token":"{MASK}"}}'),
    ("postgresql://eval:pa55@db/evals", f"postgresql://eval:{MASK}@db/evals"),
    ("openai:gpt-x?api_key=aB3dE6gH9&temperature=0", f"openai:gpt-x?api_key={MASK}&temperature=0"),
]
HARMLESS = [
    "sk-learn and the sk-learn-compatible-estimators",
    "token: the word",
    "the secret: nobody reads it, password: whatever you like",
    '{"tokens": 12, "max_tokens": 4000000000, "first_token_ms": 12345678.25}',
    '{"token": 123456789012, "authorization": 1234567890}',
    '{"closing_token": "[DONE]"}',
    "Bearer certificates are basic knowledge",
    "task-20261129123456789 and risk-2026-11-29-assessment-0001",
    "https://example.org:8080/path@2x.png and mail@example.org",
    "[KB-101] Not as a refund, but for store credit.",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "2026-11-29T12:00:00+00:00",
]


@pytest.mark.parametrize(("text", "masked"), SECRETS)
def test_credentials_are_masked(text: str, masked: str) -> None:
    """They reach rows in tool headers, exception texts and model specs."""
    assert redact_text(text, literals=()) == masked


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays(text: str) -> None:
    """A masked answer can neither be judged nor read."""
    assert redact_text(text, literals=()) == text


@pytest.mark.parametrize(("text", "wanted"), SECRETS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_credentials_inside_of_json_text_are_masked(text: str, wanted: str, depth: int) -> None:
    """Tool arguments are JSON inside of messages, which are JSON inside of records."""
    line = f"line one\n{text}\nlast line"
    for _ in range(depth):
        line = json.dumps({"content": line, "n": 2})

    masked = redact_text(line, json_text=True, literals=())

    for _ in range(depth):
        masked = json.loads(masked)["content"]
    assert masked == f"line one\n{wanted}\nlast line"


@pytest.mark.parametrize(("text", "wanted"), SECRETS)
def test_the_quick_look_misses_no_secret(text: str, wanted: str) -> None:
    """What it calls harmless is written to the journal as it is."""
    assert may_hold_secret(json.dumps({"content": text}).encode(), ())


def test_the_quick_look_finds_values_of_the_environment_also_escaped() -> None:
    """A password with a quote in it stands escaped in a record."""
    line = json.dumps({"content": 'it is hunter"2-hunter'}).encode()

    assert may_hold_secret(line, ('hunter"2-hunter',))
    assert not may_hold_secret(line, ())


# Pieces that meet each other in every way: secrets, quotes, escapes, half a secret.
PIECES = st.sampled_from(
    [text for text, _ in SECRETS]
    + HARMLESS
    + [
        "\n",
        '"',
        "\\",
        "\t",
        " ",
        "=",
        ": ",
        "token",
        "password",
        "sk-",
        "eyJ",
        "{",
        "}",
        MASK,
        "aB3dE6gH9",
        "é🧾",
    ]
) | st.text(max_size=8)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
def test_masking_twice_is_masking_once(text: str) -> None:
    """Records are masked when staged and again when parts are made; both give the same bytes."""
    once = redact_text(text, literals=("hunter2hunter", 'pass\\word"9'))

    assert redact_text(once, literals=("hunter2hunter", 'pass\\word"9')) == once


@given(
    st.lists(st.tuples(TEXTS, TEXTS | st.lists(TEXTS, max_size=3) | st.integers()), max_size=4), st.booleans()
)
def test_masked_json_is_still_json_of_the_same_shape(items: list[tuple[str, Any]], ascii_only: bool) -> None:
    """A mask that swallows a quote loses the whole record."""
    value = {f"{number}{key}": item for number, (key, item) in enumerate(items)}
    line = json.dumps(value, ensure_ascii=ascii_only)

    masked = json.loads(redact_text(line, json_text=True, literals=("nabcd1234", 'a"b"cdefg', "aB3dE6gH9")))

    assert [type(item) for item in masked.values()] == [type(item) for item in value.values()]
    assert [item for item in masked.values() if isinstance(item, int)] == [
        item for item in value.values() if isinstance(item, int)
    ]


@given(st.lists(RECORDS, max_size=4))
def test_the_identity_of_a_record_stays_verbatim(records: list[Record]) -> None:
    """A case called ``password=hunter2hunter`` is still the same case after the night."""
    lines = [encode_record(record) for record in records]

    masked = redact_lines(lines, literals=())

    assert [line.partition(b"\t")[0] for line in masked] == [line.partition(b"\t")[0] for line in lines]


def test_a_case_id_that_looks_like_a_secret_is_kept_and_its_echo_is_not() -> None:
    """Ids are the user's own words; what an agent says may be anything."""
    (line,) = redact_lines([b'{"case_id":"api_key=aB3dE6gH9",\t"body":{"output":"api_key=aB3dE6gH9"}}'])

    assert json.loads(line) == {"case_id": "api_key=aB3dE6gH9", "body": {"output": f"api_key={MASK}"}}


def test_a_column_keeps_its_nulls_and_its_other_texts() -> None:
    """Only the rows that hold something are rewritten."""
    column = pa.chunked_array([["fine", None, "api_key=aB3dE6gH9"], ["also fine"]])

    assert redact(column, literals=()).to_pylist() == ["fine", None, f"api_key={MASK}", "also fine"]


def test_a_column_without_secrets_is_returned_as_it_is() -> None:
    """The usual case costs one pass and no copy."""
    column = pa.array(["fine", None])

    assert redact(column, literals=()) is column


def test_values_of_credential_variables_are_masked_wherever_they_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A secret without any known form is known by where it came from."""
    monkeypatch.setenv("VENDOR_API_KEY", "plainvalue")
    monkeypatch.setenv("PIN_TOKEN", "1234")

    assert redact_text("sent plainvalue and 1234") == f"sent {MASK} and 1234"


def test_credentials_are_the_long_values_of_telling_names() -> None:
    """Short values and other names would mask half of the language."""
    env = {
        "A_KEY": "longvalue",
        "b_secret": "longervalue",
        "HOME": "/home/user",
        "C_TOKEN": "short",
        "D_KEY": MASK,
    }

    assert credentials(env) == ("longervalue", "longvalue")


def test_a_literal_is_found_where_json_escaped_it() -> None:
    """A password with a quote looks different inside of a line."""
    secret = 'pa"ss\\word'
    line = json.dumps({"a": secret, "b": json.dumps({"c": secret})}).encode()

    (masked,) = redact_lines([line], literals=[secret])

    assert json.loads(masked) == {"a": MASK, "b": json.dumps({"c": MASK})}


def test_a_literal_never_takes_the_letter_of_an_escape() -> None:
    r"""``\nabcd1234`` is a line break and ``abcd1234``, not ``nabcd1234``."""
    line = json.dumps({"a": "x\nabcd1234"}).encode()

    assert redact_lines([line], literals=["nabcd1234"]) == [line]


def test_a_lone_surrogate_does_not_stop_the_masking() -> None:
    """It becomes the replacement character, as no file could hold it."""
    assert redact_text("api_key=aB3dE6gH9 \ud800", literals=()) == f"api_key={MASK} \ufffd"


@pytest.mark.parametrize(("text", "clean"), SECRETS)
def test_what_is_taken_out_can_be_named(text: str, clean: str) -> None:
    """Whoever masks it elsewhere needs the value itself: without it, the text is the masked one."""
    found = secrets_in([text, "nothing here"])

    assert found
    for value in sorted(found, key=len, reverse=True):
        assert value in text
    assert not any(value in clean for value in found)


def test_a_text_without_a_secret_names_none() -> None:
    """Nor does an empty list."""
    assert secrets_in(["the key is under the mat", ""]) == set()
    assert secrets_in([]) == set()
