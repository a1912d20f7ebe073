"""``nightgate simulator validate`` from the shell: runs that were played, transcripts that were written."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from shell import DRILLS, SUPPORT, Ran, nightgate

TALKS = DRILLS / "talks"
CODE = "BK-2041"
SIZE = 120
ENDS = ("goal_met", "goal_met", "goal_met", "user_satisfied", "user_abandoned")


def a_plot(rng: random.Random, *, most: int = 6) -> tuple[list[str], str]:
    """What a user says, and how it ends: 2 to ``most`` messages of 3 to 9 words, the code in one."""
    said = [" ".join(["well"] * rng.randint(3, 9)) + f" {n}" for n in range(rng.randint(2, most))]
    if rng.random() < 0.9:
        said[-1] += f" {CODE}"
    return said, rng.choice(ENDS)


def a_suite(folder: Path, rng: random.Random) -> Path:
    """A suite of scripted conversations; each case plays one plot."""
    suite = folder / "talks"
    shutil.copytree(TALKS, suite, ignore=shutil.ignore_patterns("cases.yaml", "transcripts"))
    cases, users, agents = [], {}, {}
    for number in range(SIZE):
        said, end = a_plot(rng)
        case = f"c{number}"
        persona = {
            "goal": "Move the appointment.",
            "withheld": {"code": {"value": CODE, "asked_by": "code"}},
            "success": {"state": {"slot": "thursday"}},
        }
        cases.append({"id": case, "layer": "conversation", "input": said[0], "persona": persona})
        token = {"user_satisfied": " [DONE]", "user_abandoned": " [LEAVE]", "goal_met": ""}[end]
        users[case] = [{"say": text} for text in said[1:]]
        users[case][-1]["say"] += token
        agents[case] = [{"say": f"Which code? ({n})"} for n in range(len(said) - 1)]
        moved = [{"call": {"move": {"slot": "thursday"}}}] if end == "goal_met" else []
        agents[case] += [*moved, {"say": "Noted."}]
    (suite / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (suite / "scripts" / "user.yaml").write_text(json.dumps({"replies": users}))
    (suite / "scripts" / "agent.yaml").write_text(json.dumps({"replies": agents}))
    return suite


def a_chat(number: int, said: list[str], end: str) -> dict[str, Any]:
    """A real conversation as a line."""
    messages = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "Which code?"}]
    return {"id": f"chat-{number}", "messages": messages, "end_reason": end, "facts": {"code": CODE}}


def transcripts(suite: Path, *chats: dict[str, Any]) -> None:
    """Write the suite's real conversations."""
    folder = suite / "transcripts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "chats.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A suite with a run of 120 conversations, and its store."""
    folder = tmp_path_factory.mktemp("played")
    suite = a_suite(folder, random.Random(1))
    ran = nightgate("run", suite, "--store", folder / "store")
    assert ran.code == 1, ran.err  # some users leave: the goal is not met everywhere
    return suite, folder / "store"


def validate(suite: Path, store: Path, *flags: str | Path) -> Ran:
    return nightgate("simulator", "validate", suite, "--store", store, *flags)


def words_of(ran: Ran) -> dict[str, str | None]:
    return {feature["name"]: feature["word"] for feature in ran.json["features"]}


# --- the three words ---


def test_users_like_the_real_ones_are_representative(played: tuple[Path, Path]) -> None:
    suite, store = played
    rng = random.Random(2)
    transcripts(suite, *(a_chat(n, *a_plot(rng)) for n in range(SIZE)))

    ran = validate(suite, store, "--json", "-")

    assert ran.code == 0, ran.out
    assert set(words_of(ran).values()) == {"representative"}
    assert ran.json["facts_by"] == "value"
    assert ran.json["simulated"] == {"conversations": SIZE, "left_out": {}, "copies": 0}
    assert ran.err.startswith("REPRESENTATIVE  simulated user of talks")


def test_users_who_need_longer_than_the_simulated_one_are_found(played: tuple[Path, Path]) -> None:
    """The feature that is off is named, with its size and its samples."""
    suite, store = played
    rng = random.Random(3)
    transcripts(suite, *(a_chat(n, *a_plot(rng, most=12)) for n in range(SIZE)))

    ran = validate(suite, store)

    assert ran.code == 1, ran.out
    assert ran.out.startswith("NOT REPRESENTATIVE")
    assert "turns a conversation: not representative: " in ran.out
    assert "fewer than real users (Cramer-von Mises p < 0.001)" in ran.out
    assert "words a message       representative " in ran.out


def test_ends_that_real_conversations_do_not_have_are_found(played: tuple[Path, Path]) -> None:
    suite, store = played
    rng = random.Random(4)
    chats = [a_chat(n, *a_plot(rng)) for n in range(SIZE)]
    transcripts(suite, *({**chat, "end_reason": "user_abandoned"} for chat in chats))

    ran = validate(suite, store, "--json", "-")

    assert ran.code == 1
    assert [name for name, word in words_of(ran).items() if word == "not representative"] == ["end_reasons"]


def test_twenty_real_conversations_prove_little(played: tuple[Path, Path]) -> None:
    suite, store = played
    rng = random.Random(5)
    transcripts(suite, *(a_chat(n, *a_plot(rng)) for n in range(20)))

    ran = validate(suite, store)

    assert ran.code == 3, ran.out
    assert ran.out.startswith("UNPROVEN")
    assert "no difference shown, and the interval" in ran.out


def test_transcripts_that_do_not_say_how_they_ended_leave_it_open(played: tuple[Path, Path]) -> None:
    """A feature that nobody could compare is no pass."""
    suite, store = played
    rng = random.Random(2)
    chats = [a_chat(n, *a_plot(rng)) for n in range(SIZE)]
    transcripts(suite, *({key: chat[key] for key in ("id", "messages", "facts")} for chat in chats))

    ran = validate(suite, store)

    assert ran.code == 3
    assert "end reasons: unproven: no transcript says how it ended" in ran.out


def test_json_goes_into_a_file(played: tuple[Path, Path], tmp_path: Path) -> None:
    suite, store = played
    transcripts(suite, a_chat(1, ["Hello"], "goal_met"))

    ran = validate(suite, store, "--json", tmp_path / "deep" / "found.json")

    assert json.loads((tmp_path / "deep" / "found.json").read_text())["exit_code"] == ran.code == 3


# --- which run ---


@pytest.fixture(scope="module")
def drill(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The drill suite, with a run of kind run."""
    folder = tmp_path_factory.mktemp("drill")
    suite = Path(shutil.copytree(TALKS, folder / "talks"))
    ran = nightgate("run", suite, "--store", folder / "store", "--run-id", "first", "--trials", "2")
    assert ran.code == 1, ran.err
    return suite, folder / "store"


