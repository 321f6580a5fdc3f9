"""Remote bots play whole matches, and see what a person in their seat would see."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, stop
from tests.server.remotes import Admin, Remote, any_card
from tests.server.tables import DECLARING, TABLES, Table, until

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_bots.registry import Registry
from ronda_core.record import Record, read
from ronda_core.verify import verify


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


def length_of(rules: str) -> dict[str, int]:
    return {} if rules == "arabic" else {"length": 2}


async def record_of(table: Table) -> Record:
    got = await table.client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=table.id))
    record = read(got.record.decode())
    assert verify(record).proven, verify(record)
    return record


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_remote_bot_alone_plays_a_match_in_every_seat_to_a_proven_record(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create(*["far"] * players, rules=rules, **length_of(rules))
    over = await bot.play_out(players, any_card(1))
    assert sorted(one.seat for one in over) == list(range(players))
    record = await record_of(Table(client, created))
    assert record.fault is None
    assert record.seats == ("far@1.0.0",) * players
    assert record.isolation == ("remote",) * players
    assert {one.result.outcome for one in over} == {
        match_pb2.Result.Outcome.Value(f"OUTCOME_{record.outcome.upper()}")
    }
    assert bot.of("answer_rejected") == []


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_remote_bot_plays_against_hosted_bots(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    hosted = ["greedy", "careful", "random"][: players - 1]
    created = await client.create(*hosted, "far@1.0.0", rules=rules, **length_of(rules))
    [over] = await bot.play_out(1, any_card(2))
    record = await record_of(Table(client, created))
    assert record.fault is None
    assert over.seat == players - 1
    assert record.isolation == (*["trusted"] * (players - 1), "remote")


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_remote_bot_plays_against_persons(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create("far", *["open"] * (players - 1), rules=rules)
    table = Table(client, created)
    for seat in range(1, players):
        table.tokens[seat] = (await client.join(table.id, seat=seat)).seat_token

    async def persons() -> None:
        while not (game := await table.game()).over:
            waits = [seat for seat in game.waits_for if seat]
            if not waits:
                await moved(table, game.sequence)
                continue
            hand = await table.hand()
            if hand.answers and None in hand.answers:
                await table.declare(waits[0], hand.strengths[waits[0]] > 0)
            else:
                await table.play(waits[0], min(hand.hands[waits[0]]))

    _, [over] = await asyncio.gather(persons(), bot.play_out(1))
    record = await record_of(table)
    assert record.fault is None
    assert list(record.score) == list(over.result.scores)
    assert record.isolation == ("remote", *["person"] * (players - 1))


async def moved(table: Table, sequence: int) -> None:
    """Wait until something has happened after `sequence`."""
    live = await table.client.server.host.find(table.id)
    await until(lambda: live.game.sequence > sequence)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_decision_shows_the_very_bytes_that_a_person_in_that_seat_is_shown(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create(*["far"] * players, rules=rules, **length_of(rules))
    live = await client.server.host.find(created.match.id)
    phases = set()
    over = 0
    while over < players:
        message = await bot.read()
        over += message.WhichOneof("message") == "match_over"
        if message.WhichOneof("message") != "decision":
            continue
        decision = message.decision
        seen = decision.view
        if seen.sequence == live.audience.last:  # else another seat has declared meanwhile
            stream = live.audience.watch(decision.seat, 0, False)
            first = matches_pb.WatchMatchResponse.FromString(await anext(stream))
            await stream.aclose()
            assert first.view == seen
            assert first.view.SerializeToString() == seen.SerializeToString()
            phases.add(seen.phase)
        assert seen.seat == decision.seat
        assert seen.match_id == decision.match_id
        await bot.decide(decision, any_card(3))
    assert view_pb2.View.PHASE_PLAY in phases
    assert (view_pb2.View.PHASE_DECLARE in phases) == (rules in DECLARING)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_bot_is_told_the_events_that_its_seat_is_told_by_watching(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create(*["far"] * players, rules=rules, **length_of(rules))
    await bot.play_out(players)
    live = await client.server.host.find(created.match.id)
    for seat in range(players):
        told = [one.event for one in bot.of("match_event") if one.seat == seat]
        assert [one.sequence for one in told] == list(range(1, live.audience.last + 1))
        assert [one.SerializeToString() for one in told] == [
            live.audience.event(number, seat) for number in range(1, live.audience.last + 1)
        ]
        own = {one.sequence: set(one.cards_dealt.hand) for one in told}
        for other in bot.of("match_event"):
            if other.seat != seat:
                assert own[other.event.sequence].isdisjoint(other.event.cards_dealt.hand)


async def test_a_bot_without_events_is_told_none(client: Client, key: str) -> None:
    bot = await Remote(client, key, without_events=True).open()
    await client.create("far", "greedy", rules="arabic")
    await bot.play_out()
    assert bot.of("match_event") == []
    assert len(bot.of("decision")) == 18


async def test_a_bot_is_told_who_plays_by_which_settings_and_its_own_chance(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    clock = match_pb2.Clock(per_decision=Duration(seconds=30))
    created = await client.create("greedy", "far", rules="pagat", clock=clock)
    started = await bot.next("match_started")
    live = await client.server.host.find(created.match.id)
    assert live.game.dealer
    assert (started.match_id, started.seat) == (created.match.id, 1)
    assert started.settings == created.match.settings
    assert list(started.identities) == ["greedy@1.0.0", "far@1.0.0"]
    assert int.from_bytes(started.chance, "big") == live.game.dealer.bot_seed(1)
    assert len(started.chance) == 32


async def test_a_decision_tells_its_deadline_its_bank_and_the_last_round_trip(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    clock = match_pb2.Clock(per_decision=Duration(seconds=30))
    await client.create("far", "far", clock=clock)
    first = await bot.next("decision")
    assert first.HasField("remaining_bank")
    assert first.remaining_bank == Duration()
    assert not first.HasField("last_round_trip")
    late = first.deadline.ToMicroseconds() - first.view.deadline.ToMicroseconds()
    assert 0 <= late < 30_000_000  # what the storage took is not the bot's
    await bot.decide(first)
    second = await bot.next("decision")
    sent = bot.told[-1].sent_time.ToMicroseconds()
    assert 0 < second.last_round_trip.ToMicroseconds() < 30_000_000
    assert second.decision_id != first.decision_id
    assert sent < second.deadline.ToMicroseconds() <= sent + 30_000_000


async def test_many_matches_at_once_on_one_stream(client: Client, key: str) -> None:
    bot = await Remote(client, key, max_seats=24).open()
    for _ in range(12):
        await client.create("far", "far", rules="arabic")
    over = await bot.play_out(24, any_card(4))
    assert len({one.match_id for one in over}) == 12
    assert all(one.result.outcome == match_pb2.Result.OUTCOME_HAND for one in over)


async def test_a_ready_bot_is_listed_and_one_that_is_not_ready_is_not(
    client: Client, key: str
) -> None:
    async def listed() -> list[pb.Bot]:
        found = await client.bots.ListBots(pb.ListBotsRequest())
        return [bot for bot in found.bots if bot.remote]

    bot = await Remote(client, key, description="Plays low.").open(ready=False)
    assert await listed() == []
    await bot.be_ready()
    assert await listed() == [
        pb.Bot(name="far", version="1.0.0", description="Plays low.", remote=True)
    ]
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    assert await listed() == []


async def test_names_and_versions_are_listed_in_order_page_by_page(
    client: Client, key: str, registry: Registry
) -> None:
    for version in ("1.10", "1.9", "2.0", "2.0rc1"):
        await Remote(client, key, name="dune", version=version).open()
    identities, token = [], ""
    while True:
        page = await client.bots.ListBots(pb.ListBotsRequest(page_size=2, page_token=token))
        identities += [f"{bot.name}@{bot.version}" for bot in page.bots]
        token = page.next_page_token
        if not token:
            break
    dune = ["dune@1.9", "dune@1.10", "dune@2.0rc1", "dune@2.0"]
    installed = [bot.identity for bot in registry.bots]
    before = sum(name < "dune" for name in installed)
    assert identities == [*installed[:before], *dune, *installed[before:]]
    created = await client.create("dune", "greedy")
    assert created.match.seats[0].identity == "dune@2.0"


async def test_what_a_remote_bot_decides_waits_as_long_as_any_bot_does(
    start: Any, admin: Admin, key: str
) -> None:
    await stop(admin.client)
    client: Client = await start(bot_delay=60.0)
    bot = await Remote(client, key).open()
    clock = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))
    created = await client.create("far", "far", rules="arabic", clock=clock)
    live = await client.server.host.find(created.match.id)
    decision = await bot.next("decision")
    opened = live.game.opened
    await bot.decide(decision)
    await bot.decide(decision)
    rejected = await bot.next("answer_rejected")  # the first has been taken, and waits
    assert rejected.reason == pb.AnswerRejected.REASON_ALREADY_ANSWERED
    await client.server.host._expire(live)  # its time is up meanwhile: nobody is late
    assert (live.game.opened, live.game.over) == (opened, False)
    await stop(client)  # it waits for no delay
    again: Client = await start(bot_delay=0.001)
    back = await Remote(again, key).open()
    assert (await back.next("decision")).decision_id == decision.decision_id
    await back.decide(back.of("decision")[0])
    over = await back.play_out(2)
    assert {one.result.outcome for one in over} == {match_pb2.Result.OUTCOME_HAND}


async def test_no_bot_of_the_server_is_late_by_the_delay(start: Any) -> None:
    client: Client = await start(bot_delay=0.15)
    clock = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))
    created = await client.create("greedy", "random", rules="arabic", clock=clock)
    live = await client.server.host.find(created.match.id)
    begun = live.game.sequence
    await until(lambda: live.game.over or live.game.sequence >= begun + 2)
    assert not live.game.over
