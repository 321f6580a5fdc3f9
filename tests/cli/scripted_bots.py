"""A server for remote bots that says what a test wrote: one script for each stream."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
from tests.cli.scripted import RefusedError

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1.bot_service_pb2_grpc import BotServiceServicer, add_BotServiceServicer_to_server
from ronda_cli.channel import Target

WELCOME = pb.ConnectResponse(welcome=pb.Welcome(identity="far@1.0.0", max_seats=16))
ALIVE = pb.ConnectResponse(alive=pb.ConnectionAlive())
CAUGHT_UP = pb.ConnectResponse(caught_up=pb.CaughtUp())
UNKNOWN = pb.ConnectResponse()
"""What a message of a later version looks like here."""
TAKEN_OVER = pb.ConnectResponse(
    ended=pb.ConnectionEnded(reason=pb.ConnectionEnded.REASON_TAKEN_OVER)
)


def started(match_id: str, seat: int = 0) -> pb.ConnectResponse:
    """Return the beginning of a match that says nothing of its cards."""
    told = pb.MatchStarted(match_id=match_id, seat=seat, identities=["far@1.0.0", "greedy@1.0.0"])
    told.settings.rules, told.settings.players, told.settings.target = "cafe", 2, 41
    return pb.ConnectResponse(match_started=told)


class ScriptedBots(BotServiceServicer):
    """Answers `Connect` with the scripts in turn; the last of them again and again."""

    def __init__(self, *scripts: Sequence[Any]) -> None:
        self.scripts = deque(scripts)

    async def Connect(self, requests: Any, context: Any) -> AsyncIterator[pb.ConnectResponse]:  # type: ignore[override] # it yields, where the stub awaits
        script = self.scripts.popleft() if len(self.scripts) > 1 else self.scripts[0]
        for item in script:
            if isinstance(item, RefusedError):
                await item.send(context)
            else:
                yield item


@contextlib.asynccontextmanager
async def serving(*scripts: Sequence[Any]) -> AsyncIterator[Target]:
    """Run a scripted server; give where it is."""
    server = grpc.aio.server()
    add_BotServiceServicer_to_server(ScriptedBots(*scripts), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield Target(f"127.0.0.1:{port}", False, f"127.0.0.1:{port}")
    finally:
        await server.stop(0)
