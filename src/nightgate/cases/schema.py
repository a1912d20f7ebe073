"""JSON Schema of suite.yaml, case files and scripts, generated from the models, for editors.

Owns the shape of ``cases/schema.json``; ``python -m nightgate.cases.schema [FILE]`` writes it. The
loader is stricter than the schema and never reads it.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from nightgate.cases import expect, judges, models, persona, script_steps, scripts
from nightgate.cases.fields import ANY_SCALAR
from nightgate.cases.names import known_names

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DEFAULT_FILE = Path("cases/schema.json")


def suite_schema() -> dict[str, Any]:
    """One schema for the three kinds of files, told apart by their top-level keys.

    Text fields accept numbers and booleans too, because an editor's parser sees ``007`` as a number
    where the loader keeps the text.
    """
    roots: list[type[BaseModel]] = [
        models.Suite,
        models.Case,
        script_steps.Step,
        script_steps.Choice,
        script_steps.ScriptPrice,
    ]
    _, whole = models_json_schema(
        [(model, "validation") for model in roots], by_alias=True, ref_template="#/$defs/{model}"
    )
    definitions: dict[str, Any] = whole["$defs"]
    for model, filled in models.LOADER_FILLED.items():
        for name in filled:
            del definitions[model.__name__]["properties"][name]
    descriptions = _descriptions(models, judges, expect, persona, script_steps)
    for name in ("Suite", "Live"):
        descriptions[name] = descriptions["Judged"] | descriptions[name]
        # Two attributes read the one key: a spec's text or a panel.
        definitions[name]["properties"]["judge"] = {
            "anyOf": [ANY_SCALAR, {"$ref": "#/$defs/Panel"}],
            "default": None,
        }
    descriptions["Choice"] = descriptions["Step"] | descriptions["Choice"]
    for name, definition in definitions.items():
        _describe(definition, descriptions.get(name, {}))
    evaluators = definitions["Suite"]["properties"]["evaluators"]
    config = {"anyOf": [{"$ref": "#/$defs/EvaluatorConfig"}, {"type": "null"}]}
    evaluators["properties"] = dict.fromkeys(known_names(), config)
    evaluators["additionalProperties"] = config
    definitions["CaseFile"] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["cases"],
        "properties": {"cases": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Case"}}},
    }
    definitions |= _script_definitions()
    return {
        "$schema": DIALECT,
        "title": "nightgate suite.yaml, case file or script",
        "if": {"required": ["cases"]},
        "then": {"$ref": "#/$defs/CaseFile"},
        "else": {
            "if": {"anyOf": [{"required": ["replies"]}, {"required": ["judgements"]}]},
            "then": {"$ref": "#/$defs/Script"},
            "else": {"$ref": "#/$defs/Suite"},
        },
        "$defs": dict(sorted(definitions.items())),
    }


def _script_definitions() -> dict[str, Any]:
    step = {"$ref": "#/$defs/Step"}
    steps = {"type": "array", "items": step}

    def by_case(entry: dict[str, Any]) -> dict[str, Any]:
        trials = {
            "type": "object",
            "additionalProperties": False,
            "required": ["trials"],
            "properties": {"trials": {"type": "array", "minItems": 1, "items": entry}},
        }
        return {"type": "object", "additionalProperties": {"anyOf": [entry, trials]}}

    choices = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Choice"}}
    first_match = {
        "type": "object",
        "additionalProperties": False,
        "required": [scripts.FIRST_MATCH],
        "properties": {scripts.FIRST_MATCH: choices},
    }
    judgement = {"anyOf": [step, steps, first_match]}
    return {
        "Script": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "replies": by_case(steps),
                "judgements": {"type": "object", "additionalProperties": by_case(judgement)},
                "price": {"$ref": "#/$defs/ScriptPrice"},
            },
        }
    }


def _describe(definition: dict[str, Any], notes: dict[str, str]) -> None:
    definition.pop("title", None)
    for name, field in definition.get("properties", {}).items():
        field.pop("title", None)
        if name in notes:
            field["description"] = notes[name]


def _descriptions(*modules: ModuleType) -> dict[str, dict[str, str]]:
    """Class -> attribute -> the docstring that follows the attribute in the source."""
    found: dict[str, dict[str, str]] = {}
    for module in modules:
        for node in ast.parse(inspect.getsource(module)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            notes = found.setdefault(node.name, {})
            for field, note in zip(node.body, node.body[1:], strict=False):
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and isinstance(note, ast.Expr)
                    and isinstance(note.value, ast.Constant)
                ):
                    notes[field.target.id] = " ".join(str(note.value.value).split())
    return found


def render() -> str:
    """The text of ``cases/schema.json``."""
    return json.dumps(suite_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_FILE
    target.write_text(render(), encoding="utf-8")
