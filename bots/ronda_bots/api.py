"""The contract between a bot and whoever asks it.

A bot is a class made once for a seat of a match. It is asked with a `View`, which is all that its
seat may know, and told `Event`s; it sees nothing else.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from ronda_core.cards import Card
from ronda_core.view import Event, View

__all__ = ["Bot", "BotClass", "Card", "Event", "SeatInfo", "View"]


@dataclass(frozen=True, slots=True)
class SeatInfo:
    """What a bot is told when it is made."""

    seat: int
    side: int
    players: int
    rules: str
    target: int
    """0: none."""
    length: int
    """Hands to play; 0: to the target, or the single hand of `arabic`."""
    opponents: tuple[str, ...]
    """Identities by seat, empty where anonymous; this seat's own is among them."""


@runtime_checkable
class Bot(Protocol):
    """What every bot does. Inheritance is not needed.

    Two more methods are optional: `declare(self, view: View) -> bool` (default: declare what is
    held) and `observe(self, event: Event) -> None`, called for every event of the match.
    """

    def play(self, view: View) -> Card:
        """Return a card of `view.hand`."""
        ...


class BotClass(Protocol):
    """What an entry point of the group `ronda.bots` names: a class with a version."""

    version: ClassVar[str]

    def __call__(self, seat: SeatInfo, rng: random.Random) -> Bot:
        """Make the bot of one seat; `rng` is its only source of chance."""
        ...
