"""Rows of the service: PlayCard in one match and in 64, against a bare echo.

Client, server and echo are processes of their own on the same two cores and on uvloop. The client
knows the deals (it reads the secrets from the database file), so that nothing but PlayCard is
measured; every play is on disk before it is answered.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import uvloop

from benchmarks.rows import Row, at_least, at_most, show
from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_core import fair
from ronda_core import match as matches
from ronda_core.hand import Phase
from ronda_core.rules import settings

SERVER = """
import json, sys
from ronda_server.app import run
from ronda_server.config import Config
config = Config(listen="127.0.0.1:0", health_listen="127.0.0.1:0", metrics_listen="127.0.0.1:0",
                database=sys.argv[1], log_level="warning")
run(config, lambda addresses: print(json.dumps(addresses), flush=True))
"""


@contextmanager
def process(*arguments: str) -> Iterator[str]:
    """Run a server and yield the line it prints when it is ready."""
    started = subprocess.Popen(
        [sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert started.stdout
    try:
        yield started.stdout.readline().strip()
    finally:
        started.terminate()
        started.wait(30)


class Table:
    """A match between two seats that the client plays both."""

    def __init__(self, match_id: str, tokens: list[str], dealer: fair.Dealer) -> None:
        self.id = match_id
        self.metadata = [(("authorization", f"Bearer {token}"),) for token in tokens]
        self.dealer = dealer
        self.match = matches.Match(settings("playtash", 2, 0, 100), dealer.first_dealer())
        self.sequence = 3
        self._step(matches.deal(self.match, dealer.deck(1)))

    def next(self) -> tuple[pb.PlayCardRequest, tuple[tuple[str, str], ...]]:
        """Return the next play and the metadata of its seat, and play it here too."""
        hand = self.match.hand
        assert hand
        assert hand.phase is Phase.PLAY
        seat = hand.turn
        card = hand.hands[seat][0]
        request = pb.PlayCardRequest(
            match_id=self.id,
            card=card,  # type: ignore[arg-type] # a card is its number
            expected_sequence=self.sequence,
            request_id=str(uuid.uuid4()),
        )
        self._step(matches.play(self.match, seat, card))
        return request, self.metadata[seat]

    def _step(self, events: tuple[matches.MatchEvent, ...]) -> None:
        self.sequence += len(events)
        number = self.match.needs_deck
        if number:
            self._step(matches.deal(self.match, self.dealer.deck(number)))


async def open_table(stub: MatchServiceStub, database: Path) -> Table:
    """Create a match of two persons and sit down on both seats."""
    made = await stub.CreateMatch(
        pb.CreateMatchRequest(
            rules="playtash",
            length=100,
            seats=[pb.SeatOffer(open=pb.OpenSeat())] * 2,
            request_id=str(uuid.uuid4()),
        )
    )
    match_id = made.match.id
    joined = [
        await stub.JoinMatch(pb.JoinMatchRequest(match_id=match_id, request_id=str(uuid.uuid4())))
        for _ in range(2)
    ]
    with sqlite3.connect(database) as connection:
        (master,) = connection.execute(
            "SELECT master FROM secret WHERE scope = ?", (match_id,)
        ).fetchone()
    entries = [fair.Entry(one.identity) for one in joined]
    return Table(
        match_id, [one.seat_token for one in joined], fair.Dealer(master, match_id, entries, 2)
    )


async def latencies(stub: MatchServiceStub, table: Table, plays: int) -> list[float]:
    """Return the seconds of each of `plays` calls, one after another."""
    taken = []
    for _ in range(plays):
        request, metadata = table.next()
        began = time.perf_counter()
        await stub.PlayCard(request, metadata=metadata)
        taken.append(time.perf_counter() - began)
    return taken


async def rate(stub: MatchServiceStub, tables: list[Table], plays: int) -> float:
    """Return plays a second with one call in flight for each of `tables`."""

    async def drive(table: Table) -> None:
        for _ in range(plays):
            request, metadata = table.next()
            await stub.PlayCard(request, metadata=metadata)

    began = time.perf_counter()
    await asyncio.gather(*(drive(table) for table in tables))
    return len(tables) * plays / (time.perf_counter() - began)


async def measure(ours: str, reference: str, database: Path) -> list[Row]:
    """Run both rows, alternating with the echo."""
    async with (
        grpc.aio.insecure_channel(ours) as channel,
        grpc.aio.insecure_channel(reference) as other,
    ):
        stub, echo = MatchServiceStub(channel), MatchServiceStub(other)
        tables = [await open_table(stub, database) for _ in range(64)]
        mirror = await open_table(stub, database)
        single, many = [], []
        p50s, rates = [], []
        for _ in range(7):
            base = statistics.median(await latencies(echo, mirror, 300))
            p50 = statistics.median(await latencies(stub, tables[0], 300))
            single.append(p50 / base)
            p50s.append((p50 * 1e3, base * 1e3))
        mirrors = [await open_table(stub, database) for _ in range(64)]
        for _ in range(7):
            base = await rate(echo, mirrors, 40)
            mine = await rate(stub, tables[1:] + tables[:1], 40)
            many.append(mine / base)
            rates.append((mine, base))
    one, base = map(statistics.median, zip(*p50s, strict=True))
    plays, echoes = map(statistics.median, zip(*rates, strict=True))
    return [
        at_most(
            "PlayCard on SQLite FULL, one match",
            single,
            "x echo p50",
            2.0,
            1.5,
            f"{one:.2f} ms, echo {base:.2f} ms",
        ),
        at_least(
            "PlayCard, 64 matches at once",
            many,
            "of echo rate",
            0.5,
            0.7,
            f"{plays:.0f}/s, echo {echoes:.0f}/s",
        ),
    ]


def rows() -> list[Row]:
    """Start the servers and measure."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "ronda.db"
        with (
            process("-c", SERVER, str(database)) as ready,
            process("-m", "benchmarks.echo") as reference,
        ):
            return uvloop.run(measure(json.loads(ready)["listen"], reference, database))


if __name__ == "__main__":
    show(rows())
