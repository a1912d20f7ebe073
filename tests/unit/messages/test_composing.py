"""A message fits a phone, and says what it has to say first."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.messages import (
    BODY_CHARS,
    BODY_LINES,
    TITLE_CHARS,
    Cause,
    Kind,
    Message,
    Setting,
    closing,
    opening,
)

GATE = Cause(kind=Kind.GATE_FAILED, subject=("ToolPolicy",), text="ToolPolicy: 71% < 100%, failed [late]")


def broken(case: str = "late") -> Cause:
    """A case that broke."""
    return Cause(kind=Kind.NEWLY_BROKEN, subject=(case, "ToolPolicy"), figures="3/3 to 0/3")


def setting(**more: object) -> Setting:
    """A run with everything to say."""
    values: dict[str, object] = {
        "suite": "support",
        "run_id": "support-1",
        "date": "2026-11-29",
        "owner": "support-team",
        "changed": ("model a to b", "system prompt"),
        "why": ("late ToolPolicy: missing search_kb",),
        "cost": "$0.7500",
        "link": "https://reports.invalid/support-1",
        "command": "nightgate compare support-0 support-1",
    }
    return Setting(**(values | more))  # type: ignore[arg-type]


def fits(message: Message) -> bool:
    """Whether it keeps to the stated limits."""
    return (
        len(message.title) <= TITLE_CHARS
        and len(message.lines) <= BODY_LINES
        and len(message.body) <= BODY_CHARS
    )


def test_an_opening_says_all_that_a_person_asks_first() -> None:
    """What dropped, by how much, which cases, since when, what changed, the cost, whose, what next."""
    message = opening("m", [GATE, broken()], setting())

    assert message.title == "support: gate FAILED, newly broken: late"
    assert message.lines == (
        "ToolPolicy: 71% < 100%, failed [late]",
        "newly broken: late (ToolPolicy 3/3 to 0/3)",
        "since: 2026-11-29 (told in run support-1)",
        "changed: model a to b; system prompt",
        "why: late ToolPolicy: missing search_kb",
        "cost: $0.7500",
        "owner: support-team",
        "next: nightgate compare support-0 support-1",
        "report: https://reports.invalid/support-1",
    )


def test_a_gate_and_the_case_that_failed_it_are_one_title() -> None:
    """The gravest kind heads the message, whatever order the causes came in."""
    assert opening("m", [broken(), GATE], setting()).title.startswith("support: gate FAILED")


def test_many_cases_are_counted_and_a_few_named() -> None:
    """A list that scrolls off the screen is read by nobody."""
    message = opening("m", [broken(f"case-{n}") for n in range(9)], setting())

    assert message.title == "support: 9 newly broken"
    assert message.lines[0].endswith("and 5 more")


def test_known_causes_are_referred_to_and_not_told_again() -> None:
    """A later night's message says in a line what is still open."""
    known = [Cause(kind=Kind.GATE_FAILED, subject=("CitesSource",), since="2026-11-20")]

    message = opening("m", [broken()], setting(), known=known)

    assert "known before: gate failed CitesSource since 2026-11-20" in message.lines


def test_a_closing_names_what_is_over_and_since_when_it_was() -> None:
    """One message for all that ended."""
    over = [
        Cause(kind=Kind.GATE_FAILED, subject=("ToolPolicy",), since="2026-11-20"),
        Cause(kind=Kind.NEWLY_BROKEN, subject=("late", "ToolPolicy"), since="2026-11-20"),
    ]

    message = closing("m", over, setting())

    assert message.title == "support: over: gate passes again, 1 fixed"
    assert "fixed: late (ToolPolicy)" in message.lines
    assert "it began: 2026-11-20" in message.lines


def test_a_suite_without_an_owner_says_how_to_name_one() -> None:
    """A message that belongs to nobody is acted on by nobody."""
    message = opening("m", [GATE], setting(owner=None))

    assert "owner: nobody is named (owner: in suite.yaml)" in message.lines


def test_a_secret_in_a_configured_link_is_redacted() -> None:
    """Whoever serves reports may have put a password into the address."""
    message = opening("m", [GATE], setting(link="https://bot:hunter2@reports.invalid/r"))

    assert "hunter2" not in message.body
    assert "hunter2" not in json.dumps(dict(message.facts))


def test_the_command_and_the_link_stay_when_not_all_fits() -> None:
    """They are what a person needs most, so reasons and changes go first."""
    causes = [Cause(kind=Kind.COVERAGE_HOLE, subject=(f"E{n}",), text="x" * 300) for n in range(9)]
    message = opening("m", [GATE, *causes], setting(changed=("y" * 300,) * 9))

    assert fits(message)
    assert message.lines[-2:] == (
        "next: nightgate compare support-0 support-1",
        "report: https://reports.invalid/support-1",
    )


TEXTS = st.text(max_size=400)
CAUSES = st.lists(
    st.builds(
        Cause,
        kind=st.sampled_from(Kind),
        subject=st.tuples(TEXTS, TEXTS),
        text=TEXTS,
        figures=st.just("3/3 to 0/3"),
        since=st.sampled_from([None, "2026-11-20"]),
    ),
    min_size=1,
    max_size=30,
)


@given(CAUSES, CAUSES, st.lists(TEXTS, max_size=5), st.text(alphabet="abc/", max_size=600), st.booleans())
def test_every_message_keeps_to_the_limits_and_is_strict_json(
    causes: list[Cause], known: list[Cause], texts: list[str], link: str, opened: bool
) -> None:
    """Whatever a night brings."""
    make = opening if opened else closing
    run = setting(changed=tuple(texts), why=tuple(texts), link=link, owner="".join(texts))

    message = make("m", causes, run, known=known)

    assert fits(message)
    assert message.title
    assert message.lines[-1].startswith("report: ")
    json.dumps(dict(message.facts), allow_nan=False).encode()


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_has_a_headline_and_an_end(kind: Kind) -> None:
    """A kind without words would send an empty title."""
    cause = Cause(kind=kind, subject=("late", "ToolPolicy"))

    assert len(opening("m", [cause], setting()).title) > len("support: ")
    assert len(closing("m", [cause], setting()).title) > len("support: over: ")


def test_a_cause_is_the_same_in_every_night_and_another_for_another_model() -> None:
    """A variant's failure must not be taken for the nightly's."""
    first = Cause(kind=Kind.GATE_FAILED, subject=("E",), text="71%", line="a")

    assert first.id == Cause(kind=Kind.GATE_FAILED, subject=("E",), text="62%", line="a").id
    assert first.id != Cause(kind=Kind.GATE_FAILED, subject=("E",), line="b").id
    assert Cause(kind=Kind.JUDGE_DRIFT, line="a").id == Cause(kind=Kind.JUDGE_DRIFT).id
