"""From a name in a suite to the object that judges; what cannot be built is refused before a call."""

import logging
from pathlib import Path
from typing import Any

import pytest
from strands_evals.evaluators import Contains

from makers import RepliesJudge, a_case, a_suite, a_trial, in_folder
from nightgate.cases import Suite
from nightgate.errors import InputError
from nightgate.evaluators import registry
from nightgate.evaluators.registry import Registered
from nightgate.evaluators.strands import StrandsEvaluator
from nightgate.ports import JudgeModel
from nightgate.scores import Status

CODE = [
    "ToolPolicy",
    "ArgumentPolicy",
    "CitesSource",
    "AnswerPolicy",
    "StateReached",
    "SkillPolicy",
    "BlockedAsExpected",
]


class PinnedJudge(RepliesJudge):
    """A judge whose model is one object, as a real one's is."""

    def __init__(self, fingerprint: str = "f" * 16) -> None:
        super().__init__("")
        self.fingerprint = fingerprint
        self._model = super().model

    @property
    def model(self) -> Any:
        return self._model


def build(
    name: str, config: dict[str, Any] | None = None, judge: JudgeModel | None = None, folder: Path = Path()
) -> Registered:
    suite: Suite = a_suite(evaluators={} if config is None else {name: config})
    return registry.build(suite, [name], judge, [folder])[name]


@pytest.mark.parametrize("name", CODE)
def test_our_own_checks_need_no_configuration_and_no_judge(name: str) -> None:
    """``expect`` alone chooses them."""
    found = build(name)
    assert found.evaluator.name == name
    assert (found.facts.kind, found.facts.fingerprint, found.inline) == ("code", None, True)


def test_parameters_reach_the_class() -> None:
    """``params`` are keyword arguments."""
    found = build("CitesSource", {"params": {"pattern": r"doc:(\w+)"}})
    case = a_case(expect={"cites": ["x"]})
    assert found.evaluator.evaluate(a_trial("doc:x"), case).status is Status.PASS


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        ("ToolPolicy", {"params": {"nope": 1}}, r"ToolPolicy: cannot be built with params \{'nope': 1\}"),
        ("CitesSource", {"params": {"pattern": "("}}, "no regular expression"),
        ("CitesSource", {"params": {"pattern": 5}}, "CitesSource: cannot be built"),
        ("Criterion:x", {"params": {"nope": 1}}, r"Criterion:x: cannot be built with params \{'nope': 1\}"),
        ("Criterion:x", {"params": {"replies": 0}}, "Criterion:x: cannot be built"),
        ("CorrectnessEvaluator", {"params": {"model": "us.x"}}, "not a parameter"),
        ("CorrectnessEvaluator", {"params": {"nope": 1}}, "CorrectnessEvaluator: cannot be built"),
        ("Contains", None, "Contains: cannot be built"),
        ("NoSuchEvaluator", None, "no such evaluator"),
        ("StructuredOutputReport", None, "no such evaluator"),
        ("Mine", {"use": "missing:Thing"}, r"evaluators\.Mine\.use"),
        ("Mine", {"use": "mine:Missing"}, "has no 'Missing'"),
        ("Mine", {"use": "mine:NUMBER"}, "no class or function"),
        ("Mine", {"use": "mine:NoVersion"}, "an integer `version`"),
        ("Mine", {"use": "mine:Raises"}, "ValueError: no licence"),
        ("Mine", {"use": "mine:dict"}, "an integer `version`"),
    ],
)
def test_what_cannot_be_built_says_where_and_why(
    tmp_path: Path, name: str, config: dict[str, Any] | None, says: str
) -> None:
    """Before anything is spent, with exit 2; never a traceback out of somebody's constructor."""
    in_folder(
        tmp_path,
        mine=(
            "NUMBER = 5\n"
            "dict = dict\n"
            "class NoVersion:\n    name = 'x'\n    def evaluate(self, trial, case): ...\n"
            "class Raises:\n    def __init__(self): raise ValueError('no licence')\n"
        ),
    )
    with pytest.raises(InputError, match=says):
        build(name, config, PinnedJudge(), tmp_path)


@pytest.mark.parametrize("name", ["CorrectnessEvaluator", "Criterion:x", "ToolSelectionAccuracyEvaluator"])
def test_a_judge_without_a_pinned_model_is_refused(name: str) -> None:
    """Theirs would fall back to one Bedrock model in silence."""
    with pytest.raises(InputError, match="the suite pins none: set `judge:`"):
        build(name)


STRANDS = """
from strands_evals.evaluators import Contains, CorrectnessEvaluator, OutputEvaluator

class HandsOn(OutputEvaluator):
    def __init__(self, **kwargs):
        super().__init__(rubric="Is it good?", **kwargs)

class Silent(CorrectnessEvaluator):
    def __init__(self):
        super().__init__()

class Own(CorrectnessEvaluator):
    def __init__(self, model=None):
        super().__init__(model="us.amazon.nova-pro-v1:0")

class Plain(Contains):
    def __init__(self, word):
        super().__init__(word)

def made(model):
    return CorrectnessEvaluator(model=model)

def forgot():
    return CorrectnessEvaluator()
"""


