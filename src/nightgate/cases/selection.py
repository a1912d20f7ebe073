"""A part of a suite, chosen by case, tag, layer and stage.

Owns what the filters of the command line mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from nightgate.cases.asks import matches
from nightgate.cases.models import Case, Layer, Stage, Suite
from nightgate.cases.problems import nearest
from nightgate.errors import InputError

_FIXED: Mapping[str, tuple[str, ...]] = {"layer": get_args(Layer), "stage": get_args(Stage)}
"""Filters over few and fixed values: beside one that a suite has, a known other one is no slip."""


def select(
    suite: Suite,
    *,
    case_globs: Sequence[str] = (),
    tags: Sequence[str] = (),
    layers: Sequence[str] = (),
    stages: Sequence[str] = (),
) -> Suite:
    """The suite with only the cases that every given filter takes.

    Several values of one filter mean any of them; no value means all. Suite order is kept.

    Args:
        suite: Where to choose from.
        case_globs: Ids, or globs over ids (``*``, ``?``, ``[...]``; upper and lower case apart).
        tags: Cases with at least one of them.
        layers: As in a case.
        stages: As in a case.

    Raises:
        InputError: If a value matches no case, with the nearest that would, or if all together do.
            Of several layers (or stages) one is enough, so that one command fits several suites.
    """
    filters: list[tuple[str, Sequence[str], list[str]]] = [
        ("case", case_globs, [case.id for case in suite.cases]),
        ("tag", tags, sorted({tag for case in suite.cases for tag in case.tags})),
        ("layer", layers, sorted({case.layer for case in suite.cases})),
        ("stage", stages, sorted({case.stage for case in suite.cases})),
    ]
    given = [(name, value, known) for name, wanted, known in filters for value in wanted]
    had = {name for name, value, known in given if name in _FIXED and value in known}
    for name, value, known in given:
        if name in had and value in _FIXED[name]:
            continue
        if not any(matches(item, value) if name == "case" else item == value for item in known):
            hint = _hint(name, value, known)
            raise InputError(f"{suite.file}: --{name} {value!r} matches no case{hint}")

    def takes(case: Case) -> bool:
        return (
            (not case_globs or any(matches(case.id, glob) for glob in case_globs))
            and (not tags or bool(set(tags) & set(case.tags)))
            and (not layers or case.layer in layers)
            and (not stages or case.stage in stages)
        )

    chosen = tuple(case for case in suite.cases if takes(case))
    if given and not chosen:
        together = " ".join(f"--{name} {value}" for name, value, _ in given)
        raise InputError(f"{suite.file}: no case matches all of {together}; leave one out")
    return suite.model_copy(update={"cases": chosen}) if given else suite


def _hint(name: str, value: str, known: Sequence[str]) -> str:
    if not known:
        return "; the suite has none" if name == "tag" else "; the suite has no cases"
    return f"; the nearest is {nearest(value.strip('*?'), known, cutoff=0.0)!r}"
