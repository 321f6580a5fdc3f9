"""Who watches a ladder. A watcher is told the newest, so a slow one costs nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from ronda_server.streams import HEARTBEAT_SECONDS, Watcher
from ronda_server.watching import Watching


class Sign(NamedTuple):
    """What differs where there is anything new."""

    sequence: int
    state: str
    problem: str


class Standing(NamedTuple):
    """How all stand."""


class Changed(NamedTuple):
    """What has changed after a number."""

    after: int


class Quiet(NamedTuple):
    """Nothing has happened."""

    sequence: int


class Ended(NamedTuple):
    """The stream ends: the server leaves."""

    sequence: int


Update = Standing | Changed | Quiet | Ended


class Audience(Watching[Update]):
    """The watchers of one ladder."""

    def __init__(self, sign: Callable[[], Sign], knows: Callable[[int], bool]) -> None:
        """Begin; `sign` says what there is now, `knows` whether changes since then are known."""
        super().__init__()
        self._sign = sign
        self._knows = knows

    async def _follow(self, watcher: Watcher, after: int) -> AsyncIterator[Update]:
        seen = self._sign()
        if not self._knows(after):
            yield Standing()
        elif after == seen.sequence:
            yield Quiet(after)
        else:
            yield Changed(after)
        while True:
            now = self._sign()
            if seen != now:
                before, seen = seen, now
                yield Changed(before.sequence)
            elif self._draining:
                yield Ended(seen.sequence)
                return
            elif not await watcher.rest(HEARTBEAT_SECONDS):
                yield Quiet(seen.sequence)
