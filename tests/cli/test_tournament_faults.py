"""What `ronda tournament run` tells of bots that hang and that break."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.arena.tournament.plans import plan
from tests.bots.plugins import importable, install
from tests.cli.conftest import ROOT, Run, environment

from ronda_arena.customs import OWN
from ronda_arena.tournament.run import Standing, Waited
from ronda_arena.tournament.store import Folder
from ronda_arena.tournament.tasks import Task
from ronda_cli import output as out
from ronda_cli import tournament_told
from ronda_cli.tournament_told import how_far
from ronda_core.record import read

BOTS = """
import time

class Fine:
    version = "1"
    def __init__(self, seat, rng): pass
    def play(self, view): return view.hand[0]

class Crash(Fine):
    def play(self, view):
        raise LookupError("the card " + str(view.hand[0]))

class Stillborn(Fine):
    def __init__(self, seat, rng):
        raise FileNotFoundError("weights")

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
    points = {name.lower(): f"fragile:{name}" for name in ("Fine", "Crash", "Hang", "Stillborn")}
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
    _, told = result.stderr.splitlines()
    assert told.startswith("ronda: no game has ended for 1 s. Waited for is ")
    assert "hang@1 or greedy@1.0.0. Not over are block 0, rotation 0 (" in told
    assert "(hang@1, greedy@1.0.0; for " in told
    assert "with a --clock and without --isolation=trusted; go on with: ronda tournament" in told
    assert not result.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("where", [(HERE,), LOCAL])
