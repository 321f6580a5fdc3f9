"""Commands: what is refused, why, and that a refusal changes nothing that anyone can see."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, bearer, offer, request_id
from tests.server.tables import (
    DECLARING,
    SILENT,
    TABLES,
    Table,
    refused,
    seat_all,
    unchanged,
    watching,
)

from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.fair import client_commitment
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server.errors import Reason
from ronda_server.identity import ACCESS, Needs

HIGHEST = 2**64 - 1
SEAT_METHODS = ["ReadySeat", "Declare", "PlayCard", "Resign", "Rematch"]
COMMANDS = ["CreateMatch", "JoinMatch", "CancelMatch", *SEAT_METHODS]
BAD_NAMES = {
    "41 characters": "a" * 41,
    "an escape sequence": "\x1b[2J",
    "a new line": "a\nb",
    "a null": "a\x00b",
    "a C1 control": "a\x9bb",
    "an override of direction": "abc\u202edef",
    "an isolate": "\u2066abc",
    "a line separator": "a\u2028b",
    "a zero-width joiner": "a\u200db",
    "a character for private use": "\ue000",
    "spaces": "   ",
    "letters that show nothing": "\u3164\u115f \u2800",
}
BAD_REQUEST_IDS = {
    "none": "",
    "a word": "again",
    "braces": "{0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f}",
    "no hyphens": "0b6ff0ff3c344d9c9d6c7f2a3c5d6e7f",
    "a blank behind": "0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f ",
    "too long": "0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f" * 20,
}


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


async def finished(client: Client, rules: str = "playtash", players: int = 2) -> Table:
    """Return a match that is over."""
    table = await seat_all(client, rules, players)
    await table.act("Resign", 0)
    return table


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


# Request ids.


def command(method: str, table: Table, **fields: Any) -> tuple[Any, str]:
    """Return a sound request of a method, and the token that goes with it."""
    fields.setdefault("request_id", request_id())
    if method == "CreateMatch":
        seats = [offer("open"), offer("open")]
        return pb.CreateMatchRequest(rules="playtash", seats=seats, **fields), ""
    token = {"JoinMatch": "", "CancelMatch": table.owner}.get(method, table.tokens[0])
    return getattr(pb, f"{method}Request")(match_id=table.id, **fields), token


async def call(table: Table, method: str, **fields: Any) -> Any:
    """Call a method with a sound request but for `fields`."""
    request, token = command(method, table, **fields)
    return await getattr(table.client.matches, method)(request, metadata=bearer(token))


@pytest.mark.parametrize("kind", BAD_REQUEST_IDS)
async def test_a_command_without_a_uuid_is_refused(client: Client, kind: str) -> None:
    table = await seat_all(client)
    async with unchanged(table):
        for method in COMMANDS:
            fields: dict[str, Any] = {"card": 1} if method == "PlayCard" else {}
            with refused(Reason.BAD_REQUEST_ID, "request_id"):
                await call(table, method, request_id=BAD_REQUEST_IDS[kind], **fields)


OTHER_CONTENT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "CreateMatch": ({}, {"visibility": match_pb2.VISIBILITY_PRIVATE}),
    "JoinMatch": ({"name": "Fatima"}, {"name": "Zineb"}),
    "ReadySeat": ({"entropy": b"k" * 16}, {"entropy": b"k" * 17}),
    "Declare": ({"declare": False}, {"declare": True}),
    "PlayCard": ({}, {"card": 40}),
}


@pytest.mark.parametrize("method", OTHER_CONTENT)
async def test_a_request_id_with_other_content_is_refused_and_takes_nothing(
    client: Client, method: str
) -> None:
    same = request_id()
    first, other = OTHER_CONTENT[method]
    if method in ("CreateMatch", "JoinMatch", "ReadySeat"):
        created = await client.create("open", "open")
        table = Table(client, created)
        commitment = client_commitment(b"k" * 16, table.id, 0)
        joined = await client.join(table.id, seat=0, client_commitment=commitment)
        table.tokens[0] = joined.seat_token
        if method == "ReadySeat":
            await client.join(table.id)
    else:
        table = await seat_all(client, "cafe" if method == "Declare" else "playtash")
    if method == "PlayCard":
        turn, held = await table.turn()
        table.tokens[0] = table.tokens[turn]
        first = {"card": held[0]}
    if method in ("PlayCard", "Declare"):
        number = (await table.game()).sequence
        first = first | {"expected_sequence": number}
        other = other | {"expected_sequence": number}
    await call(table, method, request_id=same, **first)
    async with unchanged(table):
        with refused(Reason.REQUEST_ID_REUSED):
            await call(table, method, request_id=same, **other)


@pytest.mark.parametrize(
    ("method", "before"),
    [("CancelMatch", "Resign"), ("Resign", "CancelMatch"), ("Resign", "PlayCard")],
)
async def test_a_request_id_belongs_to_its_method(client: Client, method: str, before: str) -> None:
    table = await seat_all(client)
    turn, held = await table.turn()
    same = request_id()
    if before == "PlayCard":
        await table.play(turn, held[0], request_id=same)
    else:
        await table.act(before, turn, request_id=same)
    async with unchanged(table):
        with refused(Reason.REQUEST_ID_REUSED):
            await table.act(method, turn, request_id=same)


async def test_a_request_id_of_one_seat_means_nothing_to_another(client: Client) -> None:
    table = await seat_all(client, "cafe")
    same = request_id()
    first = await table.declare(0, False, request_id=same)
    second = await table.declare(1, False, request_id=same)
    assert second.sequence == first.sequence + 1


async def test_a_rematch_takes_its_own_request_id_once(client: Client) -> None:
    table = await finished(client)
    other = await finished(client)
    same = request_id()
    first = await table.act("Rematch", 0, request_id=same)
    again = await table.act("Rematch", 0, request_id=same)
    assert first == again
    elsewhere = await other.act("Rematch", 0, request_id=same)
    assert elsewhere.match_id != first.match_id
    assert elsewhere.seat_token != first.seat_token


# Who calls.


def request_of(method: str, match_id: str) -> Any:
    """Return a request that is sound but for its match."""
    request = getattr(pb, f"{method}Request")(match_id=match_id)
    if method in COMMANDS:
        request.request_id = request_id()
    if method == "PlayCard":
        request.card = 1
    return request


async def answer(request: Any, client: Client, metadata: Any) -> Any:
    """Return the answer to a request, or the first message of its stream."""
    method = type(request).__name__.removesuffix("Request")
    made = getattr(client.matches, method)(request, metadata=metadata)
    return await (made.read() if method == "WatchMatch" else made)


def test_the_list_of_methods_that_take_a_token_is_whole() -> None:
    need = {path.rsplit("/", 1)[1] for path, needs in ACCESS.items() if needs is Needs.TOKEN}
    assert need == {*SEAT_METHODS, "CancelMatch"}


@pytest.mark.parametrize("method", [*SEAT_METHODS, "CancelMatch"])
async def test_a_method_that_takes_a_token_refuses_a_call_without_one(
    client: Client, method: str
) -> None:
    table = await seat_all(client)
    request, _ = command(method, table)
    async with unchanged(table):
        with refused(Reason.TOKEN_REQUIRED):
            await getattr(client.matches, method)(request)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "bearer rnd_s_x",
        "Basic rnd_s_x",
        "rnd_s_x",
        "Bearer rnd_s_x rnd_s_y",
        "Bearer rnd_s_" + "A" * 43,
        "Bearer " + "x" * 2000,
    ],
)
async def test_a_header_that_is_no_token_of_ours_is_a_bad_token_never_no_token(
    client: Client, header: str
) -> None:
    table = await seat_all(client)
    async with unchanged(table):
        for method in [*COMMANDS[1:], "GetMatch", "GetRecord", "WatchMatch"]:
            with refused(Reason.BAD_TOKEN):
                await answer(request_of(method, table.id), client, (("authorization", header),))


async def test_two_tokens_in_one_call_are_a_bad_token(client: Client) -> None:
    table = await seat_all(client)
    request, token = command("Resign", table)
    async with unchanged(table):
        with refused(Reason.BAD_TOKEN):
            await client.matches.Resign(request, metadata=bearer(token) + bearer(token))


@pytest.mark.parametrize("method", SEAT_METHODS)
async def test_a_seat_is_not_played_with_a_token_of_another_kind_or_match(
    client: Client, method: str
) -> None:
    other = await seat_all(client)
    table = Table(client, await client.create("open", "invited"))
    guest = await client.join(table.id, table.invitations[1])
    table.tokens[0] = (await client.join(table.id)).seat_token
    table.tokens[1] = guest.seat_token
    strangers = [
        table.owner,
        table.invitations[1],
        other.owner,
        other.tokens[0],
        table.tokens[0][:-1],
        table.tokens[0] + "A",
        table.tokens[0].upper(),
    ]
    async with unchanged(table):
        for token in strangers:
            with refused(Reason.BAD_TOKEN):
                await answer(request_of(method, table.id), client, bearer(token))


async def test_a_seat_token_plays_its_own_seat_only(client: Client) -> None:
    table = await seat_all(client)
    turn, held = await table.turn()
    async with unchanged(table):
        with refused(Reason.NOT_YOUR_TURN):
            await table.play(1 - turn, held[0])
    await table.play(turn, held[0])


@pytest.mark.parametrize(
    "match_id",
    ["", "m-nosuchmatch", "m-" + "a" * 63, "../../etc/passwd", "m-1\n", "م", "' OR 1=1 --"],
)
async def test_a_match_that_does_not_exist_is_not_found(client: Client, match_id: str) -> None:
    table = await seat_all(client)
    async with unchanged(table):
        for method in [*COMMANDS[1:], "GetMatch", "GetRecord", "WatchMatch"]:
            with refused(Reason.MATCH_NOT_FOUND):
                await answer(request_of(method, match_id), client, bearer(table.tokens[0]))


# What never may be sent.


def pad(request: Any, size: int) -> None:
    """Make a request `size` bytes long."""
    request.match_id = "m" * (size - 3)
    request.match_id = "m" * (size - 3 - (request.ByteSize() - size))
    assert request.ByteSize() == size


@pytest.mark.parametrize("size", [16 * 1024 + 1, 32 * 1024])
@pytest.mark.parametrize("method", ["JoinMatch", "WatchMatch"])
async def test_a_message_above_16_kib_is_too_large(client: Client, method: str, size: int) -> None:
    table = await seat_all(client)
    request = getattr(pb, f"{method}Request")()
    pad(request, size)
    async with unchanged(table):
        made = getattr(client.matches, method)(request)
        with refused(Reason.MESSAGE_TOO_LARGE):
            await (made.read() if method == "WatchMatch" else made)


async def test_a_message_of_16_kib_is_read(client: Client) -> None:
    request = pb.GetMatchRequest()
    pad(request, 16 * 1024)
    with refused(Reason.MATCH_NOT_FOUND):
        await client.matches.GetMatch(request)


async def test_a_message_of_a_megabyte_is_refused_by_the_transport_and_the_next_is_served(
    client: Client,
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await client.matches.GetMatch(pb.GetMatchRequest(match_id="m" * 1024 * 1024))
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await client.create("open", "open")).match.id


@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a\xff", b"\x00" * 100, b"\x0b" * 50])
async def test_bytes_that_are_no_message_are_refused_without_the_words_of_the_parser(
    client: Client, garbage: bytes
) -> None:
    plain = [path for path in ACCESS if "ronda.v1" in path and not path.endswith("Connect")]
    for method in plain:
        with refused(Reason.REQUEST_INVALID) as refusal:
            if method.endswith("WatchMatch"):
                await client.channel.unary_stream(method)(garbage).read()
            else:
                await client.channel.unary_unary(method)(garbage)
        assert "arsing" not in str(refusal.error.debug_error_string())


async def test_text_that_is_no_utf_8_is_refused(client: Client) -> None:
    with refused(Reason.REQUEST_INVALID):
        await client.channel.unary_unary("/ronda.v1.MatchService/GetMatch")(b"\x0a\x02\xff\xfe")


async def test_fields_that_this_version_does_not_know_are_no_fault(client: Client) -> None:
    asked = pb.ListMatchesRequest().SerializeToString() + b"\xba\x3e\x03new"
    call = client.channel.unary_unary(
        "/ronda.v1.MatchService/ListMatches",
        response_deserializer=pb.ListMatchesResponse.FromString,
    )
    assert isinstance(await call(asked), pb.ListMatchesResponse)


@pytest.mark.parametrize("kind", BAD_NAMES)
async def test_a_name_that_could_move_a_cursor_or_turn_a_line_around_is_refused(
    client: Client, kind: str
) -> None:
    table = Table(client, await client.create("open", "open"))
    async with unchanged(table):
        with refused(Reason.BAD_NAME, "name"):
            await client.join(table.id, name=BAD_NAMES[kind])


@pytest.mark.parametrize("name", ["", "a" * 40, "فاطمة الزهراء", "Zoë 🂡", "<b>&amp;</b>", "';--"])
async def test_any_other_name_is_told_as_it_was_given(client: Client, name: str) -> None:
    table = Table(client, await client.create("open", "open"))
    await client.join(table.id, name=name)
    assert (await table.match()).seats[0].name == name


BAD_MATCHES: dict[str, tuple[dict[str, Any], int, Reason, str]] = {
    "no rules": ({"rules": ""}, 2, Reason.BAD_RULES, "rules"),
    "rules in capitals": ({"rules": "Playtash"}, 2, Reason.BAD_RULES, "rules"),
    "unknown rules": ({"rules": "scopa"}, 2, Reason.BAD_RULES, "rules"),
    "no seat": ({}, 0, Reason.BAD_SEAT_COUNT, "seats"),
    "one seat": ({}, 1, Reason.BAD_SEAT_COUNT, "seats"),
    "playtash by three": ({}, 3, Reason.BAD_SEAT_COUNT, "seats"),
    "arabic by four": ({"rules": "arabic"}, 4, Reason.BAD_SEAT_COUNT, "seats"),
    "cafe by five": ({"rules": "cafe"}, 5, Reason.BAD_SEAT_COUNT, "seats"),
    "a thousand seats": ({"rules": "cafe"}, 1000, Reason.BAD_SEAT_COUNT, "seats"),
    "playtash to 21": ({"target": 21}, 2, Reason.BAD_TARGET, "target"),
    "pagat to 21": ({"rules": "pagat", "target": 21}, 2, Reason.BAD_TARGET, "target"),
    "a target in arabic": ({"rules": "arabic", "target": 41}, 2, Reason.BAD_TARGET, "target"),
    "the highest target": ({"target": 2**32 - 1}, 2, Reason.BAD_TARGET, "target"),
    "target and length": ({"target": 41, "length": 2}, 2, Reason.BAD_TARGET, "target"),
    "101 hands": ({"length": 101}, 2, Reason.BAD_LENGTH, "length"),
    "the highest length": ({"length": 2**32 - 1}, 2, Reason.BAD_LENGTH, "length"),
    "a length in arabic": ({"rules": "arabic", "length": 1}, 2, Reason.BAD_LENGTH, "length"),
    "unknown visibility": ({"visibility": 9}, 2, Reason.REQUEST_INVALID, "visibility"),
}


async def nothing_made(client: Client) -> bool:
    """Say whether the server has no match."""
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    return not listed.matches and len(client.server.host) == 0


@pytest.mark.parametrize("kind", BAD_MATCHES)
async def test_a_match_that_no_preset_allows_is_not_made(client: Client, kind: str) -> None:
    fields, seats, reason, field = BAD_MATCHES[kind]
    with refused(reason, field):
        await client.create(*["open"] * seats, **fields)
    assert await nothing_made(client)


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [
        (-1, 0),
        (0, -1),
        (1, -1),
        (0, 1),
        (0, 99_999_999),
        (3600, 1_000),
        (3601, 0),
        (2**62, 0),
        (-(2**62), 0),
    ],
)
async def test_a_clock_below_a_tenth_of_a_second_or_above_an_hour_is_refused(
    client: Client, seconds: int, nanos: int
) -> None:
    clock = match_pb2.Clock(per_decision=Duration(seconds=seconds, nanos=nanos))
    with refused(Reason.BAD_CLOCK, "clock"):
        await client.create("open", "open", clock=clock)
    assert await nothing_made(client)


@pytest.mark.parametrize(("seconds", "nanos"), [(0, 0), (0, 100_000_000), (3600, 0)])
async def test_a_clock_between_is_taken_as_it_is(client: Client, seconds: int, nanos: int) -> None:
    clock = match_pb2.Clock(per_decision=Duration(seconds=seconds, nanos=nanos))
    created = await client.create("open", "open", clock=clock)
    told = created.match.settings.clock.per_decision
    assert (told.seconds, told.nanos) == (seconds, nanos)


@pytest.mark.parametrize("bot", ["", "nobody", "random@0.0.0", "random@", "@1.0.0", "r" * 500])
async def test_a_bot_that_the_server_does_not_have_is_not_found(client: Client, bot: str) -> None:
    seats = [offer("open"), pb.SeatOffer(bot=bot)]
    request = pb.CreateMatchRequest(rules="playtash", seats=seats, request_id=request_id())
    with refused(Reason.BOT_NOT_FOUND, "seats"):
        await client.matches.CreateMatch(request)
    assert await nothing_made(client)


async def test_an_offer_that_says_nothing_is_a_bad_seat(client: Client) -> None:
    seats = [offer("open"), pb.SeatOffer()]
    request = pb.CreateMatchRequest(rules="playtash", seats=seats, request_id=request_id())
    with refused(Reason.BAD_SEAT, "seats"):
        await client.matches.CreateMatch(request)
    assert await nothing_made(client)


async def test_a_match_above_the_limit_is_refused_with_its_name_and_a_delay(start: Any) -> None:
    client = await start(max_matches=1)
    table = await seat_all(client)
    with refused(Reason.TOO_MANY_MATCHES) as refusal:
        await client.create("open", "open")
    assert dict(refusal.info.metadata) == {"limit": "matches"}
    assert refusal.retry_seconds > 0
    await table.act("Resign", 0)
    await client.create("open", "open")


# Taking a seat.


async def test_the_first_open_seat_is_given_to_who_asks_for_none(client: Client) -> None:
    table = Table(client, await client.create("invited", "open", "open", rules="cafe"))
    joined = [(await client.join(table.id)).seat for _ in range(2)]
    assert joined == [1, 2]
    async with unchanged(table):
        with refused(Reason.MATCH_FULL):
            await client.join(table.id)


async def test_a_seat_is_taken_by_one_of_many_who_ask_at_once(client: Client) -> None:
    table = Table(client, await client.create("open", "open", "open", "open"))
    calls = [client.join(table.id) for _ in range(12)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    seats = [answer.seat for answer in answers if isinstance(answer, pb.JoinMatchResponse)]
    assert sorted(seats) == [0, 1, 2, 3]
    tokens = {answer.seat_token for answer in answers if isinstance(answer, pb.JoinMatchResponse)}
    assert len(tokens) == 4


async def test_a_seat_where_someone_sits_is_taken(client: Client) -> None:
    table = Table(client, await client.create("open", "open", "greedy", rules="cafe"))
    await client.join(table.id, seat=0)
    async with unchanged(table):
        for seat in (0, 2):
            with refused(Reason.SEAT_TAKEN):
                await client.join(table.id, seat=seat)


@pytest.mark.parametrize("seat", [2, 3, 2**32 - 1])
async def test_a_seat_that_the_match_does_not_have_is_bad(client: Client, seat: int) -> None:
    table = Table(client, await client.create("open", "open"))
    async with unchanged(table):
        with refused(Reason.BAD_SEAT, "seat"):
            await client.join(table.id, seat=seat)


async def test_nobody_joins_a_match_that_is_over(client: Client) -> None:
    table = Table(client, await client.create("open", "open"))
    await table.act("CancelMatch", table.owner)
    async with unchanged(table):
        with refused(Reason.MATCH_OVER):
            await client.join(table.id)


async def test_an_invited_seat_takes_its_own_invitation_and_no_other(client: Client) -> None:
    other = Table(client, await client.create("invited", "invited"))
    table = Table(client, await client.create("invited", "invited"))
    async with unchanged(table):
        with refused(Reason.TOKEN_REQUIRED):
            await client.join(table.id, seat=0)
        with refused(Reason.MATCH_FULL):
            await client.join(table.id)
        for token in (table.invitations[1], table.owner):
            with refused(Reason.BAD_TOKEN):
                await client.join(table.id, token, seat=0)
        for token in (other.invitations[0], "rnd_i_" + "A" * 43):
            with refused(Reason.BAD_TOKEN):
                await client.join(table.id, token)
    assert (await client.join(table.id, table.invitations[1])).seat == 1
    assert (await client.join(table.id, table.invitations[0], seat=0)).seat == 0
    async with unchanged(table):
        with refused(Reason.SEAT_TAKEN):
            await client.join(table.id, table.invitations[0])


async def test_an_open_seat_of_a_private_match_takes_the_owner_token(client: Client) -> None:
    created = await client.create("open", "invited", visibility=match_pb2.VISIBILITY_PRIVATE)
    table = Table(client, created)
    async with unchanged(table):
        with refused(Reason.MATCH_NOT_FOUND):
            await client.join(table.id)
        with refused(Reason.MATCH_NOT_FOUND):
            await client.join(table.id, "rnd_o_" + "A" * 43)
        with refused(Reason.BAD_TOKEN):
            await client.join(table.id, table.invitations[1], seat=0)
    assert (await client.join(table.id, table.owner)).seat == 0
    assert (await client.join(table.id, table.invitations[1])).seat == 1


@pytest.mark.parametrize(
    "commitment", ["0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 63 + "\n", "x"]
)
async def test_a_client_commitment_of_another_form_is_refused(
    client: Client, commitment: str
) -> None:
    table = Table(client, await client.create("open", "open"))
    async with unchanged(table):
        with refused(Reason.BAD_CLIENT_COMMITMENT, "client_commitment"):
            await client.join(table.id, seat=0, client_commitment=commitment)


async def test_a_client_commitment_goes_with_a_seat(client: Client) -> None:
    table = Table(client, await client.create("open", "open"))
    async with unchanged(table):
        with refused(Reason.BAD_CLIENT_COMMITMENT, "client_commitment"):
            await client.join(table.id, client_commitment="0" * 64)


# Getting ready.


async def committed(client: Client, entropy: bytes) -> Table:
    """Return a match whose seat 0 has committed to `entropy`, and whose seat 1 is taken."""
    table = Table(client, await client.create("open", "open"))
    commitment = client_commitment(entropy, table.id, 0)
    first = await client.join(table.id, seat=0, client_commitment=commitment)
    table.tokens = {0: first.seat_token, 1: (await client.join(table.id)).seat_token}
    return table


async def test_a_seat_is_ready_once_and_with_the_entropy_it_committed_to(client: Client) -> None:
    entropy = bytes(range(32))
    table = await committed(client, entropy)
    async with unchanged(table):
        for wrong in (b"", entropy[:15], entropy[:-1], entropy + b"\0", b"x" * 32, entropy * 3):
            with refused(Reason.BAD_ENTROPY, "entropy"):
                await table.act("ReadySeat", 0, entropy=wrong)
        with refused(Reason.MATCH_NOT_STARTED):
            await table.play(0, 1, expected_sequence=(await table.game()).sequence)
    await table.act("ReadySeat", 0, entropy=entropy)
    async with unchanged(table):
        with refused(Reason.ALREADY_READY):
            await table.act("ReadySeat", 0, entropy=entropy)


@pytest.mark.parametrize("length", [15, 65])
async def test_entropy_of_a_length_that_fairness_does_not_know_is_refused(
    client: Client, length: int
) -> None:
    table = await committed(client, b"k" * length)
    async with unchanged(table):
        with refused(Reason.BAD_ENTROPY, "entropy"):
            await table.act("ReadySeat", 0, entropy=b"k" * length)


async def test_a_seat_without_a_commitment_is_ready_from_the_start(client: Client) -> None:
    table = await committed(client, b"k" * 16)
    async with unchanged(table):
        for entropy in (b"", b"k" * 16):
            with refused(Reason.ALREADY_READY):
                await table.act("ReadySeat", 1, entropy=entropy)


async def test_a_commitment_for_another_seat_or_match_opens_nothing(client: Client) -> None:
    entropy = b"k" * 16
    table = Table(client, await client.create("open", "open"))
    for seat, scope, at in ((0, table.id, 1), (1, "m-other", 1)):
        commitment = client_commitment(entropy, scope, at)
        joined = await client.join(table.id, seat=seat, client_commitment=commitment)
        table.tokens[seat] = joined.seat_token
    async with unchanged(table):
        for seat in (0, 1):
            with refused(Reason.BAD_ENTROPY, "entropy"):
                await table.act("ReadySeat", seat, entropy=entropy)


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
