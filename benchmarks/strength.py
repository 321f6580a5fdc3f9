"""How strong each bot is: duplicate deals, every rotation, one number a block.

`python -m benchmarks.strength [--blocks N] [--pairs a:b,...] [--tables cafe-3,...] [--seed S]`

A block is one deal. Two bots at two seats play it from both sides; at four seats as two teams,
both ways; at three seats each sits alone against two of the other, in every seat. What luck gives
in one rotation it takes in another, and the block's mean margin is one number, whatever the
number of its games.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

from ronda_arena.cheater import Cheater, Glimpser, Peeker
from ronda_arena.statistics.intervals import student
from ronda_arena.table import Place, play_match
from ronda_bots.api import Card, SeatInfo, View
from ronda_bots.careful import Careful
from ronda_bots.counter import Counter
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import BotInfo
from ronda_bots.sampler import Sampler
from ronda_bots.solver import Solver
from ronda_core.fair import Entry, seeded_master
from ronda_core.rules import PRESETS, Settings, settings

LADDER = {
    "random": Random,
    "greedy": Greedy,
    "careful": Careful,
    "counter": Counter,
    "sampler": Sampler,
    "solver": Solver,
}
CHEATS: dict[str, type[Cheater]] = {
    "glimpser": Glimpser,
    "peeker": Peeker,
    "cheater": Cheater,
}
"""They see what no seat may: `play` shows them the match."""
PAIRS = [
    *(f"{better}:{worse}" for worse, better in zip(LADDER, [*LADDER][1:], strict=False)),
    "solver:careful",
    *(f"{cheat}:careful" for cheat in CHEATS),
]
TABLES = [f"{name}-{n}" for name, preset in PRESETS.items() for n in preset.players]
CONFIDENCE = 0.99
CHUNK = 5
"""Blocks that a process plays before it reports."""


class Job(NamedTuple):
    pair: str
    table: str
    seed: int
    blocks: range


class Strength(NamedTuple):
    """How far the first of a pair is ahead of the second, in points a hand."""

    pair: str
    table: str
    blocks: int
    mean: float
    half_width: float
    """Of the 99 % interval."""
    milliseconds: dict[str, float]
    """Median time a decision with more than one card, by bot."""

    def __str__(self) -> str:
        times = ", ".join(f"{name} {ms:.2f} ms" for name, ms in self.milliseconds.items())
        sure = "yes" if self.mean > self.half_width else "no"
        return (
            f"{self.pair:18} {self.table:11} {self.blocks:6} {self.mean:+7.2f} ± "
            f"{self.half_width:4.2f}  99 %: {sure:3}  {times}"
        )


def one_hand(table: str) -> Settings:
    """Return the settings of a match of a single hand."""
    rules, players = table.rsplit("-", 1)
    length = 1 if PRESETS[rules].targets else 0
    return settings(rules, int(players), length=length)


class _Timed:
    """A bot whose decisions are timed."""

    def __init__(self, bot: Any, times: list[float]) -> None:
        self._bot = bot
        self._times = times
        if hasattr(bot, "observe"):
            self.observe = bot.observe

    def play(self, view: View) -> Card:
        if len(view.hand) == 1:
            return self._bot.play(view)
        start = time.perf_counter()
        card = self._bot.play(view)
        self._times.append(time.perf_counter() - start)
        return card


class _Entrant:
    """One side of a pair: makes its bots, and keeps their times."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.times: list[float] = []

    def info(self) -> BotInfo:
        kind: Any = CHEATS.get(self.name) or LADDER[self.name]

        def sit(seat: SeatInfo, rng: Any) -> _Timed:
            bot = kind(seat, rng)
            if isinstance(bot, Cheater):
                self.cheaters.append(bot)
            return _Timed(bot, self.times)

        self.cheaters: list[Cheater] = []
        return BotInfo(self.name, kind.version, "ronda", "", "", sit)


def seatings(players: int) -> Iterator[tuple[int, ...]]:
    """Yield who sits where in each game of a block: 0 the first of the pair, 1 the second."""
    for first in (0, 1):
        if players == 3:
            yield from (
                tuple(first if at == seat else 1 - first for at in range(3)) for seat in range(3)
            )
        else:
            yield tuple((seat + first) % 2 for seat in range(players))


def ahead(scores: tuple[int, ...], seating: tuple[int, ...]) -> float:
    """Return by how much the first of the pair is ahead: its mean score a side less the other's."""
    sides = [[score for side, score in enumerate(scores) if seating[side] == who] for who in (0, 1)]
    return fmean(sides[0]) - fmean(sides[1])


def play(job: Job) -> tuple[Job, list[float], dict[str, list[float]]]:
    """Play the blocks of a job; return a margin each."""
    rules = one_hand(job.table)
    master = seeded_master(job.seed)
    entrants = [_Entrant(name) for name in job.pair.split(":")]
    margins = []
    for block in job.blocks:
        games = []
        for rotation, seating in enumerate(seatings(rules.players)):
            infos = [entrant.info() for entrant in entrants]

            def look(match: Any, _events: Any) -> None:
                for entrant in entrants:
                    for cheater in entrant.cheaters:
                        cheater.see(match)

            record = play_match(
                "strength",
                rules,
                [infos[who] for who in seating],
                master,
                now=lambda: "2026-01-01T00:00:00Z",
                place=Place(f"strength-{rules.players}", block, rotation),
                entries=[Entry("strength")],  # the same deals for every pair
                on_step=look if any(entrant.name in CHEATS for entrant in entrants) else None,
            )
            assert record.fault is None, record.fault
            games.append(ahead(record.score, seating))
        margins.append(fmean(games))
    return job, margins, {entrant.name: entrant.times for entrant in entrants}


def measure(
    pairs: list[str], tables: list[str], blocks: int, seed: int, workers: int
) -> Iterator[Strength]:
    """Yield a row for each pair at each table."""
    jobs = [
        Job(pair, table, seed, range(start, min(start + CHUNK, blocks)))
        for pair in pairs
        for table in tables
        for start in range(0, blocks, CHUNK)
    ]
    margins: dict[tuple[str, str], list[float]] = {}
    times: dict[tuple[str, str], dict[str, list[float]]] = {}
    with ProcessPoolExecutor(workers) as pool:
        for job, values, spent in pool.map(play, jobs):
            key = job.pair, job.table
            margins.setdefault(key, []).extend(values)
            for name, seconds in spent.items():
                times.setdefault(key, {}).setdefault(name, []).extend(seconds)
            if len(margins[key]) == blocks:
                yield summary(job, margins[key], times[key])


def summary(job: Job, margins: list[float], times: dict[str, list[float]]) -> Strength:
    """Return the mean of the blocks and its interval."""
    count = len(margins)
    half_width = student(count - 1, CONFIDENCE) * stdev(margins) / sqrt(count)
    medians = {name: 1000 * median(seconds) for name, seconds in times.items() if seconds}
    return Strength(job.pair, job.table, count, fmean(margins), half_width, medians)


def main() -> int:
    """Print a line for each pair at each table as it is done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strength")
    parser.add_argument("--blocks", type=int, default=100)
    parser.add_argument("--pairs", default=",".join(PAIRS))
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    pairs, tables = args.pairs.split(","), args.tables.split(",")
    for row in measure(pairs, tables, args.blocks, args.seed, args.workers):
        print(row, flush=True)
        rows.append(row._asdict())
        if args.json:
            args.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
