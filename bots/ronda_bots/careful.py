"""The bot that also looks at what it leaves."""

from __future__ import annotations

from math import comb
from random import Random
from typing import Final

from ronda_bots import points
from ronda_bots.api import Card, SeatInfo, View
from ronda_bots.points import Gain, Spot
from ronda_core.cards import STEP
from ronda_core.rules import Settings

HOPE: Final = 0.7
"""Share of what its next card could gain that a bot may count on: the table rarely stays as it is.

Measured over duplicate deals: anything from 0.4 to 0.9 does about as well; without hope a tenth
of the margin over `greedy` is lost, and with all of it a fifth at four players.
"""

WIN: Final = 50.0
"""What winning the match at once is worth, in points."""


class Careful:
    """Takes what pays now, less what it leaves for the next player, plus what it keeps for itself.

    A lesson in counting. The cards that a seat has not seen are `view.unseen`, and any of them is
    as likely as another to be in the next hand. So the chance that the next player holds none of
    the m cards that would hurt, among u unseen and h held, is C(u - m, h) / C(u, h); from the
    worst reply down, that gives the reply to expect. An este against the card just laid, a sweep
    of a short table, a long run, a pack taken back, the closing bonus: all are replies, and
    `points` knows them by preset. With two players the last batch holds no secret at all, since
    what is unseen is the other hand: it is played out to the end, in 36 lines at most.
    """

    version = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: Random) -> None:  # noqa: ARG002 -- leaves nothing to chance
        self._rules: Settings = points.settings_of(seat)
        # A card more in one of two piles is a card less in the other. Where only cards over the
        # fair share are paid, the two together move the margin by one point, else by two.
        self._card = 1.0 if self._rules.preset.every_card else 0.5

    def play(self, view: View) -> Card:
        """Return the card with the best balance; of equal ones the lowest."""
        if len(view.hand) == 1:
            return view.hand[0]
        at = points.spot(view)
        if self._rules.immediate:
            enough = _to_win(self._rules, view, view.side)
            for card in view.hand:
                if points.play(self._rules, at, STEP[card])[0].points >= enough:
                    return card
        if self._rules.players == 2 and not view.stock:
            return self._solve(view, at)
        following = self._rules.next_seat[view.seat]
        theirs = _to_win(self._rules, view, view.side_of(following))
        held = view.hand_sizes[following]
        unseen = [0] * 10
        for card in view.unseen:
            unseen[STEP[card]] += 1

        def balance(card: Card) -> float:
            gain, left = points.play(self._rules, at, STEP[card])
            keeps = [other for other in view.hand if other != card]
            threat = self._threat(left, unseen, held, theirs)
            return self._worth(gain) - threat + HOPE * self._hope(left, keeps)

        return max(view.hand, key=balance)

    def _worth(self, gain: Gain) -> float:
        """Return what a play is worth to whoever makes it, in points of margin."""
        cards = gain.cards + gain.reclaimed  # what is taken back leaves another pile as well
        return gain.points + self._card * cards

    def _threat(self, left: Spot, unseen: list[int], held: int, to_win: int) -> float:
        """Return the worth of the best reply to expect from `held` of the unseen cards."""
        replies = []
        for step, copies in enumerate(unseen):
            if copies:
                gain = points.play(self._rules, left, step)[0]
                worth = self._worth(gain) + (WIN if gain.points >= to_win else 0.0)
                if worth > 0:
                    replies.append((worth, copies))
        replies.sort(reverse=True)
        safe = sum(unseen)
        hands = comb(safe, held)
        expected, none_better = 0.0, 1.0
        for worth, copies in replies:
            safe -= copies
            none_so_far = comb(safe, held) / hands
            expected += worth * (none_better - none_so_far)
            none_better = none_so_far
        return expected

    def _hope(self, left: Spot, keeps: list[Card]) -> float:
        """Return the most that a card kept would gain if nobody touched the table."""
        quiet = Spot(left.table, -1, 0, 0, left.made)
        return max(self._worth(points.play(self._rules, quiet, STEP[card])[0]) for card in keeps)

    def _solve(self, view: View, at: Spot) -> Card:
        """Return the best card of the last batch at two players, where nothing is hidden."""
        mine = tuple(STEP[card] for card in view.hand)
        theirs = tuple(STEP[card] for card in view.unseen)
        took_last = 1 if view.last_capturer == view.side else -1

        def margin(card: Card) -> float:
            return self._after(at, STEP[card], mine, theirs, took_last)

        return max(view.hand, key=margin)

    def _after(
        self, at: Spot, step: int, mover: tuple[int, ...], other: tuple[int, ...], took_last: int
    ) -> float:
        """Return the mover's margin from here to the end if it plays `step` and both play well.

        `took_last` is 1 where the mover's side captured last, -1 where the other did.
        """
        gain, left = points.play(self._rules, at, step)
        if gain.cards:
            took_last = 1
        worth = self._worth(gain)
        if not other:  # the dealer's last card: what lies on the table goes to the last capturer
            return worth + took_last * self._card * left.table.bit_count()
        at_step = mover.index(step)
        rest = mover[:at_step] + mover[at_step + 1 :]
        return worth - max(self._after(left, reply, other, rest, -took_last) for reply in other)


def _to_win(rules: Settings, view: View, side: int) -> int:
    """Return the points that win the match for `side` on the spot, where the preset allows it."""
    if not rules.immediate:
        return 1000  # more than a play can bring
    ahead = max(score for other, score in enumerate(view.scores) if other != side)
    return max(rules.target, ahead + 1) - view.scores[side]
