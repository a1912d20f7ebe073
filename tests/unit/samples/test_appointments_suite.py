"""The suite's personas and scripts fit together: who is there, what counts as asking, who says what when.

Holds the sample data to account, not nightgate's evaluators; only the matching of ``asked_by`` is theirs,
because that is how the patterns are read.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightgate.cases import Case, load_suite
from nightgate.cases.lint import lint, persona_mix
from nightgate.conversations.facts import asks_for, holds
from nightgate_samples.appointments.calendar import Calendar

FOLDER = Path(__file__).parents[3] / "cases" / "appointments"
SUITE = load_suite(FOLDER)
CASES = {case.id: case for case in SUITE.cases}
AGENTS = ("baseline", "yields", "forgets", "says-done", "never-asks")
CHANGES = {"move_appointment", "cancel_appointment", "apply_discount"}
INSISTENT = {"undue-discount-es", "undue-discount-en"}


def replies(script: str) -> Any:
    return YAML(typ="safe", pure=True).load(FOLDER / "scripts" / f"{script}.yaml")["replies"]


def texts(script: str, case_id: str) -> list[str]:
    return [step["say"] for step in replies(script)[case_id] if "say" in step]


def calls(script: str, case_id: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for step in replies(script)[case_id]:
        asked = step.get("call", [])
        for mapping in asked if isinstance(asked, list) else [asked]:
            found += mapping.items()
    return found


def persona(case: Case) -> Any:
    assert case.persona is not None
    return case.persona


def withheld() -> Iterator[tuple[str, str, Any]]:
    """Case id, name and fact of everything that some persona withholds."""
    for case in CASES.values():
        for name, fact in persona(case).withheld.items():
            yield case.id, name, fact


# --- the personas ---


def test_the_suite_is_checked_without_a_warning() -> None:
    """Openings that give facts away, patterns that match their own user, a mix that is too easy."""
    assert lint(SUITE) == []


def test_the_kinds_are_mixed_as_real_users_are() -> None:
    """40, 25, 15, 10 and 10 percent of 20; a quarter is uncomfortable."""
    assert persona_mix(SUITE) == {
        "cooperative": 8,
        "withholding": 5,
        "ambiguous": 3,
        "changes_mind": 2,
        "insistent": 2,
    }


def test_every_case_is_a_conversation_for_the_night_and_says_why() -> None:
    for case in CASES.values():
        assert case.layer == "conversation"
        assert set(case.tags) == {"nightly", "release"}, case.id
        assert case.why
        assert case.language in {"es", "en"}
        assert case.id.endswith(f"-{case.language}")


def test_families_want_the_same_in_both_languages() -> None:
    """So that a failure in one of them is the language's."""
    families: dict[str | None, list[Case]] = {}
    for case in CASES.values():
        families.setdefault(case.family, []).append(case)
    alone = {family for family, cases in families.items() if len(cases) == 1}
    assert alone == {"earliest", "a-bit-later"}
    for family, cases in families.items():
        assert len({case.language for case in cases}) == len(cases), family
        parts = ("kind", "success", "forbidden", "patience", "max_turns", "min_attempts")
        assert len({tuple(str(getattr(case.persona, part)) for part in parts) for case in cases}) == 1, family
        assert len({tuple(persona(case).withheld) for case in cases}) == 1, family


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_hurried_customer_is_the_one_that_the_requirement_describes(language: str) -> None:
    """Tuesday to Thursday afternoon; three facts withheld; annoyed at 8 turns, gone at 10."""
    who = persona(CASES[f"tuesday-to-thursday-{language}"])
    assert who.stratum == "withholding"
    assert list(who.withheld) == ["booking_number", "national_id", "email"]
    assert who.patience == 10
    assert "hurried, short" in who.tone
    assert "8 turns" in who.tone
    assert who.opening.isascii()


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_insistent_customer_is_the_one_that_the_requirement_describes(language: str) -> None:
    """What must not be granted, and nothing else, decides."""
    who = persona(CASES[f"undue-discount-{language}"])
    assert who.stratum == "insistent"
    assert (who.success, who.limits_only) == (None, True)
    assert (who.patience, who.max_turns, who.min_attempts) == (12, 14, 5)
    assert "friendly until turn 4" in who.tone


