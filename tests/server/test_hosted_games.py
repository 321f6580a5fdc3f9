"""Games of remote bots at the tables of a server, as drivers of tournaments and ladders ask."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import msgspec
import pytest
from tests.server.conftest import Client, stop
from tests.server.remotes import lowest
from tests.server.tables import TABLES, until
from tests.server.tournaments.callers import caller
from tests.server.tournaments.players import Player, players

from ronda.v1 import view_pb2
from ronda_arena.ladder import plan as ladder_plan
from ronda_arena.tournament.play import dealt, result
from ronda_arena.tournament.records import told
from ronda_arena.tournament.spec import Plan, Spec, plan
from ronda_arena.tournament.tasks import Contract, Deal, Task
from ronda_core.fair import commitment
from ronda_core.record import read
from ronda_core.rules import settings
from ronda_core.verify import verify
from ronda_server import hosting
from ronda_server.errors import ConflictError, StorageError
from ronda_server.tables.room import Limits
from ronda_server.tables.tables import Tables
from ronda_server.tables.told import Hosted, wanted

MASTER = bytes(range(32))
ENTRANTS = {
    2: ("far@1.0.0", "greedy@1.0.0"),
    3: ("far@1.0.0", "near@1.0.0", "greedy@1.0.0"),
    4: ("far@1.0.0+near@1.0.0", "greedy@1.0.0+far@1.0.0"),
}


def planned(rules: str, seats: int, **changes: Any) -> Plan:
    """Return a plan of single hands with remote bots in it."""
    hands = 0 if rules == "arabic" else 1
    asked = Spec(
        bots=ENTRANTS[seats], rules=rules, players=seats, hands=hands, clock="10", name="t-1"
    )
    made = plan(asked, str, lambda: "")
    return msgspec.structs.replace(made, remote=("far@1.0.0", "near@1.0.0"), **changes)


async def host(tables: Tables, contract: Contract, tasks: list[Task]) -> list[Hosted]:
    async with asyncio.timeout(30):
        return await asyncio.gather(*(tables.play(wanted(contract, task)) for task in tasks))


@pytest.mark.parametrize(
    ("rules", "seats"), TABLES, ids=[f"{rules}-{seats}" for rules, seats in TABLES]
)
async def test_every_game_has_deals_of_its_own_and_its_record_proves_them(
    client: Client, rules: str, seats: int
) -> None:
    ann = await caller(client)
    contract = Contract(planned(rules, seats), MASTER)
    scope = contract.plan.id
    at_table = tuple(range(len(contract.plan.entrants)))
    tasks = [Task(3, at_table, turn) for turn in range(contract.plan.games_of(at_table))]
    async with players(client, ann.key, "far", "near"):
        hosted = await host(Tables(client.server.host, Limits()), contract, tasks)
    decks = set()
    for task, one in zip(tasks, hosted, strict=True):
        assert one.record
        assert one.match_id == f"{scope}-3-{task.rotation}"
        record = read(one.record)
        game = dealt(contract, task)
        assert record.seats == game.seats
        assert record.fair
        assert (record.fair.scope, record.fair.master) == (f"{scope}/3-{task.rotation}", None)
        assert (record.tournament, record.block, record.rotation) == (scope, 3, task.rotation)
        remote = [name.split("@")[0] in ("far", "near") for name in record.seats]
        assert [level == "remote" for level in record.isolation or ()] == remote
        assert verify(read(told(one.record, MASTER))).proven
        assert record.fair.commitment == commitment(MASTER, scope)
        assert result(record, game, contract.plan).luck is not None
        decks.add(record.hands[0].deck)
        thinkers = {thought.bot for thought in one.thoughts}
        assert thinkers == set(record.seats)
    assert len(decks) == len(tasks)


async def test_a_block_of_a_ladder_is_dealt_from_its_own_secret(client: Client) -> None:
    ann = await caller(client)
    ladder = ladder_plan.made("ladder", settings("playtash", 2, length=1), clock="10")
    plan = ladder.games_plan(["random@1.0.0", "far@1.0.0", "greedy@1.0.0"], ["far@1.0.0"])
    contract = Contract(plan, b"")
    deals = [Deal("l-1", MASTER), Deal("l-2", MASTER[::-1])]
    tasks = [Task(0, (2, 1), turn, deal=deal) for deal in deals for turn in range(2)]
    async with players(client, ann.key, "far"):
        hosted = await host(Tables(client.server.host, Limits()), contract, tasks)
    for task, one in zip(tasks, hosted, strict=True):
        assert one.record
        assert task.deal
        record = read(told(one.record, task.deal.master))
        assert verify(record).proven
        assert record.fair
        assert record.fair.scope == f"{task.deal.id}/0-{task.rotation}"
        roster = [entry.identity for entry in record.fair.entries]
        assert roster == ["far@1.0.0", "greedy@1.0.0"]
        assert (record.tournament, record.block) == (task.deal.id, 0)


async def test_whoever_asks_again_is_told_of_the_same_match_also_after_a_restart(
    start: Any,
) -> None:
    client: Client = await start()
    ann = await caller(client)
    contract = Contract(planned("playtash", 2), MASTER)
    task = Task(0, (0, 1), 0)
    async with players(client, ann.key, "far") as (far,):
        tables = Tables(client.server.host, Limits())
        first = asyncio.create_task(tables.play(wanted(contract, task)))
        await far.answered(2)
        first.cancel()  # its driver was killed
        second, third = await host(tables, contract, [task, task])
        assert second.record
        assert second.record == third.record
        assert len(far.remote.of("match_started")) == 1
        both = await host(tables, contract, [Task(0, (0, 1), 1)] * 2)  # each would make it
        assert both[0].record
        assert both[0].record == both[1].record
        assert len(far.remote.of("match_started")) == 2
    await stop(client)
    client = await start()
    (again,) = await host(Tables(client.server.host, Limits()), contract, [task])
    assert again.record == second.record
    assert json.loads(second.record)["fair"]["master"] is None


async def test_what_is_called_off_is_lost_by_nobody_and_has_another_match_at_the_next_attempt(
    client: Client,
) -> None:
    ann = await caller(client)
    contract = Contract(planned("playtash", 2), MASTER)
    tables = Tables(client.server.host, Limits())
    async with players(client, ann.key, "far") as (far,):
        await far.leave()
        await far.come(silent=True)
        lost = asyncio.create_task(tables.play(wanted(contract, Task(0, (0, 1), 0))))
        await until(lambda: bool(far.remote.of("decision")))
        await tables.end(contract.plan.id)
        one = await lost
        assert (one.record, one.lost) == (None, "its match was called off")
        await far.leave()
        await far.come()
        (again,) = await host(tables, contract, [Task(0, (0, 1), 0, attempt=1)])
    assert again.match_id == f"{contract.plan.id}-0-0-1"
    assert again.record
    assert verify(read(told(again.record, MASTER))).proven


async def test_a_bot_that_is_away_is_waited_for_and_then_does_not_show_up(client: Client) -> None:
    ann = await caller(client)
    contract = Contract(planned("playtash", 2), MASTER)
    tasks = [Task(block, (0, 1), turn) for block in range(4) for turn in range(2)]
    patient = Tables(client.server.host, Limits(absence=3600.0))
    waiting = asyncio.create_task(host(patient, contract, tasks[:2]))
    await asyncio.sleep(0)  # it has asked
    async with players(client, ann.key, "far"):
        assert all(one.record for one in await waiting)
    hasty = Tables(client.server.host, Limits(absence=0.05))
    for one in await host(hasty, contract, tasks[2:]):
        assert one.record
        record = read(one.record)
        assert record.fault
        assert record.seats[record.fault.seat] == "far@1.0.0"
        assert record.fault.cause == "no_show"
        assert record.hands[0].plays == ()
        assert verify(read(told(one.record, MASTER))).proven


async def test_a_bot_that_offers_fewer_seats_than_its_game_has_is_as_good_as_away(
    client: Client,
) -> None:
    ann = await caller(client)
    contract = Contract(planned("cafe", 4), MASTER)
    async with players(client, ann.key, "far", "near", max_seats=1):
        hasty = Tables(client.server.host, Limits(absence=0.0))
        (one,) = await host(hasty, contract, [Task(0, (0, 1), 0)])
    assert one.record
    record = read(one.record)
    assert record.fault
    assert record.seats[record.fault.seat] == "far@1.0.0"
    assert record.fault.cause == "no_show"


async def test_no_more_games_are_begun_than_there_is_room_for(client: Client) -> None:
    ann = await caller(client)
    contract = Contract(planned("playtash", 2), MASTER)
    tasks = [Task(block, (0, 1), turn) for block in range(3) for turn in range(2)]
    at_once: list[int] = []

    def choose(view: view_pb2.View) -> dict[str, Any]:
        at_once.append(len(client.server.host.at_tables(contract.plan.id)))
        return lowest(view)

    far = Player(client, ann.key, choose, name="far")
    await far.come()
    await host(Tables(client.server.host, Limits(at_once=2)), contract, tasks)
    await far.leave()
    assert max(at_once) == 2


async def test_a_machine_that_shuts_no_bot_in_hosts_nothing_rated_of_its_own_bots(
    client: Client,
) -> None:
    contract = Contract(planned("playtash", 2, rated=True), MASTER)
    tables = Tables(client.server.host, Limits())
    (one,) = await host(tables, contract, [Task(0, (0, 1), 0)])
    assert one.record is None
    assert "sandbox" in (one.lost or "")


@pytest.mark.parametrize("stored", [True, False], ids=["stored all the same", "not stored"])
async def test_a_match_whose_making_the_storage_has_not_confirmed_is_found_or_made_once(
    client: Client, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    ann = await caller(client)
    contract = Contract(planned("playtash", 2), MASTER)
    log = client.server.host.log
    submit, failures = log.submit, [1, 1]

    def failing(work: Any) -> asyncio.Future[Any]:
        if "Tables._open" not in getattr(work, "__qualname__", "") or not failures:
            return submit(work)
        failures.pop()

        async def fail() -> None:
            if stored:
                with contextlib.suppress(ConflictError):  # the second time it is there
                    await submit(work)
            raise StorageError("nobody knows")

        return asyncio.ensure_future(fail())

    monkeypatch.setattr(log, "submit", failing)
    monkeypatch.setattr(hosting, "_RETRY_SECONDS", 0.01)
    async with players(client, ann.key, "far") as (far,):
        (one,) = await host(Tables(client.server.host, Limits()), contract, [Task(0, (0, 1), 0)])
        assert one.record
        assert verify(read(told(one.record, MASTER))).proven
        assert len(far.remote.of("match_started")) == 1
        await until(lambda: bool(far.remote.of("match_over")))
