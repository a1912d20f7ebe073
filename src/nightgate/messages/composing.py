"""The words of a message: a title and a few lines, short enough for a phone.

Owns the limits and what goes first when not all fits: what dropped, by how much, which cases, since when,
what changed, what it cost, whose it is, the command to go on and the link to the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nightgate.messages.causes import Cause, End, Kind, in_order
from nightgate.messages.neutral import neutral
from nightgate.rows.redaction import credentials, may_hold_secret, redact_text

TITLE_CHARS = 80
BODY_LINES = 12
BODY_CHARS = 900
_LINE_CHARS = 160
_LIST_CHARS = 2 * _LINE_CHARS
_ITEM_CHARS = 120
_LINK_CHARS = 300
_NAMED = 4
"""Cases of a kind that are named; the report has them all."""
_NAME_CHARS = 40
_GATES = 3
_CHANGES = 3
_FACTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a message says of the run besides its causes; texts as found, the link and the command ready."""

    suite: str
    run_id: str | None
    """None where no run stands behind it."""
    date: str
    """UTC day of the run, YYYY-MM-DD."""
    owner: str | None = None
    changed: tuple[str, ...] = ()
    """What differs from the run that it is compared with, a line each."""
    why: tuple[str, ...] = ()
    """Reasons of the first failures."""
    cost: str = ""
    link: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a channel gets."""

    id: str
    """The same at each try, so that a receiver can tell a repetition."""
    kind: str
    """opening or closing."""
    title: str
    lines: tuple[str, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The same for machines, strict JSON."""

    @property
    def body(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)


def opening(
    message_id: str, causes: Sequence[Cause], setting: Setting, *, known: Sequence[Cause] = ()
) -> Message:
    """The message of causes with one root that are new tonight.

    Args:
        message_id: Its identity.
        causes: New ones, at least one.
        setting: The run.
        known: Causes that go on and were told before; they are referred to and not told again.
    """
    causes = in_order(causes)
    since = min((cause.since for cause in causes if cause.since), default=setting.date)
    told = [
        *((0, line) for line in _told(causes)),
        (1, f"since: {since}" + (f" (told in run {setting.run_id})" if setting.run_id else "")),
        *((2, line) for line in _listed("changed", setting.changed, _CHANGES)),
        *((4, line) for line in _listed("known before", [_reference(cause) for cause in known], _NAMED)),
        *((3, f"why: {neutral(reason)}") for reason in setting.why[:1]),
        *_ending(setting),
    ]
    title = f"{setting.suite}: {_headline(causes)}"
    return _message(message_id, "opening", title, told, causes, setting)


def closing(
    message_id: str, causes: Sequence[Cause], setting: Setting, *, known: Sequence[Cause] = ()
) -> Message:
    """The one message of all causes that ended tonight, and of good news that no cause came before.

    Args:
        message_id: Its identity.
        causes: Those that ended, with ``since`` the day on which they were told first.
        setting: The run.
        known: Causes that go on.
    """
    causes = in_order(causes)
    told = [
        *((0, line) for line in _ended(causes)),
        *((1, line) for line in _listed("still open", [_reference(cause) for cause in known], _NAMED)),
        *_ending(setting),
    ]
    title = f"{setting.suite}: over: {_over(causes, known)}"
    return _message(message_id, "closing", title, told, causes, setting)


def _ending(setting: Setting) -> list[tuple[int, str]]:
    owner = neutral(setting.owner, _NAME_CHARS) if setting.owner else "nobody is named (owner: in suite.yaml)"
    told = [(3, f"cost: {setting.cost}")] if setting.cost else []
    told.append((2, f"owner: {owner}"))
    if setting.command:
        told.append((0, f"next: {setting.command}"))
    run = f"run {setting.run_id}" if setting.run_id else ""
    link = setting.link if 0 < len(setting.link) <= _LINK_CHARS else run
    return [*told, (0, f"report: {link}")] if link else told


