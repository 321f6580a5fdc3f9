"""Plays and declarations: what is refused, why, and that a refusal changes nothing one can see."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from tests.server.commands import finished
from tests.server.conftest import Client, request_id
from tests.server.tables import (
    DECLARING,
    SILENT,
    TABLES,
    Table,
    refused,
    seat_all,
    unchanged,
)

from ronda.v1 import match_service_pb2 as pb
from ronda_server.errors import Reason

HIGHEST = 2**64 - 1


async def declaring(client: Client, rules: str = "cafe", players: int = 2) -> Table:
    """Return a match that waits for declarations."""
    return await seat_all(client, rules, players)


async def deal_until(table: Table, wanted: Any) -> Any:
    """Play until the seats declare and `wanted(hand)`; return the hand."""
    async with asyncio.timeout(20):
        while True:
            hand = await table.hand()
            if hand.phase == "declare" and wanted(hand):
                return hand
            await table.step()


# A card that may not be played.


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_seat_out_of_turn_is_refused_also_with_a_card_it_holds(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.answer_all()
    hand = await table.hand()
    async with unchanged(table):
        for seat in range(players):
            if seat != hand.turn:
                with refused(Reason.NOT_YOUR_TURN):
                    await table.play(seat, hand.hands[seat][0])
                with refused(Reason.NOT_YOUR_TURN):
                    await table.play(seat, hand.hands[hand.turn][0])
    await table.step()


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_the_third_seat_may_not_answer_before_the_next_seat(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.answer_all()
    await table.step()
    hand = await table.hand()
    late = (hand.turn + 1) % players
    async with unchanged(table):
        with refused(Reason.NOT_YOUR_TURN):
            await table.play(late, hand.hands[late][0])


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_card_that_the_seat_does_not_hold_is_refused_wherever_it_lies(
    client: Client, rules: str, players: int
) -> None:
    table = await seat_all(client, rules, players)
    await table.answer_all()
    await table.step()
    turn, held = await table.turn()
    async with unchanged(table):
        for card in set(range(1, 41)) - set(held):
            with refused(Reason.CARD_NOT_HELD):
                await table.play(turn, card)


@pytest.mark.parametrize("card", [0, -1, 41, 2**31 - 1, -(2**31)])
async def test_a_number_that_is_no_card_is_refused_in_any_state(client: Client, card: int) -> None:
    table = await declaring(client)
    async with unchanged(table):
        with refused(Reason.BAD_CARD, "card"):
            await table.play(0, card)
    over = await finished(client)
    with refused(Reason.BAD_CARD, "card"):
        await over.play(0, card)


async def test_two_plays_before_the_first_reply_are_one_play(client: Client) -> None:
    table = await seat_all(client)
    turn, held = await table.turn()
    sequence = (await table.game()).sequence
    calls = [table.play(turn, card, expected_sequence=sequence) for card in held]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(answer, pb.PlayCardResponse) for answer in answers].count(True) == 1
    refusals = [answer for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
    assert {answer.code() for answer in refusals} == {grpc.StatusCode.ABORTED}
    assert len((await table.hand()).plays) == 1
    assert (await table.game()).sequence == sequence + 1


# A decision on an old state.


@pytest.mark.parametrize("rules", SILENT)
async def test_a_play_decided_on_another_state_is_stale_and_told_the_current_number(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules)
    await table.step()
    turn, held = await table.turn()
    game = await table.game()
    async with unchanged(table):
        for number in (0, 1, game.opened - 1, game.sequence + 1, HIGHEST):
            with refused(Reason.STALE_SEQUENCE) as refusal:
                await table.play(turn, held[0], expected_sequence=number)
            assert dict(refusal.info.metadata) == {"sequence": str(game.sequence)}
    await table.play(turn, held[0], expected_sequence=game.opened)


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_declaration_decided_on_another_state_is_stale(client: Client, rules: str) -> None:
    table = await declaring(client, rules)
    game = await table.game()
    async with unchanged(table):
        for number in (0, game.opened - 1, game.sequence + 1, HIGHEST):
            with refused(Reason.STALE_SEQUENCE) as refusal:
                await table.declare(0, False, expected_sequence=number)
            assert dict(refusal.info.metadata) == {"sequence": str(game.sequence)}


@pytest.mark.parametrize("rules", DECLARING)
async def test_every_seat_may_answer_with_the_number_of_the_deal_or_a_later_one(
    client: Client, rules: str
) -> None:
    table = await declaring(client, rules)
    deal = (await table.game()).opened
    first = await table.declare(1, False, expected_sequence=deal)
    await table.declare(0, False, expected_sequence=deal)
    assert (await table.game()).sequence == first.sequence + 2


async def test_a_number_between_the_opening_of_a_decision_and_now_is_as_good(
    client: Client,
) -> None:
    table = await seat_all(client)
    opened = (await table.game()).opened
    agreed = await table.act("CancelMatch", 0)
    assert agreed.sequence == opened + 1
    turn, held = await table.turn()
    await table.play(turn, held[0], expected_sequence=opened)


# Declarations.


@pytest.mark.parametrize("rules", DECLARING)
@pytest.mark.parametrize("players", [2, 3, 4])
async def test_a_play_while_a_declaration_is_pending_is_refused_also_by_the_seat_that_answered(
    client: Client, rules: str, players: int
) -> None:
    table = await declaring(client, rules, players)
    hand = await table.hand()
    first = (hand.dealer + 1) % players
    async with unchanged(table):
        for seat in range(players):
            with refused(Reason.DECLARATION_PENDING):
                await table.play(seat, hand.hands[seat][0])
    await table.declare(first, False)
    async with unchanged(table):
        with refused(Reason.DECLARATION_PENDING):
            await table.play(first, hand.hands[first][0])


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_false_declaration_is_refused_and_the_seat_may_still_answer(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules, 3)
    hand = await deal_until(table, lambda hand: 0 in hand.strengths)
    liar = hand.strengths.index(0)
    async with unchanged(table):
        with refused(Reason.FALSE_DECLARATION):
            await table.declare(liar, True)
    await table.declare(liar, False)


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_second_declaration_is_refused_whatever_it_says(client: Client, rules: str) -> None:
    table = await declaring(client, rules)
    await table.declare(1, False)
    async with unchanged(table):
        for again in (False, True):
            with refused(Reason.ALREADY_DECLARED):
                await table.declare(1, again)


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_late_declaration_is_refused_before_and_after_the_first_card(
    client: Client, rules: str
) -> None:
    table = await declaring(client, rules)
    await table.answer_all()
    async with unchanged(table):
        with refused(Reason.DECLARATION_CLOSED):
            await table.declare(0, False)
    await table.step()
    async with unchanged(table):
        with refused(Reason.DECLARATION_CLOSED):
            await table.declare(0, True)


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_set_that_is_declared_once_is_paid_once_however_often_it_is_sent(
    client: Client, rules: str
) -> None:
    table = await seat_all(client, rules, 3)
    hand = await deal_until(table, lambda hand: any(hand.strengths))
    holder = next(seat for seat, strength in enumerate(hand.strengths) if strength)
    scores = sum(hand.scores)
    same = request_id()
    sequence = (await table.game()).sequence
    for _ in range(3):
        await table.declare(holder, True, request_id=same, expected_sequence=sequence)
    with refused(Reason.ALREADY_DECLARED):
        await table.declare(holder, True)
    for seat in range(3):
        if seat != holder:
            await table.declare(seat, False)
    with refused(Reason.DECLARATION_CLOSED):
        await table.declare(holder, True)
    await table.step()
    with refused(Reason.DECLARATION_CLOSED):
        await table.declare(holder, True)
    told = await table.events(after=sequence)
    awards = [award for one in told for award in one.event.declarations_revealed.awards]
    assert len(awards) == 1
    assert sum((await table.hand()).scores) - scores >= awards[0].points
    assert awards[0].points == (5 if hand.strengths[holder] > 10 else 1)


@pytest.mark.parametrize("rules", SILENT)
@pytest.mark.parametrize("declares", [False, True])
async def test_a_declaration_where_nothing_is_declared_is_refused(
    client: Client, rules: str, declares: bool
) -> None:
    table = await seat_all(client, rules)
    async with unchanged(table):
        with refused(Reason.DECLARATION_AUTOMATIC):
            await table.declare(0, declares)
