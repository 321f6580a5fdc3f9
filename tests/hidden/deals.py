"""Deals that a run decides: what stands in for the server's own dealer."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.hidden.obs import NUMBER, random_deck
from tests.referee.naive_rules import RANKS, is_legal_first_table, rank_of

from ronda_core import fair


class Deal(NamedTuple):
    """What one match is dealt: its first dealer, the decks that are decided, and chance beyond."""

    dealer: int
    decks: tuple[tuple[str, ...], ...]
    beyond: str
    """Seeds the decks of later hands."""

    def deck(self, players: int, number: int) -> tuple[str, ...]:
        """Return the deck of a hand, numbered from 1."""
        if number <= len(self.decks):
            return self.decks[number - 1]
        return random_deck(random.Random(f"{self.beyond}/{number}"), players)


def deck_of_sets(rng: random.Random, players: int, spared: int) -> tuple[str, ...]:
    """Return a deck that may be dealt, with sets for most places in the first batch.

    Places count from after the dealer; half of the time `spared` is dealt none on purpose.
    """
    there = [place for place in range(players) if place != spared or rng.random() < 0.5]
    while True:
        deck = list(random_deck(rng, players))
        places = rng.sample(there, rng.choice((1, len(there), len(there))))
        for place, rank in zip(places, rng.sample(RANKS, len(places)), strict=True):
            cards = [card for card in rng.sample(deck, 40) if rank_of(card) == rank]
            for at, card in enumerate(cards[: 3 if rng.random() < 0.2 else 2]):
                old, new = deck.index(card), 3 * place + at
                deck[old], deck[new] = deck[new], deck[old]
        if is_legal_first_table(deck[3 * players : 3 * players + 4]):
            return tuple(deck)


class Rigged:
    """A dealer that deals what a run has decided."""

    def __init__(self, deal: Deal, players: int, seed: str) -> None:
        self._deal = deal
        self._players = players
        self._seed = seed

    def first_dealer(self) -> int:
        """Return the seat that deals first."""
        return self._deal.dealer

    def bot_seed(self, seat: int) -> int:
        """Return the seed of a bot: the same in both twins."""
        return bot_seed(self._seed, seat)

    def deck(self, hand: int) -> tuple[int, ...]:
        """Return a deck as card numbers."""
        return tuple(NUMBER[card] for card in self._deal.deck(self._players, hand))

    def key(self, label: str, number: int) -> bytes:
        """Return a key that follows from the deck, as a true one would."""
        told = self.deck(number) if label == "deal" else (number,)
        return hashlib.sha256(f"{label} {told}".encode()).digest()


def bot_seed(seed: str, seat: int) -> int:
    """Return what the bot in `seat` is seeded with."""
    return int.from_bytes(hashlib.sha256(f"{seed}/bot/{seat}".encode()).digest(), "big")


class Dealers:
    """Who deals in the matches of one run, in the order in which they are made."""

    def __init__(self, scopes: Sequence[str], deals: Sequence[Deal | None], seed: str) -> None:
        self._deals = dict(zip(scopes, deals, strict=False))
        self._seed = seed
        self.made: dict[str, Any] = {}
        """Dealers by scope, the last of each."""

    @contextlib.contextmanager
    def dealing(self) -> Iterator[None]:
        """Let the server ask these."""
        real = fair.Dealer

        def make(master: bytes, scope: str, entries: Any, players: int) -> Any:
            deal = self._deals.get(scope)
            dealer: Any = (
                Rigged(deal, players, self._seed) if deal else real(master, scope, entries, players)
            )
            self.made[scope] = dealer
            return dealer

        with patch.object(fair, "Dealer", make):
            yield
