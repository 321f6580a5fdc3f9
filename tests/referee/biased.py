"""Decks and plays that make hard hands: chains, reclaims, sweeps, sets and ties of sets.

Nothing here judges the game; a deck is legal, a play is held, and all draws come from the
generator that is passed in, so a seed gives the same hand every time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from .naive_rules import FULL_PACK, RANKS, captures, is_legal_first_table, rank_of

if TYPE_CHECKING:
    import random


class _Layout:
    """A deck under construction: free places per batch and position, and the cards left.

    Position 0 is the seat after the dealer, so neighbouring positions play one after the other.
    """

    def __init__(self, rng: random.Random, players: int, table: list[str]) -> None:
        self.rng = rng
        self.players = players
        self.table = table
        self.left = [card for card in FULL_PACK if card not in table]
        rng.shuffle(self.left)
        self.packets: list[list[list[str]]] = [
            [[] for _ in range(players)] for _ in range(36 // (3 * players))
        ]

    def place(self, batch: int, rank: int, counts: dict[int, int]) -> bool:
        """Give `counts[position]` cards of a rank to each position, if cards and room allow."""
        cards = [card for card in self.left if rank_of(card) == rank]
        if len(cards) < sum(counts.values()):
            return False
        packets = self.packets[batch]
        if any(len(packets[position]) + count > 3 for position, count in counts.items()):
            return False
        for position, count in counts.items():
            for _ in range(count):
                card = cards.pop()
                self.left.remove(card)
                packets[position].append(card)
        return True

    def deck(self) -> list[str]:
        """Fill what is free with the cards left and read off the dealing order."""
        dealt: list[str] = []
        for batch, packets in enumerate(self.packets):
            for packet in packets:
                while len(packet) < 3:
                    packet.append(self.left.pop())
                self.rng.shuffle(packet)
                dealt += packet
            if batch == 0:
                dealt += self.table
        return dealt


def _biased_table(rng: random.Random) -> list[str]:
    """A legal first table, often with a run of three, which one card sweeps almost whole."""
    while True:
        if rng.random() < 0.6:
            start = rng.randrange(len(RANKS) - 2)
            ranks = [*RANKS[start : start + 3], rng.choice(RANKS)]
        else:
            ranks = rng.sample(RANKS, 4)
        table = [f"{rank}{rng.choice('OCEB')}" for rank in ranks]
        if is_legal_first_table(table):
            rng.shuffle(table)
            return table


def _chain(layout: _Layout, batch: int, rank: int) -> None:
    """Equal cards, one each, to 3 or 4 plays in a row (with 2 players: two each)."""
    rng, players = layout.rng, layout.players
    length = rng.choice([3, 4, 4])
    start = rng.randrange(players)
    counts: dict[int, int] = {}
    for link in range(length):
        position = (start + link) % players
        counts[position] = counts.get(position, 0) + 1
    layout.place(batch, rank, counts)


def _tie(layout: _Layout, batch: int, rank: int) -> None:
    """The same pair to two seats, neighbours or (with 4 players) sometimes partners."""
    rng, players = layout.rng, layout.players
    first, second = rng.sample(range(players), 2)
    layout.place(batch, rank, {first: 2, second: 2})


def _pairs(layout: _Layout, batch: int, rank: int) -> None:
    """A pair to one seat and, of another rank, to the next: sets that compete without a tie."""
    rng, players = layout.rng, layout.players
    position = rng.randrange(players)
    layout.place(batch, rank, {position: 2})
    layout.place(batch, rng.choice(RANKS), {(position + 1) % players: 2})


def _triple(layout: _Layout, batch: int, rank: int) -> None:
    """Three of a rank to one seat; the fourth, if there is one, to the next."""
    rng, players = layout.rng, layout.players
    position = rng.randrange(players)
    if not layout.place(batch, rank, {position: 3, (position + 1) % players: 1}):
        layout.place(batch, rank, {position: 3})


def _sweep(layout: _Layout, batch: int, rank: int) -> None:
    """Ranks of the first table, so that little stays on it."""
    rng, players = layout.rng, layout.players
    lowest = min((rank_of(card) for card in layout.table), default=rank)
    layout.place(batch, lowest, {rng.randrange(players): 1})
    layout.place(batch, rank_of(rng.choice(layout.table)), {rng.randrange(players): 1})


_Theme = Callable[[_Layout, int, int], None]
_THEMES: list[_Theme] = [_chain, _tie, _pairs, _triple, _sweep]
_WEIGHTS = [9, 4, 2, 1, 2]


def biased_deck(rng: random.Random, players: int) -> list[str]:
    """A legal deck in dealing order that is likely to make a hard hand."""
    layout = _Layout(rng, players, _biased_table(rng))
    batches = list(range(len(layout.packets)))
    last_batch = batches[-1]
    last_ranks = [*RANKS, 1, 1, 12, 12]  # the closing bonus looks at these on the 36th card
    rng.shuffle(batches)  # the early batches must not always get the full ranks
    for batch in batches:
        for _ in range(rng.randint(1, 3)):
            theme = rng.choices(_THEMES, _WEIGHTS)[0]
            theme(layout, batch, rng.choice(last_ranks if batch == last_batch else RANKS))
    return layout.deck()


def biased_play(
    rng: random.Random, hand: list[str], table: Collection[str], last_rank: int | None
) -> str:
    """A card of the hand: equal to the last rank, else a capture or a sweep, else a bait."""
    cards = sorted(hand)
    if rng.random() < 0.12:
        return rng.choice(cards)
    equal = [card for card in cards if rank_of(card) == last_rank]
    if equal:
        return rng.choice(equal)
    lying = set(table)
    taking = [card for card in cards if captures(card, lying)]
    sweeping = [card for card in taking if captures(card, lying) == lying]
    ranks = [rank_of(card) for card in cards]
    paired = [card for card in cards if card not in taking and ranks.count(rank_of(card)) > 1]
    if paired and rng.random() < 0.4:
        return rng.choice(paired)  # laid, it opens a chain that its own pair can continue
    if sweeping and rng.random() < 0.8:
        return rng.choice(sweeping)
    if taking and rng.random() < 0.8:
        return rng.choice(taking)
    laying = [card for card in cards if card not in taking]
    return rng.choice(laying or cards)


def biased_declare(rng: random.Random, holds: bool) -> bool:
    """Whether a seat declares: never falsely, mostly when it holds a set."""
    return holds and rng.random() < 0.75
