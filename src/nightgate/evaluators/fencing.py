"""What a judge is shown: blocks that text inside cannot close, and tool data in fair shares.

Owns the fence and the bound of tool data. A block ends only at a marker that nobody who wrote its
text can have known. Knows no question, no judge and no reply.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nightgate.evaluators.text import clip
from nightgate.trials import ToolCall

MAX_DATA = 60_000
"""Characters of arguments and results that a judge is shown, over all calls of a trial."""
_MAX_CALLS = 200
"""More calls than these are left out in the middle: shares would be too small to be read."""
_NOTE = 60
"""Room kept for the note about what was left out."""
_NAME = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def fence(blocks: Mapping[str, str]) -> str:
    """Each block between markers that no text inside could have known.

    Args:
        blocks: Name -> text, in the order in which they are shown.
    """
    shown = {name: visible(text) for name, text in blocks.items()}
    # Derived from the content: stable for the judge's cache, unknown to whoever wrote the content.
    marker = hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()[:20]
    return "\n\n".join(
        f"<<{name} {marker}>>\n{text}\n<<END {name} {marker}>>" for name, text in shown.items()
    )


def tool_data(calls: Sequence[ToolCall]) -> str:
    """The calls of a trial with what came back, numbered, within ``MAX_DATA`` characters.

    Small arguments and results are whole whatever stands beside them: only what is larger than its
    fair share is cut, in its middle, and says how much is missing.
    """
    head, tail = calls, calls[:0]
    if len(calls) > _MAX_CALLS:
        head, tail = calls[: _MAX_CALLS // 2], calls[-_MAX_CALLS // 2 :]
    told = [*head, *tail]
    pieces = [piece for call in told for piece in (_json(call.arguments), _result(call))]
    room = fair_share([len(piece) for piece in pieces], MAX_DATA)
    cut = [_cut(piece, room) for piece in pieces]
    numbers = [*range(1, len(head) + 1), *range(len(calls) - len(tail) + 1, len(calls) + 1)]
    lines = [
        f"{number}. {clip(call.name, _NAME)}({arguments}) -> {result}"
        for number, call, arguments, result in zip(numbers, told, cut[::2], cut[1::2], strict=True)
    ]
    if tail:
        lines.insert(len(head), f"(… {len(calls) - len(told)} calls left out …)")
    return "\n".join(lines)


def fair_share(sizes: Sequence[int], total: int) -> int:
    """The largest cap under which ``sizes``, each cut to it, add up to ``total`` at the most.

    What the small ones do not use goes to the large ones.

    >>> fair_share([10, 100, 1000], 300)
    190
    >>> fair_share([10, 20], 300)
    300
    """
    left = total
    for rank, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - rank)
        if size > share:
            return share
        left -= size
    return total


def visible(text: str) -> str:
    """Text as any provider takes it: control signs and lone surrogates as escapes."""
    sound = text.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", sound)


def _json(value: Any) -> str:
    """Arguments as they arrived; what is no JSON as Python shows it."""
    try:
        return visible(json.dumps(value, ensure_ascii=False, default=repr))
    except (TypeError, ValueError):
        return visible(repr(value))
    except RecursionError:
        return "(nested too deep to be shown)"


def _result(call: ToolCall) -> str:
    if call.result is None:
        return "(no result)"
    text = call.result if isinstance(call.result, str) else _json(call.result)
    return f"{'(error) ' * (call.status == 'error')}{visible(text)}" or "(an empty result)"


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    kept = max(0, room - _NOTE)
    left_out = f"\n(… {len(text) - kept} characters left out …)\n"
    return f"{text[: kept - kept // 2]}{left_out}{text[len(text) - kept // 2 :]}"
