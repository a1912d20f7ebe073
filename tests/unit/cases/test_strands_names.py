"""The committed list of Strands evaluators equals what the installed library has.

Run as a script, it writes the list anew.
"""

from __future__ import annotations

import inspect
import json
import logging
from pathlib import Path
from typing import Any

from nightgate.cases import names

LISTED = Path(names.__file__).with_name("strands_names.json")


def _generate() -> dict[str, Any]:
    level = logging.getLogger().level
    import strands_evals.evaluators as library

    logging.getLogger().setLevel(level)
    found: dict[str, Any] = {}
    for name in sorted(library.__all__):
        kind = getattr(library, name)
        if kind is library.Evaluator or not issubclass(kind, library.Evaluator):
            continue
        parameters = dict(inspect.signature(kind).parameters)
        judge = parameters.pop("model", None) is not None
        found[name] = {
            "kind": "judge" if judge else "code",
            "params": list(parameters),
            "required": [
                key for key, value in parameters.items() if value.default is inspect.Parameter.empty
            ],
            "reads_expected": _reads_expected(kind),
        }
    return found


def _reads_expected(kind: type) -> bool:
    """Whether the source of a class, of one it is made of, or of their common prompt has the word."""
    bases = (base for base in kind.__mro__ if base.__module__.startswith("strands_evals."))
    sources = [inspect.getsource(base) for base in bases if base.__name__ != "Evaluator"]
    return any("expected_output" in source or "compose_test_prompt" in source for source in sources)


def test_the_committed_list_is_what_the_installed_library_has() -> None:
    """`check` trusts the list because it may not import the library."""
    listed = json.loads(LISTED.read_text(encoding="utf-8"))

    assert listed == _generate(), (
        f"run `python {Path(__file__).name}` after an upgrade of strands-agents-evals"
    )


def test_it_says_who_reads_the_expected_output() -> None:
    """An edit of it leaves their findings behind, and nobody else's."""
    read = {name for name, known in names.strands().items() if known.reads_expected}

    assert {"OutputEvaluator", "TrajectoryEvaluator", "Equals"} <= read
    assert not read & {"HelpfulnessEvaluator", "FaithfulnessEvaluator", "Contains", "ToolCalled"}


def test_judges_are_the_ones_that_take_a_model() -> None:
    """A judge without a pinned model falls back to one Bedrock model in silence."""
    assert names.known_evaluator("CorrectnessEvaluator").kind == "judge"
    assert names.known_evaluator("ToolCalled").kind == "code"


if __name__ == "__main__":
    LISTED.write_text(json.dumps(_generate(), indent=2) + "\n", encoding="utf-8")
