"""Calls, whatever they ask for: their request id, who calls, and what is never read."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from tests.server.commands import COMMANDS, SEAT_METHODS, call, command, finished
from tests.server.conftest import Client, bearer, request_id
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
from ronda_server.identity import ACCESS, Needs

BAD_REQUEST_IDS = {
    "none": "",
    "a word": "again",
    "braces": "{0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f}",
    "no hyphens": "0b6ff0ff3c344d9c9d6c7f2a3c5d6e7f",
    "a blank behind": "0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f ",
    "too long": "0b6ff0ff-3c34-4d9c-9d6c-7f2a3c5d6e7f" * 20,
}


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
