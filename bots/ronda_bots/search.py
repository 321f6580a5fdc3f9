"""Playing the rest of a batch out in worlds where every hand is known.

The other seats play as `Rates` has it. What lies beyond the batch is told by the table alone:
measured over 16,000 hands a table, what is left there is worth to the seat that opens the next
batch just what its best reply may be expected to gain, and who captured last is worth nothing
before the last batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ronda_bots import points
from ronda_bots.api import Card, View
from ronda_bots.moves import TABLE, last_moves, moves, pack
from ronda_bots.rates import WIN, Inside, Rates, chances, prices, to_win
from ronda_bots.worlds import Evidence, Hand, World
from ronda_core.cards import STEP
from ronda_core.rules import Settings

SOLVED_NEXT: Final = 1.5
"""What a table is worth before a last batch that is played to perfection; else 1."""

A_WORLD: Final = 0.0005
"""Seconds that a world may take, told high: so many fit into the time for a decision."""

Leaf = Callable[[int, bool], float]
"""What the spot at the end of a batch is worth, and whether this side captured last."""


class Reached(NamedTuple):
    """Where this seat is asked again, or the batch is over, in one world."""

    gain: float
    spot: int
    took: bool
    """This side captured last."""
    hands: tuple[Hand, ...]


class Batch:
    """The rest of the batch that `view` is in."""

    def __init__(
        self,
        rules: Settings,
        view: View,
        evidence: Evidence,
        leaf: Leaf | None = None,
        *,
        inside: bool = False,
    ) -> None:
        seats = evidence.seats
        self._leaf = leaf or self.leaf
        made = len(view.plays)
        self.spot = pack(points.spot(view))
        self.hand: Hand = tuple(STEP[card] for card in view.hand)
        self.left = rules.batch_plays - made % rules.batch_plays
        self.moves = moves(rules)
        self._ends_hand = not view.stock
        # The last card of a hand has rules of its own; a batch's last card only breaks the chain.
        self._last = last_moves(rules) if self._ends_hand else self.moves
        self._few = 0
        self._took = view.last_capturer == view.side
        price = prices(rules, view)
        self.price = price[view.seat]
        self.prices = [price[seat] for seat in seats]
        self.friends = [rules.side_of[seat] == view.side for seat in seats]
        share = -1.0 / (rules.sides - 1)
        self.signs = [1.0 if friend else share for friend in self.friends]
        self._needs = [to_win(rules, view, rules.side_of[seat]) for seat in seats]
        self._need = to_win(rules, view, view.side)
        foes = [need for need, friend in zip(self._needs, self.friends, strict=True) if not friend]
        mean, held = sum(price) / len(price), max(evidence.sizes)
        self.rates = Rates(self.moves, mean, chances(evidence.unseen, held), min(foes))
        self.others = self.rates
        """How the others play: each by what it holds itself, if `inside` (which takes longer)."""
        if inside:
            hidden = evidence.unseen[:]
            for step in self.hand:
                hidden[step] += 1
            self.others = Inside(self.moves, mean, hidden, min(foes))
        self._coming = self.rates
        if held < 3 and view.stock:
            self._coming = Rates(self.moves, mean, chances(evidence.unseen, 3))
        opens = rules.side_of[rules.next_seat[view.dealer]] == view.side
        solved = rules.players == 2 and view.stock == rules.batch_plays
        self._opening = (SOLVED_NEXT if solved else 1.0) * (1.0 if opens else share)
        self._leftover = self.price, sum(self.prices) / len(seats) * share

    def values(self, worlds: Sequence[World], few: int) -> dict[int, float]:
        """Return what each step of the hand is worth over all worlds, in points of margin.

        Asked again, this seat knows what it has seen by then: worlds that look alike to it are
        answered alike, and as well as it can. Where only few look alike, the best answer would
        be one that knows too much: there it goes on by its rates as the others do.
        """
        self._few = few
        reached = [(w.weight, Reached(0.0, self.spot, self._took, w.hands)) for w in worlds]
        total = sum(world.weight for world in worlds)
        return {
            step: self._after(step, self.hand, self.left, reached) / total
            for step in dict.fromkeys(self.hand)
        }

    def leaf(self, spot: int, took: bool) -> float:
        """Return what the table is worth to this side when the batch is over."""
        if self._ends_hand:
            return self.leftovers(spot, took)
        return self._opening * self._coming.risk(spot & TABLE)

    def leftovers(self, spot: int, took: bool) -> float:
        """Return what the last cards on the table are worth, which the last capturer gets."""
        return (spot & TABLE).bit_count() * self._leftover[not took]

    def _after(
        self, step: int, hand: Hand, left: int, reached: Sequence[tuple[float, Reached]]
    ) -> float:
        """Return the worth of playing `step` in worlds that look alike, times their weight."""
        value = 0.0
        alike: dict[tuple[int, bool], list[tuple[float, Reached]]] = {}
        for weight, world in reached:
            after = self._round(step, left, world)
            value += weight * after.gain
            alike.setdefault((after.spot, after.took), []).append((weight, after))
        left -= 1 + len(self.signs)
        at = hand.index(step)
        rest = hand[:at] + hand[at + 1 :]
        for (spot, took), group in alike.items():
            if len(rest) > 1 and len(group) < self._few:
                each = rest[self.rates.choose(spot, rest)]
                value += self._after(each, rest, left, group)
            elif not rest:
                value += self._leaf(spot, took) * sum([weight for weight, _ in group])
            else:
                value += max([self._after(each, rest, left, group) for each in dict.fromkeys(rest)])
        return value

    def _round(self, step: int, left: int, reached: Reached) -> Reached:
        """Play `step`, then a card of every other seat that still has one in this batch."""
        _, spot, took, hands = reached
        paid, cards, spot = (self.moves if left > 1 else self._last)[spot << 4 | step]
        gain = paid + self.price * cards
        if paid >= self._need:
            return Reached(gain + WIN, spot, took, hands)
        if cards:
            took = True
        choose = self.others.choose
        after = []
        for ahead, held in enumerate(hands):
            left -= 1
            if not left:
                break
            place = choose(spot, held) if len(held) > 1 else 0
            known = self.moves if left > 1 else self._last
            paid, cards, spot = known[spot << 4 | held[place]]
            after.append(held[:place] + held[place + 1 :])
            if paid or cards:
                gain += self.signs[ahead] * (paid + self.prices[ahead] * cards)
                if paid >= self._needs[ahead]:
                    gain += WIN * self.signs[ahead]
                if cards:
                    took = self.friends[ahead]
        return Reached(gain, spot, took, tuple(after))


def winning(rules: Settings, view: View) -> Card | None:
    """Return a card that wins the match at once, if there is one."""
    if rules.immediate:
        need = to_win(rules, view, view.side)
        at = points.spot(view)
        for card in view.hand:
            if points.play(rules, at, STEP[card])[0].points >= need:
                return card
    return None


def affordable(samples: int, seconds: float, clock: float | None) -> int:
    """Return how many worlds there is time for: a tenth of the clock at most.

    It is reckoned, not measured, so that a decision depends on nothing but its view.
    """
    limit = seconds if clock is None else min(seconds, clock / 10)
    return max(1, min(samples, int(limit / A_WORLD)))