@pytest.mark.parametrize("isolation", ["trusted", "auto"])
def test_a_crash_is_told_once_with_its_place_and_the_command_that_shows_it(
    tmp_path: Path, bots: Path, where: tuple[str, ...], isolation: str
) -> None:
    out = tmp_path / "t"
    flags = ("--bots=crash,greedy", f"--isolation={isolation}", "--rules=cafe", "--hands=1")
    result = played(bots, *flags, "--blocks=2", "--name=spring", f"--out={out}", "--seed=5", *where)
    assert result.returncode == 0, result.stderr
    (told,) = [line for line in result.stderr.splitlines() if "forfeits" in line]
    assert told.startswith("crash@1 in seat ")
    assert " forfeits block " in told
    assert "crash: LookupError" in told
    line = BOTS.splitlines().index('        raise LookupError("the card " + str(view.hand[0]))') + 1
    assert f", at {bots / 'fragile.py'}:{line}; when the run has ended: ronda bots debug" in told
    assert "the card" not in result.stderr
    game = told.rpartition(" ")[2]
    records = [read(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert game in [record.id for record in records if record.fault]
    database = (out / "state.db").read_bytes() + (out / "records.jsonl").read_bytes()
    assert b"fragile.py" not in database


@pytest.mark.parametrize("where", [(HERE,), LOCAL])
def test_a_fault_ends_the_run_after_its_block_where_that_is_asked_for(
    tmp_path: Path, bots: Path, where: tuple[str, ...]
) -> None:
    flags = ("--bots=greedy,fine,crash", "--rules=cafe", "--hands=1", "--blocks=2", "--seed=5")
    result = played(bots, *flags, "--on-fault=stop", f"--out={tmp_path / 't'}", *where)
    assert result.returncode == 1, result.stderr
    assert not result.stdout
    *_, count, last = result.stderr.splitlines()
    if where == (HERE,):  # else the blocks before it may not be over, and nothing counts yet
        assert count.startswith("games lost by a bot's own fault: crash@1 ")
    stopped, _, command = last.partition("; go on with: ")
    number = int(stopped.removeprefix("ronda: stopped after block ").partition(",")[0])
    with Folder(tmp_path / "t") as held:
        store = held.find()
        assert store is not None
        games = [(task.block, game) for task, game in store.games() if task.block == number]
    assert len(games) == 2
    assert any(game.fault for _, game in games)
    assert command.endswith("--on-fault=stop")
    whole = played(bots, f"--out={tmp_path / 't'}", *where)
    assert whole.returncode == 0, whole.stderr
    again = played(bots, *flags, f"--out={tmp_path / 'u'}", *where)
    assert again.stdout == whole.stdout
    assert again.stderr.splitlines()[-1].startswith("games lost by a bot's own fault: crash@1 8 (")


@pytest.mark.parametrize("isolation", ["trusted", "auto"])
def test_a_bot_that_cannot_be_made_is_told_apart_from_one_that_breaks(
    tmp_path: Path, bots: Path, isolation: str
) -> None:
    flags = ("--bots=stillborn,crash", f"--isolation={isolation}", "--rules=cafe", "--hands=1")
    out = tmp_path / "t"
    result = played(bots, *flags, "--blocks=2", "--seed=5", f"--out={out}", HERE)
    assert result.returncode == 0, result.stderr
    assert result.stderr.splitlines()[-1] == (
        "games lost by a bot's own fault: stillborn@1 4 (4 crash, 4 of them when it was made)"
    )
    assert "4 crash (4 when it was made, before the first card)." in " ".join(result.stdout.split())
    told = json.loads((out / "report.json").read_text())
    assert {row["bot"]: row["at_start"] for row in told["faults"]} == {
        "stillborn@1": 4,
        "crash@1": 0,
    }
    remember = "where a bot can remember the deals of a block"
    assert (remember in " ".join(told["sentences"])) == (isolation == "trusted")
    assert ("one can remember the deals of a block" in result.stderr) == (isolation == "trusted")


def test_what_is_taken_for_ours_is_what_comes_with_ronda() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(points["ronda.bots"]) == OWN


@pytest.mark.thorough
def test_debug_and_replay_find_a_game_by_its_fault_and_by_its_id(
    tmp_path: Path, bots: Path, run: Run
) -> None:
    records = tmp_path / "t" / "records.jsonl"
    flags = ("--bots=fine,greedy,crash", "--rules=cafe", "--hands=1", "--blocks=1", "--seed=5")
    assert played(bots, *flags, HERE, "--name=spring", f"--out={records.parent}").returncode == 0
    faults = [bool(read(line).fault) for line in records.read_text().splitlines()]
    first = faults.index(True)
    assert first > 0
    game = read(records.read_text().splitlines()[first]).id
    with importable(bots):
        told = run("bots", "debug", str(records), "--isolation=trusted", "-o", "json")
        assert told.exit_code == 0, told.stderr
        assert json.loads(told.stdout)["id"] == game
    shown = run("replay", str(records), "--game", game).stdout
    assert shown.startswith(f"Game {first + 1} of {len(faults)}, {game}: ")
    missing = run("replay", str(records), "--game", "spring-7-7")
    assert missing.exit_code == 2
    assert f"holds {len(faults)} records: there is no --game spring-7-7" in missing.stderr


@pytest.mark.thorough
def test_ctrl_c_while_no_dask_scheduler_answers_ends_without_a_word_of_python(
    tmp_path: Path,
) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    flags = ("--bots=random,greedy", "--seed=5", f"--out={tmp_path / 't'}")
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags]
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        command += ["--executor=dask", f"--scheduler=tcp://127.0.0.1:{nobody.getsockname()[1]}"]
        driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
        assert driver.stderr is not None
        assert "waiting up to 600 s" in driver.stderr.readline()
        driver.send_signal(signal.SIGINT)
        _, told = driver.communicate(timeout=60)
    assert driver.returncode == 130
    kept, hint = told.splitlines()
    assert kept == "0 of 20 blocks and 0 games are over, and kept"
    assert hint.startswith("interrupted; go on with: ronda tournament run")


def test_what_is_one_is_told_as_one() -> None:
    assert how_far(Standing(0, 20, 1, 0)) == "0 of 20 blocks and 1 game are over, and kept"
    assert how_far(Standing(1, None, 2, 0)) == "1 block and 2 games are over, and kept"


def test_progress_says_of_what_there_are_so_many_a_second(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter([0.0, 0.0, 20.0])
    shown = out.Progress("blocks", paced=True, rewrite=False, clock=lambda: next(times))
    shown.step(10, 50)
    shown.step(20, 50, " (40 games)")
    assert capsys.readouterr().err == (
        "20 of 50 blocks (40 games), 0.5 blocks a second, 1 min 0 s left\n"
    )


def test_what_is_refused_is_refused_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    flags = ("tournament", "run", "--bots=random", f"--out={tmp_path / 't'}")
    script = (
        "import sys; from ronda_cli.main import cli\n"
        f"try: cli.main({flags!r})\n"
        "except SystemExit as end:\n"
        "    print(end.code, *{'numpy', 'sqlalchemy', 'grpc'} & {*sys.modules})"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment())
    assert done.stdout == "2\n"


def test_of_several_games_that_hang_the_bot_that_is_in_most_is_named_first() -> None:
    made = plan(4)
    games = [
        Waited(Task(0, (0, 1), 0), 903.2),
        Waited(Task(2, (0, 3), 1), 61.0),
        Waited(Task(4, (1, 2), 0), 5.0),
        Waited(Task(1, (2, 0), 0), 2.0),
    ]
    told = tournament_told.stalled(made, games, 900)
    assert told == (
        "no game has ended for 900 s. Waited for is bot0@1. Not over are"
        " block 0, rotation 0 (bot0@1, bot1@1; for 15 min 3 s);"
        " block 2, rotation 1 (bot0@1, bot3@1; for 1 min 1 s);"
        " block 4, rotation 0 (bot1@1, bot2@1; for 5 s);"
        " block 1, rotation 0 (bot2@1, bot0@1; for 2 s)."
        " Where one of these bots hangs, play it in another folder with a --clock"
    )
    alone = tournament_told.stalled(made, games[:1], 900)
    assert "Waited for is bot0@1 or bot1@1. " in alone
    assert (
        tournament_told.stalled(made, [], 9) == "no game has ended for 9 s; nothing is being played"
    )
