"""The row of remote bots: decisions over Connect, against a bare bidirectional ping-pong.

Two processes on the same two cores, both on uvloop: a server that hosts the matches and the bare
ping-pong in one loop, and a bot that plays every seat and answers at once with its first card. Both
send messages of the same sizes. The time of a decision is taken where the ping-pong's is: in the
server, from the message written until its answer is read and, of a decision, judged. What follows
is told beside it: the rate counts whole decisions, stepped, told and opened again, without the
storage and with every one on disk before it is told.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import grpc
import uvloop

from benchmarks.rows import Row, at_least, at_most, show
from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_service_pb2 as matches_pb
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda.v1.match_service_pb2_grpc import MatchServiceStub

_RUNS = 7
_MATCHES = 64
_SECONDS = 1.0
"""Of each measurement."""


class Process:
    """The server, which tells its times when it is asked."""

    def __init__(self, started: subprocess.Popen[str]) -> None:
        self._started = started
        assert started.stdout
        told = json.loads(started.stdout.readline())
        self.listen, self.bare, self.key = told["listen"], told["bare"], told["key"]

    def times(self) -> tuple[list[float], list[float]]:
        """Return how long decisions and pongs took since this was asked last."""
        assert self._started.stdin
        assert self._started.stdout
        self._started.stdin.write("\n")
        self._started.stdin.flush()
        judged, answered = json.loads(self._started.stdout.readline())
        return judged, answered


@contextmanager
def process(folder: str, kind: str) -> Iterator[Process]:
    """Run a server in `folder`, stored or unstored."""
    started = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.pingpong", folder, kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Process(started)
    finally:
        started.terminate()
        started.wait(30)


class Bot:
    """A bot that plays every seat of its matches."""

    def __init__(self, server: Process, channel: grpc.aio.Channel, name: str) -> None:
        self._name = name
        self._matches = MatchServiceStub(channel)
        self._said: asyncio.Queue[pb.ConnectRequest] = asyncio.Queue()
        metadata = (("authorization", f"Bearer {server.key}"),)
        self._call = BotServiceStub(channel).Connect(self._words(), metadata=metadata)
        self._heard = aiter(self._call)

    async def open(self, matches: int) -> None:
        """Say Hello and sit down in both seats of matches that do not end."""
        await self._hello(2 * matches)
        for _ in range(matches):
            await self._create()

    async def ping(self, flight: int) -> Bot:
        """Say Hello to the ping-pong, with so many messages in flight."""
        await self._hello(flight)
        return self

    async def _hello(self, seats: int) -> None:
        hello = pb.Hello(name=self._name, version="1", max_seats=seats, without_events=True)
        self._said.put_nowait(pb.ConnectRequest(hello=hello))
        self._said.put_nowait(pb.ConnectRequest(ready=pb.Ready()))
        await anext(self._heard)

    async def play(self, until: float) -> int:
        """Answer until then; return how many decisions came."""
        count = 0
        while time.perf_counter() < until:
            count += await self._next()
        return count

    def close(self) -> None:
        """Leave."""
        self._call.cancel()

    async def _next(self) -> int:
        message = await anext(self._heard)
        kind = message.WhichOneof("message")
        if kind == "match_over" and not message.match_over.seat:
            await self._create()
        if kind != "decision":
            return 0
        decision = message.decision
        answer = pb.ConnectRequest(
            answer=pb.Answer(decision_id=decision.decision_id, card=decision.view.hand[0])
        )
        self._said.put_nowait(answer)
        return 1

    async def _create(self) -> None:
        while True:
            try:
                await self._matches.CreateMatch(
                    matches_pb.CreateMatchRequest(
                        rules="playtash",
                        length=100,
                        seats=[matches_pb.SeatOffer(bot=self._name)] * 2,
                        request_id=str(uuid.uuid4()),
                    )
                )
            except grpc.aio.AioRpcError as error:
                if error.code() is not grpc.StatusCode.NOT_FOUND:  # not ready yet
                    raise
            else:
                return

    async def _words(self) -> AsyncIterator[pb.ConnectRequest]:
        while True:
            yield await self._said.get()


async def rate(bot: Bot) -> float:
    """Play for a while; return how many decisions a second came."""
    began = time.perf_counter()
    count = await bot.play(began + _SECONDS)
    return count / (time.perf_counter() - began)


async def measure(unstored: Process, stored: Process) -> list[Row]:
    """Run both rows, alternating with the ping-pong."""
    async with (
        grpc.aio.insecure_channel(unstored.listen) as ours,
        grpc.aio.insecure_channel(stored.bare) as bare,
        grpc.aio.insecure_channel(stored.listen) as durable,
    ):
        one = Bot(stored, durable, "one")
        crowd, kept = Bot(unstored, ours, "crowd"), Bot(stored, durable, "crowd")
        for bot, matches in ((one, 1), (crowd, _MATCHES), (kept, _MATCHES)):
            await bot.open(matches)
            await rate(bot)
        single, many, p50s, rates = [], [], [], []
        for bot in (one_ping := Bot(stored, bare, "ping"), crowd_ping := Bot(stored, bare, "ping")):
            await bot.ping(1 if bot is one_ping else _MATCHES)
        for _ in range(_RUNS):
            await rate(one_ping)
            base = statistics.median(stored.times()[1])
            alone = await rate(one)
            mine = statistics.median(stored.times()[0])
            single.append(mine / base)
            p50s.append((mine * 1e3, base * 1e3, 1e3 / alone))
        for _ in range(_RUNS):
            base = await rate(crowd_ping)
            mine, committed = await rate(crowd), await rate(kept)
            many.append(mine / base)
            rates.append((mine, base, committed))
        for bot in (one, crowd, kept, one_ping, crowd_ping):
            bot.close()
    p50, base, whole = map(statistics.median, zip(*p50s, strict=True))
    plays, pings, committed = map(statistics.median, zip(*rates, strict=True))
    return [
        at_most(
            "remote bot decision over Connect, written to judged",
            single,
            "x ping-pong p50",
            1.75,
            1.4,
            f"{p50:.3f} ms, ping-pong {base:.3f} ms; with its commit {whole:.2f} ms",
        ),
        at_least(
            "remote bot decisions, 64 matches at once, without the storage",
            many,
            "of ping-pong rate",
            0.6,
            0.8,
            f"{plays:.0f}/s, ping-pong {pings:.0f}/s; every one committed {committed:.0f}/s",
        ),
    ]


def rows() -> list[Row]:
    """Start the servers and measure."""
    with (
        tempfile.TemporaryDirectory() as folder,
        process(folder, "unstored") as unstored,
        process(folder, "stored") as stored,
    ):
        return uvloop.run(measure(unstored, stored))


if __name__ == "__main__":
    show(rows())
