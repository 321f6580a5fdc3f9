"""Hosted tournaments: made, played, watched and told as the same run on one machine is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Client, request_id, stop
from tests.server.scraping import scrape
from tests.server.tables import refused
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
    timeless,
    to_the_end,
    without_times,
)

from ronda.v1 import match_service_pb2
from ronda.v1 import tournament_service_pb2 as pb
from ronda_bots.registry import Registry
from ronda_core.commitments import Commitments, Listed
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server.errors import Reason
from ronda_server.tournaments import hall

ENDED = pb.TournamentStreamEnded


async def listed(client: Client) -> Commitments:
    """Return the server's list of commitments, every link of it checked."""
    found, token = Commitments(), ""
    while True:
        page = await client.matches.ListCommitments(
            match_service_pb2.ListCommitmentsRequest(page_size=200, page_token=token)
        )
        for one in page.commitments:
            fields = (one.number, one.scope, one.commitment, one.ending)
            found.append(Listed(*fields, one.previous_hash, one.hash))
        token = page.next_page_token
        if not token:
            return found


@pytest.mark.parametrize(
    ("entrants", "rules", "players", "workers"),
    [
        (("random", "greedy", "careful"), "playtash", 2, 1),
        (("random", "greedy", "careful"), "pagat", 3, 2),
        (("random", "greedy", "careful+random"), "cafe", 4, 1),
    ],
    ids=["two seats", "three seats and two workers", "mixed teams"],
)
async def test_a_tournament_comes_to_what_the_same_deals_come_to_on_this_machine(
    start: Any,
    registry: Registry,
    tmp_path: Path,
    entrants: tuple[str, ...],
    rules: str,
    players: int,
    workers: int,
) -> None:
    client = await start(tournament_workers=workers)
    ann = await caller(client)
    before = await listed(client)
    made = await ann.create(entrants=entrants, rules=rules, players=players)
    promise = before.find(made.id)
    assert promise
    assert (promise.commitment, promise.ending) == (made.commitment, "")
    assert made.state == STATE.STATE_WAITING
    assert made.spec.entrants[0] == "random@1.0.0"

    told = await ann.watched(made.id)

    # The stream: standings at once, numbers that grow, and an end that says why.
    assert told[0].WhichOneof("update") == "standings"
    numbers = [m.standings.progress.sequence for m in told if m.HasField("standings")]
    assert numbers == sorted(set(numbers))
    assert told[-1].ended == ENDED(reason=ENDED.REASON_OVER, sequence=numbers[-1])
    over = await ann.get(made.id)
    assert over.state == STATE.STATE_FINISHED
    assert over.progress.blocks == over.progress.planned_blocks == numbers[-1] - 2
    assert over.end_time.ToMicroseconds() >= over.create_time.ToMicroseconds()

    # What it came to.
    contract = await asyncio.to_thread(contract_of, kept(tmp_path, made.id))
    report, lines = await asyncio.to_thread(local, contract, registry, tmp_path / "local")
    standings = await ann.standings(made.id, include_pairs=True)
    expected = as_served(report, contract, numbers[-1])
    assert timeless(standings) == timeless(expected)
    assert standings.pairs
    assert all(row.margin.HasField("interval") for row in standings.ratings)

    # Its games, in pages, and the proof of each.
    games = await ann.games(made.id)
    assert games == await ann.games(made.id, size=3)
    told_lines = [game.record.decode() for game in games]
    assert without_times(told_lines) == without_times(lines)
    assert len(games) == over.progress.games
    promised = await listed(client)
    for line in told_lines:
        verdict = verify(read(line), promised)
        assert verdict.proven, (verdict.where, verdict.problem)

    # And nothing moves any more.
    with refused(Reason.TOURNAMENT_OVER):
        await ann.cancel(made.id)
    again = await to_the_end(ann.watch(made.id, after=numbers[-1]))
    assert [m.WhichOneof("update") for m in again] == ["heartbeat", "ended"]


