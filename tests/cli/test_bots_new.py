"""`ronda bots new`: from nothing to a bot that plays, and nothing is ever lost by it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.cli.conftest import ROOT, Run, environment

from ronda_arena import starter
from ronda_core.record import read
from ronda_core.verify import verify

PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index")
OFFLINE = ("--no-build-isolation", "--disable-pip-version-check", "--no-input")


def ran(command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=env, timeout=150
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package as it is made."""
    folder = tmp_path_factory.mktemp("made") / "mybot"
    starter.make("mybot", folder)
    return folder


def test_what_is_made_is_told_with_the_next_two_commands(tmp_path: Path, run: Run) -> None:
    result = run("bots", "new", "mybot", "--in", str(tmp_path))
    assert result.exit_code == 0
    for line in result.stdout.splitlines():
        assert Path(line).is_file()
    _, install, match = result.stderr.splitlines()
    assert shlex.split(install) == ["pip", "install", "-e", str(tmp_path / "mybot")]
    assert shlex.split(match) == ["ronda", "match", "mybot", "greedy", "--games", "200"]


def test_the_bot_is_short_and_typed_and_its_record_is_proven(package: Path) -> None:
    (source,) = (package / "src").rglob("__init__.py")
    assert len(source.read_text().splitlines()) <= 27
    record = read((package / "tests" / "match.jsonl").read_text())
    assert verify(record).proven


def test_it_passes_ruff_and_strict_mypy_and_its_own_tests_as_it_stands(package: Path) -> None:
    floors = [str(ROOT / folder) for folder in ("server", "bots", "proto/gen", "clients/cli")]
    env = {**environment(), "MYPYPATH": os.pathsep.join(floors)}
    ran((sys.executable, "-m", "ruff", "check", "."), package)
    ran((sys.executable, "-m", "ruff", "format", "--check", "."), package)
    cache = str(package.parent / "mypy")
    told = ran((sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache), package, env)
    assert "2 source files" in told
    tested = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio")
    assert "2 passed" in ran(tested, package, environment())


