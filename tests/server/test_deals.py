"""Deals of hosted matches, whoever adds to them, and clocks: who is late, and what follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, stop
from tests.server.tables import (
    DECLARING,
    SILENT,
    TABLES,
    Table,
    refused,
    seat_all,
    unchanged,
    until,
)

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core import fair
from ronda_core.record import Record, read
from ronda_core.verify import verify
from ronda_server import deadlines
from ronda_server.errors import Reason

Fault = match_pb2.Fault
TENTH = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))
MINUTE = match_pb2.Clock(per_decision=Duration(seconds=60))
SECOND = 1_000_000


class WallClock:
    """A clock that stands still until it is told otherwise."""

    def __init__(self) -> None:
        self.micros = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.micros


@pytest.fixture
def clock() -> WallClock:
    """Return a clock for a server."""
    return WallClock()


def entropy_of(seat: int) -> bytes:
    """Return what a seat adds to the deals."""
    return bytes([seat]) * (16 + 16 * seat)


async def contributing(client: Client, rules: str, players: int, *seats: int) -> Table:
    """Return a match whose `seats` have committed to their entropy; all are taken."""
    length = 0 if rules == "arabic" else 1
    created = await client.create(*["open"] * players, rules=rules, length=length)
    table = Table(client, created)
    for seat in range(players):
        commitment = ""
        if seat in seats:
            commitment = fair.client_commitment(entropy_of(seat), table.id, seat)
        joined = await client.join(table.id, seat=seat, client_commitment=commitment)
        table.tokens[seat] = joined.seat_token
    return table


async def record_of(table: Table) -> Record:
    """Return the record of a match, proven."""
    got = await table.client.matches.GetRecord(
        pb.GetRecordRequest(match_id=table.id),
        metadata=(("authorization", f"Bearer {table.owner}"),),
    )
    record = read(got.record.decode())
    verdict = verify(record)
    assert verdict.proven, verdict
    return record


async def result_of(table: Table) -> match_pb2.Result:
    """Wait until a match is over and return how it ended."""
    stream = table.watch(None, 1)
    while (message := await stream.read()) is not grpc.aio.EOF:
        last = message
    assert last.ended.reason == pb.StreamEnded.REASON_MATCH_OVER
    result: match_pb2.Result = (await table.match()).result
    return result


# Deals.


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_no_card_exists_until_the_last_seat_has_given_its_entropy(
    client: Client, rules: str, players: int
) -> None:
    table = await contributing(client, rules, players, *range(players))
    for seat in reversed(range(players)):
        view = await client.view(table.id, table.tokens[seat])
        assert view.phase == view_pb2.View.PHASE_WAITING
        assert not view.hand
        assert [one.ready for one in view.seats] == [at > seat for at in range(players)]
        assert (await table.game()).dealer is None
        await table.act("ReadySeat", seat, entropy=entropy_of(seat))
    kinds = [message.event.WhichOneof("kind") for message in await table.events()]
    assert kinds == ["seat_joined"] * players + ["seat_ready"] * players + ["cards_dealt"]
    assert (await table.match()).state == match_pb2.Match.STATE_RUNNING


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_the_record_proves_deals_to_which_every_seat_added(
    client: Client, rules: str, players: int
) -> None:
    table = await contributing(client, rules, players, *range(players))
    for seat in range(players):
        await table.act("ReadySeat", seat, entropy=entropy_of(seat))
    await table.play_out()
    record = await record_of(table)
    assert record.fair
    assert [entry.entropy for entry in record.fair.entries] == [
        entropy_of(seat) for seat in range(players)
    ]
    assert [entry.identity for entry in record.fair.entries] == list(record.seats)


@pytest.mark.parametrize("contributor", [0, 1])
async def test_one_seat_that_adds_entropy_is_waited_for_and_the_other_adds_none(
    client: Client, contributor: int
) -> None:
    table = await contributing(client, "arabic", 2, contributor)
    assert (await table.match()).state == match_pb2.Match.STATE_WAITING
    await table.act("ReadySeat", contributor, entropy=entropy_of(contributor))
    await table.play_out()
    record = await record_of(table)
    assert record.fair
    told = [entry.entropy for entry in record.fair.entries]
    assert told[contributor] == entropy_of(contributor)
    assert told[1 - contributor] == b""


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_without_entropy_a_match_is_dealt_when_its_last_seat_is_taken(
    client: Client, rules: str, players: int
) -> None:
    table = Table(client, await client.create(*["open"] * players, rules=rules))
    for seat in range(players):
        assert (await table.match()).state == match_pb2.Match.STATE_WAITING
        table.tokens[seat] = (await client.join(table.id)).seat_token
    assert (await table.match()).state == match_pb2.Match.STATE_RUNNING


async def test_every_deck_and_the_first_dealer_follow_from_the_master_and_the_entropies(
    client: Client,
) -> None:
    created = await client.create("open", "open", "open", rules="cafe", length=3)
    table = Table(client, created)
    for seat in range(3):
        commitment = fair.client_commitment(entropy_of(seat), table.id, seat)
        joined = await client.join(table.id, seat=seat, client_commitment=commitment)
        table.tokens[seat] = joined.seat_token
    for seat in range(3):
        await table.act("ReadySeat", seat, entropy=entropy_of(seat))
    await table.play_out()
    record = await record_of(table)
    assert record.fair
    assert record.fair.master
    dealer = fair.Dealer(record.fair.master, table.id, record.fair.entries, 3)
    first = dealer.first_dealer()
    for number, hand in enumerate(record.hands, 1):
        assert hand.dealer == (first + number - 1) % 3
        assert hand.deck == dealer.deck(number)
    assert len({hand.deck for hand in record.hands}) == 3


async def test_two_matches_of_the_same_people_are_dealt_differently(client: Client) -> None:
    decks = set()
    for _ in range(5):
        table = await seat_all(client)
        decks.add((await table.hand()).deck)
    assert len(decks) == 5


# Who does not come.


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_seat_that_is_not_ready_in_time_is_a_no_show(
    client: Client, rules: str, players: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadlines, "READY_MICROS", 1)
    table = await contributing(client, rules, players, 1)
    result = await result_of(table)
    assert result.outcome == match_pb2.Result.OUTCOME_FORFEIT
    assert (result.fault.seat, result.fault.cause) == (1, Fault.CAUSE_NO_SHOW)
    assert result.HasField("winner") == (players != 3)
    assert (await table.match()).state == match_pb2.Match.STATE_FINISHED
    view = await client.view(table.id, table.tokens[0])
    assert not view.hand
    record = await record_of(table)
    assert not record.hands
    assert record.fault
    assert record.fault.cause == "no_show"


async def test_a_match_that_waits_for_seats_waits_for_a_day_and_then_for_entropy(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = Table(client, await client.create("open", "open"))
    created = clock.micros
    commitment = fair.client_commitment(entropy_of(0), table.id, 0)
    await client.join(table.id, seat=0, client_commitment=commitment)
    clock.micros += 86_399 * SECOND
    assert deadlines.due(await table.game()) == created + 86_400 * SECOND
    await client.join(table.id)
    assert deadlines.due(await table.game()) == clock.micros + deadlines.READY_MICROS


async def test_a_match_that_nobody_fills_is_cancelled_after_a_day(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = Table(client, await client.create("open", "open"))
    await client.join(table.id, seat=0)
    clock.micros += deadlines.PATIENCE_MICROS
    with refused(Reason.MATCH_OVER):
        await client.join(table.id)
    assert (await table.match()).state == match_pb2.Match.STATE_CANCELLED


async def test_entropy_given_before_every_seat_is_taken_is_refused(client: Client) -> None:
    table = Table(client, await client.create("open", "open"))
    commitment = fair.client_commitment(entropy_of(0), table.id, 0)
    joined = await client.join(table.id, seat=0, client_commitment=commitment)
    table.tokens[0] = joined.seat_token
    async with unchanged(table):
        with refused(Reason.SEATS_OPEN):
            await table.act("ReadySeat", 0, entropy=entropy_of(0))


async def test_a_deadline_to_be_ready_is_moved_by_nobody(start: Any, clock: WallClock) -> None:
    client = await start(now=clock)
    table = await contributing(client, "cafe", 3, 0, 1)
    deadline = clock.micros + deadlines.READY_MICROS
    clock.micros += 50 * SECOND
    await table.act("ReadySeat", 0, entropy=entropy_of(0))
    await table.act("CancelMatch", 1)
    assert deadlines.due(await table.game()) == deadline
    clock.micros = deadline - 1
    await table.act("ReadySeat", 1, entropy=entropy_of(1))
    assert (await table.match()).state == match_pb2.Match.STATE_RUNNING
    assert deadlines.due(await table.game()) == clock.micros + deadlines.PATIENCE_MICROS


async def test_entropy_that_comes_too_late_finds_the_match_over(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await contributing(client, "arabic", 2, 0)
    clock.micros += deadlines.READY_MICROS
    with refused(Reason.MATCH_OVER):
        await table.act("ReadySeat", 0, entropy=entropy_of(0))
    assert (await result_of(table)).fault.cause == Fault.CAUSE_NO_SHOW


async def test_a_no_show_is_judged_by_the_next_server_if_the_first_is_gone(
    start: Any, clock: WallClock
) -> None:
    before = await start(now=clock)
    table = await contributing(before, "arabic", 2, 0)
    await stop(before)
    clock.micros += deadlines.READY_MICROS
    after = await start(now=clock)
    again = table.again(after)
    live = await after.server.host.find(table.id)
    await after.server.host._expire(live)
    assert not live.game.over  # a server that comes back lets ten seconds pass
    clock.micros += 10 * SECOND
    await after.server.host._expire(live)
    assert (await result_of(again)).fault.cause == Fault.CAUSE_NO_SHOW


# Who is late.


@pytest.mark.parametrize("rules", SILENT)
async def test_a_seat_that_does_not_play_in_time_forfeits_by_time(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules, clock=TENTH)
    turn, _ = await table.turn()
    result = await result_of(table)
    assert result.outcome == match_pb2.Result.OUTCOME_FORFEIT
    assert (result.fault.seat, result.fault.cause) == (turn, Fault.CAUSE_TIME)
    assert result.winner == 1 - turn
    record = await record_of(table)
    assert record.clock == {"per_decision": 0.1}


@pytest.mark.parametrize("rules", DECLARING)
@pytest.mark.parametrize("players", [2, 3, 4])
async def test_a_seat_that_does_not_answer_in_time_declares_nothing_and_the_match_goes_on(
    start: Any, clock: WallClock, rules: str, players: int
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, rules, players, clock=MINUTE)
    await table.declare(1, False)
    game = await table.game()
    clock.micros += 60 * SECOND
    await client.server.host._expire(await client.server.host.find(table.id))
    told = [message.event for message in await table.events(after=game.sequence)]
    *answers, revealed = told
    assert [one.declaration_answered.seat for one in answers] == [0, *range(2, players)]
    assert not revealed.declarations_revealed.declarations
    view = await client.view(table.id)
    assert view.phase == view_pb2.View.PHASE_PLAY
    assert view.deadline.ToMicroseconds() == clock.micros + 60 * SECOND


@pytest.mark.parametrize("rules", DECLARING)
async def test_nobody_at_a_table_that_declares_still_lets_the_match_end(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules, 3, clock=TENTH)
    result = await result_of(table)
    dealer = (await table.game()).match.hand.dealer  # type: ignore[union-attr] # it has begun
    assert (result.fault.seat, result.fault.cause) == ((dealer + 1) % 3, Fault.CAUSE_TIME)


async def test_a_play_that_comes_too_late_is_refused_though_no_timer_has_fired(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, clock=MINUTE)
    turn, held = await table.turn()
    clock.micros += 60 * SECOND
    with refused(Reason.MATCH_OVER):
        await table.play(turn, held[0])
    match = await table.match()
    assert (match.result.fault.seat, match.result.fault.cause) == (turn, Fault.CAUSE_TIME)
    assert not (await record_of(table)).hands[0].plays


async def test_a_card_that_is_illegal_and_late_is_late(start: Any, clock: WallClock) -> None:
    client = await start(now=clock)
    table = await seat_all(client, clock=MINUTE)
    turn, held = await table.turn()
    clock.micros += 61 * SECOND
    with refused(Reason.MATCH_OVER):
        await table.play(turn, next(card for card in range(1, 41) if card not in held))
    assert (await table.match()).result.fault.cause == Fault.CAUSE_TIME


async def test_a_declaration_that_comes_too_late_is_none(start: Any, clock: WallClock) -> None:
    client = await start(now=clock)
    table = await seat_all(client, "cafe", 3, clock=MINUTE)
    game = await table.game()
    clock.micros += 60 * SECOND
    with refused(Reason.STALE_SEQUENCE):
        await table.declare(0, False, expected_sequence=game.sequence)
    assert (await client.view(table.id)).phase == view_pb2.View.PHASE_PLAY


async def test_who_resigns_after_the_time_is_up_has_lost_on_time(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, clock=MINUTE)
    turn, _ = await table.turn()
    clock.micros += 60 * SECOND
    with refused(Reason.MATCH_OVER):
        await table.act("Resign", 1 - turn)
    fault = (await table.match()).result.fault
    assert (fault.seat, fault.cause) == (turn, Fault.CAUSE_TIME)


async def test_a_play_in_the_last_microsecond_counts_and_starts_the_next_clock(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, clock=MINUTE)
    for _ in range(5):
        clock.micros += 60 * SECOND - 1
        await table.step()
        view = await client.view(table.id)
        assert view.deadline.ToMicroseconds() == clock.micros + 60 * SECOND
    assert not (await table.game()).over


async def test_no_clock_is_moved_by_what_others_do_or_by_a_new_stream(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, "cafe", 3, clock=MINUTE)
    deadline = (await client.view(table.id)).deadline
    clock.micros += 10 * SECOND
    await table.declare(2, False)
    await table.act("CancelMatch", 2)
    with refused(Reason.ALREADY_DECLARED):
        await table.declare(2, False)
    for viewer in (0, 1, 2):
        assert (await client.view(table.id, table.tokens[viewer])).deadline == deadline


async def test_a_clock_goes_on_over_a_restart(start: Any, clock: WallClock) -> None:
    before = await start(now=clock)
    table = await seat_all(before, clock=MINUTE)
    await table.step()
    deadline = (await before.view(table.id)).deadline
    clock.micros += 59 * SECOND
    await stop(before)
    after = await start(now=clock)
    assert (await after.view(table.id)).deadline == deadline
    await table.again(after).step()


async def test_nobody_is_late_while_the_wall_clock_is_set_back(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client, clock=TENTH)
    live = await client.server.host.find(table.id)
    timer = live.timer
    async with unchanged(table):
        await until(lambda: live.timer is not timer)  # it fired, looked, and waits again
    await table.step()


async def test_a_match_without_a_clock_shows_no_deadline_and_waits_for_a_day(
    start: Any, clock: WallClock
) -> None:
    client = await start(now=clock)
    table = await seat_all(client)
    clock.micros += deadlines.PATIENCE_MICROS - 1
    assert not (await client.view(table.id)).HasField("deadline")
    await table.step()
    turn, held = await table.turn()
    clock.micros += deadlines.PATIENCE_MICROS
    with refused(Reason.MATCH_OVER):
        await table.play(turn, held[0])
    assert (await table.match()).result.fault.cause == Fault.CAUSE_TIME


@pytest.mark.parametrize("act", ["play", "resign", "cancel"])
async def test_a_command_and_the_clock_at_the_same_moment_have_one_outcome(
    client: Client, act: str
) -> None:
    commands: dict[str, Callable[[Table, int, int], Any]] = {
        "play": lambda table, seat, card: table.play(seat, card),
        "resign": lambda table, seat, card: table.act("Resign", 1 - seat),
        "cancel": lambda table, seat, card: table.act("CancelMatch", table.owner),
    }
    table = await seat_all(client, clock=TENTH)
    turn, held = await table.turn()
    host = client.server.host
    live = await host.find(table.id)
    late = host.spawn(host._expire(live))
    command = commands[act](table, turn, held[0])
    [answer] = await asyncio.gather(command, return_exceptions=True)
    if isinstance(answer, grpc.aio.AioRpcError):
        assert answer.code() is grpc.StatusCode.FAILED_PRECONDITION
    await late
    result = await result_of(table)
    told = [message.event for message in await table.events()]
    assert [event.WhichOneof("kind") for event in told if event.sequence].count("match_ended") == 1
    assert result.outcome in (
        match_pb2.Result.OUTCOME_FORFEIT,
        match_pb2.Result.OUTCOME_CANCELLED,
    )
    await record_of(table)


# Ends before the first card.


@pytest.mark.parametrize("taken", [0, 1, 2])
async def test_a_match_that_is_cancelled_in_its_lobby_has_a_record(
    client: Client, taken: int
) -> None:
    table = Table(client, await client.create("open", "open"))
    commitment = fair.client_commitment(entropy_of(0), table.id, 0)
    for seat in range(taken):
        await client.join(table.id, seat=seat, client_commitment="" if seat else commitment)
    await table.act("CancelMatch", table.owner)
    got = await client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
    record = read(got.record.decode())
    assert record.outcome == "cancelled"
    assert not record.hands
    assert verify(record).proven, verify(record)
