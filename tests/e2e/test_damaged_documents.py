"""Stored documents of nights that are damaged or newer: said by name, and no night is lost by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shell import Ran, nightgate

CUT, LIST, NUMBER = '{"schema": 1, "su', "[]", "7"
NULL = '{"schema": 1, "suite": "canny", "run_id": "n1", "series": null, "judges": null, "number": 1}'
WHOLE_BUT_WRONG = [CUT, LIST, NUMBER, NULL]
NEWER = '{"schema": 2, "suite": "canny", "in": ["another", "form"]}'
ALARM = 1
"""What canaries of this suite come to: its judge says yes to everything, planted attacks included."""
UPGRADE = "written by a newer nightgate, schema 2; this one knows 1: upgrade"


class Night:
    """A suite with a canary case, and the store of its nights."""

    def __init__(self, folder: Path) -> None:
        self.suite, self.store = folder / "canny", folder / "store"
        (self.suite / "scripts").mkdir(parents=True)
        self._put("suite.yaml", {
            "suite": "canny", "owner": "us", "agent": "nightgate_samples.support:build",
            "model": "scripted:agent", "judge": "scripted:judge", "alerts": ["default"],
        })  # fmt: skip
        case: dict[str, Any] = {
            "id": "c0",
            "input": "Hello",
            "context": {"customer_id": "C-17"},
            "canary": True,
        }
        case["expect"] = {"judge": [{"id": "polite", "criterion": "Is it polite?"}]}
        self._put("cases.yaml", {"cases": [case]})
        self._put("scripts/agent.yaml", {"replies": {"*": [{"say": "Hello."}]}})
        best = {"Criterion:polite": {"*": {"fields": "best"}}}
        self._put("scripts/judge.yaml", {"judgements": best})

    def _put(self, name: str, document: dict[str, Any]) -> None:
        (self.suite / name).write_text(json.dumps(document))

    def __call__(self, *words: str | Path) -> Ran:
        """Run a command over the store."""
        return nightgate(*words, "--store", self.store)

    def run(self, run_id: str, *more: str) -> Ran:
        """One run of the suite, with its judge."""
        return self("run", self.suite, "--run-id", run_id, "--judge", "scripted:judge", *more)

    def damage(self, key: str, text: str) -> Path:
        """Put something else under a key."""
        path = self.store / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def night(tmp_path: Path) -> Night:
    """One night is there."""
    night = Night(tmp_path)
    assert night.run("n1").code == 0
    return night


def refused(ran: Ran, key: str, *said: str) -> None:
    """A command that ended in 3 with a line about a key, and called no model."""
    assert (ran.code, "Traceback" in ran.err) == (3, False), ran.err
    (line,) = ran.err.strip().splitlines()
    assert line.startswith(f"nightgate: {key}: ")
    assert [word for word in said if word not in line] == []


@pytest.mark.parametrize("text", WHOLE_BUT_WRONG)
def test_flaky_over_a_damaged_book_names_it_and_the_next_run_mends_it(night: Night, text: str) -> None:
    """Exit 3: what each case is taken for cannot be told from it."""
    book = night.damage("flakiness/canny.json", text)

    refused(night("flaky", "canny"), "flakiness/canny.json", "next complete run makes it again")
    assert book.read_text() == text

    assert night.run("n2").code == 0
    assert night("flaky", "canny").code == 0


@pytest.mark.parametrize("text", WHOLE_BUT_WRONG)
def test_canary_over_a_damaged_reference_names_it_and_freezing_mends_it(night: Night, text: str) -> None:
    """Verdicts cannot be held against it."""
    assert night("canary", "n1").code == ALARM
    number = max((night.store / "canaries" / "canny").iterdir()).name
    night.damage(f"canaries/canny/{number}", text)
    night.run("n2")

    refused(night("canary", "n2"), f"canaries/canny/{number}", "remove it: the number before it", "--freeze")

    assert night("canary", "n2", "--freeze").code == 0
    assert night("canary", "n2").code == ALARM


def test_a_damaged_document_of_canaries_is_made_again_by_the_command(night: Night) -> None:
    """The verdicts are stored; nothing is judged for it."""
    told = night("canary", "n1", "--json", "-").json
    night.damage("runs/n1/canary.json", CUT)

    again = night("canary", "n1", "--json", "-")

    assert (again.code, again.json) == (ALARM, told)
    assert json.loads((night.store / "runs" / "n1" / "canary.json").read_text()) == told


@pytest.mark.parametrize(
    ("words", "key"),
    [
        (("flaky", "canny"), "flakiness/canny.json"),
        (("canary", "n1"), "canaries/canny/000009.json"),
        (("canary", "n1", "--freeze"), "canaries/canny/000009.json"),
        (("canary", "n1"), "runs/n1/canary.json"),
        (("promote", "n1"), "baselines/canny.json"),
        (("promote", "n1", "--force", "--why", "I want it"), "baselines/canny.json"),
        (("gate", "baseline:canny"), "baselines/canny.json"),
    ],
)
def test_no_command_reads_or_writes_a_newer_document(night: Night, words: tuple[str, ...], key: str) -> None:
    """What a newer program knows must outlive an older one on another machine."""
    newer = night.damage(key, NEWER)
    there = sorted(newer.parent.iterdir())

    refused(night(*words), key, UPGRADE)

    assert newer.read_text() == NEWER
    assert sorted(newer.parent.iterdir()) == there


def test_a_night_over_newer_documents_has_its_verdict_and_says_each(night: Night) -> None:
    """None of them is written over, and none of them hides the verdict or the other lines."""
    keys = [f"{name}/canny.json" for name in ("baselines", "flakiness", "alerts")]
    paths = [night.damage(key, NEWER) for key in (*keys, "canaries/canny/000009.json")]

    ran = nightgate("nightly", night.suite.parent, "--store", night.store, "--judge", "scripted:judge",
                    "--json", "-")  # fmt: skip

    assert ran.code == 0, ran.err
    (summary,) = ran.json["runs"]
    assert (summary["verdict"], summary["complete"]) == ("pass", True)
    assert any(f"baselines/canny.json: {UPGRADE}" in warning for warning in summary["warnings"])
    assert f"alerts: NOT sent: alerts/canny.json: {UPGRADE}" in ran.err
    assert [path.read_text() for path in paths] == [NEWER] * 4
    assert len(list((night.store / "canaries" / "canny").iterdir())) == 1


def test_a_run_says_the_newer_book_that_it_left_alone(night: Night) -> None:
    """By day in its last lines."""
    night.damage("flakiness/canny.json", NEWER)

    ran = night.run("n2")

    assert ran.code == 0
    assert f"flaky or broken: NOT told: flakiness/canny.json: {UPGRADE}" in ran.out


@pytest.mark.parametrize("text", WHOLE_BUT_WRONG)
def test_a_damaged_book_of_alerts_costs_no_verdict_and_no_message(night: Night, text: str) -> None:
    """The file, what may repeat, and where the old one is kept."""
    night.damage("alerts/canny.json", text)
    worse = {"Criterion:polite": {"*": {"fields": "worst"}}}
    night._put("scripts/judge.yaml", {"judgements": worse})

    ran = night.run("n2")

    assert ran.code == 1
    assert "canny: gate FAILED" in ran.err
    assert "alerts: alerts/canny.json: no book of alerts (" in ran.err
    assert "causes that were open are told once more" in ran.err
    (kept,) = (night.store / "alerts").glob("canny.json.damaged-*")
    assert (kept.read_text(), kept.name in ran.err) == (text, True)


def test_promote_names_the_part_that_is_gone(night: Night) -> None:
    """Exit 3, as for `gate` and `compare`: what was committed is not there, so it cannot be told."""
    (part,) = (night.store / "calls").glob("canny/*/n1/*.parquet")
    part.unlink()

    refused(night("promote", "n1"), "run n1 is not promoted", part.name, "it is gone", "restore the object")
    assert not (night.store / "baselines").exists()
