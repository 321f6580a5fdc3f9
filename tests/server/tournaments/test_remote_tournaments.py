"""Tournaments in which remote bots play: at the tables of the server, over real streams."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from itertools import groupby
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, stop
from tests.server.remotes import Remote
from tests.server.tables import refused
from tests.server.tournaments.callers import LONG, STATE, caller, counts, read_until
from tests.server.tournaments.players import players
from tests.server.tournaments.test_tournaments import listed

from ronda.v1 import match_pb2, tournament_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_core.cards import parse_card
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server.errors import Reason

SOON = tournament_pb2.TournamentClock(per_decision=Duration(seconds=2))


def records_of(games: list[tournament_pb2.TournamentGame]) -> list[dict[str, Any]]:
    return [json.loads(game.record) for game in games]


@pytest.mark.parametrize(
    ("entrants", "rules", "seats", "workers"),
    [(("far", "near", "greedy"), "pagat", 3, 2), (("far", "near+greedy", "random"), "cafe", 4, 1)],
    ids=["three seats and two workers", "mixed teams"],
)
async def test_a_tournament_of_remote_bots_is_played_to_its_end_and_proven(
    start: Any, entrants: tuple[str, ...], rules: str, seats: int, workers: int
) -> None:
    client = await start(tournament_workers=workers)
    ann = await caller(client)
    async with players(client, ann.key, "far", "near"):
        made = await ann.create(entrants=entrants, rules=rules, players=seats, blocks=2)
        told = await ann.watched(made.id)
    assert told[-1].WhichOneof("update") == "ended"
    over = await ann.get(made.id)
    assert (over.state, over.progress.lost_games) == (STATE.STATE_FINISHED, 0)
    games = await ann.games(made.id)
    records = records_of(games)
    assert len(records) == over.progress.games == (6 if seats == 3 else 2 * (4 + 2 + 4))
    decks = [one["hands"][0]["deck"] for one in records]
    assert len(set(decks)) == len(decks)
    promised = await listed(client)
    for game in games:
        verdict = verify(read(game.record.decode()), promised)
        assert verdict.proven, (verdict.where, verdict.problem)
    standings = await ann.standings(made.id)
    assert not any(faults.counts for faults in standings.faults)
    # And again from what is kept: results are what their records say.
    await stop(client)
    client = await start()
    again = await caller(client)
    assert await again.games(made.id) == games


async def test_pairings_without_a_remote_bot_keep_their_decks_and_it_is_said_which_do_not(
    start: Any,
) -> None:
    client = await start(tournaments_at_once=2)
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    async with players(client, ann.key, "far"), players(client, bob.key, "near"):
        first = await ann.create(entrants=("random", "far", "greedy"), blocks=3)
        second = await bob.create(entrants=("near", "far"), blocks=2, rated=True)
        for one in (first, second):
            await ann.watched(one.id)
    games = await ann.games(first.id)
    assert len(games) == 18
    for _, block in groupby(games, lambda game: game.block):
        records = records_of(list(block))
        decks = {one["hands"][0]["deck"] for one in records}
        remote = any("far@1.0.0" in one["seats"] for one in records)
        assert len(decks) == (len(records) if remote else 1)
    said = (await ann.standings(first.id)).sentences
    assert (
        "far@1.0.0 plays remotely, where a deal could be remembered: so wherever it sits, every"
        " rotation has deals of its own. 6 of 9 blocks are unpaired." in said
    )
    assert said[-1].endswith("and games where each has deals of its own.")
    rated = records_of(await ann.games(second.id))
    assert len(rated) == 4
    assert all(one["rated"] and one["isolation"] == ["remote"] * 2 for one in rated)
    promised = await listed(client)
    for game in games + await ann.games(second.id):
        assert verify(read(game.record.decode()), promised).proven


@pytest.mark.parametrize("owner", ["ann", "bob"])
async def test_whose_remote_bots_are_is_told_where_one_account_has_several(
    start: Any, owner: str
) -> None:
    client = await start()
    ann, other = await caller(client, "ann"), await caller(client, owner)
    async with players(client, ann.key, "far"), players(client, other.key, "near"):
        made = await ann.create(entrants=("near", "far", "greedy"), rules="pagat", players=3)
        await ann.watched(made.id)
    said = (
        "far@1.0.0 and near@1.0.0 are of one owner, ann: nothing keeps them from playing for"
        " each other where they meet."
    )
    assert (said in (await ann.standings(made.id)).sentences) == (owner == "ann")
    one = await client.server.hall.find(made.id)
    assert one.row.plan.owners == (("far@1.0.0", "ann"), ("near@1.0.0", owner))


async def hidden(client: Client, match_id: str) -> None:
    """Check that nobody is told anything of a match, nor that there is one."""
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.GetMatch(matches_pb.GetMatchRequest(match_id=match_id))
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=match_id))
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.WatchMatch(matches_pb.WatchMatchRequest(match_id=match_id)).read()
    with refused(Reason.MATCH_NOT_FOUND):
        await client.join(match_id)
    page = await client.matches.ListMatches(matches_pb.ListMatchesRequest())
    assert not page.matches


async def test_nothing_of_a_hosted_game_is_public_before_its_block_is_over(start: Any) -> None:
    client = await start()
    ann = await caller(client)
    remote = await Remote(client, ann.key).open()
    made = await ann.create(entrants=("far", "greedy"), blocks=1)
    waiting: dict[str, Any] = {}
    while len(waiting) < 2:  # both rotations wait for it
        decision = await remote.next("decision")
        waiting[decision.match_id] = decision
    assert set(waiting) == {f"{made.id}-0-0", f"{made.id}-0-1"}
    for match_id in waiting:
        await hidden(client, match_id)
    # One of the two is over: its record holds what the block is dealt from.
    first, second = waiting
    decision = waiting[first]
    while decision:
        await remote.decide(decision)
        decision = None
        while decision is None:
            message = await remote.read()
            if message.WhichOneof("message") == "decision":
                decision = message.decision
            elif message.WhichOneof("message") == "match_over":
                assert message.match_over.match_id == first
                break
    for match_id in waiting:
        await hidden(client, match_id)
    assert await ann.games(made.id) == []
    master = await client.server.host.log.master(made.id)
    told = b"".join(message.SerializeToString() for message in remote.told)
    assert master not in told
    decision = waiting[second]
    while decision.match_id == second:
        await remote.decide(decision)
        message = await remote.read()
        while message.WhichOneof("message") not in ("decision", "match_over"):
            message = await remote.read()
        if message.WhichOneof("message") == "match_over":
            break
        decision = message.decision
    await ann.watched(made.id)
    for match_id in waiting:
        await hidden(client, match_id)
    assert all(verify(read(game.record.decode())).proven for game in await ann.games(made.id))
    # Of these matches the list of commitments knows nothing but their tournament's promise.
    page = await client.matches.ListCommitments(matches_pb.ListCommitmentsRequest(page_size=200))
    assert not {one.scope for one in page.commitments} & set(waiting)
    remote.hang_up()


async def test_a_remote_bot_has_no_more_seats_than_it_has_said(start: Any) -> None:
    client = await start()
    ann = await caller(client)
    async with players(client, ann.key, "far", max_seats=1) as (far,):
        made = await ann.create(entrants=("far", "greedy", "random"), blocks=4)
        await ann.watched(made.id)
    seats: set[str] = set()
    for message in far.remote.told:
        if message.HasField("match_started"):
            seats.add(message.match_started.match_id)
            assert len(seats) == 1
        elif message.HasField("match_over"):
            seats.remove(message.match_over.match_id)
    assert (await ann.get(made.id)).progress.games == 24


async def test_a_bot_that_comes_back_in_time_loses_nothing(start: Any) -> None:
    client = await start()
    ann = await caller(client)
    async with players(client, ann.key, "far", "near", max_seats=4) as (far, _):
        made = await ann.create(entrants=("far", "near"), blocks=8)
        for answers in (20, 60):
            await far.answered(answers)
            await far.leave()
            await far.come()  # within the ten seconds that a decision has
        await ann.watched(made.id)
    assert (await ann.get(made.id)).progress.games == 16
    assert not any(row.counts for row in (await ann.standings(made.id)).faults)


@pytest.mark.thorough
async def test_a_bot_that_stays_away_soon_has_lost_everything(start: Any) -> None:
    client = await start(bot_absence=0.0)
    ann = await caller(client)
    async with players(client, ann.key, "far", "near", max_seats=4) as (_, near):
        made = await ann.create(entrants=("far", "near", "greedy"), blocks=40, clock=SOON)
        await near.answered(20)
        await near.leave()
        await ann.watched(made.id)
    over = await ann.get(made.id)
    assert (over.state, over.progress.games) == (STATE.STATE_FINISHED, 240)
    causes = {
        row.bot: {one.cause: one.games for one in row.counts}
        for row in (await ann.standings(made.id)).faults
    }
    assert set(causes.pop("near@1.0.0")) <= {
        match_pb2.Fault.CAUSE_TIME,
        match_pb2.Fault.CAUSE_NO_SHOW,
    }
    games = await ann.games(made.id)
    lost = [game for game in games if game.HasField("fault")]
    assert {game.seats[game.fault.seat] for game in lost} >= {"near@1.0.0"}
    # Those that began when it was gone were over at once: no card of them was played.
    absent = [g for g in lost if g.fault.cause == match_pb2.Fault.CAUSE_NO_SHOW]
    assert any(not one["hands"][0]["plays"] for one in records_of(absent))
    promised = await listed(client)
    assert all(verify(read(game.record.decode()), promised).proven for game in games)


async def test_a_cancelled_tournament_calls_off_its_games_before_its_secret_is_told(
    start: Any,
) -> None:
    client = await start()
    ann = await caller(client)
    remote = await Remote(client, ann.key, max_seats=3).open()
    made = await ann.create(entrants=("far", "greedy"), blocks=LONG)
    started = {(await remote.next("match_started")).match_id for _ in range(3)}
    await ann.cancel(made.id)
    over = [await remote.next("match_over") for _ in range(3)]
    assert {one.match_id for one in over} == started
    assert {one.result.outcome for one in over} == {match_pb2.Result.OUTCOME_CANCELLED}
    assert not client.server.host.at_tables(made.id)
    assert await ann.games(made.id) == []
    # The bot is free for what comes next.
    made = await ann.create(entrants=("far", "random"), blocks=1)
    playing = asyncio.create_task(remote.play_out(2))
    await ann.watched(made.id)
    await playing
    remote.hang_up()


async def test_after_a_restart_every_game_goes_on_where_it_was(start: Any) -> None:
    client = await start()
    ann = await caller(client)
    async with players(client, ann.key, "far") as (far,):
        made = await ann.create(entrants=("far", "greedy", "random"), blocks=10)
        await read_until(ann.watch(made.id), counts)
        await far.answered(40)
        before = far.remote.told
        await stop(client)
    open_then = {live.game.id for live in client.server.host.at_tables(made.id)}
    assert open_then
    client = await start()
    again = await caller(client)
    async with players(client, ann.key, "far") as (far,):
        again.key = ann.key
        await again.watched(made.id)
        after = far.remote.told
    over = await again.get(made.id)
    assert (over.state, over.progress.games) == (STATE.STATE_FINISHED, 60)
    assert over.progress.lost_games == 0
    assert not any(row.counts for row in (await again.standings(made.id)).faults)
    records = {one["id"]: one for one in records_of(await again.games(made.id))}
    assert len(records) == 60
    played: dict[str, list[int]] = defaultdict(list)
    for message in before:
        if message.HasField("match_event") and message.match_event.event.HasField("card_played"):
            event = message.match_event
            played[event.match_id].append(event.event.card_played.play.card)
    ended = {one.match_over.match_id for one in before if one.HasField("match_over")}
    started = {one.match_started.match_id for one in after if one.HasField("match_started")}
    assert open_then <= started
    assert not ended & started
    for match_id, cards in played.items():
        plays = [hand["plays"].split() for hand in records[match_id]["hands"]]
        kept = [int(parse_card(card)) for hand in plays for card in hand]
        assert kept[: len(cards)] == cards