@pytest.mark.thorough
async def test_tournaments_run_side_by_side_are_bounded_and_go_on_after_a_drain(
    start: Any, tmp_path: Path
) -> None:
    client = await start(tournaments_at_once=2)
    ann = await caller(client)
    first, second, third = [await ann.create(blocks=LONG) for _ in range(3)]
    streams = [ann.watch(one.id) for one in (first, second)]
    for stream in streams:
        await read_until(stream, counts)
    states = [(await ann.get(one.id)).state for one in (first, second, third)]
    assert states == [STATE.STATE_RUNNING, STATE.STATE_RUNNING, STATE.STATE_WAITING]
    scraped = {
        (sample.name, sample.labels.get("state", "")): sample.value
        for sample in await scrape(client)
        if sample.name.startswith("ronda_tournament")
    }
    assert scraped["ronda_tournaments", "running"] == 2
    assert scraped["ronda_tournaments", "waiting"] == 1
    assert scraped["ronda_tournament_games_total", ""] > 0
    assert scraped["ronda_tournament_games_twice_total", ""] == 0

    # One is cancelled: it ends at once, and the one that waits takes its place.
    ended = await ann.cancel(second.id)
    assert ended.state == STATE.STATE_CANCELLED
    rest = await to_the_end(streams[1])
    assert rest[-1].ended.reason == ENDED.REASON_CANCELLED
    await read_until(ann.watch(third.id), counts)
    assert (await ann.get(third.id)).state == STATE.STATE_RUNNING

    # The server drains: streams say where to resume, no process stays, nothing is lost.
    drives = [client.server.hall._open[one.id].drive for one in (first, third)]
    assert all(drive and drive.pid for drive in drives)
    reading = asyncio.create_task(to_the_end(streams[0]))
    await stop(client)
    assert all(drive.done.done() for drive in drives)
    rest = await reading
    assert rest[-1].ended.reason == ENDED.REASON_DRAINING
    resumed_at = rest[-1].ended.sequence
    assert resumed_at > 1

    client = await start(tournaments_at_once=1)
    ann = await caller(client)
    stream = ann.watch(first.id, after=resumed_at)
    message = await read_until(stream, lambda m: m.HasField("standings"))
    assert message.standings.progress.sequence > resumed_at
    assert (await ann.get(second.id)).state == STATE.STATE_CANCELLED
    records = [game.record for game in await ann.games(second.id)]
    assert records
    promised = await listed(client)
    assert all(verify(read(record.decode()), promised).proven for record in records)
    assert (await ann.get(third.id)).state == STATE.STATE_WAITING


async def test_a_request_is_answered_once_and_is_its_accounts(start: Any) -> None:
    client = await start(tournaments_at_once=0)
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    same = request_id()
    made = await ann.create(id_=same)
    assert await ann.create(id_=same) == made
    assert (await bob.create(id_=same)).id != made.id
    with refused(Reason.REQUEST_ID_REUSED):
        await ann.create(id_=same, blocks=5)
    with refused(Reason.REQUEST_ID_REUSED):
        await ann.cancel(made.id, id_=same)
    ended = await ann.cancel(made.id, id_=(other := request_id()))
    assert ended.state == STATE.STATE_CANCELLED
    assert await ann.cancel(made.id, id_=other) == ended
    assert await ann.cancel(made.id) == ended
    assert await ann.create(id_=same) == made
    await stop(client)
    client = await start(tournaments_at_once=0)
    ann.client, ann.stub = client, (await caller(client)).stub
    assert await ann.create(id_=same) == made
    assert await ann.cancel(made.id, id_=other) == ended


async def test_lists_hold_every_tournament_once_the_newest_first(start: Any) -> None:
    client = await start(tournaments_at_once=0, max_account_tournaments=9)
    ann = await caller(client)
    made = [(await ann.create()).id for _ in range(5)]
    await ann.cancel(made[1])
    found, token = [], ""
    while True:
        page = await ann.stub.ListTournaments(
            pb.ListTournamentsRequest(page_size=2, page_token=token)
        )
        assert len(page.tournaments) <= 2
        found += page.tournaments
        token = page.next_page_token
        if not token:
            break
    assert [one.id for one in found] == made[::-1]
    assert found[3] == await ann.get(made[1])
    assert found[4] == await ann.get(made[0])


async def test_a_tournament_waits_while_a_bot_of_it_is_not_installed_and_then_goes_on(
    start: Any, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hall, "_AGAIN_SECONDS", 0.01)
    client = await start(tournaments_at_once=0)
    first = await caller(client)
    made, other = await first.create(blocks=1), await first.create()
    await stop(client)
    fewer = Registry(tuple(bot for bot in registry.bots if bot.name != "greedy"), ())
    client = await start(bots=fewer)
    ann = await caller(client)
    async with asyncio.timeout(20):
        while (halted := await ann.get(made.id)).state != STATE.STATE_HALTED:
            assert halted.state == STATE.STATE_WAITING
    assert halted.problem == STATE.PROBLEM_BOT_MISSING
    assert (await ann.cancel(other.id)).state == STATE.STATE_CANCELLED
    assert (await ann.standings(other.id)).state == STATE.STATE_CANCELLED
    assert await ann.games(other.id) == []
    client.server.host.registry = registry
    told = await ann.watched(made.id)
    assert told[-1].ended.reason == ENDED.REASON_OVER
    assert (await ann.get(made.id)).state == STATE.STATE_FINISHED
