"""What the second referee knows before a match: the pack, the presets, captures and sets.

Written from rules.md alone, like the referee itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

RANKS = [1, 2, 3, 4, 5, 6, 7, 10, 11, 12]  # "ranks 1-7, 10, 11, 12. The 10 follows the 7."

SUITS = ["O", "C", "E", "B"]

FULL_PACK = [f"{rank}{suit}" for rank in RANKS for suit in SUITS]

PLAYS_IN_A_HAND = 36  # "A hand is exactly 36 plays, unless the match ends in it."

RONDA_POINTS = {"ronda": 1, "tringa": 5}  # "a ronda (1) ... a tringa (5, ...)"


class Award(NamedTuple):
    """Points paid to one side; `plays` is the number of plays made in the hand by then."""

    plays: int
    side: int
    reason: str
    points: int


class Play(NamedTuple):
    """One card played: what it took from the table, what it took back, what it was paid."""

    seat: int
    card: str
    captured: frozenset[str]
    reclaimed: frozenset[str]
    awards: tuple[Award, ...]


@dataclass(frozen=True)
class Preset:
    """One column of the two tables of the rules."""

    players: tuple[int, ...]  # "players"
    targets: tuple[int, ...]  # "targets allowed"
    este_form: str  # "positional" (rank of the card before) or "capture" (takes the card laid)
    chain_players: tuple[int, ...]  # player counts at which the third and fourth are 5 and 10
    reclaim_players: tuple[int, ...]  # player counts at which third and fourth reclaim
    sets: str  # "automatic", "declared" or "none"
    undeclared_are_paid: bool  # "undeclared sets are paid for at the end of their batch"
    missa_on_the_last_card: bool
    closing_bonus: bool
    every_card_counts: bool  # "every card 1"; else 1 per card over 20 (over 13 at 3 players)
    wins_at_once: bool  # the match check follows every award
    single_hand: bool  # "after the single hand"


PRESETS = {
    "playtash": Preset(
        players=(2, 4),
        targets=(41,),
        este_form="positional",
        chain_players=(2, 3, 4),
        reclaim_players=(),
        sets="automatic",
        undeclared_are_paid=False,
        missa_on_the_last_card=False,
        closing_bonus=False,
        every_card_counts=False,
        wins_at_once=False,
        single_hand=False,
    ),
    "cafe": Preset(
        players=(2, 3, 4),
        targets=(41, 25, 21),
        este_form="capture",
        chain_players=(3, 4),
        reclaim_players=(3, 4),
        sets="declared",
        undeclared_are_paid=False,
        missa_on_the_last_card=False,
        closing_bonus=False,
        every_card_counts=False,
        wins_at_once=True,
        single_hand=False,
    ),
    "arabic": Preset(
        players=(2,),
        targets=(0,),
        este_form="positional",
        chain_players=(2, 3, 4),
        reclaim_players=(2, 3, 4),
        sets="none",
        undeclared_are_paid=False,
        missa_on_the_last_card=True,
        closing_bonus=True,
        every_card_counts=True,
        wins_at_once=False,
        single_hand=True,
    ),
    "pagat": Preset(
        players=(2, 3, 4),
        targets=(41, 25),
        este_form="capture",
        chain_players=(3, 4),
        reclaim_players=(3, 4),
        sets="declared",
        undeclared_are_paid=True,
        missa_on_the_last_card=False,
        closing_bonus=False,
        every_card_counts=False,
        wins_at_once=True,
        single_hand=False,
    ),
}


def rank_of(card: str) -> int:
    """The rank of a card such as "12E"."""
    return int(card[:-1])


def side_of(seat: int, players: int) -> int:
    """With 4 players, seats 0 and 2 are one side, 1 and 3 the other; otherwise a seat is a side."""
    if players == 4:
        return seat % 2
    return seat


def is_legal_first_table(table: Sequence[str]) -> bool:
    """Whether the four cards may lie.

    "A pair, or four ranks in one unbroken run (6-7-10-11 is one, in any order), is illegal."
    """
    ranks = sorted(rank_of(card) for card in table)
    for rank in RANKS:
        if ranks.count(rank) > 1:
            return False
    runs_of_four = [RANKS[start : start + 4] for start in range(len(RANKS) - 3)]
    return ranks not in runs_of_four


def captures(card: str, table: set[str]) -> set[str]:
    """What a card takes from the table.

    "A card of the same rank on the table, plus every card that continues the run upward without
    a gap.  No wrap from 12 to 1, nothing downward.  No match: the card stays on the table."
    """
    rank = rank_of(card)
    same = {other for other in table if rank_of(other) == rank}
    if not same:
        return set()
    taken = set(same)
    for next_rank in RANKS[RANKS.index(rank) + 1 :]:
        following = {other for other in table if rank_of(other) == next_rank}
        if not following:
            break
        taken |= following
    return taken


def set_in(cards: set[str]) -> tuple[str, int] | None:
    """The kind and rank of the set that a dealt hand holds.

    "A pair in the three cards dealt is a ronda (1), three of a rank a tringa (5, and not also a
    ronda)."
    """
    ranks = [rank_of(card) for card in cards]
    for rank in RANKS:
        if ranks.count(rank) == 3:
            return ("tringa", rank)
        if ranks.count(rank) == 2:
            return ("ronda", rank)
    return None


def strength(kind_and_rank: tuple[str, int]) -> tuple[int, int]:
    """How sets compare: "any tringa beats any ronda, then the higher rank"."""
    kind, rank = kind_and_rank
    if kind == "tringa":
        return (1, rank)
    return (0, rank)
