"""The page of one case in a run: all trials side by side, each finding with its reason, its nights.

Owns what stands on it and in which order. Knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from nightgate.plans import PlannedEvaluator
from nightgate.prices import NANO
from nightgate.reports.figures import in_quarantine
from nightgate.reports.pages.figures import Figures
from nightgate.reports.pages.marks import night_cell
from nightgate.reports.pages.shell import page
from nightgate.reports.pages.talk import steps
from nightgate.reports.pages.texts import Text, Texts
from nightgate.reports.pages.values import PlayedCase, RunFacts
from nightgate.reports.pages.visible import shell_word
from nightgate.rows.keys import case_slug
from nightgate.scores import Cell, Status
from nightgate.trials import Ending, Trial

_MOST_REASON = 1_500
_MOST_STATE = 3_000
NOT_STORED = "skipped"
"""What a planned cell without a row is called: as in the summary of a run that is open."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the page of the run says of a case: its statuses, and how long its trials took."""

    case_id: str
    href: str
    numbers: tuple[int, ...]
    statuses: Mapping[str, Sequence[str]]
    """Evaluator -> status of each trial."""
    took: Sequence[tuple[int, str, float, float]]
    """Trial, ending, milliseconds of work and of waiting, of those that ran."""


def case_file(case_id: str) -> str:
    """The name of a case's page: of hex digits, because an id may be any text, and the same in every run.

    >>> case_file("../../etc/passwd")
    'case-a4fd2c44a47b8bc88c5b.html'
    """
    return f"case-{case_slug(case_id)}.html"


def case_pages(facts: RunFacts, played: PlayedCase, rows: Mapping[str, int]) -> list[tuple[str, bytes]]:
    """The page of a case, and the files with what is too long for it.

    Args:
        facts: Its run.
        played: The case.
        rows: Evaluator -> position of its counts in the summary's ``cases``.
    """
    case_id = played.case.case_id
    texts = Texts(f"case-{case_slug(case_id)}")
    evaluators = [planned for planned in facts.plan.evaluators if planned.name in played.case.evaluators]
    made = page(
        "case.html.j2",
        title=f"{case_id} · {facts.plan.suite} · {facts.plan.run_id}",
        notice=facts.notice,
        facts=facts,
        case=played.case,
        troubles=played.troubles,
        numbers=played.numbers,
        figures=Figures(facts.summary),
        findings=[_finding(played, planned, rows.get(planned.name), texts) for planned in evaluators],
        counts=_counts(facts.summary, rows),
        trials=[_trial(number, played, texts) for number in played.numbers],
        frames=_frames(played, texts),
        quarantine=in_quarantine(facts.summary).get(case_id),
        history=[(entry["evaluator"], _night_cells(entry)) for entry in facts.history.get(case_id, ())],
        nights=facts.nights,
        rerun=rerun_command(facts, case_id, len(played.numbers)),
    )
    return [(case_file(case_id), made), *texts.files]


def glance(played: PlayedCase) -> Glance:
    """A case for the page of its run."""
    return Glance(
        case_id=played.case.case_id,
        href=case_file(played.case.case_id),
        numbers=played.numbers,
        statuses={
            name: [_status(played.cells.get((number, name))) for number in played.numbers]
            for name in played.case.evaluators
        },
        took=[
            (number, trial.ending.value, trial.latency_ms, trial.wait_ms)
            for number, trial in played.trials.items()
            if trial.latency_ms is not None
        ],
    )


def rerun_command(facts: RunFacts, case_id: str, trials: int) -> str:
    """The command that plays a case again, as this run did."""
    plan = facts.plan
    words = ["nightgate", "run", shell_word(plan.suite_path or plan.suite), "--case", shell_word(case_id)]
    words += ["--trials", str(max(1, trials))]
    words += ["--live"] if plan.as_live else ["--model", shell_word(plan.model)]
    if plan.judge and not plan.as_live and not plan.panel:
        words += ["--judge", shell_word(plan.judge)]
    if facts.store_flag:
        words += ["--store", shell_word(facts.store_flag)]
    return " ".join(words)


def _night_cells(entry: Mapping[str, Any]) -> Markup:
    """A row's fields, one a night: on a page set of 450 cases there are eighty thousand."""
    changed: dict[int, tuple[str, ...]] = {}
    for mark in entry["changes"]:
        changed[mark["night"]] = (*changed.get(mark["night"], ()), str(mark["what"]))
    counts = zip(entry["nights"]["passed"], entry["nights"]["judged"], strict=True)
    cells = (night_cell(*found, changed.get(night, ())) for night, found in enumerate(counts))
    return Markup().join(cells)


