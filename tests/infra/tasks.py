"""Containers of the template and of compose.yaml: what they are given, and what Prefect makes of it.

Owns the reading, for tests only.
"""

from __future__ import annotations

from typing import Any

from infra.templates import Template


def containers(template: Template) -> dict[str, Any]:
    """The one container of each task, by logical id."""
    found = template.of_type("AWS::ECS::TaskDefinition")
    return {name: task["ContainerDefinitions"][0] for name, task in found.items()}


def environment(container: Any) -> dict[str, str]:
    """Plain variables."""
    return {pair["Name"]: pair["Value"] for pair in container["Environment"]}


def secrets(container: Any) -> dict[str, str]:
    """Variables from secrets, with where they come from."""
    return {pair["Name"]: pair["ValueFrom"] for pair in container["Secrets"]}


def known_settings(model: Any = None) -> set[str]:
    """All variables that Prefect's settings read: the canonical names and the aliases.

    Args:
        model: A settings model; None: all of them.
    """
    from prefect.settings import Settings
    from pydantic import AliasChoices

    model = Settings if model is None else model
    prefix = str(model.model_config.get("env_prefix", "PREFECT_"))
    found: set[str] = set()
    for name, about in model.model_fields.items():
        below = about.annotation
        if isinstance(below, type) and hasattr(below, "model_fields"):
            found |= known_settings(below)
            continue
        found.add(f"{prefix}{name}".upper())
        if isinstance(about.validation_alias, AliasChoices):
            found |= {alias.upper() for alias in about.validation_alias.choices if isinstance(alias, str)}
    return found