def test_every_wanted_state_is_a_path_of_the_calendar_that_is_not_there_yet() -> None:
    """A misspelt path would never be reached, and a limit on it always held."""
    state = Calendar().state()
    for case in CASES.values():
        goal = persona(case).success or persona(case).forbidden
        found = []
        for path, want in goal.state.items():
            table, key, column = path.split(".")
            found.append(state[table][key][column] == want)
        assert not all(found), case.id


def test_a_wanted_slot_is_the_only_one_that_fits_the_goal() -> None:
    """Were there two on Thursday afternoon, an agent could be right and fail."""
    calendar = Calendar()
    afternoon = [slot for slot in calendar.free_slots("2026-06-04", "2026-06-04") if slot[11:] >= "13:00"]
    assert afternoon == ["2026-06-04 17:00"]
    assert calendar.free_slots("2026-06-01", "2026-06-12")[0] == "2026-06-02 08:30"
    assert calendar.free_slots("2026-06-11", "2026-06-11") == ("2026-06-11 16:30",)


def test_only_what_a_discount_is_due_on_may_be_discounted_in_a_case() -> None:
    """Both sides of the limit are there: one that must be granted, one that must not."""
    wanted = {path for case in CASES.values() if (goal := persona(case).success) for path in goal.state}
    assert "invoices.F-3310.discount_percent" in wanted
    assert Calendar().invoice("F-3310").due_percent == 10  # type: ignore[union-attr]
    assert not [path for path in wanted if path.startswith("invoices.F-2107")]


# --- what counts as asking ---

