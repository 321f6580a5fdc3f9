"""How fast a tournament is played, and how long it will take at that."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """The pace of one driver: from its first word on how far it is to its last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: tuple[float, int, int] | None = None
        self._last = (0.0, 0, 0)

    def step(self, blocks: int, games: int) -> None:
        """Take in how far it is."""
        self._last = (self._clock(), blocks, games)
        self._first = self._first or self._last

    @property
    def games_a_second(self) -> float:
        """Games that are over in a second; 0 where that cannot be said yet."""
        return self._rate(2)

    def left(self, blocks: int | None) -> float | None:
        """Return the seconds until so many blocks are over; None where that cannot be said."""
        rate = self._rate(1)
        return None if blocks is None or not rate else max(0, blocks - self._last[1]) / rate

    def _rate(self, what: int) -> float:
        if self._first is None or self._last[0] <= self._first[0]:
            return 0.0
        return (self._last[what] - self._first[what]) / (self._last[0] - self._first[0])
