"""AnswerPolicy: the wording of the final answer, and its language."""

from typing import Any

import pytest

from makers import a_case, a_trial
from nightgate.evaluators.answer import AnswerPolicy, speaks
from nightgate.scores import Score, Status

ENGLISH = "Not as a refund, but for store credit until day ninety."
SPANISH = "No es posible obtener un reembolso, pero sí un crédito en la tienda."


def judged(answer: str, **want: Any) -> Score:
    return AnswerPolicy().evaluate(a_trial(answer), a_case(expect={"answer": want}))


@pytest.mark.parametrize(
    ("want", "status"),
    [
        ({"contains": ["STORE   credit"]}, Status.PASS),
        ({"contains": ["store credit", "cash"]}, Status.FAIL),
        ({"contains_any": ["cash", "credit"]}, Status.PASS),
        ({"contains_any": ["cash", "gift"]}, Status.FAIL),
        ({"not_contains": ["60 days"]}, Status.PASS),
        ({"not_contains": ["Réfund"]}, Status.FAIL),
        ({"not_contains": [" fund "]}, Status.PASS),
        ({"matches": [r"day \w+\.$"]}, Status.PASS),
        ({"matches": ["^credit"]}, Status.FAIL),
        ({"not_matches": [r"\d"]}, Status.PASS),
        ({"not_matches": ["CREDIT"]}, Status.FAIL),
        ({"contains": ["store credit"], "exact": True}, Status.PASS),
        ({"contains": ["Store credit"], "exact": True}, Status.FAIL),
        ({"matches": ["Credit"], "exact": True}, Status.FAIL),
    ],
)
def test_each_part_decides(want: dict[str, Any], status: Status) -> None:
    """Needles, patterns and text are folded alike, unless the case asks for exact text."""
    assert judged(ENGLISH, **want).status is status


def test_accents_count_where_exact_is_asked() -> None:
    """Exact is NFC and nothing else."""
    assert judged("si\u0301", contains=["sí"], exact=True).status is Status.PASS
    assert judged("si", contains=["sí"], exact=True).status is Status.FAIL
    assert judged("SI", contains=["sí"]).status is Status.PASS


def test_an_empty_answer_lacks_everything_and_holds_nothing() -> None:
    """An agent that says nothing has not passed a check for what it must say."""
    assert judged("", contains=["x"]).status is Status.FAIL
    assert judged("", not_contains=["x"]).status is Status.PASS


def test_all_broken_parts_are_in_the_reason() -> None:
    """One look has to say what to fix, with the answer beside it."""
    score = judged("Cash!", contains=["credit"], not_contains=["cash"], matches=["[0-9]"])
    assert score.reason == "lacks 'credit'; holds forbidden 'cash'; matches no /[0-9]/ (answer: 'Cash!')"


@pytest.mark.parametrize(
    ("answer", "language", "verdict"),
    [
        (ENGLISH, "en", True),
        (ENGLISH, "es", False),
        (SPANISH, "es", True),
        (SPANISH, "en", False),
        ("Das ist leider nicht mehr möglich.", "de", True),
        ("Das ist leider nicht mehr möglich.", "en", False),
        ("Não é possível obter reembolso após 30 dias.", "pt-BR", True),
        ("Não é possível obter reembolso após 30 dias.", "es", False),
        (SPANISH, "pt", False),
        ("Sí, claro que puede.", "es", True),
        ("Your refund is approved.", "en", True),
        ("はい、三十日以内なら返金できます。", "ja", True),
        ("请访问https://example.com了解更多信息，我们可以为您退款。", "zh", True),
        ("Ja, det er mulig å få refusjon innen 30 dager.", "no", True),
        ("Hola! Your refund was approved and will arrive within five working days.", "en", True),
        (f"{SPANISH} [KB-101] https://example.com/about-the-refund-policy `refund_window`", "es", True),
        (f"{SPANISH}\n```python\nfor order in orders: print(order.status)\n```", "es", True),
    ],
)
def test_the_language_of_an_answer_is_told(answer: str, language: str, verdict: bool) -> None:
    """A region is no other language; a greeting, a link, code and a citation turn nothing over."""
    assert speaks(answer, language)[0] is verdict


