"""What is kept of a match in memory, and the small words that commands are made of."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, NamedTuple

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
    bot: str = ""
    """The bot that is wanted: a name, or `name@version`."""


class Invitation(NamedTuple):
    """The key to an invited seat."""

    seat: int
    token: str

    def __repr__(self) -> str:
        return f"Invitation(seat={self.seat})"


class Live:
    """A match in memory: its state, its audience, and what runs for it."""

    __slots__ = (
        "answering",
        "audience",
        "bots",
        "deadline",
        "driver",
        "ended",
        "game",
        "granted",
        "handed",
        "held_up",
        "hosted",
        "lock",
        "record",
        "rematch_id",
        "remote",
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
        self.granted = 0
        """Until when the bot that is asked has time, in microseconds since 1970."""
        self.deadline = 0
        """What the timer waits for, in microseconds since 1970."""
        self.stale = False
        """The storage may hold more than this."""
        self.remote = tuple(at for at, seat in enumerate(game.seats) if seat.remote)
        """Seats of remote bots."""
        self.hosted = any(seat.hosted for seat in game.seats)
        """Whether bots sit there that this server runs itself."""
        self.handed = 0
        """When what is open could be handed to remote bots; 0: not since this server began."""
        self.held_up = 0
        """How long our loop had been held up, in all, when what is open was opened."""
        self.answering = 0
        """Answers of remote bots that came in time and are not stored yet."""
        self.ended = asyncio.Event()
        """Set when it is over."""
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
        if game.over:
            self.ended.set()


_KEPT: Final = 256
_KEPT_EVENTS: Final = 65_536
"""Matches that are over and stay in memory, and events of all of them together: some 64 MB."""


class Shelf:
    """Matches in memory: all that wait or run, and for a while what is over."""

    def __init__(self) -> None:
        self.open: dict[str, Live] = {}
        self._over: OrderedDict[str, Live] = OrderedDict()
        self._events = 0

    def __iter__(self) -> Iterator[Live]:
        """Go through all of them as they are now."""
        return iter([*self.open.values(), *self._over.values()])

    def get(self, match_id: str) -> Live | None:
        """Return a match if it is here."""
        return self.open.get(match_id) or self._over.get(match_id)

    def put(self, live: Live) -> None:
        """Put a match where it belongs now; the one that was over first makes room."""
        match_id = live.game.id
        if not live.game.over:
            self.open[match_id] = live
            return
        self.open.pop(match_id, None)
        if match_id in self._over:
            return
        self._over[match_id] = live
        self._events += live.game.sequence
        while len(self._over) > _KEPT or (self._events > _KEPT_EVENTS and len(self._over) > 1):
            _, first = self._over.popitem(last=False)
            self._events -= first.game.sequence
