"""The one clock of a server: wall time where it begins, and steady from there.

A wall clock is set: by an hour, by a second, back and forth. Nobody may win or lose by that, so it
is read once, and a clock that nobody can set counts on from there. That one stands still while the
whole machine does: a machine that was suspended has made nobody late.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog
from prometheus_client import Gauge

_log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 10.0
_BEAT_MICROS: Final = 20_000
_HELD_MICROS: Final = 50_000
"""From one beat of a loop to the next: a loop that takes longer was held up."""
_STEP_MICROS: Final = 1_000_000
"""By how much the wall clock has to move before that is told."""


def wall_clock() -> int:
    """Return what the machine takes the time to be, in microseconds since 1970."""
    return time.time_ns() // 1000


class SteadyClock:
    """Returns the time in microseconds since 1970, as the wall clock had it once, and never back.

    It follows what NTP does to the speed of the clock, and nothing that sets it.
    """

    def __init__(
        self,
        wall: Callable[[], int] = wall_clock,
        steady: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._steady = steady
        self._anchor = wall() * 1000 - steady()

    def __call__(self) -> int:
        """Return the time."""
        return (self._anchor + self._steady()) // 1000


class Offset:
    """How far the wall clock is ahead of the server's; tells each step of it once."""

    def __init__(
        self, now: Callable[[], int], gauge: Gauge, wall: Callable[[], int] = wall_clock
    ) -> None:
        self._now = now
        self._wall = wall
        self._gauge = gauge
        self._told = 0

    def look(self) -> None:
        """Measure, and say so if the wall clock was set since that was last said."""
        offset = self._wall() - self._now()
        self._gauge.set(offset / 1e6)
        if abs(offset - self._told) > _STEP_MICROS:
            self._told = offset
            _log.warning("the wall clock was set", ahead_seconds=round(offset / 1e6, 3))

    async def watch(self) -> None:
        """Look now and then, for ever."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_SECONDS)  # nothing says when a clock is set


class HeldUp:
    """How long the loop was held up, in all, in microseconds: time that is taken from nobody.

    While it is, nothing is read that has come, and every timer is late. So who judges adds to a
    time what this has grown by since the time began. Where nothing beats it stays 0.
    """

    def __init__(
        self, tell: Callable[[float], None], steady: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._tell = tell
        self._steady = steady
        self._beaten = 0
        self._total = 0

    def __call__(self) -> int:
        """Return how long that was until now: what goes on and was not noticed yet included."""
        return self._total + self._since()

    def beat(self) -> None:
        """Note that the loop has come round."""
        since = self._since()
        self._total += since
        self._beaten = self._steady()
        self._tell(since / 1e6)

    async def watch(self) -> None:
        """Beat for ever."""
        while True:
            self.beat()
            await asyncio.sleep(_BEAT_MICROS / 1e6)  # nothing else says how late the loop is

    def _since(self) -> int:
        if not self._beaten:
            return 0
        took = (self._steady() - self._beaten) // 1000
        return took - _BEAT_MICROS if took > _HELD_MICROS else 0
