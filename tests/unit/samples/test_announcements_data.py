"""The invented announcements: the same everywhere, and without ties where a case relies on an order."""

import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nightgate_samples.announcements.catalogue import CATALOGUE, REGIONS, SERVICES
from nightgate_samples.announcements.generate import LAST_DAY, SEED, announcements, plain

SEEDS = st.integers(min_value=0, max_value=2**32)
FEW = settings(max_examples=25, deadline=None)


def test_there_are_a_few_hundred_from_2004_to_2026() -> None:
    found = announcements()

    assert len(found) == 357
    assert (found[0].date.isoformat(), found[-1].date.isoformat()) == ("2004-05-11", "2026-06-24")
    assert {a.date.year for a in found} == set(range(2004, 2027))


def test_every_service_and_every_kind_is_there() -> None:
    found = announcements()

    assert Counter(a.kind for a in found) == {
        "region": 105,
        "feature": 91,
        "price cut": 74,
        "limit raise": 55,
        "deprecation": 22,
        "launch": 10,
    }
    assert {a.service for a in found} == set(SERVICES) == set(CATALOGUE)


def test_the_known_seed_gives_the_announcements_that_the_scripts_quote() -> None:
    """A new word in the catalogue moves everything after it; the replies would then quote nothing."""
    by_id = {a.id: a for a in announcements(SEED)}

    assert by_id["BW-0001"].title.startswith("Introducing Courier")
    assert by_id["BW-0042"].title == "Almanac is now available in the Mumbai region"
    assert by_id["BW-0300"].body == (
        "Gatehouse ends support for root access keys on 2025-05-20. Use roles instead."
    )
    assert by_id["BW-0357"].url == "https://news.brindlewick.example/2026/06/24/quarry-is-now-available"


def test_another_process_invents_the_same() -> None:
    """Sets and hashes must not decide anything: their order differs from process to process."""
    program = (
        "import zlib; from nightgate_samples.announcements.generate import announcements;"
        "print(zlib.crc32(repr(announcements()).encode()))"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(prints) == 1


def test_another_seed_gives_other_announcements() -> None:
    assert announcements(SEED) != announcements(SEED + 1)


@FEW
@given(seed=SEEDS)
def test_no_two_share_an_id_a_date_a_title_or_a_url(seed: int) -> None:
    """Oldest, newest and next are then one announcement each."""
    found = announcements(seed)

    for name in ("id", "date", "title", "url"):
        assert len({getattr(a, name) for a in found}) == len(found), name


@FEW
@given(seed=SEEDS)
def test_ids_rise_with_the_dates(seed: int) -> None:
    found = announcements(seed)

    assert [a.id for a in found] == [f"BW-{n:04d}" for n in range(1, len(found) + 1)]
    assert [a.date for a in found] == sorted(a.date for a in found)
    assert found[-1].date <= LAST_DAY


@FEW
@given(seed=SEEDS)
def test_the_oldest_of_each_service_is_its_launch(seed: int) -> None:
    """The cases about the oldest announcement of a service have one right answer, in any archive."""
    oldest = {}
    for a in announcements(seed):
        oldest.setdefault(a.service, a)

    assert {a.kind for a in oldest.values()} == {"launch"}
    assert {service: a.date for service, a in oldest.items()} == {
        service: facts.launched for service, facts in CATALOGUE.items()
    }


@FEW
@given(seed=SEEDS)
def test_a_limit_is_raised_from_where_it_stood(seed: int) -> None:
    """The newest announcement about a limit is then the one that holds."""
    stands: dict[tuple[str, str], str] = {}
    for a in announcements(seed):
        if a.kind == "limit raise":
            raised = re.fullmatch(r"\w+ raises the limit on (.+) from (.+) to (.+)", a.title)
            assert raised is not None
            limit, before, after = raised.groups()
            assert stands.get((a.service, limit), before) == before
            stands[a.service, limit] = after


def test_nothing_is_named_after_the_reader_could_mistake_it_for_real() -> None:
    """Links of a sample must lead nowhere, and nowhere that somebody could buy."""
    hosts = {a.url.split("/")[2] for a in announcements()}

    assert hosts == {"news.brindlewick.example"}


def test_some_titles_have_accents_and_no_url_has() -> None:
    found = announcements()

    assert any("São Paulo" in a.title for a in found)
    assert all(a.url.isascii() for a in found)
    assert len({plain(region) for region in REGIONS}) == len(REGIONS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("São Paulo", "sao paulo"), ("ZÜRICH", "zurich"), ("Bogota\u0301", "bogota"), ("Straße", "strasse")],
)
def test_plain_text_has_no_case_and_no_accents(text: str, expected: str) -> None:
    assert plain(text) == expected
