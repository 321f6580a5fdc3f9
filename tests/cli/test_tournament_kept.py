"""Tournaments of two versions of a bot that `ronda bots install` keeps, wherever it is played."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.arena.home.wheels import BOT, wheel
from tests.arena.tournament import farm as farms
from tests.cli.conftest import Run, environment

from ronda_arena.home.install import uninstall
from ronda_core.record import Record, read
from ronda_core.verify import verify

BOTS = {"mine@1.0", "mine@2.0", "greedy@1.0.0"}
SMALL = ("--bots=mine@1.0,mine,greedy", "--rules=cafe", "--hands=1", "--blocks=2", "--seed=5")
HERE = "--executor=in-process"


@pytest.fixture
def home(tmp_path: Path, run: Run) -> Path:
    """Two versions of a bot, of which one plays its first card and one its last."""
    for version, card in (("1.0", "0"), ("2.0", "-1")):
        source = BOT.format(version=version).replace("[0]", f"[{card}]")
        file = wheel(tmp_path / "given", version=version, files={"mine.py": source})
        done = run("bots", "install", str(file), "--bots-dir", str(tmp_path / "kept"))
        assert done.exit_code == 0, done.stderr
    return tmp_path / "kept"


def play(run: Run, folder: Path, home: Path, *flags: str) -> tuple[list[Any], Any]:
    """Play the small tournament, and return what `told` tells of it."""
    out = ("--out", str(folder), "--bots-dir", str(home))
    done = run("tournament", "run", *SMALL, *out, *flags)
    assert done.exit_code == 0, done.stderr
    return told(folder)


def records(folder: Path) -> list[Record]:
    return [read(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def told(folder: Path) -> tuple[list[Any], Any]:
    """Return what does not depend on when and how it was played: games, and the report."""
    games = [
        {key: value for key, value in json.loads(line).items() if key not in ("start", "end")}
        for line in (folder / "records.jsonl").read_text().splitlines()
    ]
    report = json.loads((folder / "report.json").read_text())
    del report["timing"]
    return games, report


@contextmanager
def dask_worker(address: str, home: Path) -> Iterator[None]:
    """Run `ronda tournament worker` until it is not needed any more."""
    command = [sys.executable, "-m", "ronda_cli", "tournament", "worker"]
    command += ["--scheduler", address, "--bots-dir", str(home)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as worker:
        try:
            assert worker.stderr is not None
            assert worker.stderr.readline().startswith(f"plays for {address} on tcp://")
            yield
        finally:
            worker.terminate()
            worker.communicate(timeout=30)
    assert worker.returncode == 0


@pytest.mark.outside  # a Dask scheduler and its worker are servers of their own
def test_two_versions_meet_greedy_in_this_process_in_workers_and_on_dask(
    tmp_path: Path, home: Path, run: Run
) -> None:
    expected = play(run, tmp_path / "here", home, HERE)
    here = records(tmp_path / "here")
    assert {seat for record in here for seat in record.seats} == BOTS
    assert len(here) == 3 * 2 * 2
    assert all(verify(record).proven and record.fault is None for record in here)
    levels = {
        (bot, level)
        for record in here
        for bot, level in zip(record.seats, record.isolation, strict=True)
    }
    assert ("greedy@1.0.0", "trusted") in levels
    assert {level for bot, level in levels if bot.startswith("mine@")} <= {"sandbox", "process"}
    local = play(run, tmp_path / "local", home, "--executor=local", "--workers=2")
    assert local == expected
    if not find_spec("distributed"):
        pytest.skip("the extra dask is not installed")
    with farms.farm() as farm, dask_worker(farm.address, home):
        flags = ("--executor=dask", f"--scheduler={farm.address}")
        assert play(run, tmp_path / "dask", home, *flags) == expected


def test_where_bots_are_kept_is_told_to_who_goes_on(
    tmp_path: Path, home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ronda_arena.tournament.run.Run.play", _interrupted)
    again = ("tournament", "run", "--out", str(tmp_path / "t"), HERE)
    stopped = run(*again, *SMALL, "--bots-dir", str(home))
    assert stopped.exit_code == 130
    words = " ".join(("ronda", *again, "--bots-dir", str(home)))
    assert stopped.stderr.splitlines()[-1].endswith(words)
    quiet = run(*again, RONDA_BOTS_DIR=str(home))  # which is there the next time, too
    assert quiet.exit_code == 130
    assert quiet.stderr.splitlines()[-1].endswith(" ".join(("ronda", *again)))
    monkeypatch.undo()
    refused = run(*again, "--bots-dir", str(tmp_path / "empty"))
    assert refused.exit_code != 0
    assert "no bot 'mine@1.0' is installed" in refused.stderr
    assert run(*again, "--bots-dir", str(home)).exit_code == 0
    assert {seat for record in records(tmp_path / "t") for seat in record.seats} == BOTS


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("flags", [(HERE,), ("--executor=local", "--workers=2")])
def test_a_version_that_is_gone_ends_it_and_costs_nobody_a_game(
    tmp_path: Path, home: Path, run: Run, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ronda_arena.tournament.run.Run.play", _interrupted)
    begun = ("tournament", "run", "--out", str(tmp_path / "t"), "--bots-dir", str(home), *flags)
    run(*begun, *SMALL)
    monkeypatch.undo()
    (place,) = home.glob("mine-2.0-*")
    uninstall(home, place.name)
    refused = run(*begun)
    assert refused.exit_code == 2
    assert "no bot 'mine@2.0' is installed; did you mean mine@1.0?" in refused.stderr


@pytest.mark.parametrize("flags", [(HERE,), ("--executor=local", "--workers=2")])
def test_other_code_under_a_version_is_refused_by_its_name(
    tmp_path: Path, home: Path, run: Run, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ronda_arena.tournament.run.Run.play", _interrupted)
    begun = ("tournament", "run", "--out", str(tmp_path / "t"), "--bots-dir", str(home), *flags)
    run(*begun, *SMALL)
    monkeypatch.undo()
    (place,) = home.glob("mine-2.0-*")
    uninstall(home, place.name)
    source = BOT.format(version="2.0")  # now it plays its first card
    again = wheel(tmp_path / "again", version="2.0", files={"mine.py": source})
    assert run("bots", "install", str(again), "--bots-dir", str(home)).exit_code == 0
    for words in (begun, (*begun, *SMALL)):
        refused = run(*words)
        assert refused.exit_code == 4
        assert "mine@2.0 is not what it was when tournament-" in refused.stderr
        assert "Put that version back, or begin another tournament" in refused.stderr
    (place,) = home.glob("mine-2.0-*")
    uninstall(home, place.name)
    before = tmp_path / "given" / "mine-2.0-py3-none-any.whl"
    assert run("bots", "install", str(before), "--bots-dir", str(home)).exit_code == 0
    assert run(*begun).exit_code == 0
    _, report = told(tmp_path / "t")
    listed = json.loads(run("bots", "list", "-o", "json", "--bots-dir", str(home)).stdout)
    installed = {f"{one['name']}@{one['version']}": one["code"] for one in listed["bots"]}
    assert report["code"] == [
        {"bot": bot, "code": installed[bot], "alike": []} for bot in sorted(BOTS)
    ]


def test_kept_bots_are_not_run_in_the_process_of_a_tournament(
    tmp_path: Path, home: Path, run: Run
) -> None:
    flags = ("--out", str(tmp_path / "t"), "--bots-dir", str(home), HERE)
    refused = run("tournament", "run", *SMALL, *flags, "--isolation=trusted")
    assert refused.exit_code == 4
    assert "is installed apart from ronda: it runs in a process of its own" in refused.stderr


def test_a_ladder_seats_what_is_kept_and_goes_on_with_it(
    tmp_path: Path, home: Path, run: Run
) -> None:
    kept = ("--bots-dir", str(home))
    flags = ("--bots=mine@1.0,mine@2.0,greedy", "--rules=cafe", "--players=2", "--hands=1", HERE)
    for games in (8, 16):
        asked = ("--dir", str(tmp_path / "ladder"), *kept, "--games", str(games))
        done = run("ladder", "run", *flags, "--anchors=greedy", *asked)
        assert done.exit_code == 0, done.stderr
    shown = json.loads(run("ladder", "show", str(tmp_path / "ladder"), "-o", "json").stdout)
    assert {row["bot"] for row in shown["standings"]} == BOTS
    assert all(row["games"] for row in shown["standings"])
