"""The stream of `ronda bots serve`, against a server that says what a test wrote."""

from __future__ import annotations

import asyncio
import socket

import grpc
import pytest
from tests.cli.scripted import RefusedError
from tests.cli.scripted_bots import ALIVE, CAUGHT_UP, TAKEN_OVER, UNKNOWN, WELCOME, serving, started

from ronda_arena.discovery import discover
from ronda_cli.bot_client import Alive, BotStream, CaughtUp, Heard, Offer, StreamEnded, Welcomed
from ronda_cli.channel import Target
from ronda_cli.follow import Patience
from ronda_cli.output import Failure
from ronda_cli.serving import Served

OFFER = Offer("far", "1.0.0", "", 16)


def offered(said: list[str]) -> Served:
    patience = Patience(float("inf"), first=0.001, longest=0.001)
    return Served(discover().find("greedy"), "far", 16, said.append, patience=patience)


async def everything(where: Target) -> list[Heard]:
    stream = BotStream(where, "key")
    try:
        return [item async for item in stream.connect(OFFER, {})]
    finally:
        await stream.close()


async def test_every_message_is_a_sign_of_life_also_one_that_is_not_known() -> None:
    script = [WELCOME, ALIVE, UNKNOWN, CAUGHT_UP, ALIVE, TAKEN_OVER]
    async with serving(script) as where:
        heard = await everything(where)
    assert [type(item) for item in heard] == [
        *(Welcomed, Alive, Alive, CaughtUp, Alive),
        StreamEnded,
    ]


async def test_seats_that_are_not_told_of_again_are_left_once_all_is_told() -> None:
    said: list[str] = []
    first = [WELCOME, started("m-1"), started("m-2")]
    second = [WELCOME, started("m-2"), CAUGHT_UP, TAKEN_OVER]
    served = offered(said)
    async with serving(first, second) as where:
        with pytest.raises(Failure, match="taken over"):
            await served.serve(where, "key")
    assert [line for line in said if "no more is told" in line] == [
        "m-1: seat 0 is over: no more is told of it"
    ]
    assert [key.match_id for key in served.players] == ["m-2"]


async def test_a_server_that_is_down_is_named_and_not_quoted() -> None:
    with socket.socket() as nobody:  # bound and not listening: whoever connects is refused
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        said: asyncio.Queue[str] = asyncio.Queue()
        served = offered([])
        served.say = said.put_nowait
        task = asyncio.ensure_future(served.serve(Target(address, False, address), "key"))
        try:
            async with asyncio.timeout(20):
                first = await said.get()
        finally:
            task.cancel()
            await asyncio.wait([task])
    assert first == f"{address} cannot be reached: trying again"


async def test_a_refusal_that_grpc_has_lost_is_asked_for_once_more_in_silence() -> None:
    lost = RefusedError(grpc.StatusCode.INTERNAL, message="Internal error from Core.")
    refused = RefusedError(grpc.StatusCode.ALREADY_EXISTS, "BOT_NAME_TAKEN")
    said: list[str] = []
    async with serving([lost], [refused]) as where:
        with pytest.raises(Failure, match="has this name"):
            await offered(said).serve(where, "key")
        assert said == []
    async with serving([lost], [lost], [refused]) as where:
        with pytest.raises(Failure, match="has this name"):
            await offered(said).serve(where, "key")
        assert said == [f"{where.given} cannot be reached: trying again"]
