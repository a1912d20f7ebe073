"""The sentence: what may be said about two runs, and what it would take to say more.

Owns the words of a comparison for people. Reads comparisons; texts of models and agents never get here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nightgate.comparisons.verdicts import Change, Comparison, Word

_NAMED = 3
"""Evaluators named in a sentence; the document has them all."""


def sentence(comparison: Comparison) -> str:
    """One sentence on whether a run may be said to have improved on its base."""
    start = f"{comparison.word.value} against {comparison.base}"
    if not comparison.changes:
        return f"{start}: no evaluator of the gate is in both"
    said = [c for c in comparison.changes if c.word is comparison.word]
    if comparison.word in _QUIET:
        return f"{start}: {_quiet(said)}"
    if comparison.word is Word.NOT_COMPARABLE:
        return f"{start}: {_reasons(said)}"
    named = "; ".join(change_text(change) for change in said[:_NAMED])
    more = f"; and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    # An improvement beside something that cannot be told is still only one of several figures.
    rest = [c.name for c in comparison.changes if c not in said and c.word is not Word.NO_RELEVANT_CHANGE]
    beside = f" (open: {', '.join(rest[:_NAMED])})" if comparison.word is Word.IMPROVED and rest else ""
    return f"{start}: {named}{more}{beside}"


_QUIET = frozenset({Word.INCONCLUSIVE, Word.NO_RELEVANT_CHANGE})


def _reasons(said: Sequence[Change]) -> str:
    """Why, each reason once with the evaluators that it holds for."""
    groups: dict[str, list[str]] = {}
    for change in said:
        groups.setdefault(change.reason or "", []).append(change.name)
    texts = [f"{', '.join(names[:_NAMED])}{_rest(names, ' and')}: {why}" for why, names in groups.items()]
    return "; ".join(texts[:_NAMED]) + _rest(texts, "; and")


def _rest(named: Sequence[str], word: str) -> str:
    return f"{word} {len(named) - _NAMED} more" if len(named) > _NAMED else ""


def _quiet(said: Sequence[Change]) -> str:
    """Where nothing is shown: what moved most, and once what could have been seen at all."""
    moved = sorted((c for c in said if c.change), key=lambda c: abs(float(c.change or 0)), reverse=True)
    first = moved[0] if moved else max(said, key=lambda c: c.cases)
    named = "; ".join(_short(change) for change in moved[:_NAMED]) or "no rate moved"
    more = f"; and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
    if first.word is Word.NO_RELEVANT_CHANGE or moved:
        return named + more + "".join(_more(first))
    return f"{named} over {_cases(first)}{''.join(_more(first))}"


def change_text(change: Change) -> str:
    """One evaluator's change in words."""
    if change.word is Word.NOT_COMPARABLE:
        return f"{change.name}: {change.reason}"
    return f"{_short(change)} over {_cases(change)}{''.join(_more(change))}"


def _cases(change: Change) -> str:
    return "1 case" if change.cases == 1 else f"{change.cases} cases"


def _short(change: Change) -> str:
    assert change.before is not None
    assert change.now is not None
    assert change.change is not None
    spread = ""
    if change.interval is not None:
        low, high = change.interval
        spread = f" [{100 * low:+.1f}, {100 * high:+.1f}]"
    rates = f"{_percent(float(change.before))} -> {_percent(float(change.now))}"
    return f"{change.name} {rates}, by {points(float(change.change))}{spread}"


def _more(change: Change) -> Iterator[str]:
    """What was not shown, and what would show it."""
    if change.word is Word.CANDIDATE:
        yield "; too few cases for a claim, rerun both with more trials"
    if change.word is not Word.INCONCLUSIVE:
        return
    if change.questions > 1 and change.p_adjusted is not None and change.change:
        yield f"; p {_p_value(change.p_adjusted)} after correction for {change.questions}"
    if change.smallest_visible is None:
        yield "; fewer than 20 cases show no change of a suite as a whole"
        return
    assert change.change is not None
    moved = abs(float(change.change))
    if moved >= change.smallest_visible:
        return  # what these runs could show is an average: it says nothing of a change that is larger
    yield f"; the smallest change it could have shown is {100 * change.smallest_visible:.0f} points"
    size = points(max(moved, 0.02)).lstrip("+")
    if change.trials_needed is not None:
        trials = "1 trial" if change.trials_needed == 1 else f"{change.trials_needed} trials"
        yield f", {trials} a case would show {size}"
    elif change.cases_needed is not None:
        yield f", {change.cases_needed} cases would show {size} and more trials would not"


def _p_value(value: float) -> str:
    """As papers write it.

    >>> _p_value(0.0912), _p_value(1.0), _p_value(0.00004)
    ('.09', '1', 'below .001')
    """
    if value < 0.001:  # noqa: PLR2004
        return "below .001"
    return "1" if value >= 0.995 else f"{value:.{2 if value >= 0.01 else 3}f}".removeprefix("0")  # noqa: PLR2004


def points(share: float) -> str:
    """A difference of rates, signed.

    >>> points(-0.041), points(0.01)
    ('-4.1 points', '+1.0 points')
    """
    return f"{100 * share:+.1f} points"


def _percent(rate: float) -> str:
    """Whole percents where they are whole."""
    return f"{rate:.0%}" if abs(rate * 100 - round(rate * 100)) < 0.05 else f"{rate:.1%}"  # noqa: PLR2004
