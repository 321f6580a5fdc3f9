"""What a tournament hands to whoever plays for it, and what it gets back.

All of it may cross from one process or machine to another of ours; no bot ever sees any of it.
"""

from __future__ import annotations

from typing import NamedTuple

from ronda_arena.tournament.results import Game
from ronda_arena.tournament.spec import Plan
from ronda_core.match import Cause


class Contract(NamedTuple):
    """What every game of a tournament is played under."""

    plan: Plan
    master: bytes
    """Secret until the last game of the last block is over; empty where every task brings the
    secret of its own block."""

    def __repr__(self) -> str:
        return f"<Contract of {self.plan.id}>"


class Deal(NamedTuple):
    """What one block is dealt from that belongs to no tournament: a block of a ladder.

    Its id stands where that of the tournament would, and its bots alone are the roster.
    """

    id: str
    master: bytes
    """Secret until the last game of the block is over."""

    def __repr__(self) -> str:
        return f"<Deal of {self.id}>"


class Task(NamedTuple):
    """One game that is to be played."""

    block: int
    entrants: tuple[int, ...]
    """Places in the plan's entrants."""
    rotation: int
    attempt: int = 0
    """How often it was begun and lost by no fault of a bot."""
    deal: Deal | None = None
    """None: the block is dealt from the secret of the contract."""
    alone: bool = False
    """It may take long: nothing is to wait behind it."""


class Thought(NamedTuple):
    """What the decisions of one bot in one game took: timing, which no two runs share."""

    bot: str
    decisions: int
    seconds: float
    longest: float


class Broken(NamedTuple):
    """What the author of a bot may read of its fault, on the machine where it is played.

    It is in no record and in no store.
    """

    seat: int
    bot: str
    cause: Cause
    detail: str
    seconds: float | None
    """What the decision took; None where nobody measures."""
    place: str
    """Where its code was, as FILE:LINE; empty where nobody knows."""
    advice: str
    forfeits: bool
    """Not so where the game was over by then."""


class Played(NamedTuple):
    """What came of a task: a game and its record, or why it was lost."""

    task: Task
    game: Game | None
    record: str | None
    """Its line of JSON, sealed: it does not hold the master."""
    lost: str | None = None
    """Why there is no game, by no fault of a bot: it has to be played again."""
    thoughts: tuple[Thought, ...] = ()
    seconds: float = 0.0
    broken: tuple[Broken, ...] = ()
    """Faults of kinds that were not told before by whoever played it."""

    def __repr__(self) -> str:
        what = "lost" if self.game is None else "over"
        return f"<Played: block {self.task.block}, rotation {self.task.rotation}, {what}>"
