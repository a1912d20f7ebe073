"""What came back for a call of a skill tool: instructions, an acknowledgement, a refusal, an error.

Owns the reading of one tool result. Many loaders answer what went wrong by a plain text that the SDK
marks as a success, so the words decide: a load brought instructions when its result is more than a
line in the shape of an error, a refusal or an empty value. Knows no case and no trial.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

PLUGIN_TOOL = "skills"
"""The tool of the SDK's AgentSkills plugin."""
SKILL_TOOLS = frozenset(
    {PLUGIN_TOOL, "skill", "Skill", "load_skill", "activate_skill", "invoke_skill", "use_skill"}
)
_SKILL_KEYS = ("skill_name", "skill", "name")


class Outcome(StrEnum):
    """What became of one call for a skill."""

    LOADED = "loaded"
    """The agent got the instructions: the only outcome whose following can be judged."""
    NO_BODY = "no_body"
    """Loaded, as the tool said in so many words, but there was nothing to follow."""
    FAILED = "failed"
    """The tool broke, or brought nothing at all."""
    REJECTED = "rejected"
    """Not found, or cancelled by a rule or a person."""
    NO_RESULT = "no_result"
    """The log ends before the outcome: nobody knows."""

    @property
    def loaded(self) -> bool:
        """Whether the skill counts as loaded."""
        return self in (Outcome.LOADED, Outcome.NO_BODY)


def skill_of(tool: str, arguments: Any, tools: frozenset[str] = SKILL_TOOLS) -> str | None:
    """The skill that a call asks for; None when it is no call for a skill.

    Args:
        tool: Name of the tool.
        arguments: JSON value of its arguments.
        tools: Names of the tools that load skills.
    """
    if tool not in tools or not isinstance(arguments, dict):
        return None
    named = (arguments.get(key) for key in _SKILL_KEYS)
    return next((name for name in named if isinstance(name, str) and name), None)


def outcome_of(tool: str, skill: str, result: str | None, status: str | None) -> Outcome:
    """What became of a call for a skill.

    Args:
        tool: Name of the tool.
        skill: What was asked for.
        result: Text of the tool's answer; None when none came back.
        status: ``success`` or ``error``, as the SDK recorded it.
    """
    if result is None:
        return Outcome.NO_RESULT
    text = result.strip()
    if status == "error":
        # The plugin's tool makes no errors of its own: what did not raise was cancelled by a hook.
        cancelled = tool == PLUGIN_TOOL or _CANCELLED.search(text)
        return Outcome.REJECTED if cancelled and not _BROKE.match(text) else Outcome.FAILED
    return _of_value(_structured(text), skill)


# --- structured answers ---

_MOST_CODE = 100_000
"""Characters of an answer that are read as JSON or Python: beyond, it is no error message."""
_ERROR_KEYS = frozenset(
    {"error", "errors", "errormessage", "errorcode", "errortype", "exception", "iserror", "failure"}
)
_OK_KEYS = frozenset(["ok", "success", "successful", "succeeded", "found", "loaded"])
_STATUS_KEYS = frozenset(["status", "statuscode", "state", "outcome", "code", "type", "result"])
_LABEL_KEYS = (_STATUS_KEYS - {"result"}) | frozenset(
    ["name", "skill", "skillname", "id", "tool", "toolname"]
)
"""Their values are no words for the agent to follow."""
_NO_ERROR = frozenset({"", "none", "null", "false", "0", "no"})
_FIRST_BAD_CODE = 400
_BAD_STATUS = re.compile(
    r"err(?:or)?|fail(?:ed|ure)?|exception|not_?found|missing|denied|forbidden|unauthorized|rejected|refused"
    r"|cancell?ed|timed?_?out|unavailable|invalid|unknown|aborted|blocked"
)


def _structured(text: str) -> Any:
    """The JSON value in a text, or the one that a tool's ``str()`` made of it; else the text."""
    if not text.startswith(("{", "[", "(", '"', "'")) or len(text) > _MOST_CODE:
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return value if isinstance(value, str | Mapping | list | tuple) else text
    return text


