"""The pack of forty: numbers, ranks, suits and text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

RANKS: Final = (1, 2, 3, 4, 5, 6, 7, 10, 11, 12)
SUITS: Final = "OCEB"  # oros, copas, espadas, bastos
SUIT_NAMES: Final = ("oros", "copas", "espadas", "bastos")


class Card(int):
    """A card as its number, 1 to 40: ten for each suit in the order O, C, E, B.

    `str(card)` is the text every record uses, such as ``7O`` or ``12E``. The repr says nothing,
    so that a card cannot slip into a log or an error by way of a container.
    """

    __slots__ = ()

    @property
    def rank(self) -> int:
        """1 to 7, 10, 11 or 12."""
        return RANKS[(self - 1) % 10]

    @property
    def suit(self) -> str:
        """One of O, C, E, B."""
        return SUITS[(self - 1) // 10]

    def __str__(self) -> str:
        return TEXT[self]

    def __format__(self, spec: str) -> str:
        return format(TEXT[self], spec)

    def __repr__(self) -> str:
        return "Card(•)"


TEXT: Final = ("", *(f"{rank}{suit}" for suit in SUITS for rank in RANKS))
"""Text by card number."""

CARDS: Final = tuple(Card(number) for number in range(41))
"""Card by number; number 0 is no card."""

PACK: Final = CARDS[1:]
"""The ordered pack that every shuffle starts from."""

STEP: Final = (10, *(index % 10 for index in range(40)))
"""Place of a card's rank on the ladder 1..7, 10..12, as 0..9; 10 for no card."""

_NUMBERS: Final = dict(zip(TEXT[1:], PACK, strict=True))


class BadCardError(ValueError):
    """A text that names no card."""


def parse_card(text: str) -> Card:
    """Return the card that `text`, such as ``10E``, names."""
    try:
        return _NUMBERS[text]
    except (KeyError, TypeError):
        raise BadCardError("a card is a rank (1-7, 10-12) and a suit (O, C, E, B)") from None


def parse_cards(text: str) -> tuple[Card, ...]:
    """Return the cards that a line of texts, divided by single spaces, names."""
    return tuple(parse_card(word) for word in text.split(" ")) if text else ()


def cards_text(cards: Iterable[int]) -> str:
    """Return the texts of `cards`, divided by single spaces."""
    return " ".join([TEXT[card] for card in cards])


def by_rank(cards: Iterable[int]) -> tuple[Card, ...]:
    """Return `cards` in ascending rank, equal ranks by suit: the one order in which sets are told.

    A set of cards told in any other order could say how it came about.
    """
    return tuple([CARDS[card] for card in sorted(cards, key=_LADDER.__getitem__)])


_LADDER: Final = tuple(STEP[card] * 40 + card for card in range(41))
