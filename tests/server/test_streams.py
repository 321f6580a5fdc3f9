"""Streams: at once, in order, without a gap, and alike for every viewer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.server.conftest import Client, bearer
from tests.server.reading import ENDED, kinds, played, rest_of, take
from tests.server.tables import TABLES, Table, seat_all, until, watching

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.hand import Phase
from ronda_server import streams

HIGHEST = 2**64 - 1


# How a stream begins.


@pytest.mark.parametrize("after", [0, 10_000, HIGHEST])
async def test_a_stream_begins_with_a_view_at_zero_and_at_a_number_from_the_future(
    client: Client, after: int
) -> None:
    table = await seat_all(client)
    last = (await table.game()).sequence
    for viewer in (None, 0, 1):
        [first] = await take(table.watch(viewer, after), 1)
        assert first.view.sequence == last
        assert first.view.HasField("seat") == (viewer is not None)


async def test_a_stream_begins_with_a_view_at_a_number_that_is_too_old(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_RESUMABLE", 3)
    table = await seat_all(client)
    await table.step()
    last = (await table.game()).sequence
    [old] = await take(table.watch(after=last - 4), 1)
    [young] = await take(table.watch(after=last - 3), 1)
    assert old.view.sequence == last
    assert young.event.sequence == last - 2


async def test_a_stream_with_views_resumed_at_the_last_event_begins_with_the_view_of_it(
    client: Client,
) -> None:
    table = await seat_all(client)
    last = (await table.game()).sequence
    request = pb.WatchMatchRequest(match_id=table.id, after_sequence=last, include_views=True)
    stream = client.matches.WatchMatch(request, metadata=bearer(table.tokens[0]))
    [first] = await take(stream, 1)
    assert first.view.sequence == last
    await table.step()
    following = await take(stream, 2)
    assert kinds(following) == ["event", "view"]
    assert {one.event.sequence or one.view.sequence for one in following} == {last + 1}


async def test_a_stream_resumed_at_the_last_event_begins_with_a_heartbeat_at_once(
    client: Client,
) -> None:
    table = await seat_all(client)
    last = (await table.game()).sequence
    stream = table.watch(0, last)
    [first] = await take(stream, 1)
    assert first.heartbeat.sequence == last
    await table.step()
    [following] = await take(stream, 1)
    assert following.event.sequence == last + 1


async def test_a_stream_resumed_earlier_begins_with_the_next_event(client: Client) -> None:
    table = await seat_all(client)
    [first] = await take(table.watch(after=1), 1)
    assert first.event.sequence == 2
    assert first.event.WhichOneof("kind") == "seat_joined"


async def test_a_stream_of_a_match_that_nobody_has_joined_begins_with_its_seats(
    client: Client,
) -> None:
    table = Table(client, await client.create("open", "invited", "greedy", rules="cafe"))
    view = await client.view(table.id)
    assert view.phase == view_pb2.View.PHASE_WAITING
    assert [seat.kind for seat in view.seats] == [
        match_pb2.Seat.KIND_OPEN,
        match_pb2.Seat.KIND_INVITED,
        match_pb2.Seat.KIND_BOT,
    ]


async def test_every_message_says_when_it_was_sent_and_an_event_when_it_happened(
    start: Any,
) -> None:
    clock = [1_700_000_000_000_000]
    client = await start(now=lambda: clock[0])
    table = await seat_all(client)
    clock[0] += 5_250_000
    for message in await table.events():
        assert message.sent_time.ToMicroseconds() == clock[0]
        if message.HasField("event"):
            assert message.event.event_time.ToMicroseconds() == clock[0] - 5_250_000


# How it goes on.


async def test_a_heartbeat_comes_whenever_it_is_quiet(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.001)
    table = await seat_all(client)
    last = (await table.game()).sequence
    stream = table.watch()
    messages = await take(stream, 5)
    assert kinds(messages) == ["view", *["heartbeat"] * 4]
    assert {message.heartbeat.sequence for message in messages[1:]} == {last}
    await table.step()
    async with asyncio.timeout(10):
        while (message := await stream.read()).WhichOneof("update") == "heartbeat":
            assert message.heartbeat.sequence == last
    assert message.event.sequence == last + 1


def test_a_heartbeat_comes_after_ten_seconds_as_the_contract_says() -> None:
    assert streams.HEARTBEAT_SECONDS == 10.0


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_resuming_a_finished_match_anywhere_gives_exactly_what_is_missing(
    client: Client, rules: str, players: int
) -> None:
    table = await played(client, rules, players)
    last = (await table.game()).sequence
    whole = (await rest_of(table.watch(0, 1)))[:-1]
    assert [message.event.sequence for message in whole] == list(range(2, last + 1))
    for after in range(1, last):
        *events, end = await rest_of(table.watch(0, after))
        assert [message.event for message in events] == [
            message.event for message in whole[after - 1 :]
        ]
        assert (end.ended.reason, end.ended.sequence) == (ENDED.REASON_MATCH_OVER, last)
    assert kinds(await rest_of(table.watch(0, last))) == ["heartbeat", "ended"]
    assert kinds(await rest_of(table.watch(0, 0))) == ["view", "ended"]


@pytest.mark.parametrize("rules", ["playtash", "pagat"])
async def test_resuming_a_running_match_anywhere_gives_what_is_missing_and_then_what_comes(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules)
    for _ in range(20):
        await table.step()
    last = (await table.game()).sequence
    numbers = list(range(1, last))
    open_streams = [table.watch(None, after) for after in numbers]
    for after, stream in zip(numbers, open_streams, strict=True):
        messages = await take(stream, last - after)
        assert [message.event.sequence for message in messages] == list(range(after + 1, last + 1))
    await table.step()
    for stream in open_streams:
        [message] = await take(stream, 1)
        assert message.event.sequence == last + 1
        stream.cancel()


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_events_are_alike_and_gapless_for_all_but_for_the_cards_a_seat_is_dealt(
    client: Client, rules: str, players: int
) -> None:
    table = await played(client, rules, players)
    told = {viewer: await table.events(viewer) for viewer in (None, *range(players))}
    public = [message.event for message in told[None][:-1]]
    assert [event.sequence for event in public] == list(range(2, len(public) + 2))
    for seat in range(players):
        seen = [message.event for message in told[seat][:-1]]
        assert len(seen) == len(public)
        for mine, all_see in zip(seen, public, strict=True):
            if mine.HasField("cards_dealt"):
                hand = list(mine.cards_dealt.hand)
                assert len(hand) == 3
                assert hand == sorted(hand)
                assert not all_see.cards_dealt.hand
                mine.cards_dealt.ClearField("hand")
            assert mine == all_see


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_live_streams_of_all_viewers_bring_what_a_resumed_one_brings(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players, length=0 if rules == "arabic" else 1)
    viewers = (None, *range(players))
    live = [asyncio.create_task(rest_of(table.watch(viewer, 1))) for viewer in viewers]
    await until(lambda: watching(client) == len(viewers))
    await table.play_out()
    for viewer, task in zip(viewers, live, strict=True):
        again = await rest_of(table.watch(viewer, 1))
        assert [message.event for message in await task] == [message.event for message in again]


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_view_tells_what_the_events_came_to(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    for _ in range(30):
        await table.step()
        last = (await table.events(after=(await table.game()).sequence - 1))[-1].event
        view = await client.view(table.id)
        told = getattr(last, last.WhichOneof("kind") or "")
        assert view.sequence == last.sequence
        for field in ("scores", "pile_counts", "stock", "hand_sizes"):
            if field in told.DESCRIPTOR.fields_by_name:
                assert getattr(told, field) == getattr(view, field)
        if last.HasField("card_played"):
            assert told.play == view.last_play
            assert told.turn == view.turn
    assert view.HasField("turn") == (view.phase == view_pb2.View.PHASE_PLAY)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_view_of_a_seat_is_the_public_one_with_its_own_hand_in_order(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    for _ in range(20):
        hand = await table.hand()
        public = await client.view(table.id)
        assert not public.hand
        assert not public.HasField("seat")
        assert not public.may_declare
        for seat in range(players):
            own = await client.view(table.id, table.tokens[seat])
            assert list(own.hand) == sorted(hand.hands[seat])
            asked = hand.phase is Phase.DECLARE and hand.answers[seat] is None
            assert own.may_declare == (asked and hand.strengths[seat] > 0)
            for field in ("seat", "hand", "may_declare"):
                own.ClearField(field)
            assert own == public
        await table.step()


async def test_a_hand_that_leaves_nothing_on_the_table_names_nobody_who_got_it(
    client: Client,
) -> None:
    seen = set()
    async with asyncio.timeout(30):
        while seen != {True, False}:
            table = await seat_all(client, length=5)
            await table.play_out()
            for message in await table.events():
                if message.event.HasField("hand_ended"):
                    ended = message.event.hand_ended
                    assert ended.HasField("leftovers_side") == bool(ended.leftovers)
                    seen.add(bool(ended.leftovers))


async def test_forty_distinct_cards_come_of_every_hand(client: Client) -> None:
    table = await played(client, "playtash", 4)
    streams_of_seats = [await table.events(seat) for seat in range(4)]
    dealt = [
        card
        for messages in streams_of_seats
        for message in messages
        for card in message.event.cards_dealt.hand
    ]
    first = next(m.event.cards_dealt for m in streams_of_seats[0] if m.event.cards_dealt.table)
    assert sorted([*dealt, *first.table]) == list(range(1, 41))


async def test_views_are_sent_along_where_they_are_asked_for(client: Client) -> None:
    table = await seat_all(client)
    last = (await table.game()).sequence
    stream = table.watch(0, last, views=True)
    await take(stream, 1)
    while (await table.hand()).batch == 1:
        step = await table.step()
        events = []
        async with asyncio.timeout(10):
            while (message := await stream.read()).HasField("event"):
                events.append(message.event.sequence)
        assert events[0] == step.sequence
        assert message.view.sequence == events[-1]  # the view follows the last event of a step
        assert message.view.seat == 0
    assert len(events) == 2  # a play, and the deal that came of it
