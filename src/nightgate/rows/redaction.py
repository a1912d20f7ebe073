r"""Secrets out of text, before it is written anywhere.

Owns what looks like a credential. Knows no table and no store. The patterns are RE2's (pyarrow
runs them over a whole column at once). Each keeps what stands before the secret as group 1, and
none can run past a quote or end inside an escape like ``\n``: JSON text stays JSON text.

Ordinary words stay: a value counts as a secret only where its own form or the name before it says
so, and where it is long enough and has a digit, as random values do.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

MASK = "[redacted]"

_MIN_LITERAL = 8
_LITERAL_NAMES = ("KEY", "SECRET", "TOKEN", "PASSWORD")

# Before a bare secret: the start, anything that cannot be part of it, or a JSON escape like \n,
# whose letter would otherwise read as the start of a longer word.
_EDGE = r"(^|[^A-Za-z0-9_]|\\[nrtbf])"
_V = r"[A-Za-z0-9_./+=~!@#$%^*-]"
_W = r"[A-Za-z_./+=~!@#$%^*-]"


def _with_digit(every: str, letters: str, least: int) -> str:
    """``least`` or more characters with a digit among them, without look-ahead (RE2 has none)."""
    ways = [f"{letters}{{{n}}}[0-9]{every}{{{least - 1 - n},}}" for n in range(least - 1)]
    return f"(?:{'|'.join(ways)}|{letters}{{{least - 1},}}[0-9]{every}*)"


_SECRET_VALUE = _with_digit(_V, _W, 8)
_QUOTED_VALUE = r"(?:[^\"'\\\s]|\\+[^\"'\\\s]){6,}"
_NAMES = r"(?:(?:api|account|access|private|secret)[_-]?key|secret|passwd|password|passphrase)"
_QUOTE = r"\\*[\"']"
_OPEN_QUOTED = rf"{_QUOTE}\s*[:=]\s*{_QUOTE}"
"""``"name": "`` inside of JSON, however often it was escaped."""
_OPEN_PROSE = r"\s*[:=]\s*(?:'|\\(?:\\\\)*[\"'])"
"""``name: '`` in prose: a quote with an odd number of backslashes never ends a JSON text."""
_OPEN_PLAIN = rf"\s*[:=]\s*(?:{_QUOTE})?"
"""``name=`` or ``name: "`` in prose or in a header; a JSON number after ``"name":`` never matches."""

_PATTERNS: tuple[str, ...] = (
    # private key blocks, whole or cut
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[A-Za-z0-9+/=\s\\:,.-]*?-----END [A-Z ]*PRIVATE KEY-----",
    r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[A-Za-z0-9+/=\r\n]|\\+[nr])+",
    # AWS key ids
    _EDGE + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    # OpenAI, Anthropic and others with the sk- form; Stripe
    _EDGE + "sk-" + _with_digit("[A-Za-z0-9_-]", "[A-Za-z_-]", 14),
    _EDGE + r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}",
    # GitHub, GitLab, Slack, Google, Hugging Face, package registries
    _EDGE + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,})",
    _EDGE + r"(?:xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,})",
    _EDGE + r"(?:AIza[A-Za-z0-9_-]{35,}|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,})",
    r"(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_-]{8,}",
    # JSON web tokens
    _EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    # user:password@ in an address
    r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'\\]*:)[^\s/@\"'\\]+(@)",
    # headers
    rf"(?i)(authorization(?:{_OPEN_QUOTED}|{_OPEN_PLAIN})(?:basic|bearer|token|digest|apikey)\s+){_V}{{6,}}",
    rf"(?i)(authorization(?:{_OPEN_QUOTED}|{_OPEN_PLAIN}))(?:{_SECRET_VALUE}|{_V}{{20,}})",
    rf"(?i)((?:bearer|basic)\s+)(?:{_SECRET_VALUE}|{_V}{{24,}})",
    # name and value
    rf"(?i)({_NAMES}(?:{_OPEN_QUOTED}|{_OPEN_PROSE})){_QUOTED_VALUE}",
    rf"(?i)((?:{_NAMES}|token|signature){_OPEN_PLAIN})(?:{_SECRET_VALUE}|{_V}{{24,}})",
    rf"(?i)((?:token|signature){_OPEN_QUOTED})(?:{_SECRET_VALUE}|{_V}{{24,}})",
)


