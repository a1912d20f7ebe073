"""Simulated conversations beside real ones: the features that are compared, and what they come to.

Owns what a turn, a word and a fact are, so that both sides are measured with one ruler, and the
document that says how alike they are. The tests are ``stats``'. Knows no files and no store: transcripts
and trials are handed in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from nightgate.cases import Case, case_hash
from nightgate.conversations.facts import holds
from nightgate.errors import ExitCode
from nightgate.stats import Difference, Likeness, Measured, Sorted, compare, overall
from nightgate.talks import EndReason, Talk
from nightgate.trials import Ending, Trial

EXIT_CODES: Mapping[Likeness, ExitCode] = {
    "representative": ExitCode.OK,
    "not representative": ExitCode.FAILED,
    "unproven": ExitCode.INCONCLUSIVE,
}
_EMAIL = re.compile(r"[^\s@<>()\[\],;:]+@[^\s@<>()\[\],;:]+\.\w+")
_CODE = re.compile(r"\d[\d\-./:]*(?: \d[\d\-./:]*)+|\w+(?:[-./:_]\w+)*")
"""Groups of digits with one blank between them, or a word or number with marks inside of it."""
_LEAST_DIGITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation, real or simulated: the user's side of it."""

    name: str
    """Id of a transcript; case and trial of a simulated one."""
    said: tuple[str, ...]
    """The user's messages, at least one."""
    turns: int
    """User turns; several messages before an answer are one turn."""
    end_reason: EndReason | None = None
    """None: nobody knows."""
    case_id: str | None = None
    """The case whose persona was played, or was the model for a transcript."""
    facts: Mapping[str, str] | None = None
    """Name -> value of what the user had to be asked for; None: nobody says."""
    where: str = ""
    """File and line of a transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """The simulated conversations of a run."""

    conversations: tuple[Conversation, ...]
    left_out: Mapping[str, int]
    """Ending -> trials that broke off: their figures are those of the break."""
    copies: int
    """Trials that repeat another trial of their case word for word; counted once."""
    changed: tuple[str, ...]
    """Cases that are no longer what was played."""


def simulated_of(trials: Iterable[Trial], cases: Mapping[str, Case]) -> Simulated:
    """Gather the conversations of a run.

    Args:
        trials: All of the run; those that are no conversations do not count.
        cases: The suite's cases by id, as they are today.
    """
    found: dict[Any, Conversation] = {}
    left_out: Counter[str] = Counter()
    changed: dict[str, None] = {}
    copies = 0
    for trial in trials:
        talk = trial.conversation
        if talk is None:
            continue
        if trial.ending is not Ending.COMPLETED or talk.end_reason is None or not talk.turns:
            left_out["broken off" if trial.ending is Ending.COMPLETED else trial.ending.value] += 1
            continue
        words = (trial.key.case_id, *((turn.user, turn.agent) for turn in talk.turns))
        copies += words in found
        case = cases.get(trial.key.case_id)
        if case is None or case_hash(case) != trial.case_hash:
            changed[trial.key.case_id] = None
            case = None
        found.setdefault(words, _of_talk(talk, trial, facts_of(case)))
    return Simulated(
        conversations=tuple(found.values()),
        left_out=dict(sorted(left_out.items())),
        copies=copies,
        changed=tuple(changed),
    )


def _of_talk(talk: Talk, trial: Trial, facts: Mapping[str, str] | None) -> Conversation:
    return Conversation(
        name=f"{trial.key.case_id}, trial {trial.key.trial}",
        said=tuple(turn.user for turn in talk.turns),
        turns=len(talk.turns),
        end_reason=talk.end_reason,
        case_id=trial.key.case_id,
        facts=facts,
    )


def facts_of(case: Case | None) -> Mapping[str, str] | None:
    """What the persona of a case withholds; None without a persona."""
    if case is None or case.persona is None:
        return None
    return {name: fact.value for name, fact in case.persona.withheld.items()}


def words_in(text: str) -> int:
    """Words of a message: what stands between blanks and holds a letter or a digit.

    >>> words_in("Sí , el jueves - a las 16:30 !")
    6
    """
    return sum(any(map(str.isalnum, part)) for part in text.split())


def facts_in(text: str, facts: Mapping[str, str] | None) -> int:
    """Different facts that a message gives.

    Args:
        text: A user's message.
        facts: Name -> value. None goes by shape: e-mail addresses, and numbers or codes with at least
            three digits (``12345678-Z``, ``BK-204``, ``612 345 678``, ``16:30``).

    >>> facts_in("12345678 z, ana@example.com", {"id": "12345678-Z", "phone": "612345678"})
    1
    >>> facts_in("12345678-Z, ana.1990@example.com, 612 345 678, on the 5th", None)
    3
    """
    if facts is not None:
        return sum(holds(text, value) for value in facts.values())
    found = {match.casefold() for match in _EMAIL.findall(text)}
    found |= {
        code.casefold()
        for code in _CODE.findall(_EMAIL.sub(" ", text))
        if sum(map(str.isdigit, code)) >= _LEAST_DIGITS
    }
    return len(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How alike the simulated and the real conversations of a suite are."""

    suite: str
    run_id: str
    real: tuple[Conversation, ...]
    real_left_out: int
    """Transcripts without a word of the user."""
    simulated: Simulated
    unnamed: str | None
    """Why facts are counted by shape; None: they are counted by their values."""
    measured: Mapping[str, Measured]
    """Feature -> what was found; without facts where nobody gave any."""
    ends: Sorted

    @property
    def word(self) -> Likeness:
        """The word for all features together."""
        return overall([*(found.word for found in self.measured.values()), self.ends.word])

    @property
    def exit_code(self) -> ExitCode:
        """What the process answers."""
        return EXIT_CODES[self.word]

    def as_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "schema": 1,
            "suite": self.suite,
            "run_id": self.run_id,
            "word": self.word,
            "exit_code": int(self.exit_code),
            "real": {"conversations": len(self.real), "left_out": self.real_left_out},
            "simulated": {
                "conversations": len(self.simulated.conversations),
                "left_out": dict(self.simulated.left_out),
                "copies": self.simulated.copies,
            },
            "facts_by": "value" if self.unnamed is None else "shape",
            "facts_by_shape_because": self.unnamed,
            "features": [*(self._feature(name) for name in FEATURES), self._ends()],
        }

    def _feature(self, name: str) -> dict[str, Any]:
        found, by_shape = self.measured.get(name), self.unnamed is not None
        ratio = found.ratio if found else None
        return {
            "name": name,
            "word": found.word if found else None,
            "off": list(found.off) if found else [],
            "real": _figures(_values(self.real, name, by_shape=by_shape)),
            "simulated": _figures(_values(self.simulated.conversations, name, by_shape=by_shape)),
            "ratio": ratio.ratio if ratio else None,
            "interval": [ratio.low, _finite(ratio.high)] if ratio else None,
            "tests": {
                "cramer_von_mises": _test(found.shape, found.shape_p) if found else None,
                "levene": _test(found.spread, found.spread_p) if found else None,
            },
        }

    def _ends(self) -> dict[str, Any]:
        found = self.ends.association
        test = _test(Difference(found.chi2, found.p_value), self.ends.p_value) if found else None
        return {
            "name": "end_reasons",
            "word": self.ends.word,
            "off": ["shares"] if self.ends.word == "not representative" else [],
            "real": _ended(self.real),
            "simulated": _ended(self.simulated.conversations),
            "cramers_v": found.cramers_v if found else None,
            "visible_v": self.ends.visible,
            "dof": found.dof if found else None,
            "tests": {"chi_square": test},
        }


