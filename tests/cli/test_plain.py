"""`--plain` where a table would stand: a line a column at every width, and nothing drawn."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from rich.cells import cell_len
from tests.cli.conftest import Run
from tests.cli.test_local_commands import BOXES

import ronda_cli

HERE = "--executor=in-process"
THREE = ("--bots=random,greedy,careful", "--rules=arabic", "--seed=5", HERE)
LADDER = ("--rules=arabic", "--bots=greedy,careful", "--anchors=random=18", "--games=12", HERE)
BEGUN = {
    "t": ("tournament", "run", *THREE, "--blocks=2", "--out={}"),
    "swiss": ("tournament", "run", *THREE, "--format=swiss", "--blocks=1", "--out={}"),
    "knockout": ("tournament", "run", *THREE, "--format=knockout", "--blocks=1", "--out={}"),
    "l": ("ladder", "run", *LADDER, "--dir={}"),
}
TABLES = (
    ("tournament", "run", "--out={t}", HERE),
    ("tournament", "show", "{t}"),
    ("tournament", "show", "{swiss}"),
    ("tournament", "show", "{knockout}"),
    ("ladder", "show", "{l}"),
    ("ladder", "show", "{l}", "--pairs"),
    ("ladder", "show", "{l}", "--bot=greedy@1.0.0"),
    ("match", "greedy", "random", "--rules=arabic", "--seed=1", "--games=3"),
    ("bots", "list"),
)
WIDTHS = (40, 60, 80, 120, 200)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {name: str(tmp_path_factory.mktemp("plain") / name) for name in BEGUN}


def begun(run: Run, folders: dict[str, str]) -> dict[str, str]:
    for name, command in BEGUN.items():
        if not Path(folders[name]).exists():
            done = run(*(word.format(folders[name]) for word in command))
            assert done.exit_code == 0, done.stderr
    return folders


@pytest.mark.parametrize("command", TABLES, ids=" ".join)
def test_every_table_is_told_line_by_line_at_every_width(
    command: tuple[str, ...], run: Run, folders: dict[str, str]
) -> None:
    words = [word.format(**begun(run, folders)) for word in command]
    told = {}
    for width in WIDTHS:
        done = run(*words, "--plain", COLUMNS=str(width))
        assert done.exit_code == 0, done.stderr
        assert not BOXES.search(done.stdout)
        for line in done.stdout.splitlines():
            if command[0] != "bots":  # a line a bot, whatever its length
                assert "  " not in line
                assert cell_len(line) <= width or " " not in line.partition(": ")[2]
        told[width] = done.stdout.split()
    assert all(told[width] == told[200] for width in WIDTHS)
    assert len(told[200]) > 4
    drawn = run(*words, COLUMNS="200").stdout
    assert {cell for cell in drawn.split() if "@" in cell} <= {*told[200]}


def test_every_table_of_the_command_line_knows_what_plain_is() -> None:
    calls = [
        (path.name, call.lineno, {word.arg for word in call.keywords})
        for path in Path(*ronda_cli.__path__).glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "tables.lines"
    ]
    assert len(calls) >= 7
    assert [call for call in calls if "plain" not in call[2]] == []
