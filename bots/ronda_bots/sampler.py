"""The bot that deals the hidden cards out and plays on."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from ronda_bots import points
from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_bots.ending import Ending
from ronda_bots.search import Batch, affordable, winning
from ronda_bots.worlds import Evidence, Shares, paid
from ronda_core.cards import STEP


class Sampler:
    """Deals the unseen cards out at random, many times, and plays the batch on in each world.

    A lesson in sampling. What cannot be counted in one sum can be tried: deal the unseen cards to
    the other seats, let every seat play the batch out by a fast rule, and take the card with the
    best mean. Two things make it honest. The worlds agree with all that was seen: the cards, the
    sizes of the hands, the sets declared, kept silent or paid for. And the same worlds judge
    every card, so that luck in the draw is shared. `samples` is the think time; a subclass with
    another number is another bot.
    """

    version = "1.0.0"

    samples: ClassVar[int] = 100
    """Worlds a decision: all that the answer depends on beside the view and the generator."""
    seconds: ClassVar[float] = 1.0
    """A ceiling for a decision, and never more than a tenth of the clock."""

    def __init__(self, seat: SeatInfo, rng: Random) -> None:
        self._rules = points.settings_of(seat)
        self._rng = rng
        self._ending = Ending(self._rules)
        self._shares: Shares | None = None

    def observe(self, event: Event) -> None:
        """Remember what the sets of this batch were paid: it says something of who holds what."""
        shares = paid(event, self._rules.sides)
        if shares is not None:
            self._shares = shares

    def play(self, view: View) -> Card:
        """Return the card with the best mean; of equal ones the lowest."""
        if len(view.hand) == 1:
            return view.hand[0]
        wins = winning(self._rules, view)
        if wins is not None:
            return wins
        if self._rules.players == 2 and not view.stock:
            return self._ending.best(view)
        evidence = Evidence(self._rules, view, self._shares)
        count = affordable(self.samples, self.seconds, view.clock)
        worlds = evidence.sample(count, self._rng)
        # The rule plays this seat's later cards too, unless all worlds still look alike by then.
        values = Batch(self._rules, view, evidence).values(worlds, few=count)
        return max(view.hand, key=lambda card: values[STEP[card]])
