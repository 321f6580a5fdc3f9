"""Making a match, taking a seat and getting ready: what is refused, and what is not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, offer, request_id
from tests.server.tables import (
    Table,
    refused,
    seat_all,
    unchanged,
)

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.fair import client_commitment
from ronda_server.errors import Reason

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
