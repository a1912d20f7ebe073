"""What judges' providers said that they answered with, and whether that changed.

Owns the comparison of system fingerprints. A provider tells its own only with an answer, so it cannot
be part of a plan; a change of it is told instead: the same spec may then be another judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nightgate.calls import Call, Role

Prints = Mapping[str, Sequence[str]]
"""Judge spec -> the system fingerprints that its answers carried."""

_SHOWN = 5


@dataclass(slots=True)
class Heard:
    """System fingerprints of a run's judges, as calls are counted."""

    _found: dict[str, set[str]] = field(default_factory=dict)
    before: Prints = field(default_factory=dict)
    """Those of the run that this one is held beside: its baseline, or what a sweep judges again."""

    def hear(self, call: Call) -> None:
        """Note what a judge's call was answered with."""
        if call.role is Role.JUDGE and call.system_fingerprint is not None:
            self._found.setdefault(call.model, set()).add(call.system_fingerprint)

    def as_dict(self) -> dict[str, list[str]]:
        """``judge_system_fingerprints`` of the summary: empty where no provider tells any."""
        return {spec: sorted(values) for spec, values in sorted(self._found.items())}

    def warnings(self) -> list[str]:
        """A line for each judge that is not known to be one and the same, within the run and beside it."""
        now = self.as_dict()
        return [*mixed(now), *changed(self.before, now)]


def mixed(now: Prints) -> Iterator[str]:
    """A line for each judge that answered with several set-ups within one run."""
    for spec, values in now.items():
        if len(values) > 1:
            yield (
                f"judge {spec} answered with {len(values)} set-ups of its provider ({_shown(values)}): its "
                "verdicts of this run may not be of one judge"
            )


def changed(before: Prints, now: Prints) -> Iterator[str]:
    """A line for each judge whose provider answers with another set-up than in an earlier run.

    What a run does not tell (no judge's call, or a provider that says nothing) is no change.

    Args:
        before: ``judge_system_fingerprints`` of the earlier summary, such as the baseline's.
        now: Tonight's.

    >>> list(changed({"openai:j": ["fp_1"]}, {"openai:j": ["fp_1"]}))
    []
    """
    for spec, values in now.items():
        old = before.get(spec)
        new = [value for value in values if old and value not in old]
        if old and new:
            yield (
                f"judge {spec}: its provider answers with {_shown(new)}, before it was {_shown(old)}: "
                "a difference may be the judge's. `nightgate sweep baseline` judges the baseline again"
            )


def _shown(values: Sequence[str]) -> str:
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return ", ".join(values[:_SHOWN]) + more
