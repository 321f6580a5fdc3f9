"""How a Swiss or a knockout went, as plain data: what its rounds came to, and who won it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Decided = Literal["margin", "games", "list"]
"""By what an encounter was won: the margin, the games won, or nothing but the place in the list."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What one entrant of a Swiss has reached."""

    entrant: str
    points: float
    """One for an encounter won and for a bye, half of one for a draw."""
    buchholz: float
    """The points of those that it has met."""
    margin: float
    """Points of the game that it is ahead, over all its games."""
    byes: int


@dataclass(frozen=True, slots=True)
class Tie:
    """One encounter of a knockout, with the blocks that were played because nobody was ahead."""

    entrants: tuple[str, ...]
    margins: tuple[float, ...]
    """Points of the game ahead, over all its games, by entrant."""
    won: tuple[float, ...]
    """Games, a draw as parts, by entrant."""
    extra: int
    """Blocks beyond those of the round."""
    winner: str
    by: Decided


@dataclass(frozen=True, slots=True)
class Bracket:
    """One round of a knockout that is over."""

    ties: tuple[Tie, ...]
    byes: tuple[str, ...]
    """Who went on without an encounter."""


@dataclass(frozen=True, slots=True)
class Course:
    """How far a tournament in rounds has come, and what its rounds came to."""

    rounds: int
    """As many as there are to be."""
    played: int
    """That are over. What is of a round that is not over counts for nothing here."""
    standings: tuple[Standing, ...] = ()
    """Of a Swiss, the first first."""
    brackets: tuple[Bracket, ...] = ()
    """Of a knockout, the first round first."""

    @property
    def over(self) -> bool:
        """Whether somebody has won."""
        return self.played == self.rounds


def rounds_to_one(entrants: int, table: int) -> int:
    """Return how many rounds it takes until one is left of so many, where one of a table goes on.

    It is the logarithm, rounded up.
    """
    rounds, held = 0, 1
    while held < entrants:
        held *= table
        rounds += 1
    return rounds
