from __future__ import annotations

import subprocess
import sys

import pytest

from nightgate.cases import known_evaluator, known_names, nearest_evaluator


@pytest.mark.parametrize(
    ("name", "kind", "threshold"),
    [
        ("ToolPolicy", "code", "1.0"),
        ("GoalCompletion", "code", "1.0"),
        ("LimitHeld", "code", "1.0"),
        ("ReAsks", "metric", None),
        ("Elicitation", "metric", None),
        ("Contradictions", "judge", None),
        ("TurnQuality", "judge", None),
        ("Criterion:anything", "judge", "0.85"),
        ("FaithfulnessEvaluator", "judge", "0.85"),
        ("Contains", "code", "1.0"),
    ],
)
def test_each_kind_has_its_default_threshold(name: str, kind: str, threshold: str | None) -> None:
    """1.0 for code, 0.85 for judges, none for figures that do not block."""
    known = known_evaluator(name)

    assert (known.kind, known.default_threshold) == (kind, threshold)


def test_unknown_names_get_the_nearest_known_one() -> None:
    """Upper and lower case do not matter for a guess."""
    assert known_evaluator("correctness") is None
    assert nearest_evaluator("corectnessevaluator") == "CorrectnessEvaluator"
    assert nearest_evaluator("Mnie", ["Mine"]) == "Mine"


def test_no_two_evaluators_share_a_name() -> None:
    """A built-in would hide the library's."""
    assert len(known_names()) == len(set(known_names()))


def test_reading_suites_imports_no_heavy_library() -> None:
    """Check and pytest's collection start in a moment, without Strands or user code."""
    code = (
        "import sys, nightgate.cases, nightgate.cases.lint;"
        "heavy = {'strands', 'strands_evals', 'prefect', 'boto3', 'pyarrow', 'scipy', 'lingua'};"
        "print(sorted((heavy | {'ruamel.yaml'}) & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
