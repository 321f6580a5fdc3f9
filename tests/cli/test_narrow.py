"""Forty columns are enough: nothing is wider, and no word is broken."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import click
import pytest
from rich.cells import cell_len
from tests.cli.conftest import FORGED, RECORDS, Run

from ronda_cli.main import cli

if sys.platform == "win32":
    pytest.skip("there are no terminals of this kind", allow_module_level=True)

from tests.cli.test_terminal import terminal


def commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        else:
            yield (*names, name)


EVERY = [*commands(cli), ("replay", "export")]


@pytest.mark.parametrize("columns", [40, 50, 60, 80])
@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help_keeps_to_its_columns_and_breaks_no_word(
    command: tuple[str, ...], columns: int, run: Run
) -> None:
    told = run(*command, "--help", COLUMNS=str(columns)).stdout
    lines = told.splitlines()
    assert lines[0].startswith("Usage: ronda")
    assert max(map(cell_len, lines)) <= columns
    assert "\u2011" not in told
    wide = run(*command, "--help", COLUMNS="200").stdout
    assert words(told) == words(wide)
    assert not re.search(r"[a-z]\.\.\.$", told, re.MULTILINE)
    assert not re.search(r"\S-$", told, re.MULTILINE)


def words(told: str) -> list[str]:
    """All words, in no order: values stand below an option where it is narrow."""
    return sorted(told.split())


@pytest.mark.parametrize(
    "command",
    [
        ("bots", "list"),
        ("rules",),
        ("rules", "cafe"),
        ("match", "greedy", "random", "--games", "3", "--seed", "1"),
        ("match", "greedy", "random", "careful", "--rules", "cafe", "--players", "3"),
        ("verify", str(RECORDS)),
        ("verify", str(FORGED)),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_what_is_told_on_a_terminal_keeps_to_forty_columns(command: tuple[str, ...]) -> None:
    with terminal(*command, columns=40, lines=24) as seen:
        seen.end()
        told = seen.written
    for line in told.replace("\r\n", "\n").split("\n"):
        last = line.rsplit("\r", 1)[-1]
        assert (
            cell_len(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last)) <= 40 or " " not in last.strip()
        )


def test_progress_makes_room_for_what_is_told() -> None:
    with terminal("verify", str(FORGED), columns=80, lines=24) as seen:
        seen.end()
        told = seen.written
    for line in told.replace("\r\n", "\n").split("\n"):
        place = line.find(str(FORGED))
        assert place <= 0 or line[place - 1] == "\r"
