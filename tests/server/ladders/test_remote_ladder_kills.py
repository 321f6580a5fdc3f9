"""Kills of a server whose ladder remote bots play on: a block is over once, or void."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from tests.server.ladders.callers import Seen
from tests.server.ladders.kept import Kept
from tests.server.ladders.test_ladder_kills import serving
from tests.server.ladders.test_remote_ladders import FAR, NEAR, games_of, remote_file
from tests.server.tournaments.test_remote_tournament_crashes import bot
from tests.server.tournaments.test_tournament_crashes import new_key

from ronda.v1 import ladder_service_pb2 as pb
from ronda_bots.registry import Registry

pytestmark = pytest.mark.thorough


def test_a_server_that_is_killed_blames_nobody_and_every_block_is_over_once_or_void(
    tmp_path: Path, registry: Registry
) -> None:
    key_file = tmp_path / "my.key"
    key_file.write_text(asyncio.run(new_key(tmp_path, registry)))
    key_file.chmod(0o600)
    file = remote_file(tmp_path)
    games = 0
    for life in range(3):
        with (
            serving(tmp_path, file) as (process, stub, address),
            bot(address, key_file),
            bot(address, key_file, "near"),
        ):
            seen = Seen()
            for message in stub.WatchLadder(pb.WatchLadderRequest(), timeout=60):
                seen.take(message)
                if games_of(seen, FAR, NEAR) >= games + 10:
                    break
            games = games_of(seen, FAR, NEAR)
            if life < 2:
                process.send_signal(signal.SIGKILL)
            else:
                process.terminate()
            process.wait()
        assert not seen.ratings[FAR].faults
        assert not seen.ratings[NEAR].faults
        assert seen.ladder.lost_blocks > 0 or not life
    kept = Kept(tmp_path / "quick")
    assert (kept.moves(FAR), kept.moves(NEAR)) == (["joined"], ["joined"])
    remote = [one for one in kept.records if "remote" in one["isolation"]]
    assert len(remote) >= 30
    assert not any(one["outcome"] == "forfeit" for one in kept.records)
    decks = [one["hands"][0]["deck"] for one in remote]
    assert len(set(decks)) == len(decks)
