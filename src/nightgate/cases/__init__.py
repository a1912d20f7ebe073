"""Suites as data: reading, checking, choosing and hashing of cases, personas and scripted models.

The lowest room of the house: it knows the files that people write and nothing of agents, models,
evaluators' code or stores. Importing it costs pydantic and no more; ruamel.yaml is imported by the
first read.
"""

from nightgate.cases.asks import evaluators_of, questions_of, threshold_of
from nightgate.cases.expect import (
    AnswerExpected,
    ArgumentsExpected,
    Criterion,
    Expect,
    SkillsExpected,
    ToolsExpected,
)
from nightgate.cases.folders import suites_under
from nightgate.cases.hashing import (
    asked_hash,
    canonical_json,
    case_hash,
    criterion_hashes,
    question_hashes,
)
from nightgate.cases.judges import Panel, panel_text
from nightgate.cases.loading import load_suite
from nightgate.cases.models import (
    Case,
    EvaluatorConfig,
    GateConfig,
    Limits,
    Live,
    Quarantine,
    Regression,
    Suite,
)
from nightgate.cases.names import Known, known_evaluator, known_names, nearest_evaluator
from nightgate.cases.persona import Persona, StateGoal, Withheld
from nightgate.cases.problems import Problem, SuiteError
from nightgate.cases.script_steps import Choice, ScriptCall, ScriptPrice, ScriptUsage, Step
from nightgate.cases.scripts import Playlist, Replies, Script, load_script
from nightgate.cases.selection import select
from nightgate.cases.specs import ModelSpec, parse_spec

__all__ = [
    "AnswerExpected",
    "ArgumentsExpected",
    "Case",
    "Choice",
    "Criterion",
    "EvaluatorConfig",
    "Expect",
    "GateConfig",
    "Known",
    "Limits",
    "Live",
    "ModelSpec",
    "Panel",
    "Persona",
    "Playlist",
    "Problem",
    "Quarantine",
    "Regression",
    "Replies",
    "Script",
    "ScriptCall",
    "ScriptPrice",
    "ScriptUsage",
    "SkillsExpected",
    "StateGoal",
    "Step",
    "Suite",
    "SuiteError",
    "ToolsExpected",
    "Withheld",
    "asked_hash",
    "canonical_json",
    "case_hash",
    "criterion_hashes",
    "evaluators_of",
    "known_evaluator",
    "known_names",
    "load_script",
    "load_suite",
    "nearest_evaluator",
    "panel_text",
    "parse_spec",
    "question_hashes",
    "questions_of",
    "select",
    "suites_under",
    "threshold_of",
]
