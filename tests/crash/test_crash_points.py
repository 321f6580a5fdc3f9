"""Stop the service at every statement, every await and every word to a client, and go on.

`python -m tests.long.crash` crashes a second time at every point of every recovery.
"""

from __future__ import annotations

import asyncio
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from ronda_bots.api import BotClass, SeatInfo, View
from ronda_bots.registry import BotInfo, Registry
from ronda_core.cards import Card
from ronda_server import database, hosting
from ronda_server.identity import load_key

from .crashes import Crashes
from .history import Entry
from .inside import Probe
from .scenarios import SCENARIOS
from .table import Scenario, Table, life


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_crash_at_any_point_loses_and_doubles_nothing(
    scenario: Scenario, registry: Registry, tmp_path: Path
) -> None:
    crashes = Crashes(registry, scenario, tmp_path)
    pictures = crashes.shoot()
    for picture in pictures:
        crashes.recover(picture)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.report.stops == len(pictures)
    assert {"before COMMIT", "after COMMIT", "Answered is noted", "Told is noted"} <= set(
        crashes.tally.points
    )
    assert {"Host._drive", "Opening._create"} & set(crashes.tally.points)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_second_crash_while_the_first_is_mended_changes_nothing(
    scenario: Scenario, registry: Registry, tmp_path: Path
) -> None:
    crashes = Crashes(registry, scenario, tmp_path)
    pictures = crashes.shoot()
    for place, picture in enumerate(pictures[::5]):
        crashes.recover_twice(picture, place)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert crashes.tally.second >= len(pictures) // 5


def test_a_server_that_is_killed_in_its_first_start_starts_the_next_time(
    registry: Registry, tmp_path: Path
) -> None:
    async def nothing(_table: Table) -> None:
        pass

    crashes = Crashes(registry, nothing, tmp_path, fresh=True)
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
            assert {*threads.map(lambda _, file=file: database.upgrade(file), range(4))} == {"0001"}
    assert len(list(tmp_path.glob("*.key*"))) == 10


class Slow:
    """Thinks for a while about everything, and is allowed to."""

    version = "1"

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        self._rng = rng

    def play(self, view: View) -> Card:
        time.sleep(0.1)
        return self._rng.choice(view.hand)


def test_a_bot_that_takes_its_time_is_not_late_because_it_lives_its_match_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "CEILING_SECONDS", 1.0)
    slow = Registry((BotInfo("slow", "1", "tests", "1", "", cast("BotClass", Slow)),), ())
    journal: list[Entry] = []

    async def first(table: Table) -> None:
        made = await table.create("slow", "arabic", "open", "slow")
        token = await table.join("rachid", made.match.id, 0)
        await table.play_out(made.match.id, {0: token}, lambda game: game.sequence >= 36)
        raise KeyboardInterrupt  # enough: the rest is for the next server

    async def second(table: Table) -> None:
        made = await table.create("slow", "arabic", "open", "slow")
        token = await table.join("rachid", made.match.id, 0)
        await table.play_out(made.match.id, {0: token})
        result = (await table.live(made.match.id)).game.result
        assert result
        assert result.outcome == "hand"

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(life(tmp_path, slow, journal, first, Probe()))
    asyncio.run(life(tmp_path, slow, journal, second, Probe()))
