"""A ladder as it grows: time and memory a game, and the time to find who meets next.

`python -m benchmarks.ladder [GAMES]` plays one-hand games of trusted bots, to 100,000 unless told
otherwise, and tells at every power of ten what a game has cost since the one before.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.rows import Row, at_most
from ronda_arena.ladder import pairing
from ronda_arena.ladder.facts import Joined
from ronda_arena.ladder.plan import LadderPlan, made
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import claim
from ronda_arena.tournament.executors.here import Here
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import BotInfo, Registry, assemble
from ronda_core.rules import settings

POOLS = (2, 5, 20, 50, 100, 200)
PAIRINGS = 2_000


class Step(NamedTuple):
    """What games have cost since the step before."""

    games: int
    played: float
    """CPU seconds a game, all in all."""
    folded: float
    """Those of reading the log again, a game."""
    memory: int
    """Bytes of the process at its greatest."""
    disk: int


def _plan() -> LadderPlan:
    return made("bench", settings("playtash", 2, None, 1), anchors=["random@1=18"])


def registry(count: int = 20) -> Registry:
    """Return so many quick bots under names of their own."""
    kinds = (Random, Greedy)
    return assemble(
        [BotInfo(f"bot{at}", "1", "ronda", "0", "", kinds[at % 2]) for at in range(count)],
        [],
    )


def curve(most: int) -> Iterator[Step]:
    """Play a ladder to so many games; yield what a game costs at every power of ten."""
    bots = registry()
    with tempfile.TemporaryDirectory() as folder, claim(Path(folder)) as held:
        store = held.begin(_plan())
        run = Run(store, lambda: bots)
        games = 1000
        while games <= most:
            before, began = run.ladder.games, time.process_time()
            run.play(Here, games)
            new = run.ladder.games - before
            played = (time.process_time() - began) / new
            began = time.process_time()
            again = Ladder(store.plan)
            for fact in store.facts():
                again.take(fact)
            folded = (time.process_time() - began) / again.games
            assert again.games == run.ladder.games
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            disk = sum(path.stat().st_size for path in Path(folder).iterdir())
            yield Step(run.ladder.games, played, folded, memory, disk)
            games *= 10


def pairing_seconds(count: int, seats: int = 2) -> float:
    """Return the CPU seconds that finding the next pairing takes among so many bots."""
    ladder = Ladder(_plan())
    of = random.Random(1)
    for at in range(count):
        ladder.take(Joined(f"bot{at}@1", f"owner{at}", 0))
    pool = ladder.pool
    pool.mean[:count] = [of.gauss(25, 5) for _ in range(count)]
    began = time.process_time()
    for number in range(PAIRINGS):
        found = pairing.choose(pool, seats, pairing.draw(bytes(32), number))
        assert found is not None
    return (time.process_time() - began) / PAIRINGS


def rows() -> list[Row]:
    """Return what must hold: a game and a pairing cost the same however large the ladder is."""
    first, last = curve(10_000)
    few, many = pairing_seconds(20), pairing_seconds(200)
    return [
        at_most(
            "ladder: a game after 1,000 and after 10,000",
            [last.played / first.played],
            "x time",
            1.3,
            1.1,
            f"{first.played * 1e3:.2f} and {last.played * 1e3:.2f} ms of CPU a one-hand game, its"
            f" {last.folded * 1e6:.0f} us in the standings among them",
        ),
        at_most(
            "ladder: the next pairing of 200 bots against 20",
            [many / few],
            "x time",
            2.0,
            1.5,
            f"{few * 1e6:.0f} and {many * 1e6:.0f} us of CPU",
        ),
    ]


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for count in POOLS:
        print(f"{count:4d} bots: {pairing_seconds(count) * 1e6:.0f} us to find the next pairing")
    for step in curve(most):
        print(
            f"{step.games:8d} games: {step.played * 1e3:.3f} ms a game since the line before,"
            f" {step.folded * 1e6:.0f} us a game to read the log again,"
            f" {step.memory / 1e6:.0f} MB at most, {step.disk / step.games:.0f} bytes a game kept",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
