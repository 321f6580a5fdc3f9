"""What `ronda tournament run` tells of bots that hang and that break."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bots.plugins import install
from tests.cli.conftest import environment

BOTS = """
import time

class Fine:
    version = "1"
    def __init__(self, seat, rng): pass
    def play(self, view): return view.hand[0]

class Hang(Fine):
    def play(self, view):
        while True:
            time.sleep(1000)  # a bot that never answers
"""
HERE = "--executor=in-process"
LOCAL = ("--executor=local", "--workers=2")


@pytest.fixture
def bots(tmp_path: Path) -> Path:
    """A folder in which bots are installed that break their contract."""
    folder = tmp_path / "site"
    points = {name.lower(): f"fragile:{name}" for name in ("Fine", "Hang")}
    install(folder, "fragile", points, modules={"fragile": BOTS})
    return folder


def played(bots: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    env = environment(PYTHONPATH=os.pathsep.join([str(bots), *filter(None, sys.path)]))
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=env)


@pytest.mark.parametrize("where", [(HERE,), LOCAL])
def test_a_bot_that_hangs_is_told_with_its_games_and_with_what_to_do(
    tmp_path: Path, bots: Path, where: tuple[str, ...]
) -> None:
    out = f"--out={tmp_path / 't'}"
    flags = ("--bots=hang,greedy", "--isolation=trusted", "--stall=1", "--rules=cafe", "--hands=1")
    result = played(bots, *flags, "--blocks=3", "--seed=5", out, *where)
    assert result.returncode == 3
    (told,) = result.stderr.splitlines()
    assert told.startswith("ronda: no game has ended for 1 s. Not over are block 0, rotation 0 (")
    assert "(hang@1, greedy@1.0.0)" in told
    assert "with a --clock and without --isolation=trusted; go on with: ronda tournament" in told
    assert not result.stdout
