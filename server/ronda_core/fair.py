"""Deals anyone can check afterwards: the scheme ronda-fair/1.

Source: docs/fairness.md. HMAC-SHA-256 keyed by a master secret that was committed to before the
seats were known, over a label, the scope, the context (who plays) and a number.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from ronda_core.cards import STEP

SCHEME: Final = "ronda-fair/1"

_V: Final = b"ronda-fair/1/"
_WORDS: Final = 2**32


class Entry(NamedTuple):
    """One participant as the context names it."""

    identity: str
    entropy: bytes = b""
    """What a seat contributed: nothing, or 16 to 64 bytes, public once given."""

    def __repr__(self) -> str:
        return f"Entry({self.identity!r})"


def commitment(master: bytes, scope: str) -> str:
    """Return C, 64 hex digits, that is published before seats are known."""
    return hashlib.sha256(_lp(_V + b"commit") + _lp(scope.encode()) + master).hexdigest()


def client_commitment(entropy: bytes, scope: str, seat: int) -> str:
    """Return CC, 64 hex digits, that a seat gives before its entropy."""
    data = _lp(_V + b"client") + _lp(scope.encode()) + seat.to_bytes(4, "big") + _lp(entropy)
    return hashlib.sha256(data).hexdigest()


def context(entries: Sequence[Entry]) -> bytes:
    """Return X, 32 bytes, from the entries in their order."""
    data = b"".join(_lp(entry.identity.encode()) + _lp(entry.entropy) for entry in entries)
    return hashlib.sha256(_lp(_V + b"context") + data).digest()


def seeded_master(seed: int, game: int | None = None) -> bytes:
    """Return the master of a seeded run: of a tournament, or of one game of `ronda match`."""
    data = _lp(_V + b"seed") + _lp(str(seed).encode())
    if game is not None:
        data += game.to_bytes(4, "big")
    return hashlib.sha256(data).digest()


class Dealer:
    """Everything random in one scope, as a function of its secret master.

    `deck(hand)` for hands from 1, `first_dealer()`, and `bot_seed(seat)`, the integer that seeds
    a bot's own generator.
    """

    __slots__ = ("_context", "_master", "_players", "_scope")

    def __init__(self, master: bytes, scope: str, entries: Sequence[Entry], players: int) -> None:
        self._master = master
        self._scope = scope
        self._context = context(entries)
        self._players = players

    def key(self, label: str, number: int) -> bytes:
        """Return the key of one use: a label and its number."""
        data = (
            _lp(_V + label.encode())
            + _lp(self._scope.encode())
            + _lp(self._context)
            + number.to_bytes(4, "big")
        )
        return hmac.digest(self._master, data, "sha256")

    def first_dealer(self) -> int:
        """Return the seat that deals the first hand."""
        return _uniform(_stream(self.key("dealer", 0)), self._players)

    def bot_seed(self, seat: int) -> int:
        """Return the seed of the generator that the bot in `seat` is given."""
        return int.from_bytes(self.key("bot", seat), "big")

    def deck(self, hand: int) -> tuple[int, ...]:
        """Return the 40 cards of hand `hand` in dealing order."""
        return deal(self.key("deal", hand), self._players)[0]


def deal(key: bytes, players: int) -> tuple[tuple[int, ...], int]:
    """Return the deck that `key` deals to `players`, and how many shuffles it took."""
    words = _stream(key)
    shuffles = 0
    first = 3 * players
    while True:
        shuffles += 1
        deck = list(range(1, 41))
        for i in range(39, 0, -1):
            j = _uniform(words, i + 1)
            deck[i], deck[j] = deck[j], deck[i]
        if legal_table(deck[first : first + 4]):
            return tuple(deck), shuffles


def legal_table(cards: Sequence[int]) -> bool:
    """Say whether four cards may lie on the first table: no pair, no unbroken run of four."""
    a, b, c, d = cards
    return _BIT[a] | _BIT[b] | _BIT[c] | _BIT[d] in _LEGAL_RANKS


_BIT: Final = tuple(1 << step for step in STEP)
_LEGAL_RANKS: Final = frozenset(
    sum(1 << step for step in steps)
    for steps in combinations(range(10), 4)
    if steps[3] - steps[0] != 3
)
"""Four different ranks as the bits of their steps, but not the runs."""


def _lp(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def _stream(key: bytes) -> Iterator[int]:
    block = 0
    while True:
        data = hmac.digest(key, _lp(_V + b"stream") + block.to_bytes(8, "big"), "sha256")
        for at in range(0, 32, 4):
            yield int.from_bytes(data[at : at + 4], "big")
        block += 1


def _uniform(words: Iterator[int], n: int) -> int:
    limit = _WORDS - _WORDS % n
    for word in words:
        if word < limit:
            return word % n
    raise AssertionError  # the stream has no end
