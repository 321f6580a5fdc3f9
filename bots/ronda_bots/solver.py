"""The strongest bot that comes with ronda."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from ronda_bots import points
from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_bots.ending import Ending
from ronda_bots.search import Batch, affordable, winning
from ronda_bots.worlds import Evidence, Shares, paid
from ronda_core.cards import STEP


class Solver:
    """Searches the batch over all worlds at once, and the last batch of two players exactly.

    A lesson in what is hidden. First, a play tells about the hand it came from: a world in which
    somebody would have played otherwise is `doubt` times as likely as before. Second, a search
    that picks its best card in each world apart knows too much, since it will never know which
    world it is in: here worlds that look alike stay together, and the one answer is the best for
    all of them. At two players every hand that the other may hold is counted, 220 at most, and
    none is sampled; and where the pack is empty nothing is hidden, so the end is played out in
    full. Beyond the batch the table is worth what the next seat can be expected to take from it.
    """

    version = "1.0.0"

    samples: ClassVar[int] = 300
    """Worlds searched a decision at three and four players, and at two if time is short."""
    doubt: ClassVar[float] = 0.3
    """How likely somebody is to play otherwise than expected, beside what is expected."""
    few: ClassVar[int] = 10
    """Fewer worlds than this that look alike are not searched: too much would be known."""
    seconds: ClassVar[float] = 1.0
    """A ceiling for a decision, and never more than a tenth of the clock."""

    def __init__(self, seat: SeatInfo, rng: Random) -> None:
        self._rules = points.settings_of(seat)
        self._rng = rng
        self._ending = Ending(self._rules)
        self._shares: Shares | None = None

    def observe(self, event: Event) -> None:
        """Remember what the sets of this batch were paid."""
        shares = paid(event, self._rules.sides)
        if shares is not None:
            self._shares = shares

    def play(self, view: View) -> Card:
        """Return the card with the best value over all worlds; of equal ones the lowest."""
        if len(view.hand) == 1:
            return view.hand[0]
        wins = winning(self._rules, view)
        if wins is not None:
            return wins
        if self._rules.players == 2 and not view.stock:
            return self._ending.best(view)
        two = self._rules.players == 2
        evidence = Evidence(self._rules, view, self._shares)
        batch = Batch(self._rules, view, evidence, inside=two)
        count = affordable(self.samples, self.seconds, view.clock)
        every = two and count == self.samples
        worlds = evidence.all() if every else evidence.sample(count, self._rng)
        likely = evidence.weighed(worlds, batch.others, self.doubt)
        values = batch.values(likely, few=0 if every else self.few)
        return max(view.hand, key=lambda card: values[STEP[card]])
