"""trace-to-case from the shell: a recording becomes a draft, and a confirmed draft a case that passes."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from confirming import uncommented
from servers import S3Server
from shell import ROOT, SUPPORT, Ran, environment, nightgate

TRACES = ROOT / "tests" / "data" / "traces"
SAMPLE = TRACES / "otel_genai_spans.json"
HEAVY = ("strands", "strands_evals", "prefect", "boto3", "s3fs", "pyarrow", "scipy", "lingua")
WEATHER_AGENT = """
from strands import Agent, tool


@tool
def get_weather(location: str) -> str:
    "Get current weather for a location."
    return f"rainy in {location}"


def build(model, case):
    return Agent(model=model, tools=[get_weather], callback_handler=None)
"""
WEATHER_SUITE = """
suite: weather
agent: weather_agent:build
model: scripted:none
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed run of the support suite with the model that fails."""
    folder = tmp_path_factory.mktemp("store")
    ran = nightgate("run", SUPPORT, "--store", folder, "--model", "scripted:upgraded", "--trials", "2")
    assert ran.code == 1, ran.err
    return folder


def support(folder: Path) -> Path:
    """A copy of the suite that drafts may be put into."""
    return Path(shutil.copytree(SUPPORT, folder / "support"))


def weather(folder: Path) -> Path:
    """A suite with an agent and no case yet."""
    suite = folder / "weather"
    (suite / "scripts").mkdir(parents=True)
    (suite / "suite.yaml").write_text(WEATHER_SUITE)
    (suite / "weather_agent.py").write_text(WEATHER_AGENT)
    (suite / "scripts" / "none.yaml").write_text('replies: {"*": [{say: x}]}\n')
    return suite


def confirm(suite: Path) -> str:
    """What a person does by hand: take the proposals, move both files; returns their name."""
    (script,) = (suite / "drafts").glob("*.script.yaml")
    name = script.name.removesuffix(".script.yaml")
    draft = suite / "drafts" / f"{name}.yaml"
    (suite / draft.name).write_text(uncommented(draft.read_text(encoding="utf-8")), encoding="utf-8")
    draft.unlink()
    script.rename(suite / "scripts" / f"{name}.yaml")
    return name


def passes(suite: Path, name: str, folder: Path) -> Any:
    """The confirmed case loads, and with the recorded replies it passes."""
    checked = nightgate("check", suite)
    assert checked.code == 0, checked.err
    ran = nightgate(
        "run", suite, "--case", name, "--model", f"scripted:{name}", "--store", folder / "out", "--json", "-"
    )
    cells = ran.json["cells"]
    assert cells["planned"] == cells["pass"] > 0, ran.out + ran.err
    return ran.json


def committed(*args: str | Path, store: Path | str) -> Ran:
    return nightgate("trace-to-case", "latest", "--store", store, *args)


# --- the round trip -------------------------------------------------------------------------------


def test_sample_spans_become_a_case_that_passes_with_their_own_replies(tmp_path: Path) -> None:
    """The whole way: spans, draft, a person's yes, check, run."""
    suite = weather(tmp_path)

    ran = nightgate("trace-to-case", SAMPLE, "--to", suite)
    assert ran.code == 0, ran.err
    summary = passes(suite, confirm(suite), tmp_path)

    assert {row["name"] for row in summary["evaluators"]} == {"ToolPolicy", "ArgumentPolicy", "AnswerPolicy"}


def test_a_stored_trial_becomes_a_case_that_passes_with_its_own_replies(tmp_path: Path, store: Path) -> None:
    """The factory needs the case's context; the suite has it."""
    suite = support(tmp_path)

    ran = committed("--case", "report-repair", "--trial", "1", "--to", suite, store=store)
    assert ran.code == 0, ran.err
    name = confirm(suite)

    assert "context: {customer_id: C-17}" in (suite / f"{name}.yaml").read_text()
    passes(suite, name, tmp_path)


@pytest.mark.parametrize("file", ["adot_spans_and_events.jsonl", "otlp_export.json", "logs_insights.json"])
def test_calls_in_the_json_equal_the_traces(file: str) -> None:
    """Arguments, types and order; other tools read this document."""
    ran = nightgate("trace-to-case", TRACES / file, "--json", "-")

    assert ran.code == 0, ran.err
    wanted = json.loads((TRACES / "library_turn.json").read_text())
    assert ran.json["schema"] == 1
    assert json.dumps(ran.json["tool_calls"]) == json.dumps(wanted["calls"])
    assert (ran.json["input"], ran.json["output"]) == (wanted["input"], wanted["output"])
    assert ran.json["draft"].startswith("## Draft of a case")


