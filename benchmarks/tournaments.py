"""Tournaments: a game with all that belongs to it against the bare loop, and Dask against a pool.

The bare loop asks the same bots on views and steps the engine, with decks that lie ready: no deals
from a secret, no records, nobody's time taken, no reference that tells luck. Time is that of the
processor. Both play whole matches of `random` against `greedy`, which think as little as bots can.

Dask and the pool play the same chunks of half a second with the same function: a scheduler and two
workers that are processes, against two processes of `ProcessPoolExecutor`.
"""

from __future__ import annotations

import gc
import multiprocessing
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from itertools import count, islice

from benchmarks.rows import Row, at_least, at_most, show
from ronda_arena.discovery import discover
from ronda_arena.seating import seat_info
from ronda_arena.tournament.executors.chunks import Pace
from ronda_arena.tournament.executors.dask import Answer, Dask, Order, play
from ronda_arena.tournament.executors.dask_worker import scheduler
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.spec import of, plan
from ronda_arena.tournament.tasks import Contract, Task
from ronda_bots.registry import Registry, load
from ronda_core import fair
from ronda_core import match as matches
from ronda_core.cards import Card
from ronda_core.hand import Phase, set_kind
from ronda_core.match import Match
from ronda_core.record import read
from ronda_core.view import view

_RUNS = 9
_DECKS = 200
_TABLES = (("playtash", 2), ("cafe", 4))
_BLOCKS = 40
_WORKERS = 2
_SECONDS = 0.5
_WARM = 400
_ROUND_SECONDS = 6.0
_ROUNDS = 5


def _contract(registry: Registry, rules: str, players: int, hands: int = 0) -> Contract:
    asked = {
        "bots": ("random", "greedy"),
        "rules": rules,
        "players": players,
        "hands": hands,
        "seed": 1,
    }
    made = plan(of(asked), lambda name: registry.find(name).identity, lambda: "")
    return Contract(made, fair.seeded_master(1))


def _tasks() -> Iterator[Task]:
    for block in count():
        for rotation in (0, 1):
            yield Task(block, (0, 1), rotation)


def _tournament(contract: Contract, registry: Registry) -> float:
    """Return the seconds of a play, records written to a file and on disk."""
    records = []
    with tempfile.TemporaryFile("w", encoding="utf-8") as file, Here(contract, registry) as here:
        began = time.process_time()
        for chunk in here.play(islice(_tasks(), 2 * _BLOCKS)):
            for played in chunk:
                assert played.record is not None
                file.write(played.record)
                file.write("\n")
                records.append(played.record)
            file.flush()
        took = time.process_time() - began
    return took / sum(len(hand.plays) for record in map(read, records) for hand in record.hands)


def _bare(contract: Contract, registry: Registry) -> float:
    """Return the seconds of a play when the same bots are asked and nothing else is done."""
    rules = contract.plan.settings
    names = contract.plan.roster * (rules.players // 2)
    classes = [load(registry.find(name)) for name in names]
    decks = [fair.deal(number.to_bytes(32, "big"), rules.players)[0] for number in range(_DECKS)]
    plays, number = 0, 0
    began = time.process_time()
    for game in range(2 * _BLOCKS):
        bots = [
            made(seat_info(rules, seat, names), random.Random(game + seat))
            for seat, made in enumerate(classes)
        ]
        match = Match(rules, game % rules.players)
        while match.result is None:
            hand = match.hand
            if match.needs_deck:
                number += 1
                matches.deal(match, decks[number % _DECKS])
            elif hand is not None and hand.phase is Phase.DECLARE:
                for seat in range(rules.players):
                    matches.declare(match, seat, set_kind(hand, seat) is not None)
            else:
                assert hand is not None
                seat = hand.turn
                card: Card = bots[seat].play(view(match, seat))
                matches.play(match, seat, card)
                plays += 1
    return (time.process_time() - began) / plays


def _games(registry: Registry) -> list[Row]:
    made = []
    for rules, players in _TABLES:
        contract = _contract(registry, rules, players)
        ratios, micros = [], []
        for _ in range(_RUNS):
            gc.collect()
            bare = _bare(contract, registry)
            took = _tournament(contract, registry)
            ratios.append(took / bare)
            micros.append((took * 1e6, bare * 1e6))
        whole, loop = (statistics.median(column) for column in zip(*micros, strict=True))
        detail = f"{whole:.1f} us a play, bare {loop:.1f}; luck told, records written"
        row = f"tournament in process, {rules} {players}"
        made.append(at_most(row, ratios, "x the bare loop", 4, 2.5, detail))
    return made


class _Pool:
    """The pool of the standard library, driven as the executors drive their workers."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._pace = Pace(_SECONDS)
        self._pool = ProcessPoolExecutor(_WORKERS, multiprocessing.get_context("spawn"))

    def play(self, tasks: Iterator[Task]) -> int:
        """Return how many games were played."""
        games = 0
        under_way: set[Future[Answer]] = set()
        while True:
            while len(under_way) < 2 * _WORKERS:
                chunk = tuple(islice(tasks, self._pace.size))
                if not chunk:
                    break
                under_way.add(self._pool.submit(play, Order(self._contract, chunk)))
            if not under_way:
                return games
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for answer in (future.result() for future in done):
                assert answer.refusal is None
                games += len(answer.played)
                self._pace.took(len(answer.played), answer.seconds)

    def close(self) -> None:
        self._pool.shutdown()


def _workers(address: str, closing: ExitStack) -> None:
    """Start workers, and wait until they are there."""
    command = [sys.executable, "-m", "ronda_arena.tournament.executors.dask_worker"]
    started = []
    for _ in range(_WORKERS):
        worker = subprocess.Popen(
            [*command, "worker", "--scheduler", address], stdout=subprocess.PIPE, text=True
        )
        closing.enter_context(worker)
        closing.callback(worker.kill)
        started.append(worker)
    for worker in started:
        assert worker.stdout is not None
        assert worker.stdout.readline()


def _distributed(registry: Registry) -> Row:
    contract = _contract(registry, "playtash", 2)
    with ExitStack() as closing:
        address, _ = closing.enter_context(scheduler())
        _workers(address, closing)
        dask = closing.enter_context(Dask(address, contract, registry))
        pool = _Pool(contract)
        closing.callback(pool.close)

        def by_dask(games: int) -> float:
            began = time.perf_counter()
            assert sum(map(len, dask.play(islice(_tasks(), games)))) == games
            return games / (time.perf_counter() - began)

        def by_pool(games: int) -> float:
            began = time.perf_counter()
            assert pool.play(islice(_tasks(), games)) == games
            return games / (time.perf_counter() - began)

        rate = min(by_dask(_WARM), by_pool(_WARM))
        games = round(_ROUND_SECONDS * rate)
        ratios, rates = [], []
        for _ in range(_ROUNDS):
            reference = by_pool(games)
            rates.append(by_dask(games))
            ratios.append(rates[-1] / reference)
    detail = f"{statistics.median(rates):.0f} games/s on {_WORKERS} workers, chunks of {_SECONDS} s"
    return at_least("games on Dask", ratios, "x ProcessPoolExecutor", 0.9, 0.97, detail)


def rows() -> list[Row]:
    """Measure all of it."""
    registry = discover()
    return [*_games(registry), _distributed(registry)]


if __name__ == "__main__":
    show(rows())
