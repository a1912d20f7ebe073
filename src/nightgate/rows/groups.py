"""A staged group: the records of about a second, as one small object.

Owns the frame around compressed JSON lines, so that damage is noticed. Knows no store and not what
the lines mean. Secrets are masked here, a batch at a time, before anything leaves the process.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from nightgate.errors import DamagedError
from nightgate.rows.redaction import redact_lines

_MAGIC = b"NGG1"
_HEADER = struct.Struct(">4sIQQ32s")
"""Magic, number of lines, bytes of the text, bytes after the header, sha256 of the text."""
_LEVEL = 3
_MAX_TEXT_BYTES = 1 << 30


def encode_group(lines: Sequence[bytes], *, literals: Sequence[str] | None = None) -> bytes:
    """Compress record lines into one object, with secrets masked.

    Args:
        lines: From ``records.encode_record``; UTF-8, no line breaks inside.
        literals: Values to mask besides the patterns; those of the environment unless given.

    Raises:
        ValueError: If a line holds a line break.
    """
    import pyarrow as pa

    for line in lines:
        if b"\n" in line:
            msg = f"a record line holds a line break: {line[:60]!r}"
            raise ValueError(msg)
    text = b"\n".join(redact_lines(lines, literals=literals))
    packed: bytes = pa.Codec("zstd", compression_level=_LEVEL).compress(text, asbytes=True)
    return _HEADER.pack(_MAGIC, len(lines), len(text), len(packed), hashlib.sha256(text).digest()) + packed


def decode_group(data: bytes) -> list[bytes]:
    """The lines of a group, in their order.

    Raises:
        DamagedError: If the object is cut, altered or no group at all.
    """
    import pyarrow as pa

    if len(data) < _HEADER.size or data[:4] != _MAGIC:
        msg = f"no staged group: {len(data)} bytes that start {data[:8]!r}"
        raise DamagedError(msg)
    _, count, length, packed, digest = _HEADER.unpack_from(data)
    if len(data) != _HEADER.size + packed:
        msg = f"a staged group has {len(data)} bytes, its header says {_HEADER.size + packed}"
        raise DamagedError(msg)
    if length > _MAX_TEXT_BYTES:
        msg = f"a staged group claims {length} bytes of text; at most {_MAX_TEXT_BYTES} are read"
        raise DamagedError(msg)
    try:
        text = pa.Codec("zstd").decompress(data[_HEADER.size :], decompressed_size=length, asbytes=True)
    except (OSError, ValueError) as error:
        msg = f"a staged group of {len(data)} bytes cannot be decompressed: {error}"
        raise DamagedError(msg) from error
    if len(text) != length or hashlib.sha256(text).digest() != digest:
        msg = f"a staged group of {count} lines differs from its own digest"
        raise DamagedError(msg)
    lines = text.split(b"\n") if count else []
    if len(lines) != count:
        msg = f"a staged group holds {len(lines)} lines, its header says {count}"
        raise DamagedError(msg)
    return lines