def _of_value(value: Any, skill: str) -> Outcome:
    """Of a text, or of the texts in a structure: instructions in it count unless it says that it failed."""
    if isinstance(value, str):
        return _of_text(value, skill)
    texts = list(_texts(value))
    found = [_of_text(text, skill) for text in texts]
    bad = [outcome for outcome in found if not outcome.loaded]
    if _failed(value):
        return Outcome.REJECTED if Outcome.REJECTED in found else Outcome.FAILED
    if any(out is Outcome.LOADED and "\n" in text.strip() for out, text in zip(found, texts, strict=True)):
        return Outcome.LOADED
    if bad or not found:
        return Outcome.REJECTED if Outcome.REJECTED in bad else Outcome.FAILED
    return Outcome.LOADED if Outcome.LOADED in found else Outcome.NO_BODY


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth; items of a list have the list's key."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, part = waiting.pop()
        yield key, part
        if isinstance(part, Mapping):
            waiting += [(re.sub(r"[\W_]+", "", str(name)).lower(), inner) for name, inner in part.items()]
        elif isinstance(part, list | tuple):
            waiting += [(key, inner) for inner in part]


def _texts(value: Any) -> Iterator[str]:
    """What a structure says, without labels."""
    for key, part in _parts(value):
        if isinstance(part, str) and part.strip() and key not in _LABEL_KEYS:
            yield part


def _failed(value: Any) -> bool:
    """Whether a structure says of itself that something went wrong."""
    for key, part in _parts(value):
        if key in _ERROR_KEYS and part and str(part).strip().lower() not in _NO_ERROR:
            return True
        if key in _OK_KEYS and part is False:
            return True
        if key not in _STATUS_KEYS:
            continue
        if isinstance(part, int) and not isinstance(part, bool) and part >= _FIRST_BAD_CODE:
            return True
        if isinstance(part, str) and _BAD_STATUS.fullmatch(re.sub(r"[\s-]+", "_", part.strip().lower())):
            return True
    return False


# --- texts ---

_NAME = r"""(?:'[^']*'|"[^"]*"|[\w.-]+)"""
_NO_BODY = re.compile(
    rf"(?:(?:launching|loading|activating|loaded|activated)\s+skill"
    rf"|skill\s+{_NAME}?[ \t]*(?:activated|loaded|launched))\b[^\n]*",
    re.IGNORECASE,
)
"""An acknowledgement in one line is not the skill's instructions."""
_BROKE = re.compile(r"\s*error\s*:", re.IGNORECASE)
"""How the SDK begins the result of a tool that raised."""
_CANCELLED = re.compile(
    r"cancel|refus|reject|\bden(?:y|ied)\b|\bdeclin|\bforbid|\bblocked\b"
    r"|\bnot (?:allowed|permitted|granted|found)|unknown tool|\bno such\b|confirmation_failed|^guidance:",
    re.IGNORECASE,
)
"""Words of hooks that cancel a call of some other tool, whose own errors look the same."""

