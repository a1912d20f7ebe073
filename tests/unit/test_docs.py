"""The texts of the project say what the code does: commands parse, links lead somewhere, figures are real."""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from makers import a_case, a_plan, a_planned, a_planned_case
from nightgate import logs, requests
from nightgate.cases import Persona, load_suite
from nightgate.cases.names import BUILTIN
from nightgate.cli.parser import build_parser
from nightgate.cli.prefect_env import _SETTINGS
from nightgate.errors import ExitCode
from nightgate.gates import Decision, decide
from nightgate.prices import PriceTable
from nightgate.scores import Blame, Status
from nightgate.summaries import tally
from nightgate.talks import EndReason, SimulatorNotes
from nightgate.testing import InMemoryStore
from nightgate.trials import Ending
from nightgate.version import VERSION
from nightgate.wiring import metrics, preflight, run_suite
from shell import DRILLS, ROOT, SUPPORT, nightgate

README = ROOT / "README.md"
OPERATIONS = ROOT / "docs" / "operations.md"
ADDING = ROOT / "docs" / "adding.md"
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CASES = ROOT / "cases" / "README.md"
CONVERSATIONS = ROOT / "docs" / "conversations.md"
APPOINTMENTS = ROOT / "cases" / "appointments"
PAGES = [README, ROOT / "CHANGELOG.md", CASES, *sorted((ROOT / "docs").glob("*.md")), *DECISIONS]

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of a page in one of the languages."""
    return [
        text for language, text in FENCE.findall(page.read_text(encoding="utf-8")) if language in languages
    ]


def commands(page: Path) -> Iterator[list[str]]:
    """The words after ``nightgate`` of every command in a page's shell blocks."""
    for block in blocks(page, "bash", "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            words = words[2:] if words[:2] == ["uv", "run"] else words
            if words[:1] == ["nightgate"]:
                yield words[1:]


def table(page: Path, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, as cells without marks."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in re.findall(r"^\|.*\|$", text, re.MULTILINE)]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def anchor(heading: str) -> str:
    """How a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


# -- README -----------------------------------------------------------------------------------------


def test_the_readme_is_short_and_comes_to_the_point() -> None:
    """A stranger sees the result and the first command without scrolling."""
    lines = README.read_text(encoding="utf-8").splitlines()
    first = next(number for number, line in enumerate(lines, 1) if line.startswith("uv run nightgate"))

    assert len(lines) < 120
    assert first <= 30


def test_the_two_commands_of_the_readme_come_first() -> None:
    """One runs the main job, one the tests."""
    assert [line.partition("#")[0].strip() for line in blocks(README, "bash")[0].splitlines()] == [
        "uv run nightgate nightly cases",
        "uv run pytest",
    ]


def test_the_output_in_the_readme_is_what_the_run_prints(tmp_path: Path) -> None:
    """Nobody improves the figures by hand."""
    ran = nightgate("run", SUPPORT, "--model", "scripted:upgraded", "--store", tmp_path)

    assert ran.code == ExitCode.FAILED
    assert missing(README, ran.out) == []


def test_the_output_in_the_reasons_is_what_the_drill_prints(tmp_path: Path) -> None:
    """The page that argues for honest figures shows real ones."""
    ran = nightgate("run", DRILLS / "honest", "--store", tmp_path)

    assert ran.code == ExitCode.FAILED
    assert missing(ROOT / "docs" / "why.md", ran.out) == []


def missing(page: Path, printed: str) -> list[str]:
    """Lines of a page's first terminal output that were not printed; id and time are a run's own."""
    shown = [line for line in blocks(page, "text")[0].splitlines() if not line.startswith(("$ ", "run "))]
    return [line for line in shown if line not in printed.splitlines()]


def test_the_duckdb_lines_of_the_readme_read_a_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five lines, and they count cells."""
    nightgate("run", SUPPORT, "--store", tmp_path)
    (code,) = blocks(README, "python")
    assert len(code.splitlines()) == 5

    exec(code.replace('".nightgate"', repr(str(tmp_path))), {})

    assert "ToolPolicy" in capsys.readouterr().out


# -- every page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [README, OPERATIONS, ADDING, CASES, CONVERSATIONS], ids=lambda page: page.name
)
def test_every_command_parses(page: Path) -> None:
    """A command that was renamed is renamed in the texts."""
    found = list(commands(page))

    assert found
    for words in found:
        build_parser().parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    """Files and headings move."""
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in map(anchor, headings), target


@pytest.mark.parametrize("page", [README, OPERATIONS], ids=lambda page: page.name)
def test_the_exit_codes_are_those_of_the_code(page: Path) -> None:
    """Scripts are written from this table."""
    heading = "Exit codes" if page == README else "Exit codes, and what to do"

    assert [int(row[0]) for row in table(page, heading)] == [int(code) for code in ExitCode]


@pytest.mark.parametrize(
    "path", re.findall(r"`((?:src|tests|flows)/[\w./]+)`", "".join(p.read_text() for p in PAGES))
)
def test_every_file_that_is_named_is_there(path: str) -> None:
    """A page that sends people to a file that moved helps nobody."""
    assert (ROOT / path).exists()


# -- operations -------------------------------------------------------------------------------------


def test_operations_lists_every_command() -> None:
    """The first table is the command line."""
    shown = re.findall(r"^\| `nightgate ([\w-]+)", OPERATIONS.read_text(encoding="utf-8"), re.MULTILINE)

    known = re.findall(r"^    ([a-z-]+)(?: |$)", build_parser().format_help(), re.MULTILINE)
    assert sorted(shown) == sorted(known)


def test_operations_lists_every_setting() -> None:
    """What is not written down is found by nobody."""
    fields = (*requests._TEXTS, *requests._NUMBERS, *requests._FLAGS, *requests._LISTS)
    known = {f"NIGHTGATE_{name.upper()}" for name in fields} | {metrics.SETTING, logs.SETTING, logs.LEVEL}

    assert {row[0].strip("`") for row in table(OPERATIONS, "Settings")} == known


def test_operations_lists_every_prefect_setting_with_its_value() -> None:
    """They are set behind the user's back, so they are said."""
    shown: dict[str, str] = {}
    for names, values, _ in table(OPERATIONS, "Prefect"):
        shown |= dict(zip(re.findall(r"`(\w+)`", names), values.split(", "), strict=True))

    assert shown == _SETTINGS


def test_the_price_file_of_the_page_is_one(tmp_path: Path) -> None:
    """It is there to be copied."""
    (text,) = blocks(OPERATIONS, "yaml")
    file = tmp_path / "prices.yaml"
    file.write_text(text, encoding="utf-8")

    price = PriceTable.load(file).price("openai:gpt-x")

    assert price is not None
    assert str(price.output) == "0.50"


# -- cases and conversations ------------------------------------------------------------------------


def test_the_page_for_case_writers_stays_short() -> None:
    """It is read before the first case, by people who write no code."""
    assert len(CASES.read_text(encoding="utf-8").splitlines()) <= 105


def test_the_sample_suites_are_as_large_as_the_page_says() -> None:
    """With their layers."""
    said = dict(re.findall(r"^- `(\w+)`: (.*)$", CASES.read_text(encoding="utf-8"), re.MULTILINE))
    suites = {path.parent.name for path in (ROOT / "cases").glob("*/suite.yaml")}

    assert set(said) == suites
    for name, text in said.items():
        cases = load_suite(ROOT / "cases" / name).cases
        assert text.startswith(f"{len(cases)} "), name
        for layer, count in re.findall(r"(behavior|parameter|quality) (\d+)", text):
            assert sum(case.layer == layer for case in cases) == int(count)


@pytest.mark.parametrize("suite", ["support", "announcements", "appointments"])
def test_what_the_page_says_of_a_failing_script_is_what_it_does(suite: str, tmp_path: Path) -> None:
    """Figures in comments are figures."""
    (line,) = re.findall(
        rf"^(nightgate run cases/{suite} --model scripted:(?:upgraded|first-release|yields)) +# (.*)$",
        CASES.read_text(encoding="utf-8"),
        re.MULTILINE,
    )

    ran = nightgate(*shlex.split(line[0])[1:], "--store", tmp_path, "--json", "-", cwd=ROOT)

    assert ran.code == ExitCode.FAILED
    summary = ran.json
    for name, passed, judged in re.findall(r"(\w+) (\d+)/(\d+)", line[1]):
        (row,) = [entry for entry in summary["evaluators"] if entry["name"] == name]
        assert (row["passed"], row["judged"]) == (int(passed), int(judged))
    if suite == "announcements":
        layers = {row["case"]: row["layer"] for row in summary["cases"] if row["failed"]}
        assert line[1] == "four planted faults, two behavior, two parameter"
        assert sorted(layers.values()) == ["behavior", "behavior", "parameter", "parameter"]


@pytest.mark.parametrize("number", range(2))
def test_the_outputs_about_conversations_are_what_the_commands_print(tmp_path: Path, number: int) -> None:
    """The page shows the failure that it is about, and the calls before they are paid."""
    command, *shown = blocks(CONVERSATIONS, "text")[number].splitlines()
    words = shlex.split(command)[2:]
    more = ["--store", str(tmp_path)] if words[0] == "run" else []

    ran = nightgate(*words, *more, cwd=ROOT)

    assert [line for line in shown if line not in ran.out.splitlines()] == []
    assert ran.code == (ExitCode.FAILED if words[0] == "run" else ExitCode.OK)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The suite of appointments with the page's cases alone, and the page's reply of the user."""
    suite = tmp_path / "appointments"
    shutil.copytree(APPOINTMENTS, suite)
    for file in suite.glob("*ish.yaml"):
        file.unlink()
    cases, replies = blocks(CONVERSATIONS, "yaml")
    (suite / "cases.yaml").write_text(cases, encoding="utf-8")
    script = suite / "scripts" / "user.yaml"
    insistent = script.read_text(encoding="utf-8").partition("\n  undue-discount-en:")[2].partition("\n\n")[0]
    script.write_text(f"{replies}  undue-discount-en:{insistent}\n", encoding="utf-8")
    return suite


@pytest.mark.parametrize(
    ("model", "code", "reason"),
    [
        ("baseline", ExitCode.OK, None),
        ("yields", ExitCode.FAILED, "yielded in turn 9, resisted 8 turns"),
        ("says-done", ExitCode.FAILED, "user_satisfied in turn 3"),
    ],
)
def test_the_personas_of_the_page_hold_and_fail_as_it_says(
    copied: Path, tmp_path: Path, model: str, code: ExitCode, reason: str | None
) -> None:
    """They are there to be copied, `asked_by` included."""
    ran = nightgate(
        "run", copied, "--model", f"scripted:{model}", "--store", tmp_path / "store", "--json", "-"
    )

    assert ran.code == code, ran.err
    assert ran.json["conversations"]["elicitation"] == 1.0
    failed = [failure["reason"] for failure in ran.json["failures"] if failure["status"] == "fail"]
    assert [found[: len(reason or "")] for found in failed] == ([] if reason is None else [reason])


def test_a_goal_that_holds_already_is_refused_as_the_page_says(copied: Path, tmp_path: Path) -> None:
    """Exit 2, nothing spent."""
    cases = copied / "cases.yaml"
    text = cases.read_text(encoding="utf-8")
    cases.write_text(text.replace("status: cancelled", "status: booked"), encoding="utf-8")

    ran = nightgate("run", copied, "--store", tmp_path / "store")

    assert ran.code == ExitCode.INPUT
    assert "holds before the first message" in ran.err


def test_every_key_of_a_persona_is_explained() -> None:
    """What is not on the page is looked for in the code."""
    names = {name for row in table(CONVERSATIONS, "A case") for name in re.findall(r"`(\w+)`", row[0])}

    assert names == set(Persona.model_fields)


def test_the_endings_of_the_page_are_all_there_are() -> None:
    """Patience and the user's leaving are one reason with two rows."""
    rows = [row[0].strip("`") for row in table(CONVERSATIONS, "How it ends")]

    assert set(rows) == {reason.value for reason in EndReason}
    assert rows[0] == EndReason.GOAL_MET
    assert rows[-1] == EndReason.TURN_LIMIT


def test_every_metric_of_a_conversation_has_its_row_and_says_whether_it_decides() -> None:
    """One that is measured decides nothing."""
    rows = {row[0]: row[1] for row in table(CONVERSATIONS, "What is counted")}

    assert rows == {
        name: "yes" if known.default_threshold is not None else "no"
        for name, known in BUILTIN.items()
        if known.source in ("persona", "named")
    }


def test_what_the_simulator_did_wrong_is_named_as_in_the_summary() -> None:
    """The words of the page are those of the JSON."""
    text = CONVERSATIONS.read_text(encoding="utf-8")
    counted = {field.name for field in fields(SimulatorNotes)} - {"tokens", "cost_nanousd", "calls"}

    assert [name for name in sorted(counted) if f"`{name}`" not in text] == []


# -- statistics, adding, glossary, decisions --------------------------------------------------------


def test_the_examples_of_the_statistics_are_true() -> None:
    """They are doctests."""
    done = doctest.testfile(str(ROOT / "docs" / "statistics.md"), module_relative=False)

    assert done.attempted > 10
    assert done.failed == 0


async def test_the_custom_evaluator_of_the_page_runs(tmp_path: Path) -> None:
    """A complete example is one that works when it is copied."""
    suite = tmp_path / "support"
    shutil.copytree(SUPPORT, suite)
    code = next(block for block in blocks(ADDING, "python") if "class TerseAnswer" in block)
    (suite / "our_checks.py").write_text(code, encoding="utf-8")
    line = blocks(ADDING, "yaml")[0].splitlines()[1]
    text = (suite / "suite.yaml").read_text(encoding="utf-8")
    (suite / "suite.yaml").write_text(
        text.replace("evaluators:\n", f"evaluators:\n{line}\n"), encoding="utf-8"
    )

    summary = await run_suite(suite, store=InMemoryStore())

    terse = next(e for e in summary.as_dict()["evaluators"] if e["name"] == "TerseAnswer")
    assert (terse["planned"], terse["passed"], terse["threshold"]) == (7, 7, "0.9")


@pytest.mark.parametrize("kind", [Status, Blame, Ending])
def test_the_glossary_has_every_status_blame_and_ending(kind: Any) -> None:
    """They are the words of the rows."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

    assert [word.value for word in kind if not re.search(rf"\b{word.value}\b", text)] == []


def test_the_decisions_are_numbered_and_have_a_status() -> None:
    """A gap is a decision that got lost."""
    heads = [path.read_text(encoding="utf-8").splitlines()[:3] for path in DECISIONS]

    assert [path.name[:4] for path in DECISIONS] == [
        f"{number:04d}" for number in range(1, len(DECISIONS) + 1)
    ]
    assert [head[0].split()[1] for head in heads] == [f"{number}." for number in range(1, len(DECISIONS) + 1)]
    assert {head[2].partition(":")[0] for head in heads} == {"Status"}


def test_the_changelog_has_this_version_and_says_what_happened_to_scores() -> None:
    """Figures of two versions are compared only where this says that they may be."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## [{VERSION}]")[2].partition("\n## ")[0]

    assert "\n### Added\n" in section
    assert "\n### Scores\n" in section


