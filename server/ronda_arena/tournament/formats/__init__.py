"""Who meets whom: one room a format, and one question, what the next round is.

A format is a pure function of the plan and of what the rounds before came to, so a run that goes
on after a break asks again and gets the same answer. Blocks are numbered through the tournament
in schedule order: round by round, and in a round every pairing once, then every pairing again, so
that whatever has been played has been played by all alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from ronda_arena.tournament.entrants import sides
from ronda_arena.tournament.formats.course import Course
from ronda_arena.tournament.results import Block, margins, shares
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.tasks import Task

Pairing = tuple[int, ...]
"""Places in the plan's entrants, one a side."""


@dataclass(frozen=True, slots=True)
class Round:
    """Pairings that are known before any of them is played."""

    pairings: Callable[[], Iterator[Pairing]]
    """Begins anew each time: there may be a million, so they are never kept."""
    size: int
    """How many there are."""
    blocks: int
    """For each of them."""


@dataclass(slots=True)
class Encounter:
    """What one pairing of a round came to, all of its blocks together."""

    pairing: Pairing
    margins: list[float]
    """Points ahead, summed over games, by entrant: exact, they are halves."""
    wins: list[float]
    """Games won, a draw as parts, by entrant."""

    def add(self, block: Block) -> None:
        """Count a block."""
        count_ = len(self.pairing)
        for game, margin in zip(block.games, margins(block), strict=True):
            for at, (ahead, share) in enumerate(zip(margin, shares(game, count_), strict=True)):
                self.margins[at] += ahead
                self.wins[at] += share


def encounter(pairing: Pairing) -> Encounter:
    """Return what a pairing came to before its first block."""
    return Encounter(pairing, [0.0] * len(pairing), [0.0] * len(pairing))


class Format(Protocol):
    """Says who meets whom."""

    def next(self, played: Sequence[Sequence[Encounter]]) -> Round | None:
        """Return the round after those that were played, or None when all is over."""

    def placings(self, played: Sequence[Sequence[Encounter]]) -> tuple[int, ...]:
        """Return the entrants from the first to the last; empty where ratings say it."""

    def course(self, played: Sequence[Sequence[Encounter]]) -> Course | None:
        """Return what the rounds came to; None where there are none."""

    @property
    def depends(self) -> bool:
        """Whether later rounds depend on what earlier ones come to."""

    @property
    def planned(self) -> int | None:
        """How many blocks there will be; None where that depends on results."""


def tasks(plan: Plan, round_: Round, first_block: int) -> Iterator[Task]:
    """Yield the games of a round in schedule order."""
    numbers = count(first_block)
    for _ in range(round_.blocks):
        for pairing in round_.pairings():
            number = next(numbers)
            for rotation in range(plan.games_of(pairing)):
                yield Task(number, pairing, rotation)


def table_size(plan: Plan) -> int:
    """Return how many entrants meet at a table."""
    return sides(plan.players)
