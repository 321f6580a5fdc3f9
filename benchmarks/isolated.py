"""Bots in workers: a decision against a raw round trip, and starts against a bare interpreter."""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks.rows import Row, at_most, show
from ronda_arena.clock import Clock
from ronda_arena.discovery import discover
from ronda_arena.isolation import Level
from ronda_arena.seat import Seat
from ronda_arena.seating import Isolated, seat_info
from ronda_arena.table import play_match
from ronda_arena.worker import wire
from ronda_arena.worker.nursery import Nursery
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.api import SeatInfo, View
from ronda_bots.registry import BotInfo, Registry
from ronda_core.rules import Settings, settings

_RUNS = 9
_STARTS = 25
_HANDS = 20
_TABLES = (("playtash", 2), ("cafe", 4))


class _Making(Isolated):
    """Knows what making the seats took: a start has a row of its own."""

    seconds = 0.0

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        began = time.perf_counter()
        made = super().sit(info, seat, seed, level, clock)
        self.seconds += time.perf_counter() - began
        return made


def _round_trip(size: int) -> float:
    """Return the seconds of a bare round trip: so many bytes there, seven back."""
    mine, its = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        mine.close()
        while its.recv(1 << 16):
            its.send(b"seven b")
        os._exit(0)
    its.close()
    question = bytes(size)
    times = []
    for _ in range(2000):
        began = time.perf_counter()
        mine.send(question)
        mine.recv(1 << 13)
        times.append(time.perf_counter() - began)
    mine.close()
    os.waitpid(pid, 0)
    return statistics.median(times)


def _decision(seating: _Making, rules: Settings, bots: Sequence[BotInfo], seed: int) -> float:
    """Return the seconds of a decision in a match of many hands: all that is done for it."""
    seating.seconds = 0.0
    began = time.perf_counter()
    record = play_match("m", rules, bots, bytes([seed]) * 32, now=lambda: "", seating=seating)
    took = time.perf_counter() - began - seating.seconds
    assert record.fault is None
    assert record.isolation == ("sandbox",) * rules.players
    return took / sum(len(hand.plays) for hand in record.hands)


def _size(rules: Settings) -> int:
    """Return the length of a question in the middle of a hand."""
    lengths: list[int] = []

    class Measures:
        version = "1"

        def __init__(self, seat: SeatInfo, rng: object) -> None: ...

        def play(self, view: View) -> int:
            lengths.append(wire.ASK.size + len(wire.pack_decision(view, [])))
            return view.hand[0]

    bot = BotInfo("measures", "1", "ronda", "", "", Measures)  # type: ignore[arg-type] # a card is a number
    play_match("m", rules, [bot] * rules.players, bytes(32), now=lambda: "")
    return round(statistics.mean(lengths))


def _decisions(registry: Registry, nursery: Nursery) -> list[Row]:
    made = []
    seating = _Making(nursery)
    for name, players in _TABLES:
        rules = settings(name, players, length=_HANDS)
        bots = [registry.find("random")] * players
        size = _size(rules)
        ratios, micros = [], []
        for run in range(_RUNS):
            bare = _round_trip(size)
            took = _decision(seating, rules, bots, run)
            ratios.append(took / bare)
            micros.append(took * 1e6)
        row = f"isolated decision, {name} {players}"
        detail = (
            f"{statistics.median(micros):.0f} us, question {size} B, stop and continue included"
        )
        made.append(at_most(row, ratios, "x a raw round trip", 5, 3, detail))
    return made


def _starts(registry: Registry, nursery: Nursery) -> list[Row]:
    rules = settings("playtash", 2)
    bot = registry.find("random")

    def start(workers: Nursery) -> float:
        began = time.perf_counter()
        seat = WorkerSeat(bot, seat_info(rules, 0, ("a", "b")), 1, workers, Level.SANDBOX)
        took = time.perf_counter() - began
        seat.close()
        return took

    def cold() -> float:
        with Nursery() as workers:
            return start(workers)

    ways: list[tuple[str, Callable[[], float], float, float]] = [
        ("cold", cold, 8, 5),
        ("warm", lambda: start(nursery), 1, 0.5),
    ]
    made = []
    for way, measure, must, aim in ways:
        ratios, millis = [], []
        for _ in range(_STARTS):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            bare = time.perf_counter() - began
            took = measure()
            ratios.append(took / bare)
            millis.append(took * 1e3)
        detail = f"{statistics.median(millis):.1f} ms until its bot is made, in a sandbox"
        row = f"isolated bot, {way} start"
        made.append(at_most(row, ratios, "x python -c pass", must, aim, detail))
    return made


def rows() -> list[Row]:
    """Measure decisions and starts of sandboxed workers."""
    with Nursery() as nursery:
        registry = discover(nursery=nursery)
        return [*_decisions(registry, nursery), *_starts(registry, nursery)]


if __name__ == "__main__":
    show(rows())
