"""What was luck: the points that one and the same player makes in all seats on the same deals.

The reference is the bot `greedy`, played here on the state itself instead of on views: the decks
are all it takes, and they are read when a game is over. It never asks what the bots did with them,
so what it scores can be taken from their margins without favour. That it favours nobody on the
whole takes one thing more. Dealing is worth something, and when a match ends is the bots' doing,
so who has dealt more often is theirs too. Therefore the reference plays on, on the deals that would
have come, until each side has dealt equally often; and where the number of hands is fixed, on all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from ronda_arena.tournament.spec import Plan
from ronda_bots import points
from ronda_core import hand as hands
from ronda_core.cards import STEP
from ronda_core.fair import Dealer
from ronda_core.hand import Hand, Phase
from ronda_core.rules import PRESETS, Settings, settings
from ronda_core.state import set_kind


class Deal(Protocol):
    """A deck and who deals it."""

    @property
    def dealer(self) -> int: ...

    @property
    def deck(self) -> Sequence[int]: ...


class _ToCome(NamedTuple):
    dealer: int
    deck: Sequence[int]


def deals(plan: Plan, dealer: Dealer, played: Sequence[Deal]) -> list[Deal]:
    """Return the hands that luck is told of: those of a match, and the few that would have come."""
    sides = _one_hand(plan.rules, plan.players).sides
    number = -(-len(played) // sides) * sides if plan.target else plan.hands_a_game
    first = dealer.first_dealer()
    return [
        *played,
        *(
            _ToCome((first + at) % plan.players, dealer.deck(at + 1))
            for at in range(len(played), number)
        ),
    ]


def luck(rules: str, players: int, dealt: Sequence[Deal]) -> tuple[int, ...]:
    """Return the points by side that the reference makes on the decks of these hands.

    Every hand is played to its end, as if nothing came before it.
    """
    total = [0] * _one_hand(rules, players).sides
    for hand in dealt:
        for side, scored in enumerate(_scores(rules, players, hand.dealer, tuple(hand.deck))):
            total[side] += scored
    return tuple(total)


@lru_cache(maxsize=64)  # all rotations of a block have the same hands, as far as they go
def _scores(rules: str, players: int, dealer: int, deck: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(reference(_one_hand(rules, players), dealer, deck).scores)


def reference(one: Settings, dealer: int, deck: Sequence[int]) -> Hand:
    """Return the hand as the reference plays it in all seats."""
    hand, _ = hands.deal(one, 1, dealer, deck, (0,) * one.sides)
    while hand.phase is not Phase.OVER:
        if hand.phase is Phase.DECLARE:
            for seat in range(one.players):
                hands.declare(hand, seat, set_kind(hand, seat) is not None)
        else:
            hands.play(hand, _card(one, hand))
    return hand


def _card(one: Settings, hand: Hand) -> int:
    """Return what `greedy` plays: most points now, then most cards, then the lowest rank."""
    held = hand.hands[hand.turn]
    if len(held) == 1:
        return held[0]
    at = _spot(hand)
    best, found = (-100, -1), 0
    for card in sorted(held, key=_by_rank):
        gain, _ = points.play(one, at, STEP[card])
        worth = gain.points, gain.cards
        if worth > best:
            best, found = worth, card
    return found


def _spot(hand: Hand) -> points.Spot:
    table = 0
    for step, card in enumerate(hand.table):
        if card:
            table |= 1 << step
    made = len(hand.plays)
    if hand.chain_step < 0 or hand.chain_link == 3:
        return points.Spot(table, -1, 0, 0, made)
    return points.Spot(table, hand.chain_step, hand.chain_link, len(hand.pack), made)


def _by_rank(card: int) -> tuple[int, int]:
    return STEP[card], card


@lru_cache(maxsize=16)
def _one_hand(rules: str, players: int) -> Settings:
    return settings(rules, players, length=1 if PRESETS[rules].targets else 0)
