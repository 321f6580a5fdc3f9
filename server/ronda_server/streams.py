"""Who watches a match, and from which number on.

A watcher is a place in the history of its match, not a queue: it takes the next event when it has
sent the last. So nothing grows with a slow reader, and one that has fallen far behind is given a
view of how things stand instead of what it missed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final

from ronda.v1.match_service_pb2 import StreamEnded
from ronda_core.match import Match
from ronda_core.view import private, public
from ronda_server import convert
from ronda_server.game import Game, Happened
from ronda_server.metrics import Metrics

HEARTBEAT_SECONDS: Final = 10.0
_RESUMABLE: Final = 1000
"""Events that a stream still resumes over; from further back it begins with a view."""
_BEHIND: Final = 64
"""Events that a reader may fall behind before it is given a view instead."""

_MADE: Final = 128
"""Serialised events kept for the next watcher: all that are near the end want the same ones."""


class Watcher:
    """One stream: whose it is, and what wakes it."""

    __slots__ = ("_woken", "seat", "taken_over")

    def __init__(self, seat: int | None) -> None:
        self.seat = seat
        self.taken_over = False
        self._woken: asyncio.Future[bool] | None = None

    def wake(self) -> None:
        """Let the stream look again."""
        if self._woken and not self._woken.done():
            self._woken.set_result(True)

    async def rest(self, seconds: float) -> bool:
        """Wait until woken, at most `seconds`; False when nothing came."""
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[bool] = loop.create_future()
        self._woken = woken
        timer = loop.call_later(seconds, _expire, woken)
        try:
            return await woken
        finally:
            timer.cancel()
            self._woken = None


def _expire(woken: asyncio.Future[bool]) -> None:
    if not woken.done():
        woken.set_result(False)


class Audience:
    """The history of one match and those who follow it."""

    __slots__ = (
        "_by_seat",
        "_draining",
        "_frames",
        "_game",
        "_lobby",
        "_metrics",
        "_now",
        "_public",
        "_watchers",
        "history",
    )

    def __init__(self, now: Callable[[], int], metrics: Metrics) -> None:
        self.history: list[Happened] = []
        self._frames: dict[tuple[int, int | None], bytes] = {}
        self._now = now
        self._metrics = metrics
        self._watchers: set[Watcher] = set()
        self._by_seat: dict[int, Watcher] = {}
        self._draining = False
        self._game: Game | None = None
        self._public: tuple[int, bytes] = (0, b"")
        self._lobby: tuple[object, bytes] = (None, b"")

    @property
    def last(self) -> int:
        """The number of the last event."""
        return len(self.history)

    def add(self, game: Game, happened: list[Happened]) -> None:
        """Tell everybody what is committed; `game` is the state after it."""
        self._game = game
        self.history += happened
        for watcher in self._watchers:
            watcher.wake()

    def drain(self) -> None:
        """End every stream, present and to come, with where to resume."""
        self._draining = True
        for watcher in self._watchers:
            watcher.wake()

    async def watch(
        self, seat: int | None, after: int, include_views: bool
    ) -> AsyncIterator[bytes]:
        """Yield the serialised responses of one stream, resumed after event `after`."""
        watcher = self._enter(seat)
        try:
            async for frame in self._follow(watcher, after, include_views):
                yield frame
        finally:
            self._leave(watcher)

    async def _follow(
        self, watcher: Watcher, after: int, include_views: bool
    ) -> AsyncIterator[bytes]:
        at = after if 0 < after <= self.last and self.last - after <= _RESUMABLE else 0
        resumed_until = self.last
        if not at:
            at = self.last
            yield self._view(watcher.seat)
        elif at == self.last:
            # Of who wants views, the one of this event may have been lost with the connection.
            here = convert.heartbeat_frame(self._sent(), at)
            yield self._view(watcher.seat) if include_views else here
        while True:
            if watcher.taken_over:
                yield self._ended(StreamEnded.REASON_TAKEN_OVER, at)
                return
            if at < self.last:
                if self.last - max(at, resumed_until) > _BEHIND:
                    self._metrics.resyncs.inc()
                    at = self.last
                    yield self._view(watcher.seat)
                    continue
                at += 1
                yield convert.event_frame(self._sent(), self.event(at, watcher.seat))
                if include_views and at == self.last:
                    yield self._view(watcher.seat)
            elif self._game and self._game.over:
                yield self._ended(StreamEnded.REASON_MATCH_OVER, at)
                return
            elif self._draining:
                yield self._ended(StreamEnded.REASON_DRAINING, at)
                return
            elif not await watcher.rest(HEARTBEAT_SECONDS):
                yield convert.heartbeat_frame(self._sent(), at)

    def _enter(self, seat: int | None) -> Watcher:
        watcher = Watcher(seat)
        if seat is not None:
            before = self._by_seat.get(seat)
            if before:
                before.taken_over = True
                before.wake()
            self._by_seat[seat] = watcher
        self._watchers.add(watcher)
        self._metrics.watchers.inc()
        return watcher

    def _leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if watcher.seat is not None and self._by_seat.get(watcher.seat) is watcher:
            del self._by_seat[watcher.seat]
        self._metrics.watchers.dec()

    def event(self, number: int, seat: int | None) -> bytes:
        """Return event `number` as `seat` is told it, made once for each class of viewers."""
        happened = self.history[number - 1]
        viewer = seat if happened.by_seat is not None else None
        frames = self._frames
        made = frames.get((number, viewer))
        if made is None:
            assert self._game
            made = convert.event_bytes(happened, self._game, viewer)
            frames[number, viewer] = made
            if len(frames) > _MADE:
                del frames[next(iter(frames))]
        return made

    def view_parts(self, seat: int | None) -> list[bytes]:
        """Return the view of `seat`, or a spectator, in parts that are to be joined."""
        game = self._game
        assert game
        parts = [self._lobby_part(game), self._public_part(game)]
        if seat is not None:
            parts.append(convert.private_view(private(_match(game), seat)))
        return parts

    def _view(self, seat: int | None) -> bytes:
        return convert.view_frame(self._sent(), *self.view_parts(seat))

    def _lobby_part(self, game: Game) -> bytes:
        if self._lobby[0] is not game.seats:
            self._lobby = (game.seats, convert.lobby_view(game))
        return self._lobby[1]

    def _public_part(self, game: Game) -> bytes:
        if self._public[0] != game.sequence:
            seen = public(_match(game), game.sequence)
            self._public = (game.sequence, convert.public_view(seen, game))
        return self._public[1]

    def _ended(self, reason: StreamEnded.Reason.ValueType, at: int) -> bytes:
        return convert.ended_frame(self._sent(), reason, at)

    def _sent(self) -> bytes:
        return convert.sent_time(self._now())


def _match(game: Game) -> Match:
    """Return the match of a game, or one that nobody has dealt yet."""
    return game.match or Match(game.settings, 0)
