"""A recorded turn -> the YAML of a draft case, and a script that replays it.

Owns the form of a draft: what was asked is a case, what was seen are remarks (``##``), what could be
expected are proposals (``# ``) that a person uncomments. Knows no file.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from nightgate.importers.proposals import Surroundings, propose
from nightgate.importers.records import Recorded, RecordedCall
from nightgate.importers.yamltext import data, unstorable, words, yaml_lines

WHY = "Say here what went wrong, or what must keep working."
GOAL = "Say here in one sentence what the user wants."
STAGE = (
    "stage: capability is reported and never gates: a run of such cases alone ends inconclusive (exit 3). "
    "Drop the line once the case should gate."
)
REMARK, PROPOSAL, REPLAY = "##", "# ", "##: "
_ID_CHARS, _DIGEST_CHARS = 40, 6
_SLUG_CHARS = _ID_CHARS - _DIGEST_CHARS - 1
_SHOWN, _LOOKED_AT = 160, 4000
_SAFE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft case.

    Attributes:
        case_id: Its id.
        name: What its files are called, without the ending.
        case: YAML of a case file.
        script: YAML of a script with the recorded replies.
    """

    case_id: str
    name: str
    case: str
    script: str

    @property
    def whole(self) -> str:
        """The case file with the script behind it, as remarks."""
        intro = [
            "",
            f"{REMARK} What was recorded, as replies of a scripted model. To save them:",
            f"{REMARK}   sed -n 's/^##: //p' THIS_FILE > SUITE/scripts/{self.name}.yaml",
        ]
        replies = [f"{REPLAY}{line}".rstrip() for line in self.script.splitlines()]
        return self.case + "\n".join([*intro, *replies]) + "\n"


def draft_of(recorded: Recorded, *, case_id: str | None = None, around: Surroundings | None = None) -> Draft:
    """Write a draft.

    Args:
        recorded: With credentials masked.
        case_id: Its id; made of the user's words unless given.
        around: The suite that it is for.
    """
    found_id = case_id or _case_id(recorded)
    name = found_id if _SAFE_NAME.fullmatch(found_id) else f"{slug(found_id) or 'case'}-{_digest(found_id)}"
    return Draft(
        case_id=found_id,
        name=name,
        case="\n".join(_case_lines(recorded, found_id, around or Surroundings())) + "\n",
        script="\n".join(_script_lines(recorded, found_id)) + "\n",
    )


def slug(text: str) -> str:
    """The first words of a text in a-z, 0-9 and hyphens; empty where there are none.

    >>> slug("¿Cuál fue el primer anuncio?")
    'cual-fue-el-primer-anuncio'
    """
    plain = unicodedata.normalize("NFKD", text[: 4 * _SLUG_CHARS]).encode("ascii", "ignore").decode().lower()
    found = ""
    for word in re.findall(r"[a-z0-9]+", plain):
        longer = f"{found}-{word}" if found else word[:_SLUG_CHARS]
        if len(longer) > _SLUG_CHARS:
            break
        found = longer
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARS]


def _case_id(recorded: Recorded) -> str:
    identity = json.dumps({key: value for key, value in recorded.source.items() if key in _IDENTITY})
    return f"{slug(recorded.input) or 'trace'}-{_digest(identity)}"


_IDENTITY = ("kind", "trace_id", "run_id", "case_id", "trial")


# --- the case -------------------------------------------------------------------------------------


def _case_lines(recorded: Recorded, case_id: str, around: Surroundings) -> Iterator[str]:
    yield f"{REMARK} Draft of a case, from {_origin(recorded)}. A person has to confirm it."
    yield f'{REMARK} Lines with "# " are proposals: take the "# " away where it must hold, delete the rest.'
    yield f'{REMARK} Lines with "##" are remarks.'
    case: dict[str, Any] = {
        "id": words(case_id),
        "layer": "conversation" if recorded.exchanges else "behavior",
        "stage": "capability",
        "why": words(WHY),
    }
    if not recorded.exchanges:
        case["input"] = words(recorded.input)
    if recorded.context:
        case["context"] = data(recorded.context)
    yield from yaml_lines({"cases": [case]})
    proposal = propose(recorded, around)
    for remark in (STAGE, *_seen(recorded), *_missing(recorded), *proposal.remarks):
        yield f"    {REMARK} {remark}"
    proposed = {"persona": _persona(recorded)} if recorded.exchanges else {}
    for line in yaml_lines({**proposed, "expect": _styled(proposal.expect)}):
        yield f"    {PROPOSAL}{line}"