FEATURES = ("turns", "facts", "words")
"""Turns of a conversation; facts and words of a message. End reasons come beside them."""


def validated(
    suite: str, run_id: str, real: Sequence[Conversation], simulated: Simulated, *, real_left_out: int = 0
) -> Validation:
    """Compare the conversations of a run with real ones.

    Args:
        suite: The suite's id.
        run_id: The run.
        real: Transcripts, with their facts where somebody names them.
        simulated: Of the run, at least one conversation.
        real_left_out: Transcripts that hold no word of the user.
    """
    unnamed = _unnamed(real, simulated)
    sides = (real, simulated.conversations)
    values = {}
    for name in FEATURES:
        first, second = (_values(side, name, by_shape=unnamed is not None) for side in sides)
        # Where nobody gives a fact, there is nothing to be alike in.
        if name != "facts" or any(map(any, (*first, *second))):
            values[name] = (first, second)
    ours, theirs = (list(_ended(side)["counts"].values()) for side in sides)
    measured, ends = compare(values, (ours, theirs))
    return Validation(
        suite=suite,
        run_id=run_id,
        real=tuple(real),
        real_left_out=real_left_out,
        simulated=simulated,
        unnamed=unnamed,
        measured=measured,
        ends=ends,
    )


def _unnamed(real: Sequence[Conversation], simulated: Simulated) -> str | None:
    """Why facts cannot be told by their values: two rulers would find a difference of their own."""
    nameless = sum(conversation.facts is None for conversation in real)
    if nameless:
        return f"{nameless} of {len(real)} transcripts name neither their facts nor a case with a persona"
    if simulated.changed:
        return f"cases changed since the run: {', '.join(simulated.changed)}"
    return None


def _values(conversations: Iterable[Conversation], feature: str, *, by_shape: bool) -> list[list[float]]:
    """The values of each conversation: its turns, or facts or words of each of its messages."""
    found: list[list[float]] = []
    for talk in conversations:
        if feature == "turns":
            found.append([talk.turns])
        elif feature == "words":
            found.append([words_in(text) for text in talk.said])
        else:
            facts = None if by_shape else talk.facts
            found.append([facts_in(text, facts) for text in talk.said])
    return found


def _figures(values: Sequence[Sequence[float]]) -> dict[str, Any]:
    each = [value for talk in values for value in talk]
    return {
        "conversations": len(values),
        "mean": fmean(each) if each else None,
        "sd": stdev(each) if len(each) > 1 else None,
    }


def _ended(conversations: Iterable[Conversation]) -> dict[str, Any]:
    counts = Counter(talk.end_reason for talk in conversations)
    return {
        "conversations": sum(count for reason, count in counts.items() if reason is not None),
        "counts": {reason.value: counts[reason] for reason in EndReason},
    }


def _test(found: Difference | None, adjusted: float | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {"statistic": _finite(found.statistic), "p": found.p_value, "p_holm": adjusted}


def _finite(number: float) -> float | None:
    return number if number != float("inf") else None
