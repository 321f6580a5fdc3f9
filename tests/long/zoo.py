"""Hostile bots beside honest ones, and honest sleepers at full load: `make zoo`.

Exit code 0 if no hostile bot harmed a match beside its own, else 1. How often sleepers are late is
printed and not judged: it is the machine's to say.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Final

from tests.zoo import harm
from tests.zoo.keeper import LIMITS, Zoo, keeper, open_zoo

from ronda_arena.clock import Clock
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated
from ronda_arena.table import play_match
from ronda_arena.worker.nursery import Nursery
from ronda_core.match import Cause
from ronda_core.rules import settings

_SLEEPER: Final = "sleeps-most-of-its-time"


def main() -> int:
    """Run what the command line asks for, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.long.zoo", description=__doc__)
    parser.add_argument("--matches", type=int, default=200, help="with a hostile bot each")
    parser.add_argument("--sleepers", type=float, default=60, help="seconds of bots that sleep")
    parser.add_argument(
        "--tables", type=int, default=4 * (os.cpu_count() or 1), help="matches of them at once"
    )
    parser.add_argument("--clock", type=Clock.parse, default=Clock(0.5), help="that they have")
    asked = parser.parse_args()
    with open_zoo() as zoo:
        faults = _hostile(zoo, asked.matches)
        if asked.sleepers > 0:
            _sleepers(zoo, asked.sleepers, asked.tables, asked.clock)
    for fault in faults[:50]:
        print(f"FAULT {fault}")
    print("no harm was done" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


def _hostile(zoo: Zoo, matches: int) -> list[str]:
    names = list(itertools.islice(itertools.cycle(harm.harmful(zoo)), matches))
    began = time.monotonic()
    with keeper(zoo, Level.SANDBOX) as host:
        seen = harm.run(zoo, host, names)
    print(f"{seen} in {time.monotonic() - began:.1f} s", flush=True)
    if seen.descriptors[0] != seen.descriptors[1]:
        seen.faults.append(f"descriptors: {seen.descriptors}")
    return seen.faults


def _sleepers(zoo: Zoo, seconds: float, tables: int, clock: Clock) -> None:
    """Play bots that sleep nine tenths of their time, at more tables than there are processors."""
    lock = threading.Lock()
    played = late = decisions = 0
    end = time.monotonic() + seconds
    rules = settings("cafe", 2, length=1)
    bot = zoo.bots[_SLEEPER]
    with Nursery(LIMITS) as nursery:
        seating = Isolated(nursery)

        def table(numbers: Iterator[int]) -> None:
            nonlocal played, late, decisions
            while time.monotonic() < end:
                with lock:
                    number = next(numbers)
                record = play_match(
                    f"sleepers-{number}",
                    rules,
                    (bot, bot),
                    number.to_bytes(32, "big"),
                    now=lambda: "2026-01-01T00:00:00Z",
                    seating=seating,
                    clock=clock,
                )
                with lock:
                    played += 1
                    late += record.fault is not None and record.fault.cause == Cause.TIME
                    decisions += sum(len(hand.plays) for hand in record.hands)

        numbers = itertools.count()
        threads = [threading.Thread(target=table, args=(numbers,)) for _ in range(tables)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(
        f"{tables} tables at once, bots asleep for nine tenths of {clock.per_decision:g} s:"
        f" {late} late of {decisions} decisions in {played} matches",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