@pytest.mark.parametrize(
    ("answer", "language"),
    [
        ("", "es"),
        ("OK.", "en"),
        ("42", "de"),
        ("No, lo siento.", "es"),
        ("https://example.com/about/whats-new/2004/november/", "es"),
        ("[KB-101] [KB-102] [KB-103] [POLICY-9]", "en"),
        ("`SELECT name, price FROM announcements`", "es"),
        (ENGLISH, "xx"),
    ],
)
def test_what_has_no_language_is_not_guessed(answer: str, language: str) -> None:
    """A short answer, a bare link, a list of citations: cannot tell is no fail and no pass."""
    verdict, note = speaks(answer, language)
    assert verdict is None
    assert note


def test_cannot_tell_is_not_applicable_when_all_else_holds() -> None:
    """It is a hole that everyone sees, not a pass."""
    score = judged("OK.", contains=["ok"], language="en")
    assert (score.status, score.score) == (Status.NOT_APPLICABLE, None)


def test_a_failed_part_outranks_one_that_cannot_be_told() -> None:
    """The answer is wrong whatever its language is."""
    assert judged("OK.", contains=["no"], language="en").status is Status.FAIL


def test_the_wrong_language_fails_though_all_words_are_there() -> None:
    """The family's other language answers in English: the failure that the check is for."""
    score = judged(f"{ENGLISH} [KB-101]", contains=["KB-101"], language="es")
    assert score.status is Status.FAIL
    assert "want es" in score.reason


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        ({"contains": ["cash", "credit"]}, "'cash' in the answer"),
        ({"contains_any": ["cash", "gift"]}, "one of 'cash', 'gift' in the answer"),
        ({"matches": ["^credit"]}, "an answer that matches /^credit/"),
    ],
)
def test_a_fail_says_what_was_expected_beside_the_answer(want: dict[str, Any], expected: str) -> None:
    """Of the check only what did not hold."""
    assert judged(ENGLISH, **want).details == {"expected": expected, "observed": f"the answer {ENGLISH!r}"}


@pytest.mark.parametrize(
    ("want", "expected"),
    [
        ({"not_contains": ["As an AI"]}, "no 'As an AI' in the answer"),
        ({"not_matches": ["an ai.*"]}, "no match of /an ai.*/ in the answer"),
    ],
)
def test_what_is_forbidden_is_shown_where_it_stands(want: dict[str, Any], expected: str) -> None:
    """In a long answer the beginning shows nothing of it."""
    score = judged("x" * 5_000 + " Sorry: as an ÁI I cannot. " + "y" * 5_000, **want)
    assert score.details["expected"] == expected
    assert "sorry: as an ai i cannot. yyy" in score.details["observed"]
    assert len(score.details["observed"]) <= 300


def test_the_wrong_language_is_expected_and_observed_too() -> None:
    """Which one was wanted, which one it is."""
    details = judged(ENGLISH, language="es").details
    assert details["expected"] == "an answer in es"
    assert details["observed"].startswith("the answer is in en (")
    assert details["observed"].endswith(f"the answer {ENGLISH!r}")


def test_what_cannot_be_told_has_both_sides_as_well() -> None:
    """A hole is read by the same person."""
    assert judged("OK.", language="en").details == {
        "expected": "an answer in en",
        "observed": "2 letters are too few to tell a language; the answer 'OK.'",
    }


def test_an_empty_answer_is_called_that() -> None:
    """Two quotes are easily overlooked."""
    assert judged(" \n", contains=["x"]).details["observed"] == "an empty answer"


def test_a_pass_has_no_difference_to_show() -> None:
    """Nothing differs."""
    assert judged(ENGLISH, contains=["credit"], language="en").details == {}
