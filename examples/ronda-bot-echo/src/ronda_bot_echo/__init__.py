"""An example of a Ronda bot in a package of its own."""

from __future__ import annotations

import random

from ronda_bots import Card, SeatInfo, View


class Echo:
    """Answers the last card with one of the same rank if it can."""

    version = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:  # noqa: ARG002 -- this bot cares for no seat
        self._rng = rng

    def play(self, view: View) -> Card:
        """Return a card of the rank just played, or any."""
        last = view.last_play
        same = [card for card in view.hand if last and card.rank == last.card.rank]
        return self._rng.choice(same or view.hand)
