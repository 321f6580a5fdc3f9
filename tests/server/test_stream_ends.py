"""How a stream ends, who may open one, and what is left when its reader leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, bearer, request_id, stop
from tests.server.reading import ENDED, kinds, played, rest_of, take
from tests.server.tables import TABLES, Table, refused, seat_all, until, watching

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_server.errors import Reason

# How it ends.


async def test_a_second_stream_of_a_seat_takes_over_and_the_first_is_told(client: Client) -> None:
    table = await seat_all(client)
    last = (await table.game()).sequence
    first = table.watch(0)
    other, public = table.watch(1), table.watch()
    for stream in (first, other, public):
        await take(stream, 1)
    second = table.watch(0)
    await take(second, 1)
    [end] = await rest_of(first)
    assert (end.ended.reason, end.ended.sequence) == (ENDED.REASON_TAKEN_OVER, last)
    await table.step()
    for stream in (second, other, public):
        [message] = await take(stream, 1)
        assert message.event.sequence == last + 1
    assert watching(client) == 3


async def test_a_chain_of_streams_of_a_seat_leaves_the_last_one(client: Client) -> None:
    table = await seat_all(client)
    chain = []
    for _ in range(10):
        chain.append(table.watch(0))
        await take(chain[-1], 1)
    for stream in chain[:-1]:
        assert [m.ended.reason for m in await rest_of(stream)] == [ENDED.REASON_TAKEN_OVER]
    await table.step()
    [message] = await take(chain[-1], 1)
    assert message.HasField("event")
    assert watching(client) == 1


async def test_streams_without_a_seat_do_not_take_over_from_each_other(client: Client) -> None:
    table = await seat_all(client)
    many = [table.watch(token) for token in (None, None, table.owner, table.owner)]
    for stream in many:
        await take(stream, 1)
    await table.step()
    for stream in many:
        assert kinds(await take(stream, 1)) == ["event"]


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_stream_ends_with_the_match_and_says_so_after_its_last_event(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    stream = table.watch(0)
    await take(stream, 1)
    await table.act("Resign", 1)
    *_, last, end = await rest_of(stream)
    assert last.event.WhichOneof("kind") == "match_ended"
    assert (end.ended.reason, end.ended.sequence) == (
        ENDED.REASON_MATCH_OVER,
        last.event.sequence,
    )


async def test_a_stream_opened_after_the_end_shows_the_result_and_not_a_live_table(
    client: Client,
) -> None:
    table = await played(client)
    for viewer in (None, 0, 1):
        view, end = await rest_of(table.watch(viewer))
        assert view.view.phase == view_pb2.View.PHASE_OVER
        assert view.view.result == (await table.match()).result
        assert not view.view.HasField("turn")
        assert not view.view.HasField("deadline")
        assert end.ended.reason == ENDED.REASON_MATCH_OVER


async def test_a_drain_ends_every_stream_with_where_to_resume_and_the_next_server_goes_on(
    start: Any,
) -> None:
    before = await start()
    table = await seat_all(before, "cafe", 3)
    await table.answer_all()
    await table.step()
    last = (await table.game()).sequence
    viewers = (None, 0, 1, 2)
    open_streams = [table.watch(viewer, last - 2) for viewer in viewers]
    for stream in open_streams:
        await take(stream, 2)
    stopping = asyncio.create_task(stop(before))
    for stream in open_streams:
        [end] = await rest_of(stream)
        assert (end.ended.reason, end.ended.sequence) == (ENDED.REASON_DRAINING, last)
    await stopping
    again = table.again(await start())
    resumed = [again.watch(viewer, last) for viewer in viewers]
    for stream in resumed:
        assert kinds(await take(stream, 1)) == ["heartbeat"]
    step = await again.step()
    for stream in resumed:
        [message] = await take(stream, 1)
        assert message.event.sequence == step.sequence == last + 1


async def test_what_was_streamed_before_a_restart_is_streamed_the_same_after_it(
    start: Any,
) -> None:
    before = await start()
    running = await seat_all(before, "pagat")
    for _ in range(15):
        await running.step()
    over = await played(before, "playtash")
    cancelled = await seat_all(before)
    await cancelled.act("CancelMatch", cancelled.owner)
    tables = (running, over, cancelled)
    told = [[m.event for m in await table.events(0)] for table in tables]
    await stop(before)
    after = await start()
    for table, events in zip(tables, told, strict=True):
        assert [m.event for m in await table.again(after).events(0)] == events


async def test_a_command_that_finds_the_server_draining_is_refused_and_known_ones_are_answered(
    client: Client,
) -> None:
    table = await seat_all(client)
    turn, held = await table.turn()
    fields = {
        "card": held[0],
        "expected_sequence": (await table.game()).sequence,
        "request_id": request_id(),
    }
    first = await table.act("PlayCard", turn, **fields)
    client.server.host.drain()
    assert await table.act("PlayCard", turn, **fields) == first
    with refused(Reason.DRAINING):
        await table.step()
    with refused(Reason.DRAINING):
        await client.create("open", "open")
    assert kinds(await rest_of(table.watch(0, first.sequence))) == ["heartbeat", "ended"]


# Who may watch what.


@pytest.mark.parametrize("visibility", ["PUBLIC", "UNLISTED", "PRIVATE"])
async def test_a_match_is_shown_to_whom_its_visibility_says(
    client: Client, visibility: str
) -> None:
    other = await seat_all(client)
    created = await client.create(
        "open", "invited", visibility=getattr(match_pb2, f"VISIBILITY_{visibility}")
    )
    table = Table(client, created)
    table.tokens[0] = (await client.join(table.id, table.owner)).seat_token
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    ids = [match.id for match in listed.matches]
    assert (table.id in ids) == (visibility == "PUBLIC")
    for token in (table.owner, table.tokens[0], table.invitations[1]):
        assert (await client.view(table.id, token)).match_id == table.id
        assert (await table.match(token)).id == table.id
    for token in ("", other.owner, other.tokens[0], "rnd_s_" + "A" * 43):
        if visibility == "PRIVATE":
            for method in ("GetMatch", "GetRecord"):
                request = getattr(pb, f"{method}Request")(match_id=table.id)
                with refused(Reason.MATCH_NOT_FOUND):
                    await getattr(client.matches, method)(request, metadata=bearer(token))
            with refused(Reason.MATCH_NOT_FOUND):
                await table.watch(token).read()
        elif not token:
            assert (await client.view(table.id)).match_id == table.id


async def test_a_match_that_is_not_found_cannot_be_told_from_one_that_is_not_yours(
    client: Client,
) -> None:
    created = await client.create("open", "open", visibility=match_pb2.VISIBILITY_PRIVATE)
    answers = []
    for match_id in (created.match.id, "m-nosuchmatch"):
        with refused(Reason.MATCH_NOT_FOUND) as refusal:
            await client.matches.GetMatch(pb.GetMatchRequest(match_id=match_id))
        answers.append((refusal.error.details(), refusal.status))
    assert answers[0] == answers[1]


async def test_only_the_token_of_a_seat_shows_a_hand(client: Client) -> None:
    created = await client.create("open", "invited")
    table = Table(client, created)
    table.tokens[0] = (await client.join(table.id)).seat_token
    table.tokens[1] = (await client.join(table.id, table.invitations[1])).seat_token
    for token in ("", table.owner, table.invitations[1]):
        view = await client.view(table.id, token)
        assert not view.hand
        assert not view.HasField("seat")
    for seat in (0, 1):
        assert len((await client.view(table.id, table.tokens[seat])).hand) == 3


# Leaving.


async def test_a_watcher_that_leaves_frees_its_place(client: Client) -> None:
    table = await seat_all(client)
    idle = [table.watch(viewer) for viewer in (None, None, 0, 1)]
    for stream in idle:
        await take(stream, 1)
    assert watching(client) == 4
    for stream in idle:
        stream.cancel()
    await until(lambda: watching(client) == 0)
    audience = (await client.server.host.find(table.id)).audience
    assert not audience._watchers
    assert not audience._by_seat


async def test_a_watcher_that_leaves_while_it_is_being_told_frees_its_place(
    client: Client,
) -> None:
    table = await played(client)
    running = await seat_all(client, "arabic")
    busy = [running.watch(None, 1) for _ in range(5)] + [table.watch(None, 1) for _ in range(5)]
    for stream in busy:
        await take(stream, 1)
    leaving = asyncio.create_task(running.play_out())
    for stream in busy:
        stream.cancel()
        await asyncio.sleep(0)  # a turn of the loop
    await leaving
    await until(lambda: watching(client) == 0)


async def test_two_hundred_streams_opened_and_cancelled_leave_no_watcher_and_no_task(
    client: Client,
) -> None:
    table = await seat_all(client)
    await take(table.watch(), 1)
    await until(lambda: watching(client) <= 1)
    tasks = len(asyncio.all_tasks())
    for turn in range(200):
        stream = table.watch((None, 0, 1)[turn % 3])
        if turn % 2:
            await take(stream, 1)
        stream.cancel()
    await until(lambda: watching(client) <= 1)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    await table.step()


async def test_a_seat_whose_stream_is_cut_plays_on_and_sees_all_of_its_table_again(
    client: Client,
) -> None:
    table = await seat_all(client, "arabic")
    stream = table.watch(0)
    await take(stream, 1)
    for _ in range(9):
        await table.step()
    stream.cancel()
    await until(lambda: watching(client) == 0)
    view = await client.view(table.id, table.tokens[0])
    hand = await table.hand()
    assert list(view.hand) == sorted(hand.hands[0])
    assert sorted(view.table) == sorted(card for card in hand.table if card)
    assert sorted(view.pack) == sorted(hand.pack)
    assert list(view.plays) == hand.plays
    await table.step()


async def test_a_seat_that_comes_back_to_the_lobby_sees_who_sits_there_by_now(
    client: Client,
) -> None:
    table = Table(client, await client.create("open", "open", "open", rules="cafe"))
    table.tokens[0] = (await client.join(table.id, name="Fatima")).seat_token
    stream = table.watch(0)
    [first] = await take(stream, 1)
    stream.cancel()
    await client.join(table.id, name="Zineb")
    [following] = await take(table.watch(0, first.view.sequence), 1)
    assert following.event.seat_joined.name == "Zineb"
    view = await client.view(table.id, table.tokens[0])
    assert [seat.name for seat in view.seats] == ["Fatima", "Zineb", ""]
    assert view.seat == 0


async def test_a_player_who_cuts_the_line_loses_and_the_result_is_kept(client: Client) -> None:
    clock = match_pb2.Clock()
    clock.per_decision.FromMilliseconds(100)
    table = await seat_all(client, clock=clock)
    turn, _ = await table.turn()
    async with grpc.aio.insecure_channel(client.server.addresses["listen"]) as channel:
        await take(table.again(Client(client.server, channel)).watch(turn), 1)
    *_, last, end = await rest_of(table.watch(1 - turn, 1))
    assert end.ended.reason == ENDED.REASON_MATCH_OVER
    assert last.event.match_ended.result.winner == 1 - turn
    assert (await table.match()).state == match_pb2.Match.STATE_FINISHED


async def test_every_message_that_opens_a_decision_says_whose_it_is(client: Client) -> None:
    for rules in ("playtash", "cafe"):
        table = await played(client, rules)
        told = [message.event for message in await table.events()]
        for at, event in enumerate(told):
            kind = event.WhichOneof("kind") or ""
            after = told[at + 1].WhichOneof("kind") if at + 1 < len(told) else None
            if after == "card_played":
                assert getattr(event, kind).turn == told[at + 1].card_played.play.seat
                assert getattr(event, kind).HasField("turn")
            elif kind in ("card_played", "cards_dealt"):
                assert not getattr(event, kind).HasField("turn")


async def test_a_channel_that_is_lost_frees_all_its_streams(client: Client) -> None:
    table = await seat_all(client)
    channel = grpc.aio.insecure_channel(client.server.addresses["listen"])
    other = Client(client.server, channel)
    mine = table.again(other)
    for viewer in (None, None, 0):
        await take(mine.watch(viewer), 1)
    assert watching(client) == 3
    await channel.close()
    await until(lambda: watching(client) == 0)
    await table.step()