def _counts(summary: Mapping[str, Any], rows: Mapping[str, int]) -> list[str]:
    """The names of the counts that the summary has of a case, whichever version wrote it."""
    first = next(iter(rows.values()), None)
    found = {} if first is None else summary["cases"][first]
    return [name for name, value in found.items() if isinstance(value, int)]


def _status(cell: Cell | None) -> str:
    return NOT_STORED if cell is None else cell.score.status.value


def _finding(played: PlayedCase, planned: PlannedEvaluator, row: int | None, texts: Texts) -> dict[str, Any]:
    """An evaluator on this case: a status for each trial, and each different reason once."""
    cells = [(number, played.cells.get((number, planned.name))) for number in played.numbers]
    reasons: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number, cell in cells:
        if cell is None:
            continue
        score = cell.score
        key = (score.status, score.blame, score.score, score.label, score.reason, repr(score.details))
        if key not in reasons:
            reasons[key] = {
                "trials": [],
                "status": score.status.value,
                "blame": score.blame.value if score.blame is not None else None,
                "score": score.score,
                "label": texts(score.label, _MOST_REASON),
                "reason": texts(score.reason, _MOST_REASON),
                "details": texts.json(dict(score.details), _MOST_STATE) if score.details else None,
            }
        reasons[key]["trials"].append(number)
    return {
        "planned": planned,
        "row": row,
        "statuses": [(number, _status(cell)) for number, cell in cells],
        "reasons": sorted(reasons.values(), key=lambda reason: _RANK.get(reason["status"], 0)),
        "worst": min(
            (_status(cell) for _, cell in cells), key=lambda word: _RANK.get(word, 0), default=NOT_STORED
        ),
    }


_RANK = {
    Status.FAIL.value: 0, Status.ERROR.value: 1, Status.SKIPPED.value: 2, Status.NOT_APPLICABLE.value: 3,
    Status.MEASURED.value: 4, Status.PASS.value: 5,
}  # fmt: skip
"""What needs a look comes first."""


def _trial(number: int, played: PlayedCase, texts: Texts) -> dict[str, Any]:
    trial = played.trials.get(number)
    if trial is None:
        return {"number": number, "ending": Ending.NOT_RUN.value, "trial": None}
    talk = trial.conversation
    user_nanousd = 0 if talk is None else talk.simulator.cost_nanousd
    return {
        "number": number,
        "ending": trial.ending.value,
        "trial": trial,
        "failed": [
            name
            for name in played.case.evaluators
            if _status(played.cells.get((number, name))) == Status.FAIL.value
        ],
        "error": texts(trial.error, _MOST_REASON),
        "steps": steps(trial, texts),
        "state": texts.json(dict(trial.final_state), _MOST_STATE) if trial.final_state is not None else None,
        "usd": {
            "agent": _usd(trial.cost_nanousd),
            "judge": _usd(played.judge_nanousd.get(number, 0)),
            "user": _usd(user_nanousd),
        },
        "talk": talk,
    }


def _usd(nanousd: int | None) -> float | None:
    return None if nanousd is None else nanousd / NANO


def _frames(played: PlayedCase, texts: Texts) -> list[dict[str, Any]]:
    """Each different system prompt with the tools that were offered beside it, and in which trials."""
    found: dict[tuple[str | None, str], tuple[list[int], Trial]] = {}
    for number, trial in played.trials.items():
        if trial.system_prompt is not None or trial.tools_offered:
            names = ", ".join(str(tool.get("name")) for tool in trial.tools_offered or ())
            found.setdefault((trial.system_prompt, names), ([], trial))[0].append(number)
    return [
        {"trials": numbers, "prompt": _prompt(prompt, texts), "tools": _tools(trial, texts)}
        for (prompt, _), (numbers, trial) in found.items()
    ]


def _prompt(prompt: str | None, texts: Texts) -> Text | None:
    return texts(prompt, _MOST_STATE)


def _tools(trial: Trial, texts: Texts) -> list[tuple[str, Text | None]]:
    return [
        (str(tool.get("name")), texts(str(tool.get("description") or ""), _MOST_REASON))
        for tool in trial.tools_offered or ()
    ]
