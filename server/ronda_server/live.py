"""What is kept of a match in memory, and the small words that commands are made of."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ronda_bots.registry import BotInfo
from ronda_core.record import Record
from ronda_server.bots import HostedBots
from ronda_server.game import Game, Happened
from ronda_server.streams import Audience


class Request(NamedTuple):
    """What makes a command safe to repeat."""

    key: bytes
    """Stored form of the request id."""
    content: bytes
    """Digest of the method and of all that was asked."""

    def __repr__(self) -> str:
        return "Request()"


class Offer(NamedTuple):
    """What a new match offers one seat: to anyone, to the invited, or to a bot."""

    kind: str
    bot: BotInfo | None = None


class Invitation(NamedTuple):
    """The key to an invited seat."""

    seat: int
    token: str

    def __repr__(self) -> str:
        return f"Invitation(seat={self.seat})"


class Live:
    """A match in memory: its state, its audience, and what runs for it."""

    __slots__ = (
        "audience",
        "bots",
        "deadline",
        "driver",
        "game",
        "lock",
        "record",
        "rematch_id",
        "requests",
        "stale",
        "timer",
    )

    def __init__(self, game: Game, audience: Audience) -> None:
        self.game = game
        self.audience = audience
        self.lock = asyncio.Lock()
        self.requests: dict[bytes, tuple[bytes, int]] = {}
        """Content and number of every command that was taken."""
        self.bots: HostedBots | None = None
        self.driver: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.deadline = 0
        """What the timer waits for, in microseconds since 1970."""
        self.stale = False
        """The storage may hold more than this."""
        self.rematch_id = ""
        self.record: Record | None = None

    def __repr__(self) -> str:
        return f"<Live {self.game!r}>"

    def take_in(self, game: Game, happened: list[Happened]) -> None:
        """Make what is committed the state, and tell the audience."""
        self.game = game
        for one in happened:
            fact = one.fact
            if fact.request and fact.content:
                self.requests[fact.request] = (fact.content, fact.sequence)
        self.audience.add(game, happened)
