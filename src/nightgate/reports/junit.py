"""JUnit XML for CI: a suite a run, a test a case and evaluator.

Owns the mapping: a failed cell is a failure, a hole is an error (never a skip: CI shows skips as
green). Characters that XML cannot hold are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The document for one or several runs."""
    root = ET.Element("testsuites", name="nightgate")
    for summary in summaries:
        _suite(root, summary)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, summary: Mapping[str, Any]) -> None:
    cases = summary.get("cases", ())
    suite = ET.SubElement(
        root, "testsuite", name=_clean(summary["suite"]), id=_clean(summary["run_id"] or "none")
    )
    failures = errors = 0
    verdicts = {evaluator["name"]: evaluator for evaluator in summary["evaluators"]}
    reasons = {(f["case"], f["evaluator"], f["status"]): f["reason"] for f in summary.get("failures", ())}
    for row in cases:
        test = ET.SubElement(suite, "testcase", classname=_clean(row["evaluator"]), name=_clean(row["case"]))
        text = f"{row['passed']} of {row['planned']} trials passed"
        if not _gates(verdicts.get(row["evaluator"]), row):
            ET.SubElement(test, "system-out").text = _clean(text)
        elif row["failed"]:
            failures += 1
            reason = reasons.get((row["case"], row["evaluator"], "fail"), text)
            ET.SubElement(test, "failure", message=_clean(text)).text = _clean(reason)
        elif row["open"]:
            errors += 1
            reason = next(
                (reasons[key] for key in reasons if key[:2] == (row["case"], row["evaluator"])), text
            )
            ET.SubElement(test, "error", message=_clean(f"not measured: {text}")).text = _clean(reason)
    verdict = ET.SubElement(suite, "testcase", classname="gate", name="verdict")
    if summary["exit_code"] != 0:
        failures += 1
        causes = "\n".join(_text(finding) for finding in summary["findings"])
        ET.SubElement(verdict, "failure", message=_clean(str(summary["verdict"]))).text = _clean(causes)
    suite.set("tests", str(len(cases) + 1))
    suite.set("failures", str(failures))
    suite.set("errors", str(errors))
    suite.set("time", str(summary.get("wall_s") or 0))


def _gates(evaluator: Mapping[str, Any] | None, row: Mapping[str, Any]) -> bool:
    """Whether a case's cells stand behind a verdict that is no pass: CI is red only where the gate is."""
    if evaluator is None or evaluator["verdict"] in (None, "pass"):
        return False
    return row["case"] in (*evaluator["failed_cases"], *evaluator["open_cases"])


def _text(finding: Any) -> str:
    return str(finding["text"] if isinstance(finding, Mapping) else finding)


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