_REPLACEMENTS = tuple(rf"\1{MASK}\2" if pattern.endswith("(@)") else rf"\1{MASK}" for pattern in _PATTERNS)
_ANY = "|".join(f"(?:{pattern})" for pattern in _PATTERNS)
"""Finds every text that some pattern would change, in one pass."""


def credentials(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of the variables whose names end like a credential's, the longest first.

    Args:
        environ: Read instead of the process's environment.
    """
    found = {
        value
        for name, value in (os.environ if environ is None else environ).items()
        if name.upper().endswith(_LITERAL_NAMES) and len(value) >= _MIN_LITERAL and _masked(value) == value
    }
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def redact(array: Any, *, json_text: bool = False, literals: Sequence[str] | None = None) -> Any:
    """Mask what looks like a credential in every text of a column.

    Args:
        array: A string array or chunked array of pyarrow; nulls stay null.
        json_text: Whether the texts are JSON and have to stay it.
        literals: Values to mask besides; those of ``credentials()`` unless given.

    Returns:
        The same kind of array, of the same length; the very same object where nothing was found.
    """
    import pyarrow as pa

    values = credentials() if literals is None else tuple(literals)
    if isinstance(array, pa.ChunkedArray):
        chunks = [_redact_array(chunk, _literal_pattern(values, json_text)) for chunk in array.chunks]
        if all(new is old for new, old in zip(chunks, array.chunks, strict=True)):
            return array
        return pa.chunked_array(chunks, array.type)
    return _redact_array(array, _literal_pattern(values, json_text))


def redact_text(text: str, *, json_text: bool = False, literals: Sequence[str] | None = None) -> str:
    """The same for one text. Lone surrogates, which no file can hold, become U+FFFD."""
    import pyarrow as pa

    array = pa.array([_encodable(text)], pa.string())
    return str(redact(array, json_text=json_text, literals=literals)[0].as_py())


def redact_texts(texts: Sequence[str], *, literals: Sequence[str] | None = None) -> list[str]:
    """``redact_text`` for many: the patterns are compiled once, which takes 2 ms."""
    import pyarrow as pa

    array = pa.array([_encodable(text) for text in texts], pa.string())
    found: list[str] = redact(array, literals=literals).to_pylist()
    return found


_FOUND = re.compile("\ue0f0(.*?)\ue0f1(.*?)\ue0f2", re.DOTALL)


def secrets_in(texts: Sequence[str]) -> set[str]:
    """What the patterns find in texts: the values that ``redact_text`` takes out, as they stand there."""
    if not texts:
        return set()
    import pyarrow as pa
    import pyarrow.compute as pc

    array = pa.array([re.sub("[\ue0f0-\ue0f2]", "", _encodable(text)) for text in texts], pa.string())
    hits = array.filter(pc.match_substring_regex(array, _ANY))
    found: set[str] = set()
    for pattern in _PATTERNS if len(hits) else ():
        marked = pc.replace_substring_regex(hits, pattern, "\ue0f0\\1\ue0f1\\0\ue0f2")
        at = "@" if pattern.endswith("(@)") else ""
        for text in marked.to_pylist():
            found |= {whole[len(before) :].removesuffix(at) for before, whole in _FOUND.findall(text)}
    return found - {MASK, ""}


_HINTS = tuple(
    b"private key|akia|asia|abia|acca|sk-|k_live|k_test|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox|xapp-"
    b"|aiza|hf_|npm_|pypi-|hooks.slack.com|eyj|authorization|secret|passw|passphrase".split(b"|")
)
_COMMON = (b"key", b"token", b"signature", b"bearer", b"basic")
_BESIDE = re.compile(
    rb"(?:api|account|access|private|secret)[_-]?key|(?:token|signature)[\\\"']*\s*[:=]|(?:bearer|basic)\s"
)
"""Every pattern needs a hint, in lower case, or a common word in its place; addresses stand apart."""


def may_hold_secret(data: bytes, literals: Sequence[str]) -> bool:
    """A quick look that misses no pattern: the patterns themselves take 2 ms to compile.

    Args:
        data: Record lines.
        literals: Values to mask besides.
    """
    low = data.lower()
    if any(hint in low for hint in _HINTS) or (b"://" in low and b"@" in low):
        return True
    if any(word in low for word in _COMMON) and _BESIDE.search(low):
        return True
    return any(form in data for form in _forms(tuple(literals)))


@lru_cache(maxsize=8)
def _forms(literals: tuple[str, ...]) -> tuple[bytes, ...]:
    """Values as they may stand in a record; as JSON text, too: there they may be escaped."""
    forms = (form for value in literals for form in (value, json.dumps(value)[1:-1]))
    return tuple(dict.fromkeys(form.encode() for form in forms))


def redact_lines(lines: Sequence[bytes], *, literals: Sequence[str] | None = None) -> list[bytes]:
    """The same for a batch of JSON lines, which stay JSON lines.

    What stands before the first raw tab of a line, the identity of a record, stays verbatim.

    Args:
        lines: UTF-8, without line breaks.
        literals: As for ``redact``.
    """
    import pyarrow as pa

    heads, bodies = [], []
    for line in lines:
        head, tab, body = line.partition(b"\t")
        heads.append(head + tab if tab else b"")
        bodies.append(body if tab else line)
    before = pa.array(bodies, pa.string())
    after = redact(before, json_text=True, literals=literals)
    if after is before:
        return list(lines)
    return [head + body.encode() for head, body in zip(heads, after.to_pylist(), strict=True)]


def _redact_array(array: pa.StringArray, literal: tuple[str, str] | None) -> pa.StringArray:
    import pyarrow.compute as pc

    pattern = _ANY if literal is None else f"{_ANY}|(?:{literal[0]})"
    suspicious = pc.fill_null(pc.match_substring_regex(array, pattern), False)
    if not pc.any(suspicious).as_py():
        return array
    hits = array.filter(suspicious)
    if literal is not None:
        hits = pc.replace_substring_regex(hits, literal[0], literal[1])
    for one, replacement in zip(_PATTERNS, _REPLACEMENTS, strict=True):
        hits = pc.replace_substring_regex(hits, one, replacement)
    return pc.replace_with_mask(array, suspicious, hits)


@lru_cache(maxsize=8)
def _literal_pattern(values: tuple[str, ...], json_text: bool) -> tuple[str, str] | None:
    """Pattern and replacement for literal values, also where JSON escaped them."""
    escaped = {
        json.dumps(value, ensure_ascii=ascii_only)[1:-1] for value in values for ascii_only in (False, True)
    }
    twice = {json.dumps(value, ensure_ascii=False)[1:-1] for value in escaped}
    forms = sorted(escaped | (twice if json_text else set(values)), key=lambda form: (-len(form), form))
    if not forms:
        return None
    either = "|".join(re.escape(form) for form in forms)
    if not json_text:
        return f"(?:{either})+", MASK
    # In JSON an odd number of backslashes before a match would mean that its first letter belongs
    # to an escape: "\nabcd" holds a line break, not the value "nabcd".
    return rf"((?:^|[^\\])(?:\\\\)*)(?:{either})+", rf"\1{MASK}"


def _masked(value: str) -> str:
    """``value`` without what a mask may be made of; such values would mask the mask."""
    return "" if "redacted" in value.lower() or value in MASK else value


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
