"""What a restart does to those who wait and to those who think: nothing that is its fault."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any, Final, cast

import pytest
from google.protobuf.duration_pb2 import Duration

from ronda.v1.match_pb2 import Clock as ClockMessage
from ronda_bots.api import BotClass, SeatInfo, View
from ronda_bots.registry import BotInfo, Registry
from ronda_core.cards import Card
from ronda_server import bots, driving, hosting
from ronda_server.game import Game

from .history import Clock, Entry
from .inside import Probe
from .table import Scenario, Table, life

_SECOND: Final = 1_000_000


class _EnoughError(Exception):
    """This server has done its part; the next one goes on."""


class Restarts:
    """Two persons with half a minute for each decision, and one server after another."""

    def __init__(self, folder: Path, registry: Registry) -> None:
        self._folder = folder
        self._registry = registry
        self._journal: list[Entry] = []

    def serve(self, scenario: Scenario) -> None:
        """Let a server live as long as `scenario` takes."""

        async def then_stop(table: Table) -> None:
            await scenario(table)
            raise _EnoughError

        with pytest.raises(_EnoughError):
            asyncio.run(life(self._folder, self._registry, self._journal, then_stop, Probe()))

    def pass_time(self, seconds: int) -> None:
        """Let time go by while no server is there."""
        self._journal.append(Clock("between", seconds * _SECOND))

    async def begin(self, table: Table) -> None:
        """Sit down and play three cards."""
        await self.play_until(table, 7)

    async def play_until(self, table: Table, sequence: int) -> None:
        """Play on."""
        match, tokens = await self._seated(table)
        await table.play_out(match, tokens, lambda game: game.sequence >= sequence)

    async def wait(self, table: Table, seconds: int) -> Game:
        """Let time go by while everybody thinks."""
        match, _ = await self._seated(table)
        await table.pass_time(f"{len(self._journal)}", match, seconds)
        return (await table.live(match)).game

    async def _seated(self, table: Table) -> tuple[str, dict[int, str]]:
        """Sit down, or say who sits where."""
        clock = ClockMessage(per_decision=Duration(seconds=30))
        made = await table.create("clock", "arabic", "open", "open", clock=clock)
        match = made.match.id
        tokens = {seat: await table.join(f"person {seat}", match, seat) for seat in (0, 1)}
        return match, tokens


@pytest.fixture
def restarts(tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch) -> Restarts:
    """Return two persons, and servers that give ten seconds after a restart."""
    monkeypatch.setattr(hosting, "_GRACE_MICROS", 10 * _SECOND)
    return Restarts(tmp_path, registry)


def test_a_restart_does_not_set_back_a_clock(restarts: Restarts) -> None:
    async def wait_for_the_rest(table: Table) -> None:
        assert not (await restarts.wait(table, 14)).over
        game = await restarts.wait(table, 2)
        assert game.result
        assert game.result.fault
        assert game.result.fault.cause == "time"

    restarts.serve(restarts.begin)
    restarts.pass_time(15)
    restarts.serve(wait_for_the_rest)


def test_time_that_ran_out_while_no_server_was_there_is_given_a_little_longer(
    restarts: Restarts,
) -> None:
    async def play_on(table: Table) -> None:
        await restarts.play_until(table, 20)

    restarts.serve(restarts.begin)
    restarts.pass_time(1000)
    restarts.serve(play_on)


def test_who_does_not_come_back_after_a_restart_is_late(restarts: Restarts) -> None:
    async def wait(table: Table) -> None:
        game = await restarts.wait(table, 11)
        assert game.result
        assert game.result.outcome == "forfeit"

    restarts.serve(restarts.begin)
    restarts.pass_time(1000)
    restarts.serve(wait)


class Slow:
    """Thinks for a while about everything, and is allowed to."""

    version = "1"

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        self._rng = rng

    def play(self, view: View) -> Card:
        time.sleep(0.1)  # a bot that takes its time
        return self._rng.choice(view.hand)


def test_a_bot_that_takes_its_time_is_not_late_because_it_lives_its_match_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bots, "CEILING_SECONDS", 1.0)
    monkeypatch.setattr(driving, "_MAKING_SECONDS", 1.0)
    slow = Registry((BotInfo("slow", "1", "tests", "1", "", cast("BotClass", Slow)),), ())
    restarts = Restarts(tmp_path, slow)

    async def play(table: Table, until: int) -> Any:
        made = await table.create("slow", "arabic", "open", "slow")
        token = await table.join("rachid", made.match.id, 0)
        await table.play_out(made.match.id, {0: token}, lambda game: game.sequence >= until)
        return (await table.live(made.match.id)).game.result

    async def first(table: Table) -> None:
        assert await play(table, 36) is None

    async def second(table: Table) -> None:
        result = await play(table, 1000)
        assert result.outcome == "hand"

    restarts.serve(first)
    restarts.serve(second)
