"""Pages of runs from the shell."""

from __future__ import annotations

import json
from pathlib import Path

from nightgate.reports.pages.casepage import case_file
from pagereader import Page, figures_of
from shell import ROOT, SUPPORT, nightgate


def test_a_stored_run_becomes_a_folder_of_pages(tmp_path: Path) -> None:
    """Every figure equals summary.json; the store has the same set already."""
    ran = nightgate(
        "run", SUPPORT, "--store", tmp_path / "s", "--model", "scripted:upgraded", "--trials", "3",
        "--run-id", "support-1", "--json", "-",
    )  # fmt: skip

    told = nightgate("report", "latest", "--store", tmp_path / "s", "--out", tmp_path / "out", "--json", "-")

    assert (ran.code, told.code) == (1, 0), told.err
    assert told.json["files"] == 8
    assert told.err.strip() == f"report: {tmp_path / 'out' / 'index.html'}"
    pages = {path.name: Page.at(path) for path in (tmp_path / "out").iterdir()}
    found: dict[str, set[str]] = {}
    for page in pages.values():
        for path, values in page.figures.items():
            found.setdefault(path, set()).update(values)
    assert {path: found.get(path) for path in figures_of(ran.json)} == {
        path: {value} for path, value in figures_of(ran.json).items()
    }
    index = pages["index.html"].text
    assert "✗ fail support" in index
    assert "ToolPolicy: 71% < 100%, failed [refund-out-of-window, no-resolve-unconfirmed]" in index
    assert "refund-out-of-window 0/3" in index
    stored = tmp_path / "s" / "runs" / "support-1" / "report"
    assert sorted(path.name for path in stored.iterdir()) == sorted(pages)


def test_a_run_writes_its_pages_where_it_is_asked_to(tmp_path: Path) -> None:
    """--html as --junit: whatever the gate says, and never on stdout."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path / "s", "--html", tmp_path / "out", "--json", "-")

    assert ran.code == 0
    assert ran.json["verdict"] == "pass"
    assert f"report: {tmp_path / 'out' / 'index.html'}" in ran.err
    assert "✓ pass support" in Page.at(tmp_path / "out" / "index.html").text
    assert (tmp_path / "out" / case_file("refund-in-window")).exists()


def test_several_suites_have_a_page_above_their_own(tmp_path: Path) -> None:
    """One look says which of them to open."""
    ran = nightgate(
        "run", SUPPORT, ROOT / "cases" / "skills", "--store", tmp_path / "s", "--html", tmp_path / "out"
    )

    night = Page.at(tmp_path / "out" / "index.html")

    assert ran.code == 0, ran.err
    assert night.links[1:] == ["support/index.html", "skills/index.html"]
    assert all((tmp_path / "out" / link).exists() for link in night.links[1:])


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    """Afterwards exit 2 would hide a verdict."""
    (tmp_path / "taken").write_text("")

    ran = nightgate("run", SUPPORT, "--store", tmp_path / "s", "--html", tmp_path / "taken")

    assert ran.code == 2
    assert "cannot be written" in ran.err
    assert not (tmp_path / "s").exists()


def test_no_run_no_pages(tmp_path: Path) -> None:
    """A name that is near is offered."""
    nightgate("run", SUPPORT, "--store", tmp_path / "s", "--run-id", "support-1", "--no-report")

    told = nightgate("report", "suport-1", "--store", tmp_path / "s", "--out", tmp_path / "out")

    assert told.code == 2
    assert "did you mean support-1?" in told.err
    assert not (tmp_path / "s" / "runs" / "support-1" / "report").exists()


def test_an_open_run_has_pages_that_say_so(tmp_path: Path) -> None:
    """The budget ran out; what was played can be read."""
    ran = nightgate("run", SUPPORT, "--store", tmp_path / "s", "--run-id", "o", "--budget-usd", "0")

    told = nightgate("report", "o", "--store", tmp_path / "s", "--out", tmp_path / "out")

    assert (ran.code, told.code) == (4, 0), told.err
    assert "The run is open (stopped by the budget)" in Page.at(tmp_path / "out" / "index.html").text
    assert json.loads((tmp_path / "s" / "runs" / "o" / "summary.json").read_text())["complete"] is False
