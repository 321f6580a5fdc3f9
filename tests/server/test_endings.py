"""How a match ends: given up, called off or played out; its record and its rematch."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.server.commands import finished
from tests.server.conftest import Client, bearer
from tests.server.tables import (
    TABLES,
    Table,
    refused,
    seat_all,
    unchanged,
    watching,
)

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server.errors import Reason

# Giving up and calling off.


async def test_nobody_resigns_before_the_start_or_after_the_end(client: Client) -> None:
    table = Table(client, await client.create("open", "open"))
    table.tokens[0] = (await client.join(table.id)).seat_token
    async with unchanged(table):
        with refused(Reason.MATCH_NOT_STARTED):
            await table.act("Resign", 0)
    table.tokens[1] = (await client.join(table.id)).seat_token
    await table.act("Resign", 0)
    async with unchanged(table):
        for seat in (0, 1):
            with refused(Reason.MATCH_OVER):
                await table.act("Resign", seat)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_who_resigns_forfeits_and_the_other_side_wins(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.step()
    await table.act("Resign", 1)
    result = (await table.match()).result
    assert result.outcome == match_pb2.Result.OUTCOME_FORFEIT
    assert (result.fault.seat, result.fault.cause) == (1, match_pb2.Fault.CAUSE_RESIGNED)
    if players != 3:
        assert result.winner == 0


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_every_decision_after_the_end_is_refused(
    client: Client, rules: str, players: int
) -> None:
    table = await finished(client, rules, players)
    async with unchanged(table):
        for seat in range(players):
            with refused(Reason.MATCH_OVER):
                await table.play(seat, 1)
            with refused(Reason.MATCH_OVER):
                await table.declare(seat, False)
            with refused(Reason.MATCH_OVER):
                await table.act("CancelMatch", seat)
            with refused(Reason.MATCH_OVER):
                await table.act("ReadySeat", seat, entropy=b"k" * 16)
        with refused(Reason.MATCH_OVER):
            await table.act("CancelMatch", table.owner)


async def test_the_owner_cancels_until_the_first_play_and_not_after_it(client: Client) -> None:
    lobby = Table(client, await client.create("open", "open"))
    dealt = await seat_all(client)
    played = await seat_all(client)
    await played.step()
    for table in (lobby, dealt):
        answer = await table.act("CancelMatch", table.owner)
        assert answer.cancelled
        match = await table.match()
        assert match.state == match_pb2.Match.STATE_CANCELLED
        assert match.result.outcome == match_pb2.Result.OUTCOME_CANCELLED
        assert not match.result.HasField("winner")
    async with unchanged(played):
        with refused(Reason.MATCH_STARTED):
            await played.act("CancelMatch", played.owner)


async def test_the_owner_does_not_cancel_a_later_hand_before_its_first_play(client: Client) -> None:
    table = await seat_all(client, length=2)
    while (await table.hand()).number == 1:
        await table.step()
    assert not (await table.hand()).plays
    with refused(Reason.MATCH_STARTED):
        await table.act("CancelMatch", table.owner)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_match_is_cancelled_when_the_last_side_agrees(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.step()
    sides = 2 if players == 4 else players
    for seat in range(sides - 1):
        answer = await table.act("CancelMatch", seat)
        assert not answer.cancelled
        agreed = (await client.view(table.id)).cancel_agreed_seats
        assert list(agreed) == list(range(seat + 1))
    assert (await table.match()).state == match_pb2.Match.STATE_RUNNING
    answer = await table.act("CancelMatch", sides - 1)
    assert answer.cancelled
    assert (await table.match()).state == match_pb2.Match.STATE_CANCELLED


async def test_partners_are_one_side_and_cannot_cancel_alone(client: Client) -> None:
    table = await seat_all(client, players=4)
    for seat in (0, 2):
        assert not (await table.act("CancelMatch", seat)).cancelled
    assert (await table.match()).state == match_pb2.Match.STATE_RUNNING


async def test_one_guest_does_not_cancel_a_match_that_waits_for_others(client: Client) -> None:
    table = Table(client, await client.create("open", "open"))
    table.tokens[0] = (await client.join(table.id)).seat_token
    assert not (await table.act("CancelMatch", 0)).cancelled
    assert (await table.match()).state == match_pb2.Match.STATE_WAITING


async def test_a_seat_that_agrees_again_is_noted_once(client: Client) -> None:
    table = await seat_all(client)
    first = await table.act("CancelMatch", 0)
    async with unchanged(table):
        again = await table.act("CancelMatch", 0)
    assert (again.sequence, again.cancelled) == (first.sequence, False)


# The match that follows.


async def test_there_is_no_rematch_before_the_end(client: Client) -> None:
    table = await seat_all(client)
    async with unchanged(table):
        with refused(Reason.MATCH_NOT_OVER):
            await table.act("Rematch", 0)


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_rematch_is_one_match_for_all_its_seats_and_their_tokens_play_it(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    old = await table.match()
    await table.step()
    await table.act("Resign", 0)
    calls = [table.act("Rematch", seat) for seat in range(players)]
    answers = await asyncio.gather(*calls)
    assert {answer.match_id for answer in answers} == {(await table.match()).rematch_id}
    assert [answer.seat for answer in answers] == list(range(players))
    assert [answer.identity for answer in answers] == [seat.identity for seat in old.seats]
    assert not set(table.tokens.values()) & {answer.seat_token for answer in answers}
    new = table.again(client)
    new.id, new.owner = answers[0].match_id, ""
    new.tokens = {answer.seat: answer.seat_token for answer in answers}
    match = await new.match()
    assert match.state == match_pb2.Match.STATE_RUNNING
    assert match.settings == old.settings
    assert match.commitment != old.commitment
    await new.answer_all()
    await new.step()
    with refused(Reason.BAD_TOKEN):
        await new.act("Resign", table.tokens[0])
    with refused(Reason.BAD_TOKEN):
        await table.act("Rematch", new.tokens[0])


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_nothing_of_the_old_match_is_in_the_first_message_of_the_new_one(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.answer_all()
    for _ in range(5):
        await table.step()
    await table.act("Resign", 0)
    first = await table.act("Rematch", 0)
    waiting = await client.view(first.match_id, first.seat_token)
    assert waiting.phase == view_pb2.View.PHASE_WAITING
    lists = ("hand", "table", "plays", "first_table", "pack", "declared")
    assert not any(len(getattr(waiting, name)) for name in lists)
    assert not any(waiting.HasField(name) for name in ("last_play", "result", "last_capturer"))
    assert not any([*waiting.scores, *waiting.pile_counts])
    assert (waiting.hand_number, waiting.chain_rank, waiting.stock) == (0, 0, 40)
    for seat in range(1, players):
        await table.act("Rematch", seat)
    dealt = await client.view(first.match_id, first.seat_token)
    assert dealt.hand_number == dealt.batch == 1
    assert not any(len(getattr(dealt, name)) for name in ("plays", "pack", "declared"))
    assert not dealt.HasField("last_play")
    assert len(dealt.hand) == 3
    assert len(dealt.table) == 4
    assert not any(dealt.pile_counts)


async def test_a_rematch_is_joined_by_its_seats_only(client: Client) -> None:
    table = await finished(client)
    answer = await table.act("Rematch", 0)
    for token in ("", table.tokens[1], table.owner):
        with refused(Reason.BAD_TOKEN if token else Reason.TOKEN_REQUIRED):
            await client.join(answer.match_id, token, seat=1)
    with refused(Reason.SEAT_TAKEN):
        await table.act("Rematch", 0)
    assert (await table.act("Rematch", 1)).match_id == answer.match_id


async def test_a_rematch_seats_the_same_bots_again(client: Client) -> None:
    table = Table(client, await client.create("open", "greedy"))
    table.tokens[0] = (await client.join(table.id)).seat_token
    await table.act("Resign", 0)
    answer = await table.act("Rematch", 0)
    got = await client.matches.GetMatch(pb.GetMatchRequest(match_id=answer.match_id))
    assert got.match.seats[1].identity == (await table.match()).seats[1].identity
    assert got.match.state == match_pb2.Match.STATE_RUNNING


async def test_two_matches_and_their_rematches_played_at_once_do_not_touch_each_other(
    client: Client,
) -> None:
    tables = [await seat_all(client, rules) for rules in ("arabic", "arabic")]
    over = [False, False]
    while not all(over):
        for at, table in enumerate(tables):
            over[at] = over[at] or (await table.game()).over
            if not over[at]:
                await table.step()
    for table in tables:
        got = await client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
        record = read(got.record.decode())
        assert record.id == table.id
        assert verify(record).proven


# Records.


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_record_is_sealed_until_the_match_is_over_and_then_proven(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players, length=0 if rules == "arabic" else 1)
    asked = pb.GetRecordRequest(match_id=table.id)
    async with unchanged(table):
        for token in ("", table.owner, table.tokens[0]):
            with refused(Reason.RECORD_SEALED):
                await client.matches.GetRecord(asked, metadata=bearer(token))
    await table.play_out()
    got = await client.matches.GetRecord(asked)
    assert b"\n" not in got.record
    record = read(got.record.decode())
    assert verify(record).proven, verify(record)
    match = await table.match()
    assert record.id == match.id
    assert list(record.seats) == [seat.identity for seat in match.seats]
    assert list(record.score) == list(match.result.scores)
    assert record.isolation == ("person",) * players
    assert json.loads(got.record)["fair"]["commitment"] == match.commitment


async def test_an_illegal_card_is_not_in_the_record_of_the_match(client: Client) -> None:
    table = await seat_all(client, "arabic")
    turn, held = await table.turn()
    absent = next(card for card in range(1, 41) if card not in held)
    with refused(Reason.CARD_NOT_HELD):
        await table.play(turn, absent)
    await table.play_out()
    got = await client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
    assert verify(read(got.record.decode())).proven


async def test_a_refused_call_never_becomes_a_stream(client: Client) -> None:
    created = await client.create("open", "open", visibility=match_pb2.VISIBILITY_PRIVATE)
    table = Table(client, created)
    with refused(Reason.MATCH_NOT_FOUND):
        await table.watch("rnd_s_" + "A" * 43).read()
    assert watching(client) == 0
