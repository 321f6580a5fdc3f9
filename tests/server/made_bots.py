"""Bots that are made for one test, and the matches they are in."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import ClassVar

import grpc
from google.protobuf.duration_pb2 import Duration
from tests.server.tables import Table

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_bots.api import BotClass, Card, SeatInfo, View
from ronda_bots.registry import BotInfo
from ronda_core.record import Record, read
from ronda_core.verify import verify

TENTH = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))


def bot(name: str, bot_class: BotClass) -> BotInfo:
    """Return a class as a bot that is installed."""
    return BotInfo(name, "1.0.0", "tests", "1", "", bot_class)


class Base:
    """Plays its lowest card and declares what it holds."""

    version: ClassVar[str] = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        self.seat = seat
        self.rng = rng

    def play(self, view: View) -> Card:
        """Play."""
        return view.hand[0]


class Gate:
    """What a bot waits at, in place of thinking."""

    def __init__(self) -> None:
        self._passes = threading.Semaphore(0)
        self._came: list[int] = []

    @property
    def waiting(self) -> int:
        """How many times somebody has come here."""
        return len(self._came)

    def wait(self) -> None:
        """Wait until let through."""
        self._came.append(1)
        self._passes.acquire(timeout=30)

    def let(self, many: int = 1) -> None:
        """Let some through, that wait or will come."""
        self._passes.release(many)

    def open(self) -> None:
        """Let everybody through."""
        self.let(10_000)


def sleeper(gate: Gate) -> BotClass:
    """Return a bot that waits at a gate before each play."""

    class Sleeper(Base):
        """Thinks for as long as the gate is shut."""

        def play(self, view: View) -> Card:
            """Wait, then play."""
            gate.wait()
            return view.hand[0]

    return Sleeper


async def ended(table: Table) -> match_pb2.Match:
    """Wait until a match is over and return it."""
    stream = table.watch(table.owner or None)
    last = None
    async with asyncio.timeout(20):
        while (message := await stream.read()) is not grpc.aio.EOF:
            last = message
    assert last
    assert last.ended.reason == pb.StreamEnded.REASON_MATCH_OVER
    match: match_pb2.Match = await table.match()
    return match


async def record_of(table: Table) -> Record:
    """Return the record of a match, proven."""
    got = await table.client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
    record = read(got.record.decode())
    assert verify(record).proven, verify(record)
    return record
