"""Lines for machines: strict JSON whatever was said, without secrets, and silent unless asked for."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from makers import a_limiter, a_scope, a_trial, in_turn, metered, said
from nightgate import logs
from nightgate.adapters.store.memory import InMemoryStore
from nightgate.calls import scoped
from nightgate.errors import InputError, ModelCallError, StoreError
from nightgate.recorder import Recorder

SECRET = "sk-proj-abcdefghijklmnop1234567890"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(logs.SETTING, raising=False)
        patch.delenv(logs.LEVEL, raising=False)
        logs.set_up()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Lines are asked for."""
    monkeypatch.setenv(logs.SETTING, "json")
    logs.set_up()
    return monkeypatch


def written(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines on stderr as strict JSON."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in capsys.readouterr().err.splitlines()]


def test_nothing_is_written_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Python's handler of last resort would write warnings all the same."""
    assert not logs.warn("spool", "away")

    assert capsys.readouterr().err == ""


def test_a_line_says_when_how_bad_who_and_what(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What every reader of logs sorts by; what is not known is left out."""
    logs.info("shards", "shard 3 claimed", shard=3, before=None, stopped="")

    (line,) = written(capsys)
    assert line.pop("ts").endswith("Z")
    assert line == {"level": "info", "logger": "nightgate.shards", "message": "shard 3 claimed", "shard": 3}


def test_a_line_knows_the_run_and_the_trial_that_it_comes_from(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody who says something has to know all of it."""
    with logs.about(run="r", worker="w1"), logs.about(shard=7), scoped(a_scope(case_id="späť", trial=2)):
        logs.info("trials", "inside")
    logs.info("trials", "outside")

    inside, outside = written(capsys)
    expected = {"run": "r", "worker": "w1", "shard": 7, "suite": "demo", "case": "späť", "trial": 2}
    assert {name: inside.get(name) for name in expected} == expected
    assert not expected.keys() & outside.keys()


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines",
        "\x1b[31mred\x1b[0m\x07",
        "half \ud800 a pair",
        'a "quote" \\',
        "Grüße 🧾",
        "\u2028",
        "\x00",
    ],
)
def test_odd_text_stays_one_line_of_strict_ascii_json(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """A model's answer must not fake a line, and a log driver reads UTF-8 or ASCII alone."""
    logs.info("trials", f"say {text}.", case=text)

    err = capsys.readouterr().err
    (line,) = err.splitlines()
    found = json.loads(line)
    found["message"].encode()
    assert err.isascii()
    assert not {char for char in found["message"] + found.get("case", "") if ord(char) < 32}


def test_a_figure_that_is_none_is_null(asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """NaN is no JSON; and what is no JSON at all is text."""
    logs.info("gate", "odd", nan=float("nan"), path=Path("/a"), yes=True)

    (line,) = written(capsys)
    assert (line["nan"], line["path"], line["yes"]) == (None, "/a", True)


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"Authorization: Bearer {SECRET}",
        f"sk-proj-\x1b[0m{SECRET[8:]}",
        f"é{SECRET}",
        "hunter2hunter2",
    ],
)
def test_a_secret_reaches_no_line(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """In message, fact and exception; by its form, or as the value of a variable that says what it is."""
    asked.setenv("MY_API_KEY", "hunter2hunter2")
    broken = RuntimeError(text)
    logging.getLogger("nightgate.alerts").error("failed: %s", text, exc_info=broken)
    logs.warn("calls", text, error=text)

    err = capsys.readouterr().err
    assert "1234567890" not in err
    assert "hunter2" not in err
    assert err.count("[redacted]") >= 4


def test_other_handlers_hear_no_secret_either(asked: pytest.MonkeyPatch) -> None:
    """Prefect keeps lines of its own in its server's database."""
    heard: list[str] = []

    class Other(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    other = Other()
    logging.getLogger("nightgate").addHandler(other)
    try:
        logs.info("calls", f"refused {SECRET} 100%")
    finally:
        logging.getLogger("nightgate").removeHandler(other)

    assert heard == ["refused [redacted] 100%"]


def test_a_line_is_written_once_where_the_root_logger_writes_too(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As Prefect's root handler does in every flow."""
    root = logging.StreamHandler(sys.stderr)
    logging.getLogger().addHandler(root)
    try:
        logs.set_up()  # once more: every room of a process does
        logs.warn("spool", "away")
    finally:
        logging.getLogger().removeHandler(root)

    assert [line["message"] for line in written(capsys)] == ["away"]


def test_a_stderr_that_is_closed_does_not_break_a_run(asked: pytest.MonkeyPatch) -> None:
    """Whoever read the log is gone; the run is not."""
    with Path("/dev/null").open("w") as gone:
        asked.setattr(sys, "stderr", gone)
    assert sys.stderr.closed

    assert logs.warn("spool", "away")


@pytest.mark.parametrize(
    ("level", "told"), [("debug", ["d", "i", "w"]), ("", ["i", "w"]), ("WARNING", ["w"]), ("error", [])]
)
def test_the_level_says_how_much(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], level: str, told: list[str]
) -> None:
    """Info unless given."""
    asked.setenv(logs.LEVEL, level)
    logs.set_up()
    logs.debug("a", "d")
    logs.info("a", "i")
    logs.warn("a", "w")

    assert [line["message"] for line in written(capsys)] == told


@pytest.mark.parametrize(("name", "value"), [(logs.SETTING, "yaml"), (logs.LEVEL, "loud")])
def test_a_setting_that_means_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Silence would look like a quiet night."""
    monkeypatch.setenv(name, value)

    with pytest.raises(InputError, match=name):
        logs.set_up()


async def test_calls_that_are_made_again_or_given_up_are_told(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With role and model, so that a throttled one is found while the run goes on."""
    throttled = ModelCallError("throttled", f"slow down, {SECRET}")
    model = metered(in_turn(throttled, said("ok"), ModelCallError("auth", "no")), limiter=a_limiter())
    with scoped(a_scope()):
        assert [event async for event in model.stream([])]
        with pytest.raises(ModelCallError):
            _ = [event async for event in model.stream([])]

    again, lost = written(capsys)
    whose = {"run": "r", "case": "a", "trial": 0, "role": "agent", "model": "tiny:model"}
    assert {name: again[name] for name in whose} == {name: lost[name] for name in whose} == whose
    assert (again["level"], again["outcome"], again["attempt"]) == ("info", "throttled", 1)
    assert (lost["level"], lost["outcome"], lost["attempt"]) == ("warning", "auth", 1)
    assert again["error"] == "slow down, [redacted]"


@pytest.mark.parametrize("code", ["import nightgate", "import nightgate.cli.parser, nightgate.logs"])
def test_neither_the_package_nor_its_help_loads_what_telemetry_needs(code: str) -> None:
    """They answer at once, also where telemetry is asked for."""
    heavy = "('opentelemetry', 'pyarrow', 'strands', 'requests')"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint([n for n in {heavy} if n in sys.modules])"],
        capture_output=True,
        text=True,
        check=True,
        env={"NIGHTGATE_LOG": "json", "NIGHTGATE_METRICS": "emf,otlp"},
    )

    assert done.stdout.strip() == "[]"


async def test_a_store_that_is_away_is_told_once_and_its_return_too(
    asked: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Every second tries again, and none of them is news."""

    class Away(InMemoryStore):
        away = True

        def create(self, key: str, data: bytes) -> None:
            if self.away:
                raise StoreError("no route to host")
            super().create(key, data)

    store = Away()
    async with Recorder(store, "r", "w", 1, tmp_path) as recorder:
        recorder.write(a_trial("ok"))
        for _ in range(2):
            with pytest.raises(StoreError):
                await recorder.flush()
            recorder._away("no route to host")  # as the flush of every second does
        store.away = False
        await recorder.flush()

    found = written(capsys)
    assert [(line["level"], line["run"]) for line in found] == [("warning", "r"), ("info", "r")]
    assert "no route to host" in found[0]["message"]
    assert found[1]["message"].endswith("is back")
