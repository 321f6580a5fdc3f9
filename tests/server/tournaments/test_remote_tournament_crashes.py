"""Kills in the middle of a tournament of remote bots: they lose time only, and nobody is blamed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import bearer, request_id
from tests.server.tables import until
from tests.server.tournaments.callers import STATE, caller, counts, kept, read_until, spec
from tests.server.tournaments.players import players
from tests.server.tournaments.test_tournament_crashes import new_key, serving

from ronda.v1 import bot_service_pb2 as bots_pb
from ronda.v1 import tournament_service_pb2 as pb
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda_arena.tournament.store import Folder
from ronda_bots.registry import Registry
from ronda_core.record import read
from ronda_core.verify import verify

pytestmark = pytest.mark.thorough

BLOCKS = 25


@contextmanager
def bot(address: str, key_file: Path, name: str = "far") -> Iterator[None]:
    """Serve `random` as a remote bot; it is killed in the end."""
    words = ["bots", "serve", "random", "--as", name, "--key-file", str(key_file)]
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", *words, "--server", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            with grpc.insecure_channel(address) as channel:
                stub: Any = BotServiceStub(channel)
                until_ = time.monotonic() + 30
                while name not in [b.name for b in stub.ListBots(bots_pb.ListBotsRequest()).bots]:
                    assert time.monotonic() < until_, "the bot does not come"
            yield
        finally:
            process.kill()


def test_a_server_that_is_killed_deals_no_game_anew_and_blames_nobody(
    tmp_path: Path, registry: Registry
) -> None:
    key = asyncio.run(new_key(tmp_path, registry))
    key_file = tmp_path / "my.key"
    key_file.write_text(key)
    key_file.chmod(0o600)
    tournament = ""
    for kills in (True, True, False):
        with serving(tmp_path) as (process, stub, address), bot(address, key_file):
            if not tournament:
                asked = spec(entrants=("far", "greedy", "random"), blocks=BLOCKS)
                request = pb.CreateTournamentRequest(spec=asked, request_id=request_id())
                made = stub.CreateTournament(request, metadata=bearer(key)).tournament
                tournament = made.id
            stream = stub.WatchTournament(pb.WatchTournamentRequest(tournament_id=tournament))
            if kills:
                begun = next(stream).standings.progress.blocks
                next(m for m in stream if m.standings.progress.blocks > begun)
                process.send_signal(signal.SIGKILL)
                process.wait()
                continue
            *_, last = stream
            assert last.ended.reason == pb.TournamentStreamEnded.REASON_OVER
            over = stub.GetTournament(pb.GetTournamentRequest(tournament_id=tournament)).tournament
            asked_for = pb.ListGamesRequest(
                tournament_id=tournament, include_records=True, page_size=200
            )
            games: list[Any] = []
            while not games or asked_for.page_token:
                page = stub.ListGames(asked_for)
                games += page.games
                asked_for.page_token = page.next_page_token
    assert over.state == STATE.STATE_FINISHED
    assert over.progress.lost_games == 0
    assert len(games) == len({json.loads(game.record)["id"] for game in games}) == 6 * BLOCKS
    assert not any(game.HasField("fault") for game in games)
    assert all(verify(read(game.record.decode())).proven for game in games)


async def test_a_driver_that_is_killed_leaves_its_matches_to_the_next(
    start: Any, tmp_path: Path
) -> None:
    client = await start()
    ann = await caller(client)
    async with players(client, ann.key, "far") as (far,):
        made = await ann.create(entrants=("far", "greedy"), blocks=BLOCKS)
        await read_until(ann.watch(made.id), counts)
        one = await client.server.hall.find(made.id)
        killed = one.drive
        assert killed
        os.kill(killed.pid, signal.SIGKILL)
        await until(lambda: one.drive is not killed)
        await ann.watched(made.id)
    started = [message.match_id for message in far.remote.of("match_started")]
    assert len(started) == len(set(started)) == 2 * BLOCKS

    def places() -> list[tuple[int, int]]:
        with Folder(kept(tmp_path, made.id)) as held:
            found = held.find()
            assert found
            return list(found.done())

    done = await asyncio.to_thread(places)
    assert len(done) == len(set(done)) == 2 * BLOCKS
    assert (await ann.get(made.id)).progress.lost_games == 0
