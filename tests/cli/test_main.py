from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from tests.cli.conftest import RECORDS, ROOT, Run, environment, ronda

import ronda_cli
from ronda_cli.main import COMMANDS, cli

THERE = [name for name, (where, _) in COMMANDS.items() if find_spec(where.partition(":")[0])]


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert ronda_cli.__version__ == project["version"]


def test_version_is_told_on_stdout(run: Run) -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"ronda {ronda_cli.__version__}\n")


@pytest.mark.parametrize("args", [["--version"], ["--help"], ["watch", "--help"], ["nonsense"]])
def test_starting_imports_nothing_heavy(args: list[str]) -> None:
    heavy = (
        "grpc",
        "google",
        "rich",
        "sqlalchemy",
        "alembic",
        "asyncio",
        "ronda_server",
        "ronda_arena",
    )
    if "watch" in args:
        heavy = ("sqlalchemy", "alembic", "ronda_server", "rich")
    code = f"""
import sys
from ronda_cli.main import cli
try:
    cli.main({args!r})
except SystemExit:
    pass
sys.stderr.write("loaded:" + " ".join(name for name in {heavy!r} if name in sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), check=True
    )
    assert done.stderr.decode().rpartition("loaded:")[2] == ""


def test_help_names_every_command_without_importing_it(run: Run) -> None:
    told = run("--help").stdout
    for name, (_, short) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(short)}$", told, re.MULTILINE)


@pytest.mark.parametrize("name", THERE)
def test_the_line_in_the_list_is_the_commands_own(name: str, run: Run) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    first = (command.help or "").splitlines()[0].rstrip(".").split(":")[0]
    assert COMMANDS[name][1].split(":")[0].rstrip(".").startswith(first.split(",")[0][:12])
    assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize("name", THERE)
def test_help_has_no_line_beyond_80_cells(name: str, run: Run) -> None:
    assert max(map(len, run(name, "--help", COLUMNS="80").stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["rules", "--nonsense"],
        ["rules", "nonsense"],
        ["match"],
        ["match", "greedy"],
        ["match", "greedy", "careful", "--games", "0"],
        ["match", "greedy", "careful", "--target", "7"],
        ["match", "greedy", "careful", "--rules", "poker"],
        ["match", "greedy", "careful", "--players", "4"],
        ["match", "greedy", "nobody"],
        ["watch"],
        ["watch", "m1"],
        ["watch", "m1", "--server", "not an address"],
        ["watch", "m1", "--server", "localhost:99999"],
        ["play", "--match", "m1"],
        ["play", "--server", "localhost:1", "--seed", "1"],
        ["play", "--bots", "greedy,careful", "--players", "2"],
        ["play", "--bots", ","],
        ["play", "--name", "a\x1b[31m"],
        ["play", "--server", "localhost:1", "--match", "m", "--rules", "cafe"],
        ["db", "upgrade"],
        ["db", "upgrade", "--database", "mysql://x/y"],
        ["verify"],
        ["replay", "/nowhere"],
        ["replay", str(RECORDS), "--game", "1000"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_one_line_on_stderr_and_2(args: list[str], run: Run) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(("ronda:", "ronda "))
    assert "\x1b" not in line
    assert "Traceback" not in line


def test_no_command_shows_the_help(run: Run) -> None:
    result = run()
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def test_a_hostile_argument_reaches_the_terminal_without_its_claws(run: Run) -> None:
    result = run("rules", "\x1b]0;owned\x07\x1b[31m\u202e" + "x" * 10_000)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert len(line) < 1000
    assert "\x1b" not in line
    assert "\u202e" not in line


def test_a_fault_of_our_own_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise ZeroDivisionError("over\nthe \x1b[31mmoon")

    monkeypatch.setattr("ronda_cli.lines._read", lambda *_: broken())
    result = run("verify", str(RECORDS))
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "ZeroDivisionError: over the moon" in result.stderr
    assert "RONDA_DEBUG" in result.stderr


def test_ctrl_c_is_130_and_one_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ronda_cli.lines._read", interrupted)
    result = run("verify", str(RECORDS))
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
@pytest.mark.parametrize(
    "command", ["replay {} --game 3", "verify {} {} {} -o jsonl", "rules", "--help", "--version"]
)
def test_a_broken_pipe_is_silent(command: str) -> None:
    words = command.format(RECORDS, RECORDS, RECORDS).split()
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        told = process.stderr.read()
    assert told.decode() in ("", "180 proven\n")
    assert process.returncode == 141


class TestConfiguration:
    def write(self, tmp_path: Path, content: str) -> str:
        file = tmp_path / "config" / "ronda" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return str(file)

    def test_a_file_sets_defaults_of_a_command(self, tmp_path: Path, run: Run) -> None:
        self.write(tmp_path, '[rules]\noutput = "json"\n')
        assert run("rules", "cafe").stdout.startswith("Ronda") is False

    def test_shared_settings_reach_every_command_that_knows_them(
        self, tmp_path: Path, run: Run
    ) -> None:
        self.write(tmp_path, 'server = "localhost:1"\noutput = "json"\n')
        assert json.loads(run("rules", "cafe").stdout)["name"] == "cafe"
        assert json.loads(run("bots", "list").stdout)["bots"]
        assert run("watch", "m1").exit_code == 3

    def test_the_environment_is_above_the_file_and_a_flag_above_both(
        self, tmp_path: Path, run: Run
    ) -> None:
        self.write(tmp_path, '[match]\ntarget = 25\nrules = "cafe"\n')
        args = ("match", "greedy", "random", "--seed", "1", "-o", "json")
        assert json.loads(run(*args).stdout)["target"] == 25
        assert json.loads(run(*args, RONDA_MATCH_TARGET="21").stdout)["target"] == 21
        assert (
            json.loads(run(*args, "--target", "41", RONDA_MATCH_TARGET="21").stdout)["target"] == 41
        )

    @pytest.mark.parametrize(
        ("content", "wrong"),
        [
            ("nonsense", "config.toml"),
            ("[nonsense]\n", "nonsense"),
            ("nonsense = 1\n", "nonsense"),
            ("[rules]\nnonsense = 1\n", "nonsense"),
            ("[rules]\noutput = 'nonsense'\n", "nonsense"),
            ("[rules\n", "config.toml"),
        ],
    )
    def test_a_wrong_file_is_named_with_what_is_wrong(
        self, content: str, wrong: str, tmp_path: Path, run: Run
    ) -> None:
        self.write(tmp_path, content)
        result = run("rules", "cafe")
        assert result.exit_code == 2
        assert wrong in result.stderr
        assert len(result.stderr.splitlines()) == 1

    def test_a_file_that_is_named_must_be_there(self, run: Run) -> None:
        assert run("rules", RONDA_CONFIG="/nowhere.toml").exit_code == 2

    def test_nobody_at_home_is_no_obstacle(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        def homeless() -> Path:
            raise RuntimeError

        monkeypatch.setattr(Path, "home", homeless)
        monkeypatch.delenv("XDG_CONFIG_HOME")
        assert run("rules").exit_code == 0

    def test_help_and_version_do_not_mind_a_wrong_file(self, tmp_path: Path, run: Run) -> None:
        self.write(tmp_path, "nonsense")
        assert run("--version").exit_code == 0
        assert run("--help").exit_code == 0


def test_it_runs_as_a_process_too() -> None:
    done = ronda("rules", "cafe", "-o", "json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["name"] == "cafe"


def imports(module: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_each_service_of_a_server_is_reached_through_one_door() -> None:
    package = Path(ronda_cli.__file__).parent
    modules = {path.stem: imports(path) for path in package.glob("*.py")}
    protocol = {
        name
        for name, found in modules.items()
        if any(f.startswith(("ronda.v1", "ronda.admin")) for f in found)
    }
    service = {
        name for name, found in modules.items() if any(f.startswith("ronda_server") for f in found)
    }
    doors = {"client", "bot_client", "admin_client", "tournament_client", "ladder_client"}
    meanings = {"convert", "tournament_rounds"}
    # Doctor asks only whether they can be imported.
    assert protocol == {*doors, *meanings, "doctor"}
    assert service <= {"serve", "db", "doctor", "demo"}


def test_commands_are_completed_without_importing_them() -> None:
    env = {"_RONDA_COMPLETE": "bash_complete", "COMP_WORDS": "ronda re", "COMP_CWORD": "1"}
    done = ronda(env=env)
    assert done.stdout.split() == [b"plain,replay"]
