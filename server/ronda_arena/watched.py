"""A seat that is looked at while it plays: what decisions take, and how much memory it holds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level
from ronda_arena.seat import Seat
from ronda_arena.seating import InProcess, Seating
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.api import Event, SeatInfo, View
from ronda_bots.registry import BotInfo
from ronda_core.cards import Card

_T = TypeVar("_T")

_EVERY: Final = 18
"""Decisions from one look at the memory to the next: about a hand at two players."""


@dataclass(slots=True)
class Watch:
    """What was seen of one bot in many matches: seconds, and bytes of the life of one worker."""

    plays: list[float] = field(default_factory=list)
    declarations: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    """Of the worker that was looked at most often."""
    methods: tuple[str, ...] = ("play",)
    asked: int = 0
    """Decisions of the seat that was made last."""

    def end_life(self, memory: list[int]) -> None:
        """Keep what was seen of one worker, if it is the most so far."""
        if len(memory) > len(self.memory):
            self.memory = memory


class WatchedSeating:
    """Seats one bot to be watched, and all others in this process."""

    def __init__(self, subject: BotInfo, seating: Seating, watch: Watch) -> None:
        self._subject = subject
        self._seating = seating
        self._here = InProcess()
        self.watch = watch
        self.want = seating.want
        self.granted = seating.granted
        self.report = seating.report

    def level(self, info: BotInfo) -> Level:
        """Return how a bot is run."""
        return (self._seating if info is self._subject else self._here).level(info)

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        """Make a bot; of the one that is watched it is known what that took."""
        if info is not self._subject:
            return self._here.sit(info, seat, seed, level, clock)
        self.watch.asked = 0
        began = time.perf_counter()
        made = self._seating.sit(info, seat, seed, level, clock)
        self.watch.starts.append(time.perf_counter() - began)
        optional = (("declare", made.decides), ("observe", made.observes))
        self.watch.methods = ("play", *(name for name, there in optional if there))
        return _WatchedSeat(made, self.watch)


class _WatchedSeat:
    """Hands everything on to a seat, and looks at it."""

    def __init__(self, seat: Seat, watch: Watch) -> None:
        self._seat = seat
        self._watch = watch
        self._worker = seat if isinstance(seat, WorkerSeat) else None
        self._decisions = 0
        self._memory: list[int] = []
        self.identity = seat.identity
        self.isolation = seat.isolation
        self.observes = seat.observes
        self.decides = seat.decides

    @property
    def time_left(self) -> float | None:
        """Seconds that it has for the next decision."""
        return self._seat.time_left

    def play(self, view: View) -> Card:
        """Return the card that the bot plays."""
        return self._timed(self._seat.play, view, self._watch.plays)

    def declare(self, view: View) -> bool:
        """Return whether the bot declares."""
        return self._timed(self._seat.declare, view, self._watch.declarations)

    def tell(self, events: Iterable[Event]) -> None:
        """Keep what happened for the bot."""
        self._seat.tell(events)

    def finish(self) -> BotFaultError | None:
        """Tell the bot how it ended, and end it."""
        self._look()
        fault = self._seat.finish()
        self.close()
        return fault

    def close(self) -> None:
        """End the bot at once."""
        self._seat.close()
        self._watch.end_life(self._memory)

    def _timed(self, ask: Callable[[View], _T], view: View, into: list[float]) -> _T:
        if self._decisions % _EVERY == 0:
            self._look()
        self._decisions += 1
        self._watch.asked = self._decisions
        began = time.perf_counter()
        try:
            return ask(view)
        finally:
            took = time.perf_counter() - began
            into.append(self._worker.seconds if self._worker else took)

    def _look(self) -> None:
        """Note how much memory the worker holds now, where the system tells it."""
        if self._worker is None:
            return
        try:
            told = Path(f"/proc/{self._worker.pid}/statm").read_text(encoding="ascii")
        except OSError:  # it has ended, or there is no /proc
            return
        self._memory.append(int(told.split()[1]) * os.sysconf("SC_PAGE_SIZE"))
