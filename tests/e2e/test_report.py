"""Pages of runs from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disks import disk
from nightgate.reports.pages.casepage import case_file
from pagereader import Page, figures_of
from servers import free_ports
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


def test_somebody_elses_first_page_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    """--html into the folder of a web site."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.html").write_text("our shop")

    ran = nightgate("run", SUPPORT, "--store", tmp_path / "s", "--html", tmp_path / "out")

    assert ran.code == 2
    assert "index.html is there and is no page of nightgate's" in ran.err
    assert not (tmp_path / "s").exists()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]


def test_a_disk_that_fills_up_costs_the_pages_and_not_the_verdict(tmp_path: Path) -> None:
    """A warning with the command that makes them again; `report` says what is wrong and exits with 2."""
    with disk(tmp_path / "small", megabytes=1) as small:
        small.fill(leave=40_000)
        out = small.path / "out"

        ran = nightgate("run", SUPPORT, "--store", tmp_path / "s", "--run-id", "r", "--html", out)
        told = nightgate("report", "r", "--store", tmp_path / "s", "--out", out)

        left = {path.name: path.read_bytes().rstrip() for path in out.iterdir()}

    assert (ran.code, told.code) == (0, 2)
    assert ran.err.count("warning: --html: the pages of run r: NOT written: ") == 1
    assert "`nightgate report r --out DIR` makes it again" in ran.err
    assert told.err.count("\n") == 1
    assert "cannot be written: No space left on device; make room" in told.err
    assert left
    assert "index.html" not in left
    assert all(page.endswith(b"</html>") for page in left.values())


def test_a_disk_that_takes_nothing_is_refused_in_a_line(tmp_path: Path) -> None:
    """Read-only, as an image of a container is."""
    nightgate("run", SUPPORT, "--store", tmp_path / "s", "--run-id", "r", "--no-report")
    with disk(tmp_path / "image") as image:
        image.protect()
        told = nightgate("report", "r", "--store", tmp_path / "s", "--out", image.path / "out")
        ran = nightgate("run", SUPPORT, "--store", tmp_path / "s2", "--html", image.path / "out")

    for command in (told, ran):
        assert command.code == 2
        assert command.err.count("\n") == 1
        assert "cannot be written: Read-only file system; make room or see to its rights" in command.err
    assert not (tmp_path / "s2").exists()


def test_a_store_that_is_away_is_told_in_a_line(tmp_path: Path) -> None:
    """What is stored cannot be shown: 3, not wrong input."""
    (port,) = free_ports(1)
    away = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
    }

    told = nightgate("report", "latest", "--store", "s3://evals/x", "--out", tmp_path / "out", env=away)

    assert told.code == 3
    assert told.err.count("\n") == 1
    assert "out of reach after 3 tries" in told.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("run_id", ["../../escape", "/etc/passwd", "A", "x" * 300, "a/b", "..", "con "])
def test_a_hostile_run_id_writes_nowhere(tmp_path: Path, run_id: str) -> None:
    """Neither as the run that is asked for, nor as that of a new one."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    store, out = tmp_path / "deep" / "er" / "s", tmp_path / "deep" / "er" / "out"

    told = nightgate("report", run_id, "--store", store, "--out", out)
    ran = nightgate("run", SUPPORT, "--store", store, "--run-id", run_id, "--html", out)

    assert (told.code, ran.code) == (2, 2)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
