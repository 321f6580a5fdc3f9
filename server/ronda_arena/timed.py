"""Seats whose decisions are timed: for reports, and never for a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level
from ronda_arena.seat import Seat
from ronda_arena.seating import Seating
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.api import Event, SeatInfo, View
from ronda_bots.registry import BotInfo
from ronda_core.cards import Card

_T = TypeVar("_T")


class TimedSeating:
    """Seats bots as another seating does, and keeps the seats of the match at hand."""

    def __init__(self, seating: Seating) -> None:
        self._seating = seating
        self.want = seating.want
        self.granted = seating.granted
        self.report = seating.report
        self.seats: list[TimedSeat] = []
        """Of the match at hand, in the order in which they were made."""

    def level(self, info: BotInfo) -> Level:
        """Return how a bot is run."""
        return self._seating.level(info)

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        """Make a bot."""
        made = TimedSeat(self._seating.sit(info, seat, seed, level, clock))
        self.seats.append(made)
        return made


class TimedSeat:
    """Hands everything on to a seat, and adds up what its decisions take."""

    __slots__ = (
        "_seat",
        "_worker",
        "decides",
        "decisions",
        "identity",
        "isolation",
        "longest",
        "observes",
        "seconds",
    )

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._worker = seat if isinstance(seat, WorkerSeat) else None
        self.identity = seat.identity
        self.isolation = seat.isolation
        self.observes = seat.observes
        self.decides = seat.decides
        self.decisions = 0
        self.seconds = 0.0
        self.longest = 0.0

    @property
    def time_left(self) -> float | None:
        """Seconds that it has for the next decision."""
        return self._seat.time_left

    def play(self, view: View) -> Card:
        """Return the card that the bot plays."""
        return self._timed(self._seat.play, view)

    def declare(self, view: View) -> bool:
        """Return whether the bot declares."""
        return self._timed(self._seat.declare, view)

    def tell(self, events: Iterable[Event]) -> None:
        """Keep what happened for the bot."""
        self._seat.tell(events)

    def finish(self) -> BotFaultError | None:
        """Tell the bot how it ended, and end it."""
        return self._seat.finish()

    def close(self) -> None:
        """End the bot at once."""
        self._seat.close()

    def _timed(self, ask: Callable[[View], _T], view: View) -> _T:
        began = time.perf_counter()
        try:
            return ask(view)
        finally:
            took = time.perf_counter() - began
            if self._worker is not None:
                took = self._worker.seconds
            self.decisions += 1
            self.seconds += took
            self.longest = max(self.longest, took)
