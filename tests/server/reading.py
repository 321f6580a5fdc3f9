"""What tests read of a stream."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from tests.server.conftest import Client
from tests.server.tables import Table, seat_all

from ronda.v1 import match_service_pb2 as pb

ENDED = pb.StreamEnded


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
