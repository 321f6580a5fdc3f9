"""Storage that fails at any statement, and clients who go on as long as it takes."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from ronda_bots.registry import Registry
from ronda_server.identity import Keys

from .crashes import prepare
from .history import Entry
from .inside import DATABASE, KEY, Files, Probe, files_of, lay, probing
from .judge import Report, check
from .stored import read_database
from .table import CannotStartError, Scenario, life

WAYS: Final = {
    "one statement fails": (1, False),
    "one statement is done and yet fails": (1, True),
    "the storage is away for a while": (12, False),
}
"""How many statements fail, one after another, and whether they have been done."""


class Failing(Probe):
    """Lets statements fail from the `nth` on: before they run, or when they have run already."""

    def __init__(self, nth: int, count: int, *, done: bool = False) -> None:
        super().__init__()
        self.failed: list[str] = []
        self._seen = 0
        self._failing = range(nth, nth + count)
        self._done = done

    def before(self, statement: str) -> None:
        self._seen += 1
        if not self._done:
            self._fail(statement)

    def after(self, statement: str) -> None:
        if self._done:
            self._fail(statement)

    def _fail(self, statement: str) -> None:
        if self._seen in self._failing:
            self.failed.append(statement)
            raise sqlite3.OperationalError("disk I/O error")


def play(
    folder: Path,
    fresh: Files,
    registry: Registry,
    scenario: Scenario,
    probe: Failing,
    *,
    keep: bool = False,
) -> Report:
    """Play a scenario on storage that fails; a server that cannot start is started again."""
    lay(fresh, folder)
    journal: list[Entry] = []
    with probing(probe):
        while True:
            try:
                asyncio.run(life(folder, registry, journal, scenario, probe))
            except CannotStartError:
                assert not journal, "only a first start may fail: nothing is left half done"
            else:
                break
    report = check(journal, read_database(folder / DATABASE), Keys((folder / KEY).read_bytes()))
    if not keep:
        shutil.rmtree(folder)
    return report


def errors_everywhere(
    folder: Path,
    registry: Registry,
    scenario: Scenario,
    count: int,
    *,
    done: bool,
    first: int = 1,
    every: int = 1,
) -> tuple[int, Report]:
    """Play a scenario once for each of its statements, which fails; return how many have.

    Or once for `every` so many of them, from the `first` one on.
    """
    made = folder / "fresh"
    made.mkdir()
    prepare(made, registry)
    fresh = files_of(made)
    total, places = Report(), 0
    while True:
        nth = first + places * every
        probe = Failing(nth, count, done=done)
        report = play(folder / "failing", fresh, registry, scenario, probe)
        if not probe.failed:
            return places, total
        report.faults = [f"{nth}, {probe.failed[0]}: {fault}" for fault in report.faults]
        total.add(report)
        places += 1