@pytest.mark.parametrize("name", ["Silent", "Own", "forgot"])
def test_a_judge_of_the_users_that_asks_another_model_is_refused(tmp_path: Path, name: str) -> None:
    """Its calls would be on no ledger and under no budget."""
    in_folder(tmp_path, theirs=STRANDS)
    with pytest.raises(InputError, match="would ask a model that the suite does not pin"):
        build("Mine", {"use": f"theirs:{name}"}, PinnedJudge(), tmp_path)


@pytest.mark.parametrize("name", ["HandsOn", "made"])
def test_a_judge_of_the_users_gets_the_pinned_model(tmp_path: Path, name: str) -> None:
    """Also through keyword arguments that it only hands on, and from a function."""
    in_folder(tmp_path, theirs=STRANDS)
    judge = PinnedJudge()
    found = build("Mine", {"use": f"theirs:{name}"}, judge, tmp_path)
    assert (found.facts.kind, found.evaluator.name) == ("judge", "Mine")
    assert isinstance(found.evaluator, StrandsEvaluator)
    assert found.evaluator._inner.model is judge.model


def test_a_strands_check_without_a_model_is_code(tmp_path: Path) -> None:
    """It needs no judge, and no judge is blamed for it."""
    in_folder(tmp_path, theirs=STRANDS)
    found = build("Mine", {"use": "theirs:Plain", "params": {"word": "x"}}, None, tmp_path)
    assert found.facts.kind == "code"
    by_name = build("Contains", {"params": {"value": "x"}})
    assert isinstance(by_name.evaluator, StrandsEvaluator)
    assert isinstance(by_name.evaluator._inner, Contains)


def test_a_users_class_is_built_with_its_parameters(tmp_path: Path) -> None:
    """It may block, so it does not run on the loop."""
    in_folder(
        tmp_path,
        terse=(
            "class TerseAnswer:\n"
            "    name, version = 'TerseAnswer', 3\n"
            "    def __init__(self, max_words): self.max_words = max_words\n"
            "    def evaluate(self, trial, case): return self.max_words\n"
        ),
    )
    config = {"use": "terse:TerseAnswer", "params": {"max_words": 60}}
    found = build("Terse", config, None, tmp_path)
    assert (found.facts.version, found.inline) == (3, False)
    assert found.evaluator.evaluate(a_trial(), a_case()) == 60


def test_a_users_module_does_not_turn_the_root_logger_up(tmp_path: Path) -> None:
    """It imports strands_evals, which sets the root logger to INFO."""
    in_folder(tmp_path, loud="import logging\nlogging.getLogger().setLevel(7)\nfrom theirs import *\n")
    in_folder(tmp_path, theirs=STRANDS)
    before = logging.getLogger().level
    build("Mine", {"use": "loud:Plain", "params": {"word": "x"}}, None, tmp_path)
    assert logging.getLogger().level == before


def test_a_judges_fingerprint_changes_with_what_makes_it() -> None:
    """Model, evaluator, version and rubric: a baseline must not cross any of them."""
    prints = [
        build("CorrectnessEvaluator", None, PinnedJudge()),
        build("CorrectnessEvaluator", None, PinnedJudge("0" * 16)),
        build("HelpfulnessEvaluator", None, PinnedJudge()),
        build("OutputEvaluator", {"params": {"rubric": "A"}}, PinnedJudge()),
        build("OutputEvaluator", {"params": {"rubric": "B"}}, PinnedJudge()),
        build("CorrectnessEvaluator", {"params": {"system_prompt": "Be mild."}}, PinnedJudge()),
        build("Criterion:x", None, PinnedJudge()),
    ]
    assert len({found.facts.fingerprint for found in prints}) == len(prints)
    again = build("CorrectnessEvaluator", None, PinnedJudge())
    assert again.facts.fingerprint == prints[0].facts.fingerprint


def test_its_configuration_is_part_of_what_is_known_of_an_evaluator() -> None:
    """Other params, other findings, also of code: nothing of one may stand for the other."""
    plain = build("CitesSource").facts.config
    narrowed = build("CitesSource", {"layers": ["behavior"], "threshold": "0.5"}).facts.config
    other = build("CitesSource", {"params": {"pattern": r"doc:(\w+)"}}).facts.config
    values = [build("Contains", {"params": {"value": value}}).facts.config for value in ("a", "b")]

    assert plain is not None
    assert narrowed == plain
    assert len({plain, other, *values}) == 4


def test_a_configuration_is_the_class_too() -> None:
    """Another class under the same name, and the same version."""
    uses = ("strands_evals.evaluators:Contains", "strands_evals.evaluators:StartsWith")

    first, second = (build("Mine", {"use": use, "params": {"value": "a"}}).facts for use in uses)

    assert first.version == second.version
    assert first.config != second.config
