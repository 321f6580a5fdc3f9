"""Crashes at every point of a scenario, and crashes while the server takes up what a crash left.

A scenario is played once under a `Camera`, which takes a picture at every statement and every step:
the files as a kill would leave them there, and how far the journal had come. From each picture a new
server goes on. Points between which neither files nor journal change leave one and the same state
and share a picture.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ronda_bots.registry import Registry
from ronda_server.identity import Keys

from .history import Database, Entry, Report, Stopped, check, read_database
from .inside import DATABASE, Files, Inside, Probe, config, files_of, probing
from .table import Scenario, Simulated, life


@dataclass(frozen=True)
class Picture:
    """What a crash leaves: files, and what clients remember."""

    files: Files
    journal: tuple[Entry, ...]
    where: str


class Camera(Probe):
    """Takes a picture at every point."""

    def __init__(self, folder: Path, journal: list[Entry]) -> None:
        super().__init__()
        self.pictures: list[Picture] = []
        self.points: Counter[str] = Counter()
        self._folder = folder
        self._journal = journal
        self._last: tuple[Files, int] | None = None

    def before(self, statement: str) -> None:
        self._shoot(f"before {_verb(statement)}")

    def after(self, statement: str) -> None:
        self._shoot(f"after {_verb(statement)}")

    def step(self, name: str) -> None:
        self._shoot(f"await in {name}")

    def _shoot(self, where: str) -> None:
        with self.lock:  # so that no statement is cut through
            files, mark = files_of(self._folder), len(self._journal)
            self.points[where] += 1
            if self._last:
                old, before = self._last
                # Equal bytes are one object, and one picture.
                files = Files(
                    old.main if files.main == old.main else files.main,
                    old.wal if files.wal == old.wal else files.wal,
                )
                if files == old and mark == before:
                    return
            self._last = files, mark
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

    def __init__(self, registry: Registry, scenario: Scenario, folder: Path) -> None:
        self._registry = registry
        self._scenario = scenario
        self._folder = folder
        self._key = b""
        self.tally = Tally()
        self.expected: Database = Database()

    def shoot(self) -> list[Picture]:
        """Play the scenario undisturbed, and return every state that a crash could leave."""
        folder = self._folder / "undisturbed"
        folder.mkdir()
        prepare(folder, self._registry)
        self._key = (folder / f"{DATABASE}.key").read_bytes()
        pictures, journal = self._run(folder, [])
        self.expected = read_database(folder / DATABASE)
        self._judge(journal, self.expected)
        self.tally.states = len(pictures)
        return pictures

    def recover(self, picture: Picture, *, again: bool = False) -> list[Picture]:
        """Go on from a picture to the end, compare, and return the states on the way."""
        folder = self._folder / "recovered"
        folder.mkdir()
        (folder / f"{DATABASE}.key").write_bytes(self._key)
        path = picture.files.lay(folder)
        journal = [*picture.journal, Stopped(read_database(path))]
        try:
            pictures, journal = self._run(folder, journal, shooting=again)
            database = read_database(path)
        finally:
            shutil.rmtree(folder)
        self._judge(journal, database, picture.where)
        return pictures

    def _run(
        self, folder: Path, journal: list[Entry], *, shooting: bool = True
    ) -> tuple[list[Picture], list[Entry]]:
        probe = Camera(folder, journal) if shooting else Probe()
        with probing(probe):
            asyncio.run(life(folder, self._registry, journal, self._scenario, probe))
        if isinstance(probe, Camera):
            if not any(isinstance(entry, Stopped) for entry in journal):
                self.tally.points += probe.points
            return probe.pictures, journal
        return [], journal

    def _judge(self, journal: list[Entry], database: Database, where: str = "") -> None:
        report = check(journal, database, Keys(self._key))
        # The deals, the bots and the clock are what they would have been: so is every byte.
        if database.rows != self.expected.rows:
            report.faults.append("the log is not that of an undisturbed run")
        report.faults = [f"crash {where}: {fault}" for fault in report.faults]
        self.tally.report.add(report)


def prepare(folder: Path, registry: Registry) -> None:
    """Make the database and the key that a server makes when it starts for the first time."""

    async def once() -> None:
        server = Inside(config(folder, Simulated([])), registry)
        await server.start()
        await server.stop()

    asyncio.run(once())


def spread(pictures: list[Picture], place: int) -> Iterator[Picture]:
    """Yield one of a crash's second crashes: another one for each crash, so that all are met."""
    if pictures:
        yield pictures[place * 7919 % len(pictures)]


def _verb(statement: str) -> str:
    return " ".join(statement.split()[:3])
