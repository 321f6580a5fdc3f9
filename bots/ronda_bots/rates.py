"""What a sensible seat thinks of a play: the judgement that a search lends to every seat.

A play is worth what it gains, less what it leaves for the next seat, plus part of what the cards
kept could gain. This is the reckoning of `careful`, on packed spots and kept for the length of
one decision, since the same spots come up in world after world.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from statistics import NormalDist
from typing import Final

from ronda_bots.api import View
from ronda_bots.moves import TABLE, Moves
from ronda_core.rules import PLAYS, Settings

HOPE: Final = 0.7
"""Share of what a kept card could gain on the table as it is left: see `careful`."""

WIN: Final = 50.0
"""What winning the match at once is worth, in points."""

NEVER: Final = 1000
"""More points than a play can bring."""


def to_win(rules: Settings, view: View, side: int) -> int:
    """Return the points that win the match for `side` on the spot, where the preset allows it."""
    if not rules.immediate:
        return NEVER
    ahead = max(score for other, score in enumerate(view.scores) if other != side)
    return max(rules.target, ahead + 1) - view.scores[side]


def chances(unseen: Sequence[int], held: int) -> list[float]:
    """Return the chance that `held` of the unseen cards have at least one of each rank."""
    cards = sum(unseen)
    every = comb(cards, held)
    return [1.0 - comb(cards - copies, held) / every for copies in unseen]


def prices(rules: Settings, view: View) -> tuple[float, ...]:
    """Return what a card more in its pile is worth to each seat.

    Of two piles one is what the other is not: where only cards over the fair share are paid, a
    card more moves the margin by half a point on each side. Of three, a card is worth its point
    only to a side that will pass its share, and how likely that is follows from its pile.
    """
    if rules.sides == 2:
        return (1.0 if rules.preset.every_card else 0.5,) * rules.players
    left = PLAYS - len(view.plays) + len(view.table)
    spread = NormalDist(0, 0.8 * sqrt(left) + 0.5)
    return tuple(
        spread.cdf(view.pile_counts[side] + left / 3 - rules.fair_share) for side in rules.side_of
    )


class Rates(dict[int, float]):
    """What a play gains less what it leaves, by `spot << 4 | step`."""

    __slots__ = ("_chances", "_chosen", "_need", "_price", "_risks", "moves")

    def __init__(
        self, moves: Moves, price: float, chances: Sequence[float], need: int = NEVER
    ) -> None:
        super().__init__()
        self.moves = moves
        self._price = price
        self._chances = [(step, chance) for step, chance in enumerate(chances) if chance]
        self._need = need
        """Points that would win the match for whoever comes next."""
        self._risks: dict[int, float] = {}
        self._chosen: dict[tuple[int, tuple[int, ...]], int] = {}

    def __missing__(self, key: int) -> float:
        points, cards, left = self.moves[key]
        rate = points + self._price * cards - self.risk(left)
        self[key] = rate
        return rate

    def risk(self, spot: int) -> float:
        """Return what the next seat's best reply in `spot` may be expected to gain."""
        known = self._risks.get(spot)
        if known is not None:
            return known
        replies = []
        for step, chance in self._chances:
            points, cards, _ = self.moves[spot << 4 | step]
            if cards or points:
                win = WIN if points >= self._need else 0.0
                replies.append((points + self._price * cards + win, chance))
        replies.sort(reverse=True)
        expected, none_better = 0.0, 1.0
        for worth, chance in replies:
            expected += worth * none_better * chance
            none_better *= 1.0 - chance
        self._risks[spot] = expected
        return expected

    def choose(self, spot: int, held: tuple[int, ...]) -> int:
        """Return the place in `held` of the card that a sensible seat plays in `spot`."""
        key = spot, held
        place = self._chosen.get(key)
        if place is None:
            balances = [
                self[spot << 4 | step] + HOPE * self._hope(spot << 4 | step, held, at)
                for at, step in enumerate(held)
            ]
            place = self._chosen[key] = balances.index(max(balances))
        return place

    def _hope(self, key: int, held: tuple[int, ...], played: int) -> float:
        """Return the most that a card kept would gain if nobody touched the table."""
        quiet = (self.moves[key][2] & TABLE) << 4
        most = 0.0
        for at, step in enumerate(held):
            if at != played:
                points, cards, _ = self.moves[quiet | step]
                most = max(most, points + self._price * cards)
        return most
