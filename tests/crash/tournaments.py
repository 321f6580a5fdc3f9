"""Tournaments whose driver and workers are killed, and what must come of them all the same.

A tournament is drawn by chance, played once undisturbed in this process, and once by the real
command, which is killed with -9 at random moments until it has ended by itself.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.arena.tournament.farm import farm
from tests.crash.families import family_of, kill, survivors

from ronda_core.record import read
from ronda_core.verify import verify

_SECONDS = 120.0
"""For one life of the command."""

_TABLES = [
    ("--rules=arabic", "--players=2"),
    ("--rules=playtash", "--players=2", "--hands=2"),
    ("--rules=cafe", "--players=3", "--hands=1"),
    ("--rules=pagat", "--players=4", "--hands=1"),
]
_FORMATS = [
    ("--format=round-robin",),
    ("--format=gauntlet",),
    ("--format=swiss", "--rounds=2"),
    ("--format=knockout",),
]


class Tournament(NamedTuple):
    """What is asked of the command, but for the folder and the executor."""

    flags: tuple[str, ...]


def drawn(random_: random.Random, blocks: int) -> Tournament:
    """Return a tournament of a chance kind, with so many blocks a pairing."""
    table = random_.choice(_TABLES)
    bots = "--bots=random,greedy,careful"
    if table[1] == "--players=4" and random_.random() < 0.5:
        bots = "--bots=random,greedy+random,careful"
    stop = ()
    form = random_.choice(_FORMATS)
    if form == _FORMATS[0] and random_.random() < 0.5:
        stop = ("--precision=2.5",)
    seed = f"--seed={random_.randrange(10**6)}"
    return Tournament((bots, *form, *table, f"--blocks={blocks}", seed, *stop))


@dataclass
class Tally:
    """What was done, and what was wrong."""

    tournaments: int = 0
    kills: int = 0
    games: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.tournaments} tournaments, {self.kills} kills, {self.games} games,"
            f" {len(self.faults)} faults"
        )


def undisturbed(asked: Tournament, folder: Path) -> None:
    """Play it in one process that nobody kills."""
    subprocess.run(
        _command(asked, folder, "--executor=in-process"),
        check=True,
        capture_output=True,
        timeout=600,
    )


def disturbed(
    asked: Tournament,
    folder: Path,
    where: tuple[str, ...],
    kills: int,
    random_: random.Random,
    tally: Tally,
    *,
    longest: float = 3.0,
) -> None:
    """Play it by the real command, killing it or one of its workers `kills` times."""
    left = kills
    command = _command(asked, folder, *where)
    while True:
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while (told := _until(driver, random_.uniform(0.2, longest) if left else _SECONDS)) is None:
            if not left:
                tally.faults.append("a run did not end")
                driver.kill()
                driver.communicate()
                return
            left -= 1
            tally.kills += 1
            family = list(family_of(driver.pid))
            if len(family) > 1 and random_.random() < 0.4:
                kill(random_.choice(family[1:]))  # a worker, or what a worker has started
                continue
            kill(driver.pid)
            driver.communicate()
            tally.faults += survivors(family)
            break
        if told is None:
            continue
        if driver.returncode:
            last = told.strip().splitlines()[-1:]
            tally.faults.append(f"a run ended with {driver.returncode}: {last}")
        return


def disturbed_on_dask(
    asked: Tournament, folder: Path, kills: int, random_: random.Random, tally: Tally
) -> None:
    """Play it on Dask, killing the command, a worker or the scheduler `kills` times."""
    left = kills
    with farm(2) as dask:
        where = (f"--scheduler={dask.address}",)
        while True:
            command = _command(asked, folder, *where)
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            while (told := _until(driver, random_.uniform(1, 4) if left else _SECONDS)) is None:
                if not left:
                    tally.faults.append("a run on Dask did not end")
                    driver.kill()
                    driver.communicate()
                    return
                left -= 1
                tally.kills += 1
                victim = random_.choice(("driver", "worker", "scheduler"))
                if victim == "driver":
                    driver.kill()
                    driver.communicate()
                    break
                if victim == "worker":
                    worker = random_.choice(dask.workers)
                    worker.kill()
                    worker.wait()
                else:
                    dask.restart()
                dask.ensure(2)
            if told is None:
                continue
            if driver.returncode:
                last = told.strip().splitlines()[-1:]
                tally.faults.append(f"a run on Dask ended with {driver.returncode}: {last}")
            return


def _until(driver: subprocess.Popen[bytes], seconds: float) -> str | None:
    """Return what the command has said if it ends in time, else None."""
    try:
        return driver.communicate(timeout=seconds)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None


def compare(whole: Path, broken: Path, tally: Tally) -> None:
    """Hold what came of the two against each other, and prove every record."""
    tally.tournaments += 1
    expected, found = _records(whole), _records(broken)
    tally.games += len(found)
    if expected != found:
        tally.faults.append(f"{broken}: {len(found)} records, and other ones: {len(expected)}")
    if _report(whole) != _report(broken):
        tally.faults.append(f"{broken}: another report")
    for line in (broken / "records.jsonl").read_text().splitlines():
        if not verify(read(line)).proven:
            tally.faults.append(f"{broken}: a record that is not proven")
            return


def _records(folder: Path) -> list[str]:
    lines = (folder / "records.jsonl").read_text().splitlines()
    return [_timeless(line) for line in lines]


def _timeless(line: str) -> str:
    record = read(line)
    return line.replace(record.start, "").replace(record.end, "")


def _report(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "report.json").read_text())
    del report["timing"]
    return report


def _command(asked: Tournament, folder: Path, *where: str) -> list[str]:
    start = [sys.executable, "-m", "ronda_cli", "tournament", "run"]
    return [*start, *asked.flags, f"--out={folder}", *where]