def test_trials_of_a_script_count_once(drill: tuple[Path, Path]) -> None:
    """They are the same words again."""
    ran = validate(*drill, "--json", "-")
    assert ran.code == 3
    assert ran.json["run_id"] == "first"
    assert ran.json["simulated"] == {"conversations": 3, "left_out": {}, "copies": 3}


def test_a_conversation_that_broke_off_is_said(drill: tuple[Path, Path], tmp_path: Path) -> None:
    """The script of another user runs out in the second turn: nothing is known of its conversation."""
    suite = Path(shutil.copytree(drill[0], tmp_path / "talks"))
    (suite / "scripts" / "mute.yaml").write_text(
        'replies: {moves: [{say: It is bk 2041.}], "*": [{raise: auth}]}\n'
    )
    nightgate("run", suite, "--store", tmp_path / "store", "--user", "scripted:mute")

    ran = validate(suite, tmp_path / "store", "--json", "-")

    assert ran.code == 3
    assert ran.json["simulated"] == {
        "conversations": 1,
        "left_out": {"simulator_error": 2},
        "copies": 0,
    }


def test_a_run_in_which_nothing_came_to_an_end_cannot_be_told(
    drill: tuple[Path, Path], tmp_path: Path
) -> None:
    (drill[0] / "scripts" / "silent.yaml").write_text('replies: {"*": [{raise: auth}]}\n')
    nightgate("run", drill[0], "--store", tmp_path, "--user", "scripted:silent", "--run-id", "silent")

    named, latest = validate(drill[0], tmp_path, "--run", "silent"), validate(drill[0], tmp_path)

    assert (named.code, latest.code) == (3, 3)
    assert "none of its conversations came to an end: 3 simulator_error" in named.err
    assert "has a conversation that ended; play some with `nightgate run" in latest.err


