"""Plans, and results that nobody had to play for."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, Self

from ronda_arena.tournament import spec
from ronda_arena.tournament.formats import Encounter, Format, encounter
from ronda_arena.tournament.play import table
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_bots.registry import Registry

TABLES = [
    ("playtash", 2),
    ("playtash", 4),
    ("cafe", 2),
    ("cafe", 3),
    ("cafe", 4),
    ("arabic", 2),
    ("pagat", 2),
    ("pagat", 3),
    ("pagat", 4),
]
"""Every preset at every number of players."""


def plan(bots: Sequence[str] | int = 3, **asked: Any) -> Plan:
    """Return a plan; a number stands for so many bots."""
    names = [f"bot{at}" for at in range(bots)] if isinstance(bots, int) else bots
    asked = {"seed": 1, **asked}
    wanted = spec.of({"bots": tuple(names), **asked})
    return spec.plan(wanted, lambda name: name if "@" in name else f"{name}@1", lambda: "x")


def rounds(
    format_: Format, random_: random.Random, drawn: float = 0.2
) -> Iterator[list[Encounter]]:
    """Play a format to its end, by chance; yield its rounds as they are over."""
    played: list[list[Encounter]] = []
    while (found := format_.next(played)) is not None:
        done = [by_chance(pairing, random_, drawn) for pairing in found.pairings()]
        assert len(done) == found.size
        played.append(done)
        yield done


def by_chance(pairing: tuple[int, ...], random_: random.Random, drawn: float) -> Encounter:
    made = encounter(pairing)
    count = len(pairing)
    if random_.random() >= drawn:
        made.margins = [float(random_.randint(-9, 9)) for _ in range(count)]
        made.wins = [float(random_.randint(0, 2)) for _ in range(count)]
    return made


class Scripted:
    """An executor that plays real games in an order of its own, loses some, and may die."""

    width = 2

    def __init__(
        self,
        contract: Contract,
        registry: Registry,
        *,
        random_: random.Random | None = None,
        ahead: int = 1,
        loses: float = 0.0,
        dies_after: int | None = None,
    ) -> None:
        self._contract = contract
        self._registry = registry
        self._random = random_ or random.Random(0)
        self._ahead = ahead
        self._loses = loses
        self._left = dies_after
        self._stack = ExitStack()
        self.pulled = 0

    def __enter__(self) -> Self:
        self._play = self._stack.enter_context(table(self._contract, self._registry))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Hold so many tasks and play any of them, one a time."""
        held: list[Task] = []
        while True:
            while len(held) < self._ahead and (task := next(tasks, None)):
                held.append(task)
                self.pulled += 1
            if not held:
                return
            task = held.pop(self._random.randrange(len(held)))
            if self._left is not None:
                if not self._left:
                    raise DiedError
                self._left -= 1
            if self._random.random() < self._loses:
                yield [Played(task, None, None, "the worker is gone")]
            else:
                yield [self._play(task)]


class DiedError(Exception):
    """The process would be gone here."""
