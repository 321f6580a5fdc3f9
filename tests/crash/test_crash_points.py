"""Stop the service at every statement, every await and every word to a client, and go on.

Of a long scenario about ninety states are gone on from here, at every place where one can be left;
`python -m tests.long.crash` goes on from all, and crashes again at every point of every recovery.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ronda_bots.registry import Registry
from ronda_server import database
from ronda_server.identity import load_key

from .crashes import Crashes, Picture
from .scenarios import SCENARIOS
from .table import Scenario, Table

pytestmark = pytest.mark.thorough


_ENOUGH = 90
"""States of one scenario, about."""


def _some(pictures: list[Picture]) -> list[Picture]:
    """Return the first picture of every place, and of the others as many as are enough."""
    every = max(1, round(len(pictures) / _ENOUGH))
    first = {picture.where: number for number, picture in reversed([*enumerate(pictures)])}
    return [
        picture
        for number, picture in enumerate(pictures)
        if number % every == 0 or first[picture.where] == number
    ]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_crash_at_any_point_loses_and_doubles_nothing(
    scenario: Scenario, registry: Registry, quick: Path
) -> None:
    crashes = Crashes(registry, scenario, quick)
    pictures = _some(crashes.shoot())
    for picture in pictures:
        crashes.recover(picture)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.report.stops == len(pictures)
    assert {"before COMMIT", "after COMMIT", "Answered is noted", "Told is noted"} <= set(
        crashes.tally.points
    )
    assert {"Drivers._drive", "Opening._create"} & set(crashes.tally.points)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_second_crash_while_the_first_is_mended_changes_nothing(
    scenario: Scenario, registry: Registry, quick: Path
) -> None:
    crashes = Crashes(registry, scenario, quick)
    pictures = crashes.shoot()
    for place, picture in enumerate(pictures[::12]):
        crashes.recover_twice(picture, place)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.second >= len(pictures) // 12


def test_a_server_that_is_killed_in_its_first_start_starts_the_next_time(
    registry: Registry, quick: Path
) -> None:
    async def nothing(_table: Table) -> None:
        pass  # a scenario without a step

    crashes = Crashes(registry, nothing, quick, fresh=True)
    for picture in crashes.shoot():
        crashes.recover_twice(picture)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert {"os.link", "os.fsync", "after CREATE TABLE event"} <= set(crashes.tally.points)


def test_servers_that_start_at_once_agree_on_one_key_and_one_schema(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        for attempt in range(10):
            key, file = tmp_path / f"{attempt}.key", str(tmp_path / f"{attempt}.db")
            keys = threads.map(lambda _, key=key: load_key(key), range(8))
            assert len({*keys}) == 1
            made = sqlite3.connect(file)
            made.execute("PRAGMA journal_mode = WAL")  # which two cannot set in the same moment
            made.close()
            assert {*threads.map(lambda _, file=file: database.upgrade(file), range(4))} == {"0003"}
    assert len(list(tmp_path.glob("*.key*"))) == 10
