"""The bot that takes what it can get now."""

from __future__ import annotations

from random import Random

from ronda_bots import points
from ronda_bots.api import Card, SeatInfo, View
from ronda_core.cards import STEP


class Greedy:
    """Takes the most points now, then the most cards, and never asks what comes next.

    A lesson in reading a view: `view.table` says what a card would take, `view.chain_rank` what
    would be an este, `view.pack` what a longer chain would take back. All of that is public, so
    the sum is made once, in `points`, for every bot that wants it.
    """

    version = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: Random) -> None:  # noqa: ARG002 -- leaves nothing to chance
        self._rules = points.settings_of(seat)

    def play(self, view: View) -> Card:
        """Return the card that gains most at once.

        Equal cards are decided by a rule rather than by chance, so that the same view always
        gets the same answer: `max` keeps the first, and a hand is told in ascending rank.
        """
        at = points.spot(view)

        def gain(card: Card) -> tuple[int, int]:
            now, _ = points.play(self._rules, at, STEP[card])
            return now.points, now.cards

        return max(view.hand, key=gain)
