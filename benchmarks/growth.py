"""What a game costs as a tournament grows: its schedule, its store, its ledger and its report.

`python -m benchmarks.growth [--most 100000]`

The games themselves are played once and handed in again and again under other numbers, so that what
is measured is all but the play. Both figures must stay level: microseconds a game, and the greatest
memory of a process that keeps so many games, reads them all again and writes the report's numbers.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Self

from ronda_arena.discovery import discover
from ronda_arena.tournament import deliver, records, spec, store
from ronda_arena.tournament.play import table
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_core.fair import seeded_master

_GROUP = 200
_SAMPLES = 40


class _Again:
    """Hands in games that were played before, under the numbers that are asked for."""

    def __init__(self, played: Sequence[Played]) -> None:
        self._played: dict[tuple[tuple[int, ...], int], list[Played]] = {}
        for one in played:
            self._played.setdefault((one.task.entrants, one.task.rotation), []).append(one)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        while some := list(islice(tasks, _GROUP)):
            yield [self._of(task) for task in some]

    def _of(self, task: Task) -> Played:
        some = self._played[task.entrants, task.rotation]
        old = some[task.block % len(some)]
        assert old.record is not None
        record = old.record.replace(f'"block": {old.task.block}', f'"block": {task.block}')
        return old._replace(task=task, record=record)


def grow(games: int) -> dict[str, float]:
    """Keep so many games in a process of their own, and return what that took."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_grow, (games,))


def _grow(games: int) -> dict[str, float]:
    registry = discover()
    bots = ("random", "greedy", "careful")
    asked = spec.of({"bots": bots, "rules": "arabic", "blocks": games // 6, "seed": 1})
    plan = spec.plan(asked, lambda name: registry.find(name).identity, lambda: "")
    contract = Contract(plan, seeded_master(1))
    with table(contract, registry) as play:
        played = [
            play(Task(block, pair, at))
            for block in range(_SAMPLES)
            for pair in ((0, 1), (0, 2), (1, 2))
            for at in (0, 1)
        ]
    with tempfile.TemporaryDirectory() as path, store.claim(Path(path)) as folder:
        kept = folder.begin(contract)
        run = Run(kept)
        began = time.process_time()
        with _Again(played) as executor:
            run.play(executor)
        stored = time.process_time()
        again = Run(kept)
        read = time.process_time()
        deliver.summary(kept, again)
        told = time.process_time()
        records.write(kept, Path(path, "records.jsonl"), again.ledger.blocks, over=True)
        written = time.process_time()
        count = run.standing.games
    each = 1e6 / count
    return {
        "games": count,
        "store_us": (stored - began) * each,
        "resume_us": (read - stored) * each,
        "report_us": (told - read) * each,
        "records_us": (written - told) * each,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> int:
    """Print a line for each size as it is done."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = []
    games = 1000
    while games <= asked.most:
        row = grow(games)
        print(
            f"{row['games']:9.0f} games: store {row['store_us']:.0f} us a game, resume"
            f" {row['resume_us']:.0f}, report {row['report_us']:.0f}, records"
            f" {row['records_us']:.0f}; {row['megabytes']:.0f} MB",
            flush=True,
        )
        rows.append(row)
        games *= 10
    if asked.json:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