def _told(causes: Sequence[Cause]) -> Iterator[str]:
    for kind in dict.fromkeys(cause.kind for cause in causes):
        of_kind = [cause for cause in causes if cause.kind is kind]
        if kind is Kind.NEWLY_BROKEN:
            yield from _listed("newly broken", _cases(of_kind), _NAMED)
            continue
        for cause in of_kind[:_GATES]:
            yield neutral(cause.text or kind.value.replace("_", " "), _LINE_CHARS)
        if len(of_kind) > _GATES:
            yield f"and {len(of_kind) - _GATES} more like it"


def _ended(causes: Sequence[Cause]) -> Iterator[str]:
    by_end = {end: [cause for cause in causes if cause.end is end] for end in End}
    for end, head, cases in (
        (End.MENDED, "fixed", True),
        (End.MENDED, "over", False),
        (End.GONE, "gone from the suite, not repaired", True),
        (End.GONE, "gone from the suite", False),
        (End.KNOWN, "known as flaky now", False),
    ):
        of_end = [cause for cause in by_end[end] if (cause.kind in _OF_CASES) is cases]
        yield from _listed(head, _cases(of_end) if cases else list(map(_reference, of_end)), _NAMED)
    since = min((cause.since for cause in causes if cause.since), default=None)
    if since is not None:
        yield f"it began: {since}"


def _listed(head: str, items: Sequence[str], most: int) -> list[str]:
    """At most ``most`` of them in a line, and how many more there are."""
    if not items:
        return []
    shown: list[str] = []
    for item in items[:most]:
        shown.append(neutral(item, _ITEM_CHARS))
        # What is left over has to be said in the same line.
        if len(shown) > 1 and len(head) + sum(len(text) + 2 for text in shown) > _LIST_CHARS - len(_MORE):
            shown.pop()
            break
    more = f" and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
    return [f"{head}: {'; '.join(shown)}{more}"]


_MORE = " and 1000000 more"
_OF_CASES = frozenset({Kind.NEWLY_BROKEN, Kind.NEWLY_FIXED})


def _cases(causes: Sequence[Cause]) -> list[str]:
    """One entry a case, with the figures of its first evaluator and how many others there are."""
    by_case: dict[str, list[Cause]] = {}
    for cause in causes:
        by_case.setdefault((*cause.subject, "")[0], []).append(cause)
    return [_case(case, found) for case, found in by_case.items()]


def _case(case: str, causes: Sequence[Cause]) -> str:
    first = causes[0]
    evaluator = neutral((*first.subject, "", "")[1], _NAME_CHARS)
    others = len(causes) - 1
    more = f"; and {others} more evaluator{'s' if others > 1 else ''}" if others else ""
    figures = f" {first.figures}" if first.figures else ""
    return f"{neutral(case, _NAME_CHARS)} ({evaluator}{figures}{more})"


def _reference(cause: Cause) -> str:
    """A cause that was told before, in a few words."""
    subject = " ".join(neutral(part, _NAME_CHARS) for part in cause.subject[:2])
    since = f" since {cause.since}" if cause.since else ""
    return f"{cause.kind.value.replace('_', ' ')} {subject}".strip() + since


def _headline(causes: Sequence[Cause]) -> str:
    """What the first line of a phone shows: the gravest kind, and how many cases broke."""
    first = causes[0]
    broken = _count(causes, Kind.NEWLY_BROKEN)
    names = _names(causes, first.kind)
    cases = f"{broken} newly broken" if broken != 1 else f"newly broken: {_names(causes, Kind.NEWLY_BROKEN)}"
    words = {
        Kind.SUITE_EVENT: "many cases at once",
        Kind.GATE_FAILED: f"gate FAILED, {cases}" if broken else f"gate FAILED: {names}",
        Kind.NEWLY_BROKEN: cases,
        Kind.BUDGET_STOP: "stopped by the budget",
        Kind.EMPTY_RUN: "nothing was measured",
        Kind.NO_COMPLETE_RUN: "no complete run",
        Kind.INCONCLUSIVE: _INCONCLUSIVE.get(names, f"inconclusive: {names}"),
        Kind.COVERAGE_HOLE: f"coverage hole: {names}",
        Kind.ATTACK_PASSED: "a planted attack passed the judge",
        Kind.JUDGE_DRIFT: f"judge drifts{f', {first.figures}' if first.figures else ''}",
        Kind.QUARANTINE_EXPIRING: f"quarantine: {names}",
        Kind.NEWLY_FIXED: f"newly fixed: {names}",
    }
    return words[first.kind]


