"""Files of JSON: what is read, and that every refusal names file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from nightgate.errors import ExitCode, InputError
from nightgate.importers.files import read_values

SAMPLES = {
    b"": ":1: is empty",
    b" \n\n": ":1: is empty",
    b"{": ":1: ends in the middle of a value",
    b'{"a": 1}\n{"a": 1}\n{"b": ': ":3: ends in the middle of a value",
    b'{"a": 1}\n\n{"a": nope}': ":3: is no JSON: Expecting value",
    b'[1,\n2,\n"x]': ":3: ",
    b"hello": ":1: is no JSON",
    b'{"a": "\xff"}': ":1: byte 0xff is no UTF-8",
    b'{}\n{"a": "\xe9"}': ":2: byte 0xe9 is no UTF-8",
    "[]".encode("utf-16"): ":1: is UTF-16",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n": ":1: is a Git LFS pointer",
    b"[" * 100_000: ":1: is nested too deeply",
    b"1" * 5000: ":1: is no JSON that can be read",
}


@pytest.mark.parametrize("data", SAMPLES, ids=lambda data: repr(data[:16]))
def test_what_cannot_be_read_is_refused_with_its_line(tmp_path: Path, data: bytes) -> None:
    """A person looks at that line first."""
    path = tmp_path / "spans.json"
    path.write_bytes(data)

    with pytest.raises(InputError) as told:
        read_values(path)

    assert f"{path}{SAMPLES[data]}" in str(told.value)
    assert told.value.exit_code is ExitCode.INPUT


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """Not a traceback."""
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_values(tmp_path / "none.json")


def test_values_one_after_the_other_have_their_lines(tmp_path: Path) -> None:
    """JSON lines, objects over several lines, a byte order mark."""
    path = tmp_path / "spans.json"
    path.write_text('\ufeff{"a": 1}\n\n{\n "b": 2\n}\r\n[3] 4', encoding="utf-8")

    assert [(value.data, value.line) for value in read_values(path)] == [
        ({"a": 1}, 1),
        ({"b": 2}, 3),
        ([3], 6),
        (4, 6),
    ]
