"""Ladders of a server, a caller of them, and the log that says what has to be told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import grpc
from tests.server.conftest import Client

from ronda.v1 import ladder_pb2
from ronda.v1 import ladder_service_pb2 as pb
from ronda.v1.ladder_service_pb2_grpc import LadderServiceStub
from ronda_arena.ladder.history import History, Point, point
from ronda_arena.ladder.ratings import Rating
from ronda_arena.ladder.rows import Row, standings, told
from ronda_arena.ladder.standings import Change, Ladder
from ronda_arena.ladder.store import Folder
from ronda_server.ladders import messages
from ronda_server.ladders.table import Ranked

STATE = ladder_pb2.Ladder
BOT = ladder_pb2.LadderRating


def ladder_file(folder: Path, **values: Any) -> Path:
    """Write what a ladder is: quick hands between two bots and an anchor, but for `values`."""
    usual: dict[str, Any] = {
        "dir": "quick",
        "name": "quick",
        "rules": "arabic",
        "anchors": ["random=18"],
        "bots": ["greedy", "careful"],
        "look_every": 0.3,
    }
    asked = usual | values
    file = folder / f"{asked['name']}.toml"
    file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in asked.items()))
    return file


class Caller:
    """Whoever looks at ladders."""

    def __init__(self, client: Client, ladder: str = "") -> None:
        self.client = client
        self.ladder = ladder
        self.stub = LadderServiceStub(client.channel)

    async def page(self, **asked: Any) -> pb.ListRatingsResponse:
        """Return a page of the ratings."""
        request = pb.ListRatingsRequest(ladder=self.ladder, **{"page_size": 200, **asked})
        return await self.stub.ListRatings(request)

    async def one(self, bot: str) -> pb.GetRatingResponse:
        """Return how a bot stands."""
        return await self.stub.GetRating(pb.GetRatingRequest(ladder=self.ladder, bot=bot))

    def watch(self, after: int = 0) -> Any:
        """Return the stream."""
        request = pb.WatchLadderRequest(ladder=self.ladder, after_sequence=after)
        return self.stub.WatchLadder(request)

    async def until(self, enough: Callable[[Seen], bool]) -> Seen:
        """Return what a stream tells once it is enough."""
        stream = self.watch()
        seen = Seen()
        await seen.until(stream, enough)
        stream.cancel()
        return seen


class Seen:
    """What a stream has told so far, put together."""

    def __init__(self) -> None:
        self.ladder = ladder_pb2.Ladder()
        self.ratings: dict[str, ladder_pb2.LadderRating] = {}
        self.kinds: list[str] = []

    @property
    def games(self) -> int:
        """How many games were told."""
        return self.ladder.games

    async def until(self, stream: Any, enough: Callable[[Seen], bool]) -> None:
        """Take in a stream until it has told enough; once at least."""
        async with asyncio.timeout(60):
            while True:
                message = await stream.read()
                assert message is not grpc.aio.EOF, "the stream is over"
                self.take(message)
                if enough(self):
                    return

    def take(self, message: pb.WatchLadderResponse) -> None:
        """Take in a message."""
        kind = message.WhichOneof("update")
        assert kind
        self.kinds.append(kind)
        if kind not in ("standings", "changes"):
            return
        told = getattr(message, kind)
        assert told.ladder.sequence >= self.ladder.sequence
        if kind == "standings":
            self.ratings.clear()
        self.ladder = told.ladder
        self.ratings.update((one.bot, one) for one in told.ratings)


class Log:
    """What the first facts of a log come to, read by nobody but the arena."""

    def __init__(self, folder: Path, facts: int | None = None) -> None:
        self.histories: dict[str, list[Point]] = {}
        with Folder(folder) as held:
            store = held.find()
            assert store
            ladder = Ladder(store.plan, self._told)
            self.kept: dict[int, History] = {}
            for fact in islice(store.facts(), facts):
                ladder.take(fact)
        self.ladder = ladder
        self.rows = standings(ladder)

    def _told(self, number: int, change: Change) -> None:
        self.kept.setdefault(number, History()).add(point(change))

    def ratings(self) -> list[ladder_pb2.LadderRating]:
        """Return the ratings that have to be told."""
        return [messages.rating(one) for one in ranked(self.rows)]

    def points(self, bot: str) -> list[tuple[int, int, int, float, float, float]]:
        """Return the history that has to be told: when, blocks, games, its worth and interval."""
        found = self.ladder.find(bot)
        assert found
        return [
            (*one[:3], *told(Rating(one.mean, one.sigma), one.misfit, pinned=found.pinned)[:3])
            for one in self.kept[found.number].points()
        ]


def ranked(rows: list[Row]) -> Iterator[Ranked]:
    """Yield rows with their ranks."""
    for at, row in enumerate(rows, 1):
        yield Ranked(0 if row.provisional else at, row)
