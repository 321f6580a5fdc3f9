"""What happens around a remote bot on a ladder that thinks long, and to one whose server dies."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Client, stop
from tests.server.ladders.callers import Caller, Seen
from tests.server.ladders.kept import Kept
from tests.server.ladders.test_ladder_states import _install
from tests.server.ladders.test_remote_ladders import FAR, NEAR, games_of, remote_file
from tests.server.remotes import Remote
from tests.server.tables import until
from tests.server.tournaments.callers import caller
from tests.server.tournaments.players import players

from ronda.v1 import match_pb2
from ronda_arena.discovery import discover
from ronda_arena.home.standing import enable
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated
from ronda_arena.worker.nursery import Nursery

MINE = "mine@1.0"


@pytest.fixture
def seating() -> Iterator[Isolated]:
    """Return how a server runs bots that are installed apart."""
    with Nursery() as nursery:
        yield Isolated(nursery, want=Level.PROCESS, minimum=Level.PROCESS)


async def started(remote: Remote, count: int) -> list[Any]:
    """Return the decisions with which so many games of a bot begin."""
    found: dict[str, Any] = {}
    while len(found) < count:
        decision = await remote.next("decision")
        found[decision.match_id] = decision
    return list(found.values())


async def test_nobody_waits_for_a_bot_that_thinks_long_whoever_comes_meanwhile(
    start: Any, tmp_path: Path, seating: Isolated
) -> None:
    home = tmp_path / "bots"
    file = remote_file(tmp_path, anchors=[], bots=["greedy", "mine"], clock="60")
    await asyncio.to_thread(_install, home, "0.9", tmp_path)  # it is known, and put aside
    await asyncio.to_thread(enable, home, "mine@0.9", enabled=False)
    here = await asyncio.to_thread(discover, home=home)
    client: Client = await start(here, seating=seating, ladders=[file], bots_dir=home)
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    ladder = Caller(client)
    remote = await Remote(client, ann.key).open()
    waiting = await started(remote, 4)  # it has all that it may have, and nobody else is there
    assert (await ladder.page()).ladder.games == 0
    async with players(client, bob.key, "near"):
        await ladder.until(lambda told: games_of(told, NEAR) > 4)
        # A bot is installed: workers begin anew, what is hosted goes on, and it is seated there.
        await asyncio.to_thread(_install, home, "1.0", tmp_path)
        seen = await ladder.until(lambda told: games_of(told, MINE) > 8)
        assert seen.ratings[FAR].games == 0
        assert not seen.ratings[NEAR].faults
        for decision in waiting:
            await remote.decide(decision)
        await remote.play_out(4)
        seen = await ladder.until(lambda told: games_of(told, FAR) > 0)
    assert seen.ladder.lost_blocks == 0
    remote.hang_up()
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    begun = {decision.match_id for decision in waiting}
    assert begun & {one["id"] for one in kept.records}
    tables = [set(one["seats"]) for one in kept.records]
    assert {MINE, NEAR} in tables
    assert {MINE, "greedy@1.0.0"} in tables


async def test_a_driver_that_is_killed_voids_its_blocks_and_their_bots_are_told_so(
    start: Any, tmp_path: Path
) -> None:
    file = remote_file(tmp_path, anchors=[], bots=["greedy"], clock="60")
    client: Client = await start(ladders=[file])
    ann = await caller(client, "ann")
    remote = await Remote(client, ann.key).open()
    lost = [decision.match_id for decision in await started(remote, 4)]
    [one] = client.server.ladders._every
    killed = one.drive
    assert killed
    os.kill(killed.pid, signal.SIGKILL)
    await until(lambda: one.drive is not killed)
    over = [await remote.next("match_over") for _ in lost]
    assert {told.match_id for told in over} == set(lost)
    assert {told.result.outcome for told in over} == {match_pb2.Result.OUTCOME_CANCELLED}
    # It is met again by the same, in other blocks, which it plays.
    playing = asyncio.create_task(remote.play_out(8))
    seen = await Caller(client).until(lambda told: games_of(told, FAR) >= 6)
    await playing
    assert seen.ladder.lost_blocks == 2
    assert not seen.ratings[FAR].faults
    remote.hang_up()
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert not set(lost) & {record["id"] for record in kept.records}
    assert kept.moves(FAR) == ["joined"]


async def test_after_a_restart_a_bot_has_its_time_to_come_back(start: Any, tmp_path: Path) -> None:
    client: Client = await start(ladders=[remote_file(tmp_path)])
    ann = await caller(client, "ann")
    seen = Seen()
    async with players(client, ann.key, "far") as (far,):
        seen = await Caller(client).until(lambda told: games_of(told, FAR) >= 8)
        await stop(client)
    client = await start(ladders=[remote_file(tmp_path)])
    ladder = Caller(client)
    games = seen.ladder.games
    seen = await ladder.until(lambda told: told.games > games + 20)  # before it is back
    before = seen.ratings[FAR].games
    async with players(client, ann.key, "far") as (far,):
        seen = await ladder.until(lambda told: games_of(told, FAR) > before + 8)
        cancelled = [
            one
            for one in far.remote.of("match_over")
            if one.result.outcome == match_pb2.Result.OUTCOME_CANCELLED
        ]
    assert not seen.ratings[FAR].faults
    assert all(one.HasField("result") for one in cancelled)
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert kept.moves(FAR) == ["joined"]