def _persona(recorded: Recorded) -> dict[str, Any]:
    """The skeleton of a simulated user that begins like the recorded one."""
    return {
        "goal": words(GOAL),
        "opening": words(recorded.input),
        "success": {"state": data({"path.in.the.state": "what it must be"})},
    }


def _seen(recorded: Recorded) -> Iterator[str]:
    calls = recorded.calls
    count = f"{len(calls)} tool call{'s' if len(calls) != 1 else ''}"
    yield f"Seen: {count}, in this order:" if calls else "Seen: no tool call."
    for number, call in enumerate(calls, start=1):
        beside = " (in parallel with the one before)" if _beside(calls, number - 1) else ""
        came = "" if call.result is None else f": {_line(call.result)}"
        arguments = "not recorded" if call.arguments is None else _line(_json(call.arguments))
        yield f"  {number}. {_line(call.name)} {arguments} -> {call.status or 'no result'}{came}{beside}"
    later = recorded.exchanges[1:]
    if later:
        yield "The user said later; a simulated user puts it in words of its own:"
    for number, exchange in enumerate(later, start=2):
        yield f"  {number}. {_line(exchange.user)}"
    if recorded.exchanges:
        yield "A persona needs a simulated user: `user:` in suite.yaml."
    yield f"Answer: {_line(recorded.output) if recorded.output else 'none was recorded.'}"


def _beside(calls: Sequence[RecordedCall], index: int) -> bool:
    return index > 0 and calls[index].step == calls[index - 1].step


def _missing(recorded: Recorded) -> Iterator[str]:
    if recorded.masked:
        yield (
            f"Masked: {recorded.masked} text{'s' if recorded.masked != 1 else ''} held what looked like a "
            "credential; it reads [redacted] here."
        )
    for item in recorded.unread:
        yield f"Not in this draft: {_line(str(item))}"
    if recorded.context is None:
        case = _line(str(recorded.source["case_id"]))
        yield f"The suite of case {case} is not at hand: if the case has a context, copy it; rows keep none."


def _styled(expect: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings as blocks, lists of names and arguments in one line."""
    return {
        key: [{name: data(value) for name, value in entry.items()} for entry in part]
        if key == "arguments"
        else {name: data(value) for name, value in part.items()}
        if isinstance(part, Mapping)
        else data(part)
        for key, part in expect.items()
    }


def _origin(recorded: Recorded) -> str:
    trace = recorded.source.get("trace_id")
    return _line(f"{recorded.source['about']}{f', trace {trace}' if trace else ''}")


def _line(text: str) -> str:
    """A text in one line of a comment."""
    begin = text[:_LOOKED_AT]
    line = " ".join("".join(char if char.isprintable() else " " for char in begin).split())
    return line if len(line) <= _SHOWN and begin == text else line[: _SHOWN - 1] + "…"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# --- the script -----------------------------------------------------------------------------------


def _script_lines(recorded: Recorded, case_id: str) -> Iterator[str]:
    yield f"{REMARK} Recorded replies, from {_origin(recorded)}."
    if recorded.output is None:
        yield f"{REMARK} No final answer was recorded: the last step says nothing."
    steps: list[dict[str, Any]] = []
    calls = list(recorded.calls)
    for exchange in recorded.exchanges[:-1]:
        steps += [*_steps(calls[: exchange.calls]), {"say": words(exchange.agent)}]
        del calls[: exchange.calls]
    steps += [*_steps(calls), {"say": words(recorded.output or "")}]
    yield from yaml_lines({"replies": {words(case_id): steps}})


def _steps(calls: Sequence[RecordedCall]) -> Iterator[dict[str, Any]]:
    """One step for the calls of one message."""
    for _, group in groupby(calls, key=lambda call: call.step):
        together = list(group)
        step: dict[str, Any] = {}
        said = next((call.said for call in together if call.said), "")
        if said:
            step["say"] = words(said)
        asked = [{data(call.name): _sent(call.arguments)} for call in together]
        step["call"] = asked[0] if len(asked) == 1 else asked
        yield step


def _sent(arguments: Any) -> Any:
    """Arguments as a script sends them: an object, or text that goes out as it is."""
    if arguments is None:
        return data({})
    if isinstance(arguments, str):
        return data(arguments) if arguments else ""
    if isinstance(arguments, Mapping) and unstorable(arguments) is None:
        return data(arguments)
    return data(_json(arguments))
