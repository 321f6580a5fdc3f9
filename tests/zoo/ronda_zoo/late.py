"""Bots that take their time, or that of others."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path

from ronda_zoo.visitor import Visitor, tell

from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_core.view import MatchEnded


class SlowStart(Visitor):
    """Sleeps while it is made."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        time.sleep(3600)  # never to answer


class Hangs(Visitor):
    """Sleeps for an hour."""

    def play(self, view: View) -> Card:
        time.sleep(3600)  # never to answer
        return view.hand[0]


class HangsInDeclare(Visitor):
    """Sleeps for an hour before it declares."""

    def declare(self, view: View) -> bool:
        time.sleep(3600)  # never to answer
        return False


class HangsInC(Visitor):
    """Computes a power that takes minutes, in one call that never lets go of the interpreter."""

    def play(self, view: View) -> Card:
        pow(3, 10**9, 7**130000)
        return view.hand[0]


class HangsAtTheEnd(Visitor):
    """Sleeps for an hour when it is told how the match ended."""

    def observe(self, event: Event) -> None:
        if isinstance(event, MatchEnded):
            time.sleep(3600)  # never to answer


class BusyLoop(Visitor):
    """Counts for ever."""

    def play(self, view: View) -> Card:
        while True:
            pass


class BusyThreads(Visitor):
    """Counts for ever in eight threads."""

    def play(self, view: View) -> Card:
        for _ in range(8):
            threading.Thread(target=_count_for_ever, daemon=True).start()
        _count_for_ever()
        return view.hand[0]


def _count_for_ever() -> None:
    while True:
        pass


class IgnoresSignals(Visitor):
    """Ignores every signal that can be ignored, and hangs."""

    def play(self, view: View) -> Card:
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        time.sleep(3600)  # never to answer
        return view.hand[0]


class LateAnswer(Visitor):
    """Answers rightly, a little after its time."""

    def play(self, view: View) -> Card:
        assert view.clock is not None
        time.sleep(view.clock + 0.02)
        return view.hand[0]


class ThinksOnOthersTime(Visitor):
    """Goes on computing in a thread while others are asked."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        self._answered = 0.0
        self._computed = 0.0
        self._pause = 0.0
        tell("tried")
        threading.Thread(target=self._compute, daemon=True).start()

    def _compute(self) -> None:
        """Note for how long at most nothing was computed."""
        self._computed = time.monotonic()
        while True:
            now = time.monotonic()
            self._pause = max(self._pause, now - self._computed)
            self._computed = now

    def play(self, view: View) -> Card:
        now = time.monotonic()
        away = now - self._answered if self._answered else 0.0
        pause = max(self._pause, now - self._computed)
        # The other seat takes 0.3 s twice: who is stopped pauses for all of it.
        if away > 0.25 and pause < away / 2:
            tell("leak", f"it paused for {pause:.3f} of {away:.3f} s")
        self._pause = 0.0
        self._answered = time.monotonic()
        return view.hand[0]


class Ponders(Visitor):
    """Honest: takes 0.3 s for each of its second and third plays."""

    _plays = 0

    def play(self, view: View) -> Card:
        self._plays += 1
        if self._plays in (2, 3):
            time.sleep(0.3)
        return view.hand[0]


class Diligent(Visitor):
    """Honest: uses threads, an event loop, a pool, late imports and what it has brought along."""

    def play(self, view: View) -> Card:
        import asyncio  # noqa: PLC0415 -- the modules of Python can be imported at any time
        import concurrent.futures  # noqa: PLC0415 -- the same
        import sqlite3  # noqa: PLC0415 -- the same

        async def think() -> int:
            await asyncio.sleep(0.001)
            return await asyncio.to_thread(len, view.hand)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            squares = list(pool.map(lambda number: number**2, range(20)))
        with sqlite3.connect(":memory:") as database:
            row = database.execute("select ?", (squares[3],)).fetchone()
        known = Path(__file__).with_name("where.json").read_bytes()
        if asyncio.run(think()) == len(view.hand) and row == (9,) and known:
            tell("worked", f"{os.cpu_count()} {len(os.sched_getaffinity(0))} {time.thread_time()}")
        return view.hand[0]


class SleepsMostOfItsTime(Visitor):
    """Honest: sleeps nine tenths of what it has for a decision."""

    def play(self, view: View) -> Card:
        if view.clock is not None:
            time.sleep(0.9 * view.clock)
        return view.hand[0]


class Secretive(Visitor):
    """Honest: holds something that others look for, in its memory and its environment."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        self._secret = b"".join([b"what the sibling ", b"holds ", str(os.getpid()).encode()])