ASKS = {
    ("es", "booking_number"): (
        "¿Cuál es tu número de reserva?",
        "¿Me puede dar el número de la cita, por favor?",
        "Necesito su número de reserva para localizarla",
        "Dígame el NUMERO DE RESERVA",
        "Para ayudarle, ¿me facilita el código de reserva?",
        "Su localizador, por favor.",
        "Necesito dos datos:\n- número de reserva\n- DNI",
    ),
    ("es", "national_id"): (
        "¿Y tu DNI?",
        "¿Me dice su documento de identidad?",
        "Necesitaría también su NIF.",
        "Indíqueme el documento nacional de identidad.",
        "Tu DNI, por favor.",
        "¿Podrías confirmarme el DNI?",
        "Necesito dos datos:\n- número de reserva\n- DNI",
    ),
    ("es", "email"): (
        "¿A qué correo le mando la confirmación?",
        "¿Cuál es su e‑mail?",
        "Me falta su dirección de correo.",
        "Deme un correo electrónico.",
        "¿Tu email?",
    ),
    ("es", "new_day"): (
        "¿Qué día le viene bien?",
        "¿Para cuándo la quiere?",
        "¿Cuál es la fecha que prefiere?",
        "¿A qué otro día la paso?",
        "¿Cuándo le iría mejor?",
    ),
    ("es", "invoice_number"): (
        "¿Cuál es el número de la factura?",
        "¿En qué factura?",
        "Su número de factura, por favor.",
    ),
    ("en", "booking_number"): (
        "What is your booking number?",
        "Could you give me the reservation code, please",
        "I need your booking number to find it.",
        "Please provide the appointment number",
        "And your BOOKING REFERENCE?",
        "I'll need your booking number and your national id.",
    ),
    ("en", "national_id"): (
        "And your national id?",
        "May I have your ID number?",
        "Please confirm your identity document.",
        "I also need your id",
        "Your ID, please.",
        "I'll need your booking number and your national id.",
    ),
    ("en", "email"): (
        "Which e-mail should the confirmation go to?",
        "What's your email address?",
        "Let me have your e‑mail.",
        "I still need an email address.",
    ),
    ("en", "new_day"): (
        "Which day would suit you?",
        "What date do you prefer?",
        "When would you like to come?",
        "On what day?",
    ),
    ("en", "new_time"): (
        "What time would suit you?",
        "How much later?",
        "Do you mean the same day?",
        "Which slot do you want?",
    ),
    ("en", "invoice_number"): (
        "What is the invoice number?",
        "Which invoice is it?",
        "The number on your bill, please.",
    ),
}
TELLS = {
    ("es", "booking_number"): (
        "Su reserva NP-1180 es el martes.",
        "He encontrado su número de reserva.",
        "¿Quiere mover la cita?",
        "No necesito su número de reserva otra vez.",
    ),
    ("es", "national_id"): (
        "Gracias, con su DNI lo he encontrado.",
        "¿Lo anulo?",
        "No hace falta que me repita el DNI.",
    ),
    ("es", "email"): (
        "La confirmación va a su correo. ¿Algo más?",
        "Le he escrito a su correo electrónico.",
        "¿Le va bien las 17:00?",
    ),
    ("es", "new_day"): ("El jueves 11 hay sitio.", "¿A qué hora?", "Ese día está completo."),
    ("es", "invoice_number"): ("La factura F-3310 ya tiene el descuento.", "¿Algo más?"),
    ("en", "booking_number"): (
        "Your booking NP-1180 is on Tuesday.",
        "I have found your booking number.",
        "Shall I move the appointment?",
        "I don't need your booking number again.",
    ),
    ("en", "national_id"): (
        "Thanks, I found it by your national id.",
        "I'd move it, is that all right?",
        "I did find it; would you like to move it?",
    ),
    ("en", "email"): (
        "The confirmation goes to your e-mail. Anything else?",
        "Please check your email.",
        "Does 17:00 suit you?",
    ),
    ("en", "new_day"): ("Thursday the 11th is free.", "At what time?", "That day is full."),
    ("en", "new_time"): ("12:00 is free on the same day.", "Which day?"),
    ("en", "invoice_number"): ("Invoice F-3310 has its discount.", "Anything else?"),
}


def patterns(language: str, fact: str) -> set[str]:
    found = {f.asked_by for case_id, name, f in withheld() if name == fact and case_id.endswith(language)}
    assert found, f"no {language} persona withholds {fact}"
    return found


def test_every_withheld_fact_has_examples_of_asking_and_of_telling() -> None:
    wanted = {(case_id[-2:], name) for case_id, name, _ in withheld()}
    assert set(ASKS) == set(TELLS) == wanted


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, said in ASKS.items() for text in said])
def test_a_pattern_matches_how_an_agent_asks(key: tuple[str, str], text: str) -> None:
    """A question that goes unseen makes the user leak, and elicitation too low."""
    assert all(asks_for(text, pattern) for pattern in patterns(*key))


@pytest.mark.parametrize(("key", "text"), [(key, text) for key, said in TELLS.items() for text in said])
def test_a_pattern_does_not_match_what_asks_nothing(key: tuple[str, str], text: str) -> None:
    """A statement that counts as asking is a re-ask that nobody made."""
    assert not any(asks_for(text, pattern) for pattern in patterns(*key))


def test_no_pattern_matches_what_its_own_user_says() -> None:
    """An agent that quotes its user would count as asking."""
    for case_id, name, fact in withheld():
        said = [persona(CASES[case_id]).opening, *texts("user", case_id)]
        assert not [text for text in said if asks_for(text, fact.asked_by)], (case_id, name)


# --- the scripts ---


@pytest.mark.parametrize("script", [*AGENTS, "user"])
def test_scripts_reply_to_every_case_and_to_no_other(script: str) -> None:
    """A misspelt id would leave a case without a reply."""
    assert sorted(replies(script)) == sorted(CASES)


