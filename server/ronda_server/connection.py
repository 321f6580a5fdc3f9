"""One stream of a remote bot: what it is told, in which order, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Final

from ronda.v1.bot_service_pb2 import AnswerRejected, ConnectionEnded
from ronda_server import frames
from ronda_server.remote import Remotes
from ronda_server.remote_bot import Ending, Place, Rejection, RemoteBot

HEARTBEAT_SECONDS: Final = 10.0
_BEHIND: Final = 64
"""Events that a stream may fall behind before it is told no more of what it missed."""
_NOTES: Final = 64
"""Rejections that wait to be read; with more, no answer is read any more."""

_REASONS: Final = {
    Rejection.UNKNOWN_DECISION: AnswerRejected.REASON_UNKNOWN_DECISION,
    Rejection.LATE: AnswerRejected.REASON_LATE,
    Rejection.ALREADY_ANSWERED: AnswerRejected.REASON_ALREADY_ANSWERED,
    Rejection.MATCH_OVER: AnswerRejected.REASON_MATCH_OVER,
}


class Connection:
    """What waits to be told on one stream: notes, and seats of which there is something to tell."""

    def __init__(self, remotes: Remotes, key_id: str) -> None:
        self.key_id = key_id
        self.ready = False
        self._remotes = remotes
        self._now: Callable[[], int] = remotes.now
        self._seats: dict[Place, int] = {}
        """Each with the number up to which its events are told though they are many."""
        self._notes: deque[bytes] = deque()
        self._caught_up = False
        self._handing: Ending | None = None
        """An end that is on its way to the stream."""
        self._woken: asyncio.Future[bool] | None = None
        self._room = asyncio.Event()
        self._rested = False
        self._timer: asyncio.TimerHandle | None = None
        self._ended: ConnectionEnded.Reason.ValueType | None = None
        self._problem: BaseException | None = None

    def wake(self, place: Place) -> None:
        """See what there is to tell of a seat."""
        if place not in self._seats:
            self._seats[place] = 0
            self._wake()

    def look(self) -> None:
        """See what there is to tell of no seat in particular."""
        self._wake()

    def taken_over(self) -> None:
        """End, because another stream speaks for the bot."""
        self._end(ConnectionEnded.REASON_TAKEN_OVER)

    def revoked(self) -> None:
        """End, because the key is void."""
        self._end(ConnectionEnded.REASON_KEY_REVOKED)

    def drain(self) -> None:
        """End, because the server leaves."""
        self._end(ConnectionEnded.REASON_DRAINING)

    def left(self) -> None:
        """End, because the bot says no more."""
        self._end(ConnectionEnded.REASON_BOT_LEFT)

    def fail(self, problem: BaseException) -> None:
        """End with an error."""
        self._problem = self._problem or problem
        self._wake()

    async def reject(self, decision_id: str, why: Rejection) -> None:
        """Tell that an answer was dropped; wait while too much of that is unread."""
        self._remotes.metrics.remote_rejected.labels(why.value).inc()
        while len(self._notes) >= _NOTES:
            self._room.clear()
            await self._room.wait()
        self._notes.append(frames.rejected(decision_id, _REASONS[why]))
        self._wake()

    async def frames(self, bot: RemoteBot) -> AsyncIterator[bytes]:
        """Yield what is told, to the end of the stream; the bot is `bot` by now."""
        self._beat()
        yield self._sent() + frames.welcome(bot, HEARTBEAT_SECONDS)
        while True:
            self._handing = None  # who asks for the next message has been handed the last one
            if self._problem:
                raise self._problem
            if self._ended is not None:
                yield self._sent() + frames.ended(self._ended)
                return
            if self._notes:
                note = self._notes.popleft()
                self._room.set()
                yield self._sent() + note
            elif bot.endings:
                yield self._over(bot.endings.popleft())
            elif self._is_caught_up():
                yield self._sent() + frames.caught_up()
            elif self._seats:
                place = next(iter(self._seats))
                frame = self._next(bot, place, self._seats.pop(place))
                if frame:
                    yield frame
            elif not await self._rest():
                yield self._sent() + frames.alive()

    def close(self, bot: RemoteBot) -> None:
        """Beat no more, and give back the end that was not handed over for sure."""
        if self._timer:
            self._timer.cancel()
        if self._handing:
            bot.keep(self._handing)

    def _is_caught_up(self) -> bool:
        """Say, once, that every seat has been told of which this stream has to tell."""
        if self._caught_up or not self._remotes.loaded:
            return False
        self._caught_up = all(place.started for place in self._seats)
        return self._caught_up

    def _over(self, ending: Ending) -> bytes:
        self._handing = ending
        return self._sent() + frames.over(ending)

    def _next(self, bot: RemoteBot, place: Place, until: int) -> bytes | None:
        """Return what is to be told next of a seat, None if there is nothing more."""
        live = place.live
        audience = live.audience
        game = live.game
        if not place.started:
            if not game.dealer:  # nobody is told of a match that waits, nor if it never begins
                if game.over:
                    self._remotes.told_all(place)
                return None
            place.started = place.seen = True
            self._seats[place] = audience.last
            return self._sent() + frames.started(game, place.seat)
        if not bot.about.with_events or audience.last - max(place.at, until) > _BEHIND:
            place.at = audience.last
        if place.at < audience.last:
            place.at += 1
            self._seats[place] = until
            event = audience.event(place.at, place.seat)
            return self._sent() + frames.event(game.id, place.seat, event)
        if game.over:
            return self._over(self._remotes.told_all(place))
        if not place.decides or place.asked == game.opened:
            return None
        view = audience.view_parts(place.seat)
        now = self._now()
        place.ask(now, self._remotes.judge.due(live))
        return frames.sent_time(now) + frames.decision(place, view, bot.round_trip)

    def _end(self, reason: ConnectionEnded.Reason.ValueType) -> None:
        self.ready = False
        if self._ended is None:
            self._ended = reason
        self._wake()

    def _sent(self) -> bytes:
        return frames.sent_time(self._now())

    def _wake(self) -> None:
        if self._woken and not self._woken.done():
            self._woken.set_result(True)

    async def _rest(self) -> bool:
        """Wait until there is something to tell; False when nothing came for long."""
        self._woken = asyncio.get_running_loop().create_future()
        self._rested = False
        try:
            return await self._woken
        finally:
            self._woken = None

    def _beat(self) -> None:
        """Wake a stream that has rested since the last beat: one timer serves all its rests."""
        if self._rested and self._woken and not self._woken.done():
            self._woken.set_result(False)
        self._rested = True
        self._timer = asyncio.get_running_loop().call_later(HEARTBEAT_SECONDS / 2, self._beat)
