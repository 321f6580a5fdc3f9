"""What `points` says of a play, as whole numbers that a search can look up.

A search plays millions of cards, and only a few thousand spots ever come up. So each play is
worked out once by `points.play` and kept: a spot is packed into one number, and a table answers
what a rank gains there and which spot it leaves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ronda_bots import points
from ronda_bots.points import Spot
from ronda_core.rules import PLAYS, Settings

Move = tuple[int, int, int]
"""Points paid, cards that change the balance of the piles, and the spot that is left."""

TABLE: Final = 1023
"""The bits of a packed spot that hold the table: what is left of it when a batch is over."""


def pack(at: Spot) -> int:
    """Return a spot as one number: what has been played is not part of it."""
    return at.table | at.chain + 1 << 10 | at.links << 14 | at.pack << 16


class Moves(dict[int, Move]):
    """Moves by `spot << 4 | step`, worked out when first asked for.

    Cards taken back count twice, since they leave another pile as well.
    """

    __slots__ = ("_gains", "_made", "_rules")

    def __init__(self, rules: Settings, made: int) -> None:
        super().__init__()
        self._rules = rules
        self._made = made
        self._gains: dict[int, list[tuple[int, int, int]]] = {}

    def gains(self, spot: int) -> list[tuple[int, int, int]]:
        """Return the steps that gain something in `spot`, each with its points and cards."""
        known = self._gains.get(spot)
        if known is None:
            every = [(step, *self[spot << 4 | step][:2]) for step in range(10)]
            known = self._gains[spot] = [each for each in every if each[1] or each[2]]
        return known

    def __missing__(self, key: int) -> Move:
        spot = key >> 4
        at = Spot(spot & TABLE, (spot >> 10 & 15) - 1, spot >> 14 & 3, spot >> 16, self._made)
        gain, left = points.play(self._rules, at, key & 15)
        move = gain.points, gain.cards + gain.reclaimed, pack(left)
        self[key] = move
        return move


@lru_cache(maxsize=64)
def moves(rules: Settings) -> Moves:
    """Return the moves of any play but a hand's last; the caller ends chains with a batch."""
    return Moves(rules, 0)


@lru_cache(maxsize=64)
def last_moves(rules: Settings) -> Moves:
    """Return the moves of the 36th play, which has rules of its own."""
    return Moves(rules, PLAYS - 1)
