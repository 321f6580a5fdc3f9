"""Streams: at once, in order, without a gap, alike for every viewer, and with a reason to end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, bearer, request_id, stop
from tests.server.tables import TABLES, Table, refused, seat_all, until, watching

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.cards import TEXT
from ronda_core.hand import Phase
from ronda_server import fold, streams
from ronda_server import game as games
from ronda_server.errors import Reason
from ronda_server.facts import Fact
from ronda_server.game import Happened
from ronda_server.metrics import Metrics
from ronda_server.streams import Audience

ENDED = pb.StreamEnded
HIGHEST = 2**64 - 1


def kinds(messages: list[pb.WatchMatchResponse]) -> list[str | None]:
    """Return what each message brings."""
    return [message.WhichOneof("update") for message in messages]


async def take(stream: Any, count: int) -> list[pb.WatchMatchResponse]:
    """Return the next messages of a stream."""
    async with asyncio.timeout(10):
        return [await stream.read() for _ in range(count)]


async def rest_of(stream: Any) -> list[pb.WatchMatchResponse]:
    """Return what a stream still brings, to its end."""
    messages: list[pb.WatchMatchResponse] = []
    async with asyncio.timeout(10):
        while (message := await stream.read()) is not grpc.aio.EOF:
            messages.append(message)
    return messages


async def played(client: Client, rules: str = "arabic", players: int = 2) -> Table:
    """Return a match that was played to its end."""
    table = await seat_all(client, rules, players, length=0 if rules == "arabic" else 1)
    await table.play_out()
    return table


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


# Slow readers, on the audience itself: no network stands between.


class Stage:
    """A match that runs without a server, and its audience."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.audience = Audience(lambda: 0, self.metrics)
        seats = [{"kind": games.OPEN}] * 2
        data = {
            "rules": "arabic",
            "target": 0,
            "length": 0,
            "per_decision": 0,
            "visibility": "public",
            "owner": "00",
            "seats": seats,
        }
        fact = Fact(1, 0, "created", data)
        self.game, happened = fold.create("m-1", fact, "0" * 64, b"m" * 32)
        self.tell(happened)
        for seat in range(2):
            joined = {"seat": seat, "identity": f"p{seat}", "name": "", "digest": "00"}
            self.tell(fold.apply(self.game, "joined", joined | {"commitment": ""}, 0))

    def tell(self, happened: list[Happened]) -> None:
        """Make something that happened known."""
        self.audience.add(games.copy(self.game), happened)

    def play(self, times: int = 1) -> None:
        """Play the lowest card, some times."""
        for _ in range(times):
            assert self.game.match
            hand = self.game.match.hand
            assert hand
            data = {"seat": hand.turn, "card": TEXT[min(hand.hands[hand.turn])]}
            self.tell(fold.apply(self.game, "played", data, 0))


async def read(stream: AsyncIterator[bytes], count: int = 1) -> list[pb.WatchMatchResponse]:
    """Return the next messages of a stream without a network."""
    return [pb.WatchMatchResponse.FromString(await anext(stream)) for _ in range(count)]


async def test_a_reader_that_is_a_little_behind_gets_every_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stream = stage.audience.watch(None, 0, False)
    await read(stream)
    last = stage.audience.last
    stage.play(5)
    behind = stage.audience.last - last
    assert behind <= 8
    messages = await read(stream, behind)
    assert [m.event.sequence for m in messages] == list(range(last + 1, last + behind + 1))
    assert stage.metrics.resyncs._value.get() == 0


@pytest.mark.parametrize("seat", [None, 0, 1])
async def test_a_reader_that_is_far_behind_gets_one_view_for_what_it_missed(
    monkeypatch: pytest.MonkeyPatch, seat: int | None
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stream = stage.audience.watch(seat, 0, False)
    await read(stream)
    stage.play(12)
    [message] = await read(stream)
    assert message.view.sequence == stage.audience.last
    assert message.view.HasField("seat") == (seat is not None)
    assert stage.metrics.resyncs._value.get() == 1
    stage.play()
    [following] = await read(stream)
    assert following.event.sequence == message.view.sequence + 1


async def test_a_reader_that_resumes_from_far_back_gets_what_it_asked_for_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stage.play(20)
    last = stage.audience.last
    stream = stage.audience.watch(None, 1, False)
    messages = await read(stream, last - 1)
    assert [m.event.sequence for m in messages] == list(range(2, last + 1))
    assert stage.metrics.resyncs._value.get() == 0


async def test_numbers_never_go_back_whatever_a_reader_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 4)
    stage = Stage()
    stream = stage.audience.watch(0, 0, True)
    at = (await read(stream))[0].view.sequence
    for burst in (1, 7, 2, 3, 9, 1, 1, 8):
        stage.play(burst)
        while at < stage.audience.last:
            [message] = await read(stream)
            kind = message.WhichOneof("update")
            number = getattr(message, kind or "").sequence
            assert number == at + 1 if kind == "event" else number == stage.audience.last
            at = number
        [message] = await read(stream) if kind == "event" else [message]
        assert message.view.sequence == at


async def test_nothing_grows_with_a_reader_that_never_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    idle = [stage.audience.watch(None, 0, False) for _ in range(3)]
    for stream in idle:
        await read(stream)
    stage.play(30)
    assert not stage.audience._frames, "frames are made for those who read them"


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
