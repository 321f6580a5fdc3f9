"""Crashes at every point of a scenario, and crashes while the server takes up what a crash left.

A scenario is played once under a `Camera`, which takes a picture at every statement and every
step: the files as a kill would leave them there, and how far the journal had come. From each
picture a new server goes on. Points between which neither files nor journal change leave one and
the same state and share a picture.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ronda_bots.registry import Registry
from ronda_server.identity import Keys

from .history import Entry, Stopped
from .inside import DATABASE, KEY, Files, Inside, Probe, config, files_of, lay, probing
from .judge import Report, check
from .stored import Database, read_database
from .table import RECOVERED, Scenario, Simulated, life


@dataclass(frozen=True)
class Picture:
    """What a crash leaves: files, and what clients remember."""

    files: Files
    journal: tuple[Entry, ...]
    where: str


class Camera(Probe):
    """Takes a picture at every point; `recovering`: until what was not answered is answered."""

    def __init__(self, folder: Path, journal: list[Entry], *, recovering: bool = False) -> None:
        super().__init__()
        self.pictures: list[Picture] = []
        self.points: Counter[str] = Counter()
        self._folder = folder
        self._journal = journal
        self._recovering = recovering
        self._closed = False
        self._files: Files = {}
        self._mark = -1

    def before(self, statement: str) -> None:
        self._shoot(f"before {_verb(statement)}")

    def after(self, statement: str) -> None:
        self._shoot(f"after {_verb(statement)}")

    def step(self, name: str) -> None:
        self._shoot(name)
        if self._recovering and name == RECOVERED:
            self._closed = True

    def _shoot(self, where: str) -> None:
        if self._closed:
            return
        with self.lock:  # so that no statement is cut through
            self.points[where] += 1
            files, mark = files_of(self._folder, self._files), len(self._journal)
            same = files.keys() == self._files.keys() and all(
                data is self._files[name] for name, data in files.items()
            )
            if not same or mark != self._mark:
                self._files, self._mark = files, mark
                self.pictures.append(Picture(files, tuple(self._journal[:mark]), where))


@dataclass
class Tally:
    """What was covered."""

    points: Counter[str] = field(default_factory=Counter)
    states: int = 0
    second: int = 0
    report: Report = field(default_factory=Report)

    def __str__(self) -> str:
        return (
            f"{sum(self.points.values())} points in {len(self.points)} places leave {self.states}"
            f" states; {self.second} second crashes; {self.report}"
        )


class Crashes:
    """One scenario, and all that can become of it."""

    def __init__(
        self, registry: Registry, scenario: Scenario, folder: Path, *, fresh: bool = False
    ) -> None:
        self._registry = registry
        self._scenario = scenario
        self._folder = folder
        self._fresh = fresh
        self.tally = Tally()
        self.expected = Database()

    def shoot(self) -> list[Picture]:
        """Play the scenario undisturbed, and return every state that a crash could leave."""
        folder = self._folder / "undisturbed"
        folder.mkdir()
        if not self._fresh:
            prepare(folder, self._registry)
        journal: list[Entry] = []
        camera = Camera(folder, journal)
        self._run(folder, journal, camera)
        self.tally.points += camera.points
        self.tally.states += len(camera.pictures)
        self.expected = read_database(folder / DATABASE)
        self._judge(folder, journal, "nowhere")
        shutil.rmtree(folder)
        return camera.pictures

    def recover(self, picture: Picture, *, watched: bool = False) -> list[Picture]:
        """Go on from a picture to the end, and judge; return the states on the way, if watched."""
        folder = self._folder / "recovered"
        lay(picture.files, folder)
        left = read_database(folder / DATABASE) if DATABASE in picture.files else Database()
        journal = [*picture.journal, Stopped(left)]
        camera = Camera(folder, journal, recovering=True)
        self._run(folder, journal, camera if watched else Probe())
        self._judge(folder, journal, picture.where)
        shutil.rmtree(folder)
        return camera.pictures

    def recover_twice(self, picture: Picture, place: int | None = None) -> None:
        """Crash again while recovering: everywhere, or at one point that `place` chooses."""
        second = self.recover(picture, watched=True)
        if place is not None:
            second = [second[place % len(second)]]
        for one in second:
            self.tally.second += 1
            self.recover(one)

    def _run(self, folder: Path, journal: list[Entry], probe: Probe) -> None:
        with probing(probe):
            asyncio.run(life(folder, self._registry, journal, self._scenario, probe))

    def _judge(self, folder: Path, journal: list[Entry], where: str) -> None:
        database = read_database(folder / DATABASE)
        report = check(journal, database, Keys((folder / KEY).read_bytes()))
        # The deals, the bots and the clock are what they would have been: so is every byte.
        if not self._fresh and database.rows != self.expected.rows:
            report.faults.append("the log is not that of an undisturbed run")
        report.faults = [f"crash at {where}: {fault}" for fault in report.faults]
        self.tally.report.add(report)


def prepare(folder: Path, registry: Registry) -> None:
    """Make the database and the key that a server makes when it starts for the first time."""

    async def once() -> None:
        server = Inside(config(folder, Simulated([])), registry)
        await server.start()
        await server.stop()

    asyncio.run(once())


def _verb(statement: str) -> str:
    return " ".join(statement.split()[:3])
