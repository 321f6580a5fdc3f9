"""The last batch at two players, where nothing is hidden: played to the end, line by line."""

from __future__ import annotations

from ronda_bots import points
from ronda_bots.api import Card, View
from ronda_bots.moves import TABLE, last_moves, moves, pack
from ronda_bots.rates import WIN
from ronda_bots.worlds import Hand
from ronda_core.cards import STEP
from ronda_core.rules import Settings


class Ending:
    """At most six cards are left, so there are 36 lines of play and none need be left out."""

    __slots__ = ("_last", "_moves", "_price", "_target")

    def __init__(self, rules: Settings) -> None:
        self._moves = moves(rules)
        self._last = last_moves(rules)
        self._price = 1.0 if rules.preset.every_card else 0.5
        self._target = rules.target if rules.immediate else 1000

    def best(self, view: View) -> Card:
        """Return the card that is best if both seats play well; of equal ones the lowest."""
        values = self.values(view)
        return max(view.hand, key=lambda card: values[STEP[card]])

    def values(self, view: View) -> dict[int, float]:
        """Return the margin from here to the end, by step of the hand."""
        mine = tuple(STEP[card] for card in view.hand)
        theirs = tuple(STEP[card] for card in view.unseen)
        spot = pack(points.spot(view))
        scores = view.scores[view.side], view.scores[1 - view.side]
        took = view.last_capturer == view.side
        return {step: self._after(spot, step, mine, theirs, took, *scores) for step in mine}

    def _after(
        self, spot: int, step: int, mover: Hand, other: Hand, took: bool, score: int, against: int
    ) -> float:
        """Return the mover's margin if it plays `step`; `took`: it captured last."""
        paid, cards, spot = (self._moves if other else self._last)[spot << 4 | step]
        value = paid + self._price * cards
        if cards:
            took = True
        if paid:
            score += paid
            if score >= self._target and score > against:
                return value + WIN
        if not other:  # the dealer's last card: leftovers go to whoever captured last
            left = self._price * (spot & TABLE).bit_count()
            return value + left if took else value - left
        at = mover.index(step)
        rest = mover[:at] + mover[at + 1 :]
        return value - max(
            [self._after(spot, reply, other, rest, not took, against, score) for reply in other]
        )
