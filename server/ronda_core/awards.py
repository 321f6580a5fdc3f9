"""What a hand pays: added to its scores, told as awards, and checked against the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ronda_core.cards import STEP
from ronda_core.events import Award
from ronda_core.sets import KINDS, POINTS
from ronda_core.state import Hand, Phase

_OVER: Final = Phase.OVER


def pay_one(hand: Hand, side: int, reason: str, points: int) -> tuple[Award, ...]:
    """Pay one side, and see whether that wins the match."""
    scores = [*hand.scores]
    scores[side] += points
    hand.scores = (*scores,)
    # Only who is paid can get ahead of all others by it.
    if hand.settings.immediate and scores[side] >= hand.settings.target:
        _check(hand)
    award: Award = tuple.__new__(Award, (len(hand.plays), side, reason, points))
    return (award,)


def pay(hand: Hand, reason: str, shares: Sequence[int]) -> tuple[Award, ...]:
    """Pay several sides in one award: its shares are added first, then the match is checked."""
    made = len(hand.plays)
    scores = [*hand.scores]
    awards: list[Award] = []
    for side, points in enumerate(shares):
        if points:
            scores[side] += points
            awards.append(tuple.__new__(Award, (made, side, reason, points)))
    if awards:
        hand.scores = (*scores,)
        if hand.settings.immediate:
            _check(hand)
    return (*awards,)


def _check(hand: Hand) -> None:
    winner = leader(hand.scores, hand.settings.target)
    if winner >= 0:
        hand.winner = winner
        hand.phase = _OVER
        hand.turn = -1


def leader(scores: Sequence[int], target: int) -> int:
    """Return the side at or over `target` and strictly ahead of all others, or -1."""
    best = max(scores)
    if best < target or scores.count(best) > 1:
        return -1
    return scores.index(best)


def closing(hand: Hand, card: int, took: bool) -> list[int]:
    """Judge the dealer's last card: a 12 that takes is the dealer's, a 1 or nothing is not."""
    shares = [0, 0]
    dealer = hand.settings.side_of[hand.dealer]
    step = STEP[card]
    if took and step == 9:
        shares[dealer] = 5
    elif not took or step == 0:
        shares[1 - dealer] = 5
    return shares


def penalties(hand: Hand) -> list[int]:
    """Return what sets kept silent pay to the opposing sides, by side; empty: nothing."""
    side_of = hand.settings.side_of
    owed: list[int] = []
    for seat, strength in enumerate(hand.strengths):
        if strength and not hand.answers[seat]:
            owed = owed or [0] * hand.settings.sides
            for side in range(hand.settings.sides):
                if side != side_of[seat]:
                    owed[side] += POINTS[strength]
    return owed


def pay_sets(hand: Hand, strengths: Sequence[int]) -> tuple[Award, ...]:
    """Pay the best set the points of all, split where opposing sides tie for it."""
    best = max(strengths)
    side_of = hand.settings.side_of
    if sum(strengths) == best:  # the only one
        return pay_one(hand, side_of[strengths.index(best)], KINDS[best], POINTS[best])
    total = 0
    shares = [0] * hand.settings.sides
    for seat, strength in enumerate(strengths):
        total += POINTS[strength]
        if strength == best:
            shares[side_of[seat]] = 1
    tied = sum(shares)
    return pay(hand, KINDS[best], [total // tied * share for share in shares])