_QUOTES = str.maketrans(dict.fromkeys("‘’ʼ´`", "'") | dict.fromkeys("“”„«»", '"') | {"*": "", "\u2026": "."})
_MARKS = re.compile(
    r"[^\w@]+|(?:i'm |i am |we're |we are )?(?:very |so )?sorry\b|(?:unfortunately|oops|apologies|but)\b"
    r"|(?:result|output|response|status|message|detail|info|warning|warn|stderr)(?= ?[:=\]])",
    re.IGNORECASE,
)
"""Marks and words in front of what is said."""
_EMPTY = re.compile(
    r"(?:none|null|nil|nan|n/?a|undefined|false|0|empty|void|nothing|@"
    r"|(?:the |an )?empty (?:string|result|response|body|file)"
    r"|no (?:results?|output|content|data|body|answer)(?: (?:was |were )?(?:found|available|returned))?)?"
)
_ENDS = " .!?;:,)]}>'\""
_STOP = r"(?: ?(?:[:;,.!?()\[\]{}<>|=-]|$))"
"""What ends a word of alarm: "Error: x" is an error, "Error codes start with E" a body."""
_ACTS = (
    r"(?:load|find|found|open|read|activate|access|locate|fetch|get|got|retrieve|resolve|invoke|use|launch"
    r"|import|parse|process|execute|run|connect|reach|download|recogni[sz]e|call)(?:d|ed|ing)?\b"
)
_NOT = r"(?:(?:is|are|was|were|has|have|does|do|did|could|can|would)(?: ?not|n't)|can't)"
_THING = (
    r"(?:skills?|skill_name|files?|resources?|tools?|instructions|director(?:y|ies)|path|@|'[^']*'"
    r"|\"[^\"]*\")"
)
_UNTIL = r"(?: [^\s:;,]+){0,4}?"
_REFUSED = re.compile(
    rf"(?:error ?: ?)?skill_name is required\b|(?:[^\s:;,]+ )?not found{_STOP}|no such\b"
    r"|(?:unknown|unrecogni[sz]ed|invalid|unsupported|undefined|missing|no matching|no known) (?:skill|tool)"
    rf"|(?:there (?:is|are|was) )?no (?:skill|file|resource|instruction)s?(?: (?:is |are |was |were )?"
    rf"(?:named|called|with|found|available|match|for|by|in|at|@)|{_STOP})"
    rf"|there (?:is|are|was) no (?:such )?{_THING}"
    rf"|(?:access|permission|request|approval|authori[sz]ation)(?: (?:to|for|on){_UNTIL})?(?: (?:was|is))?"
    r" (?:denied|refused|rejected|forbidden|blocked|required|not (?:granted|allowed|permitted))\b"
    r"|(?:you (?:are |have |do )?|you're )?(?:not|no) (?:allowed|permitted|authori[sz]ed|permission|access)\b"
    r"|you (?:do not|don't|cannot|can't|may not) (?:have|access|use|load)\b"
    rf"|(?:unauthori[sz]ed|forbidden|denied|rejected|refused|blocked|cancell?ed|disallowed)(?:{_STOP}| by\b)"
    rf"|(?:(?:the|this|your|an?|requested|given|specified|named) )*{_THING}{_UNTIL}"
    rf" ?(?:not found|{_NOT} (?:be(?:en)? |an? |@ )?(?:exist|available|known|valid|registered|installed"
    rf"|enabled|allowed|permitted|supported|defined|accessible|configured|readable|present|{_ACTS})"
    r"|(?:is |are |was )?(?:unknown|unavailable|disabled|missing|restricted|forbidden|invalid|blocked|denied"
    r"|rejected|refused|cancell?ed|no longer (?:available|exists?)))\b",
    re.IGNORECASE,
)
"""How a refusal begins; ``@`` stands for the skill that was asked for."""
_FAILED = re.compile(
    rf"traceback\b|(?:[\w.]*[a-z](?:error|exception)|error|exception|errno|failure|panic|fatal|failed|err)"
    rf"(?: (?:code )?\d+| [\w.]*(?:error|exception))?{_STOP}|\[?errno\b"
    rf"|(?:[\w/]+ ){{0,3}}?(?:error|exception|failure|problem)s? (?:has |was |were )?"
    rf"(?:occurred|happened|encountered|raised|while|{_ACTS}|in tool)"
    rf"|(?:[\w/]+ ){{0,2}}?error{_STOP}"
    rf"|(?:(?:the|this) )?(?:{_THING}|load|loading|request|call|connection|server|service|library){_UNTIL}"
    r" ?(?:failed|timed out|crashed|errored|unavailable|unreachable|aborted|refused|reset)\b"
    rf"|(?:i |we |it )?(?:was |were |am |is )?(?:failed|unable|not able|wasn't able) to (?:be )?{_ACTS}"
    rf"|(?:i |we |it )?(?:could ?n[o']t|can ?n[o']t|could not|cannot|can't|did not|didn't) (?:be )?{_ACTS}"
    rf"|something went wrong\b|(?:timed out|timeout)(?:{_STOP}| after)|too many requests\b"
    rf"|(?:rate limit|quota)(?: was| is)? ?exceeded\b|(?:http(?:/[\d.]+)? ?)?[45]\d\d{_STOP}"
    r"|(?:http(?:/[\d.]+)? )?[45]\d\d (?:client |server |internal )*(?:error|not found|forbidden|unauthorized"
    r"|bad|service unavailable|gateway timeout|too many)\b"
    r"|doctype html|html(?: \w+=|>)",
    re.IGNORECASE,
)
"""How a failure begins."""
_SYSTEM = re.compile(
    r"no such file or directory|\[errno \d+\]|: (?:not found|permission denied|access denied|is a directory"
    r"|does not exist|connection (?:refused|reset)|timed? ?out)\W*$",
    re.IGNORECASE,
)
"""What operating systems say, wherever in the line."""
_ALARM = re.compile(
    r"(?:traceback|[\w.]*(?:error|exception)|fatal)\b(?! [a-z])|(?:doctype|html)\b", re.IGNORECASE
)
"""How a whole log or page of an error begins."""
_REST = re.compile(
    r"\W*(?:available|valid|known|did you mean|try|use|please|check|choose|skills?\b|see|hint|note"
    r"|[-*•]|\d+[.)])",
    re.IGNORECASE,
)
"""How the lines behind a refusal begin: a list of what there is."""
_MOST_REST = 600
_MARK_LINES = re.compile(r"(?:[^\w\n]*\n)+")


