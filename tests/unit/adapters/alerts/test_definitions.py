"""Which channels there are: names and variables, never a secret."""

from __future__ import annotations

import logging

import pytest

from nightgate.adapters.alerts import LogChannel, build_channel, definitions, named
from nightgate.errors import InputError

ARN = "arn:aws:sns:eu-central-1:123456789012:evals"


def test_default_is_the_log_until_it_is_defined() -> None:
    """The sample suites name it, and a laptop has no chat."""
    assert definitions("")["default"].kind == "log"
    assert definitions("default=webhook:TEAM_URL")["default"].kind == "webhook"


def test_definitions_are_separated_by_commas_or_white_space() -> None:
    """As in a unit file or a compose file."""
    found = definitions(
        f"team=webhook:TEAM_URL?timeout_s=5&token_env=TOKEN,\n page=sns:{ARN} chat=prefect:slack-webhook/t"
    )

    assert found["team"].options == {"timeout_s": "5", "token_env": "TOKEN"}
    assert found["page"].target == ARN
    assert found["chat"].target == "slack-webhook/t"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("webhook:TEAM_URL", "has no name"),
        ("team=webhok:TEAM_URL", "did you mean 'webhook'"),
        ("team=webhook:A?timeout=5", "unknown option 'timeout'"),
        ("team=log team=log", "defined twice"),
        ("https://hooks.invalid/services/T/B/secretpath", "has no name"),
        ("team=https://u:secretpath@hooks.invalid/x", "unknown kind"),
        ("team=webhook:https://hooks.invalid/x?secretpath", "unknown option; known are"),
        ("team=webhook:TEAM_URL?T0secretpath", "unknown option; known are"),
    ],
)
def test_a_definition_that_cannot_be_read_is_refused(text: str, says: str) -> None:
    """With what to write; an address that was put there by mistake is not repeated."""
    with pytest.raises(InputError, match=says) as raised:
        definitions(text)
    assert "secretpath" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("team=webhook:https://hooks.invalid/services/secretpath", "are secrets"),
        ("team=webhook:TEAM_URL?token_env=a-b", "are secrets"),
        ("team=webhook:NOT_SET_ANYWHERE", "NOT_SET_ANYWHERE is not set"),
        ("team=webhook:TEAM_URL?timeout_s=0", "timeout_s"),
        ("team=webhook:TEAM_URL?timeout_s=nan", "timeout_s"),
        ("team=webhook:BAD_URL", "no http"),
        ("team=webhook:BROKEN_URL", "no http.*%2F"),
        ("team=sns:evals", "is no topic"),
        ("team=sns:https://u:secretpath@hooks.invalid/x", "is no topic"),
        ("team=prefect:Slack", "prefect:BLOCK-TYPE/NAME"),
    ],
)
def test_a_channel_that_cannot_be_is_refused_before_anything_is_spent(
    monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    """Exit 2, without the secret."""
    monkeypatch.setenv("TEAM_URL", "https://hooks.invalid/x")
    monkeypatch.setenv("BAD_URL", "ftp://secretpath")
    monkeypatch.setenv("BROKEN_URL", "https://user:secretpath/x@hooks.invalid/")

    with pytest.raises(InputError, match=says) as raised:
        build_channel(definitions(text)["team"])
    assert "secretpath" not in str(raised.value)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    """A misspelt channel would be silent for ever."""
    with pytest.raises(
        InputError, match=r"suite\.yaml: alerts: .* no channel 'defualt'; did you mean 'default'"
    ):
        named(["defualt"], definitions(""), "suite.yaml")


def test_a_name_that_stands_twice_is_one_channel() -> None:
    """Nobody wants the message twice."""
    assert len(named(["log", "log"], definitions(""), "suite.yaml")) == 1


def test_the_log_channel_writes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings reach stderr without any set-up."""
    with caplog.at_level(logging.INFO):
        LogChannel("default").send("title", "line", {})

    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [("WARNING", "title\nline")]
