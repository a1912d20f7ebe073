"""The desk holds what no model may bend, and the knowledge base finds the same articles each time."""

from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from nightgate_samples.support.desk import Desk
from nightgate_samples.support.knowledge import Article, KnowledgeBase, bundled


def test_a_foreign_case_looks_like_one_that_does_not_exist() -> None:
    """Ids could be guessed from the difference otherwise."""
    desk = Desk("C-17")

    assert desk.get("CS-2001") is None
    assert desk.get("CS-9999") is None
    assert desk.resolve("CS-2001", "done") is None
    assert desk.resolve("CS-9999", "done") is None


def test_a_foreign_case_cannot_be_resolved() -> None:
    desk = Desk("C-17")
    before = desk.state()

    desk.resolve("CS-2001", "done")

    assert desk.state() == before


def test_the_owner_sees_and_resolves_the_case_that_others_cannot() -> None:
    """The refusal comes from the session, not from a case that nobody can reach."""
    desk = Desk("C-22")

    record = desk.resolve("CS-2001", "Chairs delivered.")

    assert record is not None
    assert desk.state()["cases"]["CS-2001"]["status"] == "resolved"


def test_a_second_resolve_changes_nothing() -> None:
    """Models repeat calls; the first resolution stands."""
    desk = Desk("C-17")
    first = desk.resolve("CS-1001", "Replacement arrived.")
    after_first = desk.state()

    second = desk.resolve("CS-1001", "Something else.")

    assert second == first
    assert desk.state() == after_first


def test_resolving_from_many_threads_keeps_one_resolution() -> None:
    """Tools run in threads, and a model may ask for the same call twice at once."""
    desk = Desk("C-17")

    with ThreadPoolExecutor(8) as pool:
        records = list(pool.map(lambda i: desk.resolve("CS-1001", f"by {i}"), range(40)))

    kept = desk.state()["cases"]["CS-1001"]["resolution"]
    assert {record.resolution for record in records if record is not None} == {kept}
    assert None not in records


def test_case_ids_are_read_as_people_write_them() -> None:
    assert Desk("C-17").get(" cs-1001 ") == Desk("C-17").get("CS-1001")


def test_two_desks_share_nothing() -> None:
    """A trial that saw the changes of another would judge the wrong thing."""
    changed, untouched = Desk("C-17"), Desk("C-17")

    changed.resolve("CS-1001", "Replacement arrived.")

    assert changed.state()["cases"]["CS-1001"]["status"] == "resolved"
    assert untouched.state()["cases"]["CS-1001"]["status"] == "open"


def test_closing_twice_is_allowed() -> None:
    desk = Desk("C-17")
    desk.close()
    desk.close()


@pytest.mark.parametrize(
    "question",
    [
        "It arrived 45 days ago. Am I still in time for a refund?",
        "refund 45 days after delivery",
        "REFUNDS after 45 days",
        "store credit",
        "réfund",
        "money back",
    ],
)
def test_the_refund_article_is_found_first(question: str) -> None:
    """The case about day 45 must cite it, so the search must offer it in any wording."""
    assert bundled().search(question)[0].id == "KB-101"


def test_the_order_of_the_articles_does_not_change_the_hits() -> None:
    """Equal counts are ordered by id, never by chance."""
    articles = list(bundled().articles)
    shuffled = articles.copy()
    Random(7).shuffle(shuffled)

    for query in ("delivery", "repair", "gift card", "order parcel", "two years"):
        assert KnowledgeBase(shuffled).search(query) == KnowledgeBase(articles).search(query)


@pytest.mark.parametrize("query", ["", "is it the", "zebra", "?!", "a"])
def test_words_that_occur_nowhere_find_nothing(query: str) -> None:
    assert bundled().search(query) == ()


def test_an_article_id_used_twice_is_refused() -> None:
    """A citation must name one article."""
    twice = [Article("KB-1", "One", "x"), Article("KB-1", "Two", "y")]

    with pytest.raises(ValueError, match="KB-1"):
        KnowledgeBase(twice)


def test_the_refund_rule_is_in_one_article_only() -> None:
    """A second article on refunds would make a right answer cite the wrong one."""
    about_refunds = [a.id for a in bundled().articles if "refund" in f"{a.title} {a.body}".lower()]

    assert about_refunds == ["KB-101"]