_INCONCLUSIVE = {"open": "the run did not end", "gate": "inconclusive"}


def _count(causes: Sequence[Cause], *kinds: Kind) -> int:
    """Cases, however many evaluators say the same of one."""
    return len({cause.subject[:1] for cause in causes if cause.kind in kinds})


def _over(causes: Sequence[Cause], known: Sequence[Cause]) -> str:
    parts = [text for text in (_gate_over(causes, known),) if text]
    for end, word in ((End.MENDED, "fixed"), (End.GONE, "gone from the suite")):
        count = _count([cause for cause in causes if cause.end is end], *_OF_CASES)
        parts += [f"{count} {word}"] if count else []
    told = _OF_CASES | {Kind.GATE_FAILED}
    parts += dict.fromkeys(c.kind.value.replace("_", " ") for c in causes if c.kind not in told)
    return ", ".join(parts)


def _gate_over(causes: Sequence[Cause], known: Sequence[Cause]) -> str:
    """What became of a gate that had failed; it passes again only where nothing fails it any more."""
    ends = {cause.end for cause in causes if cause.kind is Kind.GATE_FAILED}
    if not ends:
        return ""
    if End.KNOWN in ends:
        return "gate fails by known flaky cases only"
    if any(cause.kind is Kind.GATE_FAILED for cause in known):
        return f"{_names(causes, Kind.GATE_FAILED)} passes, gate still fails" if End.MENDED in ends else ""
    return "gate passes again" if End.MENDED in ends else "gate: what failed is gone from the suite"


def _names(causes: Sequence[Cause], kind: Kind) -> str:
    names = list(
        dict.fromkeys(neutral(c.subject[0], _NAME_CHARS) for c in causes if c.kind is kind and c.subject)
    )
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")  # noqa: PLR2004


def _message(
    message_id: str,
    kind: str,
    title: str,
    told: Sequence[tuple[int, str]],
    causes: Sequence[Cause],
    setting: Setting,
) -> Message:
    # Before anything is cut: half a secret looks like none.
    lines = tuple(_fitted([(rank, _safe(line)) for rank, line in told]))
    title = _cut(_safe(title), TITLE_CHARS)
    facts = {
        "schema": 1,
        "id": message_id,
        "kind": kind,
        "suite": setting.suite,
        "run_id": setting.run_id,
        "owner": neutral(setting.owner, _NAME_CHARS) if setting.owner else None,
        "causes": [
            {
                "id": cause.id,
                "kind": cause.kind.value,
                "subject": [neutral(part) for part in cause.subject],
                "text": neutral(cause.text, _LINE_CHARS),
                "since": cause.since,
            }
            for cause in causes[:_FACTS]
        ],
        "more_causes": max(0, len(causes) - _FACTS),
        "report": _safe(setting.link) or None,
    }
    return Message(id=message_id, kind=kind, title=title, lines=lines, facts=facts)


def _fitted(told: Sequence[tuple[int, str]]) -> list[str]:
    """The lines that fit, in their order: what matters least goes first, and the last two stay."""
    kept = [
        (rank, _cut(line, _LINK_CHARS + 20 if line.startswith("report: ") else _LINE_CHARS * 2))
        for rank, line in told
    ]
    while len(kept) > 1 and not _fits([line for _, line in kept]):
        # The last of the least important, but never the command and the link while another can go.
        worst = max(range(len(kept)), key=lambda n: (kept[n][0], n < len(kept) - 2, n))
        del kept[worst]
    lines = [line for _, line in kept]
    return lines if _fits(lines) else [_cut(lines[0], BODY_CHARS)]


def _fits(lines: Sequence[str]) -> bool:
    return len(lines) <= BODY_LINES and sum(len(line) + 1 for line in lines) - 1 <= BODY_CHARS


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _safe(text: str) -> str:
    """Links and commands are ours, and still hold what somebody configured."""
    literals = credentials()
    return redact_text(text) if may_hold_secret(text.encode("utf-8", "replace"), literals) else text
