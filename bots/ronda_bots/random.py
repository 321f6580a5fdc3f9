"""The bot that everybody beats, and the shortest that is whole."""

from __future__ import annotations

from random import Random as Rng

from ronda_bots.api import Card, SeatInfo, View


class Random:
    """Plays any card it holds.

    A lesson in what a bot is: made for one seat with a generator of its own, then asked for a
    card of `view.hand`. Every card in hand is legal, and nobody passes. Whatever chance a bot
    needs comes from `rng`: the module's own `random.choice` would make a seeded match differ
    from one run to the next.
    """

    version = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: Rng) -> None:  # noqa: ARG002 -- every bot is told its seat
        self._rng = rng

    def play(self, view: View) -> Card:
        """Return any card of the hand."""
        return self._rng.choice(view.hand)