@pytest.mark.skipif(find_spec("hatchling") is None, reason="`make test` installs it")
@pytest.mark.parametrize("editable", [False, True])
def test_it_installs_without_a_network_and_plays_in_a_sandbox(
    editable: bool, package: Path, tmp_path: Path
) -> None:
    # An environment of its own: what is installed for editing is trusted only where it is.
    ran((sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")), tmp_path)
    (site,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (site / "ours.pth").write_text("\n".join(filter(None, sys.path)))
    python = str(tmp_path / "env" / "bin" / "python")
    install = (python, *PIP[1:], *OFFLINE, *(("-e",) if editable else ()), str(package))
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ran(install, tmp_path, env)
    ronda = (python, "-m", "ronda_cli")
    match = ("match", "mybot", "greedy", "--games", "3", "--seed", "1", "-o", "json")
    data = json.loads(ran((*ronda, *match), tmp_path, env))
    assert [seat["isolation"] for seat in data["seats"]] == ["sandbox", "trusted"]
    assert data["seats"][0]["bot"] == "mybot@0.1.0"
    assert data["forfeits"] == 0
    readme = (package / "README.md").read_text()
    lines = [line.partition("#")[0].split() for line in readme.splitlines()]
    steps = [line[1:] for line in lines if line[:1] == ["ronda"] and "lost.jsonl" in line]
    assert [step[0] for step in steps] == ["match", "replay", "bots"]
    for step in steps:
        shown = ran((*ronda, *step), tmp_path, env)
    assert "seat 0: mybot@0.1.0\n" in shown
    if editable:  # what is changed plays without being installed anew
        (source,) = (package / "src").rglob("__init__.py")
        before = source.read_text()
        source.write_text(before.replace('"0.1.0"', '"0.2.0"'))
        listed = ran((*ronda, "bots", "list"), tmp_path, env)
        shown = ran((*ronda, *steps[-1]), tmp_path, env)
        assert "seat 0: mybot@0.2.0 instead of mybot@0.1.0\n" in shown
        source.write_text(before)
        assert "mybot@0.2.0" in listed


@pytest.mark.outside
def test_the_ten_minute_path_works_in_a_fresh_environment(tmp_path: Path) -> None:
    """With the registry: everything is installed from nothing, by the commands of the page."""
    ran((sys.executable, "-m", "venv", "env"), tmp_path)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["PATH"] = f"{tmp_path / 'env' / 'bin'}{os.pathsep}{env['PATH']}"
    ran(("pip", "install", "--quiet", str(ROOT)), tmp_path, env)
    page = (ROOT / "docs" / "bots.md").read_text(encoding="utf-8")
    path = re.search(r"## Ten minutes\n.*?```\n(.*?)```", page, re.DOTALL)
    assert path
    commands = [line.partition("#")[0].split() for line in path[1].splitlines()]
    assert commands[0] == ["pip", "install", "."]  # in a clone: done above
    assert ["ronda", "bots", "new", "mybot"] in commands
    for command in commands:
        if command[:2] != ["pip", "install"] or "-e" in command:
            told = ran(command, tmp_path, env)
    assert told


def test_a_package_that_is_not_installed_yet_is_told_how(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    starter.make("other", tmp_path / "other")
    (tmp_path / "other").rename(tmp_path / "elsewhere")
    starter.make("other", tmp_path / "other")
    for name in ("other", "./other", "other/"):
        result = run("match", name, "greedy")
        assert result.exit_code == 2
        assert "./other is a bot's package: pip install -e ./other" in result.stderr
    named = run("bots", "check", "elsewhere").stderr
    assert "pip install -e ./elsewhere (its bots: other)" in named
    (tmp_path / "nothing").mkdir()
    assert "package" not in run("match", "nothing", "greedy").stderr


@pytest.mark.parametrize("there", ["folder", "file"])
def test_nothing_is_ever_overwritten(there: str, tmp_path: Path, run: Run) -> None:
    kept = tmp_path / "mybot"
    if there == "folder":
        kept.mkdir()
        kept = kept / "README.md"
    kept.write_text("mine")
    result = run("bots", "new", "mybot", "--in", str(tmp_path))
    assert result.exit_code == 2
    assert "is there already, and nothing of it is overwritten" in result.stderr
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("name", ["two words", "", "a/b", "../up", "é", "-x", "x_", "x" * 65, "."])
def test_a_name_that_no_bot_can_have_is_refused(name: str, tmp_path: Path, run: Run) -> None:
    result = run("bots", "new", "--in", str(tmp_path), "--", name)
    assert result.exit_code == 2
    assert "letters, digits, - and _" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_name_that_an_installed_bot_has_is_said_with_its_package(
    tmp_path: Path, run: Run
) -> None:
    result = run("bots", "new", "greedy", "--in", str(tmp_path))
    assert result.exit_code == 2
    assert "greedy is installed already (greedy of ronda): choose another name" in result.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_said(run: Run) -> None:
    result = run("bots", "new", "mybot", "--in", "/nowhere/at")
    assert result.exit_code == 2
    assert "there is no folder /nowhere/at" in result.stderr


@pytest.mark.parametrize("name", ["None", "7up", "class", "card", "my-Bot_2", "int", "random-2"])
def test_a_name_that_means_something_in_python_is_no_trouble(name: str, tmp_path: Path) -> None:
    starter.make(name, tmp_path / "made")
    (source,) = (tmp_path / "made" / "src").rglob("__init__.py")
    compile(source.read_text(), str(source), "exec")
    named = re.search(r"^class (\w+):", source.read_text(), re.MULTILINE)
    assert named
    point = f'{name} = "{source.parent.name}:{named[1]}"'
    assert point in (tmp_path / "made" / "pyproject.toml").read_text()
    assert named[1] not in {"None", "Card", "View", "Random"}
