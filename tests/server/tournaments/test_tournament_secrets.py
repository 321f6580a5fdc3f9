"""What of a tournament nobody is told before its time, in all that a server sends."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from tests.server.conftest import stop
from tests.server.tables import refused
from tests.server.tournaments.callers import Caller, caller, kept

from ronda.v1 import tournament_service_pb2 as pb
from ronda_arena.tournament.deliver import summary, write_report
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.store import Folder, Store
from ronda_arena.tournament.tasks import Contract, Task
from ronda_bots.registry import Registry
from ronda_core.cards import CARDS
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server.errors import Reason


def play_a_block_and_a_half(where: Path, contract: Contract, registry: Registry) -> list[str]:
    """Leave a folder as a kill in the middle of block 1 does; return the decks of that block."""
    where.mkdir(parents=True)
    with Folder(where) as held:
        store = held.begin(contract)
        tasks = [Task(0, (0, 1), 0), Task(0, (0, 1), 1), Task(1, (0, 2), 1)]
        with Here(contract, registry) as place:
            for some in place.play(iter(tasks)):
                store.add(some)
        write_report(summary(store, Run(store)), where)
        return _decks(store, 1)


def _decks(store: Store, wanted: int) -> list[str]:
    return [
        hand["deck"]
        for block, record in store.records()
        if block == wanted
        for hand in json.loads(record)["hands"]
    ]


async def everything(ann: Caller, tournament: str) -> bytes:
    """Return all that a server says of a tournament, one way or another."""
    answers = [
        await ann.get(tournament),
        await ann.standings(tournament, include_pairs=True),
        *await ann.games(tournament),
        (await ann.stub.ListTournaments(pb.ListTournamentsRequest())),
    ]
    stream = ann.watch(tournament)
    answers.append(await stream.read())
    stream.cancel()
    return b"".join(answer.SerializeToString() for answer in answers)


async def test_a_block_is_sealed_until_its_last_table_is_over_and_the_master_until_all_is(
    start: Any, tmp_path: Path, registry: Registry
) -> None:
    client = await start(tournaments_at_once=0)
    ann = await caller(client)
    made = await ann.create()
    row = await client.server.hall.book.find(made.id)
    master = await client.server.host.log.master(made.id)
    await stop(client)
    plan: Plan = row.plan
    contract = Contract(plan, master)
    decks = await asyncio.to_thread(
        play_a_block_and_a_half, kept(tmp_path, made.id), contract, registry
    )
    assert decks

    client = await start(tournaments_at_once=0)
    ann = await caller(client)
    # Another key of the same account: it may cancel what the first has made.
    told = await everything(ann, made.id)
    games = await ann.games(made.id)
    assert [(game.block, game.rotation) for game in games] == [(0, 0), (0, 1)]
    assert all(json.loads(game.record)["fair"]["master"] is None for game in games)
    assert master not in told
    assert master.hex().encode() not in told
    for deck in decks:
        assert deck.encode() not in told
        numbers = bytes(next(int(c) for c in CARDS if str(c) == card) for card in deck.split())
        assert numbers not in told
    assert (await ann.standings(made.id)).progress.blocks == 1

    await ann.cancel(made.id)
    games = await ann.games(made.id)
    assert [(game.block, game.rotation) for game in games] == [(0, 0), (0, 1)]
    assert all(verify(read(game.record.decode())).proven for game in games)
    assert (await everything(ann, made.id)).count(master.hex().encode()) == 2


async def test_nothing_secret_is_in_what_a_server_prints_of_what_it_holds(
    start: Any, capfd: Any
) -> None:
    client = await start(tournaments_at_once=1)
    ann = await caller(client)
    made = await ann.create(blocks=1)
    await ann.watched(made.id)
    master = await client.server.host.log.master(made.id)
    one = await client.server.hall.find(made.id)
    listed = await client.server.hall.games(one, (0, -1), 1)
    told = repr((one, one.row, listed, Contract(one.row.plan, master), one.drive))
    assert not re.search(r'"deck"|"master"', told)
    printed = "".join(capfd.readouterr())
    for text in (told, printed):
        assert master.hex() not in text
        assert repr(master) not in text
    deck = json.loads(listed[0].record)["hands"][0]["deck"]
    assert deck not in told + printed
    assert msgspec.json.encode(one.row.plan)


async def test_games_that_somebody_has_changed_are_not_told(
    start: Any, tmp_path: Path, registry: Registry
) -> None:
    client = await start(tournaments_at_once=0)
    ann = await caller(client)
    made = await ann.create()
    row = await client.server.hall.book.find(made.id)
    master = await client.server.host.log.master(made.id)
    await stop(client)
    where, contract = kept(tmp_path, made.id), Contract(row.plan, master)
    await asyncio.to_thread(play_a_block_and_a_half, where, contract, registry)

    def change() -> None:
        with sqlite3.connect(where / "state.db") as database:
            database.execute(
                "UPDATE game SET record = replace(record, '\"score\": [', '\"score\": [9')"
            )
        database.close()

    await asyncio.to_thread(change)
    client = await start(tournaments_at_once=0)
    ann = await caller(client)
    with refused(Reason.STORAGE_UNAVAILABLE):
        await ann.games(made.id)