def test_what_is_printed_is_the_draft_and_the_rest_goes_to_stderr() -> None:
    """``> draft.yaml`` must give a file that the loader can read."""
    ran = nightgate("trace-to-case", SAMPLE)

    assert ran.code == 0
    assert ran.out.startswith("## Draft of a case")
    assert "cases:\n  - id: what-s-the-weather-in-paris-and-" in ran.out
    assert "##: replies:" in ran.out
    assert ran.err.splitlines() == [
        "read OTel GenAI spans",
        "trace a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4",
    ]


def test_stdin_is_a_file() -> None:
    """``aws logs ... | nightgate trace-to-case /dev/stdin``."""
    ran = subprocess.run(
        [sys.executable, "-m", "nightgate.cli", "trace-to-case", "/dev/stdin"],
        input=SAMPLE.read_text(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert "must_call: [get_weather]" in ran.stdout


# --- drafts in a suite ----------------------------------------------------------------------------


def test_a_draft_is_not_read_as_a_case(tmp_path: Path) -> None:
    """Nothing changes until a person moves it."""
    suite = support(tmp_path)
    before = nightgate("check", suite, "--json", "-").json

    assert nightgate("trace-to-case", SAMPLE, "--to", suite).code == 0

    assert nightgate("check", suite, "--json", "-").json == before


def test_what_to_do_next_is_said(tmp_path: Path) -> None:
    """Commands that can be copied."""
    suite = support(tmp_path)

    out = nightgate("trace-to-case", SAMPLE, "--to", suite).out

    assert f"wrote {suite}/drafts/what-s-the-weather-in-paris-and-" in out
    assert f"nightgate check {suite}" in out
    assert f"nightgate run {suite} --case what-s-the-weather" in out


def test_a_draft_that_somebody_worked_on_is_not_overwritten(tmp_path: Path) -> None:
    """The same command again changes nothing, and refuses once the file differs."""
    suite = support(tmp_path)
    assert nightgate("trace-to-case", SAMPLE, "--to", suite).code == 0
    assert nightgate("trace-to-case", SAMPLE, "--to", suite).code == 0
    (draft,) = (path for path in (suite / "drafts").iterdir() if not path.name.endswith(".script.yaml"))
    draft.write_text(draft.read_text() + "# mine\n")

    ran = nightgate("trace-to-case", SAMPLE, "--to", suite)

    assert ran.code == 1
    assert "another draft has this name" in ran.err
    assert draft.read_text().endswith("# mine\n")


def test_a_full_disk_leaves_no_draft_and_the_next_try_works(tmp_path: Path) -> None:
    """An empty draft once blocked every later try."""
    suite = weather(tmp_path)
    command = shlex.join(
        [sys.executable, "-m", "nightgate.cli", "trace-to-case", str(SAMPLE), "--to", str(suite)]
    )

    # No file may grow beyond 512 or 1024 bytes: the case does not fit, the script may.
    full = subprocess.run(
        ["bash", "-c", f"ulimit -f 1; {command}"],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )

    assert full.returncode == 2, full.stderr
    assert "cannot be written: File too large" in full.stderr
    assert not (suite / "drafts").exists()
    assert nightgate("trace-to-case", SAMPLE, "--to", suite).code == 0
    passes(suite, confirm(suite), tmp_path)


def test_the_line_that_keeps_a_case_from_gating_is_named(tmp_path: Path) -> None:
    """A run of the new case alone is inconclusive, and the draft says why before anyone wonders."""
    suite = weather(tmp_path)

    out = nightgate("trace-to-case", SAMPLE, "--to", suite).out
    name = confirm(suite)
    run = ("run", suite, "--case", name, "--model", f"scripted:{name}", "--store", tmp_path / "s")

    assert "drop the line `stage: capability` once the case should gate" in out
    assert nightgate(*run).code == 3
    case = suite / f"{name}.yaml"
    case.write_text(case.read_text().replace("    stage: capability\n", ""))
    assert nightgate(*run).code == 0


def test_help_names_the_exit_codes() -> None:
    """Scripts tell a name that is taken from wrong input."""
    assert "1 refused: another draft has the name" in " ".join(
        nightgate("trace-to-case", "--help").out.split()
    )


def test_an_id_that_the_suite_has_is_refused(tmp_path: Path) -> None:
    """The case could not be loaded beside the other."""
    suite = support(tmp_path)

    ran = nightgate("trace-to-case", SAMPLE, "--to", suite, "--case", "report-repair")

    assert ran.code == 2
    assert "the suite has a case 'report-repair' already; name another id with --case" in ran.err
    assert not (suite / "drafts").exists()


def test_the_suite_must_be_one(tmp_path: Path) -> None:
    """A draft in the wrong folder would never be found."""
    ran = nightgate("trace-to-case", SAMPLE, "--to", tmp_path)

    assert ran.code == 2
    assert "suite.yaml" in ran.err


# --- runs -----------------------------------------------------------------------------------------


def test_the_fault_of_a_failed_trial_is_in_the_draft(store: Path) -> None:
    """What a person starts from: what was asked, and what the model did wrong."""
    ran = committed("--case", "no-resolve-unconfirmed", "--json", "-", store=store)

    assert ran.code == 0, ran.err
    assert [call["name"] for call in ran.json["tool_calls"]] == ["get_case", "resolve_case"]
    assert ran.json["source"]["case_id"] == "no-resolve-unconfirmed"


def test_a_trial_that_never_worked_is_refused_and_another_is_named(tmp_path: Path) -> None:
    """Its draft would expect that nothing is called and nothing is said."""
    suite = weather(tmp_path)
    (suite / "cases.yaml").write_text("cases: [{id: a, input: Hi, expect: {answer: {contains: [x]}}}]\n")
    script = "replies: {a: {trials: [[{raise: auth}], [{say: x}]]}, b: [{raise: auth}]}\n"
    (suite / "scripts" / "none.yaml").write_text(script)
    store = tmp_path / "s"
    assert nightgate("run", suite, "--trials", "2", "--store", store).code == 3

    broken = committed("--case", "a", "--to", suite, store=store)
    other = committed("--case", "a", "--trial", "1", store=store)

    assert broken.code == 1
    assert "it ended as infra_error" in broken.err
    assert "take --trial 1, which completed" in broken.err
    assert not (suite / "drafts").exists()
    assert other.code == 0, other.err
    assert "has a context" not in other.out


def test_a_stored_conversation_becomes_a_persona(tmp_path: Path) -> None:
    """Its last message alone is no question that one could ask again."""
    store = tmp_path / "s"
    case = "move-by-number-en"
    assert nightgate("run", ROOT / "cases" / "appointments", "--case", case, "--store", store).code == 0
    suite = Path(shutil.copytree(ROOT / "cases" / "appointments", tmp_path / "appointments"))

    ran = committed("--case", case, "--to", suite, store=store)
    assert ran.code == 0, ran.err
    name = confirm(suite)

    assert "give the persona its goal and its success" in ran.out
    assert "\n    persona:\n      goal: " in (suite / f"{name}.yaml").read_text()
    assert nightgate("check", suite).code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["latest"], "name the case with --case; it has"),
        (["latest", "--case", "report-repai"], "no case 'report-repai'; did you mean 'report-repair'?"),
        (["latest", "--case", "report-repair", "--trial", "2"], "has trials 0 to 1, not 2"),
        (["latest", "--case", "report-repair", "--trial", "-1"], "has trials 0 to 1, not -1"),
        (["latest", "--case", "report-repair", "--trace", "x"], "is a run; --case and --trial name a trial"),
        (["latest:other", "--case", "x"], "no run of suite 'other'"),
        (["no-such-run", "--case", "x"], "no run 'no-such-run'"),
        (["no/such/file.json"], "no/such/file.json:1: cannot be read: there is no such file"),
        ([str(ROOT)], "is a folder; name one file"),
        ([str(SAMPLE), "--trial", "1"], "is a file; --trace names one of its traces"),
        ([str(SAMPLE), "--trace", "ffff"], "no trace has this id"),
    ],
)
def test_what_cannot_be_meant_is_wrong_input(store: Path, args: list[str], said: str) -> None:
    """Exit 2, with what there is to choose from."""
    ran = nightgate("trace-to-case", *args, "--store", store)

    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


