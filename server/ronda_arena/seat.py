"""A seat: how a decision is got from a bot, wherever it runs, and who is to blame.

Whatever a bot does, what leaves a seat is a legal answer or a `BotFaultError` with the cause of a
forfeit. Events are kept and told together before the next decision: a bot that waits for others
is not woken for each of their plays, and it makes no difference where it runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level
from ronda_bots.api import Event, View
from ronda_core.cards import Card
from ronda_core.match import Cause


class Seat(Protocol):
    """A bot at one seat of one match."""

    @property
    def identity(self) -> str:
        """`name@version`."""

    @property
    def isolation(self) -> Level:
        """How it is run."""

    @property
    def observes(self) -> bool:
        """Whether the bot wants to be told events."""

    @property
    def decides(self) -> bool:
        """Whether the bot itself says what to declare; else it declares what it holds."""

    @property
    def time_left(self) -> float | None:
        """Seconds that it has for the next decision; None: no limit."""

    def play(self, view: View) -> Card:
        """Return the card that the bot plays, one of `view.hand`."""

    def declare(self, view: View) -> bool:
        """Return whether the bot declares a set; by default it declares what it holds."""

    def tell(self, events: Iterable[Event]) -> None:
        """Keep what happened for the bot, if it wants to know."""

    def finish(self) -> BotFaultError | None:
        """Tell the bot what it was not told yet, and end it; a fault of it changes nothing now."""

    def close(self) -> None:
        """End the bot at once; also after `finish`."""


def held_card(card: Card, hand: tuple[Card, ...]) -> Card:
    """Return a card that is in the seat's `hand`, or raise the fault that it is not."""
    if card not in hand:
        raise BotFaultError(Cause.ILLEGAL, "it played a card that it does not hold", card)
    return card


def true_declaration(answer: bool, may_declare: bool) -> bool:
    """Return an answer that is no false declaration, or raise the fault that it is one."""
    if answer and not may_declare:
        raise BotFaultError(Cause.ILLEGAL, "it declared a set that it does not hold", answer)
    return answer
