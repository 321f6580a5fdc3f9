"""The door to a server's ladders: the one module that speaks its LadderService.

What comes in leaves as the arena's own rows, so that it is told as a local ladder is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final, NamedTuple

import grpc

from ronda.v1 import ladder_pb2, match_pb2
from ronda.v1 import ladder_service_pb2 as pb
from ronda.v1.ladder_service_pb2_grpc import LadderServiceStub
from ronda_arena.ladder.rows import DIGITS, Row
from ronda_cli import refusal
from ronda_cli.channel import Target, channel
from ronda_cli.convert import name_of
from ronda_cli.text import name, one_line
from ronda_cli.updates import RefusedError

_ANSWER_WITHIN: Final = 30.0
"""Seconds for a call that is not a stream."""
_PAGE: Final = 200
_WIDE: Final = 300
"""Cells of an identity."""
_NOTE: Final = 1000

_Pb = ladder_pb2

Data = dict[str, Any]


class About(NamedTuple):
    """What is told of a ladder beside its bots."""

    data: Data
    """As `ronda ladder show DIR` tells it."""
    state: str
    problem: str
    sequence: int


class Stands(NamedTuple):
    """How all bots stand, in their order."""

    about: About
    rows: tuple[Row, ...]


class Changed(NamedTuple):
    """The bots of which something has changed."""

    about: About
    rows: tuple[Row, ...]


class Alive(NamedTuple):
    """Nothing has happened."""


class One(NamedTuple):
    """How one bot stands, and what its rating has been."""

    about: About
    rank: int
    """0: it is not placed yet."""
    row: Row
    history: tuple[Data, ...]


News = Stands | Changed | Alive


class LadderClient:
    """The calls of whoever looks at ladders; `ladder` is the name of one, or empty."""

    def __init__(self, target: Target, ladder: str = "") -> None:
        self.target = target
        self._ladder = ladder
        self._channel = channel(target)
        self._stub = LadderServiceStub(self._channel)

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def standings(self) -> Stands:
        """Return how all bots stand."""
        rows: dict[str, Row] = {}  # one that moved between two pages is on both of them
        token = ""
        while True:
            request = pb.ListRatingsRequest(ladder=self._ladder, page_size=_PAGE, page_token=token)
            page = await self._call(self._stub.ListRatings, request)
            rows.update((row.bot, row) for row in _rows(page.ratings))
            token = page.next_page_token
            if not token:
                return Stands(_about(page.ladder), tuple(rows.values()))

    async def one(self, bot: str) -> One:
        """Return how a bot stands, and what its rating has been."""
        request = pb.GetRatingRequest(ladder=self._ladder, bot=bot)
        told = await self._call(self._stub.GetRating, request)
        history = tuple(map(_point, told.history))
        return One(_about(told.ladder), told.rating.rank, _row(told.rating), history)

    async def watch(self, after: int) -> AsyncGenerator[News, None]:
        """Stream what is new to who has seen what the number `after` tells."""
        request = pb.WatchLadderRequest(ladder=self._ladder, after_sequence=after)
        try:
            async for message in self._stub.WatchLadder(request):
                if news := _news(message):
                    yield news
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(request, timeout=_ANSWER_WITHIN)
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None


def _news(message: pb.WatchLadderResponse) -> News | None:
    match message.WhichOneof("update"):
        case "standings":
            told = message.standings
            return Stands(_about(told.ladder), _rows(told.ratings))
        case "changes":
            return Changed(_about(message.changes.ladder), _rows(message.changes.ratings))
        case "heartbeat":
            return Alive()
    return None  # the end, after which another stream begins, or what came after this version


def _about(told: ladder_pb2.Ladder) -> About:
    data = {
        "id": name(told.name),
        "rules": name(told.rules),
        "players": told.players,
        "target": told.target,
        "length": told.length,
        "blocks": told.blocks,
        "games": told.games,
        "void": told.lost_blocks,
    }
    problem = name_of(_Pb.Ladder.Problem, told.problem, "PROBLEM_") if told.problem else ""
    return About(data, name_of(_Pb.Ladder.State, told.state, "STATE_"), problem, told.sequence)


def _rows(told: Iterable[ladder_pb2.LadderRating]) -> tuple[Row, ...]:
    return tuple(map(_row, told))


def _row(told: ladder_pb2.LadderRating) -> Row:
    last = told.last_block_time.seconds if told.HasField("last_block_time") else 0
    return Row(
        bot=name(told.bot, _WIDE),
        owner=name(told.owner, _WIDE),
        rating=told.rating.value,
        low=told.rating.low,
        high=told.rating.high,
        conservative=told.at_least,
        blocks=told.blocks,
        games=told.games,
        won=told.won,
        drawn=told.drawn,
        lost=told.lost,
        faults={
            name_of(match_pb2.Fault.Cause, one.cause, "CAUSE_"): one.games for one in told.faults
        },
        opponents=told.opponents,
        state=name_of(_Pb.LadderRating.State, told.state, "STATE_"),
        note=one_line(told.note, _NOTE),
        provisional=told.provisional,
        last=last,
        code=name(told.code, _WIDE) if told.code else "",
        changed=told.code_changes,
        alike=tuple(name(other, _WIDE) for other in told.alike),
        predecessor=name(told.predecessor, _WIDE) if told.predecessor else "",
        remote=told.remote,
    )


def _point(told: ladder_pb2.RatingPoint) -> Data:
    return {
        "at": told.time.seconds,
        "blocks": told.blocks,
        "games": told.games,
        "rating": round(told.rating.value, DIGITS),
        "low": round(told.rating.low, DIGITS),
        "high": round(told.rating.high, DIGITS),
    }