def test_an_open_run_has_its_trials_in_staging(tmp_path: Path) -> None:
    """A run that a budget stopped is where one wants to look first."""
    suite = support(tmp_path)
    priced = (suite / "scripts" / "baseline.yaml").read_text()
    usage = priced.replace("- say:", "- usage: {input: 1000000}\n      say:")
    (suite / "scripts" / "baseline.yaml").write_text("price: {input: 1}\n" + usage)
    ran = nightgate(
        "run", suite, "--store", tmp_path / "s", "--budget-usd", "3", "--concurrency", "1", "--json", "-"
    )
    assert ran.code == 4, ran.err
    assert not ran.json["complete"]

    first = nightgate("trace-to-case", "latest", "--store", tmp_path / "s", "--case", "refund-in-window")
    last = nightgate("trace-to-case", "latest", "--store", tmp_path / "s", "--case", "no-resolve-unconfirmed")

    assert first.code == 0, first.err
    assert "must_call: [search_kb]" in first.out
    assert last.code == 2
    assert "is open and trial 0 of 'no-resolve-unconfirmed' has not been played" in last.err


@pytest.mark.server
def test_a_run_in_s3_is_read_the_same(s3_process: S3Server, store: Path, tmp_path: Path) -> None:
    """One code path for both stores."""
    uri = f"s3://{s3_process.bucket()}/evals"
    env = s3_process.env
    flags = ("--model", "scripted:upgraded", "--trials", "2", "--spool", tmp_path)
    assert nightgate("run", SUPPORT, "--store", uri, *flags, env=env).code == 1

    def turn(place: str | Path) -> Any:
        args = ("trace-to-case", "latest:support", "--store", place, "--case", "report-repair", "--json", "-")
        ran = nightgate(*args, env=env)
        assert ran.code == 0, ran.err
        return [ran.json[part] for part in ("input", "tool_calls", "output")]

    assert turn(uri) == turn(store)