def _of_text(text: str, skill: str) -> Outcome:
    text = text.strip()
    if _NO_BODY.fullmatch(text):
        return Outcome.FAILED if _GONE_WRONG.search(_plain(text, skill)) else Outcome.NO_BODY
    if mere := _MARK_LINES.match(text):
        text = text[mere.end() :]
    first, _, rest = text.partition("\n")
    line = _plain(first, skill)
    if not rest.strip():
        if _EMPTY.fullmatch(line.lower().rstrip(_ENDS)):
            return Outcome.FAILED
        return _of_line(line) or Outcome.LOADED
    if first.lstrip().startswith("#"):  # a heading, whatever it speaks of
        return Outcome.LOADED
    found = _of_line(line)
    refused = len(rest) <= _MOST_REST and _REST.match(rest)
    return found if found is not None and (refused or _ALARM.match(line)) else Outcome.LOADED


_GONE_WRONG = re.compile(
    r"\bfailed\b|\bfailure\b|\berror ?:|\bunable to\b|\bcould ?n[o']t\b|\bdenied\b|\btimed out\b",
    re.IGNORECASE,
)
"""Words by which "Loading skill x" is no acknowledgement."""


def _plain(line: str, skill: str) -> str:
    """A line without marks in front, quotes unified, ``@`` for the skill's name, blanks single."""
    plain = " ".join(line.translate(_QUOTES).split())
    named = re.escape(" ".join(skill.translate(_QUOTES).split()))
    plain = re.sub(
        rf"""(?<![\w/.-])['"(<\[]?{named}['")>\]]?(?![\w/-]|\.\w)""", "@", plain, flags=re.IGNORECASE
    )
    plain = re.sub(r"\b(skill|name|file|tool) ?[:=] ?(?=\S)", r"\1 ", plain, flags=re.IGNORECASE)
    while mark := _MARKS.match(plain):
        if plain.startswith(("'", '"')) and _of_line(plain):
            break
        plain = plain[mark.end() :]
    return plain


def _of_line(line: str) -> Outcome | None:
    """What a line says went wrong; None when it says nothing of the kind."""
    if _FAILED.match(line) and not line.lower().startswith("error: skill_name is required"):
        return Outcome.FAILED
    if _REFUSED.match(line):
        return Outcome.REJECTED
    return Outcome.FAILED if _SYSTEM.search(line) else None
