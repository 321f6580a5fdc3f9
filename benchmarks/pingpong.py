"""The server of the remote bots' row: ours, and beside it in the same loop a bare ping-pong.

Run as a process: `pingpong FOLDER [stored|unstored]`. It prints its addresses and the API key, and
on each line of stdin the times, in seconds, that it has taken since the last.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import uvloop

from ronda.v1 import bot_service_pb2 as pb
from ronda_arena.discovery import discover
from ronda_arena.seating import InProcess
from ronda_server import frames, logs, remote, remote_bot
from ronda_server.app import Server
from ronda_server.clock import wall_clock
from ronda_server.config import Config
from ronda_server.statements import Rows

judged: list[float] = []
"""From a decision written until its answer is judged."""
answered: list[float] = []
"""The same of the ping-pong, where nothing is judged."""


sample = [pb.ConnectResponse()]
"""The last decision that was told by ours: what the ping-pong sends again and again."""


async def _connect(
    requests: AsyncIterator[pb.ConnectRequest], _context: Any
) -> AsyncIterator[pb.ConnectResponse]:
    """Send as many decisions as the bot wants seats, and one for each answer."""
    hello = (await anext(requests)).hello
    await anext(requests)  # Ready
    yield pb.ConnectResponse(welcome=pb.Welcome())
    ping = sample[0]
    written: list[float] = []
    for _ in range(hello.max_seats):
        written.append(time.perf_counter())
        yield ping
    async for _ in requests:
        answered.append(time.perf_counter() - written.pop(0))
        written.append(time.perf_counter())
        yield ping


def _watch_the_clock() -> None:
    """Note how long each decision of a remote bot takes, from written to judged."""
    written: dict[str, float] = {}
    decision, answer = frames.decision, remote.Remotes.answer

    def timed_decision(place: remote_bot.Place, *rest: Any) -> bytes:
        frame = decision(place, *rest)
        if not sample[0].HasField("decision"):
            sample[0].MergeFromString(frames.sent_time(wall_clock()) + frame)
        written[place.decision_id] = time.perf_counter()
        return frame

    def timed_answer(self: remote.Remotes, bot: Any, decision_id: str, *rest: Any) -> Any:
        result = answer(self, bot, decision_id, *rest)
        judged.append(time.perf_counter() - written.pop(decision_id))
        return result

    frames.decision = timed_decision
    remote.Remotes.answer = timed_answer  # type: ignore[method-assign] # for its time


def _store_nothing(server: Server) -> None:
    """Take the storage out: what is to be appended is done at once."""
    log = server.host.log
    submit = log.submit

    def at_once(work: Any) -> asyncio.Future[Any]:
        if isinstance(work, Rows) or work.__qualname__.startswith("Host._advance"):
            done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            done.set_result(None)
            return done
        return submit(work)

    log.submit = at_once  # type: ignore[method-assign] # to measure all but the storage


async def _serve(folder: Path, stored: bool) -> None:
    server = Server(
        Config(
            listen="127.0.0.1:0",
            health_listen="127.0.0.1:0",
            metrics_listen="127.0.0.1:0",
            database=str(folder / f"{stored}.db"),
        ),
        discover(),
        InProcess(),
    )
    await server.start()
    if not stored:
        _store_nothing(server)
    bare = grpc.aio.server()
    handlers = {
        "Connect": grpc.stream_stream_rpc_method_handler(
            _connect, pb.ConnectRequest.FromString, pb.ConnectResponse.SerializeToString
        )
    }
    bare.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("ronda.v1.BotService", handlers),)
    )
    port = bare.add_insecure_port("127.0.0.1:0")
    await bare.start()
    _, key = await server.accounts.create("bench", "", b"the benchmark's")
    told = {"listen": server.addresses["listen"], "bare": f"127.0.0.1:{port}", "key": key}
    print(json.dumps(told), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps([judged, answered]), flush=True)
        judged.clear()
        answered.clear()
    await bare.stop(0)
    await server.stop()


if __name__ == "__main__":
    logs.configure("error")
    gc.freeze()  # as `ronda serve` does
    gc.set_threshold(50_000, 50, 50)
    _watch_the_clock()
    uvloop.run(_serve(Path(sys.argv[1]), sys.argv[2] == "stored"))
