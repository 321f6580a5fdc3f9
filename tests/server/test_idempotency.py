"""A command carries its own retry: sent again, it is answered again and never taken again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, bearer, offer, request_id, stop
from tests.server.tables import Table, held_up, refused, seat_all, unchanged, until

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.fair import client_commitment
from ronda_server.errors import Reason

ENTROPY = bytes(range(16))


class Prepared:
    """A request that is ready to be sent, any number of times."""

    def __init__(self, table: Table, request: Any, token: str = "") -> None:
        self.table = table
        self.request = request
        self.token = token

    def send(self, client: Client) -> Any:
        """Send the request, the same bytes each time."""
        method = type(self.request).__name__.removesuffix("Request")
        return getattr(client.matches, method)(self.request, metadata=bearer(self.token))


async def create(client: Client) -> Prepared:
    other = await seat_all(client)
    seats = [offer("invited"), offer("open"), offer("invited"), offer("open")]
    request = pb.CreateMatchRequest(rules="cafe", seats=seats, request_id=request_id())
    return Prepared(other, request)


async def create_of_bots(client: Client) -> Prepared:
    other = await seat_all(client)
    seats = [offer("random"), offer("greedy")]
    request = pb.CreateMatchRequest(rules="arabic", seats=seats, request_id=request_id())
    return Prepared(other, request)


async def join(client: Client) -> Prepared:
    table = Table(client, await client.create("open", "open"))
    request = pb.JoinMatchRequest(match_id=table.id, name="Fatima", request_id=request_id())
    return Prepared(table, request)


async def join_invited(client: Client) -> Prepared:
    created = await client.create(
        "open", "invited", "open", rules="cafe", visibility=match_pb2.VISIBILITY_PRIVATE
    )
    table = Table(client, created)
    request = pb.JoinMatchRequest(match_id=table.id, request_id=request_id())
    return Prepared(table, request, table.invitations[1])


async def ready(client: Client) -> Prepared:
    table = Table(client, await client.create("open", "open"))
    commitment = client_commitment(ENTROPY, table.id, 0)
    joined = await client.join(table.id, seat=0, client_commitment=commitment)
    table.tokens = {0: joined.seat_token, 1: (await client.join(table.id)).seat_token}
    request = pb.ReadySeatRequest(match_id=table.id, entropy=ENTROPY, request_id=request_id())
    return Prepared(table, request, table.tokens[0])


async def cancel(client: Client) -> Prepared:
    table = await seat_all(client)
    request = pb.CancelMatchRequest(match_id=table.id, request_id=request_id())
    return Prepared(table, request, table.owner)


async def agree(client: Client) -> Prepared:
    table = await seat_all(client)
    await table.step()
    request = pb.CancelMatchRequest(match_id=table.id, request_id=request_id())
    return Prepared(table, request, table.tokens[0])


async def agree_last(client: Client) -> Prepared:
    prepared = await agree(client)
    await prepared.table.act("CancelMatch", 1)
    return prepared


async def declare(client: Client) -> Prepared:
    table = await seat_all(client, "cafe")
    number = (await table.game()).sequence
    request = pb.DeclareRequest(
        match_id=table.id, expected_sequence=number, request_id=request_id()
    )
    return Prepared(table, request, table.tokens[0])


async def play(client: Client) -> Prepared:
    table = await seat_all(client)
    turn, held = await table.turn()
    request = pb.PlayCardRequest(
        match_id=table.id,
        card=held[0],  # type: ignore[arg-type] # a number is what goes over the wire
        expected_sequence=(await table.game()).sequence,
        request_id=request_id(),
    )
    return Prepared(table, request, table.tokens[turn])


async def resign(client: Client) -> Prepared:
    table = await seat_all(client)
    request = pb.ResignRequest(match_id=table.id, request_id=request_id())
    return Prepared(table, request, table.tokens[1])


async def rematch(client: Client) -> Prepared:
    table = await seat_all(client)
    await table.act("Resign", 1)
    request = pb.RematchRequest(match_id=table.id, request_id=request_id())
    return Prepared(table, request, table.tokens[1])


COMMANDS = [
    create,
    create_of_bots,
    join,
    join_invited,
    ready,
    cancel,
    agree,
    agree_last,
    declare,
    play,
    resign,
    rematch,
]
each_command = pytest.mark.parametrize("prepare", COMMANDS, ids=lambda one: one.__name__)


async def move_on(table: Table) -> None:
    """Let something else happen to a match, whatever it waits for."""
    match = await table.match()
    if match.state == match_pb2.Match.STATE_WAITING:
        for seat in match.seats:
            if seat.kind == match_pb2.Seat.KIND_OPEN:
                joined = await table.client.join(table.id, table.owner, seat=seat.index)
                table.tokens[seat.index] = joined.seat_token
    elif match.state == match_pb2.Match.STATE_RUNNING:
        await table.step()
        for seat in table.tokens:
            await table.act("CancelMatch", seat)
    elif len(table.tokens) == 2 and not match.rematch_id:
        await table.act("Rematch", 0)


async def matches_listed(client: Client) -> int:
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    return len(listed.matches)


@each_command
async def test_a_command_sent_again_is_answered_as_the_first_time_and_changes_nothing(
    client: Client, prepare: Callable[[Client], Any]
) -> None:
    prepared = await prepare(client)
    first = await prepared.send(client)
    listed = await matches_listed(client)
    async with unchanged(prepared.table):
        for _ in range(3):
            assert await prepared.send(client) == first
    await move_on(prepared.table)
    assert await prepared.send(client) == first
    assert await matches_listed(client) in (listed, listed + 1)  # move_on may have made one


@each_command
async def test_a_command_sent_again_after_a_restart_is_answered_as_the_first_time(
    start: Any, prepare: Callable[[Client], Any]
) -> None:
    before = await start()
    prepared = await prepare(before)
    first = await prepared.send(before)
    await move_on(prepared.table)
    await stop(before)
    after = await start()
    async with unchanged(prepared.table.again(after)):
        assert await prepared.send(after) == first


@each_command
async def test_a_command_whose_caller_hung_up_midway_is_answered_when_it_is_sent_again(
    client: Client, prepare: Callable[[Client], Any]
) -> None:
    prepared = await prepare(client)
    before = (await prepared.table.game()).sequence
    matches = len(client.server.host)
    log = client.server.host.log
    async with held_up(log):
        call = prepared.send(client)
        await until(lambda: len(log.committer) > 0)  # its work waits to be committed
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: _cancelled(client) > 0)  # the server knows it, too
    first = await prepared.send(client)
    assert await prepared.send(client) == first
    if type(prepared.request) is pb.CreateMatchRequest:
        assert await matches_listed(client) == 2
    elif type(prepared.request) is pb.RematchRequest:
        assert len(client.server.host) == matches + 1
    else:
        assert first.sequence == before + 1
        told = await prepared.table.events(after=before)
        assert next(one.event.sequence for one in told if one.event.sequence) == first.sequence


def _cancelled(client: Client) -> float:
    families = client.server.metrics.handled.collect()
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.labels.get("grpc_code") == "Canceled" and sample.name.endswith("_total")
    )


async def test_a_caller_that_hangs_up_at_any_moment_has_played_once_when_it_plays_again(
    client: Client,
) -> None:
    table = await seat_all(client, "arabic")
    for turns in range(34):
        turn, held = await table.turn()
        plays = len((await table.hand()).plays)
        fields = {
            "card": held[0],
            "expected_sequence": (await table.game()).sequence,
            "request_id": request_id(),
        }
        call = table.act("PlayCard", turn, **fields)
        for _ in range(turns):
            await asyncio.sleep(0)  # a turn of the loop
        call.cancel()
        await table.act("PlayCard", turn, **fields)
        assert len((await table.hand()).plays) == plays + 1


async def test_twenty_copies_of_one_play_at_once_make_one_event(client: Client) -> None:
    prepared = await play(client)
    before = (await prepared.table.game()).sequence
    answers = await asyncio.gather(*[prepared.send(client) for _ in range(20)])
    assert {answer.sequence for answer in answers} == {before + 1}
    assert (await prepared.table.game()).sequence == before + 1
    assert len((await prepared.table.hand()).plays) == 1


@pytest.mark.parametrize("prepare", [create, join, rematch], ids=lambda one: one.__name__)
async def test_twenty_copies_of_a_command_that_gives_tokens_give_one_token(
    client: Client, prepare: Callable[[Client], Any]
) -> None:
    prepared = await prepare(client)
    answers = await asyncio.gather(*[prepared.send(client) for _ in range(20)])
    assert {answer.SerializeToString() for answer in answers} == {answers[0].SerializeToString()}


async def test_of_two_different_plays_at_once_one_wins_and_the_other_is_told_the_number(
    client: Client,
) -> None:
    table = await seat_all(client)
    for _ in range(6):
        game = await table.game()
        turn, held = await table.turn()
        cards = (held[0], held[-1])
        calls = [table.play(turn, card, expected_sequence=game.sequence) for card in cards]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        kinds = sorted(type(answer).__name__ for answer in answers)
        if len(held) == 1:  # the same card twice: still one play
            assert len((await table.hand()).plays) in range(1, 7)
        assert kinds == ["AioRpcError", "PlayCardResponse"]
        lost = next(answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError))
        assert lost.code() is grpc.StatusCode.ABORTED


async def test_a_play_a_resignation_and_a_cancellation_at_once_have_one_outcome(
    client: Client,
) -> None:
    for _ in range(5):
        table = await seat_all(client)
        turn, held = await table.turn()
        calls = [
            table.act("CancelMatch", table.owner),
            table.play(turn, held[0]),
            table.act("Resign", 0),
            table.act("Resign", 1),
        ]
        await asyncio.gather(*calls, return_exceptions=True)
        told = await table.events()
        numbers = [one.event.sequence for one in told if one.event.sequence]
        assert numbers == list(range(2, len(numbers) + 2))
        kinds = [one.event.WhichOneof("kind") for one in told if one.event.sequence]
        assert kinds.count("match_ended") == 1
        assert kinds[-1] == "match_ended"


async def test_a_request_id_that_was_refused_is_still_free(client: Client) -> None:
    table = await seat_all(client)
    turn, held = await table.turn()
    same = request_id()
    absent = next(card for card in range(1, 41) if card not in held)
    with refused(Reason.CARD_NOT_HELD):
        await table.play(turn, absent, request_id=same)
    await table.play(turn, held[0], request_id=same)


async def test_a_request_id_means_the_same_in_capitals(client: Client) -> None:
    table = await seat_all(client)
    same = request_id()
    first = await table.act("Resign", 0, request_id=same)
    assert await table.act("Resign", 0, request_id=same.upper()) == first


async def test_tokens_given_before_a_restart_play_on_after_it(start: Any) -> None:
    before = await start()
    table = await seat_all(before, "cafe", 3)
    await table.answer_all()
    await table.step()
    seen = await table.seen()
    await stop(before)
    again = table.again(await start())
    assert await again.seen() == seen
    await again.step()
    assert (await again.act("CancelMatch", 0)).sequence
