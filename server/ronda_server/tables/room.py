"""Which hosted games may begin: as many as there is room for, of bots that are there.

A game waits for a remote bot that is away, but not for ever: each bot has so many seconds for which
games wait for it, and has them anew whenever it has finished one without a fault. Who has used them
up does not show up, until it does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ronda_server.remote import Remotes
from ronda_server.remote_bot import RemoteBot


class Limits(NamedTuple):
    """How much of a server hosted games may have."""

    at_once: int = 64
    workers: int = 16
    """Processes of bots at all tables together; one table always has what it needs."""
    absence: float = 60.0
    """Seconds for which games wait for a remote bot that is away."""


class Turn:
    """A game that waits to begin."""

    def __init__(self, seats: Counter[str], workers: int) -> None:
        self.seats = seats
        """Of remote bots."""
        self.workers = workers
        self.promised: list[tuple[RemoteBot, int]] = []
        self.granted: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Empty, or the identity of who does not come."""


class _Patience:
    def __init__(self, left: float) -> None:
        self.left = left
        self.since: float | None = None
        """Since when games wait."""

    def rest(self, now: float) -> None:
        """Wait no more."""
        if self.since is not None:
            self.left -= now - self.since
            self.since = None


class Room:
    """Whose turn it is."""

    def __init__(self, remotes: Remotes, limits: Limits) -> None:
        self._remotes = remotes
        self._limits = limits
        self._queue: list[Turn] = []
        self._tables = 0
        self._workers = 0
        self._patience: dict[str, _Patience] = {}
        self._looking = False
        remotes.listeners.append(self.look)

    async def wait(self, seats: Counter[str], workers: int) -> Turn:
        """Return when a game may begin; its seats are promised until `begun`."""
        turn = Turn(seats, workers)
        self._queue.append(turn)
        self.look()
        try:
            await turn.granted
        except asyncio.CancelledError:
            if turn in self._queue:
                self._queue.remove(turn)
            elif not turn.granted.cancelled():
                self.begun(turn)
            raise
        return turn

    def begun(self, turn: Turn) -> None:
        """Note that a match has its seats by now, or will never have them."""
        if not turn.granted.result():
            self._tables -= 1
            self._workers -= turn.workers
            for bot, seats in turn.promised:
                bot.promised -= seats
        self.look()

    @contextmanager
    def table(self, workers: int) -> Iterator[None]:
        """Keep room for a match for as long as it is played."""
        self._tables += 1
        self._workers += workers
        try:
            yield
        finally:
            self._tables -= 1
            self._workers -= workers
            self.look()

    def finished(self, identity: str) -> None:
        """Note that a bot has finished a game without a fault."""
        self._patience.pop(identity, None)

    def look(self) -> None:
        """See soon who may begin."""
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        now = asyncio.get_running_loop().time()
        away: set[str] = set()
        left = []
        for turn in self._queue:
            if turn.granted.cancelled():
                continue
            verdict = self._verdict(turn, now, away)
            if verdict is None:
                left.append(turn)
                continue
            if not verdict:
                self._promise(turn)
            turn.granted.set_result(verdict)
        self._queue = left
        for identity, patience in self._patience.items():
            if identity not in away:
                patience.rest(now)

    def _verdict(self, turn: Turn, now: float, away: set[str]) -> str | None:
        """Return what a turn comes to; None while it waits."""
        there = True
        for identity, seats in turn.seats.items():
            bot = self._remotes.there(identity)
            if bot is None or bot.max_seats < seats:  # as good as away: it never has them
                away.add(identity)
                if self._gone(identity, now):
                    return identity
            there = there and bot is not None and bot.room >= seats
        return "" if there and self._has_room(turn) else None

    def _has_room(self, turn: Turn) -> bool:
        if self._tables >= self._limits.at_once:
            return False
        workers = self._workers + turn.workers
        return not turn.workers or not self._workers or workers <= self._limits.workers

    def _gone(self, identity: str, now: float) -> bool:
        """Say whether nobody waits for a bot any more that is away."""
        patience = self._patience.setdefault(identity, _Patience(self._limits.absence))
        if patience.since is None:
            patience.since = now
            if patience.left > 0:
                asyncio.get_running_loop().call_later(patience.left, self.look)
        return now - patience.since >= patience.left

    def _promise(self, turn: Turn) -> None:
        self._tables += 1
        self._workers += turn.workers
        for identity, seats in turn.seats.items():
            bot = self._remotes.there(identity)
            assert bot
            bot.promised += seats
            turn.promised.append((bot, seats))
