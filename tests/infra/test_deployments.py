"""The deployments as ``prefect.yaml`` has them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from ruamel.yaml import YAML

from nightgate.adapters.prefect_api import DEPLOYMENTS
from nightgate.steps.watchparts import TRIGGERS
from shell import ROOT

FILE: Any = YAML(typ="safe").load((ROOT / "infra" / "prefect.yaml").read_text(encoding="utf-8"))
BY_NAME: dict[str, Any] = {one["name"]: one for one in FILE["deployments"]}


def test_an_event_of_every_kind_that_can_be_posted_is_heard() -> None:
    """One that nobody expects is taken by the server, and starts nothing."""
    (trigger,) = BY_NAME["on-change"]["triggers"]

    assert set(trigger["expect"]) == {f"nightgate.{kind}.changed" for kind in TRIGGERS}


def test_what_a_trigger_fills_in_is_a_parameter_that_takes_text() -> None:
    """Any other makes no flow run at all, without a word."""
    from flows.on_change import on_change

    (trigger,) = BY_NAME["on-change"]["triggers"]
    parameters = inspect.signature(on_change.fn).parameters

    for name in (*trigger["parameters"], *BY_NAME["on-change"]["parameters"]):
        assert parameters[name].annotation == "str", name


def test_those_who_share_a_run_have_a_pool_of_their_own() -> None:
    """A parent keeps its slot until they are through."""
    parents = {one["work_pool"]["name"] for name, one in BY_NAME.items() if name != "drain"}

    assert parents == {"{{ $NIGHTGATE_POOL }}"}
    assert BY_NAME["drain"]["work_pool"]["name"] == "{{ $NIGHTGATE_DRAIN_POOL }}"


@pytest.mark.parametrize("deployment", DEPLOYMENTS)
def test_every_deployment_that_doctor_looks_for_is_there(deployment: str) -> None:
    """Under its flow's own name."""
    from importlib import import_module

    flow, _, name = deployment.partition("/")
    module, _, function = BY_NAME[name]["entrypoint"].rpartition(".")

    assert getattr(import_module(module), function).name == flow
