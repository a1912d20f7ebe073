"""JUnit XML for CI: a suite a run, a test a case and evaluator with its trials grouped.

Owns the mapping from statuses to JUnit's four outcomes, of which the first that fits wins:

- any trial failed: failure;
- any trial ended in an error: error;
- any trial was not judged (not applicable, skipped): skipped, unless the case allows it and another
  trial was judged;
- else it passed; a metric without a threshold passes too and tells its figure in system-out.

Two rules keep CI's colour and the gate's verdict together. Reporters turn red over any failure, so
failures that the gate lets through (their evaluator passes its threshold, as with 18 of 21 at 0.85,
or they are of a capability case, one in quarantine, or a metric) stand in system-out and the test passes;
errors of a run that exits with 0, as within ``max_error_share``, are skipped tests. And because
reporters show a skipped test as harmless, the verdict is a test of its own, which fails or errs with
the gate's causes whenever the command does not exit with 0: a hole is never green.

Coverage of each evaluator stands in the suite's properties and in the verdict's system-out.
Characters that XML cannot hold are replaced; ids are kept as they are otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from nightgate.errors import ExitCode
from nightgate.reports.figures import STOPPED, coverage, in_quarantine, unjudged
from nightgate.reports.text import plain

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOST_SIDE = 300
_MOST_REASON = 2_000
_COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}
"""Elements of a test, and the attributes of the suite that count them."""
_FACTS = ("layer", "family", "language")


def junit(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The document for one or several runs."""
    root = ET.Element("testsuites", name="nightgate")
    total: Counter[str] = Counter()
    for summary in summaries:
        total += _suite(root, summary)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(total[name]))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, summary: Mapping[str, Any]) -> Counter[str]:
    """Add a run; returns its counts by attribute."""
    suite = ET.SubElement(root, "testsuite", name=_clean(summary["suite"]))
    suite.set("id", _clean(summary["run_id"] or "none"))
    lines = {evaluator["name"]: coverage(evaluator) for evaluator in summary["evaluators"]}
    facts = {"verdict": summary["verdict"], "exit_code": str(summary["exit_code"])}
    _properties(suite, facts | {f"coverage.{name}": line for name, line in lines.items()})
    evaluators = {evaluator["name"]: evaluator for evaluator in summary["evaluators"]}
    told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for failure in summary["failures"]:
        told.setdefault((failure["case"], failure["evaluator"]), []).append(failure)
    gating = {(e["name"], case) for e in summary["evaluators"] for case in e["failed_cases"]}
    kept_out = in_quarantine(summary)
    counts = Counter(tests=len(summary["cases"]) + 1)
    for row in summary["cases"]:
        found = told.get((row["case"], row["evaluator"]), ())
        gates = (row["evaluator"], row["case"]) in gating
        facts = {name: row[name] for name in _FACTS if row[name]}
        if row["case"] in kept_out:
            facts["quarantine"] = _quarantine(kept_out[row["case"]])
        outcome = _test(
            suite,
            summary["suite"],
            row,
            evaluators[row["evaluator"]],
            found,
            facts,
            gates=gates,
            ships=summary["exit_code"] == ExitCode.OK,
        )
        counts[outcome] += 1
    counts[_verdict(suite, summary, lines)] += 1
    for name in ("tests", "failures", "errors", "skipped"):
        suite.set(name, str(counts[name]))
    if summary["cells"] is not None:  # else the run left nothing: neither its time nor its start is known
        suite.set("timestamp", summary["started_at"][:19])  # consumers' schemas want UTC without a zone
        if summary["wall_s"] is not None:
            suite.set("time", f"{summary['wall_s']:.3f}")
    return counts


def _test(
    suite: ET.Element,
    suite_id: str,
    row: Mapping[str, Any],
    evaluator: Mapping[str, Any],
    told: Sequence[Mapping[str, Any]],
    facts: Mapping[str, str],
    *,
    gates: bool,
    ships: bool,
) -> str:
    """Add the test of a case and evaluator; returns the attribute that counts it.

    Args:
        suite: The run's element.
        suite_id: The suite's id.
        row: Counts of the case and evaluator.
        evaluator: The evaluator's entry.
        told: What the summary tells of the cells that did not pass.
        facts: Properties of the case.
        gates: Whether its failures count at the gate.
        ships: Whether the command exits with 0.
    """
    test = _testcase(suite, f"{suite_id}.{row['evaluator']}", row["case"])
    _properties(test, facts)
    counted = gates and evaluator["verdict"] is not None
    outcome, tolerated = _outcome(row, evaluator, gates=counted, ships=ships)
    counts = _counts(row)
    body = "\n".join([*tolerated, *_told(told)])
    if outcome is None:
        if row["measured"]:
            mean = evaluator["mean_score"]
            counts += f" (no threshold; mean over all cases {mean:.3g})" if mean is not None else ""
        ET.SubElement(test, "system-out").text = _clean("\n".join(filter(None, (counts, body))))
        return "passes"
    first = _first(outcome, told)
    element = ET.SubElement(test, outcome, message=_clean(_message(counts, first)))
    element.set("type", _clean((first["blame"] or first["status"]) if first is not None else outcome))
    element.text = _clean(body)
    return _COUNTED[outcome]


