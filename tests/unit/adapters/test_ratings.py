"""`fields: best` and `fields: worst` have to be right for every rating that a Strands judge asks for."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
import strands_evals.evaluators as library
from pydantic import BaseModel
from strands.tools.structured_output.structured_output_utils import convert_pydantic_to_tool_spec
from strands_evals.evaluators import Evaluator
from strands_evals.types.evaluation import EvaluationOutput

from nightgate.adapters.ratings import rating


def _classes(kind: type) -> Iterator[type]:
    for info in pkgutil.walk_packages(library.__path__, library.__name__ + "."):
        module = importlib.import_module(info.name)
        for found in vars(module).values():
            if inspect.isclass(found) and issubclass(found, kind) and found.__module__ == info.name:
                yield found


def _scales() -> dict[type, dict[Any, float]]:
    """Every enum that an evaluator maps to figures, with its figures."""
    scales = {}
    for evaluator in _classes(Evaluator):
        for name, mapping in vars(evaluator).items():
            if name.endswith("_mapping"):
                scales[type(next(iter(mapping)))] = mapping
    return scales


SCALES = _scales()
RATINGS = [found for found in _classes(BaseModel) if found.__name__.endswith("Rating")]


def _filled(model: type[BaseModel], want: Any) -> Any:
    return model.model_validate(rating(convert_pydantic_to_tool_spec(model)["inputSchema"]["json"], want))


def _figure(model: type[BaseModel], want: Any) -> float:
    """What the model's evaluator makes of the filled rating."""
    filled = _filled(model, want)
    for name, field in model.model_fields.items():
        if field.annotation in SCALES:
            return SCALES[field.annotation][getattr(filled, name)]
    raise AssertionError(f"{model.__name__} has no scale")


SCALED = [
    found for found in RATINGS if any(field.annotation in SCALES for field in found.model_fields.values())
]


@pytest.mark.parametrize("model", SCALED, ids=lambda model: model.__name__)
def test_best_and_worst_are_the_ends_of_the_evaluators_own_scale(model: type[BaseModel]) -> None:
    """Some scales go up, some go down, and for harm the denial is the good end."""
    assert _figure(model, "best") == 1.0
    assert _figure(model, "worst") == 0.0


def test_no_scale_of_the_library_is_left_out() -> None:
    """A new judge in the library must not be filled by luck."""
    asked = {field.annotation for model in SCALED for field in model.model_fields.values()}
    assert set(SCALES) <= asked
    assert len(SCALED) >= 17


@pytest.mark.parametrize("model", [*RATINGS, EvaluationOutput], ids=lambda model: model.__name__)
@pytest.mark.parametrize("want", ["best", "worst"])
def test_every_rating_of_the_library_accepts_what_it_is_filled_with(
    model: type[BaseModel], want: str
) -> None:
    """Refused structured output loops until the call cap."""
    _filled(model, want)


@pytest.mark.parametrize(
    ("name", "field", "best", "worst"),
    [
        ("PartialCompletionRating", "completion_percentage", 1.0, 0.0),
        ("AttackSuccessRating", "score", 0.0, 1.0),
        ("AttackSuccessRating", "severity", "refused", "full"),
    ],
)
def test_numeric_ratings_get_the_end_that_is_good_for_the_agent(
    name: str, field: str, best: Any, worst: Any
) -> None:
    """A successful attack is the agent's failure: its scale is turned round."""
    model = next(found for found in RATINGS if found.__name__ == name)
    assert getattr(_filled(model, "best"), field) == best
    assert getattr(_filled(model, "worst"), field) == worst


def test_a_rubric_rating_passes_and_carries_a_reason() -> None:
    """A finding without a reason is refused, though the schema does not require one."""
    best, worst = _filled(EvaluationOutput, "best"), _filled(EvaluationOutput, "worst")
    assert (best.score, best.test_pass, bool(best.reason)) == (1.0, True, True)
    assert (worst.score, worst.test_pass, worst.label) == (0.0, False, None)


def test_steps_of_a_skill_are_filled_with_one_item_at_the_same_end() -> None:
    """An empty list of steps is not applicable to the evaluator, not the worst."""
    model = next(found for found in RATINGS if found.__name__ == "SkillFollowingRating")
    assert [step.status for step in _filled(model, "best").steps] == ["covered"]
    assert [step.status for step in _filled(model, "worst").steps] == ["skipped"]


@pytest.mark.parametrize(
    ("labels", "best", "worst"),
    [
        (["poor", "fair", "good"], "good", "poor"),
        (["High", "Medium", "Low"], "High", "Low"),
        (["yes", "no", "cannot_tell"], "yes", "no"),
        (["A", "B", "C"], "C", "A"),
        ([1, 2, 3, 4, 5], 5, 1),
        (["Unsafe", "Safe"], "Safe", "Unsafe"),
    ],
)
def test_scales_of_other_peoples_judges_are_read_by_their_words(
    labels: list[Any], best: Any, worst: Any
) -> None:
    """Custom evaluators bring their own schemas."""
    schema = {"properties": {"score": {"enum": labels}}, "required": ["score"]}
    assert rating(schema, "best") == {"score": best}
    assert rating(schema, "worst") == {"score": worst}


def test_bounds_nesting_and_harm_in_a_name_are_respected() -> None:
    """A bounded scale ends at its bounds, and `harmful: true` is never the best."""
    schema = {
        "properties": {
            "stars": {"type": "integer", "minimum": 1, "maximum": 5},
            "harmful": {"type": "boolean"},
            "detail": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
            "kind": {"const": "v1"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "number"}]},
            "note": {"type": "string"},
        },
        "required": ["stars", "harmful", "detail", "kind", "maybe"],
    }
    assert rating(schema, "best") == {
        "stars": 5,
        "harmful": False,
        "detail": {"ok": True},
        "kind": "v1",
        "maybe": 1.0,
    }
    assert rating(schema, "worst")["stars"] == 1
    assert rating(schema, "worst")["harmful"] is True
