"""What an answer to a load says: instructions, an acknowledgement, a refusal, an error."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightgate.evaluators.loads import Outcome, outcome_of, skill_of


def outcome(text: str, skill: str = "a") -> Outcome:
    return outcome_of("load_skill", skill, text, "success")


@pytest.mark.parametrize(
    "text",
    [
        "Error: [Errno 2] No such file or directory: '/x/SKILL.md'",
        "Skill not found: a",
        "No skill named 'a'.",
        "Skill a does not exist.",
        "Could not find skill a",
        '{"error": "not found"}',
        "Permission denied",
        "None",
        "null",
        "[]",
        "{}",
        "",
        "FileNotFoundError: [Errno 2] x",
        "Traceback (most recent call last):\n  File x\nFileNotFoundError: a",
        "Access denied",
        "Failed to load skill a",
        "❌ Skill not found",
        "**Error:** not found",
        "[ERROR] cannot load",
        "> Error: x",
        "- Not found",
        "⚠️ Skill 'a' does not exist",
        "(error) a is missing",
        "ERROR - timeout",
        "a: not found",
        "a not found",
        "a does not exist",
        "'a' is not a valid skill",
        "The skill 'a' could not be found.",
        "The requested skill a is not available",
        "Sorry, I couldn't find the skill a.",
        "I'm sorry, skill a is not available",
        "Unknown skill: a",
        "Invalid skill name a",
        "Unable to load skill a: timeout",
        "cat: /s/a/SKILL.md: No such file or directory",
        "Skill a failed to load",
        "Loading skill a failed: timeout",
        "An error occurred while loading skill a",
        "An unexpected error occurred",
        "Internal Server Error",
        "404 Not Found",
        "HTTP 404",
        "500",
        "403 Forbidden",
        "Request timed out",
        "Timeout",
        "Connection refused",
        "Rate limit exceeded",
        "Not found",
        "NOT FOUND.",
        "not authorized",
        "Unauthorized",
        "Forbidden",
        "You do not have access to skill a",
        "You are not allowed to use this skill",
        "Skill 'a' is disabled",
        "skill a is not installed",
        "No such skill",
        "There is no skill called a",
        "No skills available",
        "No matching skill",
        "no instructions found",
        "{'error': 'not found'}",
        '{"status": "error", "message": "x"}',
        '{"status": "failed"}',
        '{"success": false}',
        '{"ok": false, "body": ""}',
        '{"body": null}',
        '{"content": ""}',
        '{"skill": "a", "message": "Skill not found"}',
        '{"statusCode": 404, "body": "nope"}',
        '{"result": {"error": "x"}}',
        '"not found"',
        '"Error: x"',
        '""',
        "''",
        "()",
        "nil",
        "undefined",
        "N/A",
        "N/A.",
        "false",
        "False",
        "-",
        "...",
        "…",
        '{"result": null}',
        "None\n",
        "Error",
        "ERROR!",
        "Failed.",
        "Failure: x",
        "OSError(2, 'No such file')",
        "KeyError: 'a'",
        "KeyError('a')",
        "botocore.exceptions.ClientError: An error occurred (NoSuchKey)",
        "<html><body>404</body></html>",
        "<!DOCTYPE html>\n<html>\n404</html>",
        "Skill not found.\nAvailable skills:\n- b\n- c",
        "Error: skill a not found\n\nAvailable skills: b",
        "Error: boom\n  at x\n  at y",
        "Access to skill a denied",
        "Access to a was denied.",
        "Skill a is unavailable",
        "Skill a: not found",
        "skill=a not found",
        "Skill a was not found in /skills",
        'Cannot find skill "a"',
        "Can't find a",
        "Could not load a",
        "unable to find a",
        "I could not find any skill named a",
        "Error loading skill: a",
        "Error 404: a",
        "[Errno 13] Permission denied: '/x'",
        "status: error",
        "Result: None",
        "load failed",
        "Loading failed",
        "Exception: x",
        "Exception while reading a",
        "tool error: x",
        "ModuleNotFoundError: No module named 'a'",
        "SKILL NOT FOUND",
        "permission DENIED",
        "skill “a” doesn’t exist",
        "a isn't available",
        "Skill a isn't available.",
        "No results found",
        "no content",
        "(empty)",
        "<empty>",
        '["Error: x"]',
        "'a' not found",
        "`a` not found",
        "Error\n\nnot found: a",
    ],
)
def test_an_error_a_refusal_or_nothing_is_no_load_though_it_calls_itself_a_success(text: str) -> None:
    """Loaders that catch their own errors answer by a plain text, which the SDK marks as a success."""
    assert outcome(text) in (Outcome.FAILED, Outcome.REJECTED)
    for other in (text.upper(), f"  {text}\n", f"❌ {text}", f"\n\n{text}"):
        structured = text.startswith(("{", "[", '"'))
        if not structured or other.strip() == text:
            assert not outcome(other).loaded, other


@pytest.mark.parametrize(
    "text",
    [
        "Do refunds.",
        "# Refunds\nFirst",
        "Skill up: coupons are not found here.",
        "Error codes are listed in KB-1; look up the code first.",
        "Errors in invoices go to finance.",
        "If the file is missing, ask for it.",
        "Tell them that the order was not found.",
        "Look it up.",
        "# Error: 404 pages\nExplain them.",
        "# Errors",
        "Skill 'x' not found is what you answer\nwhen the order is unknown.",
        "Failed payments are retried once; then ask for another card.",
        "No refund after 30 days.",
        "No data may leave the EU.",
        "Access the order first.",
        "Unknown callers are asked for their order number.",
        "Never load cargo above 5 t.",
        "Missing parcels: ask for the tracking number.",
        "Timeouts are three days.",
        "Permission from the manager is needed for 400 EUR.",
        '{"name": "a", "instructions": "# Refunds\\nLook up"}',
        '{"status":"success","content":"Look it up."}',
        '{"error": null, "body": "Look it up."}',
        "---\nname: a\n---\nDo it.",
        "# Refunds",
        "Refunds: look up the order, then refund.",
        "Fatal accidents are reported at once.",
        "Exceptions to the rule need approval.",
        "Empty the cart, then refund.",
        "0. Start here\n1. go",
        "Invalid cards: ask again.",
        "Denied boarding pays 250 EUR.",
        "Cancelled flights are refunded in full.",
        "Failure to appear costs 40 EUR.",
        "Blocked cards are replaced within 3 days.",
        "Forbidden goods are listed in KB-9.",
        "Not all orders can be refunded; look first.",
        "Can you find the order? Then refund it.",
        "Error handling\nLog it first, then go on.",
        "You may not promise dates.",
        "404 pages: send the link to the home page.",
    ],
)
def test_a_body_is_a_body_however_short_and_whatever_it_speaks_of(text: str) -> None:
    """Skills about errors, refusals and missing things exist, and some are one line long."""
    assert outcome(text) is Outcome.LOADED


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Skill not found: a", "rejected"),
        ("No skill named 'a'.", "rejected"),
        ("Permission denied", "rejected"),
        ('{"error": "not found"}', "rejected"),
        ("Error: [Errno 2] No such file or directory: 'a'", "failed"),
        ("Failed to load skill a", "failed"),
        ('{"status": "error", "message": "boom"}', "failed"),
        ("None", "failed"),
        ("", "failed"),
    ],
)
def test_a_refusal_is_told_from_what_broke(text: str, found: str) -> None:
    """One is a wrong name or a rule, the other a library that needs repair."""
    assert outcome(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Skill 'a' activated (no instructions available).", "no_body"),
        ("Launching skill: error-handling", "no_body"),
        ("Loaded skill a", "no_body"),
        ("Loading skill a failed: timeout", "failed"),
        ("Loading skill a... Error: no answer", "failed"),
    ],
)
def test_an_acknowledgement_counts_as_loaded_unless_it_takes_that_back(text: str, found: str) -> None:
    """The plugin answers so for a skill without instructions; others bring the body elsewhere."""
    assert outcome(text) == found
    assert Outcome(found).loaded is (found == "no_body")


@pytest.mark.parametrize(
    "skill", ["it's", 'q"q', "with space", "a.b_c", "réservé", "errors", "not-found", "@"]
)
def test_any_name_may_be_missing_or_loaded(skill: str) -> None:
    """A name is a name, whatever signs and words it holds."""
    for text in (
        f"Skill '{skill}' not found. Available skills: b",
        f"No skill named {skill}",
        f"{skill} does not exist",
    ):
        assert outcome(text, skill) is Outcome.REJECTED, text
    assert outcome(f"Skill '{skill}' activated (no instructions available).", skill).loaded
    assert outcome(f"# {skill}\n1. Look it up.", skill) is Outcome.LOADED


@given(st.text(max_size=200), st.text(min_size=1, max_size=10))
def test_any_answer_has_an_outcome(text: str, skill: str) -> None:
    """Whatever a tool writes, the row is typed."""
    assert outcome(text, skill) in Outcome


@given(
    st.lists(
        st.sampled_from(["Look it up.", "Refund it.", "Ask first.", "- errors", "Skill not found."]),
        min_size=3,
    )
)
def test_several_lines_that_begin_as_a_body_are_one(lines: list[str]) -> None:
    """Only the first line can make a text an error's."""
    assert outcome("\n".join(["# Refunds", *lines])) is Outcome.LOADED


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "'",
        "error ",
        "skill ",
        "could ",
        "x/",
        "(((",
        "'a ",
        "access to ",
        ".",
        "a.",
        "---\n",
        '{"a":',
        "[",
        "sorry ",
    ],
)
def test_a_long_answer_is_read_at_once(piece: str) -> None:
    """A hostile result must not hold up the run: 100 KB at the most, in one pass."""
    began = time.process_time()
    outcome(piece * (100_000 // len(piece)))
    assert time.process_time() - began < 2


def test_a_call_asks_for_a_skill_by_a_skill_tool_and_a_name() -> None:
    """Other tools have names in their arguments too."""
    assert skill_of("load_skill", {"name": "a"}) == "a"
    assert skill_of("search", {"name": "a"}) is None
    assert skill_of("skills", {"skill_name": ""}) is None
    assert skill_of("skills", "a") is None
    assert skill_of("manual", {"skill": "a"}, frozenset({"manual"})) == "a"