# --- nothing to write -----------------------------------------------------------------------------


def test_spans_without_content_write_nothing(tmp_path: Path) -> None:
    """Exit 3: it cannot be told; and the setting that would have told it is named."""
    suite = support(tmp_path)
    document = tmp_path / "out.json"

    ran = nightgate("trace-to-case", TRACES / "no_content.jsonl", "--to", suite, "--json", document)

    assert ran.code == 3
    assert "Message content was not captured" in ran.err
    assert ran.out == ""
    assert not document.exists()
    assert not (suite / "drafts").exists()


def test_a_pointer_is_refused_like_any_other_file_that_is_none(tmp_path: Path) -> None:
    """With file and line."""
    pointer = tmp_path / "spans.jsonl"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n")

    ran = nightgate("trace-to-case", pointer)

    assert ran.code == 2
    assert f"{pointer}:1: is a Git LFS pointer, not the file itself; run `git lfs pull`" in ran.err


def test_a_key_in_a_trace_reaches_neither_draft_nor_terminal(tmp_path: Path) -> None:
    """A draft is made to be committed."""
    key = "sk-" + "aB3" * 10
    spans = tmp_path / "spans.json"
    spans.write_text(SAMPLE.read_text().replace("Paris", f"Paris {key}"))
    suite = support(tmp_path)

    ran = nightgate("trace-to-case", spans, "--to", suite, "--json", "-")

    assert ran.code == 0, ran.err
    assert "masked what looked like a credential" in ran.err
    written = "".join(path.read_text() for path in (suite / "drafts").iterdir())
    assert key not in ran.out + ran.err + written
    assert "Paris [redacted]" in written


def test_a_password_is_masked_wherever_it_stands(tmp_path: Path) -> None:
    """Its name stands beside it in the arguments only; the question makes the id and the file's name."""
    secret = "hunter2hunter2"
    text = SAMPLE.read_text().replace("Paris", secret).replace('\\"location\\"', '\\"password\\"')
    assert secret in text
    spans = tmp_path / "spans.json"
    spans.write_text(text)
    suite = weather(tmp_path)

    for more in ([], ["--case", f"about-{secret}"]):
        ran = nightgate("trace-to-case", spans, "--to", suite, "--json", "-", *more)

        assert ran.code == 0, ran.err
        written = "".join(path.name + path.read_text() for path in (suite / "drafts").iterdir())
        assert secret not in ran.out + ran.err + written


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2028"])
def test_a_blank_question_writes_nothing(tmp_path: Path, blank: str) -> None:
    """Exit 3: the draft could never be loaded."""
    asked = "What's the weather in Paris and London?"
    text = SAMPLE.read_text().replace(asked, blank)
    spans = tmp_path / "spans.json"
    spans.write_text(text)
    suite = weather(tmp_path)

    ran = nightgate("trace-to-case", spans, "--to", suite)

    assert asked not in text
    assert ran.code == 3
    assert "the user's last message is blank" in ran.err
    assert not (suite / "drafts").exists()


def test_reading_spans_is_light() -> None:
    """Neither Strands nor a storage client for a file on the disk."""
    code = (
        "import sys\nfrom nightgate.cli import main\n"
        f"main(['trace-to-case', {str(SAMPLE)!r}])\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