def test_the_latest_run_with_conversations_is_taken(drill: tuple[Path, Path], tmp_path: Path) -> None:
    """Not a newer one in which the simulated user never spoke; that one has to be named."""
    (drill[0] / "scripts" / "silent.yaml").write_text('replies: {"*": [{raise: auth}]}\n')
    nightgate("run", drill[0], "--store", tmp_path, "--run-id", "older")
    nightgate("run", drill[0], "--store", tmp_path, "--run-id", "newer", "--user", "scripted:silent")

    ran = validate(drill[0], tmp_path, "--json", "-")

    assert ran.json["run_id"] == "older"
    assert validate(drill[0], tmp_path, "--run", "latest").err.startswith("nightgate: run newer: none of")


def test_a_run_without_conversations_cannot_be_told(drill: tuple[Path, Path], tmp_path: Path) -> None:
    suite = Path(shutil.copytree(SUPPORT, tmp_path / "support"))
    shutil.copytree(TALKS / "transcripts", suite / "transcripts")
    chats = (suite / "transcripts" / "chats.jsonl").read_text().replace('"case_id": "moves", ', "")
    (suite / "transcripts" / "chats.jsonl").write_text(chats)
    nightgate("run", suite, "--store", tmp_path / "store", "--run-id", "support")

    ran = validate(suite, tmp_path / "store", "--run", "support")

    assert ran.code == 3
    assert "run support: it has no conversations" in ran.err


def test_a_run_of_another_suite_is_refused(drill: tuple[Path, Path], tmp_path: Path) -> None:
    suite = Path(shutil.copytree(drill[0], tmp_path / "others"))
    text = (suite / "suite.yaml").read_text()
    (suite / "suite.yaml").write_text(text.replace("suite: talks", "suite: others"))

    ran = validate(suite, drill[1], "--run", "first")

    assert ran.code == 2
    assert "run first is of suite 'talks', not 'others'" in ran.err


@pytest.mark.parametrize("flags", [("--run", "none"), ()])
def test_a_run_that_is_not_there_is_refused(
    flags: tuple[str, ...], drill: tuple[Path, Path], tmp_path: Path
) -> None:
    ran = validate(drill[0], tmp_path / "empty", *flags)
    assert ran.code == 2
    assert "no run" in ran.err


def test_an_open_run_is_not_taken_for_whole(drill: tuple[Path, Path], tmp_path: Path) -> None:
    """What a budget stopped is a selection: the long conversations are missing."""
    suite = Path(shutil.copytree(drill[0], tmp_path / "talks"))
    stopped = nightgate("run", suite, "--store", tmp_path / "store", "--budget-usd", "0", "--run-id", "open")
    assert stopped.code == 4

    ran = validate(suite, tmp_path / "store", "--run", "open")

    assert ran.code == 3
    assert "run open is open" in ran.err
    assert "--resume open" in ran.err


# --- transcripts that cannot be read ---


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            ":1: is a Git LFS pointer, not the file itself; run `git lfs pull`",
        ),
        ('{"id": "a", "messages": [{"role": "user"\n', ":1: ends in the middle of a value"),
        ("", ":1: is empty"),
        ('\n{"messages": [{"role": "kunde", "content": "Hi"}]}\n', ":2: message 1: role 'kunde' is not user"),
        (
            '{"case_id": "move", "messages": [{"role": "user", "content": "Hi"}]}\n',
            ":1: case_id: unknown 'move'; did you mean 'moves'?",
        ),
    ],
)
def test_a_transcript_that_cannot_be_read_is_named(
    text: str, wanted: str, drill: tuple[Path, Path], tmp_path: Path
) -> None:
    suite = Path(shutil.copytree(drill[0], tmp_path / "talks"))
    file = suite / "transcripts" / "chats.jsonl"
    file.write_text(text)

    ran = validate(suite, drill[1])

    assert ran.code == 2
    assert f"{file}{wanted}" in ran.err
    assert ran.out == ""


def test_a_suite_without_transcripts_is_told_where_they_go(drill: tuple[Path, Path], tmp_path: Path) -> None:
    suite = Path(shutil.copytree(drill[0], tmp_path / "talks"))
    shutil.rmtree(suite / "transcripts")

    ran = validate(suite, drill[1])

    assert ran.code == 2
    assert f"{suite / 'transcripts'}: there is no such folder" in ran.err


def test_no_suite_is_wrong_input(tmp_path: Path) -> None:
    assert validate(tmp_path / "none", tmp_path).code == 2


def test_the_command_without_an_action_is_wrong_input() -> None:
    assert nightgate("simulator").code == 2
