"""How alike simulated and real users are, as lines for people.

Owns the wording. Reads the document of ``simulators.Validation``; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nightgate.reports.figures import percent
from nightgate.reports.text import plain
from nightgate.stats.representative import BAND, LEAST_CONVERSATIONS, MOST_ASSOCIATION

_NAMES = {
    "turns": "turns a conversation",
    "facts": "facts a message",
    "words": "words a message",
    "end_reasons": "end reasons",
}
_MOST_SHARES = 3


def render(document: Mapping[str, Any]) -> str:
    """The word, what was compared, a line a feature, and why each word that is not the good one."""
    return "\n".join(_lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"{document['word'].upper()}  simulated user of {document['suite']}, run {document['run_id']}"
    yield from _compared(document)
    for feature in document["features"]:
        yield _row(feature)
    for feature in document["features"]:
        if feature["word"] not in (None, "representative"):
            yield f"{_NAMES[feature['name']]}: {feature['word']}: {_why(feature)}"


def _compared(document: Mapping[str, Any]) -> Iterator[str]:
    real, simulated = document["real"], document["simulated"]
    yield f"{simulated['conversations']} simulated conversations against {real['conversations']} real ones"
    if simulated["left_out"]:
        endings = ", ".join(f"{count} {ending}" for ending, count in simulated["left_out"].items())
        yield f"left out, because they broke off: {endings}"
    if simulated["copies"]:
        yield f"{simulated['copies']} more repeat another trial of their case word for word: counted once"
    if real["left_out"]:
        yield f"left out, because the user says nothing in them: {real['left_out']} real ones"
    if document["facts_by"] == "shape":
        because = plain(document["facts_by_shape_because"], 200)
        yield f"facts are told by their shape (numbers, codes, e-mail addresses): {because}"


def _row(feature: Mapping[str, Any]) -> str:
    name = f"{_NAMES[feature['name']]:22}"
    if feature["name"] == "end_reasons":
        size = feature["cramers_v"]
        figures = f"Cramer's V {size:.2f}" if size is not None else "Cramer's V unknown"
        sides = (
            f"real n {feature['real']['conversations']}, simulated n {feature['simulated']['conversations']}"
        )
        return f"  {name}{feature['word']:20}{figures}; {sides}"
    if feature["word"] is None:
        return f"  {name}{'not compared':20}neither side gives a fact"
    sides = f"{_side(feature, 'real')}, {_side(feature, 'simulated')}"
    return f"  {name}{feature['word']:20}{_ratio(feature)}; {sides}"


def _ratio(feature: Mapping[str, Any]) -> str:
    if feature["ratio"] is None:
        return "ratio unknown"
    return f"ratio {feature['ratio']:.2f} {_interval(feature)}"


def _interval(feature: Mapping[str, Any]) -> str:
    low, high = feature["interval"]
    return f"[{low:.2f}, {'unbounded' if high is None else f'{high:.2f}'}]"


def _side(feature: Mapping[str, Any], side: str) -> str:
    figures = feature[side]
    spread = "" if figures["sd"] is None else f"sd {figures['sd']:.2f}, "
    return f"{side} {figures['mean']:.2f} ({spread}n {figures['conversations']})"


def _why(feature: Mapping[str, Any]) -> str:
    off = feature["word"] == "not representative"
    if feature["name"] == "end_reasons":
        return _shares(feature) if off else _open_ends(feature)
    return _off(feature) if off else _open(feature)


def _off(feature: Mapping[str, Any]) -> str:
    """Which way it is off, with the tests that say so."""
    found, tests = [], feature["tests"]
    if "shape" in feature["off"]:
        way = _way(feature)
        found.append(f"{way} (Cramer-von Mises {_p(tests['cramer_von_mises'])})")
    if "spread" in feature["off"]:
        real, simulated = feature["real"]["sd"], feature["simulated"]["sd"]
        way = "too uniform" if simulated < real else "too varied"
        found.append(f"{way}: sd {simulated:.2f} against {real:.2f} (Levene {_p(tests['levene'])})")
    return "; ".join(found)


def _way(feature: Mapping[str, Any]) -> str:
    """More or fewer than the real ones, where the interval of the ratio says so."""
    if feature["ratio"] is None:
        return "another distribution"
    ratio, (low, high) = feature["ratio"], feature["interval"]
    if low <= 1 and (high is None or high >= 1):
        return "another distribution"
    return f"{percent(abs(ratio - 1))} {'fewer' if ratio < 1 else 'more'} than real users"


def _open(feature: Mapping[str, Any]) -> str:
    low, high = BAND
    few = _few(feature)
    if few:
        return few
    if feature["ratio"] is None:
        return "the real mean is 0, so there is no ratio"
    return (
        f"no difference shown, and the interval {_interval(feature)} is not inside [{low:g}, {high:g}]: "
        "more conversations narrow it"
    )


def _shares(feature: Mapping[str, Any]) -> str:
    """The reasons whose shares differ most."""
    real, simulated = feature["real"], feature["simulated"]
    gaps = []
    for reason, count in real["counts"].items():
        first = count / real["conversations"]
        second = simulated["counts"][reason] / simulated["conversations"]
        gaps.append((abs(first - second), f"{reason} {percent(second)} against {percent(first)}"))
    largest = sorted((gap for gap in gaps if gap[0]), key=lambda gap: -gap[0])[:_MOST_SHARES]
    return f"{', '.join(text for _, text in largest)} (chi-square {_p(feature['tests']['chi_square'])})"


def _open_ends(feature: Mapping[str, Any]) -> str:
    if feature["real"]["conversations"] == 0:
        return "no transcript says how it ended; put end_reason into the lines"
    return _few(feature) or (
        f"no difference shown, but so few show only a Cramer's V of {feature['visible_v']:.2f} or more, "
        f"and {MOST_ASSOCIATION:g} is wanted: more conversations are needed"
    )


def _few(feature: Mapping[str, Any]) -> str:
    sizes = [(side, feature[side]["conversations"]) for side in ("real", "simulated")]
    few = [f"{size} {side}" for side, size in sizes if size < LEAST_CONVERSATIONS]
    return f"{' and '.join(few)}, at least {LEAST_CONVERSATIONS} of each are needed" if few else ""


def _p(test: Mapping[str, Any]) -> str:
    p = test["p_holm"]
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"  # noqa: PLR2004 - as papers print it