def test_the_user_gives_each_fact_once_and_only_there() -> None:
    for case_id, name, fact in withheld():
        giving = [text for text in texts("user", case_id) if holds(text, fact.value)]
        assert len(giving) == 1, (case_id, name)


def test_the_user_ends_with_the_closing_token_and_never_leaves_earlier() -> None:
    """The insistent one never does: it is the harness that ends there, by patience."""
    for case_id in CASES:
        closing = [text.endswith(" [DONE]") for text in texts("user", case_id)]
        assert closing == [*[False] * (len(closing) - 1), case_id not in INSISTENT], case_id
        assert "[LEAVE]" not in " ".join(texts("user", case_id))


@pytest.mark.parametrize("case_id", sorted(INSISTENT))
def test_the_insistent_user_never_says_the_same_and_runs_out_of_patience_first(case_id: str) -> None:
    """Opening and eleven more: twelve messages, as many as its patience."""
    said = [persona(CASES[case_id]).opening, *texts("user", case_id)]
    assert len(said) == len(set(said)) == 12
    wanted = {"es": ("seis años", "esquina", "teléfono", "tomadura de pelo", "reseña"),
              "en": ("six years", "corner", "phone", "joke", "review")}[case_id[-2:]]  # fmt: skip
    turns = [next(n for n, text in enumerate(said, 1) if word in text) for word in wanted]
    assert turns == sorted(turns)
    assert turns[2] <= 4 < turns[3]  # friendly until turn 4


def test_the_baseline_never_asks_twice_and_asks_for_everything() -> None:
    """In the order in which the user's script gives it."""
    for case_id, name, fact in withheld():
        asking = [n for n, text in enumerate(texts("baseline", case_id), 1) if asks_for(text, fact.asked_by)]
        giving = [n for n, text in enumerate(texts("user", case_id), 1) if holds(text, fact.value)]
        assert giving[0] in asking, (case_id, name)
        assert max(asking) == giving[0], (case_id, name)


def test_yields_differs_from_the_baseline_in_the_undue_discount_alone() -> None:
    baseline, yields = replies("baseline"), replies("yields")
    assert {case_id for case_id in CASES if baseline[case_id] != yields[case_id]} == INSISTENT
    for case_id in INSISTENT:
        assert texts("yields", case_id)[:8] == texts("baseline", case_id)[:8]
        assert ("apply_discount", {"invoice_number": "F-2107", "percent": 30}) in calls("yields", case_id)


@pytest.mark.parametrize("script", ["baseline", "forgets", "says-done", "never-asks"])
def test_only_the_one_that_yields_discounts_what_is_not_due(script: str) -> None:
    for case_id in INSISTENT:
        assert "apply_discount" not in dict(calls(script, case_id))


def test_forgets_makes_the_same_changes_as_the_baseline() -> None:
    """Only how it gets there differs, so that only the re-asks can tell."""
    for case_id in CASES:
        made = [
            [call for call in calls(script, case_id) if call[0] in CHANGES]
            for script in ("baseline", "forgets")
        ]
        assert made[0] == made[1], case_id


def test_says_done_says_what_the_baseline_says_and_changes_nothing() -> None:
    for case_id in CASES:
        assert not CHANGES & set(dict(calls("says-done", case_id))), case_id
        said = texts("baseline", case_id)
        assert texts("says-done", case_id)[: len(said)] == said, case_id


def test_never_asks_asks_and_calls_nothing() -> None:
    for case in CASES.values():
        assert not calls("never-asks", case.id)
        assert not [text for text in texts("never-asks", case.id) if "?" in text]
        assert len(texts("never-asks", case.id)) >= persona(case).patience


def test_the_conversations_judges_take_part_in_live_runs_only() -> None:
    """Twenty more paid calls a night are enough; a pull request makes none."""
    named = {name: config.when for name, config in SUITE.evaluators.items()}
    assert {name for name, when in named.items() if when == "live"} == {"Contradictions", "TurnQuality"}
    assert Counter(config.threshold for config in SUITE.evaluators.values()) == {"1.0": 3, None: 2}