def _quarantine(row: Mapping[str, Any]) -> str:
    return f"does not gate until {row['until']}, {row['owner']}: {row['reason']}"


def _outcome(
    row: Mapping[str, Any], evaluator: Mapping[str, Any], *, gates: bool, ships: bool
) -> tuple[str | None, list[str]]:
    """The element that a test gets, None for a pass, and a line about failures that the gate lets through."""
    tolerated = []
    if row["failed"]:
        if gates and evaluator["verdict"] != "pass":
            return "failure", []
        why = f"{evaluator['passed']} of {evaluator['planned']} passed, wanted {evaluator['threshold']}"
        tolerated = [f"tolerated: the gate passes ({why})" if gates else "tolerated: does not gate"]
    if row["error"]:
        return "skipped" if ships else "error", tolerated
    holes = row["not_applicable"] - row["required"] - row["allowed"] + row["skipped"]
    seen = row["passed"] + row["failed"] + row["measured"]
    return ("skipped" if holes or not seen else None), tolerated


def _verdict(suite: ET.Element, summary: Mapping[str, Any], coverages: Mapping[str, str]) -> str:
    """Add the gate's test; returns the attribute that counts it."""
    test = _testcase(suite, f"{summary['suite']}.gate", "verdict")
    code, verdict, stopped = summary["exit_code"], summary["verdict"], summary["stopped"]
    causes = [plain(finding["text"], _MOST_REASON) for finding in summary["findings"]]
    outcome = None
    if code != ExitCode.OK:
        outcome = "failure" if code == ExitCode.FAILED else "error"
        message = f"{verdict}, {STOPPED[stopped]}" if stopped in STOPPED else verdict
    elif verdict != "pass":
        # ``on_inconclusive: allow`` lets it through, and still nothing says that it passed.
        outcome, message = "skipped", f"{verdict}, which the suite's gate allows"
    if outcome is not None:
        cause = f": {causes[0]}" if causes else ""
        element = ET.SubElement(test, outcome, message=_clean(message + cause), type=_clean(verdict))
        element.text = _clean("\n".join(causes))
    shown = [f"{name}: {line}" for name, line in coverages.items()]
    ET.SubElement(test, "system-out").text = _clean("\n".join([f"verdict: {verdict}", *shown]))
    return _COUNTED[outcome] if outcome is not None else "passes"


def _counts(row: Mapping[str, Any]) -> str:
    """How the trials of a case ended."""
    name = "measured" if row["measured"] else "passed"
    others = [
        f"{unjudged(row[status], status)}{note}"
        for status, note in (
            ("not_applicable", _note(row)),
            ("error", ""),
            ("skipped", ""),
        )
        if row[status]
    ]
    return ", ".join([f"{row[name]} of {row['planned']} trials {name}", *others])


def _note(row: Mapping[str, Any]) -> str:
    if row["required"]:
        return " (required, so failed)"
    return " (allowed)" if row["allowed"] else ""


def _first(outcome: str, told: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The finding that the outcome is about; None when the summary had no room for it."""
    about = {"failure": ("fail", "not_applicable"), "error": ("error",)}.get(
        outcome, ("skipped", "not_applicable")
    )
    return next((t for status in about for t in told if t["status"] == status), None)


def _message(counts: str, first: Mapping[str, Any] | None) -> str:
    """One line: who is to blame, expected and observed or else why, and the counts."""
    if first is None:
        return counts
    blame = f"{first['blame']}: " if first["blame"] else ""
    why = "; ".join(_sides(first)) or plain(first["reason"], _MOST_SIDE)
    return f"{blame}{why}; {counts}"


def _told(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A paragraph for each status that a case has: how often, who is to blame, why."""
    for t in told:
        blame = f" ({t['blame']})" if t["blame"] else ""
        times = (
            f" x{t['count']}, first in trial {t['trial']}" if t["count"] > 1 else f" in trial {t['trial']}"
        )
        yield f"{t['status'].replace('_', ' ')}{blame}{times}: {plain(t['reason'], _MOST_REASON)}"
        yield from (f"  {side}" for side in _sides(t))


def _sides(told: Mapping[str, Any]) -> Iterator[str]:
    for name in ("expected", "observed"):
        if told[name] is not None:
            yield f"{name}: {plain(told[name], _MOST_SIDE)}"


def _testcase(suite: ET.Element, classname: str, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=_clean(classname), name=_clean(name))


def _properties(parent: ET.Element, values: Mapping[str, str]) -> None:
    if values:
        properties = ET.SubElement(parent, "properties")
        for name, value in values.items():
            ET.SubElement(properties, "property", name=_clean(name), value=_clean(value))


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
