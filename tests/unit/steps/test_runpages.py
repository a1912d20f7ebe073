"""The page set of a run, from its store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from hostile import CASES, put_hostile_run
from makers import a_score
from nightgate.errors import DamagedError, InputError, MissingError, StoreError
from nightgate.reports.pages.casepage import case_file
from nightgate.rows import keys
from nightgate.scores import Score, Status
from nightgate.steps import runpages
from nightgate.steps.planning import store_plan
from nightgate.steps.runpages import has_pages, keep_pages, pages_of_run
from nightgate.testing import InMemoryStore
from pagereader import Page, figures_of
from playedruns import a_run_plan, put_run
from storednights import outcomes, put_night


def flaky(case: str, trial: int, evaluator: str) -> Score:
    """Every second case wavers, one evaluator breaks now and then."""
    if case == "b" and trial == 1:
        return a_score(Status.FAIL, reason="never searched", score=0.0)
    if evaluator == "ToneJudge" and trial == 2:
        return a_score(Status.ERROR, reason="no JSON")
    return a_score(score=1.0)


@pytest.fixture
def store() -> InMemoryStore:
    """A store with one run."""
    made = InMemoryStore()
    put_run(made, a_run_plan(["a", "b", "c"], ("ToolPolicy", "ToneJudge"), trials=3), score=flaky)
    return made


def test_every_figure_of_the_summary_stands_on_the_pages_with_its_value(store: InMemoryStore) -> None:
    """Field by field: those of cases on their own pages, all others on the first."""
    summary = json.loads(store.read(keys.summary_key("demo-1")))
    pages = {name: Page(data) for name, data in pages_of_run(store, "demo-1")}
    found: dict[str, set[str]] = {}
    for page in pages.values():
        for path, values in page.figures.items():
            found.setdefault(path, set()).update(values)

    wanted = figures_of(summary)

    assert len(wanted) > 150
    assert {path: found.get(path) for path in wanted} == {path: {value} for path, value in wanted.items()}
    assert {path for path in pages["index.html"].figures if not path.startswith("/cases/")} >= {
        path for path in wanted if not path.startswith("/cases/")
    }


def test_links_lead_to_pages_of_the_set_and_to_places_on_them(store: InMemoryStore) -> None:
    """The set is one folder; nothing leads out of it."""
    pages = {name: Page(data) for name, data in pages_of_run(store, "demo-1")}

    for name, page in pages.items():
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            file, _, place = link.partition("#")
            assert (file or name) in pages, link
            assert not place or place in pages[file or name].ids, link


def test_the_first_page_comes_last(store: InMemoryStore) -> None:
    """A page that it links to is there before it."""
    names = [name for name, _ in pages_of_run(store, "demo-1")]

    assert names == [*(case_file(case) for case in "abc"), "index.html"]


def test_the_nights_before_stand_on_the_page_of_a_case() -> None:
    """Its history is the suite's, this run marked in it."""
    store = InMemoryStore()
    for night in range(3):
        put_night(store, night, outcomes({"a": "pfp"}, "ToolPolicy"), run_id=f"demo-2026110{night + 1}")
    put_run(store, a_run_plan(["a"], trials=3))

    page = Page(dict(pages_of_run(store, "demo-1"))[case_file("a")])

    assert "11-01 11-02" in page.text
    assert page.text.count("✗ 2/3") == 3
    assert "11-29 this run" in page.text


def test_a_night_that_cannot_be_read_is_told_and_the_run_is_shown(store: InMemoryStore) -> None:
    """Another run's damage is not this one's."""
    store.replace(keys.flakiness_report_key("demo-1"), b"{}")

    text = Page(dict(pages_of_run(store, "demo-1"))["index.html"]).text

    assert "runs/demo-1/flakiness.json" in text
    assert "✗ fail demo" in text


def test_a_run_without_a_whole_summary_is_refused(store: InMemoryStore) -> None:
    """Its figures are what the pages show."""
    store.replace(keys.summary_key("demo-1"), b"not json")
    with pytest.raises(DamagedError, match=r"nightgate gate demo-1"):
        list(pages_of_run(store, "demo-1"))

    store.delete([keys.summary_key("demo-1")])
    with pytest.raises(MissingError, match="--resume demo-1"):
        list(pages_of_run(store, "demo-1"))


def test_a_sweep_has_no_trials_of_its_own(store: InMemoryStore) -> None:
    """Whoever asks is told whose pages have them."""
    store_plan(store, replace(a_run_plan(["a"]), run_id="sweep-1", run_kind="sweep", source="demo-1"))

    with pytest.raises(InputError, match="on the pages of demo-1"):
        list(pages_of_run(store, "sweep-1"))


def test_pages_are_kept_under_the_run_and_replaced(store: InMemoryStore) -> None:
    """A resumed run writes them again."""
    assert not has_pages(store, "demo-1")
    store.replace(keys.report_key("demo-1", "index.html"), b"old")

    keep_pages(store, "demo-1")

    assert store.find("runs/demo-1/report/") == sorted(
        keys.report_key("demo-1", name) for name in [*(case_file(case) for case in "abc"), "index.html"]
    )
    assert Page(store.read(keys.report_key("demo-1", "index.html"))).text.startswith("Skip")
    assert has_pages(store, "demo-1")


def test_a_set_that_could_not_be_written_whole_has_no_first_page() -> None:
    """Nobody is led to pages that are not there."""

    class Full(InMemoryStore):
        def replace(self, key: str, data: bytes) -> None:
            if key.endswith(case_file("b")):
                raise StoreError("the disk is full")
            super().replace(key, data)

    store = Full()
    put_run(store, a_run_plan(["a", "b", "c"]))

    with pytest.raises(StoreError, match="full"):
        keep_pages(store, "demo-1")

    assert not has_pages(store, "demo-1")


def test_one_case_is_in_memory_at_a_time(store: InMemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page leaves before the next case is read: memory does not grow with the run."""
    order: list[str] = []
    played = runpages.played_cases

    def noted(*args: Any) -> Iterator[Any]:
        for one in played(*args):
            order.append(f"read {one.case.case_id}")
            yield one

    monkeypatch.setattr(runpages, "played_cases", noted)

    for name, _ in pages_of_run(store, "demo-1"):
        order.append(name)

    assert order == [step for case in "abc" for step in (f"read {case}", case_file(case))] + ["index.html"]
    assert len(list(pairwise(order))) == 6


def test_a_hostile_run_is_a_run_of_texts() -> None:
    """Every text in it tries to be something else, on every page."""
    store = InMemoryStore()
    files = dict(pages_of_run(store, put_hostile_run(store)))

    pages = {name: Page(data) for name, data in files.items() if name.endswith(".html")}

    assert len(pages) == len(CASES) + 1
    for name, page in pages.items():
        assert not {"script", "img", "iframe", "form", "textarea"} & set(page.tags), name
        assert page.handlers == [], name
        assert page.unbalanced == [], name
        assert not any(link.startswith(("javascript:", "http")) for link in page.links), name
        assert not {"\x1b", "\u202e", "\u2066", "\x00", "\x9b"} & set(files[name].decode()), name
        assert len(files[name]) < 200_000, name
