"""A ladder goes on whatever its bots do: it has a clock, and says who hangs where it must end."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.bots.plugins import install
from tests.cli.conftest import Run, environment

from ronda_arena.customs import CLOCK
from ronda_arena.ladder.store import Folder

BOTS = """
import time

class Hang:
    version = "1"
    def __init__(self, seat, rng): pass
    def play(self, view):
        while True:
            time.sleep(1000)  # a bot that never answers
"""
HERE = "--executor=in-process"
LOCAL = ("--executor=local", "--workers=2")
SMALL = ("--rules=arabic", "--bots=hang,greedy", "--anchors=random=18")


@pytest.fixture
def bots(tmp_path: Path) -> Path:
    """A folder in which a bot is installed that hangs."""
    folder = tmp_path / "site"
    install(folder, "hanging", {"hang": "hanging:Hang"}, modules={"hanging": BOTS})
    return folder


def played(bots: Path, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    env = environment(PYTHONPATH=os.pathsep.join([str(bots), *filter(None, sys.path)]))
    command = [sys.executable, "-m", "ronda_cli", "ladder", "run", f"--dir={folder}", *flags]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


def kept_clock(folder: Path) -> str | None:
    with Folder(folder) as held:
        store = held.find()
        assert store is not None
        return store.plan.clock


@pytest.mark.parametrize("where", [(HERE,), LOCAL])
def test_who_hangs_where_no_clock_holds_is_named_and_it_ends_with_3(
    tmp_path: Path, bots: Path, where: tuple[str, ...]
) -> None:
    flags = ("--rules=arabic", "--bots=hang", "--anchors=random=18", "--isolation=trusted")
    result = played(bots, tmp_path / "l", *flags, "--stall=4", *where)
    assert result.returncode == 3, result.stderr
    warned, told = result.stderr.splitlines()
    assert "one can remember the deals of a block" in warned
    assert told.startswith("ronda: no game has ended for 4 s. Not over are games of ")
    assert "hang@1" in told
    assert "with a --clock and without --isolation=trusted; go on with: ronda ladder run" in told
    assert not result.stdout


def test_who_hangs_loses_by_the_clock_and_the_others_play_on(
    tmp_path: Path, bots: Path, run: Run
) -> None:
    folder = tmp_path / "l"
    result = played(bots, folder, *SMALL, "--clock=0.05", "--games=60", *LOCAL)
    assert result.returncode == 0, result.stderr
    told: Any = json.loads(run("ladder", "show", str(folder), "-o", "json").stdout)
    by_bot = {row["bot"]: row for row in told["standings"]}
    hung = by_bot["hang@1"]
    assert hung["faults"] == {"time": hung["games"]}
    assert hung["games"] > 0
    assert by_bot["greedy@1.0.0"]["games"] > 30
    assert not by_bot["greedy@1.0.0"]["faults"]


def test_a_ladder_has_a_clock_unless_its_bots_are_trusted_and_what_was_begun_keeps_its_own(
    tmp_path: Path, run: Run
) -> None:
    def begin(name: str, *flags: str) -> Any:
        words = ("--rules=arabic", "--bots=greedy", "--anchors=random=18", "--games=2", HERE)
        return run("ladder", "run", f"--dir={tmp_path / name}", *words, *flags)

    for name, flags, clock in (
        ("plain", (), str(CLOCK)),
        ("asked", ("--clock=2",), "2"),
        ("trusted", ("--isolation=trusted",), None),
        ("none", ("--isolation=trusted", "--clock=none"), None),
    ):
        assert begin(name, *flags).exit_code == 0
        assert kept_clock(tmp_path / name) == clock
        assert begin(name).exit_code == 0  # whatever is the default
        assert kept_clock(tmp_path / name) == clock
    assert begin("none", "--clock=none").exit_code == 0
    assert "clock was 2 and is now none" in begin("asked", "--clock=none").stderr
    refused = begin("loose", "--clock=none")
    assert refused.exit_code == 2
    assert "--clock none is for --isolation trusted" in refused.stderr


def test_a_scheduler_that_does_not_answer_is_not_waited_for_longer_than_a_game(
    tmp_path: Path,
) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        where = f"--scheduler=tcp://127.0.0.1:{nobody.getsockname()[1]}"
        for words in (("ladder", "run", "--dir=l"), ("tournament", "run", "--out=t")):
            command = [sys.executable, "-m", "ronda_cli", *words, "--bots=random,greedy", where]
            result = subprocess.run(
                [*command, "--stall=1"],
                check=False,
                capture_output=True,
                text=True,
                env=environment(),
                cwd=tmp_path,
            )
            assert result.returncode == 3, result.stderr
            assert "waited 1 s; go on with: ronda" in result.stderr
