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

    __slots__ = ("_chances", "_chosen", "_need", "_price", "_replies", "_risks", "moves")

    def __init__(
        self, moves: Moves, price: float, chances: Sequence[float], need: int = NEVER
    ) -> None:
        super().__init__()
        self.moves = moves
        self._price = price
        self._chances = chances
        self._need = need
        """Points that would win the match for whoever comes next."""
        self._replies: dict[int, list[tuple[float, int]]] = {}
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
        chances = self._chances
        expected, none_better = 0.0, 1.0
        for worth, step in self.replies(spot):
            expected += worth * none_better * chances[step]
            none_better *= 1.0 - chances[step]
        self._risks[spot] = expected
        return expected

    def replies(self, spot: int) -> list[tuple[float, int]]:
        """Return what each step that the next seat may hold gains in `spot`, the most first."""
        known = self._replies.get(spot)
        if known is not None:
            return known
        price, need = self._price, self._need
        replies = [
            (points + price * cards + (WIN if points >= need else 0.0), step)
            for step, points, cards in self.moves.gains(spot)
            if self._chances[step]
        ]
        replies.sort(reverse=True)
        self._replies[spot] = replies
        return replies

    def choose(self, spot: int, held: tuple[int, ...]) -> int:
        """Return the place in `held` of the card that a sensible seat plays in `spot`."""
        key = spot, held
        place = self._chosen.get(key)
        if place is None:
            balances = [
                self.rate(held, spot << 4 | step) + HOPE * self._hope(spot << 4 | step, held, at)
                for at, step in enumerate(held)
            ]
            place = self._chosen[key] = balances.index(max(balances))
        return place

    def before(self, played: Sequence[int]) -> Rates:  # noqa: ARG002 -- one view's, at all times
        """Return the rates as they were before the steps in `played` were seen."""
        return self

    def rate(self, held: tuple[int, ...], key: int) -> float:  # noqa: ARG002 -- `Inside` asks
        """Return what a play gains less what it leaves, as the seat that holds `held` sees it."""
        return self[key]

    def _hope(self, key: int, held: tuple[int, ...], played: int) -> float:
        """Return the most that a card kept would gain if nobody touched the table."""
        quiet = (self.moves[key][2] & TABLE) << 4
        most = 0.0
        for at, step in enumerate(held):
            if at != played:
                points, cards, _ = self.moves[quiet | step]
                most = max(most, points + self._price * cards)
        return most


class Inside(Rates):
    """The same as each seat reckons it, which knows what it holds: the next one has it not."""

    __slots__ = ("_hidden", "_size")

    def __init__(self, moves: Moves, price: float, hidden: Sequence[int], need: int) -> None:
        super().__init__(moves, price, [float(copies) for copies in hidden], need)
        self._hidden = hidden
        """Copies of each step in the pack and in all hands, this seat's among them."""
        self._size = sum(hidden)

    def before(self, played: Sequence[int]) -> Rates:
        """Return the rates as they were before the steps in `played` were seen."""
        hidden = [copies + played.count(step) for step, copies in enumerate(self._hidden)]
        return Inside(self.moves, self._price, hidden, self._need)

    def rate(self, held: tuple[int, ...], key: int) -> float:
        """Return what a play gains less what it leaves, exactly as `careful` would."""
        points, cards, left = self.moves[key]
        size = len(held)
        safe = self._size - size
        hands = comb(safe, size)
        rate = points + self._price * cards
        none_better = 1.0
        for worth, step in self.replies(left):
            copies = self._hidden[step] - held.count(step)
            if copies > 0:
                safe -= copies
                none_so_far = comb(safe, size) / hands
                rate -= worth * (none_better - none_so_far)
                none_better = none_so_far
        return rate
