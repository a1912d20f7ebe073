"""The fourth layer: the search's own filters, order, limit and window, without any model near."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from nightgate_samples.announcements.archive import HISTORY_YEARS, MAX_LIMIT, Archive
from nightgate_samples.announcements.catalogue import SERVICES
from nightgate_samples.announcements.generate import announcements

ALL = announcements()


@pytest.fixture
def archive():
    opened = Archive()
    yield opened
    opened.close()


def ids(found) -> list[str]:
    return [record.id for record in found.records]


def test_ascending_is_oldest_first_and_descending_is_newest_first(archive) -> None:
    oldest = archive.search(sort_order="asc", all_history=True, limit=5)
    newest = archive.search(sort_order="desc", all_history=True, limit=5)

    assert ids(oldest) == [a.id for a in ALL[:5]]
    assert ids(newest) == [a.id for a in ALL[::-1][:5]]


def test_the_direction_has_no_default(archive) -> None:
    """A default would be a guess in the place where the model must choose."""
    with pytest.raises(TypeError):
        archive.search("price cut")


@pytest.mark.parametrize("direction", ["ASC", "newest", "", "asc; DROP TABLE announcements"])
def test_another_direction_is_refused(archive, direction: str) -> None:
    with pytest.raises(ValueError, match="give asc"):
        archive.search(sort_order=direction)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_filters_by_service(archive, service) -> None:
    found = archive.search(sort_order="asc", service=service, all_history=True, limit=MAX_LIMIT)

    assert found.total == len(found.records) == sum(a.service == service for a in ALL)
    assert {record.service for record in found.records} == {service}


def test_a_text_that_names_another_service_is_no_announcement_of_it(archive) -> None:
    """Quarry has links to Almanac; that is Quarry's news."""
    found = archive.search("almanac", sort_order="asc", service="Quarry", all_history=True)

    assert [record.service for record in found.records] == ["Quarry"]


@pytest.mark.parametrize("year", range(2004, 2027))
def test_a_year_filters_by_year(archive, year: int) -> None:
    found = archive.search(sort_order="desc", year=year, limit=MAX_LIMIT)

    assert ids(found) == [a.id for a in ALL[::-1] if a.date.year == year]
    assert (found.first_year, found.last_year) == (year, year)


@pytest.mark.parametrize("all_history", [True, False])
def test_a_named_year_is_searched_however_long_ago(archive, *, all_history: bool) -> None:
    """Somebody who names 2004 does not ask for the newest years."""
    assert archive.search(sort_order="asc", year=2004, all_history=all_history).total == 5


def test_without_all_history_only_the_newest_years_of_the_archive_are_searched(archive) -> None:
    found = archive.search(sort_order="asc", limit=MAX_LIMIT)

    expected = [a.id for a in ALL if a.date.year > ALL[-1].date.year - HISTORY_YEARS]
    assert found.total == len(expected) == 62
    assert ids(found) == expected[:MAX_LIMIT]
    assert (found.first_year, found.last_year) == (2024, 2026)


def test_with_all_history_nothing_is_left_out(archive) -> None:
    found = archive.search(sort_order="asc", all_history=True)

    assert found.total == len(ALL)
    assert (found.first_year, found.last_year) == (2004, 2026)


@pytest.mark.parametrize("limit", [1, 3, 10, MAX_LIMIT])
def test_the_limit_bounds_what_is_shown_and_not_what_is_counted(archive, limit: int) -> None:
    """Ten of 357 must not look like all there is."""
    found = archive.search(sort_order="asc", all_history=True, limit=limit)

    assert (len(found.records), found.total) == (limit, len(ALL))


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
def test_a_limit_out_of_bounds_is_refused(archive, limit: int) -> None:
    """SQLite takes -1 for no limit at all."""
    with pytest.raises(ValueError, match="give 1 to 50"):
        archive.search(sort_order="asc", limit=limit)


@pytest.mark.parametrize("query", ["São Paulo", "sao paulo", "SAO PAULO", "Sa\u0303o  Paulo", "paulo, são?"])
def test_words_match_without_case_accents_and_order(archive, query: str) -> None:
    found = archive.search(query, sort_order="desc", service="Kiln", all_history=True)

    assert [record.title for record in found.records] == ["Kiln is now available in the São Paulo region"]


def test_every_word_must_occur(archive) -> None:
    both = archive.search("price cut storage", sort_order="asc", all_history=True, limit=MAX_LIMIT)

    assert both.total > 0
    assert all("price cut" in r.title and "storage" in f"{r.title} {r.body}" for r in both.records)
    assert archive.search("price cut zeppelin", sort_order="asc", all_history=True).total == 0


def test_a_word_matches_beginnings_and_never_middles(archive) -> None:
    def total(query: str) -> int:
        return archive.search(query, sort_order="asc", all_history=True).total

    assert total("avail") == total("available") > 0
    assert total("vailable") == 0


def test_a_plural_finds_the_singular(archive) -> None:
    one = archive.search("price cut", sort_order="asc", all_history=True, limit=MAX_LIMIT)
    many = archive.search("price cuts", sort_order="asc", all_history=True, limit=MAX_LIMIT)

    assert one == many
    assert one.total == sum(a.kind == "price cut" for a in ALL)


@pytest.mark.parametrize("query", ["", "   ", "?!"])
def test_no_words_fit_everything(archive, query: str) -> None:
    assert archive.search(query, sort_order="asc", all_history=True).total == len(ALL)


@pytest.mark.parametrize("query", ["100%", "_", "' OR 1=1 --", "a*b", "\x00"])
def test_signs_have_no_meaning_of_their_own(archive, query: str) -> None:
    """Neither LIKE's wildcards nor SQL reach the database through a query."""
    archive.search(query, sort_order="asc", all_history=True)

    assert archive.search(sort_order="asc", all_history=True).total == len(ALL)


def test_all_filters_hold_at_once(archive) -> None:
    found = archive.search("region", sort_order="asc", service="Stow", year=2025, limit=1)

    assert found.total == 2
    assert [record.title for record in found.records] == ["Stow is now available in the Singapore region"]


def test_the_word_region_finds_regions_only(archive) -> None:
    """A filler sentence with the word in every body would drown them."""
    found = archive.search("region", sort_order="asc", service="Ferry", all_history=True, limit=MAX_LIMIT)

    assert all("region" in record.title for record in found.records)


def test_a_record_is_found_by_its_id_however_it_is_written(archive) -> None:
    assert archive.get(" bw-0042 ") == archive.get("BW-0042")
    assert archive.get("BW-0042").date == "2009-07-06"


@pytest.mark.parametrize("announcement_id", ["BW-9999", "BW-42", "", "BW-0042'--"])
def test_an_unknown_id_finds_nothing(archive, announcement_id: str) -> None:
    assert archive.get(announcement_id) is None


def test_the_archive_cannot_be_written_to(archive) -> None:
    """A trial that could change it would change the next trial's answers."""
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        archive._database.execute("DELETE FROM announcements")


def test_two_archives_are_two_copies() -> None:
    first, second = Archive(), Archive()
    first.close()

    assert second.search(sort_order="asc", all_history=True).total == len(ALL)


def test_many_threads_may_search_at_once(archive) -> None:
    """Tools run in threads, and a model may ask for several searches in one turn."""

    def search(year: int):
        return archive.search(sort_order="asc", year=year)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(search, [*range(2004, 2027)] * 4))

    assert found == [search(year) for year in [*range(2004, 2027)] * 4]


def test_closing_twice_is_allowed(archive) -> None:
    archive.close()
    archive.close()
