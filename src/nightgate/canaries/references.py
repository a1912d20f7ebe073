"""What is frozen: which stored trials, and what each judge said of them when it first saw them.

Owns the document behind ``canaries/<suite>/<number>.json`` and how one grows out of the last. A
document never changes; the highest number holds. Knows no store and no rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nightgate.canaries.drift import MEASURED_NIGHTS, Flips
from nightgate.errors import InputError

SCHEMA = 1
_KEPT_JUDGES = 12
"""Judges of one evaluator whose first looks are kept: one that comes back is told from one that is new."""


class Judge(NamedTuple):
    """An evaluator with the judge behind it."""

    evaluator: str
    version: int
    fingerprint: str | None


class Frozen(NamedTuple):
    """A stored trial that is judged every night."""

    run_id: str
    case: str
    trial: int
    case_hash: str


Looks = Mapping[Judge, Mapping[tuple[str, int], bool]]
"""By judge, then (case, trial): whether it passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The frozen trials of a suite with the verdicts that later ones are held against."""

    suite: str
    number: int
    frozen_at: str
    """UTC, ISO 8601 with Z: since when these very trials are frozen."""
    run_id: str
    """The night or canary run that made this document."""
    why: tuple[str, ...]
    """What is new in it, a line each."""
    trials: tuple[Frozen, ...] = ()
    looks: Looks = field(default_factory=dict)
    """The newest judge of an evaluator last."""
    nights: Mapping[Judge, Mapping[str, Flips]] = field(default_factory=dict)
    """By judge, then canary run: what its first nights without an alarm came to, the oldest first."""

    def of_case(self, case: str) -> tuple[Frozen, ...]:
        """The frozen trials of a case."""
        return tuple(trial for trial in self.trials if trial.case == case)

    def without(self, cases: Collection[str]) -> Reference:
        """The same without some cases and their verdicts."""
        looks = {
            judge: {key: passed for key, passed in said.items() if key[0] not in cases}
            for judge, said in self.looks.items()
        }
        return replace(
            self,
            trials=tuple(trial for trial in self.trials if trial.case not in cases),
            looks={judge: said for judge, said in looks.items() if said},
        )

    def seen(self, looks: Looks) -> Reference:
        """The same with first looks added; a verdict that is there already stays."""
        frozen = {(trial.case, trial.trial) for trial in self.trials}
        merged = {judge: dict(said) for judge, said in self.looks.items()}
        for judge, said in looks.items():
            new = {key: passed for key, passed in said.items() if key in frozen}
            if new:
                merged[judge] = new | dict(merged.get(judge, {}))
        return replace(self, looks=_newest(merged))

    def measured(self, run_id: str, flips: Mapping[Judge, Flips]) -> Reference:
        """The same with a night added to those by which a judge's own flip rate is measured.

        Only a judge's first nights are: a later one changes nothing, and neither does the same again.
        """
        nights = {judge: dict(known) for judge, known in self.nights.items()}
        for judge, found in flips.items():
            known = nights.setdefault(judge, {})
            if found.judged and judge in self.looks and len(known) < MEASURED_NIGHTS:
                known.setdefault(run_id, found)
        return replace(self, nights={judge: known for judge, known in nights.items() if known})

    def to_dict(self) -> dict[str, Any]:
        """The document: plain JSON."""
        return {
            "schema": SCHEMA,
            "suite": self.suite,
            "number": self.number,
            "frozen_at": self.frozen_at,
            "run_id": self.run_id,
            "why": list(self.why),
            "trials": [trial._asdict() for trial in self.trials],
            "judges": [
                {
                    "evaluator": judge.evaluator,
                    "version": judge.version,
                    "judge_fingerprint": judge.fingerprint,
                    "verdicts": [
                        {"case": case, "trial": trial, "passed": passed}
                        for (case, trial), passed in sorted(said.items())
                    ],
                    "nights": [
                        {
                            "run_id": run_id,
                            "judged": night.judged,
                            "to_pass": night.to_pass,
                            "to_fail": night.to_fail,
                        }
                        for run_id, night in self.nights.get(judge, {}).items()
                    ],
                }
                for judge, said in self.looks.items()
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Reference:
        """Read the document again.

        Raises:
            InputError: If a newer nightgate wrote it.
        """
        if data.get("schema", 0) > SCHEMA:
            msg = f"canary reference schema {data['schema']} is newer than {SCHEMA}: upgrade nightgate"
            raise InputError(msg)
        judges = {
            Judge(judge["evaluator"], judge["version"], judge["judge_fingerprint"]): judge
            for judge in data["judges"]
        }
        return cls(
            suite=data["suite"],
            number=data["number"],
            frozen_at=data["frozen_at"],
            run_id=data["run_id"],
            why=tuple(data["why"]),
            trials=tuple(
                Frozen(trial["run_id"], trial["case"], trial["trial"], trial["case_hash"])
                for trial in data["trials"]
            ),
            looks={
                judge: {(said["case"], said["trial"]): said["passed"] for said in found["verdicts"]}
                for judge, found in judges.items()
            },
            nights={
                judge: {
                    night["run_id"]: Flips(
                        judged=night["judged"], to_pass=night["to_pass"], to_fail=night["to_fail"]
                    )
                    for night in found["nights"]
                }
                for judge, found in judges.items()
                if found["nights"]
            },
        )


def _newest(looks: Mapping[Judge, dict[tuple[str, int], bool]]) -> Looks:
    """The last few judges of each evaluator, in their order."""
    kept: list[Judge] = []
    for judge in reversed(list(looks)):
        if sum(other.evaluator == judge.evaluator for other in kept) < _KEPT_JUDGES:
            kept.append(judge)
    return {judge: looks[judge] for judge in looks if judge in kept}
