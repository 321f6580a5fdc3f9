"""The bot that counts every hand the next player can hold."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from ronda_bots import points
from ronda_bots.api import Card, SeatInfo, View
from ronda_bots.ending import Ending
from ronda_bots.moves import TABLE
from ronda_bots.search import Batch, winning
from ronda_bots.worlds import Evidence, Hand
from ronda_core.cards import STEP


class Weights(NamedTuple):
    """What the things counted are worth beside a point gained now."""

    threat: float
    """What the next seat can be expected to gain, whatever it holds."""
    reply: float
    """What it gains, hand by hand, by the reply that each hand would choose."""
    second: float
    """What the seat after it can be expected to gain then."""
    kept: float
    """What the cards kept could gain on the table as this seat leaves it."""
    later: float
    """The same after the reply."""
    answer: float
    """The best answer to the reply, an este among them, less what that leaves."""


TAKING: Final = {
    2: Weights(threat=0.0, reply=-1.0, second=0.0, kept=0.0, later=0.7, answer=0.15),
    3: Weights(threat=-0.3, reply=-0.5, second=-0.7, kept=-0.2, later=1.2, answer=0.0),
    4: Weights(threat=0.0, reply=-0.8, second=-1.05, kept=-0.6, later=1.6, answer=0.0),
}
"""By players, where an este must take the card just laid."""

FOLLOWING: Final = {
    2: Weights(threat=-0.2, reply=-0.85, second=0.0, kept=-0.2, later=0.65, answer=0.55),
    4: Weights(threat=0.0, reply=-1.0, second=0.0, kept=0.0, later=0.7, answer=0.0),
}
"""By players, where it need only follow. How all were found: see docs/strength.md."""


class Counter:
    """Counts all the hands that the next player can hold, and the reply that each would choose.

    A lesson in odds without chance. Suits never matter, so 33 unseen cards make at most 220 hands
    of ranks, each with the number of ways it comes: sums over them are exact, and nothing need be
    sampled. A seat that declared a ronda holds a pair, one that kept silent holds none: hands
    that do not fit are left out. Then the reckoning goes two plies deep: what a card gains, what
    the reply to it gains, and what that leaves for the cards still held.
    """

    version = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: Random) -> None:  # noqa: ARG002 -- leaves nothing to chance
        self._rules = points.settings_of(seat)
        self._ending = Ending(self._rules)
        weights = TAKING if self._rules.este_takes else FOLLOWING
        self._weights = weights[seat.players]

    def play(self, view: View) -> Card:
        """Return the card with the best balance; of equal ones the lowest."""
        if len(view.hand) == 1:
            return view.hand[0]
        wins = winning(self._rules, view)
        if wins is not None:
            return wins
        if self._rules.players == 2 and not view.stock:
            return self._ending.best(view)
        evidence = Evidence(self._rules, view, None)
        batch = Batch(self._rules, view, evidence)
        hands = evidence.next_hands()
        return max(view.hand, key=lambda card: self._balance(batch, hands, STEP[card]))

    def _balance(self, batch: Batch, hands: Sequence[tuple[Hand, int]], step: int) -> float:
        """Return the worth of playing `step`, in points of margin."""
        paid, cards, left = batch.moves[batch.spot << 4 | step]
        keeps = [*batch.hand]
        keeps.remove(step)
        weights = self._weights
        now = paid + batch.price * cards + weights.threat * batch.rates.risk(left)
        now += weights.kept * _hope(batch, left, keeps)
        replies: dict[int, int] = {}
        for held, ways in hands:
            if held:  # it may be out of cards, where a new batch comes next
                reply = held[batch.rates.choose(left, held)]
                replies[reply] = replies.get(reply, 0) + ways
        then = sum(ways * self._then(batch, left, keeps, reply) for reply, ways in replies.items())
        return now + then / sum(ways for _, ways in hands)

    def _then(self, batch: Batch, spot: int, keeps: Sequence[int], reply: int) -> float:
        """Return the worth of what follows from one reply."""
        paid, cards, left = batch.moves[spot << 4 | reply]
        weights = self._weights
        worth = weights.reply * (paid + batch.prices[0] * cards)
        worth += weights.later * _hope(batch, left, keeps)
        if weights.second:
            worth += weights.second * batch.rates.risk(left)
        if weights.answer:
            worth += weights.answer * max(batch.rates[left << 4 | step] for step in keeps)
        return worth


def _hope(batch: Batch, spot: int, keeps: Sequence[int]) -> float:
    """Return the most that a card kept would gain if nobody touched the table."""
    quiet = (spot & TABLE) << 4
    gains = [batch.moves[quiet | step] for step in keeps]
    return max([paid + batch.price * cards for paid, cards, _ in gains])
