"""The reference of the service's rows: a bare grpc.aio server that answers at once.

Run as a process of its own, like the server it is compared with; it prints its address.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import grpc

from ronda.v1 import match_service_pb2 as pb


async def _play(request: pb.PlayCardRequest, _context: Any) -> pb.PlayCardResponse:
    return pb.PlayCardResponse(sequence=request.expected_sequence + 1)


async def _watch(_request: pb.WatchMatchRequest, _context: Any) -> AsyncIterator[bytes]:
    yield b""


async def _serve() -> None:
    server = grpc.aio.server()
    handlers = {
        "PlayCard": grpc.unary_unary_rpc_method_handler(
            _play, pb.PlayCardRequest.FromString, pb.PlayCardResponse.SerializeToString
        )
    }
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("ronda.v1.MatchService", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(0)


if __name__ == "__main__":
    import uvloop

    uvloop.run(_serve())
