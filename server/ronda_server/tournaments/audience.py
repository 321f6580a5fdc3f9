"""Who watches a tournament. A watcher is told the newest, so a slow one costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from ronda_server.streams import HEARTBEAT_SECONDS, Watcher
from ronda_server.tournaments.book import Progress
from ronda_server.watching import Watching

OVER: Final = "over"
CANCELLED: Final = "cancelled"
DRAINING: Final = "draining"

HALTED: Final = "halted"
"""The state of a tournament that cannot be played for now."""


class Standing(NamedTuple):
    """What a tournament has come to, with the number of it."""

    sequence: int


class Moved(NamedTuple):
    """How far it is, with the number of the last standing."""

    progress: Progress


class Quiet(NamedTuple):
    """Nothing has happened."""

    sequence: int


class Ended(NamedTuple):
    """The stream ends."""

    why: str
    sequence: int


Update = Standing | Moved | Quiet | Ended


class Audience(Watching[Update]):
    """The watchers of one tournament, and what is new to them."""

    def __init__(self) -> None:
        super().__init__()
        self.sequence = 1
        """The number of the last standing."""
        self.progress = Progress()
        self.state = ""
        self.ending = ""
        """Why it is over, once its last standing is there: `over` or `cancelled`."""

    @property
    def _now(self) -> tuple[Progress, str]:
        return self.progress, self.state

    async def _follow(self, watcher: Watcher, after: int) -> AsyncIterator[Update]:
        seen = after if after <= self.sequence else 0
        moved: tuple[Progress, str] | None = self._now
        if seen == self.sequence:
            yield Quiet(seen)
            moved = None if self.state == HALTED else moved  # who has seen all may not know that
        while True:
            if seen < self.sequence:
                seen, moved = self.sequence, self._now
                yield Standing(seen)
            elif self.ending:
                yield Ended(self.ending, seen)
                return
            elif self._draining:
                yield Ended(DRAINING, seen)
                return
            elif moved != self._now:
                moved = self._now
                yield Moved(self.progress)
            elif not await watcher.rest(HEARTBEAT_SECONDS):
                yield Quiet(seen)
