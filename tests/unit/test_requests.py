"""What may be asked for together."""

from __future__ import annotations

from typing import Any

import pytest

from nightgate.errors import InputError
from nightgate.requests import RunRequest


def made(environ: dict[str, str] | None = None, **values: Any) -> RunRequest:
    """A request with only these settings around it."""
    return RunRequest.make("cases/support", values, environ or {})


@pytest.mark.parametrize("flag", [{"timezone": "UTC"}, {"scheduled": "2026-10-25T02:30:00+02:00"}])
def test_a_date_without_once_would_mean_nothing(flag: dict[str, str]) -> None:
    """Whoever gives a zone expects that the date is held."""
    with pytest.raises(InputError, match="goes with --once"):
        made(**flag)


def test_a_zone_of_the_environment_refuses_nobody() -> None:
    """It is there for schedulers, and people run beside them; a wrong one stops only who asks for it."""
    assert made({"NIGHTGATE_TIMEZONE": "Europe/Madird"}).timezone == "Europe/Madird"
    with pytest.raises(InputError, match="did you mean Europe/Madrid"):
        made({"NIGHTGATE_TIMEZONE": "Europe/Madird"}, once=True)


def test_the_zone_of_the_flag_wins() -> None:
    """As with all settings."""
    assert made({"NIGHTGATE_TIMEZONE": "UTC"}, once=True, timezone="Asia/Tokyo").timezone == "Asia/Tokyo"


@pytest.mark.parametrize("field", ["run_id", "resume", "rerun"])
def test_a_night_that_is_found_by_its_date_names_no_run(field: str) -> None:
    """Also where the environment names it."""
    with pytest.raises(InputError, match=f"drop --{field.replace('_', '-')}"):
        made(once=True, **{field: "r-1"})


def test_a_request_for_one_night_a_date_travels_as_plain_parameters() -> None:
    """Deployments have it in their parameters."""
    asked = made(once=True, timezone="Europe/Madrid", scheduled="2026-10-25T02:30:00+02:00")

    assert RunRequest.of_parameters(asked.parameters()) == asked


def test_parameters_of_a_deployment_may_be_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triggers fill templates in, and what comes out is text; nothing means not given."""
    monkeypatch.delenv("NIGHTGATE_STORE", raising=False)
    found = RunRequest.of_parameters(
        {
            "suite": "cases/support",
            "live": "true",
            "trials": "3",
            "case": "a, b",
            "budget_usd": 2.5,
            "model": "",
        }
    )

    assert (found.live, found.trials, found.case, found.budget_usd, found.model) == (
        True,
        3,
        ("a", "b"),
        "2.5",
        None,
    )


def test_what_a_deployment_leaves_open_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's store is its machine's setting."""
    monkeypatch.setenv("NIGHTGATE_STORE", "s3://bucket/evals")

    assert RunRequest.of_parameters({"suite": "cases/support"}).store == "s3://bucket/evals"


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"suite": "s", "trials": "three"}, "trials='three': write a whole number"),
        ({"suite": "s", "live": "perhaps"}, "live='perhaps': write true or false"),
        ({"trials": "3"}, "name the suite's folder"),
        ({"suite": "s", "trails": "3"}, "unknown run parameters: trails"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], said: str) -> None:
    """A float that silently means no run was seen in the field."""
    with pytest.raises(InputError, match=said):
        RunRequest.of_parameters(parameters)


def test_a_batch_is_not_shared_among_workers() -> None:
    """Its jobs are one process's to wait for."""
    with pytest.raises(InputError, match="leave --drainers out"):
        made(batch=True, drainers=2)
