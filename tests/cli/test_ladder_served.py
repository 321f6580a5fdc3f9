"""Ladders of a server, from the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.cells import cell_len
from tests.cli.conftest import Run, environment
from tests.cli.test_streams import FREE
from tests.cli.test_terminal import OFF, screen, terminal

from ronda_arena.ladder.rows import Row
from ronda_cli.ladder_client import About
from ronda_cli.ladder_live import drawn

LADDER = """
dir = "quick"
name = "quick"
rules = "arabic"
anchors = ["random=18"]
bots = ["greedy", "careful"]
"""


class Served(NamedTuple):
    """A server with a ladder on which some games are over."""

    address: str
    folder: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a server with a ladder, and wait until every bot has played."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "l.toml").write_text(LADDER)
    words = ["serve", *FREE, "--database", str(folder / "x.db"), "--ladder", str(folder / "l.toml")]
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        try:
            assert process.stdout
            address = json.loads(process.stdout.readline())["listen"]
            with _watch(address, "-o", "jsonl") as watching:
                assert watching.stdout
                for line in watching.stdout:
                    if json.loads(line)["games"] >= 20:
                        break
                watching.terminate()
            yield Served(address, folder / "quick")
        finally:
            process.terminate()


def _watch(address: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ronda_cli", "ladder", "watch", "--server", address, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )


def test_the_ladder_of_a_server_is_told_as_its_folder_is(served: Served, run: Run) -> None:
    there = run("ladder", "show", "--server", served.address, "-o", "json")
    assert there.exit_code == 0, there.stderr
    here = run("ladder", "show", str(served.folder), "-o", "json")
    told, local = json.loads(there.stdout), json.loads(here.stdout)
    assert list(told) == list(local)
    assert {row["bot"] for row in told["standings"]} == {row["bot"] for row in local["standings"]}
    assert [list(row) for row in told["standings"]] == [list(row) for row in local["standings"]]
    assert told["games"] <= local["games"]
    for row in told["standings"]:
        assert row["low"] <= row["rating"] <= row["high"]
        assert row["games"] > 0
    table = run("ladder", "show", "--server", served.address).stdout
    assert "greedy@1.0.0" in table
    assert " %" in table
    lines = run("ladder", "show", "--server", served.address, "-o", "jsonl").stdout.splitlines()
    assert [list(json.loads(line)) for line in lines] == [list(row) for row in told["standings"]]
    csv = run("ladder", "show", "--server", served.address, "-o", "csv").stdout.splitlines()
    assert len(csv) == 1 + len(lines)


def test_a_bot_is_told_with_what_its_rating_has_been(served: Served, run: Run) -> None:
    args = ("ladder", "show", "greedy", "--server", served.address, "--last", "3")
    told = json.loads(run(*args, "-o", "json").stdout)
    assert told["standing"]["bot"] == "greedy@1.0.0"
    assert told["ladder"]["id"] == "quick"
    assert len(told["history"]) == 3
    assert told["history"][-1]["games"] == told["standing"]["games"]
    assert told["history"][-1]["rating"] == told["standing"]["rating"]
    page = run(*args).stdout
    assert "95 %" in page
    assert " UTC" in page


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "nobody"), 4, "has never been on this ladder"),
        (("show", "--ladder", "other"), 4, "no such ladder"),
        (("watch", "--ladder", "other"), 4, "no such ladder"),
        (("show", "--pairs"), 2, "see `--help`"),
        (("show", "greedy", "--bot", "greedy"), 2, "see `--help`"),
        (("watch", "-o", "csv"), 2, "csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_refused_is_told_in_a_line_that_says_what_to_do(
    served: Served, run: Run, words: tuple[str, ...], code: int, said: str
) -> None:
    done = run("ladder", *words, "--server", served.address)
    assert done.exit_code == code, done.stderr
    assert said in done.stderr


def test_without_a_server_or_a_folder_it_is_said_what_is_missing(run: Run, tmp_path: Path) -> None:
    for words, said in (
        (("show",), "--server"),
        (("show", str(tmp_path / "none")), "--server"),
        (("watch",), "--server"),
    ):
        done = run("ladder", *words)
        assert done.exit_code == 2
        assert said in done.stderr
    at_nothing = run("ladder", "show", str(tmp_path), "--server", "127.0.0.1:1")
    assert "there is no ladder in" in at_nothing.stderr  # a folder is a folder


def test_elsewhere_than_on_a_terminal_a_line_says_how_far_it_is_and_ctrl_c_leaves(
    served: Served,
) -> None:
    with _watch(served.address) as watching:
        assert watching.stdout
        line = watching.stdout.readline()
        watching.send_signal(signal.SIGINT)
        rest, told = watching.communicate(timeout=60)
    assert line.startswith("quick: arabic, 2 players: ")
    assert "First is " in line
    assert watching.returncode == 130
    assert f"ronda ladder watch --server {served.address}" in told
    assert "\x1b" not in line + rest + told


@pytest.mark.parametrize(("columns", "colours"), [(40, {}), (80, {"NO_COLOR": "1"}), (200, {})])
def test_on_a_terminal_it_is_drawn_over_and_left_as_it_was(
    served: Served, columns: int, colours: dict[str, str]
) -> None:
    words = ("ladder", "watch", "--server", served.address)
    with terminal(*words, columns=columns, lines=16, **colours) as seen:
        seen.read_until("careful@1.0.0")
        for _ in range(2):  # something has changed, and it is drawn again
            drawn_ = screen(seen.read_until("Ctrl-C leaves."))
            assert len(drawn_) <= 16
            assert max(map(cell_len, drawn_)) <= columns
        seen.process.send_signal(signal.SIGINT)
        assert seen.end() == 130
        assert seen.restored
        assert "ladder watch --server" in seen.written.rsplit(OFF, 1)[1]


def _row(number: int) -> Row:
    name = f"{'a-bot-of-some-length' if number % 2 else 'x'}{number}@1.0.0"
    state = ("anchor", "active", "inactive", "quarantined")[number % 4]
    faults = {"crash": number, "time": 3} if number % 3 else {}
    worth = 30.0 - number
    return Row(
        bot=name,
        owner="ann",
        rating=worth,
        low=worth - 2,
        high=worth + 2,
        conservative=worth - 3,
        blocks=50 * number,
        games=100 * number,
        won=10 * number,
        drawn=0,
        lost=90 * number,
        faults=faults,
        opponents=number,
        state=state,
        note="",
        provisional=number > 20,
        last=0,
        predecessor="",
    )


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("height", [10, 24, 60])
@pytest.mark.parametrize("bots", [0, 1, 3, 30])
def test_no_line_is_wider_and_no_drawing_higher_than_the_terminal(
    columns: int, height: int, bots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    data = {
        "id": "a-ladder",
        "rules": "playtash",
        "players": 2,
        "blocks": 10,
        "games": 20,
        "void": 3,
    }
    about = About(data, "halted", "bots", 7)
    lines = drawn(about, [_row(number) for number in range(bots)], columns, height)
    assert len(lines) <= height
    assert all(cell_len(line) <= columns for line in lines)
    assert "halted: bots" in " ".join(lines)
    if bots:
        assert any("x0@1.0.0" in line for line in lines)
    if bots == 30 and height == 10:
        assert lines[-1] == "and more"
