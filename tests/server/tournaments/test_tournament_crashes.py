"""Kills: of the server, and of the process that plays. They lose time only."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import bearer, config, request_id
from tests.server.scraping import scrape
from tests.server.tables import until
from tests.server.tournaments.callers import (
    LONG,
    STATE,
    as_served,
    caller,
    contract_of,
    counts,
    kept,
    local,
    read_until,
    spec,
    timeless,
    without_times,
)

from ronda.v1 import tournament_service_pb2 as pb
from ronda.v1.tournament_service_pb2_grpc import TournamentServiceStub
from ronda_arena.seating import InProcess
from ronda_arena.tournament.store import Folder
from ronda_bots.registry import Registry
from ronda_server.app import Server
from ronda_server.tournaments import drive, hall, live

pytestmark = pytest.mark.thorough


BLOCKS = 80
"""A pairing: of what is killed twice on its way."""


async def new_key(folder: Path, registry: Registry) -> str:
    """Return an API key of a database that no server has yet."""
    server = Server(config(folder), registry, InProcess())
    await server.start()
    _, key = await server.accounts.create("ann", "", os.urandom(16))
    await server.stop()
    return key


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Any, str]]:
    """Yield a server as a process of its own, a stub and its address; it is killed in the end."""
    free = [
        word
        for name in ("listen", "metrics-listen", "health-listen")
        for word in (f"--{name}", "127.0.0.1:0")
    ]
    command = ["-m", "ronda_cli", "serve", *free, "--database", str(folder / "ronda.db")]
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            assert process.stdout
            address = json.loads(process.stdout.readline())["listen"]
            with grpc.insecure_channel(address) as channel:
                yield process, TournamentServiceStub(channel), address
        finally:
            process.kill()


def test_a_server_that_is_killed_plays_on_and_nothing_is_lost_or_told_otherwise(
    tmp_path: Path, registry: Registry
) -> None:
    metadata = bearer(asyncio.run(new_key(tmp_path, registry)))
    with serving(tmp_path) as (process, stub, _):
        request = pb.CreateTournamentRequest(spec=spec(blocks=BLOCKS), request_id=request_id())
        made = stub.CreateTournament(request, metadata=metadata).tournament
        seen = _killed(process, stub, made.id, 0, counts)
    with serving(tmp_path) as (process, stub, _):
        # What was told before is told still, and the stream goes on after it.
        standings = stub.GetStandings(pb.GetStandingsRequest(tournament_id=made.id)).standings
        assert standings.progress.sequence >= seen
        _killed(process, stub, made.id, seen, lambda told: told.progress.games > 0)
    with serving(tmp_path) as (_, stub, _):
        watch = pb.WatchTournamentRequest(tournament_id=made.id, after_sequence=seen)
        *_, last = stub.WatchTournament(watch, timeout=60)
        assert last.ended.reason == pb.TournamentStreamEnded.REASON_OVER
        asked = pb.GetStandingsRequest(tournament_id=made.id, include_pairs=True)
        standings = stub.GetStandings(asked).standings
        games, token = [], ""
        while not games or token:
            listing = pb.ListGamesRequest(
                tournament_id=made.id, include_records=True, page_size=200, page_token=token
            )
            page = stub.ListGames(listing)
            games += page.games
            token = page.next_page_token
        again = stub.CreateTournament(request, metadata=metadata).tournament
        assert again == made
    contract = contract_of(kept(tmp_path, made.id))
    report, lines = local(contract, registry, tmp_path / "local")
    expected = as_served(report, contract, last.ended.sequence)
    assert timeless(standings) == timeless(expected)
    told = [game.record.decode() for game in games]
    assert without_times(told) == without_times(lines)


def _killed(
    process: subprocess.Popen[bytes],
    stub: Any,
    tournament: str,
    after: int,
    enough: Callable[[pb.WatchTournamentResponse], bool],
) -> int:
    """Kill a server once its stream has told enough; return the number of that."""
    watch = pb.WatchTournamentRequest(tournament_id=tournament, after_sequence=after)
    stream = stub.WatchTournament(watch, timeout=60)
    told = next(message for message in stream if enough(message))
    process.send_signal(signal.SIGKILL)
    process.wait()
    progress = told.progress if told.HasField("progress") else told.standings.progress
    assert progress.games < 6 * BLOCKS, "it was over before it was killed"
    return int(progress.sequence)


async def test_a_driver_that_is_killed_is_followed_by_another_and_no_game_counts_twice(
    start: Any, tmp_path: Path
) -> None:
    client = await start()
    ann = await caller(client)
    made = await ann.create(blocks=LONG)
    stream = ann.watch(made.id)
    first = await read_until(stream, counts)
    killed = client.server.hall._open[made.id].drive
    assert killed
    os.kill(killed.pid, signal.SIGKILL)
    seen = first.standings.progress.sequence

    # The same stream goes on: who watches is told nothing of it.
    more = await read_until(stream, lambda m: m.standings.progress.sequence > seen + 20)
    assert client.server.hall._open[made.id].drive is not killed
    await ann.cancel(made.id)
    where = kept(tmp_path, made.id)

    def places() -> list[tuple[int, int]]:
        with Folder(where) as held:
            found = held.find()
            assert found
            return list(found.done())

    done = await asyncio.to_thread(places)
    assert len(done) == len(set(done)) >= 2 * more.standings.progress.blocks
    [twice] = [s.value for s in await scrape(client) if "games_twice_total" in s.name]
    assert twice == 0


async def test_drivers_that_end_at_once_again_and_again_halt_a_tournament(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drive, "_live", operator.is_)  # which takes two, and says nothing
    monkeypatch.setattr(hall, "_AT_ONCE", 1)
    client = await start()
    ann = await caller(client)
    made = await ann.create()
    one = await client.server.hall.find(made.id)
    await until(lambda: one.state == live.HALTED)
    halted = await ann.get(made.id)
    assert (halted.state, halted.problem) == (STATE.STATE_HALTED, STATE.PROBLEM_WORKERS)
    assert (await ann.cancel(made.id)).state == STATE.STATE_CANCELLED
