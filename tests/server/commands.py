"""A sound request of every command, and matches in the states that commands meet."""

from __future__ import annotations

from typing import Any

from tests.server.conftest import Client, bearer, offer, request_id
from tests.server.tables import (
    Table,
    seat_all,
)

from ronda.v1 import match_service_pb2 as pb

SEAT_METHODS = ["ReadySeat", "Declare", "PlayCard", "Resign", "Rematch"]

COMMANDS = ["CreateMatch", "JoinMatch", "CancelMatch", *SEAT_METHODS]


async def finished(client: Client, rules: str = "playtash", players: int = 2) -> Table:
    """Return a match that is over."""
    table = await seat_all(client, rules, players)
    await table.act("Resign", 0)
    return table


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
