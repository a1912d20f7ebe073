"""The bytes of a file -> its text.

Owns which encodings count as readable, and the words for the others. Knows no format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

_LFS = "version https://git-lfs.github.com/spec/"


def decoded(data: bytes, refuse: Callable[[int, str], NoReturn]) -> str:
    """UTF-8 as text; a byte order mark is left out.

    Args:
        data: The whole file.
        refuse: Raises the caller's error, given the line (from 1) and what is wrong: it is not UTF-8, or
            it is a Git LFS pointer in the place of a file.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        refuse(1, "is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        refuse(line, f"byte 0x{data[error.start]:02x} is no UTF-8; save the file as UTF-8")
    if text.startswith(_LFS):
        refuse(1, "is a Git LFS pointer, not the file itself; run `git lfs pull`")
    return text