# -- claims of the texts that no other test holds ---------------------------------------------------


def decision(
    gate: dict[str, Any], statuses: list[str], *, required: int = 0, complete: bool = True
) -> Decision:
    """The gate's answer to one trial of each of so many cases; the last ``required`` require ``E``."""
    ids = [f"c{number}" for number in range(len(statuses))]
    planned = [
        replace(a_planned_case(a_case(case_id)), require=("E",) if number >= len(ids) - required else ())
        for number, case_id in enumerate(ids)
    ]
    evaluator = replace(a_planned(threshold="0.85"), min_coverage=gate.get("min_coverage", "1.0"))
    plan = replace(a_plan(*planned), evaluators=(evaluator,), gate=gate)
    rows = [
        (case_id, "E", status, None, None) for case_id, status in zip(ids, statuses, strict=True) if status
    ]
    return decide(tally(plan, rows), complete=complete)


def test_an_open_run_never_answers_0() -> None:
    """``on_inconclusive: allow`` is about runs that were measured to their end."""
    found = decision({"on_inconclusive": "allow"}, ["pass", ""], complete=False)

    assert found.exit_code == ExitCode.INCONCLUSIVE


async def test_what_is_reused_need_not_lie_where_the_check_looks(tmp_path: Path) -> None:
    """Several suites are checked in a folder of their own, where no run lies."""
    values = {"store": str(tmp_path), "reuse": "latest"}

    await preflight(requests.RunRequest.make(SUPPORT, values))


def test_the_interval_counts_required_findings_that_did_not_apply() -> None:
    """Of 120 cells half passed and half were required and not applicable: that is 50%, not 100%."""
    gate = {"policy": "confident", "min_coverage": "0.4"}

    found = decision(gate, ["pass"] * 60 + ["not_applicable"] * 60, required=60)

    interval = found.evaluators[0].interval
    assert interval is not None
    assert interval[0] < 0.5 < interval[1]
    assert found.exit_code == ExitCode.FAILED
